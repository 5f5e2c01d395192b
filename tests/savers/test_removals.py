"""What a removal leaves that the store cut short, and what it does with what is not ours."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import StoreUnavailableError
from sealpoint.savers.objects import remove
from sealpoint.stores import Fault, FolderStore, MemoryStore, Stopped
from tests.savers.chains import chain, config, ids, put

BIG = "x" * 9000


class Partly(MemoryStore):
    """Removes what it can of each batch, and fails for some keys, as DeleteObjects may. It keeps no order within a batch."""

    stuck = ""

    def delete_many(self, keys: Iterable[str]) -> None:
        every = list(keys)
        super().delete_many([key for key in every if not self.stuck or not key.endswith(self.stuck)])
        if self.stuck and any(key.endswith(self.stuck) for key in every):
            raise StoreUnavailableError("some keys of the batch failed")

    async def adelete_many(self, keys: Iterable[str]) -> None:
        self.delete_many(keys)


REMOVALS: dict[str, Callable[[ObjectSaver], object]] = {
    "delete_thread": lambda saver: saver.delete_thread("t"),
    "adelete_thread": lambda saver: asyncio.run(saver.adelete_thread("t")),
    "prune": lambda saver: saver.prune(["t"]),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_checkpoint_that_could_not_be_removed_keeps_its_large_values(keyring: Keyring, removal: str) -> None:
    store = Partly()
    saver = ObjectSaver(store, keyring)
    chain(saver, 3, values={"big": BIG})
    store.stuck = ".c"
    with pytest.raises(StoreUnavailableError):
        REMOVALS[removal](saver)
    assert [found.checkpoint["channel_values"]["big"] for found in saver.list(config())] == [BIG] * 3
    store.stuck = ""
    saver.delete_thread("t")
    assert ids(saver, config()) == []
    assert list(store.list()) == []


@pytest.mark.parametrize("at", [config(), config("t", "child:1")])
def test_what_a_killed_first_put_left_is_collected_when_it_is_old(
    keyring: Keyring, monkeypatch: pytest.MonkeyPatch, at: RunnableConfig
) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    saver.put_writes({"configurable": {**at["configurable"], "checkpoint_id": "1"}}, [("a", 1)], "task")
    store.faults.plan(Fault("put", "stop", key_contains="/c/"))
    with pytest.raises(Stopped):
        put(saver, at, {"big": BIG}, checkpoint_id="1")
    saver.prune(["t"])
    assert len(list(store.list())) == 2  # they may still be on their way
    monkeypatch.setattr(remove, "ORPHAN_AGE_S", -1.0)
    saver.prune(["t"])
    assert list(store.list()) == []


FOREIGN = [
    "t-t/",
    "t-t/n-/c/.DS_Store",
    "t-t/n-/c/a b",
    "t-t/n-/v/caf\u00e9.0123456789abcdef",
    "t-t/n-/v/a b.0123456789abcdef",
    "t-t/n-//x",
]


def with_foreign_keys(store: MemoryStore) -> None:
    """As another program puts them into the same bucket: our stores would not."""
    for key in FOREIGN:
        store._objects[key] = (b"theirs", "etag", 0.0)
        insort(store._keys, key)


@pytest.mark.parametrize("removal", [*REMOVALS, "delete_for_runs"])
def test_foreign_keys_stay_and_keep_nothing_of_ours_from_going(keyring: Keyring, removal: str) -> None:
    store = MemoryStore()
    saver = ObjectSaver(store, keyring)
    for step in range(3):
        put(saver, config(), {"n": step, "big": BIG}, run_id="r1" if step < 2 else "r2")
    with_foreign_keys(store)
    if removal == "delete_for_runs":
        saver.delete_for_runs(["r1"])
    else:
        REMOVALS[removal](saver)
    left = [entry.key for entry in store.list()]
    assert [key for key in left if key in FOREIGN] == sorted(FOREIGN)
    assert len(left) - len(FOREIGN) == (0 if "delete_thread" in removal else 2)


def test_so_do_files_with_names_of_others_in_a_folder(keyring: Keyring, tmp_path: Path) -> None:
    saver = ObjectSaver(FolderStore(tmp_path, durable=False), keyring)
    chain(saver, 3, values={"big": BIG})
    for name in (".DS_Store", "a b", "caf\u00e9"):
        (tmp_path / "t-t" / "n-" / "c" / name).write_bytes(b"theirs")
    saver.delete_thread("t")
    assert sorted(path.name for path in (tmp_path / "t-t").rglob("*") if path.is_file()) == [".DS_Store", "a b", "caf\u00e9"]
    assert ids(saver, None) == []
