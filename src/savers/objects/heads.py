"""What this process remembers of checkpoints it put or saw as the latest; bounded, and never a reason to trust what is stored."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from typing import Final, TypeVar

from ...locks import ForkSafeLock
from . import ulid
from .format import Reference
from .layout import NONCE_LENGTH, Place

_MAX: Final = 1024  # checkpoints; a reference takes about 300 bytes

_FLOORS: Final = 4096  # times that dropped checkpoints share by their hash, so that a clock gone wrong moves few others

# A call stamped further ahead than this came from a clock gone wrong: it moves its own checkpoint's clock only.
_AHEAD_MS: Final = 60_000

T = TypeVar("T")
_Key = tuple[str, str, str]


class Heads:
    """Where the large values of recent checkpoints lie, and when their last writes were made. Safe in threads.

    Only checkpoints that this process put, or read as the latest of their namespace, are remembered: those are what a run goes on from, and
    what `prune` keeps. A run that forks from an older one stores its values anew.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._references: OrderedDict[_Key, dict[str, Reference]] = OrderedDict()
        self._calls: OrderedDict[_Key, int] = OrderedDict()
        self._floors: dict[int, int] = {}
        self._last_ms = 0

    def remember(self, place: Place, checkpoint_id: str, references: dict[str, Reference]) -> None:
        """Notes where the large values of a checkpoint lie."""
        with self._lock:
            _put(self._references, (place.thread_id, place.checkpoint_ns, checkpoint_id), references)

    def references(self, place: Place, checkpoint_id: str | None) -> dict[str, Reference]:
        """Channel → where its large value lies; empty when the checkpoint is not remembered."""
        with self._lock:
            return self._references.get((place.thread_id, place.checkpoint_ns, checkpoint_id or ""), {})

    def saw_call(self, place: Place, checkpoint_id: str, call: str) -> None:
        """Notes the newest writes seen on a checkpoint, so that later writes of this process sort after them whatever its clock says."""
        value = ulid.decode(call) or 0
        with self._lock:
            key = (place.thread_id, place.checkpoint_ns, checkpoint_id)
            self._note(key, max(ulid.milliseconds(value), self._clock(key)))

    def next_call(self, place: Place, checkpoint_id: str) -> str:
        """A new ULID that sorts after every call seen on this checkpoint and every one made by this process: a hybrid logical clock."""
        with self._lock:
            key = (place.thread_id, place.checkpoint_ns, checkpoint_id)
            clock = time.time_ns() // 1_000_000
            now = max(clock, self._last_ms + 1, self._clock(key) + 1)
            if now - clock < _AHEAD_MS:
                self._last_ms = now
            self._note(key, now)
        return ulid.encode(now << 80 | secrets.randbits(80))

    def forget_thread(self, thread_id: str) -> None:
        """Drops what names a thread. What is left of it, or comes again, still gets no call that sorts before one seen on it."""
        with self._lock:
            for key in [key for key in self._references if key[0] == thread_id]:
                del self._references[key]
            for key in [key for key in self._calls if key[0] == thread_id]:
                self._lower(key, self._calls.pop(key))

    def _clock(self, key: _Key) -> int:
        """The newest call's time, or one after it where it is not remembered by itself any more."""
        return max(self._calls.get(key, 0), self._floors.get(hash(key) % _FLOORS, 0))

    def _note(self, key: _Key, clock: int) -> None:
        for dropped, its in _put(self._calls, key, clock):
            self._lower(dropped, its)

    def _lower(self, key: _Key, clock: int) -> None:
        at = hash(key) % _FLOORS
        self._floors[at] = max(clock, self._floors.get(at, 0))


def new_nonce() -> str:
    """Tells one stored value from every other."""
    return ulid.encode_short(secrets.randbits(5 * NONCE_LENGTH), NONCE_LENGTH)


def _put(memory: OrderedDict[_Key, T], key: _Key, value: T) -> list[tuple[_Key, T]]:
    """Remembers, and gives what was dropped for it."""
    memory[key] = value
    memory.move_to_end(key)
    return [memory.popitem(last=False) for _ in range(len(memory) - _MAX)]
