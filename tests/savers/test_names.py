"""Threads and namespaces whose ids stand in the objects only are found, whatever else lies there, or their finding fails loudly."""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable

import pytest

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import DecodeError, NotSealedError, ThreadErasedError
from sealpoint.savers.objects.layout import Layout, Place
from sealpoint.stores import MemoryStore, Stopped
from tests.keys.helpers import World
from tests.savers.chains import chain, config, ids, put
from tests.savers.shelves import Objects

LONG = "x" * 300  # hashed in keys


def lay(store: MemoryStore, key: str, data: bytes = b"theirs") -> None:
    """Puts an object there, also under a key that our stores refuse."""
    if key not in store._objects:
        insort(store._keys, key)
    store._objects[key] = (data, "etag", 0.0)


def segment(thread: str) -> str:
    return Layout().thread_folder(thread).rstrip("/")


FOREIGN: dict[str, Callable[[int], str]] = {
    "names": lambda number: f"{segment(LONG)}/n-/c/!{number:04}",
    "depths": lambda number: f"{segment(LONG)}/n-/c/" + "/".join("0" * (1 + number % 3)) + str(number),
    "right below": lambda number: f"{segment(LONG)}/0{number}",
    "namespaces": lambda number: f"{segment(LONG)}/0/c/{number}.c",
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("count", [1, 16, 1200])
def test_foreign_keys_below_a_hashed_segment_hide_no_thread(keyring: Keyring, kind: str, count: int) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    put(saver, config(LONG), {"n": 1}, run_id="r1")
    for number in range(count):
        lay(store, FOREIGN[kind](number))
    assert list(saver.threads()) == [LONG]
    assert len(ids(saver, None)) == 1
    saver.delete_for_runs(["r1"])
    assert ids(saver, None) == []
    assert list(saver.threads()) == []  # nothing of ours is there


def test_foreign_keys_below_a_hashed_namespace_hide_no_checkpoint(keyring: Keyring) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    put(saver, config("t", LONG), {"n": 1})
    prefix = Layout().folder(Place("t", LONG))
    for number in range(40):
        lay(store, f"{prefix}c/!{number}")
        lay(store, f"{prefix}a/b/{number}")
    assert len(ids(saver, None)) == 1


@pytest.mark.parametrize(("data", "error"), [(b"junk", DecodeError), (None, NotSealedError)])
def test_an_object_of_ours_that_does_not_tell_is_named(keyring: Keyring, data: bytes | None, error: type[Exception]) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    put(saver, config(LONG), {"n": 1})
    put(saver, config("short"), {"n": 1})
    first, short = (entry.key for entry in sorted(store.list(), key=lambda entry: segment("short") in entry.key))
    lay(store, first, store.get(short).data if data is None else data)  # one that needs no names has none
    for read in (lambda: list(saver.threads()), lambda: list(saver.list(None)), lambda: saver.delete_for_runs(["r1"])):
        with pytest.raises(error, match=re.escape(first)):
            read()


def test_a_forged_header_hides_no_thread_while_another_object_tells() -> None:
    world, data = World(), Objects()
    saver = data.saver(world.keys())
    for at in chain(saver, 3, config(LONG)):
        saver.put_writes(at, [("a", 1)], "task")
    assert list(saver.threads()) == [LONG]
    keys = [entry.key for entry in data.store.list()]
    for forged, key in enumerate(keys, start=1):
        raw = data.store.get(key).data
        lay(data.store, key, re.sub(rb"g1-(?=[0-9a-f]{20})", b"g0-", raw))
        assert list(saver.threads()) == ([LONG] if forged < len(keys) else [])
        if forged < len(keys):
            with pytest.raises(ThreadErasedError):  # the thread is listed, with a checkpoint that says so
                list(saver.list(None))
    assert list(saver.list(None)) == []


def test_what_an_erased_thread_left_keeps_no_other_from_being_listed() -> None:
    world, data = World(), Objects(Keyring.generate("names"))
    saver = data.saver(world.keys())
    for thread in ("one", "two", "three"):
        put(saver, config(thread), {"n": 1})
    data.stop_removal(saver)
    with pytest.raises(Stopped):
        saver.erase_thread("two")
    assert sorted(saver.threads()) == ["one", "three"]
    assert len(ids(saver, None)) == 2


def test_what_an_earlier_life_left_hides_no_thread_and_no_namespace() -> None:
    for hashed, at in ((Keyring.generate("names"), config("one")), (None, config("one", LONG))):
        world, data = World(), Objects(hashed)
        saver = data.saver(world.keys())
        put(saver, config("one"), {"n": 1}, checkpoint_id="root")
        put(saver, at, {"n": 1}, checkpoint_id="zz")  # sorts first
        old = {entry.key: data.store.get(entry.key).data for entry in data.store.list()}
        saver.erase_thread("one")
        world.clock.sleep(301)
        put(saver, config("one"), {"n": 2}, checkpoint_id="root")
        put(saver, at, {"n": 2}, checkpoint_id="b")
        for key, raw in old.items():
            if key not in data.store._objects:
                lay(data.store, key, raw)
        assert list(saver.threads()) == ["one"]
        assert saver.get_tuple({**at, "configurable": {**at["configurable"], "checkpoint_id": "b"}}) is not None
        with pytest.raises(ThreadErasedError):
            list(saver.list(None))  # what is left over is listed, and says so


def test_a_hashed_thread_that_is_replaced_while_it_is_asked_is_found(keyring: Keyring) -> None:
    store = MemoryStore()
    saver, other = ObjectSaver(store, keyring), ObjectSaver(store, keyring)
    put(saver, config(LONG), {"n": 1})

    def replace(operation: str, _key: str) -> None:
        if operation == "get":
            store.faults.watch = None
            head = other.get_tuple(config(LONG))
            assert head is not None
            put(other, head.config, {"n": 2})
            other.prune([LONG])

    store.faults.watch = replace
    assert list(saver.threads()) == [LONG]


# --- one name, one segment ----------------------------------------------------------------------------------------------


def test_a_namespace_is_listed_once_whatever_else_looks_like_it(keyring: Keyring) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    chain(saver, 2)
    chain(saver, 2, config("t", LONG))
    for other in ("t-", f"t-{LONG}", f"n-{LONG[:250]}", "n-.zz", "nh-0", "th-" + "0" * 64):
        lay(store, f"t-t/{other}/c/u.c")
    found = ids(saver, {"configurable": {"thread_id": "t"}}, limit=4)
    assert len(set(found)) == 4
    assert ids(saver, {"configurable": {"thread_id": "t"}}) == found


def test_a_thread_is_listed_once_whatever_else_looks_like_it(keyring: Keyring) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring, hash_threads=Keyring.generate("names"))
    put(saver, config("one"), {"n": 1})
    put(ObjectSaver(store, keyring), config("one"), {"n": 1})  # before its ids were hashed: nothing finds that by the id
    for other in ("n-one", "t-.zz", "th-0", f"t-{LONG[:250]}"):
        lay(store, f"{other}/n-/c/u.c")
    assert list(saver.threads()) == ["one"]
    assert len(ids(saver, None)) == 1
