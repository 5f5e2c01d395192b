"""`sealpoint inspect` finds every sealed value in what a saver stored, and neither builds nor believes what is around it."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from click.testing import CliRunner, Result

from sealpoint import AesGcm, Context, Keyring, ObjectSaver, SealedSaver, sealed_serializer
from sealpoint.cli import main
from sealpoint.errors import DecodeError
from sealpoint.savers.finding import MAX_JSON, MAX_PARTS, find
from sealpoint.stores import FolderStore
from tests.savers.chains import config, put

KEYRING = Keyring.generate("2026-11")
SEALED = AesGcm(KEYRING).encode(b"plaintext", "msgpack1", Context.unbound())


def inspected(data: bytes | str, *options: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *options], input=data)


def places(data: bytes | str) -> dict[str, str]:
    """Place → key id."""
    done = inspected(data, "--json")
    assert done.exit_code == 0, done.output
    return {facts["where"]: facts["key_id"] for facts in json.loads(done.stdout)}


def test_every_kind_of_object_says_which_key_it_is_under(tmp_path: Path, keyring: Keyring) -> None:
    saver = ObjectSaver(FolderStore(tmp_path, durable=False), keyring)
    at = put(saver, config("x" * 300), {"big": "x" * 9000})
    saver.put_writes(at, [("a", 1)], "task")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and ".locks" not in path.parts]
    assert len(files) == 3
    for path in files:
        assert places(path.read_bytes()) == {"": "new", "names": "new"}


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(":memory:", check_same_thread=False) as connection:
        yield connection
    connection.close()


def cell(database: sqlite3.Connection, column: str, table: str = "checkpoints") -> str:
    (found,) = database.execute(f"select {column} from {table} limit 1").fetchone()  # noqa: S608 - names written here
    return found.decode() if isinstance(found, bytes) else str(found)


def stored(database: sqlite3.Connection, **options: Any) -> None:
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    saver = SealedSaver(sqlite.SqliteSaver(database), KEYRING, **options)
    saver.put_writes(put(saver, config(), {"messages": ["secret"], "n": 1}), [("a", 1)], "task")


def test_a_row_of_a_sealed_saver_says_which_keys_it_is_under_column_by_column(database: sqlite3.Connection) -> None:
    stored(database)
    assert places(cell(database, "hex(checkpoint)")) == {"channel_values.messages": "2026-11", "channel_values.n": "2026-11"}
    assert places(cell(database, "metadata")) == places(cell(database, "hex(metadata)")) == {"sealpoint": "2026-11"}
    assert places(cell(database, "hex(value)", "writes")) == {"": "2026-11"}
    shown = inspected(cell(database, "hex(checkpoint)"))
    assert shown.stdout.count("key_id        2026-11\n") == 2
    assert shown.stdout.startswith("where         channel_values.messages\n")


def test_hidden_names_are_found_as_well(database: sqlite3.Connection) -> None:
    stored(database, index_keys=Keyring.generate("index"), hide_names=True)
    assert set(places(cell(database, "metadata"))) == {"sealpoint", "sealpoint_place"}
    assert set(places(cell(database, "hex(value)", "writes"))) == {"channel", "value"}


def test_a_value_of_a_bare_serializer_needs_no_container(database: sqlite3.Connection) -> None:
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    put(sqlite.SqliteSaver(database, serde=sealed_serializer(KEYRING)), config(), {"n": 1})
    assert places(cell(database, "hex(checkpoint)")) == {"": "2026-11"}


def test_markers_in_json_and_the_wrapper_of_a_delta_snapshot_are_looked_into() -> None:
    text = base64.b64encode(SEALED).decode()
    assert places(json.dumps({"a": [{"__bytes__": text}], "b": "wVNM"})) == {"a.0.__bytes__": "2026-11"}
    assert places(ormsgpack.packb({"d": ormsgpack.Ext(7, ormsgpack.packb(SEALED))})) == {"d": "2026-11"}


def test_several_rows_are_asked_for_one_by_one(database: sqlite3.Connection) -> None:
    stored(database)
    for column in ("hex(checkpoint)", "metadata"):
        done = inspected(f"{cell(database, column)}\n{cell(database, column)}\n")
        assert done.exit_code == 2
        assert "several values" in done.stderr


@pytest.mark.parametrize("row", [ormsgpack.packb({"v": 4, "channel_values": {}}), b'{"source": "loop"}', ormsgpack.packb([1.5, "x", None])])
def test_an_intact_row_with_nothing_sealed_in_it_is_not_called_damaged(row: bytes) -> None:
    done = inspected(row)
    assert done.exit_code == 4
    assert "no sealed value in it" in done.stderr
    assert "damaged" not in done.stderr


def test_a_row_that_was_cut_off_is_told_from_one_that_is_not_sealed() -> None:
    row = ormsgpack.packb({"a": SEALED, "b": SEALED})
    for data in (row[:-1], row[: len(SEALED) + 10], b'{"sealpoint": "wVNMUA'):
        done = inspected(data)
        assert done.exit_code == 4
        assert "cut off" in done.stderr
    done = inspected(ormsgpack.packb({"a": SEALED, "b": SEALED[:9]}))
    assert done.exit_code == 4
    assert "error: b: not a well-formed sealed value" in done.stderr


HOSTILE = {
    "nested arrays": b"\x91" * 100_000,
    "nested maps": b"\x81\xa1a" * 100_000,
    "nested wrappers": b"\x91" * 31 + b"\xd4\x07\x91",
    "an array that claims four billion parts": b"\xdd\xff\xff\xff\xff\xc0",
    "bytes that claim four billion": b"\x91\xc6\xff\xff\xff\xff",
    "too many parts": b"\xdd" + (MAX_PARTS + 1).to_bytes(4, "big") + b"\xc0" * (MAX_PARTS + 1),
    "nested JSON": b"[" * 100_000,
    "well-formed nested JSON": b"[" * 500 + b"]" * 500,
    "large JSON": b"[" + b" " * MAX_JSON + b"]",
    "a number that takes long to read": b"[" + b"9" * 10_000 + b"]",
    "JSON that is no text": b'{"\xff": 1}',
    "a byte that msgpack never uses": b"\x91\xc1",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_ends_in_an_error_of_ours(data: bytes) -> None:
    done = inspected(data)
    assert done.exit_code == 4, done.output
    assert done.stderr.startswith("error: ")
    assert done.stdout == ""


def test_extension_types_are_stepped_over_and_names_cannot_write_to_the_terminal() -> None:
    built = ormsgpack.packb({"a": ormsgpack.Ext(0, b"\x93\xa2os\xa6system\xa4true"), "\x1b[2Jb": SEALED, "c": ormsgpack.Ext(5, SEALED)})
    assert [found.where for found in find(built)] == ["\\x1b[2Jb"]


def test_depth_is_counted_through_wrappers() -> None:
    inner = ormsgpack.packb(SEALED)
    for _ in range(40):
        inner = ormsgpack.packb(ormsgpack.Ext(7, inner))
    with pytest.raises(DecodeError, match="levels"):
        find(inner)
