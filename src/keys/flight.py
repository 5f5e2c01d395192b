"""Concurrent askers of one thing share one call, in threads and in coroutines alike; it caches nothing."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ..errors import KeyServiceUnavailableError
from ..locks import ForkSafeLock

V = TypeVar("V")


class SingleFlight(Generic[V]):
    """While a call for a key is under way, others who ask for the same key wait for its outcome: its value or its exception.

    A caller that is cancelled stops waiting; the call goes on for the others. Callers in coroutines occupy no thread while they wait.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._flights: dict[Hashable, Future[V]] = {}
        self._announced: dict[Hashable, Future[V]] = {}  # those of them that nobody has begun to make
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
        """As `do`; `call` runs in a thread."""
        flight, leads = self._join(key)
        if leads:
            # Not awaited, so that cancelling this caller cannot cancel the call that others wait for.
            run = contextvars.copy_context().run
            try:
                asyncio.get_running_loop().run_in_executor(None, run, self._lead, key, flight, call)
            except RuntimeError as exc:  # the loop's executor is shut down
                self._land(key, flight, KeyServiceUnavailableError("the event loop is shutting down; no key was fetched"))
                raise exc from None
        return await asyncio.wrap_future(flight)

    @contextmanager
    def announced(self, key: Hashable) -> Iterator[None]:
        """Inside, the call for `key` counts as under way, though it has yet to be made: the first `do` makes it.

        If none has by the end, `wait` returns, and who asked for the outcome is told to try again.
        """
        with self._lock:
            self._drop_inherited()
            flight: Future[V] | None = None
            if key not in self._flights:
                flight = self._announced[key] = self._flights[key] = _running()
        try:
            yield
        finally:
            with self._lock:
                unmade = flight is not None and self._announced.get(key) is flight
                if unmade:
                    del self._announced[key]
            if flight is not None and unmade:
                self._land(key, flight, KeyServiceUnavailableError("the call that was to be made for the key was given up; try again"))

    def wait(self, key: Hashable) -> None:
        """Returns when the call for `key` that is under way, if any, has ended, whatever its outcome. Not for coroutines."""
        with self._lock:
            flight = self._flights.get(key) if self._pid == os.getpid() else None
        if flight is not None:
            flight.exception()

    def _join(self, key: Hashable) -> tuple[Future[V], bool]:
        with self._lock:
            self._drop_inherited()
            flight = self._announced.pop(key, None)
            if flight is not None:
                return flight, True
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = _running()
            return flight, True

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
