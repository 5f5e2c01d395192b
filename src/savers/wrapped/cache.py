"""What this process knows of stored checkpoints, so that an unchanged channel is not sealed again; it holds no plaintext.

Everything is keyed by ids that never come to mean something else: a checkpoint's id, or a channel's version with its origin. So what
another process does cannot make an entry wrong; at worst it is missing, and the stored parent is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Version
from ...locks import ForkSafeLock
from .cells import Stored
from .places import Place
from .skeleton import Cell, Skeleton

_MAX_CHECKPOINTS: Final = 2_048
_OVERHEAD: Final = 400  # bytes; about what a key and an entry take beside the cell


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a stored checkpoint: the parents it may have, and where its cells come from."""

    parents: tuple[str, ...]
    cells: Mapping[str, Cell]


class OriginCache:
    """Checkpoints by id and sealed cells by version and origin, least recently used dropped first. Safe in threads.

    Args:
        max_bytes: of sealed cells.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = ForkSafeLock()
        self._checkpoints: OrderedDict[tuple[Place, str], Known] = OrderedDict()
        self._cells: OrderedDict[Hashable, dict[tuple[str, bool], Stored]] = OrderedDict()

    def remember(self, place: Place, skeleton: Skeleton, stored: Mapping[str, Stored]) -> None:
        """Keeps a checkpoint that was stored or opened, with its sealed cells by channel."""
        known = Known(skeleton.parents, {**skeleton.optional, **skeleton.cells})
        with self._lock:
            self._checkpoints[place, skeleton.id] = known
            self._checkpoints.move_to_end((place, skeleton.id))
            if len(self._checkpoints) > _MAX_CHECKPOINTS:
                self._checkpoints.popitem(last=False)
            for channel, cell in known.cells.items():
                if channel in stored:
                    self._keep(_key(place, channel, cell.version), (cell.origin, cell.delta), stored[channel])

    def checkpoint(self, place: Place, checkpoint_id: str) -> Known | None:
        """What is known of a checkpoint."""
        with self._lock:
            return self._checkpoints.get((place, checkpoint_id))

    def stored(self, place: Place, channel: str, cell: Cell) -> Stored | None:
        """The sealed cell."""
        with self._lock:
            key = _key(place, channel, cell.version)
            found = self._cells.get(key)
            if found is None:
                return None
            self._cells.move_to_end(key)
            return found.get((cell.origin, cell.delta))

    def only_cell(self, place: Place, channel: str, version: Version) -> Cell | None:
        """The one cell known for a version of a channel; None when there is none, or forks have made several."""
        with self._lock:
            found = self._cells.get(_key(place, channel, version))
            if found is None or len(found) != 1:
                return None
            ((origin, delta),) = found
            return Cell(version, origin, delta)

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._checkpoints.clear()
            self._cells.clear()
            self._bytes = 0

    def forget_thread(self, thread: str) -> None:
        """Drops what is known of a thread."""
        with self._lock:
            for known in [key for key in self._checkpoints if key[0].thread == thread]:
                del self._checkpoints[known]
            for key in [key for key in self._cells if key[0].thread == thread]:  # type: ignore[index]  # keys are made by _key alone
                self._bytes -= sum(map(_size, self._cells.pop(key).values()))

    def _keep(self, key: Hashable, which: tuple[str, bool], stored: Stored) -> None:
        found = self._cells.setdefault(key, {})
        self._bytes += _size(stored) - (_size(found[which]) if which in found else 0)
        found[which] = stored
        self._cells.move_to_end(key)
        while self._bytes > self._max_bytes and self._cells:
            _, dropped = self._cells.popitem(last=False)
            self._bytes -= sum(map(_size, dropped.values()))


def _key(place: Place, channel: str, version: Version) -> Hashable:
    return place, channel, type(version), version


def _size(stored: Stored) -> int:
    return len(stored.value if isinstance(stored, _DeltaSnapshot) else stored) + _OVERHEAD
