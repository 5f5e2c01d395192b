"""Async callers of a saver have threads of their own: a graph's sync nodes, which fill the event loop's, neither delay nor lock them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sealpoint import Keyring, ObjectSaver, SealedSaver
from sealpoint.savers.threads import WorkerThreads
from sealpoint.stores import MemoryStore
from tests.savers.chains import config, put

SAVERS: dict[str, Callable[[], Any]] = {
    "sealed": lambda: SealedSaver(InMemorySaver(), Keyring.generate()),
    "objects": lambda: ObjectSaver(MemoryStore(), Keyring.generate()),
}


@pytest.mark.parametrize("kind", SAVERS)
async def test_sync_nodes_that_wait_for_the_saver_get_an_answer(kind: str) -> None:
    saver = SAVERS[kind]()
    put(saver, config(), {"n": 1})
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(2))  # the loop shuts it down

    def node() -> Any:
        return asyncio.run_coroutine_threadsafe(saver.aget_tuple(config()), loop).result(60)

    found = await asyncio.wait_for(asyncio.gather(*(loop.run_in_executor(None, node) for _ in range(4))), 60)
    assert [read.checkpoint["channel_values"] for read in found] == [{"n": 1}] * 4


async def test_work_runs_in_the_callers_context_and_off_the_loop() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("caller")
    assert await WorkerThreads(1).run(lambda: (who.get(), threading.get_ident() == threading.main_thread().ident)) == ("caller", False)


async def test_a_child_made_by_fork_has_threads_of_its_own() -> None:
    workers = WorkerThreads(1)
    parent = workers._executor()
    assert workers._executor() is parent
    workers._pid = -1  # as a child finds it
    assert workers._executor() is not parent
