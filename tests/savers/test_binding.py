"""An object that was changed, copied, renamed, replayed or replaced by plaintext does not open, and nothing readable is stored."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest

from sealpoint import UNENCRYPTED, Keyring, ObjectSaver
from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    DecodeError,
    IntegrityError,
    KeyAccessError,
    MissingObjectError,
    NoKeyError,
    NotSealedError,
    TagError,
    UnknownKeyError,
)
from sealpoint.stores import FolderStore, MemoryStore
from tests.savers.chains import chain, config, put

BIG = "big-secret" * 1000


def stored(saver: ObjectSaver) -> MemoryStore:
    assert isinstance(saver.store, MemoryStore)
    return saver.store


def keys(saver: ObjectSaver, part: str) -> list[str]:
    return [entry.key for entry in stored(saver).list() if part in entry.key]


@pytest.fixture
def saver(keyring: Keyring) -> ObjectSaver:
    saver = ObjectSaver(MemoryStore(), keyring)
    for thread in ("alice", "bob"):
        at = put(saver, config(thread), {"n": 1, "big": BIG, "who": thread}, user="secret-name")
        saver.put_writes(at, [("a", "secret-write")], "task", "path")
        at = put(saver, at, {"n": 2, "big": BIG + thread, "who": thread}, versions={"n": 2, "big": 2, "who": 1})
        saver.put_writes(at, [("a", "secret-write")], "task", "path")
    return saver


def read_all(saver: ObjectSaver, thread: str = "alice") -> int:
    return len(list(saver.list(config(thread))))


def test_nothing_readable_is_stored(saver: ObjectSaver) -> None:
    for entry in stored(saver).list():
        data = stored(saver).get(entry.key).data
        for secret in (b"secret", b"alice", b"channel_values", b"task"):
            assert secret not in data


def test_a_flipped_bit_anywhere_is_noticed(saver: ObjectSaver) -> None:
    for key in keys(saver, "t-alice/"):
        original = stored(saver).get(key).data
        for at in {*range(min(len(original), 80)), *range(80, len(original), 97), len(original) - 1}:
            changed = bytearray(original)
            changed[at] ^= 1 << secrets.randbelow(8)
            stored(saver).put(key, bytes(changed))
            with pytest.raises((IntegrityError, KeyAccessError)):
                read_all(saver)
        stored(saver).put(key, original)
    assert read_all(saver) == 2


def test_a_truncated_object_is_noticed(saver: ObjectSaver) -> None:
    for key in keys(saver, "t-alice/"):
        original = stored(saver).get(key).data
        for length in (0, 3, 7, 8, len(original) // 2, len(original) - 1):
            stored(saver).put(key, original[:length])
            with pytest.raises(IntegrityError):
                read_all(saver)
        stored(saver).put(key, original)


@pytest.mark.parametrize("part", [".c", ".w.", "/v/"])
def test_objects_of_one_kind_do_not_open_in_each_others_places(saver: ObjectSaver, part: str) -> None:
    own, others = keys(saver, part), list(keys(saver, part))
    for key in [key for key in own if key.startswith("t-alice/")]:
        original = stored(saver).get(key).data
        for other in others:
            if other != key:
                stored(saver).put(key, stored(saver).get(other).data)
                with pytest.raises(AuthenticationError):
                    read_all(saver)
        stored(saver).put(key, original)


def test_writes_renamed_to_a_later_call_do_not_open(saver: ObjectSaver) -> None:
    key = keys(saver, ".w.")[0]
    stored(saver).put(key[:-1] + ("0" if key[-1] != "0" else "1"), stored(saver).get(key).data)
    with pytest.raises(AuthenticationError):
        read_all(saver)


def test_a_value_of_an_earlier_put_of_the_same_checkpoint_does_not_open(saver: ObjectSaver) -> None:
    """The skeleton names the very put whose value it means."""
    at = put(saver, config("carol"), {"big": BIG})
    (old,) = keys(saver, "t-carol/n-/v/")
    put(saver, config("carol"), {"big": BIG + "new"}, checkpoint_id=at["configurable"]["checkpoint_id"])
    (new,) = [key for key in keys(saver, "t-carol/n-/v/") if key != old]
    stored(saver).put(new, stored(saver).get(old).data)
    with pytest.raises(AuthenticationError):
        read_all(saver, "carol")


def test_plaintext_in_an_objects_place_is_refused(saver: ObjectSaver) -> None:
    plain = ObjectSaver(MemoryStore(), UNENCRYPTED)
    at = put(plain, config("alice"), {"n": 666})
    key = keys(saver, "t-alice/n-/c/")[0]
    forged = stored(plain).get(next(iter(stored(plain).list())).key).data
    for data in (forged, b"\x80", b"{}", b""):
        stored(saver).put(key, data)
        with pytest.raises((NotSealedError, DecodeError, TagError, IntegrityError)):
            saver.get_tuple(config("alice"))
    found = plain.get_tuple(at)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 666}


def test_another_scope_does_not_open(keyring: Keyring, saver: ObjectSaver) -> None:
    with pytest.raises(AuthenticationError):
        ObjectSaver(saver.store, keyring, scope="other").get_tuple(config("alice"))


def test_another_key_is_asked_for_by_its_id(saver: ObjectSaver) -> None:
    with pytest.raises(UnknownKeyError, match="'new'"):
        ObjectSaver(saver.store, Keyring.generate("mine")).get_tuple(config("alice"))


def test_an_older_key_still_opens(saver: ObjectSaver, keyring: Keyring) -> None:
    ring = Keyring.generate("fresh")
    both = Keyring._of_secrets({"fresh": ring._keys["fresh"], **keyring._keys}, "fresh")
    rotated = ObjectSaver(saver.store, both)
    assert read_all(rotated) == 2
    put(rotated, config("alice"), {"n": 3})
    assert read_all(rotated) == 3


def test_a_missing_large_value_is_loud(saver: ObjectSaver) -> None:
    stored(saver).delete_many(keys(saver, "t-alice/n-/v/"))
    with pytest.raises(MissingObjectError, match="'big'"):
        saver.get_tuple(config("alice"))


def test_without_a_key_nothing_is_constructed() -> None:
    with pytest.raises(NoKeyError, match="keygen"):
        ObjectSaver(MemoryStore())


@pytest.mark.parametrize(
    "make",
    [
        lambda ring: ObjectSaver("s3://bucket", ring),  # type: ignore[arg-type] # the mistake under test
        lambda ring: ObjectSaver(MemoryStore(), ring, inline_bytes=-1),
        lambda ring: ObjectSaver.from_uri("redis://x", ring),
        lambda ring: ObjectSaver.from_uri("file:///x?y", ring),
        lambda ring: ObjectSaver.from_uri("memory://x", ring),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[Keyring], ObjectSaver], keyring: Keyring) -> None:
    with pytest.raises(ConfigurationError):
        make(keyring)


def test_a_folder_by_uri_keeps_what_was_stored(tmp_path: object, keyring: Keyring) -> None:
    uri = f"file://{tmp_path}/a%20folder"
    with ObjectSaver.from_uri(uri, keyring) as saver:
        chain(saver, 3)
        assert isinstance(saver.store, FolderStore)
    with ObjectSaver.from_uri(uri, keyring) as again:
        assert read_all(again, "t") == 3
        assert list(again.threads()) == ["t"]


def test_no_repr_and_no_error_shows_a_key_or_a_value(saver: ObjectSaver) -> None:
    assert "secret" not in repr(saver)
    stored(saver).put(keys(saver, "t-alice/n-/c/")[0], b"secret-plaintext")
    with pytest.raises(IntegrityError) as caught:
        saver.get_tuple(config("alice"))
    assert "secret" not in str(caught.value)
