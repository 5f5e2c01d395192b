"""An unchanged channel is neither serialized nor sealed again, in this process or another; what is kept for that is bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped.cache import OriginCache
from sealpoint.savers.wrapped.places import Place
from sealpoint.savers.wrapped.skeleton import Cell, Skeleton
from tests.savers.wrapped.targets import Target
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]
HISTORY = {f"c{number}": [number] for number in range(8)}


def _seals(saver: SealedSaver, call: Callable[[], Any]) -> int:
    before = saver.stats()["seal"].get("new", 0)
    call()
    return saver.stats()["seal"]["new"] - before


def test_unchanged_channels_are_not_sealed_again(target: Target, seal: Wrap, tmp_path: Path) -> None:
    versions = dict.fromkeys(HISTORY, 1)
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        assert _seals(saver, lambda: saver.put(at(), checkpoint("1", HISTORY, versions), {}, dict(versions))) == 9  # and the skeleton
        assert (
            _seals(saver, lambda: saver.put(at("1"), checkpoint("2", {**HISTORY, "c0": ["new"]}, {**versions, "c0": 2}), {}, {"c0": 2}))
            == 2
        )
        fresh = seal(inner)  # knows nothing, so it looks at the parent once, and opens none of its values
        opened = fresh.stats()["open"].get("new", 0)
        values = {**HISTORY, "c0": ["new"], "c1": ["new"]}
        assert _seals(fresh, lambda: fresh.put(at("2"), checkpoint("3", values, {**versions, "c0": 2, "c1": 2}), {}, {"c1": 2})) == 2
        assert fresh.stats()["open"].get("new", 0) == opened + 1
        found = seal(inner).get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == values


def test_what_is_kept_is_bounded_by_bytes() -> None:
    cache, place = OriginCache(max_bytes=10_000), Place("t", "")
    for number in range(100):
        cells = {"a": Cell(number, str(number))}
        cache.remember(place, Skeleton({"id": str(number), "channel_versions": {"a": number}}, {}, (), cells), {"a": b"x" * 600})
    kept = [number for number in range(100) if cache.stored(place, "a", Cell(number, str(number)))]
    assert kept == list(range(90, 100))
    cache.forget_thread("t")
    assert cache.checkpoint(place, "99") is None
    assert cache.stored(place, "a", Cell(99, "99")) is None


def test_a_version_that_forks_have_made_twice_is_not_guessed() -> None:
    cache, place = OriginCache(max_bytes=10_000), Place("t", "")
    for origin in ("2", "3"):
        cells = {"a": Cell(2, origin)}
        cache.remember(place, Skeleton({"id": origin, "channel_versions": {"a": 2}}, {}, (), cells), {"a": b"cell"})
        assert cache.only_cell(place, "a", 2) == (Cell(2, "2") if origin == "2" else None)
    assert cache.only_cell(place, "a", 2.0) is None
