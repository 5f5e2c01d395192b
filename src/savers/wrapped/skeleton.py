"""What is sealed once per checkpoint: everything but the channels' values, and the exact list of those; it does no sealing and no I/O.

Format 1 (docs/spec/sealed-rows-v1.md, "Skeleton"): a map with the keys

====  ==================================================================================================================
``f``  1, the format
``c``  the checkpoint without ``channel_values``
``m``  the metadata
``p``  the parents that the inner saver may name: one, or more after a checkpoint was put again; empty for a root
``o``  the channels that have a cell, grouped by origin: list of [origin, [channel, …]]; origin null is this checkpoint
``d``  those of them whose cell is a delta snapshot
``q``  cells that a saver may return although the checkpoint has no value there, grouped like ``o``
``x``  values of channels without a version, which no inner saver can be relied on to keep
``t``  the search tokens that lie beside it in clear
====  ==================================================================================================================

``o``, ``d``, ``q``, ``x`` and ``t`` are left out when empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...context import Version
from ...errors import DecodeError

FORMAT: Final = 1
CONVERTED: Final = ""
"""The origin of a cell that was stored before sealing began, and of what replaces it: no checkpoint has this id."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One stored channel value.

    Args:
        version: the channel's version.
        origin: the id of the checkpoint that first stored it, or `CONVERTED`.
        delta: whether it is a delta snapshot.
    """

    version: Version
    origin: str
    delta: bool = False


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A checkpoint without its values.

    Args:
        checkpoint: all keys of the checkpoint but ``channel_values``.
        metadata: as the bare saver would return it.
        parents: ids that the inner saver may name as the parent; absent is always possible (savers prune).
        cells: channel → the cell it must have.
        optional: channel → the cell it may have.
        inline: channel → value, for channels without a version.
        tokens: the search tokens that lie beside it in clear.
    """

    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    parents: tuple[str, ...] = ()
    cells: Mapping[str, Cell] = field(default_factory=dict)
    optional: Mapping[str, Cell] = field(default_factory=dict)
    inline: Mapping[str, Any] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The checkpoint's id."""
        made: str = self.checkpoint["id"]
        return made

    @property
    def versions(self) -> Mapping[str, Version]:
        """Channel → version, of every channel that has one."""
        made: Mapping[str, Version] = self.checkpoint["channel_versions"]
        return made

    def pack(self) -> dict[str, Any]:
        """The map that is sealed; `Skeleton.unpack(skeleton.pack()) == skeleton`."""
        packed: dict[str, Any] = {"f": FORMAT, "c": dict(self.checkpoint), "m": dict(self.metadata), "p": list(self.parents)}
        if self.cells:
            packed["o"] = _grouped(self.cells, self.id)
        if deltas := [channel for channel, cell in (*self.cells.items(), *self.optional.items()) if cell.delta]:
            packed["d"] = deltas
        if self.optional:
            packed["q"] = _grouped(self.optional, self.id)
        if self.inline:
            packed["x"] = dict(self.inline)
        if self.tokens:
            packed["t"] = dict(self.tokens)
        return packed

    @classmethod
    def unpack(cls, packed: Any) -> Skeleton:
        """The skeleton of an opened map.

        Raises:
            DecodeError: it is not one of this format: a newer release wrote it.
        """
        if not isinstance(packed, dict) or packed.get("f") != FORMAT:
            found = packed.get("f") if isinstance(packed, dict) else None
            raise DecodeError(
                f"a sealed checkpoint has format {found!r}; this release reads format {FORMAT}: read it with the release that wrote it"
            )
        try:
            checkpoint = packed["c"]
            deltas = frozenset(packed.get("d", ()))
            versions = checkpoint["channel_versions"]
            return cls(
                checkpoint,
                packed["m"],
                tuple(packed["p"]),
                _ungrouped(packed.get("o", ()), checkpoint["id"], versions, deltas),
                _ungrouped(packed.get("q", ()), checkpoint["id"], versions, deltas),
                packed.get("x", {}),
                packed.get("t", {}),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise DecodeError("a sealed checkpoint opened, and is not of the form that this release writes") from exc


def _grouped(cells: Mapping[str, Cell], own: str) -> list[list[Any]]:
    groups: dict[str | None, list[str]] = {}
    for channel, cell in cells.items():
        groups.setdefault(None if cell.origin == own else cell.origin, []).append(channel)
    return [[origin, channels] for origin, channels in groups.items()]


def _ungrouped(groups: Iterable[Any], own: str, versions: Mapping[str, Version], deltas: frozenset[str]) -> dict[str, Cell]:
    return {
        channel: Cell(versions[channel], own if origin is None else origin, channel in deltas)
        for origin, channels in groups
        for channel in channels
    }
