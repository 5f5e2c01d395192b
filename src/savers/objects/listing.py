"""The plan of a listing: which namespaces it goes over, and how one checkpoint is asked for among them; `read` does the rest."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from .asked import accepting, place_of
from .read import Reader
from .waves import Emit, Plan, Request, Stream


def listing(
    reader: Reader, config: RunnableConfig | None, wanted: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
) -> Stream[CheckpointTuple]:
    """The checkpoints of one namespace, of all of a thread's, or (`config` None) of all threads; see `ObjectSaver.list`."""
    accept = accepting(wanted) if wanted else None
    end = get_checkpoint_id(before) if before else None
    if config is None:
        threads = yield from _collected(reader.threads())
        places = []
        for thread_id in threads:
            places += yield from reader.namespaces(thread_id)
    elif config["configurable"].get("checkpoint_ns") is None:
        places = yield from reader.namespaces(place_of(config).thread_id)
    else:
        places = [place_of(config)]
    only = get_checkpoint_id(config) if config else None
    if not only:
        yield from reader.stream(places, str(end) if end else None, limit, accept)
        return
    left = limit
    for place in places:
        found = yield from reader.by_id(place, str(only))
        if found is None or (end and str(only) >= str(end)) or (accept and not accept(found.metadata)):
            continue
        if left is not None and left <= 0:
            return
        yield Emit(found)
        left = None if left is None else left - 1


def _collected(stream: Stream[str]) -> Plan[list[str]]:
    """A streaming plan as one that returns all."""
    found: list[str] = []
    proceed: Callable[[], Sequence[Request] | Emit[str]] = stream.__next__
    while True:
        try:
            step = proceed()
        except StopIteration:
            return found
        if isinstance(step, Emit):
            found.append(step.item)
            proceed = functools.partial(stream.send, [])
            continue
        try:
            results = yield step
        except Exception as exc:  # noqa: BLE001 - handed to the stream, which knows what it can do without
            proceed = functools.partial(stream.throw, exc)
        else:
            proceed = functools.partial(stream.send, results)
