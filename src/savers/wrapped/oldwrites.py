"""Which index and path a pending write from before sealing has: savers return neither, only an order; nothing is opened here."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP

from .cells import Write

_BEHIND = "\x01"
"""Between a path and what sorts right behind it: before all that paths are made of, and text that PostgreSQL takes."""


def with_places(found: Iterable[tuple[str, str, Write | None, Any]]) -> list[tuple[str, str, Write]]:
    """Task, channel and write of each, in the order they came in.

    The index is the first that is free in the task. The path sorts the write where it stands, so that a copy, which puts it again, keeps
    the order.

    Args:
        found: task, channel, the opened write or None, and what is stored where there is none.
    """
    listed = list(found)
    used = {(task_id, write.index) for task_id, _, write, _ in listed if write is not None}
    placed: list[tuple[str, str, Write]] = []
    behind = ""
    for position, (task_id, channel, write, stored) in enumerate(listed):
        if write is None:
            index = WRITES_IDX_MAP.get(channel)
            if index is None:
                index = next(free for free in count() if (task_id, free) not in used)
            used.add((task_id, index))
            placed.append((task_id, channel, Write(index, f"{behind}{_BEHIND}{position:08}", stored)))
        else:
            behind = write.path
            placed.append((task_id, channel, write))
    return placed
