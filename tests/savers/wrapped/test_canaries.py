"""Nothing that a user gives is readable in a raw store, in any encoding; and what is readable is what the docs name."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped import clear
from tests.savers.wrapped import agent
from tests.savers.wrapped.targets import SQLITE, Saver, Target, dump_sqlite

Wrap = Callable[..., SealedSaver]
NODES = ("begin", "worker", "answer", "deep")
CHANNELS = ("fraction", "messages", "nested")


def encodings(value: str | float) -> Iterator[bytes]:
    """Every form in which a value could lie in a store: text, JSON, base64 at each alignment, hex, and a number's binary forms."""
    raws = [value.encode()] if isinstance(value, str) else [repr(value).encode()]
    if isinstance(value, int):
        raws += [value.to_bytes(8, "big"), value.to_bytes(8, "little")]
    if isinstance(value, float):
        raws += [struct.pack(">d", value), struct.pack("<d", value)]
    if isinstance(value, str):
        raws += [value.encode("utf-16-le"), json.dumps(value)[1:-1].encode()]
    for raw in raws:
        yield raw
        yield raw.hex().encode()
        yield raw.hex().upper().encode()
        for shift in range(3):
            text = base64.b64encode(b"\0" * shift + raw + b"\0" * ((-len(raw) - shift) % 3))
            yield text[4 if shift else 0 : -4]  # without the groups that neighbours would change
            yield text[4 if shift else 0 : -4].translate(bytes.maketrans(b"+/", b"-_"))


def found_in(dump: bytes, values: tuple[Any, ...] = agent.CANARIES) -> list[Any]:
    return [value for value in values if any(form in dump for form in encodings(value) if len(form) >= 5)]


def _fill(saver: Saver) -> None:
    graph = agent.build().compile(checkpointer=saver)
    graph.invoke(agent.first(), agent.config("thread-1"))
    graph.invoke(agent.resume(), agent.config("thread-1"))
    graph.update_state(agent.config("thread-1"), {"text": agent.TEXT}, as_node="answer")
    with pytest.raises(RuntimeError):
        agent.failing().compile(checkpointer=saver).invoke(agent.first(), agent.config("thread-2"))


def test_the_scan_finds_every_canary_in_a_bare_store(any_target: Target, tmp_path: Path) -> None:
    with any_target.make(tmp_path / "store") as bare:
        _fill(bare)
        missing = set(agent.CANARIES) - set(found_in(any_target.dump(tmp_path / "store", bare)))
    # A saver that keeps one checkpoint forgets the question, and the older values, by itself.
    assert not missing or any_target.name == "shallow-postgres"


def test_no_canary_is_readable_in_a_sealed_store(any_target: Target, seal: Wrap, tmp_path: Path) -> None:
    with any_target.make(tmp_path / "store") as inner:
        _fill(seal(inner))
        assert found_in(any_target.dump(tmp_path / "store", inner)) == []


def test_hidden_names_and_threads_are_not_readable_either(any_target: Target, seal: Wrap, tmp_path: Path, index_keys: Any) -> None:
    with any_target.make(tmp_path / "store") as inner:
        _fill(seal(inner, index_keys=index_keys, hash_thread_ids=True, hide_names=True))
        dump = any_target.dump(tmp_path / "store", inner)
        assert found_in(dump, (*agent.CANARIES, "thread-1", "thread-2", *NODES, *CHANNELS)) == []
    with any_target.make(tmp_path / "other") as inner:
        _fill(seal(inner))
        assert set(found_in(any_target.dump(tmp_path / "other", inner), ("thread-1", *CHANNELS))) == {"thread-1", *CHANNELS}


def test_what_is_readable_is_exactly_what_the_docs_name(seal: Wrap, tmp_path: Path) -> None:
    """Every leaf of every row: ids, versions, times, the named metadata, and sealed bytes."""
    named = _named_in_the_docs()
    assert set(clear.READABLE) <= named
    with SQLITE.make(tmp_path / "store") as inner:
        _fill(seal(inner))
        connection: sqlite3.Connection = inner.conn  # type: ignore[attr-defined]  # a SqliteSaver
        rows = connection.execute("SELECT type, checkpoint, metadata FROM checkpoints").fetchall()
        writes = connection.execute("SELECT * FROM writes").fetchall()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(writes)")]
    for tag, checkpoint, metadata in rows:
        stored = ormsgpack.unpackb(checkpoint, ext_hook=lambda _, data: ormsgpack.unpackb(data))
        assert tag == "msgpack"
        assert stored.keys() <= {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"}
        assert (stored["versions_seen"], stored["updated_channels"]) == ({}, None)
        assert all(cell.startswith(b"\xc1SLP") for cell in stored["channel_values"].values())
        beside = json.loads(metadata)
        assert beside.keys() - named == set()
        assert base64.b64decode(beside["sealpoint"]).startswith(b"\xc1SLP")
    for values in writes:
        write = dict(zip(columns, values, strict=True))
        assert (write["type"], write.get("task_path", ""), write["value"][:4]) == ("bytes", "", b"\xc1SLP")
    assert len(rows) > 8
    assert len(writes) > 12


def test_padding_leaves_few_lengths(seal: Wrap, tmp_path: Path) -> None:
    def lengths(name: str, **options: Any) -> set[int]:
        with SQLITE.make(tmp_path / name) as inner:
            _fill(seal(inner, **options))
            connection: sqlite3.Connection = inner.conn  # type: ignore[attr-defined]  # a SqliteSaver
            return {len(value) for (value,) in connection.execute("SELECT value FROM writes")}

    assert len(lengths("padded", pad_lengths=True)) <= 4
    assert len(lengths("plain")) >= 8
    assert found_in(dump_sqlite(tmp_path / "padded")) == []


def _named_in_the_docs() -> set[str]:
    text = (Path(__file__).parents[3] / "docs" / "limitations-sealed-saver.md").read_text(encoding="utf-8")
    return set(re.findall(r"`([^`\s]+)`", text))
