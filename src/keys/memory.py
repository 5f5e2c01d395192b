"""What one process knows of threads' keys, bounded, and nothing that an erasure in this process has ended; it asks no store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ..ciphers import KeyReference, SecretKey
from ..context import Context
from ..locks import ForkSafeLock
from .aged import AgedCache
from .envelope import CacheLimits
from .known import Known
from .shelf import Found, Thread

_STRIPES: Final = 1024  # so that erasing many threads hardly ever makes a read of another one start over
_ENDINGS: Final = 16_384  # erasures remembered, to notice that a key store was rolled back

Sealing = tuple[KeyReference, SecretKey]


class ThreadMemory:
    """Known key objects, each for `recheck_s` unasked; an end is known for good, of the last 16,384 threads that ended.

    Args:
        bounds: of the cached keys.
        recheck_s: seconds.
        clock: seconds that only grow.
    """

    def __init__(self, bounds: CacheLimits, recheck_s: float, clock: Callable[[], float]) -> None:
        self._recheck_s = recheck_s
        self._max_age_s = bounds.max_age_s
        self._clock = clock
        self._known: AgedCache[str, Known] = AgedCache(bounds.max_keys, bounds.max_age_s, clock)
        self._lock = ForkSafeLock()
        self._epochs = [0] * _STRIPES
        self._endings: OrderedDict[str, int] = OrderedDict()
        # A put seals several cells of one thread: the first bytes of their contexts, the key, and until when it may be used unasked.
        self._latest: tuple[bytes, Sealing, float] | None = None
        self._repeats = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def hits(self) -> int:
        """How often a key was at hand."""
        return self._known.hits + self._repeats

    def sealing(self, context: Context, named: Callable[[bytes], Thread]) -> Sealing | None:
        """The key of the context's thread, if it is at hand: none is given after `end`."""
        with self._lock:
            latest = self._latest
            if latest is not None and context.encoded.startswith(latest[0]) and self._clock() < latest[2]:
                self._repeats += 1
                return latest[1]
            home = context.home
            known = self.fresh(named(home).name)
            if known is None or known.sealing is None:
                return None
            self._latest = home, known.sealing, known.checked_at + min(self._recheck_s, self._max_age_s)
            return known.sealing

    def fresh(self, name: str) -> Known | None:
        """What was checked lately, or has ended."""
        now = self._clock()
        known = self._known.get(name, now)
        if known is None or (now - known.checked_at >= self._recheck_s and known.sealing is not None):
            return None
        return known

    def last(self, name: str) -> Known | None:
        """What was known last, checked lately or not."""
        return self._known.peek(name)

    def ended(self, name: str) -> int:
        """The highest generation that is known to have ended; -1 for none."""
        return self._endings.get(name, -1)

    def epoch(self, name: str) -> int:
        """What `keep` is to be told: looked up before the store is asked."""
        return self._epochs[_stripe(name)]

    def keep(self, name: str, known: Known, epoch: int) -> bool:
        """Keeps it, and returns True; unless this process erased since the epoch was looked up: then it may be from before."""
        with self._lock:
            if self._epochs[_stripe(name)] != epoch:
                return False
            if known.sealing is None:
                self._note(name, known)
            self._known.put(name, known)
            self._latest = None
            return True

    def end(self, name: str, found: Found) -> None:
        """From here on no cached key and no read under way in this process gives the thread's key."""
        with self._lock:
            self._epochs[_stripe(name)] += 1
            self._latest = None
            now = self._clock()
            known = Known(found, None, now, now)
            self._note(name, known)
            self._known.put(name, known)

    def forget(self) -> None:
        """Drops every key at hand; ends stay known."""
        with self._lock:
            self._epochs = [epoch + 1 for epoch in self._epochs]
            self._latest = None
            self._known.clear()

    def _note(self, name: str, known: Known) -> None:
        self._endings[name] = max(known.found.object.generation, self._endings.pop(name, 0))
        if len(self._endings) > _ENDINGS:
            self._endings.popitem(last=False)


def _stripe(name: str) -> int:
    return int(name[:8], 16) % _STRIPES
