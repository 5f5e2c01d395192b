"""What a removal leaves that the store cut short, and what it does with what is not ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from sealpoint import Keyring, ObjectSaver
from sealpoint.errors import StoreUnavailableError
from sealpoint.stores import MemoryStore
from tests.savers.chains import chain, config, ids

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
