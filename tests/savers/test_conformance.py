"""The object saver passes all of LangGraph's conformance suite, on every store, async and sync; counts are checked, not only verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sealpoint import Keyring
from sealpoint.savers import ObjectSaver
from sealpoint.stores import FolderStore, MemoryStore, ObjectStore
from tests.savers.conformance import EXPECTED, SyncThroughAsync, conformance

Make = Callable[[], ObjectStore]


@pytest.fixture(params=["memory", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    made = []

    def folder() -> ObjectStore:
        made.append(1)
        return FolderStore(tmp_path / str(len(made)), durable=False)

    return MemoryStore if request.param == "memory" else folder


async def test_async_methods_conform(make: Make, keyring: Keyring) -> None:
    passed, failed = await conformance(lambda: ObjectSaver(make(), keyring))
    assert failed == []
    assert passed == EXPECTED
    assert sum(passed.values()) == 81


async def test_sync_methods_conform(make: Make, keyring: Keyring) -> None:
    passed, failed = await conformance(lambda: SyncThroughAsync(ObjectSaver(make(), keyring)))
    assert failed == []
    assert passed == EXPECTED
