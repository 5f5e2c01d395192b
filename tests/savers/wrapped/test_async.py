"""Async use: a listing left unfinished holds no lock for longer than the inner saver's own, and a sync call inside the loop raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealpoint.savers import SealedSaver
from tests.savers.wrapped.targets import AsyncTarget
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]


async def _filled(saver: Any) -> None:
    for number in range(4):
        await saver.aput(at(), checkpoint(f"{number}", {"a": [number]}, {"a": number}), {"source": "loop", "step": number}, {"a": number})


async def test_a_listing_left_unfinished_does_not_block_a_write(async_target: AsyncTarget, seal: Wrap, tmp_path: Path) -> None:
    async with async_target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        await _filled(saver)
        async for _ in saver.alist(at()):
            break
        await asyncio.wait_for(saver.aput(at(), checkpoint("9", {}), {}, {}), timeout=10)
        async for _ in saver.alist(at(), filter={"source": "loop", "step": 1}):
            break
        await asyncio.wait_for(saver.aput_writes(at("9"), [("a", 1)], "task"), timeout=10)


async def test_a_sync_call_inside_the_savers_loop_raises_instead_of_waiting_for_itself(
    async_target: AsyncTarget, seal: Wrap, tmp_path: Path
) -> None:
    async with async_target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        await _filled(saver)
        calls: list[Callable[[], Any]] = [
            lambda: saver.get_tuple(at()),
            lambda: list(saver.list(at())),
            lambda: saver.put(at(), checkpoint("9", {}), {}, {}),
            lambda: saver.put_writes(at("3"), [("a", 1)], "task"),
        ]
        if getattr(inner, "loop", None) is None:
            for call in calls:
                call()
            return
        for call in calls:
            with pytest.raises(asyncio.InvalidStateError, match="own event loop"):
                call()
        found = await asyncio.to_thread(saver.get_tuple, at())
        assert found is not None
        assert found.checkpoint["id"] == "3"


async def test_many_writers_at_once_lose_nothing(async_target: AsyncTarget, seal: Wrap, tmp_path: Path) -> None:
    async with async_target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        await saver.aput(at(), checkpoint("1", {"a": [0]}), {}, {"a": 1})
        await asyncio.gather(*(saver.aput_writes(at("1"), [("a", number), ("b", [number])], f"task-{number:02}") for number in range(20)))
        found = await saver.aget_tuple(at())
        assert found is not None
        assert found.pending_writes == [
            item for number in range(20) for item in ((f"task-{number:02}", "a", number), (f"task-{number:02}", "b", [number]))
        ]
