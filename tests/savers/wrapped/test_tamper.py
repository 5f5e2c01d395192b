"""Whoever can write to the raw store cannot make a sealed saver return what was not stored there, and nothing runs."""

from __future__ import annotations

import itertools
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from sealpoint import Keyring
from sealpoint.errors import AuthenticationError, IntegrityError, SealpointError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped import agent
from tests.savers.wrapped.rawstore import RAW, CellAt, RawStore, SqliteRaw

PARTS = ("thread-1", "thread-2")


RING = Keyring.generate()


@pytest.fixture(scope="module", params=RAW, ids=lambda raw: raw.name)
def raw(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawStore]:
    """Two threads with an interrupted run each, and two forks in the first. Every change is undone, so one store serves all tests."""
    with request.param.open(tmp_path_factory.mktemp("raw") / "store") as store:
        saver = SealedSaver(store.inner, RING)
        graph = agent.build().compile(checkpointer=saver)
        for thread in PARTS:
            graph.invoke(agent.first(), agent.config(thread))
        past = next(snapshot for snapshot in graph.get_state_history(agent.config("thread-1")) if snapshot.next == ("ask",))
        graph.update_state(past.config, {"text": "fork a"}, as_node="worker")
        graph.update_state(past.config, {"text": "fork b"}, as_node="worker")
        yield store


@pytest.fixture
def reader(raw: RawStore) -> SealedSaver:
    """A saver with no cache of its own."""
    return SealedSaver(raw.inner, RING)


def read_all(saver: SealedSaver) -> int:
    """Reads everything by listing and by id, and returns how many checkpoints there were."""
    found = [item for thread in PARTS for item in saver.list({"configurable": {"thread_id": thread}})]
    for item in found:
        saver.get_tuple(item.config)
    for thread in PARTS:
        saver.get_tuple({"configurable": {"thread_id": thread}})
    return len(found)


def test_an_untouched_store_reads(raw: RawStore, reader: SealedSaver) -> None:
    assert read_all(reader) > 10


# --- what an attacker plants is not even parsed -----------------------------------------------------------------------


def _planted(marker: Path) -> dict[str, tuple[str, bytes]]:
    """Values that make a directory when an ordinary serializer reads them."""

    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(marker),)

    named = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(marker)))))
    revived = {"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [str(marker)], "kwargs": {}}
    return {
        "plaintext": ("msgpack", ormsgpack.packb({"text": "forged"})),
        "plain bytes": ("bytes", b"forged"),
        "null": ("null", b""),
        "msgpack extension naming a function": ("msgpack", named),
        "lc json": ("json", json.dumps(revived).encode()),
        "pickle": ("pickle", pickle.dumps(Bomb())),
    }


@pytest.mark.parametrize("kind", _planted(Path("unused")))
def test_a_planted_value_is_refused_and_runs_nothing(raw: RawStore, reader: SealedSaver, kind: str, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    planted = _planted(marker)[kind]
    for cell in raw.cells():
        with raw.changed(cell, planted), pytest.raises(IntegrityError):
            read_all(reader)
    assert not marker.exists()
    assert read_all(reader) > 10


def test_every_cell_is_authenticated_to_the_byte(raw: RawStore, reader: SealedSaver) -> None:
    for cell in raw.cells():
        tag, value = raw.value(cell)
        for at in (0, 4, 12, len(value) // 2, len(value) - 1):
            flipped = bytearray(value)
            flipped[at] ^= 1
            with raw.changed(cell, (tag, bytes(flipped))), pytest.raises(SealpointError):
                read_all(reader)


def test_a_relabelled_cell_is_refused(raw: RawStore, reader: SealedSaver) -> None:
    for cell in raw.cells():
        _, value = raw.value(cell)
        for tag in ("msgpack", "json", "pickle", "msgpack+aes", "null"):
            if tag != raw.value(cell)[0]:
                with raw.changed(cell, (tag, value)), pytest.raises(IntegrityError):
                    read_all(reader)


def test_values_swapped_between_any_two_cells_are_refused(raw: RawStore, reader: SealedSaver) -> None:
    """Threads, namespaces, channels, checkpoints, forks, tasks: every pair of neighbours, and every cell with the first."""
    cells = raw.cells()
    pairs = [*itertools.pairwise(cells), *((cells[0], other) for other in cells[1:])]
    swapped = 0
    for one, other in pairs:
        if raw.value(one) != raw.value(other):
            swapped += 1
            with raw.changed(one, raw.value(other)), pytest.raises(IntegrityError):
                read_all(reader)
    assert swapped > 20


# --- rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["thread_id", "checkpoint_ns"])
def test_a_row_moved_to_another_thread_or_namespace_is_refused(raw: RawStore, reader: SealedSaver, column: str) -> None:
    for key in raw.checkpoints("thread-1")[:4]:
        with raw.moved(key, **{column: "thread-2" if column == "thread_id" else "elsewhere"}), pytest.raises(IntegrityError):
            read_all(reader)


def test_an_old_checkpoint_replayed_over_a_newer_one_is_refused(raw: RawStore, reader: SealedSaver) -> None:
    newest, *_, oldest = raw.checkpoints("thread-1")
    with raw.replayed(oldest, over=newest), pytest.raises(IntegrityError):
        read_all(reader)


def test_an_edited_parent_is_refused_and_a_missing_one_is_reported(raw: RawStore, reader: SealedSaver) -> None:
    newest, second, third, *_ = raw.checkpoints("thread-1")
    other = third if raw.parent_of(newest) != third.checkpoint_id else second
    with raw.parent(newest, other.checkpoint_id), pytest.raises(AuthenticationError, match="parent"):
        read_all(reader)
    before = reader.stats()["saver"].get("history_cut", 0)
    with raw.parent(newest, None):
        found = reader.get_tuple({"configurable": {"thread_id": "thread-1"}})
    assert found is not None
    assert found.parent_config is None
    assert reader.stats()["saver"]["history_cut"] == before + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("source", "input"), ("step", 99), ("parents", {"": "x"}), ("sealpoint", ""), ("sealpoint", "AAAA"), ("sealpoint", None)],
)
def test_edited_metadata_is_refused_readable_keys_too(raw: RawStore, reader: SealedSaver, name: str, value: Any) -> None:
    for key in raw.checkpoints("thread-1")[:3]:
        with raw.metadata(key, lambda found: {**found, name: value}), pytest.raises(IntegrityError):
            read_all(reader)
        with raw.metadata(key, lambda found: {k: v for k, v in found.items() if k != name}), pytest.raises(IntegrityError):
            read_all(reader)


@pytest.mark.parametrize("name", ["id", "ts", "v", "versions_seen", "channel_versions"])
def test_an_edited_skeleton_is_refused(raw: RawStore, reader: SealedSaver, name: str) -> None:
    def edit(found: dict[str, Any]) -> dict[str, Any]:
        value = found[name]
        if isinstance(value, dict):
            forged: Any = {**value, "added": 1}
        else:
            forged = value + 1 if isinstance(value, int) else value[:-1] + ("0" if value[-1] != "0" else "1")
        return {**found, name: forged}

    for key in raw.checkpoints("thread-1")[:3]:
        with raw.skeleton(key, edit), pytest.raises(IntegrityError):
            read_all(reader)


def test_an_emptied_or_an_added_channel_is_refused(raw: RawStore, reader: SealedSaver) -> None:
    newest = raw.checkpoints("thread-1")[0]
    for channel in ("text", "number", "messages"):
        with raw.without_channel(newest, channel), pytest.raises(IntegrityError):
            read_all(reader)
    with raw.with_channel(newest, "__start__" if raw.name == "postgres" else "added"), pytest.raises(IntegrityError):
        read_all(reader)


# --- writes -------------------------------------------------------------------------------------------------------------


def test_a_write_moved_to_another_channel_or_task_or_copied_is_refused(raw: RawStore, reader: SealedSaver) -> None:
    for key in raw.writes("thread-1")[:6]:
        for column, value in (("channel", "elsewhere"), ("task_id", "00000000-0000-0000-0000-000000000000"), ("thread_id", "thread-2")):
            change: Any = {column: value}
            with raw.write(key, **change):
                if column == "thread_id":
                    continue  # it is attached to a checkpoint that is not there: as good as deleted, which docs/limitations say
                with pytest.raises(IntegrityError):
                    read_all(reader)
        with raw.write(key, copied=True, idx=77), pytest.raises(AuthenticationError, match="twice"):
            read_all(reader)


def test_an_edited_task_path_or_index_has_no_effect(raw: RawStore, reader: SealedSaver) -> None:
    def told() -> list[Any]:
        return [item.pending_writes for item in reader.list({"configurable": {"thread_id": "thread-1"}})]

    before = told()
    for number, key in enumerate(raw.writes("thread-1")[:8]):
        if "task_path" in raw.columns(raw.writes_table):  # not in the oldest SQLite saver
            with raw.write(key, task_path=f"~zz{100 - number}"):
                assert told() == before
        with raw.write(key, idx=500 - number):
            assert told() == before


def test_a_forks_value_in_the_other_fork_is_refused_where_versions_repeat(tmp_path: Path) -> None:
    """Savers with plain integer versions count alike in both forks; the origin keeps them apart."""
    with SqliteRaw.open(tmp_path / "store") as raw:
        saver = SealedSaver(raw.inner, RING)
        root = saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, _checkpoint("1", 1, "user"), {}, {"role": 1})
        for fork, role in (("2", "user"), ("3", "admin")):
            saver.put(root, _checkpoint(fork, 2, role), {}, {"role": 2})
        reader = SealedSaver(raw.inner, RING)
        cells = [CellAt("checkpoints", ("t", "", fork), "role") for fork in "23"]
        with raw.changed(cells[0], raw.value(cells[1])), pytest.raises(IntegrityError):
            reader.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "2"}})
        assert [item.checkpoint["channel_values"]["role"] for item in reader.list(None)] == ["admin", "user", "user"]


def _checkpoint(checkpoint_id: str, version: int, role: str) -> Any:
    return {
        "v": 4, "id": checkpoint_id, "ts": "2026-01-01T00:00:00+00:00", "channel_values": {"role": role},
        "channel_versions": {"role": version}, "versions_seen": {}, "updated_channels": None,
    }  # fmt: skip
