"""What key services were asked, and what caches saved; counts only."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class CallReport:
    """Counts since the key source was made.

    Args:
        generated: data keys that a service (or this process, under a root that cannot) made.
        wrapped: keys wrapped under a root, beyond those that `generated` already returned wrapped.
        unwrapped: keys unwrapped.
        failed: calls to a service that raised; its own retries are not counted.
        seals_served: values sealed under a key at hand: calls saved.
        opens_served: values opened with a key at hand: calls saved.
    """

    generated: int = 0
    wrapped: int = 0
    unwrapped: int = 0
    failed: int = 0
    seals_served: int = 0
    opens_served: int = 0

    @property
    def made(self) -> int:
        """Calls to key services."""
        return self.generated + self.wrapped + self.unwrapped

    @property
    def saved(self) -> int:
        """Calls that a key per value would have cost, and were not made."""
        return self.seals_served + self.opens_served


class Tally:
    """A thread-safe counter behind a `CallReport`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """Counts one; `what` is a field of `CallReport`."""
        with self._lock:
            self._counts[what] += 1

    def report(self) -> CallReport:
        """The counts so far."""
        with self._lock:
            return CallReport(**{field.name: self._counts[field.name] for field in fields(CallReport)})
