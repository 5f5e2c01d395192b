"""Plans that read: the latest checkpoint, one by id, listings; a wave for checkpoints with their writes, one more for large values."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata, CheckpointTuple, PendingWrite

from ...errors import DecodeError, MissingObjectError
from ...serde import Packed
from ..compat import writes_sort_key
from . import layout, places
from .again import VanishedError, again
from .cells import Cells
from .format import CheckpointRecord, Reference, WritesRecord
from .groups import Group, Groups
from .heads import Heads
from .layout import Place
from .waves import WINDOW, Emit, Get, Page, Plan, Stream, Work, together

Stored = tuple[Place, str, Reference]
"""A large value: its namespace, its channel, and where it lies."""

Accept = Callable[[CheckpointMetadata], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint as it was read, its values still packed.

    Args:
        place: its namespace.
        checkpoint_id: its id.
        record: the checkpoint.
        writes: its calls with their ULIDs, ascending.
    """

    place: Place
    checkpoint_id: str
    record: CheckpointRecord
    writes: tuple[tuple[str, WritesRecord], ...] = ()


@dataclass(frozen=True, slots=True)
class MergedWrite:
    """One pending write, after the rules of `put_writes` were applied.

    Args:
        task_id: of the task that made it.
        channel: where to.
        value: packed.
    """

    task_id: str
    channel: str
    value: Packed


def merge_writes(calls: Sequence[WritesRecord]) -> list[MergedWrite]:
    """The pending writes of a checkpoint: of a task's regular writes at one index the first call's stays, of special ones the last call's.

    The order is LangGraph's: task path, task id, index, with 10 after 9.
    """
    slots: dict[tuple[str, int], tuple[str, MergedWrite]] = {}
    for call in calls:
        for write in call.writes:
            slot = (call.task_id, write.index)
            if write.index < 0 or slot not in slots:
                slots[slot] = (call.task_path, MergedWrite(call.task_id, write.channel, write.value))
    order = sorted(slots, key=lambda slot: writes_sort_key(slots[slot][0], *slot))
    return [slots[slot][1] for slot in order]


@dataclass(frozen=True, slots=True)
class Reader:
    """Plans that read.

    Args:
        cells: opens what is read.
        heads: is told what was seen.
    """

    cells: Cells
    heads: Heads

    # --- one checkpoint -------------------------------------------------------------------------------------------

    def latest(self, place: Place) -> Plan[CheckpointTuple | None]:
        """The checkpoint with the greatest id: a LIST, a wave, and a wave for large values. What went away meanwhile is listed again.

        Raises:
            RetryableError: it went away each time; None is the answer only where a listing shows no checkpoint.
        """
        return (yield from again(place.thread_id, lambda: self._latest(place)))

    def _latest(self, place: Place) -> Plan[CheckpointTuple | None]:
        read = yield from self.newest(Groups(self.cells, place))
        if read is None:
            return None
        for made in (yield from self.tuples([read])):
            self.heads.remember(place, read.checkpoint_id, read.record.references())
            return made
        raise VanishedError

    def newest(self, listing: Groups) -> Plan[Found | None]:
        """The first checkpoint of a new listing, without its large values; None when it shows none.

        Raises:
            VanishedError: it is not there any more: the listing is out of date, and what it has further down is older.
        """
        groups = yield from listing.next(1)
        if not groups and not listing.lost:
            return None
        if not listing.lost:
            for read in (yield from self.found(listing.place, groups)):
                return read
        raise VanishedError

    def by_id(self, place: Place, checkpoint_id: str) -> Plan[CheckpointTuple | None]:
        """The checkpoint with this id: a LIST beside its GET, a wave for its writes, and large values with them."""
        read = yield from self.found_by_id(place, checkpoint_id)
        if read is not None:
            for made in (yield from self.tuples([read])):
                return made
        return None

    def found_by_id(self, place: Place, checkpoint_id: str) -> Plan[Found | None]:
        """As `by_id`, without its large values."""
        return (yield from again(place.thread_id, lambda: self._found_by_id(place, checkpoint_id)))

    def _found_by_id(self, place: Place, checkpoint_id: str) -> Plan[Found | None]:
        sort = layout.sort_of(checkpoint_id)
        prefix = self.cells.layout.checkpoints(place)
        first = f"{prefix}{sort}."
        listed, data = yield [Page(first, "", WINDOW), Get(f"{first}c")]
        while len(listed) % WINDOW == 0 and listed:
            (more,) = yield [Page(first, listed[-1].key, WINDOW)]
            if not more:
                break
            listed += more
        if data is None:
            return None
        entries = [layout.parse_entry(entry.key[len(prefix) :]) for entry in listed]
        calls = [entry.call for entry in entries if entry is not None and entry.call]
        for read in (yield from self._opened(place, [Group(sort, checkpoint_id, True, calls)], [data])):
            return read
        raise VanishedError  # its writes went after it was read: so it is gone, or about to be

    # --- many -----------------------------------------------------------------------------------------------------

    def stream(self, over: Sequence[Place], before: str | None, limit: int | None, accept: Accept | None) -> Stream[CheckpointTuple]:
        """The checkpoints of several namespaces, greatest id first, in windows whose size is bounded."""
        sources = [(Groups(self.cells, place, before), deque[Group]()) for place in over]
        left = limit
        while left is None or left > 0:
            size = _WINDOW_CHECKPOINTS if left is None or accept is not None else min(left, _WINDOW_CHECKPOINTS)
            window = yield from _next_of(sources, size)
            if not window:
                return
            for made in (yield from self._window(window, accept)):
                if left is not None and left <= 0:
                    return
                yield Emit(made)
                left = None if left is None else left - 1

    def _window(self, window: list[tuple[Place, Group]], accept: Accept | None) -> Plan[list[CheckpointTuple]]:
        """With a filter, checkpoints are read and matched before anything else of them is."""
        if accept is None:
            found = yield from self._found_in(window)
            return (yield from self.tuples(found))
        objects = yield [Get(self._key(place, group, "c")) for place, group in window]

        def matches(place: Place, group: Group, data: bytes | None) -> bool:
            record = self._record(place, group, data)
            return record is not None and accept(self.cells.serde.unpack(record.metadata))

        read = [(place, group, data) for (place, group), data in zip(window, objects, strict=True)]
        (matching,) = yield [Work(lambda: [item for item in read if matches(*item)])]
        plans = [self._opened(place, [group], [data]) for place, group, data in matching]
        found = [read for some in (yield from together(plans)) for read in some]
        return (yield from self.tuples(found))

    def metadata(self, found: Sequence[Found]) -> Plan[list[Any]]:
        """Their metadata, unpacked."""
        (unpacked,) = yield [Work(lambda: [self.cells.serde.unpack(read.record.metadata) for read in found])]
        return cast("list[Any]", unpacked)

    def found(self, place: Place, groups: Sequence[Group]) -> Plan[list[Found]]:
        """Checkpoints with their writes, in one wave; those that went away since they were listed, or of which a part did, are left out."""
        return (yield from self._found_in([(place, group) for group in groups]))

    def _found_in(self, window: Sequence[tuple[Place, Group]]) -> Plan[list[Found]]:
        keys = [[self._key(place, group, kind) for kind in ("c", *(f"w.{call}" for call in group.calls))] for place, group in window]
        answers = iter((yield [Get(key) for some in keys for key in some]))
        blobs = [[next(answers) for _ in some] for some in keys]
        (found,) = yield [
            Work(lambda: [self._open(place, group, some[0], some[1:]) for (place, group), some in zip(window, blobs, strict=True)])
        ]
        return self._noted([read for read in found if read is not None])

    def _opened(self, place: Place, groups: Sequence[Group], checkpoints: Sequence[bytes | None]) -> Plan[list[Found]]:
        """As `found`, for checkpoints whose objects are at hand."""
        keys = [[self._key(place, group, f"w.{call}") for call in group.calls] for group in groups]
        answers = iter((yield [Get(key) for some in keys for key in some])) if any(keys) else iter(())
        blobs = [[next(answers) for _ in some] for some in keys]
        (found,) = yield [
            Work(lambda: [self._open(place, group, data, some) for group, data, some in zip(groups, checkpoints, blobs, strict=True)])
        ]
        return self._noted([read for read in found if read is not None])

    def _open(self, place: Place, group: Group, checkpoint: bytes | None, writes: Sequence[bytes | None]) -> Found | None:
        record = self._record(place, group, checkpoint)
        here = [data for data in writes if data is not None]
        if record is None or len(here) < len(writes):
            return None  # writes go after their checkpoint: it is whole, or not there any more
        opened = [
            (call, self.cells.open_writes(place, group.checkpoint_id, call, data)) for call, data in zip(group.calls, here, strict=True)
        ]
        return Found(place, group.checkpoint_id, record, tuple(opened))

    def _record(self, place: Place, group: Group, data: bytes | None) -> CheckpointRecord | None:
        return None if data is None else self.cells.open_checkpoint(place, group.checkpoint_id, data)

    def _noted(self, found: list[Found]) -> list[Found]:
        for read in found:
            if read.writes:
                self.heads.saw_call(read.place, read.checkpoint_id, read.writes[-1][0])
        return found

    def _key(self, place: Place, group: Group, kind: str) -> str:
        return f"{self.cells.layout.checkpoints(place)}{group.sort}.{kind}"

    # --- values ---------------------------------------------------------------------------------------------------

    def tuples(self, found: Sequence[Found]) -> Plan[list[CheckpointTuple]]:
        """What LangGraph is given: large values are read, each once however many checkpoints refer to it, and everything is unpacked."""
        wanted = {(read.place, channel, reference) for read in found for channel, reference in read.record.references().items()}
        values = yield from self.values(sorted(wanted, key=lambda item: (item[1], item[2].origin, item[2].nonce)))
        complete = []
        for read in found:
            missing = [(read.place, *item) for item in read.record.references().items() if (read.place, *item) not in values]
            if not missing:
                complete.append(read)
            else:
                with suppress(VanishedError):
                    yield from self.check_whole(read, missing)
        (made,) = yield [Work(lambda: [self._tuple(read, values) for read in complete])]
        return cast("list[CheckpointTuple]", made)

    def is_there(self, read: Found) -> Plan[bool]:
        """Whether a checkpoint that was read is still there: it goes before its writes and values."""
        (still,) = yield [Get(self.cells.layout.checkpoint(read.place, read.checkpoint_id))]
        return still is not None

    def check_whole(self, read: Found, missing: Sequence[Stored]) -> Plan[None]:
        """Nothing, when no value is missing that the checkpoint refers to.

        Raises:
            VanishedError: the checkpoint is gone as well: it was deleted or pruned meanwhile.
            MissingObjectError: the checkpoint is still there.
        """
        lost = [channel for channel, reference in read.record.references().items() if (read.place, channel, reference) in missing]
        if not lost:
            return
        if not (yield from self.is_there(read)):
            raise VanishedError
        raise MissingObjectError(
            f"checkpoint {read.checkpoint_id!r} of thread {read.place.thread_id!r} refers to the value of channel {lost[0]!r}, "
            "which is not in the store: it was removed by hand, by a lifecycle rule, or by a deletion beside a running agent"
        )

    def values(self, wanted: Sequence[Stored]) -> Plan[dict[Stored, Packed]]:
        """Large values, packed; those that are not there are left out."""
        opened: dict[Stored, Packed] = {}
        for at in range(0, len(wanted), WINDOW):
            window = wanted[at : at + WINDOW]
            objects = yield [Get(self.cells.layout.value(place, reference.origin, reference.nonce)) for place, _, reference in window]
            here = [(item, data) for item, data in zip(window, objects, strict=True) if data is not None]
            (packed,) = yield [Work(functools.partial(self._open_values, here))]
            opened.update(packed)
        return opened

    def _open_values(self, here: list[tuple[Stored, bytes]]) -> dict[Stored, Packed]:
        return {
            (place, channel, reference): self.cells.open_value(place, channel, reference, data)
            for (place, channel, reference), data in here
        }

    def _tuple(self, read: Found, values: dict[Stored, Packed]) -> CheckpointTuple:
        unpack = self.cells.serde.unpack
        skeleton = unpack(read.record.skeleton)
        if not isinstance(skeleton, dict):
            raise DecodeError(f"checkpoint {read.checkpoint_id!r} has a skeleton of type {type(skeleton).__name__}")
        channels: dict[str, Any] = {}
        for value in read.record.values:
            packed = values[read.place, value.channel, value.link] if isinstance(value.link, Reference) else value.link
            channels[value.channel] = unpack(packed)
        writes: list[PendingWrite] = [
            (write.task_id, write.channel, unpack(write.value)) for write in merge_writes([call for _, call in read.writes])
        ]
        parent = read.record.parent
        return CheckpointTuple(
            config=config_of(read.place, read.checkpoint_id),
            checkpoint=cast("Checkpoint", {**skeleton, "channel_values": channels}),
            metadata=cast("CheckpointMetadata", unpack(read.record.metadata)),
            parent_config=None if parent is None else config_of(read.place, parent),
            pending_writes=writes,
        )

    # --- what there is --------------------------------------------------------------------------------------------

    def namespaces(self, thread_id: str) -> Plan[list[Place]]:
        """See `places.namespaces`."""
        return places.namespaces(self.cells, thread_id)

    def threads(self) -> Stream[str]:
        """See `places.threads`."""
        return places.threads(self.cells)


_WINDOW_CHECKPOINTS = 32


def _next_of(sources: Sequence[tuple[Groups, deque[Group]]], size: int) -> Plan[list[tuple[Place, Group]]]:
    """The next `size` groups of all namespaces, greatest id first: each namespace is listed only as far as that needs."""
    window: list[tuple[Place, Group]] = []
    each = size if len(sources) == 1 else max(1, min(size, _WINDOW_CHECKPOINTS // max(1, len(sources))))
    while len(window) < size:
        lacking = [(groups, ready) for groups, ready in sources if not ready and not groups.exhausted]
        for at in range(0, len(lacking), WINDOW):
            some = lacking[at : at + WINDOW]
            for (_, ready), more in zip(some, (yield from together([groups.next(each) for groups, _ in some])), strict=True):
                ready.extend(more)
        full = [(groups, ready) for groups, ready in sources if ready]
        if not full:
            break
        groups, ready = max(full, key=lambda source: source[1][0].checkpoint_id)
        window.append((groups.place, ready.popleft()))
    return window


def config_of(place: Place, checkpoint_id: str) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": place.thread_id, "checkpoint_ns": place.checkpoint_ns, "checkpoint_id": checkpoint_id}}
