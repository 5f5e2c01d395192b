"""A lock that a forked child finds open; it orders nothing else."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType
from typing import Final


class ForkSafeLock:
    """A mutex. In a child made by fork it is free, whoever held it: that thread does not exist there, so nobody would open it again."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._lock.release()


_locks: Final[weakref.WeakSet[ForkSafeLock]] = weakref.WeakSet()


def _open_all() -> None:
    for lock in _locks:
        lock._lock = threading.Lock()


os.register_at_fork(after_in_child=_open_all)
