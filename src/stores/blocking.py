"""Async twins for a store whose own calls block: they run in threads of its own; it stores nothing itself."""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from ..locks import ForkSafeLock
from .base import BATCH, Listed, Stored

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_THREADS: Final = 32  # so that one wave of requests is in flight at once; `asyncio.to_thread` has 6 threads on two cores


class BlockingStore(ABC):
    """An `ObjectStore` by its sync methods. A pool of its own keeps a wave of requests from queueing behind other threads' work.

    Args:
        threads: how many calls may be in flight from async callers.
    """

    def __init__(self, threads: int = DEFAULT_THREADS) -> None:
        self._threads = threads
        self._pool_lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        self._pool_pid = 0

    @abstractmethod
    def get(self, key: str) -> Stored:
        """See `sealpoint.stores.Gets.get`."""

    @abstractmethod
    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """See `sealpoint.stores.Puts.put`."""

    @abstractmethod
    def list(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> Iterator[Listed]:
        """See `sealpoint.stores.Lists.list`."""

    @abstractmethod
    def folders(self, prefix: str = "", *, start_after: str = "") -> Iterator[str]:
        """See `sealpoint.stores.Lists.folders`."""

    @abstractmethod
    def delete_many(self, keys: Iterable[str]) -> None:
        """See `sealpoint.stores.Deletes.delete_many`."""

    async def aget(self, key: str) -> Stored:
        """As `get`, in a thread."""
        return await self._in_thread(self.get, key)

    async def aput(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """As `put`, in a thread."""
        return await self._in_thread(self.put, key, data, if_absent=if_absent, if_match=if_match)

    async def adelete_many(self, keys: Iterable[str]) -> None:
        """As `delete_many`, in a thread."""
        await self._in_thread(self.delete_many, tuple(keys))

    async def alist(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> AsyncIterator[Listed]:
        """As `list`, in a thread."""
        async for entry in self._stream(self.list(prefix, start_after=start_after, limit=limit)):
            yield entry

    async def afolders(self, prefix: str = "", *, start_after: str = "") -> AsyncIterator[str]:
        """As `folders`, in a thread."""
        async for name in self._stream(self.folders(prefix, start_after=start_after)):
            yield name

    def close(self) -> None:
        """Gives the threads back; a later call starts new ones."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._pool_pid == os.getpid():
            pool.shutdown(wait=True)

    async def _stream(self, items: Iterator[T]) -> AsyncIterator[T]:
        while chunk := await self._in_thread(lambda: tuple(itertools.islice(items, BATCH))):
            for item in chunk:
                yield item
            if len(chunk) < BATCH:
                return

    async def _in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = functools.partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor(), call)

    def _executor(self) -> ThreadPoolExecutor:
        """The pool of this process: a child made by fork has none of its parent's threads, so it starts its own."""
        with self._pool_lock:
            if self._pool is None or self._pool_pid != os.getpid():
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="sealpoint-store")
                self._pool_pid = os.getpid()
            return self._pool
