"""Any thread id, namespace and checkpoint id has a place of its own: listed in order, isolated from others, found again by its name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import AuthenticationError
from sealpoint.stores import MemoryStore
from tests.savers.chains import config, ids, put
from tests.savers.stores import makers

# Pairs of thread id and namespace that upset key-value stores, folders and URLs.
PLACES = [
    ("1", ""), ("10", ""), ("1", "10"), ("user-1", ""), ("user-1/../user-2", ""), ("a/b", ""), ("a", "b"), ("a//b", ""),
    ("/a", ""), ("a/", ""), (".", ""), ("..", ""), ("t:1", "parent:uuid|child:uuid"), ("t", "parent:uuid"),
    ("t", "parent:uuid|child:uuid2"), ("t|p", ""), ("t", "p|"), ("a%2Fb", ""), ("a.2fb", ""), ("a+b c", ""), ("a b+c", ""),
    ("\u00e9", ""), ("e\u0301", ""), ("\U0001f9ea", ""), ("tab\there", ""), ("nl\nhere", ""), ("q?x=1#f&g", ""),
    ("back\\slash", ""), ("", ""), ("0", ""), ("None", ""), ("A", ""), ("a", ""), ("x" * 600, "y" * 600), ("\u00e9" * 500, ""),
    ("c", ""), ("v", ""), ("n-", ""), ("t-a", ""), ("a", "c"), ("a", "v"), ("<&>'\"", ""), ("%", ""), ("*", ""), ("[ab]?", ""),
    ("\ud800", ""), ("\x00", ""), ("x" * 200, ""), ("x" * 201, ""), ("x" * 202, ""), ("th-" + "0" * 64, ""), ("probe", ""),
]  # fmt: skip


@pytest.fixture(params=["memory", "folder", pytest.param("seaweedfs", marks=pytest.mark.services)])
def saver(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyring: Keyring) -> Iterator[ObjectSaver]:
    for make in makers(request, tmp_path, monkeypatch):
        yield ObjectSaver(make(), keyring)


def test_all_places_are_isolated_in_one_store(saver: ObjectSaver) -> None:
    for number, (thread, ns) in enumerate(PLACES):
        at = put(saver, config(thread, ns), {"n": number, "big": f"{number}." * 4000})
        saver.put_writes(at, [("w", number)], "task")
    for number, (thread, ns) in enumerate(PLACES):
        found = saver.get_tuple(config(thread, ns))
        assert found is not None
        assert found.checkpoint["channel_values"]["n"] == number
        assert found.pending_writes == [("task", "w", number)]
        assert len(list(saver.list(config(thread, ns)))) == 1
    assert sorted(saver.threads()) == sorted({thread for thread, _ in PLACES})
    everything = list(saver.list(None))
    assert sorted((at.config["configurable"]["thread_id"], at.config["configurable"]["checkpoint_ns"]) for at in everything) == sorted(
        PLACES
    )
    for gone in ("a", "x" * 600, ""):
        saver.delete_thread(gone)
    left = {thread for thread, _ in PLACES} - {"a", "x" * 600, ""}
    assert sorted(saver.threads()) == sorted(left)
    assert saver.get_tuple(config("a", "b")) is None
    assert saver.get_tuple(config("a/b")) is not None
    saver.delete_thread("a/b")


def test_a_number_and_its_text_are_one_thread(keyring: Keyring) -> None:
    saver = ObjectSaver(MemoryStore(), keyring)
    put(saver, config(1), {"n": 1})
    assert saver.get_tuple(config("1")) is not None


def checkpoint_ids() -> list[str]:
    rng = random.Random(7)  # noqa: S311 - a fixed order is wanted
    long = ["p" * 64 + tail for tail in ("", "a", "a" * 40, "b" * 40, "c" * 31, "c" * 33, "z" * 400)]
    plain = [
        "1",
        "2",
        "10",
        "a",
        "ab",
        "b",
        "B",
        "\u00e9",
        "\U0001f9ea",
        "zzz",
        "0" * 96,
        "0" * 97,
        "1ef00000-0000-6000-8000-000000000000X",
    ]
    return [*long, *plain, *(str(uuid6(clock_seq=rng.getrandbits(14))) for _ in range(8)), "1EF4F797-8335-6428-8001-8A1503F9B875"]


def test_ids_of_every_form_list_by_their_own_order(saver: ObjectSaver) -> None:
    every = checkpoint_ids()
    shuffled = random.Random(3).sample(every, len(every))  # noqa: S311 - as above
    for at in shuffled:
        put(saver, config(), {"n": at}, checkpoint_id=at)
        saver.put_writes(config(checkpoint_id=at), [("w", at)], "task")
    in_order = sorted(every, reverse=True)
    assert ids(saver, config()) == in_order
    latest = saver.get_tuple(config())
    assert latest is not None
    assert latest.checkpoint["id"] == in_order[0]
    for at in every:
        found = saver.get_tuple(config(checkpoint_id=at))
        assert found is not None
        assert found.pending_writes == [("task", "w", at)]
    for before in (*every, "m", "p" * 200, "\U0010ffff", str(uuid6())):
        expected = [at for at in in_order if at < before]
        assert ids(saver, config(), before=config(checkpoint_id=before)) == expected
        assert ids(saver, config(), before=config(checkpoint_id=before), limit=3) == expected[:3]


def test_only_ids_of_other_forms_list_as_in_memory(keyring: Keyring) -> None:
    ours, theirs = ObjectSaver(MemoryStore(), keyring), InMemorySaver()
    for at in ("1", "2", "10", "b", "a"):
        for saver in (ours, theirs):
            put(saver, config(), {"n": at}, checkpoint_id=at)
    assert ids(ours, config()) == ids(theirs, config()) == ["b", "a", "2", "10", "1"]


def test_thread_ids_can_be_hashed_in_all_keys(keyring: Keyring) -> None:
    store, names = MemoryStore(), Keyring.generate("names-1")
    saver = ObjectSaver(store, keyring, hash_threads=names)
    for thread in ("alice@example.org", "bob"):
        put(saver, config(thread), {"big": "x" * 9000})
        put(saver, config(thread, "child:1"), {"n": 1})
    assert not any("alice" in entry.key or "bob" in entry.key for entry in store.list())
    assert sorted(saver.threads()) == ["alice@example.org", "bob"]
    assert len(list(saver.list(None))) == 4
    saver.copy_thread("bob", "carol")
    saver.delete_thread("bob")
    assert sorted(saver.threads()) == ["alice@example.org", "carol"]
    assert ObjectSaver(store, keyring, hash_threads=Keyring.generate("names-1")).get_tuple(config("carol")) is None


def test_an_object_moved_under_another_hashed_name_is_refused(keyring: Keyring) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    put(saver, config("x" * 600), {"n": 1})
    (key,) = [entry.key for entry in store.list()]
    data = store.get(key).data
    store.delete_many([key])
    store.put(key.replace(key[3:67], "0" * 64, 1), data)
    with pytest.raises(AuthenticationError):
        list(saver.threads())


def test_versions_cannot_collide_between_forks(keyring: Keyring) -> None:
    saver = ObjectSaver(MemoryStore(), keyring)
    first = saver.get_next_version(None, None)
    drawn = {saver.get_next_version(first, None) for _ in range(1000)}
    assert len(drawn) == 1000
    assert all(version > first for version in drawn)
    assert saver.get_next_version(9, None) < saver.get_next_version(10, None)
    assert saver.get_next_version(9.0, None).startswith("0" * 30 + "10.")


def test_an_empty_store_lists_nothing(saver: ObjectSaver) -> None:
    assert list(saver.list(None)) == list(saver.list(config())) == list(saver.list({"configurable": {"thread_id": "t"}})) == []
    assert list(saver.threads()) == []
    assert saver.get_tuple(config()) is None
    assert saver.get_delta_channel_history(config=config(), channels=["a"]) == {"a": {"writes": []}}
    saver.delete_thread("t")
    saver.prune(["t"])
    saver.copy_thread("t", "u")
    assert list(saver.threads()) == []
