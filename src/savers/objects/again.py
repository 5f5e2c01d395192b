"""A plan begun anew when what it had listed went away under it: so often, and then it says so; what to list and read is the plan's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ...errors import RetryableError
from .waves import Plan

T = TypeVar("T")

LISTINGS: Final = 16
"""Each is lost only to another removal that falls between a LIST and the GETs after it."""


class VanishedError(Exception):
    """What a listing named was not there any more when it was read. It stays inside plans."""


def again(thread_id: str, attempt: Callable[[], Plan[T]]) -> Plan[T]:
    """The plan's result, from an attempt under which nothing went away.

    Raises:
        RetryableError: something went away under each attempt.
    """
    for _ in range(LISTINGS):
        try:
            return (yield from attempt())
        except VanishedError:
            continue
    raise RetryableError(
        f"what was listed of thread {thread_id!r} was removed before it could be read, {LISTINGS} times in a row: "
        "it is being pruned or deleted; try again"
    )
