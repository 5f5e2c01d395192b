"""What key services were asked, and what caches saved; counts only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..locks import ForkSafeLock


@dataclass(frozen=True, slots=True)
class CallReport:
    """Counts since the key source was made.

    Args:
        generated: data keys that a service (or this process, under a root that cannot) made.
        wrapped: keys wrapped under a root, beyond those that `generated` already returned wrapped.
        unwrapped: keys unwrapped.
        failed: calls to a service that raised; its own retries are not counted.
        served: values sealed or opened with a key at hand, so that no service was called.
    """

    generated: int = 0
    wrapped: int = 0
    unwrapped: int = 0
    failed: int = 0
    served: int = 0

    @property
    def made(self) -> int:
        """Calls to key services."""
        return self.generated + self.wrapped + self.unwrapped


class Tally:
    """A thread-safe counter behind a `CallReport`."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """Counts one; `what` is a field of `CallReport` other than `served`."""
        with self._lock:
            self._counts[what] += 1

    def report(self, served: int) -> CallReport:
        """The counts so far, with those that a cache kept."""
        with self._lock:
            return CallReport(**self._counts, served=served)
