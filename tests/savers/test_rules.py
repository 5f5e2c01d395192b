"""LangGraph's rules for writes, values, copies and removals hold, one call after another and many at once."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED, _DeltaSnapshot

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import ConfigurationError, MissingObjectError
from sealpoint.savers.objects import remove
from sealpoint.stores import FolderStore, MemoryStore
from tests.savers.chains import chain, config, ids, put
from tests.savers.memory import in_memory

BIG = "x" * 9000


@pytest.fixture
def saver(keyring: Keyring) -> ObjectSaver:
    return ObjectSaver(MemoryStore(), keyring)


def pending(saver: ObjectSaver | InMemorySaver, at: Any) -> list[Any]:
    found = saver.get_tuple(at)
    assert found is not None
    return list(found.pending_writes or [])


def keys(saver: ObjectSaver, part: str = "") -> list[str]:
    return [entry.key for entry in saver.store.list() if part in entry.key]


# --- writes -----------------------------------------------------------------------------------------------------------

CALLS: list[tuple[list[tuple[str, Any]], str, str]] = [
    ([("a", 1), ("b", 2)], "t1", "p2"),
    ([("a", "again"), ("b", "again"), ("c", 3)], "t1", "p2"),
    ([(RESUME, 1)], "t1", "p2"),
    ([(RESUME, 2), ("d", 4)], "t1", "p2"),
    ([(INTERRUPT, "i"), (RESUME, 3)], "t2", "p1"),
    ([(ERROR, "e")], "t2", "p1"),
    ([(SCHEDULED, "s"), ("x", 1)], "t3", ""),
    ([(ERROR, "e2")], "t2", "p1"),
    ([(f"c{n}", n) for n in range(12)], "t4", "p10"),
]


def test_special_channels_overwrite_and_others_keep_the_first_as_in_memory(saver: ObjectSaver) -> None:
    theirs = in_memory()
    at = put(saver, config(), {"n": 1}, checkpoint_id="1")
    put(theirs, config(), {"n": 1}, checkpoint_id="1")
    for writes, task, path in CALLS:
        saver.put_writes(at, writes, task, path)
        theirs.put_writes(at, writes, task, path)
        assert pending(saver, at) == pending(theirs, at)
    for writes, task, path in CALLS:  # replayed
        saver.put_writes(at, writes, task, path)
        theirs.put_writes(at, writes, task, path)
    assert pending(saver, at) == pending(theirs, at)


def test_writes_made_at_once_are_all_kept(saver: ObjectSaver) -> None:
    at = put(saver, config(), {"n": 1})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: saver.put_writes(at, [("a", n)], f"task-{n:02}"), range(40)))

    async def more() -> None:
        await asyncio.gather(*(saver.aput_writes(at, [("a", n)], f"task-{n:02}") for n in range(40, 80)))

    asyncio.run(more())
    assert [value for _, _, value in pending(saver, at)] == list(range(80))


def test_a_process_that_saw_writes_writes_after_them_whatever_its_clock_says(
    saver: ObjectSaver, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = put(saver, config(), {"n": 1})
    saver.put_writes(at, [(RESUME, "first")], "t")
    behind = ObjectSaver(saver.store, keyring)
    behind.get_tuple(config())
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600 * 10**9)
    behind.put_writes(at, [(RESUME, "second"), ("a", 1)], "t")
    monkeypatch.undo()
    assert pending(saver, at) == [("t", RESUME, "second"), ("t", "a", 1)]


def _pruned(saver: ObjectSaver) -> None:
    saver.prune(["t"])


def _runs_deleted(saver: ObjectSaver) -> None:
    put(saver, config(), {"n": 2}, checkpoint_id="0", run_id="r1")
    saver.delete_for_runs(["r1"])


def _busy(saver: ObjectSaver) -> None:
    for number in range(1100):  # more than are remembered one by one
        saver.put_writes(config("other", checkpoint_id=f"c{number}"), [("x", 1)], "t")


@pytest.mark.parametrize("meanwhile", [_pruned, _runs_deleted, _busy])
def test_it_still_does_when_it_pruned_deleted_or_was_busy_meanwhile(
    saver: ObjectSaver, keyring: Keyring, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[ObjectSaver], None]
) -> None:
    at = put(saver, config(), {"n": 1})
    saver.put_writes(at, [(RESUME, "first")], "t")
    behind = ObjectSaver(saver.store, keyring)
    behind.get_tuple(config())
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600 * 10**9)
    meanwhile(behind)
    behind.put_writes(at, [(RESUME, "second")], "t")
    monkeypatch.undo()
    assert pending(saver, at) == [("t", RESUME, "second")]


def test_a_regular_write_of_a_clock_that_is_behind_replaces_a_first_one_that_its_writer_did_not_read(
    saver: ObjectSaver, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documented limit, and that reading the checkpoint first is enough."""
    at = put(saver, config(), {"n": 1})
    saver.put_writes(at, [("a", "first")], "t")
    read, unread = ObjectSaver(saver.store, keyring), ObjectSaver(saver.store, keyring)
    read.get_tuple(config())
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 5 * 10**9)
    read.put_writes(at, [("a", "second")], "t")
    assert pending(saver, at) == [("t", "a", "first")]
    unread.put_writes(at, [("a", "third")], "t")
    assert pending(saver, at) == [("t", "a", "third")]


def test_put_writes_without_a_checkpoint_says_what_is_missing(saver: ObjectSaver) -> None:
    with pytest.raises(ConfigurationError, match="checkpoint_id"):
        saver.put_writes(config(), [("a", 1)], "t")
    with pytest.raises(ConfigurationError, match="thread_id"):
        saver.get_tuple({"configurable": {}})


# --- values -----------------------------------------------------------------------------------------------------------


def test_a_value_is_stored_again_unless_this_process_knows_where_it_lies(saver: ObjectSaver, keyring: Keyring) -> None:
    first = put(saver, config(), {"big": BIG})
    put(saver, first, {"big": BIG}, new={})
    assert len(keys(saver, "/v/")) == 1
    stranger = ObjectSaver(saver.store, keyring)
    put(stranger, first, {"big": BIG}, new={})
    assert len(keys(saver, "/v/")) == 2
    put(stranger, config(checkpoint_id="no such parent"), {"big": BIG}, new={})
    assert len(keys(saver, "/v/")) == 3
    for found in saver.list(config()):
        assert found.checkpoint["channel_values"] == {"big": BIG}


def test_a_sibling_with_equal_versions_does_not_get_this_forks_value(saver: ObjectSaver) -> None:
    """Savers with plain integer versions repeat them in forks."""
    root = put(saver, config(), {"role": "guest" + BIG}, versions={"role": 1})
    left = put(saver, root, {"role": "admin" + BIG}, versions={"role": 2})
    right = put(saver, root, {"role": "user" + BIG}, versions={"role": 2})
    for at, role in ((left, "admin"), (right, "user"), (root, "guest")):
        found = saver.get_tuple(at)
        assert found is not None
        assert found.checkpoint["channel_values"]["role"] == role + BIG


@pytest.mark.parametrize("version", [1, 1.5, "00001.7"])
def test_versions_of_every_type_name_large_values(saver: ObjectSaver, version: Any) -> None:
    at = put(saver, config(), {"big": BIG, "snap": _DeltaSnapshot(BIG)}, versions={"big": version, "snap": version})
    put(saver, at, {"big": BIG, "snap": _DeltaSnapshot(BIG)}, versions={"big": version, "snap": version}, new={})
    assert len(keys(saver, "/v/")) == 2
    for found in saver.list(config()):
        assert found.checkpoint["channel_values"] == {"big": BIG, "snap": _DeltaSnapshot(BIG)}
        assert found.checkpoint["channel_versions"] == {"big": version, "snap": version}


def test_metadata_and_skeleton_come_back_as_from_memory(saver: ObjectSaver) -> None:
    theirs = in_memory()
    at: Any = {**config(), "metadata": {"user": "ada", "deep": {"x": 1}, "__private": 1}, "tags": ["x"]}
    at["configurable"] |= {"langgraph_user": "u", "nul": "a\x00b", "obj": object()}
    for saver_ in (saver, theirs):
        put(saver_, at, {"n": 1}, checkpoint_id="7", run_id="r")
    ours, other = saver.get_tuple(config()), theirs.get_tuple(config())
    assert ours == other


# --- copies and removals ------------------------------------------------------------------------------------------------


def build(saver: ObjectSaver, thread: str = "t") -> list[Any]:
    stored = chain(saver, 5, config(thread), {"big": BIG})
    saver.put_writes(stored[-1], [("a", BIG), (RESUME, 1)], "task", "path")
    chain(saver, 2, config(thread, "child:1"))
    return stored


def without_thread(saver: ObjectSaver, thread: str) -> list[Any]:
    every = list(saver.list({"configurable": {"thread_id": thread}}))
    return [(found.checkpoint, found.metadata, found.pending_writes, found.config["configurable"]["checkpoint_ns"]) for found in every]


def test_a_copy_is_equal_and_independent(saver: ObjectSaver) -> None:
    build(saver, "source")
    saver.copy_thread("source", "target")
    before = without_thread(saver, "source")
    assert len(before) == 7
    assert without_thread(saver, "target") == before
    saver.copy_thread("source", "target")  # again, as after a failure
    assert without_thread(saver, "target") == before
    saver.delete_thread("source")
    assert without_thread(saver, "target") == before
    parents = [found.parent_config["configurable"]["thread_id"] for found in saver.list(config("target")) if found.parent_config]
    assert set(parents) == {"target"}


def test_a_copy_goes_on_where_the_source_was(saver: ObjectSaver) -> None:
    build(saver, "source")
    saver.copy_thread("source", "target")
    head = saver.get_tuple(config("target"))
    assert head is not None
    put(saver, head.config, {"n": 9, "big": BIG}, versions={"n": 9, "big": 1}, new={"n": 9})
    saver.delete_thread("source")
    found = saver.get_tuple(config("target"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 9, "big": BIG}


def test_pruning_keeps_the_latest_of_each_namespace_and_collects_what_nothing_refers_to(saver: ObjectSaver) -> None:
    stored = chain(saver, 4, values={"big": BIG})
    at = put(saver, stored[-1], {"n": 9, "big": BIG}, versions={"n": 9, "big": 1}, new={"n": 9})
    saver.put_writes(stored[0], [("a", 1)], "old")
    saver.put_writes(at, [("a", 1)], "new")
    build(saver, "other")
    chain(saver, 3, config("t", "child:1"))
    other = without_thread(saver, "other")
    saver.prune(["t"])
    assert ids(saver, config()) == [at["configurable"]["checkpoint_id"]]
    assert len(ids(saver, config("t", "child:1"))) == 1
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 9, "big": BIG}
    assert found.pending_writes == [("new", "a", 1)]
    assert len(keys(saver, "t-t/n-/")) == 3  # a checkpoint, its writes, one value of an older checkpoint
    assert without_thread(saver, "other") == other
    saver.prune(["t"], strategy="delete")
    assert keys(saver, "t-t/") == []
    with pytest.raises(ConfigurationError, match="keep_latest"):
        saver.prune(["t"], strategy="keep_some")


def test_a_run_goes_on_after_its_thread_was_pruned(saver: ObjectSaver) -> None:
    stored = chain(saver, 4, values={"big": BIG})
    saver.prune(["t"])
    at = put(saver, stored[-1], {"big": BIG}, new={})
    put(saver, stored[0], {"big": BIG}, new={})  # even from a checkpoint that is gone
    for found in saver.list(config()):
        assert found.checkpoint["channel_values"]["big"] == BIG
    assert saver.get_tuple(at) is not None


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(saver: ObjectSaver) -> None:
    at, every = config(), []
    for step in range(10):
        snapshot = {"log": _DeltaSnapshot([step])} if step in (0, 4) else {}
        since = step - 4 if step >= 4 else step
        counters: Any = {"counters_since_delta_snapshot": {"log": (since, since)}} if since else {}
        at = put(saver, at, {**snapshot, "other": step}, versions={"log": step + 1, "other": step + 1}, step=step, **counters)
        saver.put_writes(at, [("log", [step])], f"task-{step}")
        every.append(at)
    before = saver.get_delta_channel_history(config=at, channels=["log"])
    saver.prune(["t"])
    assert saver.get_delta_channel_history(config=at, channels=["log"]) == before
    assert before["log"]["seed"] == _DeltaSnapshot([4])
    assert ids(saver, config()) == [kept["configurable"]["checkpoint_id"] for kept in reversed(every[4:])]


def test_deleting_runs_removes_their_checkpoints_only(saver: ObjectSaver) -> None:
    at = config()
    for run in ("r1", "r2", "r1", "r3"):
        at = put(saver, at, {"big": BIG + run}, run_id=run)
        saver.put_writes(at, [("a", run)], "task")
    put(saver, config("u"), {"n": 1}, run_id="r1")
    saver.delete_for_runs(["r1"])
    assert [found.metadata["run_id"] for found in saver.list(None)] == ["r3", "r2"]
    assert len(keys(saver)) == 6
    saver.delete_for_runs(["r2"], thread_ids=["u"])
    assert len(ids(saver, config())) == 2
    saver.delete_for_runs([])
    saver.delete_for_runs(["r2", "r3"])
    assert keys(saver) == []


def test_what_a_killed_writer_left_is_collected_when_it_is_old(saver: ObjectSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = chain(saver, 3, values={"big": BIG})
    saver.put_writes(config(checkpoint_id="1ef4f797-8335-6428-8001-8a1503f9b875"), [("a", 1)], "orphan")
    saver.store.delete_many([keys(saver, "/c/")[0]])  # as if the put had been killed before its last request
    saver.prune(["t"])
    assert len(keys(saver, "/v/")) == 2  # one of the latest, one that may still be on its way
    monkeypatch.setattr(remove, "ORPHAN_AGE_S", -1.0)
    saver.prune(["t"])
    assert len(keys(saver, "/v/")) == 1
    assert not keys(saver, ".w.")
    assert ids(saver, config()) == [stored[1]["configurable"]["checkpoint_id"]]


def test_nothing_is_read_beside_a_deletion_but_whole_checkpoints(keyring: Keyring) -> None:
    store = MemoryStore()
    saver, stop = ObjectSaver(store, keyring), threading.Event()
    seen: list[Any] = []

    def read() -> None:
        reader = ObjectSaver(store, keyring)
        while not stop.is_set():
            try:
                found = reader.get_tuple(config())
            except MissingObjectError as exc:
                seen.append(exc)
            else:
                if found is not None and found.checkpoint["channel_values"]["big"] != BIG:
                    seen.append(found)

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(15):
        chain(saver, 4, values={"big": BIG})
        saver.delete_thread("t")
    stop.set()
    thread.join(20)
    assert seen == []


def test_a_second_process_sees_at_once_what_the_first_wrote(tmp_path: Any, keyring: Keyring) -> None:
    first, second = (ObjectSaver(FolderStore(tmp_path, durable=False), keyring) for _ in range(2))
    at = config()
    for step, (writer, reader) in zip(range(6), itertools.cycle([(first, second), (second, first)]), strict=False):
        at = put(writer, at, {"n": step})
        found = reader.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"n": step}


def test_the_allowlist_of_strict_mode_reaches_a_clone_that_shares_the_rest(saver: ObjectSaver) -> None:
    put(saver, config(), {"n": 1})
    clone = saver.with_allowlist([("tests.savers.test_rules", "Anything")])
    assert clone is not saver
    assert clone.get_tuple(config()) == saver.get_tuple(config())
