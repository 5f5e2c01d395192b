"""An attacker's hands in the raw store of a SQL saver: each change is made by SQL beside the saver, and undone. No test is here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest

from tests.savers.wrapped.postgres import POSTGRES, needs_postgres, uri
from tests.savers.wrapped.targets import SQLITE, Saver

Edit = Callable[[dict[str, Any]], dict[str, Any]]
_CHECKPOINT_KEY = ("thread_id", "checkpoint_ns", "checkpoint_id")
_WRITE_KEY = (*_CHECKPOINT_KEY, "task_id", "idx")
_BLOB_KEY = ("thread_id", "checkpoint_ns", "channel", "version")


class Key(NamedTuple):
    """A checkpoint's primary key."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


@dataclass(frozen=True)
class CellAt:
    """A sealed value: its table, its primary key, and the channel where several lie in one row."""

    table: str
    key: tuple[Any, ...]
    channel: str = ""


class RawStore:
    """What both databases have in common."""

    name: str
    placeholder = "?"
    writes_table = "writes"
    value_column = "value"

    def __init__(self, inner: Saver) -> None:
        self.inner = inner

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def checkpoints(self, thread: str) -> list[Key]:
        """Of the root graph, newest first."""
        sql = (
            f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = {self.placeholder} AND checkpoint_ns = '' "
        )
        return [Key(*row) for row in self.query(sql + "ORDER BY checkpoint_id DESC", thread)]

    def writes(self, thread: str) -> list[tuple[Any, ...]]:
        """Primary keys."""
        return self.query(f"SELECT {', '.join(_WRITE_KEY)} FROM {self.writes_table} WHERE thread_id = {self.placeholder}", thread)

    def parent_of(self, key: Key) -> Any:
        return self.query(f"SELECT parent_checkpoint_id FROM checkpoints WHERE {self._where(_CHECKPOINT_KEY)}", *key)[0][0]

    @contextmanager
    def kept(self, table: str) -> Iterator[None]:
        """Puts the rows back as they were, whatever became of them."""
        columns = self.columns(table)
        before = self.query(f"SELECT {', '.join(columns)} FROM {table}")
        try:
            yield
        finally:
            self.query(f"DELETE FROM {table}")
            for row in before:
                marks = ", ".join([self.placeholder] * len(columns))
                self.query(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *self.adapted(table, columns, row))

    def columns(self, table: str) -> Sequence[str]:
        raise NotImplementedError

    def adapted(self, table: str, columns: Sequence[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
        return row

    def _where(self, key: Sequence[str]) -> str:
        return " AND ".join(f"{name} = {self.placeholder}" for name in key)

    def _set(self, table: str, key: Sequence[str], at: Sequence[Any], **columns: Any) -> None:
        assignments = ", ".join(f"{name} = {self.placeholder}" for name in columns)
        self.query(f"UPDATE {table} SET {assignments} WHERE {self._where(key)}", *columns.values(), *at)

    def skeleton(self, key: Key, edit: Edit) -> AbstractContextManager[None]:
        raise NotImplementedError

    def without_channel(self, key: Key, channel: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    def with_channel(self, key: Key, channel: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    @contextmanager
    def moved(self, key: Key, **columns: Any) -> Iterator[None]:
        with self.kept("checkpoints"):
            self._set("checkpoints", _CHECKPOINT_KEY, key, **columns)
            yield

    @contextmanager
    def parent(self, key: Key, parent: str | None) -> Iterator[None]:
        with self.moved(key, parent_checkpoint_id=parent):
            yield

    @contextmanager
    def metadata(self, key: Key, edit: Edit) -> Iterator[None]:
        with self.kept("checkpoints"):
            found = self.query(f"SELECT metadata FROM checkpoints WHERE {self._where(_CHECKPOINT_KEY)}", *key)[0][0]
            found = found if isinstance(found, dict) else json.loads(found)
            self._set("checkpoints", _CHECKPOINT_KEY, key, metadata=self.json(edit(found)))
            yield

    def json(self, value: Any) -> Any:
        return json.dumps(value).encode()

    @contextmanager
    def replayed(self, source: Key, *, over: Key) -> Iterator[None]:
        with self.kept("checkpoints"):
            names = [name for name in self.columns("checkpoints") if name not in (*_CHECKPOINT_KEY, "parent_checkpoint_id")]
            row = self.query(f"SELECT {', '.join(names)} FROM checkpoints WHERE {self._where(_CHECKPOINT_KEY)}", *source)[0]
            values = dict(zip(names, self.adapted("checkpoints", names, row), strict=True))
            self._set("checkpoints", _CHECKPOINT_KEY, over, **values)
            yield

    @contextmanager
    def write(self, key: tuple[Any, ...], *, copied: bool = False, **columns: Any) -> Iterator[None]:
        with self.kept(self.writes_table):
            if copied:
                names = [name for name in self.columns(self.writes_table) if name not in columns]
                marks = ", ".join([self.placeholder] * len(columns))
                source = f"SELECT {', '.join(names)}, {marks} FROM {self.writes_table} WHERE {self._where(_WRITE_KEY)}"
                self.query(f"INSERT INTO {self.writes_table} ({', '.join([*names, *columns])}) {source}", *columns.values(), *key)
            else:
                self._set(self.writes_table, _WRITE_KEY, key, **columns)
            yield

    # --- cells ------------------------------------------------------------------------------------------------------

    def cells(self) -> list[CellAt]:
        writes = [CellAt(self.writes_table, tuple(row)) for row in self.query(f"SELECT {', '.join(_WRITE_KEY)} FROM {self.writes_table}")]
        return [*self.channel_cells(), *writes[:6]]

    def channel_cells(self) -> list[CellAt]:
        raise NotImplementedError

    def value(self, cell: CellAt) -> tuple[str, bytes]:
        row = self.query(f"SELECT type, {self.value_column} FROM {cell.table} WHERE {self._where(self._key(cell))}", *cell.key)[0]
        return row[0], bytes(row[1])

    def _key(self, cell: CellAt) -> tuple[str, ...]:
        return _WRITE_KEY if cell.table == self.writes_table else _BLOB_KEY

    @contextmanager
    def changed(self, cell: CellAt, value: tuple[str, bytes]) -> Iterator[None]:
        before = self.value(cell)
        self._set(cell.table, self._key(cell), cell.key, **{"type": value[0], self.value_column: value[1]})
        try:
            yield
        finally:
            self._set(cell.table, self._key(cell), cell.key, **{"type": before[0], self.value_column: before[1]})


class SqliteRaw(RawStore):
    """SqliteSaver: all of a checkpoint in one msgpack blob."""

    name = "sqlite"

    @classmethod
    @contextmanager
    def open(cls, where: Path) -> Iterator[SqliteRaw]:
        with SQLITE.make(where) as inner:
            inner.conn.execute("PRAGMA synchronous = OFF")  # type: ignore[attr-defined]  # a SqliteSaver
            yield cls(inner)

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        connection = self.inner.conn  # type: ignore[attr-defined]  # a SqliteSaver
        found: list[tuple[Any, ...]] = connection.execute(sql, parameters).fetchall()
        return found

    def columns(self, table: str) -> Sequence[str]:
        return [row[1] for row in self.query(f"PRAGMA table_info({table})")]

    def channel_cells(self) -> list[CellAt]:
        found = []
        for thread in ("thread-1", "thread-2"):
            for key in self.checkpoints(thread)[: 2 if thread == "thread-1" else 1]:
                found += [CellAt("checkpoints", key, channel) for channel in self._load(key)["channel_values"]]
        return found

    def value(self, cell: CellAt) -> tuple[str, bytes]:
        if not cell.channel:
            return super().value(cell)
        value = self._load(Key(*cell.key))["channel_values"][cell.channel]
        return ("bytes", value) if isinstance(value, bytes) else ("delta", value.data)

    @contextmanager
    def changed(self, cell: CellAt, value: tuple[str, bytes]) -> Iterator[None]:
        """A channel's value lies in the checkpoint's msgpack: there it is replaced by what the other tag would make of it."""
        if not cell.channel:
            with super().changed(cell, value):
                yield
            return
        tag, raw = value
        if tag in ("json", "pickle", "msgpack+aes"):  # the tag is the whole row's
            with self.kept("checkpoints"):
                self._set(
                    "checkpoints", _CHECKPOINT_KEY, cell.key, type=tag, **({"checkpoint": raw} if not raw.startswith(b"\xc1SLP") else {})
                )
                yield
            return
        with self.skeleton(
            Key(*cell.key), lambda found: {**found, "channel_values": {**found["channel_values"], cell.channel: _made(tag, raw)}}
        ):
            yield

    def _load(self, key: Key) -> dict[str, Any]:
        blob = self.query(f"SELECT checkpoint FROM checkpoints WHERE {self._where(_CHECKPOINT_KEY)}", *key)[0][0]
        found: dict[str, Any] = ormsgpack.unpackb(blob, ext_hook=_Delta)
        return found

    @contextmanager
    def skeleton(self, key: Key, edit: Edit) -> Iterator[None]:
        with self.kept("checkpoints"):
            packed = ormsgpack.packb(edit(self._load(key)), default=_ext, option=ormsgpack.OPT_PASSTHROUGH_TUPLE)
            self._set("checkpoints", _CHECKPOINT_KEY, key, checkpoint=packed)
            yield

    @contextmanager
    def without_channel(self, key: Key, channel: str) -> Iterator[None]:
        with self.skeleton(
            key, lambda found: {**found, "channel_values": {k: v for k, v in found["channel_values"].items() if k != channel}}
        ):
            yield

    @contextmanager
    def with_channel(self, key: Key, channel: str) -> Iterator[None]:
        def edit(found: dict[str, Any]) -> dict[str, Any]:
            return {**found, "channel_values": {**found["channel_values"], channel: found["channel_values"]["text"]}}

        with self.skeleton(key, edit):
            yield


class _Delta:
    """A delta snapshot's extension, kept as it lies there."""

    def __init__(self, code: int, data: bytes) -> None:
        self.code, self.data = code, data


def _ext(value: Any) -> Any:
    return ormsgpack.Ext(value.code, value.data)


def _made(tag: str, raw: bytes) -> Any:
    if tag == "delta":
        return _Delta(7, raw)
    if tag == "msgpack":
        try:
            return ormsgpack.unpackb(raw, ext_hook=_Delta)
        except ormsgpack.MsgpackDecodeError:
            return "not msgpack"
    return raw if tag == "bytes" else None


class PostgresRaw(RawStore):
    """PostgresSaver: JSON, and a table of values."""

    name = "postgres"
    placeholder = "%s"
    writes_table = "checkpoint_writes"
    value_column = "blob"

    def __init__(self, inner: Saver, connection: Any) -> None:
        super().__init__(inner)
        self.connection = connection

    @classmethod
    @contextmanager
    def open(cls, where: Path) -> Iterator[PostgresRaw]:
        import psycopg

        with POSTGRES.make(where) as inner, psycopg.connect(uri(where), autocommit=True) as connection:
            yield cls(inner, connection)

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []

    def columns(self, table: str) -> Sequence[str]:
        return [
            row[0]
            for row in self.query(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND table_schema = current_schema()", table
            )
        ]

    def adapted(self, table: str, columns: Sequence[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.json(value) if isinstance(value, dict) else value for value in row)

    def json(self, value: Any) -> Any:
        from psycopg.types.json import Jsonb

        return Jsonb(value)

    def channel_cells(self) -> list[CellAt]:
        return [CellAt("checkpoint_blobs", tuple(row)) for row in self.query(f"SELECT {', '.join(_BLOB_KEY)} FROM checkpoint_blobs")][:16]

    @contextmanager
    def skeleton(self, key: Key, edit: Edit) -> Iterator[None]:
        with self.kept("checkpoints"):
            found = self.query(f"SELECT checkpoint FROM checkpoints WHERE {self._where(_CHECKPOINT_KEY)}", *key)[0][0]
            self._set("checkpoints", _CHECKPOINT_KEY, key, checkpoint=self.json(edit(found)))
            yield

    @contextmanager
    def without_channel(self, key: Key, channel: str) -> Iterator[None]:
        with self.kept("checkpoint_blobs"):
            self.query(
                "UPDATE checkpoint_blobs SET type = 'empty', blob = NULL WHERE thread_id = %s AND channel = %s", key.thread_id, channel
            )
            yield

    @contextmanager
    def with_channel(self, key: Key, channel: str) -> Iterator[None]:
        """A scalar where LangGraph inlines scalars."""
        with self.skeleton(key, lambda found: {**found, "channel_values": {**found.get("channel_values", {}), channel: "forged"}}):
            yield


RAW = [SqliteRaw, pytest.param(PostgresRaw, marks=needs_postgres)]
