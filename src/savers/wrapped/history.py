"""Where the values of unchanged channels are stored already: origins and sealed bytes found so far; it reads nothing by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Version
from .cache import Known, OriginCache
from .cells import Stored
from .places import Place
from .profile import Profile
from .skeleton import CONVERTED, Cell


class History:
    """What one `put` has found about its unchanged channels.

    Args:
        cache: what this process knows.
        profile: the inner saver's habits.
    """

    def __init__(self, cache: OriginCache, profile: Profile) -> None:
        self.cells: dict[str, Cell] = {}
        self.stored: dict[str, Stored] = {}
        self.old: dict[str, Cell] = {}
        self._cache = cache
        self._profile = profile
        self._parent: Known | None = None
        self._unsealed: set[str] = set()

    def look(self, place: Place, known: Known | None, unchanged: Mapping[str, Version]) -> None:
        """Takes what a checkpoint's cells answer; the first checkpoint is the parent."""
        if known is None:
            return
        self._parent = self._parent or known
        for channel, version in unchanged.items():
            if (cell := known.cells.get(channel)) is not None and _same_version(cell.version, version):
                self._take(place, channel, cell)

    def look_by_version(self, place: Place, unchanged: Mapping[str, Version]) -> None:
        """Takes cells that are known under their version, where that names one cell only."""
        for channel, version in unchanged.items():
            if channel not in self.cells and (cell := self._cache.only_cell(place, channel, version)) is not None:
                self._take(place, channel, cell)

    def note_unsealed(self, versions: Mapping[str, Version], unchanged: Mapping[str, Version], values: Mapping[str, Any]) -> None:
        """Notes which of the channels an old, unsealed checkpoint has stored at the same version, and how, where it has a value there."""
        for channel, version in unchanged.items():
            if channel in versions and versions[channel] == version:
                self._unsealed.add(channel)
                if channel in values:
                    self.old[channel] = Cell(version, CONVERTED, type(values[channel]) is _DeltaSnapshot)

    def missing(self, needed: Iterable[str]) -> bool:
        """Whether a needed cell was found neither sealed nor in an old checkpoint."""
        return any(channel not in self.stored and channel not in self._unsealed for channel in needed)

    def origin(self, place: Place, channel: str, version: Version, own: str) -> str:
        """The origin of a cell that is sealed now.

        An origin that is known for the version is kept, because a saver may keep one cell for it; a saver that certainly does may even
        have it from a fork. A version that an old checkpoint stored unsealed gets the origin that says so. Else it is the checkpoint that
        is being stored.
        """
        cell = self.cells.get(channel) or (self._parent.cells.get(channel) if self._parent else None)
        if cell is not None and _same_version(cell.version, version):
            return cell.origin
        if self._profile.whole:
            return own
        if channel in self._unsealed:
            return CONVERTED
        only = self._cache.only_cell(place, channel, version) if self._profile.shared else None
        return own if only is None else only.origin

    def _take(self, place: Place, channel: str, cell: Cell) -> None:
        self.cells[channel] = cell
        if (stored := self._cache.stored(place, channel, cell)) is not None:
            self.stored[channel] = stored


def _same_version(one: Version, other: Version) -> bool:
    return type(one) is type(other) and one == other
