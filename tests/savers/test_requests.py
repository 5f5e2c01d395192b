"""How many requests an operation makes, counted at the store, and how many one after the other; the length of the history is no matter."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

from sealpoint import Keyring, ObjectSaver
from sealpoint.savers.objects.waves import Runner
from sealpoint.stores import MemoryStore
from tests.savers.chains import chain, config, ids, put

BIG = "x" * 10_000


@pytest.fixture
def saver(keyring: Keyring) -> ObjectSaver:
    return ObjectSaver(MemoryStore(), keyring)


@pytest.fixture
def waves(saver: ObjectSaver, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The kinds of requests in each wave of each operation."""
    seen: list[list[str]] = []
    one_wave = Runner._wave

    def wave(self: Runner, requests: object) -> object:
        kinds = [type(request).__name__ for request in requests]  # type: ignore[attr-defined] # a sequence of requests
        if kinds and kinds != ["Work"]:
            seen.append(sorted(kinds))
        return one_wave(self, requests)  # type: ignore[arg-type] # as above

    monkeypatch.setattr(Runner, "_wave", wave)
    return seen


def counts(saver: ObjectSaver) -> dict[str, int]:
    store = saver.store
    assert isinstance(store, MemoryStore)
    counted = dict(store.faults.requests)
    store.faults.clear()
    return counted  # type: ignore[return-value] # operations are strings


def test_put_is_one_request_and_one_more_for_each_large_value_that_changed(saver: ObjectSaver, waves: list[list[str]]) -> None:
    first = put(saver, config(), {"small": 1, "a": BIG, "b": BIG})
    assert counts(saver) == {"put": 3}
    assert waves == [["Put", "Put"], ["Put"]]
    second = put(saver, first, {"small": 2, "a": BIG, "b": BIG}, new={"small": 2}, versions={"small": 2, "a": 1, "b": 1})
    assert counts(saver) == {"put": 1}
    put(saver, second, {"small": 2, "a": BIG + "y", "b": BIG}, new={"a": 2}, versions={"small": 2, "a": 2, "b": 1})
    assert counts(saver) == {"put": 2}


def test_put_writes_is_one_request_however_many_writes(saver: ObjectSaver) -> None:
    at = put(saver, config(), {"n": 1})
    counts(saver)
    saver.put_writes(at, [("a", 1), ("b", BIG), ("c", 3)], "task")
    assert counts(saver) == {"put": 1}
    saver.put_writes(at, [], "task")
    assert counts(saver) == {}


@pytest.mark.parametrize("length", [10, 1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_latest_is_one_list_and_one_wave_whatever_the_history(saver: ObjectSaver, waves: list[list[str]], length: int) -> None:
    at = chain(saver, length)[-1]
    for task in ("t1", "t2", "t3"):
        saver.put_writes(at, [("a", 1), ("b", 2), ("c", 3)], task)
    counts(saver)
    waves.clear()
    found = saver.get_tuple(config())
    assert found is not None
    assert found.pending_writes is not None
    assert (found.checkpoint["channel_values"]["n"], len(found.pending_writes)) == (length - 1, 9)
    assert counts(saver) == {"list": 1, "get": 4}
    assert waves == [["Page"], ["Get"] * 4]


def test_large_values_are_one_more_wave(saver: ObjectSaver, waves: list[list[str]]) -> None:
    put(saver, config(), {"n": 1, "a": BIG, "b": BIG})
    counts(saver)
    waves.clear()
    saver.get_tuple(config())
    assert counts(saver) == {"list": 1, "get": 3}
    assert waves == [["Page"], ["Get"], ["Get", "Get"]]


def test_by_id_is_at_most_one_list_and_a_wave(saver: ObjectSaver, waves: list[list[str]]) -> None:
    at = chain(saver, 30)[10]
    saver.put_writes(at, [("a", 1)], "t1")
    counts(saver)
    waves.clear()
    assert saver.get_tuple(at) is not None
    assert counts(saver) == {"list": 1, "get": 2}
    assert waves == [["Get", "Page"], ["Get"]]
    assert saver.get_tuple(config(checkpoint_id=str(uuid6()))) is None
    assert counts(saver) == {"list": 1, "get": 1}


def test_listing_ten_is_one_list_and_a_wave(saver: ObjectSaver, waves: list[list[str]]) -> None:
    stored = chain(saver, 200, values={"big": BIG})
    counts(saver)
    waves.clear()
    assert ids(saver, config(), limit=10) == [at["configurable"]["checkpoint_id"] for at in reversed(stored[-10:])]
    assert waves == [["Page"], ["Get"] * 10, ["Get"] * 10]
    assert counts(saver)["list"] == 1


def test_one_large_value_behind_many_checkpoints_is_read_once(saver: ObjectSaver) -> None:
    at = put(saver, config(), {"big": BIG})
    for step in range(5):
        at = put(saver, at, {"big": BIG, "n": step}, versions={"big": 1, "n": step + 2}, new={"n": step + 2})
    counts(saver)
    assert len(ids(saver, config(), limit=6)) == 6
    assert counts(saver) == {"list": 1, "get": 7}


def test_deleting_takes_one_list_and_one_batch_for_each_thousand(saver: ObjectSaver) -> None:
    chain(saver, 1000)
    counts(saver)
    saver.delete_thread("t")
    assert counts(saver) == {"list": 1, "delete": 1}
    chain(saver, 1001)
    counts(saver)
    saver.delete_thread("t")
    assert counts(saver) == {"list": 2, "delete": 2}


def test_large_values_take_a_batch_of_their_own_only_where_checkpoints_are_beside_them(saver: ObjectSaver) -> None:
    chain(saver, 1100, values={"big": BIG})
    counts(saver)
    saver.delete_thread("t")
    assert counts(saver) == {"list": 3, "delete": 4}  # 1,000 checkpoints, 100 of them, 900 values, 200 values


def test_a_filter_streams_in_windows(saver: ObjectSaver) -> None:
    stored = chain(saver, 300)
    counts(saver)
    found = saver.list(config(), filter={"step": 299})
    assert next(found).config == stored[-1]
    assert counts(saver)["get"] <= 40  # one window, not the history
    assert ids(saver, config(), filter={"step": 3}) == [stored[3]["configurable"]["checkpoint_id"]]


def test_delta_history_is_a_few_waves_and_not_one_for_each_ancestor(saver: ObjectSaver, waves: list[list[str]]) -> None:
    at = config()
    for step in range(60):
        counters: Any = {"counters_since_delta_snapshot": {"log": (step, step)}} if step else {}
        at = put(saver, at, {"log": ["seed"]} if step == 0 else {}, versions={"log": step + 1}, step=step, **counters)
        saver.put_writes(at, [("log", [step])], f"task-{step}")
    counts(saver)
    waves.clear()
    history = saver.get_delta_channel_history(config=at, channels=["log"])["log"]
    assert history["seed"] == ["seed"]
    assert [value for _, _, value in history["writes"]] == [[step] for step in range(59)]
    assert len(waves) <= 5


def test_a_slow_store_is_asked_in_parallel(saver: ObjectSaver) -> None:
    from sealpoint.stores import Fault

    at = put(saver, config(), {"n": 1})
    for task in range(9):
        saver.put_writes(at, [("a", task)], f"t{task}")
    store = saver.store
    assert isinstance(store, MemoryStore)
    for run in (lambda: saver.get_tuple(config()), lambda: asyncio.run(saver.aget_tuple(config()))):
        store.faults.plan(Fault("get", "slow", seconds=0.1, times=10), Fault("list", "slow", seconds=0.1, times=1))
        started = time.monotonic()
        run()
        assert time.monotonic() - started < 0.8  # 1.1 s one after the other
