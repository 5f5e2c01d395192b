"""Concurrent askers of one thing share one call, in threads and in coroutines alike; it caches nothing."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

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

    def wait(self, key: Hashable) -> None:
        """Returns when the call for `key` that is under way, if any, has ended, whatever its outcome. Not for coroutines."""
        with self._lock:
            flight = self._flights.get(key) if self._pid == os.getpid() else None
        if flight is not None:
            flight.exception()

    def _join(self, key: Hashable) -> tuple[Future[V], bool]:
        with self._lock:
            if self._pid != os.getpid():  # a fork has copied the calls of its parent's threads, and they will never land here
                self._pid = os.getpid()
                self._flights.clear()
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = Future()
            flight.set_running_or_notify_cancel()  # a running future cannot be cancelled by one who waits for it
            return flight, True

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
