"""Concurrent askers share one call; an announced call is waited for before it is made, and given up without leaving anyone behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sealpoint.errors import KeyServiceUnavailableError
from sealpoint.keys.flight import SingleFlight


def test_who_asks_while_a_call_is_announced_waits_for_it() -> None:
    flights: SingleFlight[str] = SingleFlight()
    done: list[str] = []

    def call() -> str:
        done.append("made")
        return "value"

    def wait() -> list[str]:
        flights.wait("key")
        return list(done)

    with ThreadPoolExecutor(1) as pool, flights.announced("key"):
        waiter = pool.submit(wait)
        assert flights.do("key", call) == "value"
        assert waiter.result(10) == ["made"]
    assert len(flights) == 0


def test_an_announced_call_that_is_never_made_frees_who_waits() -> None:
    flights: SingleFlight[str] = SingleFlight()
    joined = threading.Event()

    def wait() -> str:
        joined.set()
        flights.wait("key")
        return "free"

    with ThreadPoolExecutor(1) as pool:
        with flights.announced("key"):
            waiter = pool.submit(wait)
            assert joined.wait(10)
            assert not waiter.done()
        assert waiter.result(10) == "free"
    assert len(flights) == 0
    assert flights.do("key", lambda: "afterwards") == "afterwards"


def test_an_announcement_beside_a_call_under_way_changes_nothing() -> None:
    flights: SingleFlight[str] = SingleFlight()
    with flights.announced("key"):
        with flights.announced("key"):
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

    with flights.announced("key"):
        with pytest.raises(KeyServiceUnavailableError, match="away"):
            flights.do("key", fails)
        assert flights.do("key", lambda: "value") == "value"
