"""Stores of data under both savers that can be backed up, restored and cut off: what tests of erasure stand on; no test is here."""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from sealpoint import Keyring
from sealpoint.ciphers import KeySource
from sealpoint.savers import ObjectSaver, SealedSaver
from sealpoint.stores import Fault, MemoryStore, Stopped

Saver = Any
"""A saver of either kind: what is not LangGraph's own (`erase_thread`) has no common class."""


class Shelf(Protocol):
    """Where one kind of saver keeps its data."""

    def saver(self, keys: KeySource, **options: Any) -> Saver:
        """A saver over the data, as another process would have it."""

    def backup(self) -> Callable[[], None]:
        """Keeps every byte; calling the answer puts them back, beside what is there now."""

    def stop_removal(self, saver: Saver) -> None:
        """The next removal of data by this saver ends the process before it begins."""


class Objects:
    """Under `ObjectSaver`."""

    def __init__(self, hash_threads: Keyring | None = None) -> None:
        self.store = MemoryStore()
        self._hash = hash_threads

    def saver(self, keys: KeySource, **options: Any) -> Saver:
        return ObjectSaver(self.store, keys, hash_threads=self._hash, **options)

    def backup(self) -> Callable[[], None]:
        kept = {entry.key: self.store.get(entry.key).data for entry in self.store.list()}

        def restore() -> None:
            for key, data in kept.items():
                self.store.put(key, data)

        return restore

    def stop_removal(self, saver: Saver) -> None:
        self.store.faults.plan(Fault("delete", "stop"))


class CopyingMemory(InMemorySaver):
    """Has `copy_thread`, as savers of other packages do: the sealed saver offers it then, and copies by itself."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        raise AssertionError("sealed values do not open in another thread: they are not copied as they are")

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)


class Sealed:
    """Under `SealedSaver`."""

    def __init__(self, inner: BaseCheckpointSaver[Any], hide: Keyring | None = None) -> None:
        self.inner: Any = inner
        self._options: dict[str, Any] = {} if hide is None else {"hash_thread_ids": True, "hide_names": True, "index_keys": hide}

    def saver(self, keys: KeySource, **options: Any) -> Saver:
        return SealedSaver(self.inner, keys, **self._options, **options)

    def backup(self) -> Callable[[], None]:
        return _kept_rows(self.inner.conn) if isinstance(self.inner, SqliteSaver) else _kept_dicts(self.inner)

    def stop_removal(self, saver: Saver) -> None:
        def stopped(thread_id: str) -> None:
            del saver._inner.delete_thread
            raise Stopped("delete", thread_id)

        saver._inner.delete_thread = stopped


def _kept_rows(conn: sqlite3.Connection) -> Callable[[], None]:
    kept = {table: conn.execute(f"SELECT * FROM {table}").fetchall() for table in ("checkpoints", "writes")}  # noqa: S608  # two names

    def restore() -> None:
        for table, rows in kept.items():
            for row in rows:
                conn.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608  # as above

    return restore


def _kept_dicts(saver: InMemorySaver) -> Callable[[], None]:
    storage, writes, blobs = copy.deepcopy(dict(saver.storage)), copy.deepcopy(dict(saver.writes)), copy.deepcopy(dict(saver.blobs))

    def restore() -> None:
        for thread, namespaces in storage.items():
            for ns, checkpoints in namespaces.items():
                saver.storage[thread][ns].update(checkpoints)
        saver.writes.update({**writes, **saver.writes})
        saver.blobs.update({**blobs, **saver.blobs})

    return restore


KINDS = ["objects", "objects, hashed ids", "sealed memory", "sealed memory, hidden ids", "sealed SQLite"]


@contextmanager
def shelf(kind: str) -> Iterator[Shelf]:
    """An empty one of the kind."""
    hidden = Keyring.generate("names") if "ids" in kind else None
    if kind.startswith("objects"):
        yield Objects(hidden)
    elif kind == "sealed SQLite":
        with SqliteSaver.from_conn_string(":memory:") as inner:
            inner.setup()
            yield Sealed(inner)
    else:
        yield Sealed(CopyingMemory(), hidden)
