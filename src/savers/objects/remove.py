"""Plans that remove: a thread, all but the latest checkpoints, the checkpoints of some runs; what is left never refers to what went.

The order is always the same: checkpoints, then their writes, then large values that nothing refers to. So a process that is killed in
between leaves garbage that no reader sees, and the next call removes it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import layout
from .again import VanishedError, again
from .groups import Group, Groups
from .layout import Place
from .read import Found, Reader
from .waves import Delete, DeleteAll, Page, Plan, listed

ORPHAN_AGE_S: Final = 3600.0
"""What nothing refers to is garbage only after an hour: until then it may belong to a `put` that is under way."""

_PAGE: Final = 1000
_CHECKPOINTS: Final = 64  # read at once


@dataclass(frozen=True, slots=True)
class Remover:
    """Plans that remove.

    Args:
        reader: reads what decides.
    """

    reader: Reader

    def thread(self, thread_id: str) -> Plan[None]:
        """Removes everything of a thread: one LIST for each thousand objects, and one batch, or two where large values are among them."""
        self.reader.heads.forget_thread(thread_id)
        yield [DeleteAll(self.reader.cells.layout.thread_folder(thread_id), layout.is_value)]
        self.reader.heads.forget_thread(thread_id)

    def keep_latest(self, thread_id: str) -> Plan[None]:
        """Removes all but the latest checkpoint of each namespace, and what its delta channels are rebuilt from; and old garbage."""
        self.reader.heads.forget_thread(thread_id)
        for place in (yield from self.reader.namespaces(thread_id)):
            yield from again(thread_id, functools.partial(self._keep_latest_of, place))

    def _keep_latest_of(self, place: Place) -> Plan[None]:
        groups = yield from self._all_groups(place)
        head = next((group for group in groups if group.visible), None)
        kept = {} if head is None else (yield from self._needed(place, head, groups))
        yield from self._drop(place, groups, kept)

    def runs(self, thread_id: str, run_ids: frozenset[str]) -> Plan[None]:
        """Removes a thread's checkpoints whose metadata names one of these runs."""
        for place in (yield from self.reader.namespaces(thread_id)):
            yield from again(thread_id, functools.partial(self._runs_of, place, run_ids))

    def _runs_of(self, place: Place, run_ids: frozenset[str]) -> Plan[None]:
        groups = yield from self._all_groups(place)
        visible = [group for group in groups if group.visible]
        kept: dict[str, Found] = {}
        for at in range(0, len(visible), _CHECKPOINTS):
            found = yield from self._checkpoints(place, visible[at : at + _CHECKPOINTS])
            for read, metadata in zip(found, (yield from self.reader.metadata(found)), strict=True):
                if metadata.get("run_id") not in run_ids:
                    kept[read.checkpoint_id] = read
        if len(kept) < len(visible):
            self.reader.heads.forget_thread(place.thread_id)
            yield from self._drop(place, groups, kept)

    def _all_groups(self, place: Place) -> Plan[list[Group]]:
        groups = Groups(self.reader.cells, place, orphans=True)
        found: list[Group] = []
        while more := (yield from groups.next(_PAGE)):
            found += more
        if groups.lost:
            raise VanishedError
        return found

    def _checkpoints(self, place: Place, groups: Sequence[Group]) -> Plan[list[Found]]:
        """Checkpoints without their writes.

        Raises:
            VanishedError: one went away: what it shares with one that was put since the listing is unknown, and would be removed with it.
        """
        bare = [Group(group.sort, group.checkpoint_id, True) for group in groups]
        found = yield from self.reader.found(place, bare)
        if len(found) < len(bare):
            raise VanishedError
        return found

    def _needed(self, place: Place, head: Group, groups: Sequence[Group]) -> Plan[dict[str, Found]]:
        """The head and, while it has delta channels without a value, its ancestors up to the nearest that has one for each."""
        by_id = {group.checkpoint_id: group for group in groups if group.visible}
        kept: dict[str, Found] = {}
        open_channels: set[str] | None = None
        at: Group | None = head
        while at is not None and at.checkpoint_id not in kept and (open_channels is None or open_channels):
            (read,) = yield from self._checkpoints(place, [at])
            kept[read.checkpoint_id] = read
            if open_channels is None:
                (metadata,) = yield from self.reader.metadata([read])
                open_channels = set(delta_counters(metadata))
            open_channels -= {value.channel for value in read.record.values}
            at = by_id.get(read.record.parent or "")
        return kept

    def _drop(self, place: Place, groups: Sequence[Group], kept: dict[str, Found]) -> Plan[None]:
        """Removes what is not kept; writes without a checkpoint go when they are old, since their checkpoint may be on its way."""
        oldest = time.time() - ORPHAN_AGE_S
        prefix = self.reader.cells.layout.checkpoints(place)
        gone = [group for group in groups if group.checkpoint_id not in kept and (group.visible or group.modified < oldest)]
        keys = [f"{prefix}{group.sort}.c" for group in gone if group.visible]
        keys += [f"{prefix}{group.sort}.w.{call}" for group in gone for call in group.calls]
        if keys:
            yield [Delete(tuple(keys))]
        referred = {
            (layout.sort_of(reference.origin), reference.nonce) for read in kept.values() for reference in read.record.references().values()
        }
        origins = {group.sort for group in gone if group.visible}
        folder, cursor, garbage = self.reader.cells.layout.values(place), "", []
        while True:
            page = listed((yield [Page(folder, cursor, _PAGE)]))
            for entry in page:
                name = entry.key[len(folder) :]
                origin, _, nonce = name.partition(".")
                if layout.origin_of(name) and (origin, nonce) not in referred and (origin in origins or entry.modified < oldest):
                    garbage.append(entry.key)
            if len(page) < _PAGE:
                break
            cursor = page[-1].key
        if garbage:
            yield [Delete(tuple(garbage))]


def delta_counters(metadata: Any) -> dict[str, tuple[int, int]]:
    """LangGraph's counts of updates and supersteps since each delta channel's last snapshot, from a checkpoint's metadata."""
    counters = metadata.get("counters_since_delta_snapshot") if isinstance(metadata, dict) else None
    if not isinstance(counters, dict):
        return {}
    return {str(channel): (int(pair[0]), int(pair[1])) for channel, pair in counters.items()}
