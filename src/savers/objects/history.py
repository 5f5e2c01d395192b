"""The plan behind `get_delta_channel_history`: the ancestors' writes back to the nearest stored value, in waves and not one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite

from ...serde import Packed
from .again import VanishedError, again
from .format import Reference, Value
from .groups import Group, Groups
from .layout import Place
from .read import Found, MergedWrite, Reader, Stored, merge_writes
from .remove import delta_counters
from .waves import Plan, Work

_WINDOW: Final = 128  # ancestors read at once when the metadata does not say how many are needed


@dataclass(slots=True)
class _Walk:
    """What one channel has collected so far, newest first."""

    writes: list[MergedWrite] = field(default_factory=list)
    seed: tuple[Found, Value] | None = None


@dataclass(frozen=True, slots=True)
class Historian:
    """The plan that walks back.

    Args:
        reader: reads checkpoints with their writes.
    """

    reader: Reader

    def history(self, place: Place, checkpoint_id: str | None, channels: Sequence[str]) -> Plan[dict[str, DeltaChannelHistory]]:
        """Each channel's writes since its nearest stored value among the ancestors, oldest first, with that value as its seed.

        LangGraph counts supersteps since the last snapshot in the metadata, so the ancestors that are needed are read in one wave: they are
        those listed next below the checkpoint. Where that does not hold (ids from clocks that disagree, long forks), more windows follow.
        """
        return (yield from again(place.thread_id, lambda: self._history(place, checkpoint_id, channels)))

    def _history(self, place: Place, checkpoint_id: str | None, channels: Sequence[str]) -> Plan[dict[str, DeltaChannelHistory]]:
        walks = {channel: _Walk() for channel in channels}
        listing: Groups | None = None
        if checkpoint_id is None:
            listing = Groups(self.reader.cells, place)
            target = yield from self.reader.newest(listing)
        else:
            target = yield from self.reader.found_by_id(place, checkpoint_id)
        if target is not None and target.record.parent is not None:
            yield from self._walk(place, target, walks, listing)
        return (yield from self._results(walks))

    def _walk(self, place: Place, target: Found, walks: dict[str, _Walk], listing: Groups | None) -> Plan[None]:
        (metadata,) = yield from self.reader.metadata([target])
        counters = delta_counters(metadata)
        supersteps = max((counters.get(channel, (0, 0))[1] for channel in walks), default=0)
        window = min(supersteps + 1, _WINDOW) if supersteps else _WINDOW
        below = listing or Groups(self.reader.cells, place, before=target.checkpoint_id)
        read: dict[str, Found] = {}
        walked = {target.checkpoint_id}
        cursor = target.record.parent
        while cursor is not None and cursor not in walked and any(walk.seed is None for walk in walks.values()):
            found = read.pop(cursor, None)
            if found is None:
                groups: list[Group] = yield from below.next(window)
                if groups:
                    read.update({ancestor.checkpoint_id: ancestor for ancestor in (yield from self.reader.found(place, groups))})
                    continue
                found = yield from self.reader.found_by_id(place, cursor)
                if found is None:
                    if not (yield from self.reader.is_there(target)):
                        raise VanishedError  # both go just now: what was collected is a part
                    return  # pruned: the history is cut here
            walked.add(cursor)
            _collect(found, walks)
            cursor = found.record.parent

    def _results(self, walks: dict[str, _Walk]) -> Plan[dict[str, DeltaChannelHistory]]:
        large = [
            (walk.seed[0].place, channel, walk.seed[1].link)
            for channel, walk in walks.items()
            if walk.seed is not None and isinstance(walk.seed[1].link, Reference)
        ]
        values = yield from self.reader.values(large)
        for walk in walks.values():
            if walk.seed is not None:
                yield from self.reader.check_whole(walk.seed[0], [item for item in large if item not in values])
        (made,) = yield [Work(lambda: {channel: self._result(channel, walk, values) for channel, walk in walks.items()})]
        return cast("dict[str, DeltaChannelHistory]", made)

    def _result(self, channel: str, walk: _Walk, values: dict[Stored, Packed]) -> DeltaChannelHistory:
        unpack = self.reader.cells.serde.unpack
        writes: list[PendingWrite] = [(write.task_id, channel, unpack(write.value)) for write in reversed(walk.writes)]
        if walk.seed is None:
            return {"writes": writes}
        found, value = walk.seed
        packed = values[found.place, channel, value.link] if isinstance(value.link, Reference) else value.link
        return {"writes": writes, "seed": unpack(packed)}


def _collect(found: Found, walks: dict[str, _Walk]) -> None:
    """An ancestor's writes count although its value does: they made its child."""
    merged = merge_writes([call for _, call in found.writes])
    values = {value.channel: value for value in found.record.values}
    for channel, walk in walks.items():
        if walk.seed is None:
            walk.writes.extend(write for write in reversed(merged) if write.channel == channel)
            if channel in values:
                walk.seed = (found, values[channel])
