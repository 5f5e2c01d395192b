"""The threads in which async callers' work is done: our own, so that a graph's sync nodes, which fill the event loop's, hold nothing up."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from ..locks import ForkSafeLock

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 32  # most wait for a lock, a key service or a database


class WorkerThreads:
    """A pool that is made when it is first used; a child made by fork makes its own.

    Args:
        threads: how much may be done at once.
    """

    def __init__(self, threads: int = _THREADS) -> None:
        self._threads = threads
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns, done in a thread, in the caller's context; queued before this first waits."""
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._executor(), lambda: context.run(work, *args, **kwargs))

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._pool, self._pid = ThreadPoolExecutor(self._threads, thread_name_prefix="sealpoint"), os.getpid()
            return self._pool


WORKERS = WorkerThreads()
"""Shared by all savers of a process."""
