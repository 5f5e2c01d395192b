"""Concurrent askers share one call; nobody waits for one that has not begun, and one that was given up leaves nobody behind."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sealpoint.errors import KeyServiceUnavailableError
from sealpoint.keys.flight import SingleFlight


def test_who_waits_for_a_call_that_is_announced_makes_it() -> None:
    flights: SingleFlight[str] = SingleFlight()
    made: list[str] = []

    def call() -> str:
        made.append("announced")
        return "value"

    with flights.announced("key", call):
        flights.wait("key")  # and does not hang: the thread that announced it is this one
        assert made == ["announced"]
        assert len(flights) == 0
        assert flights.do("key", lambda: "later") == "later"
    assert len(flights) == 0


async def test_a_call_that_a_coroutine_has_queued_is_made_by_the_thread_that_comes_to_wait() -> None:
    flights: SingleFlight[str] = SingleFlight()
    with ThreadPoolExecutor(1) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        free = threading.Event()
        blocked = pool.submit(lambda: (free.wait(30), flights.do("key", lambda: "by the thread"))[1])
        asked = asyncio.ensure_future(flights.ado("key", lambda: "queued"))
        await asyncio.sleep(0)
        free.set()
        assert await asyncio.wait_for(asked, 30) == "by the thread"
        assert blocked.result(30) == "by the thread"
    assert len(flights) == 0


def test_an_announced_call_that_is_never_made_leaves_nobody_behind() -> None:
    flights: SingleFlight[str] = SingleFlight()
    with flights.announced("key", lambda: "never"):
        joined = flights._flights["key"]
    with pytest.raises(KeyServiceUnavailableError, match="given up"):
        joined.result(0)
    assert len(flights) == 0
    assert flights.do("key", lambda: "afterwards") == "afterwards"


def test_an_announcement_beside_a_call_under_way_changes_nothing() -> None:
    flights: SingleFlight[str] = SingleFlight()
    with flights.announced("key", lambda: "announced"):
        with flights.announced("key", lambda: "announced"):
            pass
        assert len(flights) == 1
        assert flights.do("key", lambda: "value") == "value"
        assert len(flights) == 0
        assert flights.do("key", lambda: "again") == "again"
    assert len(flights) == 0


def test_who_made_the_announced_call_gets_its_error_and_so_does_nobody_later() -> None:
    flights: SingleFlight[str] = SingleFlight()

    def fails() -> str:
        raise KeyServiceUnavailableError("away")

    with flights.announced("key", lambda: "announced"):
        with pytest.raises(KeyServiceUnavailableError, match="away"):
            flights.do("key", fails)
        assert flights.do("key", lambda: "value") == "value"
