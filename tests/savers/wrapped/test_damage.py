"""Damage of any kind ends in an error of ours that says so: no byte of a row makes a reader stumble, or makes it return something else."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from sealpoint import Keyring
from sealpoint.errors import DecodeError, IntegrityError, SealpointError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.test_habits import at, checkpoint

COLUMNS = ("checkpoint", "metadata")


@pytest.fixture(params=[False, True], ids=["closed", "migrating"])
def row(request: pytest.FixtureRequest, keyring: Keyring) -> Iterator[tuple[sqlite3.Connection, SealedSaver]]:
    """A store of one small row with a value and a write, and a reader of it."""
    with sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None) as connection:
        saver = SealedSaver(SqliteSaver(connection), keyring, migrate=request.param, cache_bytes=0)
        saver.put(at(), checkpoint("1", {"a": 1}), {"source": "input", "step": 1}, {"a": 1})
        saver.put_writes(at("1"), [("a", 2)], "task")
        yield connection, saver
    connection.close()


def cell(connection: sqlite3.Connection, column: str) -> bytes:
    return bytes(connection.execute(f"SELECT {column} FROM checkpoints").fetchone()[0])  # noqa: S608  # a name from this file


def plant(connection: sqlite3.Connection, table: str, column: str, value: Any) -> None:
    connection.execute(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608  # names from this file


def told(saver: SealedSaver) -> Any:
    found = saver.get_tuple(at())
    assert found is not None
    return found.checkpoint, found.metadata, found.pending_writes


def flips(value: bytes) -> Iterator[bytes]:
    for position, bit in itertools.product(range(len(value)), range(8)):
        yield value[:position] + bytes((value[position] ^ (1 << bit),)) + value[position + 1 :]


def truncations(value: bytes) -> Iterator[bytes]:
    return (value[:length] for length in range(len(value)))


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("changes", [flips, truncations], ids=["every bit flipped", "cut at every byte"])
def test_a_changed_row_is_refused_or_reads_as_before(
    row: tuple[sqlite3.Connection, SealedSaver], column: str, changes: Callable[[bytes], Iterator[bytes]]
) -> None:
    connection, saver = row
    before = told(saver)
    value = cell(connection, column)
    refused = 0
    for changed in changes(value):
        plant(connection, "checkpoints", column, changed)
        try:
            assert told(saver) == before
        except SealpointError:
            refused += 1
    assert refused > len(value) // 2


PLANTED = {
    "an empty map": b"\x80", "an empty list": b"\x90", "nothing": b"\xc0", "a cut string": b"\xa1x", "text": "text", "a number": 7,
    "an unhashable key": b"\x81\x91\x01\x02", "no bytes": b"", "null": None,
    "no versions": b"\x82\xa2id\xa11\xaechannel_values\x80",
    "versions that are a list": b"\x83\xa2id\xa11\xaechannel_values\x80\xb0channel_versions\x90",
    "deep": b"\x91" * 2000,
}  # fmt: skip
PLANTED_METADATA = {
    "a number": "1", "a cut object": "{", "a list": "[]", "null": "null", "text": '"sealpoint"', "no text": b"\xff\xfe", "empty": b"",
    "a seal that is no text": '{"sealpoint": 1}', "a seal that is a map": '{"sealpoint": {}}', "no text at all": 5,
    "more digits than Python reads": "[" + "1" * 5000 + "]", "deep": "[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "planted"),
    [
        *(pytest.param("checkpoint", value, id=f"checkpoint: {name}") for name, value in PLANTED.items()),
        *(pytest.param("metadata", value, id=f"metadata: {name}") for name, value in PLANTED_METADATA.items()),
        *(pytest.param("type", value, id=f"type: {value!r}") for value in (None, 1, b"msgpack", "", "é")),
    ],
)
def test_a_planted_row_is_an_integrity_error(row: tuple[sqlite3.Connection, SealedSaver], column: str, planted: Any) -> None:
    connection, saver = row
    plant(connection, "checkpoints", column, planted)
    for call in (
        lambda: saver.get_tuple(at()),
        lambda: saver.get_tuple(at("1")),
        lambda: list(saver.list(None)),
        lambda: list(saver.list(at(), filter={"customer": "x"})),
    ):
        with pytest.raises(IntegrityError):
            call()


@pytest.mark.parametrize("planted", [b"", b"\x80", b"\xc1SLP", "text", 7, None])
@pytest.mark.parametrize("column", ["value", "type"])
def test_a_planted_write_is_an_integrity_error(row: tuple[sqlite3.Connection, SealedSaver], column: str, planted: Any) -> None:
    connection, saver = row
    plant(connection, "writes", column, planted)
    for call in (lambda: saver.get_tuple(at()), lambda: list(saver.list(None))):
        with pytest.raises(IntegrityError):
            call()


async def test_async_reads_name_damage_too(keyring: Keyring, tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "store")) as inner:
        saver = SealedSaver(inner, keyring)
        await saver.aput(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        await inner.conn.execute("UPDATE checkpoints SET metadata = '{'")
        with pytest.raises(DecodeError, match="damaged or replaced"):
            await saver.aget_tuple(at())
        with pytest.raises(DecodeError, match="damaged or replaced"):
            [item async for item in saver.alist(None)]


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError])
def test_an_error_that_is_not_about_what_is_stored_passes(kind: type[Exception], keyring: Keyring) -> None:
    class Broken(SqliteSaver):
        def get_tuple(self, config: Any) -> Any:
            raise kind("a fault in the saver")

    with sqlite3.connect(":memory:") as connection, pytest.raises(kind, match="a fault in the saver"):
        SealedSaver(Broken(connection), keyring).get_tuple(at())
    connection.close()
