"""Erasing a thread: what stops opening, where and when; late writers; crashes; receipts; copies; old versions."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sealpoint.ciphers import AesGcm, parse
from sealpoint.errors import (
    AuthenticationError,
    EnvelopeError,
    KeyServiceUnavailableError,
    StoreUnavailableError,
    ThreadErasedError,
)
from sealpoint.keys import EnvelopeKeys, Erased, Keyring, LocalRoot, ThreadKeys, erase, or_erased
from sealpoint.keys.keyobject import KeyObject
from sealpoint.keys.shelf import Found
from sealpoint.stores import Fault, FolderStore, Stopped
from tests.keys.helpers import World, open_, place, seal


def test_the_process_that_erased_opens_nothing_at_once_and_its_neighbours_all(world: World) -> None:
    keys = world.keys()
    values = {(t, c): seal(keys, context=place(t, c)) for t in ("t1", "t2") for c in range(3)}
    erase(keys, "t1")
    for (thread, number), value in values.items():
        if thread == "t1":
            with pytest.raises(ThreadErasedError):
                open_(keys, value, place(thread, number))
        else:
            assert open_(keys, value, place(thread, number)) == b"secret"


def test_another_process_opens_nothing_after_the_stated_latency(world: World) -> None:
    keys, other = world.keys(), world.keys()
    sealed, neighbour = seal(keys), seal(keys, context=place("t2"))
    open_(other, sealed)
    receipt = erase(keys, "t1")
    world.clock.sleep(60)
    assert world.clock.time <= receipt.readable_until
    for process in (other, world.keys()):
        with pytest.raises(ThreadErasedError, match=receipt.erasure_id):
            open_(process, sealed)
        assert open_(process, neighbour, place("t2")) == b"secret"


def test_copies_of_the_data_do_not_open_either(world: World) -> None:
    keys = world.keys()
    backup = bytes(seal(keys))
    erase(keys, "t1")
    with pytest.raises(ThreadErasedError):
        open_(world.keys(), backup)
    left = world.store.get(world.path()).data
    assert parse(backup)[0].check not in left  # nothing of the key stays behind, its check value included


def test_a_real_other_process_cannot_read_what_was_erased(tmp_path: Path) -> None:
    master = b"m" * 32
    keys = ThreadKeys(FolderStore(tmp_path), LocalRoot(Keyring({"m": master}, active="m")))
    value = tmp_path.with_suffix(".sealed")
    script = (
        "import sys, pathlib\n"
        "from sealpoint import Context, Keyring\n"
        "from sealpoint.ciphers import AesGcm\n"
        "from sealpoint.keys import LocalRoot, ThreadKeys\n"
        "from sealpoint.stores import FolderStore\n"
        "keys = ThreadKeys(FolderStore(pathlib.Path(sys.argv[1])), LocalRoot(Keyring({'m': b'm' * 32}, active='m')))\n"
        "sealed = pathlib.Path(sys.argv[2]).read_bytes()\n"
        "print(AesGcm(keys).decode(sealed, 'msgpack1', Context.checkpoint('', 't1', '', 'c1')).decode())\n"
    )
    value.write_bytes(seal(keys))
    command = [sys.executable, "-c", script, str(tmp_path), str(value)]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "secret\n"
    erase(keys, "t1")
    after = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert after.returncode != 0
    assert "ThreadErasedError" in after.stderr
    assert "secret" not in after.stdout


# --- late writers -------------------------------------------------------------------------------------------------


def test_a_writer_that_was_mid_put_fails_and_what_it_wrote_does_not_open(world: World) -> None:
    writer, eraser = world.keys(), world.keys()
    first = seal(writer, context=place(number=1))
    erase(eraser, "t1")
    late = seal(writer, context=place(number=2))  # within the latency: sealed under the key that is gone
    world.clock.sleep(60)
    with pytest.raises(ThreadErasedError):
        seal(writer, context=place(number=3))
    for number, value in ((1, first), (2, late)):
        with pytest.raises(ThreadErasedError):
            open_(world.keys(), value, place(number=number))


async def test_a_writer_on_a_loop_fails_cleanly(world: World) -> None:
    keys = world.keys()
    cipher = AesGcm(keys)
    sealed = await cipher.aencode(b"secret", "msgpack1", place())
    erase(keys, "t1")
    with pytest.raises(ThreadErasedError):
        await cipher.aencode(b"late", "msgpack1", place(number=2))
    with pytest.raises(ThreadErasedError):
        await cipher.adecode(sealed, "msgpack1", place())


def test_a_late_writer_cannot_make_a_key_for_an_erased_thread(world: World) -> None:
    """Also not for a thread that never had one, nor when it began to make the key before the erasure."""
    erase(world.keys(), "t1")
    with pytest.raises(ThreadErasedError):
        seal(world.keys())
    erased: list[None] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "put" and not erased:
            erased.append(None)
            erase(world.keys(), "t2")

    world.store.faults.watch = overtake
    with pytest.raises(ThreadErasedError):
        seal(world.keys(), context=place("t2"))


def test_a_read_that_began_before_the_erasure_does_not_fill_the_cache_after_it(world: World) -> None:
    writer, keys = world.keys(), world.keys()
    sealed = seal(writer)
    raced: list[None] = []

    def overtaken(wrapped: bytes, context: Mapping[str, str]) -> bytes:
        if not raced:
            raced.append(None)
            erase(keys, "t1")
        return unwrap(wrapped, context)

    unwrap = world.root.inner.unwrap
    world.root.inner.unwrap = overtaken  # type: ignore[method-assign]  # the race under test
    with pytest.raises(ThreadErasedError):
        open_(keys, sealed)
    with pytest.raises(ThreadErasedError):
        open_(keys, sealed)


def test_a_new_life_that_is_erased_while_it_begins_is_over_at_once(world: World) -> None:
    keys = world.keys()
    seal(keys)
    erase(keys, "t1")
    world.clock.sleep(300)
    raced: list[None] = []
    write = keys.shelf.write

    def overtaken(name: str, found: KeyObject, replacing: Found | None) -> Found:
        written = write(name, found, replacing)
        if not raced:
            raced.append(None)
            erase(keys, "t1")
        return written

    keys.shelf.write = overtaken  # type: ignore[method-assign]  # the race under test
    keys.begin(place())
    with pytest.raises(ThreadErasedError):
        seal(keys)


# --- crashes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["get", "put", "list"])
@pytest.mark.parametrize("kind", ["stop", "refuse", "lost_reply"])
@pytest.mark.parametrize("skip", [0, 1])
def test_an_erasure_cut_off_anywhere_is_finished_by_running_it_again(world: World, operation: str, kind: str, skip: int) -> None:
    keys = world.keys()
    sealed = seal(keys)
    world.store.faults.plan(Fault(operation, kind, skip=skip))  # type: ignore[arg-type]  # of the two literals
    with contextlib.suppress(Stopped, StoreUnavailableError):
        erase(keys, "t1")
    world.store.faults.clear()
    again = world.keys()
    receipt = erase(again, "t1")
    assert erase(world.keys(), "t1") == receipt
    assert receipt.generation == 1
    assert receipt.key_id == parse(sealed)[0].reference.key_id
    for process in (again, world.keys()):
        with pytest.raises(ThreadErasedError):
            open_(process, sealed)
        with pytest.raises(ThreadErasedError):
            seal(process)


def test_an_erasure_does_not_need_the_root(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    world.root.failing = KeyServiceUnavailableError("down")
    erase(keys, "t1")
    with pytest.raises(ThreadErasedError):
        open_(world.keys(), sealed)


def test_a_damaged_key_object_is_not_erased_blindly(world: World) -> None:
    seal(world.keys())
    world.store.put(world.path(), b"junk")
    with pytest.raises(EnvelopeError):
        erase(world.keys(), "t1")
    assert world.store.get(world.path()).data == b"junk"


def test_a_tombstone_survives_a_second_erasure_and_a_second_life_is_erased_too(world: World) -> None:
    keys = world.keys()
    values = [seal(keys)]
    first = erase(keys, "t1")
    assert erase(keys, "t1") == first
    world.clock.sleep(300)
    keys.reopen("t1")
    values.append(seal(keys))
    second = erase(keys, "t1")
    assert (first.generation, second.generation) == (1, 2)
    assert first.erasure_id != second.erasure_id
    for value in values:
        for process in (keys, world.keys()):
            with pytest.raises(ThreadErasedError):
                open_(process, value)


def test_a_key_object_that_comes_back_from_the_dead_is_noticed_where_the_erasure_is_known(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    backup = world.store.get(world.path()).data
    erase(keys, "t1")
    world.store.put(world.path(), backup)
    with pytest.raises(ThreadErasedError):
        open_(keys, sealed)
    with pytest.raises(AuthenticationError, match="rolled back"):
        seal(keys)
    assert open_(world.keys(), sealed) == b"secret"  # elsewhere it opens: backups of the key store undo an erasure (docs/erasure.md)


# --- receipts -----------------------------------------------------------------------------------------------------


def test_a_receipt_says_what_happened_and_holds_no_personal_data(world: World) -> None:
    keys = world.keys(hash_threads=Keyring.generate("threads"))
    sealed = seal(keys, b"0176 555", place("ada@example.org"))
    receipt = erase(keys, "ada@example.org")
    stored = json.loads(receipt.to_json())
    assert stored["format"] == "sealpoint-erasure/1"
    assert stored["ended_at"] == world.clock.time
    assert stored["readable_until"] == world.clock.time + 60
    assert stored["fenced_until"] == world.clock.time + 300
    assert stored["roots"] == ["root"]
    assert stored["key_id"] == parse(sealed)[0].reference.key_id
    assert stored["old_versions_purged"] is None
    for private in ("ada@", "example.org", "0176"):
        assert private not in receipt.to_json()
        assert private.encode() not in world.store.get(receipt.key_object).data


def test_the_error_and_the_marker_carry_the_erasure(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    assert or_erased(open_, keys, sealed) == b"secret"
    receipt = erase(keys, "t1")
    assert or_erased(open_, world.keys(), sealed) == Erased(receipt.erasure_id, receipt.ended_at)
    world.clock.sleep(300)
    keys.reopen("t1")
    assert or_erased(open_, world.keys(), sealed) == Erased("", 0.0)


# --- copies -------------------------------------------------------------------------------------------------------


def test_a_receipt_lists_copies_that_live_on_through_copies_that_do_not(world: World) -> None:
    keys = world.keys()
    for name in ("source", "copy", "copy of copy", "unrelated"):
        seal(keys, context=place(name))
    keys.record_copy("source", "copy")
    keys.record_copy("copy", "copy of copy")
    keys.record_copy("copy of copy", "source")  # copied back: no endless search
    erase(keys, "copy")
    assert erase(keys, "source").surviving_copies == (world.path("copy of copy"),)
    erase(keys, "copy of copy")
    assert erase(keys, "source").surviving_copies == ()


def test_a_later_life_of_a_copy_is_no_copy(world: World) -> None:
    keys = world.keys()
    seal(keys, context=place("source"))
    keys.record_copy("source", "copy")
    erase(keys, "copy")
    world.clock.sleep(300)
    keys.reopen("copy")
    assert erase(keys, "source").surviving_copies == ()


def test_nothing_is_copied_into_an_erased_thread(world: World) -> None:
    keys = world.keys()
    erase(keys, "target")
    with pytest.raises(ThreadErasedError):
        keys.record_copy("source", "target")


# --- old versions -------------------------------------------------------------------------------------------------


def test_old_versions_are_purged_or_named(world: World) -> None:
    class Versions:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def purge(self, key: str) -> tuple[int, tuple[str, ...]]:
            self.asked.append(key)
            return 2, ("locked-1",)

    versions = Versions()
    keys = world.keys()
    seal(keys)
    receipt = erase(keys, "t1", old_versions=versions)
    assert versions.asked == [world.path()]
    assert (receipt.old_versions_purged, receipt.old_versions_left) == (2, ("locked-1",))


def test_inline_keys_are_not_reached_by_an_erasure(world: World) -> None:
    """Documented: values under keys in their own headers stay readable; only thread keys can be destroyed one by one."""
    inline = seal(EnvelopeKeys(world.root))
    erase(world.keys(), "t1")
    assert open_(EnvelopeKeys(world.root), inline) == b"secret"
