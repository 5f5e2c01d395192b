"""Concurrent askers of one thing share one call, in threads and in coroutines alike; it caches nothing."""

from __future__ import annotations

import asyncio
import contextvars
import os
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from ..errors import KeyServiceUnavailableError
from ..locks import ForkSafeLock

V = TypeVar("V")
_POLL_S: Final = 0.005


class SingleFlight(Generic[V]):
    """While a call for a key is under way, others who ask for the same key wait for its outcome: its value or its exception.

    A caller that is cancelled stops waiting; the call goes on for the others. Callers in coroutines occupy no thread while they wait.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._flights: dict[Hashable, Future[V]] = {}
        self._announced: dict[Hashable, tuple[Future[V], Callable[[], V]]] = {}  # those of them that nobody has begun to make
        self._pid = os.getpid()

    def __len__(self) -> int:
        """Calls under way."""
        return len(self._flights)

    def do(self, key: Hashable, call: Callable[[], V]) -> V:
        """What `call` returns, or what the call for `key` that is under way returns."""
        flight, leads = self._join(key)
        if leads:
            self._lead(key, flight, call)
        return flight.result()

    async def ado(self, key: Hashable, call: Callable[[], V]) -> V:
        """As `do`; `call` runs in a thread, of the executor or one that comes to wait for it first."""
        with self._lock:
            self._drop_inherited()
            flight = under_way = self._flights.get(key)
            if flight is None:
                flight = self._announce(key, call)
        if under_way is None:
            # Not awaited, so that cancelling this caller cannot cancel the call that others wait for.
            run = contextvars.copy_context().run
            try:
                asyncio.get_running_loop().run_in_executor(None, run, self._make, key, flight)
            except RuntimeError:  # the loop's executor is shut down
                self._give_up(key, flight, "the event loop is shutting down; no key was fetched")
                raise
        return await asyncio.wrap_future(flight)

    @contextmanager
    def announced(self, key: Hashable, call: Callable[[], V]) -> Iterator[None]:
        """Inside, `call` counts as the one for `key` that is under way, though nobody has made it yet: the first `do` makes its own.

        Whoever waits meanwhile makes the announced one. So nobody ever waits for what has not begun, which may be queued behind him.
        """
        with self._lock:
            self._drop_inherited()
            flight = None if key in self._flights else self._announce(key, call)
        try:
            yield
        finally:
            if flight is not None:
                self._give_up(key, flight, "the call that was to be made for the key was given up; try again")

    def wait(self, key: Hashable) -> None:
        """Returns when the call for `key` that is under way, if any, has ended, whatever its outcome. Not for coroutines."""
        with self._lock:
            self._drop_inherited()
            flight = self._flights.get(key)
            announced = self._announced.pop(key, None)
        if announced is not None:
            self._lead(key, *announced)
        elif flight is not None:
            flight.exception()

    def appears(self, key: Hashable, within_s: float) -> bool:
        """Whether a call for `key` is under way or announced within so many seconds. Not for coroutines."""
        deadline = time.monotonic() + within_s
        while key not in self._flights:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _join(self, key: Hashable) -> tuple[Future[V], bool]:
        with self._lock:
            self._drop_inherited()
            announced = self._announced.pop(key, None)
            if announced is not None:
                return announced[0], True
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = _running()
            return flight, True

    def _announce(self, key: Hashable, call: Callable[[], V]) -> Future[V]:
        flight = self._flights[key] = _running()
        self._announced[key] = flight, call
        return flight

    def _give_up(self, key: Hashable, flight: Future[V], why: str) -> None:
        """Frees who waits for a call that was announced, unless somebody has begun to make it."""
        with self._lock:
            if self._announced.get(key, (None,))[0] is not flight:
                return
            del self._announced[key], self._flights[key]
        flight.set_exception(KeyServiceUnavailableError(why))

    def _make(self, key: Hashable, flight: Future[V]) -> None:
        """Makes a call that was announced, unless somebody has begun to."""
        with self._lock:
            announced = self._announced.get(key)
            if announced is None or announced[0] is not flight:
                return
            del self._announced[key]
        self._lead(key, *announced)

    def _drop_inherited(self) -> None:
        if self._pid != os.getpid():  # a fork has copied the calls of its parent's threads, and they will never land here
            self._pid = os.getpid()
            self._flights.clear()
            self._announced.clear()

    def _lead(self, key: Hashable, flight: Future[V], call: Callable[[], V]) -> None:
        try:
            value = call()
        except Exception as exc:  # noqa: BLE001  # handed, as it is, to everyone who waits
            self._land(key, flight, exc)
        except BaseException:
            # An interrupt belongs to the thread that it hit; who waits may try again.
            self._land(key, flight, KeyServiceUnavailableError("the call that was to fetch the key was interrupted; try again"))
            raise
        else:
            with self._lock:
                del self._flights[key]
            flight.set_result(value)

    def _land(self, key: Hashable, flight: Future[V], exc: Exception) -> None:
        with self._lock:
            del self._flights[key]
        flight.set_exception(exc)


def _running() -> Future[Any]:
    flight: Future[Any] = Future()
    flight.set_running_or_notify_cancel()  # a running future cannot be cancelled by one who waits for it
    return flight
