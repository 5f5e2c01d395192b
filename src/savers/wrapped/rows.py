"""Single rows of LangGraph's SQL savers, read and replaced in place: what a conversion needs where `put` keeps the row that is there.

A row is replaced only if it still holds what was read, so a live writer loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A stored value.

    Args:
        key: the primary key. Of a write: thread, namespace, checkpoint, task, index. Of a channel value: thread, namespace, channel,
            version.
        channel: the channel's name.
        path: a write's task path, else "".
        tag: the type column.
        data: the value column.
    """

    key: Key
    channel: str
    path: str
    tag: str
    data: bytes


class Rows(Protocol):
    """The rows of one inner saver."""

    def writes(self, thread: str | None) -> Iterator[Row]:
        """The pending writes of a thread, or of all."""

    def values(self, thread: str | None) -> Iterator[Row]:
        """The channel values that lie in rows of their own."""

    def replace_write(self, row: Row, tag: str, data: bytes) -> None:
        """Puts a new value into a write's row, if it is still what it was."""

    def empty_path(self, row: Row) -> None:
        """Empties the task path of a write's row, if its value is still what it was."""

    def replace_value(self, row: Row, tag: str, data: bytes) -> None:
        """Puts a new value into a channel value's row, if it is still what it was."""


_WRITE = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx")
_VALUE = ("thread_id", "checkpoint_ns", "channel", "version")


class SqliteRows:
    """The rows of `SqliteSaver` (schema of langgraph-checkpoint-sqlite 3.1)."""

    _READ_WRITES = "SELECT * FROM writes WHERE ? IS NULL OR thread_id = ?"
    _REPLACE_WRITE = (
        "UPDATE writes SET type = ?, value = ? WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ? AND idx = ? "
        "AND type = ? AND value = ?"
    )
    _EMPTY_PATH = (
        "UPDATE writes SET task_path = '' WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ? AND idx = ? "
        "AND type = ? AND value = ?"
    )

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def writes(self, thread: str | None) -> Iterator[Row]:
        """See `Rows`."""
        with self._inner.cursor(transaction=False) as cursor:
            found = cursor.execute(self._READ_WRITES, (thread, thread)).fetchall()
            names = [column[0] for column in cursor.description]
        for values in found:
            row = dict(zip(names, values, strict=True))
            # Stores from before langgraph-checkpoint-sqlite 3.1.2 have no task paths.
            yield Row(tuple(row[name] for name in _WRITE), row["channel"], row.get("task_path", ""), row["type"], bytes(row["value"]))

    def values(self, thread: str | None) -> Iterator[Row]:
        """None: a checkpoint's values lie in its own row, which `put` replaces."""
        yield from ()

    def replace_write(self, row: Row, tag: str, data: bytes) -> None:
        """See `Rows`."""
        with self._inner.cursor() as cursor:
            cursor.execute(self._REPLACE_WRITE, (tag, data, *row.key, row.tag, row.data))

    def empty_path(self, row: Row) -> None:
        """See `Rows`."""
        with self._inner.cursor() as cursor:
            cursor.execute(self._EMPTY_PATH, (*row.key, row.tag, row.data))

    def replace_value(self, row: Row, tag: str, data: bytes) -> None:
        """Not called: there are no such rows."""
        raise NotImplementedError  # `values` yields no row of that kind, so there is none to replace


class PostgresRows:
    """The rows of `PostgresSaver` (schema of langgraph-checkpoint-postgres 3.2)."""

    _READ_WRITES = "SELECT * FROM checkpoint_writes WHERE %s::text IS NULL OR thread_id = %s"
    _READ_VALUES = "SELECT * FROM checkpoint_blobs WHERE blob IS NOT NULL AND (%s::text IS NULL OR thread_id = %s)"
    _REPLACE_WRITE = (
        "UPDATE checkpoint_writes SET type = %s, blob = %s WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s "
        "AND task_id = %s AND idx = %s AND type = %s AND blob = %s"
    )
    _EMPTY_PATH = (
        "UPDATE checkpoint_writes SET task_path = '' WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s "
        "AND task_id = %s AND idx = %s AND type = %s AND blob = %s"
    )
    _REPLACE_VALUE = (
        "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = %s AND checkpoint_ns = %s AND channel = %s AND version = %s "
        "AND type = %s AND blob = %s"
    )

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def writes(self, thread: str | None) -> Iterator[Row]:
        """See `Rows`."""
        for row in self._fetch(self._READ_WRITES, thread):
            yield Row(tuple(row[name] for name in _WRITE), row["channel"], row["task_path"], row["type"], bytes(row["blob"]))

    def values(self, thread: str | None) -> Iterator[Row]:
        """See `Rows`."""
        for row in self._fetch(self._READ_VALUES, thread):
            yield Row(tuple(row[name] for name in _VALUE), row["channel"], "", row["type"], bytes(row["blob"]))

    def replace_write(self, row: Row, tag: str, data: bytes) -> None:
        """See `Rows`."""
        self._change(self._REPLACE_WRITE, tag, data, *row.key, row.tag, row.data)

    def empty_path(self, row: Row) -> None:
        """See `Rows`."""
        self._change(self._EMPTY_PATH, *row.key, row.tag, row.data)

    def replace_value(self, row: Row, tag: str, data: bytes) -> None:
        """See `Rows`."""
        self._change(self._REPLACE_VALUE, tag, data, *row.key, row.tag, row.data)

    def _fetch(self, sql: str, thread: str | None) -> list[dict[str, Any]]:
        with self._inner._cursor() as cursor:
            found: list[dict[str, Any]] = cursor.execute(sql, (thread, thread)).fetchall()
            return found

    def _change(self, sql: str, *parameters: Any) -> None:
        with self._inner._cursor() as cursor:
            cursor.execute(sql, parameters)
