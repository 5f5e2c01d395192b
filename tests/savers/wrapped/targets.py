"""The inner savers that the contract runs over: how each is made bare, and how its raw store is read; no test is here."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

Saver = BaseCheckpointSaver[Any]


@dataclass(frozen=True)
class Target:
    """One inner saver.

    Args:
        name: in test ids.
        make: opens a bare saver on a store; the argument names the store, so that two opens reach one.
        dump: every byte of the raw store.
    """

    name: str
    make: Callable[[Path], AbstractContextManager[Saver]]
    dump: Callable[[Path, Saver], bytes]


@dataclass(frozen=True)
class AsyncTarget:
    """One async inner saver; as `Target`."""

    name: str
    make: Callable[[Path], AbstractAsyncContextManager[Saver]]


_memories: dict[Path, InMemorySaver] = {}


@contextmanager
def _memory(where: Path) -> Iterator[Saver]:
    yield _memories.setdefault(where, InMemorySaver())


def _dump_memory(where: Path, saver: Saver) -> bytes:
    found = _memories[where]
    return repr((dict(found.storage), dict(found.writes), dict(found.blobs))).encode() + b"".join(
        _bytes_in((found.storage, found.writes, found.blobs))
    )


def _bytes_in(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _bytes_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _bytes_in(item)


@contextmanager
def _sqlite(where: Path) -> Iterator[Saver]:
    where.mkdir(exist_ok=True)
    connection = sqlite3.connect(where / "store.sqlite", check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


def dump_sqlite(where: Path, saver: Saver | None = None) -> bytes:
    """Every file of the database, the write-ahead log too."""
    return b"".join(path.read_bytes() for path in sorted(where.iterdir()))


@asynccontextmanager
async def _async_sqlite(where: Path) -> AsyncIterator[Saver]:
    await asyncio.to_thread(where.mkdir, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(where / "store.sqlite")) as saver:
        yield saver


@asynccontextmanager
async def _async_memory(where: Path) -> AsyncIterator[Saver]:
    yield _memories.setdefault(where, InMemorySaver())


MEMORY = Target("memory", _memory, _dump_memory)
SQLITE = Target("sqlite", _sqlite, dump_sqlite)
TARGETS = (MEMORY, SQLITE)
ASYNC_TARGETS = (AsyncTarget("memory", _async_memory), AsyncTarget("sqlite", _async_sqlite))
