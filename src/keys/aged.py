"""A cache bounded in entries and in age; it does not fetch, and does not share what it holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ..errors import ConfigurationError
from ..locks import ForkSafeLock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class AgedCache(Generic[K, V]):
    """The `max_entries` most recently used values, none older than `max_age_s`. Safe in threads.

    Whatever has expired is dropped at the latest when the cache is next written to, half an age later: no key outlives its time for want of
    being asked for.

    Args:
        max_entries: at least 1.
        max_age_s: seconds.
        clock: seconds that only grow.

    Raises:
        ConfigurationError: a bound is not positive.
    """

    def __init__(self, max_entries: int, max_age_s: float, clock: Callable[[], float]) -> None:
        if max_entries < 1 or not max_age_s > 0:
            raise ConfigurationError(f"a cache holds at least one entry for some time, not {max_entries} for {max_age_s} s")
        self._max_entries = max_entries
        self._max_age_s = max_age_s
        self._clock = clock
        self._lock = ForkSafeLock()
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._sweep_at = 0.0
        self.hits = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K, now: float | None = None) -> V | None:
        """The value, or None when there is none or it has expired; `now` is the clock, for a caller that has just read it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if (self._clock() if now is None else now) >= entry[0]:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            self.hits += 1
            return entry[1]

    def peek(self, key: K) -> V | None:
        """As `get`, but it is no use of the value."""
        with self._lock:
            entry = self._entries.get(key)
            return entry[1] if entry is not None and self._clock() < entry[0] else None

    def put(self, key: K, value: V) -> None:
        """Keeps the value; its age starts now."""
        with self._lock:
            now = self._clock()
            if now >= self._sweep_at:
                self._sweep_at = now + self._max_age_s / 2
                for old in [key for key, entry in self._entries.items() if now >= entry[0]]:
                    del self._entries[old]
            self._entries[key] = (now + self._max_age_s, value)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def pop(self, key: K) -> None:
        """Forgets the value, if there is one."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._entries.clear()
