"""The object saver passes all of LangGraph's conformance suite, on every store, async and sync; counts are checked, not only verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sealpoint import Keyring, ObjectSaver
from tests.savers.conformance import EXPECTED, SyncThroughAsync, conformance
from tests.savers.stores import KINDS, MakeStore, makers


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeStore]:
    yield from makers(request, tmp_path, monkeypatch)


async def test_async_methods_conform(make: MakeStore, keyring: Keyring) -> None:
    passed, failed = await conformance(lambda: ObjectSaver(make(), keyring))
    assert failed == []
    assert passed == EXPECTED
    assert sum(passed.values()) == 81


@pytest.mark.parametrize("make", ["memory", "folder", KINDS[-1]], indirect=True)  # once more; on moto it takes longest and adds least
async def test_sync_methods_conform(make: MakeStore, keyring: Keyring) -> None:
    passed, failed = await conformance(lambda: SyncThroughAsync(ObjectSaver(make(), keyring)))
    assert failed == []
    assert passed == EXPECTED
