"""Plans that store within a thread's life: they begin it or continue it, never one that was erased; what a life is, others say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from ..lives import Lives, continued, of_earlier_life
from .layout import Place
from .read import Reader
from .waves import Plan, Work, after

T = TypeVar("T")


def putting(lives: Lives, reader: Reader, place: Place, parent: str | None, metadata: Any, plan: Plan[T]) -> Plan[T]:
    """The plan of a put, once the thread has a life that it begins or continues.

    Raises:
        ThreadErasedError, ThreadFencedError: it has not; nothing was stored.
    """
    if lives.begins(place.checkpoint_ns, parent):
        return after(partial(lives.begin, place.thread_id), plan)
    return continuing(lives, reader, place, continued(place.checkpoint_ns, parent, metadata), plan)


def continuing(lives: Lives, reader: Reader, place: Place, named: Sequence[tuple[str, str]], plan: Plan[T]) -> Plan[T]:
    """The plan, once what it continues is known to be of the thread's present life.

    Args:
        lives: the key store.
        reader: looks up what may be of an earlier life: a copy has the old ids too, and opens.
        place: where the plan stores.
        named: namespace and id of each checkpoint that it continues.
        plan: stores something.

    Raises:
        ThreadErasedError: it continues an earlier life; nothing was stored.
    """
    return plan if lives.sealing is None or not named else _checked(lives, reader, place, named, plan)


def _checked(lives: Lives, reader: Reader, place: Place, named: Sequence[tuple[str, str]], plan: Plan[T]) -> Plan[T]:
    (earlier,) = yield [Work(partial(lives.earlier, place.thread_id, named))]
    for ns, checkpoint_id in earlier:
        if (yield from reader.found_by_id(Place(place.thread_id, ns), checkpoint_id)) is None:
            raise of_earlier_life()
    return (yield from plan)


def copying(lives: Lives, source: str, target: str, plan: Plan[T]) -> Plan[T]:
    """The plan of a copy, on record before and after.

    Raises:
        ThreadErasedError, ThreadFencedError: see `Lives.copy`.
    """
    (generation,) = yield [Work(partial(lives.copy, source, target))]
    result = yield from plan
    yield [Work(partial(lives.copied, source, target, generation))]
    return result
