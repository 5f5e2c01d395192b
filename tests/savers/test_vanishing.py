"""What was listed and is gone when it is read: the thread is listed again, and success means the whole of what one listing shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.serde.types import RESUME

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import MissingObjectError, RetryableError
from sealpoint.savers.objects.again import LISTINGS
from sealpoint.stores import MemoryStore
from tests.savers.chains import chain, config, ids, put

BIG = "x" * 9000
LONG = "c" * 120  # ids of this length are known to the objects only


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def saver(store: MemoryStore, keyring: Keyring) -> ObjectSaver:
    return ObjectSaver(store, keyring)


@pytest.fixture
def other(store: MemoryStore, keyring: Keyring) -> ObjectSaver:
    """Another process."""
    return ObjectSaver(store, keyring)


def before(store: MemoryStore, operation: str, part: str, act: Callable[[], object], times: int = 1, skip: int = 0) -> None:
    """Lets another process act just before the requests of that kind whose key contains `part`."""
    matching, left = itertools.count(), itertools.repeat(None, times)

    def watch(asked: str, key: str) -> None:
        if asked == operation and part in key and next(matching) >= skip and next(left, "none left") is None:
            store.faults.watch = None
            act()
            store.faults.watch = watch

    store.faults.watch = watch


def replaced(other: ObjectSaver, checkpoint_id: Callable[[], str | None] = lambda: None) -> Callable[[], None]:
    """A put on the latest checkpoint, and a prune after it."""

    def act() -> None:
        head = other.get_tuple(config())
        assert head is not None
        put(other, head.config, {"n": 99, "big": BIG}, checkpoint_id=checkpoint_id())
        other.prune(["t"])

    return act


def latest(saver: ObjectSaver) -> Any:
    found = saver.get_tuple(config())
    return None if found is None else found.checkpoint["channel_values"]


@pytest.mark.parametrize("part", ["/c/", "/v/"])
def test_the_latest_of_a_thread_that_always_has_one_is_found_beside_put_and_prune(
    store: MemoryStore, saver: ObjectSaver, other: ObjectSaver, part: str
) -> None:
    chain(saver, 3, values={"big": BIG})
    before(store, "get", part, replaced(other))
    assert latest(saver) == {"n": 99, "big": BIG}


def test_so_it_is_where_ids_are_known_to_the_objects_only(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    for step in range(3):
        put(saver, config(), {"n": step}, checkpoint_id=f"{LONG}{step}")
    numbers = itertools.count(3)
    before(store, "get", "/c/", replaced(other, lambda: f"{LONG}{next(numbers)}"))
    assert latest(saver) == {"n": 99, "big": BIG}


def test_a_thread_that_is_replaced_under_every_listing_is_an_error_and_not_none(
    store: MemoryStore, saver: ObjectSaver, other: ObjectSaver
) -> None:
    chain(saver, 1)
    before(store, "get", "/c/", replaced(other), times=LISTINGS)
    with pytest.raises(RetryableError, match="16 times in a row"):
        saver.get_tuple(config())
    assert latest(saver) == {"n": 99, "big": BIG}


def test_a_deleted_thread_is_none_after_one_more_listing(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    chain(saver, 3)
    before(store, "get", "/c/", lambda: other.delete_thread("t"))
    assert saver.get_tuple(config()) is None


def test_a_checkpoint_is_not_read_without_the_writes_that_were_listed(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    (at,) = chain(saver, 1)
    saver.put_writes(at, [(RESUME, 1)], "task")
    before(store, "get", ".w.", lambda: other.delete_thread("t"))
    assert saver.get_tuple(at) is None


def test_the_history_of_a_delta_channel_is_not_cut_by_a_prune_beside_it(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    def step(writer: ObjectSaver, at: Any, number: int, **values: Any) -> Any:
        counters: Any = {"counters_since_delta_snapshot": {"log": (number, number)}} if not values else {}
        made = put(writer, at, values, versions={"log": number + 1}, **counters)
        writer.put_writes(made, [("log", [number])], f"task-{number}")
        return made

    at = step(saver, config(), 0, log="seed")
    for number in range(1, 4):
        at = step(saver, at, number)

    def snapshot_and_prune() -> None:
        step(other, step(other, at, 4, log="second seed"), 5)
        other.prune(["t"])

    before(store, "get", "/c/", snapshot_and_prune, skip=2)
    history = saver.get_delta_channel_history(config=config(), channels=["log"])["log"]
    assert history == {"seed": "second seed", "writes": [("task-4", "log", [4])]}


def test_a_value_of_a_history_that_is_missing_is_named(saver: ObjectSaver) -> None:
    at = put(saver, config(), {"log": BIG})
    at = put(saver, at, {}, versions={"log": 2})
    saver.store.delete_many([entry.key for entry in saver.store.list() if "/v/" in entry.key])
    with pytest.raises(MissingObjectError, match="'log'"):
        saver.get_delta_channel_history(config=at, channels=["log"])


# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "skip"), [("/c/", 0), ("/c/", 64), ("/c/", 129), ("/v/", 0)])
def test_a_copy_of_a_thread_that_is_deleted_meanwhile_is_an_error(
    store: MemoryStore, saver: ObjectSaver, other: ObjectSaver, part: str, skip: int
) -> None:
    chain(saver, 130, values={"big": BIG})
    before(store, "get", part, lambda: other.delete_thread("t"), skip=skip)
    with pytest.raises(RetryableError, match="deleted while it was copied"):
        saver.copy_thread("t", "u")


def test_so_it_is_when_it_goes_between_two_listings(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    chain(saver, 3)
    before(store, "list", "/n-/c/", lambda: other.delete_thread("t"))
    with pytest.raises(RetryableError, match="deleted while it was copied"):
        saver.copy_thread("t", "u")


def test_a_copy_beside_a_prune_has_what_the_prune_left(store: MemoryStore, saver: ObjectSaver, other: ObjectSaver) -> None:
    chain(saver, 130, values={"big": BIG})
    before(store, "get", "/c/", replaced(other), skip=64)
    saver.copy_thread("t", "u")
    copied, source = saver.get_tuple(config("u")), saver.get_tuple(config("t"))
    assert copied is not None
    assert source is not None
    assert copied.checkpoint == source.checkpoint


def test_a_copy_of_a_namespace_without_a_checkpoint_copies_nothing_and_is_no_error(saver: ObjectSaver) -> None:
    saver.put_writes(config("t", checkpoint_id="not yet there"), [("a", 1)], "task")
    saver.copy_thread("t", "u")
    saver.copy_thread("nobody", "u")
    assert ids(saver, config("u")) == []


# --- removals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("removal", ["prune", "delete_for_runs"])
def test_a_removal_beside_put_and_prune_keeps_what_the_new_checkpoint_shares(
    store: MemoryStore, saver: ObjectSaver, other: ObjectSaver, removal: str
) -> None:
    put(saver, put(saver, config(), {"n": 1}, run_id="r1"), {"big": BIG}, run_id="r2")

    def goes_on() -> None:
        head = other.get_tuple(config())
        assert head is not None
        put(other, head.config, {"n": 2, "big": BIG}, versions={"n": 2, "big": 1}, new={"n": 2}, run_id="r3")
        other.prune(["t"])

    before(store, "get", "/c/", goes_on)
    if removal == "prune":
        saver.prune(["t"])
    else:
        saver.delete_for_runs(["r1"])
    assert latest(saver) == {"n": 2, "big": BIG}
