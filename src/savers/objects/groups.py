"""The checkpoints of a namespace as a listing shows them, newest first and page by page; nothing is opened here but hashed names."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from ...stores import Listed
from . import layout
from .cells import Cells
from .layout import Place
from .waves import WINDOW, Get, Page, Plan, Work

_PAGE: Final = 1000  # what S3 lists in one request
_SMALL: Final = 64  # keys: one checkpoint with more than 60 calls of put_writes is rare, and a page of 64 is quick


@dataclass(slots=True)
class Group:
    """A checkpoint and its writes, as the listing has them.

    Args:
        sort: the sort component of their keys.
        checkpoint_id: the id; "" while only the sealed object knows it.
        visible: whether the checkpoint itself is there; without it, its writes wait for it or are garbage.
        calls: the ULIDs of its `put_writes` calls, ascending.
        modified: when its newest object was written, in seconds since 1970.
    """

    sort: str
    checkpoint_id: str
    visible: bool = False
    calls: list[str] = field(default_factory=list)
    modified: float = 0.0


class _Region:
    """One ascending run of keys: those of UUIDv6 ids, or those of all others."""

    def __init__(self, prefix: str, start: str, stop: str = "") -> None:
        self.prefix = prefix
        self.cursor = prefix + start if start else ""
        self.stop = stop
        self.done = False
        self.ready: deque[Group] = deque()
        self._open: Group | None = None

    def feed(self, page: tuple[Listed, ...], limit: int) -> None:
        for listed in page:
            name = listed.key[len(self.prefix) :]
            if self.stop and name >= self.stop:
                self.done = True
                break
            entry = layout.parse_entry(name)
            if entry is None:
                continue  # not of this layout: someone else's, and none of our business
            if self._open is None or self._open.sort != entry.sort:
                self._flush()
                self._open = Group(entry.sort, layout.id_of(entry.sort) or "")
            self._open.modified = max(self._open.modified, listed.modified)
            if entry.call:
                self._open.calls.append(entry.call)
            else:
                self._open.visible = True
        if len(page) < limit:
            self.done = True
        if self.done:
            self._flush()
        elif page:
            self.cursor = page[-1].key

    def _flush(self) -> None:
        if self._open is not None:
            self.ready.append(self._open)
        self._open = None


class Groups:
    """The groups of a namespace, greatest checkpoint id first.

    Args:
        cells: opens hashed names.
        place: the namespace.
        before: only ids smaller than this.
        orphans: also groups whose checkpoint is not there.
    """

    def __init__(self, cells: Cells, place: Place, before: str | None = None, orphans: bool = False) -> None:
        self.place = place
        self.lost = False
        """Whether something was listed that had gone when its name was to be read: it is left out."""
        self._cells = cells
        self._before = before
        self._orphans = orphans
        self._prefix = prefix = cells.layout.checkpoints(place)
        if before is None:
            self._regions = [_Region(prefix, "")]
        else:
            exact = layout.sort_of(before)
            newest = layout.after(exact) if exact.startswith("u") else layout.ULIDS_START
            self._regions = [_Region(prefix, layout.older_than(before), layout.ULIDS_START), _Region(prefix, newest)]

    @property
    def exhausted(self) -> bool:
        """Whether everything was handed out."""
        return all(region.done and not region.ready for region in self._regions)

    def next(self, count: int) -> Plan[list[Group]]:
        """The next `count` groups, or all that are left. One LIST, as long as no id is of another form than UUIDv6."""
        found: list[Group] = []
        limit = min(_PAGE, max(_SMALL, 8 * count))
        while len(found) < count:
            while lacking := [region for region in self._regions if not region.done and len(region.ready) < count - len(found)]:
                pages = yield [Page(self._prefix, region.cursor, limit) for region in lacking]
                for region, page in zip(lacking, pages, strict=True):
                    self._split_if_mixed(region, page)
                    region.feed(page, limit)
                limit = _PAGE
            yield from self._resolve_hashed()
            while len(found) < count and (group := self._pop()) is not None:
                if (group.visible or self._orphans) and (self._before is None or group.checkpoint_id < self._before):
                    found.append(group)
            if self.exhausted:
                break
        return found

    def _split_if_mixed(self, region: _Region, page: tuple[Listed, ...]) -> None:
        """Ids of other forms are listed first, whatever their order: where there are some, the UUIDv6 ids get a listing of their own."""
        if page and not region.stop and not region.cursor and page[0].key[len(self._prefix) :] < layout.ULIDS_START:
            region.stop = layout.ULIDS_START
            self._regions.append(_Region(self._prefix, layout.ULIDS_START))

    def _pop(self) -> Group | None:
        """The greatest id of all regions, or None when a region must be listed further to know."""
        if any(not region.ready and not region.done for region in self._regions):
            return None
        heads = [region for region in self._regions if region.ready]
        if not heads:
            return None
        return max(heads, key=lambda region: region.ready[0].checkpoint_id).ready.popleft()

    def _resolve_hashed(self) -> Plan[None]:
        """Long ids of other forms are known to the objects only, and listed out of order: then that region is read whole and sorted."""
        for region in self._regions:
            if not any(not group.checkpoint_id for group in region.ready):
                continue
            while not region.done:
                (page,) = yield [Page(self._prefix, region.cursor, _PAGE)]
                region.feed(page, _PAGE)
            unknown = [group for group in region.ready if not group.checkpoint_id]
            thread, namespace = self._cells.layout.folder(self.place).rstrip("/").split("/")
            for at in range(0, len(unknown), WINDOW):
                window = unknown[at : at + WINDOW]
                kinds = ["c" if group.visible else f"w.{group.calls[0]}" for group in window]
                objects = yield [Get(f"{self._prefix}{group.sort}.{kind}") for group, kind in zip(window, kinds, strict=True)]
                found = [(group, data) for group, data in zip(window, objects, strict=True) if data is not None]
                opens = (functools.partial(self._cells.open_names, thread, namespace, group.sort, data) for group, data in found)
                for (group, _), names in zip(found, (yield [Work(work) for work in opens]), strict=True):
                    group.checkpoint_id = names.checkpoint_id
            known = [group for group in region.ready if group.checkpoint_id]
            self.lost = self.lost or len(known) < len(region.ready)
            region.ready = deque(sorted(known, key=lambda group: group.checkpoint_id, reverse=True))
