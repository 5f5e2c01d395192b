"""The local folder keeps the contract, in threads, between processes, and when a writer is killed."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sealpoint.errors import StoreAccessError, StoreUnavailableError
from sealpoint.stores import FolderStore
from tests.stores.contract import StoreContract


class TestFolderStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> FolderStore:
        return FolderStore(tmp_path / "store", durable=False)


def test_files_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "s")
    store.put("a/b", b"1")
    assert (tmp_path / "s" / "a" / "b").stat().st_mode & 0o077 == 0
    assert (tmp_path / "s" / "a").stat().st_mode & 0o077 == 0


def test_durable_and_throw_away_store_the_same_files(tmp_path: Path) -> None:
    for durable in (True, False):
        store = FolderStore(tmp_path / str(durable), durable=durable)
        store.put("a/b", b"1")
        assert (tmp_path / str(durable) / "a" / "b").read_bytes() == b"1"


def test_old_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    FolderStore(tmp_path)
    old, new = tmp_path / ".tmp" / "old", tmp_path / ".tmp" / "new"
    for leftover in (old, new):
        leftover.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    assert list(FolderStore(tmp_path).list()) == []
    assert not old.exists()
    assert new.exists()


def test_a_folder_that_cannot_be_made_says_what_to_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file" / "store", Path("/proc/no/store")):
        with pytest.raises(StoreAccessError, match=r"the folder '.*store' cannot be made"):
            FolderStore(place)


_ADD = """
import sys
from sealpoint.errors import ConflictError
from sealpoint.stores import FolderStore
store, name, done = FolderStore(sys.argv[1], durable=False), sys.argv[2], 0
while done < 15:
    read = store.get("counter")
    try:
        store.put("counter", b"%d.%s%d" % (int(read.data.split(b".")[0]) + 1, name.encode(), done), if_match=read.etag)
    except ConflictError:
        continue
    done += 1
    store.put(f"f/{name}/{done}", b"x")
    store.delete_many([f"f/{name}/{done}"])
"""


@pytest.mark.slow
def test_processes_swap_without_losing_an_update_while_folders_come_and_go(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, durable=False)
    store.put("counter", b"0.")
    running = [subprocess.Popen([sys.executable, "-c", _ADD, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert store.get("counter").data.startswith(b"45.")
    assert [entry.key for entry in store.list()] == ["counter"]


_WRITE = """
import sys
from sealpoint.stores import FolderStore
store = FolderStore(sys.argv[1], durable=False)
print("ready", flush=True)
number = 0
while True:
    number += 1
    store.put("k", (b"%08d" % number) * 50_000)
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_a_whole_object(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, durable=False)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", _WRITE, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 20
        while not list(store.list()) and time.monotonic() < deadline:
            pass
        process.kill()
        process.wait(20)
        process.stdout.close()
        data = store.get("k").data
        assert data == data[:8] * 50_000


def test_a_system_out_of_descriptors_is_a_passing_fault_of_every_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path, durable=False)
    store.put("a/b", b"1")

    def refused(*_: object) -> object:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "scandir", refused)
    for listing in (store.list, store.folders):
        with pytest.raises(StoreUnavailableError, match="EMFILE"):
            list(listing())


def test_a_folder_in_which_one_object_takes_the_place_of_another_never_looks_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path, durable=False)
    store.put("a/old", b"1")
    names = store._names

    def then_replaced(base: str) -> Sequence[tuple[str, bool]]:
        found = names(base)
        if base == "a/":
            store.put("a/new", b"2")
            store.delete_many(["a/old"])
        return found

    monkeypatch.setattr(store, "_names", then_replaced)
    assert [entry.key for entry in store.list("a/")] == ["a/old"]


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[FolderStore, threading.Event]]:
    """A store in which another thread is in the middle of a write, until the event is set."""
    store, begun, go_on = FolderStore(tmp_path, durable=False), threading.Event(), threading.Event()
    place = store._place

    def slow(path: Path, put_in_place: Callable[[], object]) -> None:
        begun.set()
        assert go_on.wait(20)
        place(path, put_in_place)

    store._place = slow  # type: ignore[method-assign] # a slow disk
    thread = threading.Thread(target=store.put, args=("a/b", b"1"))
    thread.start()
    assert begun.wait(20)
    store._place = place  # type: ignore[method-assign] # as it was
    yield store, go_on
    go_on.set()
    thread.join(20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_in_the_middle_of_a_write_holds_nobody_up(writing: tuple[FolderStore, threading.Event]) -> None:
    store, go_on = writing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking with threads: that is what is tried here
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
    go_on.set()
    try:
        second = threading.Thread(target=store.put, args=("a/b", b"2"), daemon=True)
        second.start()
        second.join(10)
        assert not second.is_alive()
        assert store.get("a/b").data == b"2"
    finally:
        child.kill()
        child.join(20)


_FORK = """
import os, sys, threading, time
from sealpoint.stores import FolderStore
store, begun = FolderStore(sys.argv[1], durable=False), threading.Event()
store._place = lambda path, put_in_place: (begun.set(), time.sleep(60))
threading.Thread(target=store.put, args=("a/b", b"1")).start()
begun.wait(20)
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_nor_does_it_when_its_parent_is_killed_then(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-W", "ignore", "-c", _FORK, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.stdout.close()
    parent.kill()
    parent.wait(20)
    try:
        second = threading.Thread(target=FolderStore(tmp_path, durable=False).put, args=("a/b", b"2"), daemon=True)
        second.start()
        second.join(10)
        assert not second.is_alive()
    finally:
        os.kill(child, signal.SIGKILL)
