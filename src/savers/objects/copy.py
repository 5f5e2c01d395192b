"""The plan that copies a thread: everything is opened in its old place and sealed for its new one; the source is not touched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ...errors import RetryableError
from .again import VanishedError, again
from .format import Reference
from .groups import Group, Groups
from .layout import Place
from .read import Found, Reader
from .waves import Page, Plan, Put, Work

_CHECKPOINTS: Final = 64  # copied at once


@dataclass(frozen=True, slots=True)
class Copier:
    """The plan that copies.

    Args:
        reader: reads the source.
    """

    reader: Reader

    def thread(self, source: str, target: str) -> Plan[None]:
        """Copies all checkpoints, writes and large values of a thread, oldest first; what the target has already stays.

        Ids, versions, ULIDs and nonces stay the same, so copying again after a failure replaces every object by its equal. It ends well
        only when all that one listing shows was copied: what went away under it is listed again.

        Raises:
            RetryableError: the source was deleted meanwhile, or pruned again and again.
        """
        if source == target:
            return
        first = True

        def attempt() -> Plan[None]:
            nonlocal first
            begun, first = not first, False
            listed = yield from self._listed(source)
            if begun and not any(groups for _, groups in listed):
                raise RetryableError(f"thread {source!r} was deleted while it was copied: {target!r} holds a part of it, or nothing")
            for place, groups in listed:
                yield from self._namespace(place, groups, Place(target, place.checkpoint_ns))

        yield from again(source, attempt)

    def _listed(self, source: str) -> Plan[list[tuple[Place, list[Group]]]]:
        """All there is to copy, before anything is read: what goes away later is missed then."""
        listed = []
        for place in (yield from self.reader.namespaces(source)):
            listing = Groups(self.reader.cells, place)
            groups: list[Group] = []
            while more := (yield from listing.next(1000)):
                groups += more
            if listing.lost or not (groups or (yield [Page(self.reader.cells.layout.folder(place), "", 1)])[0]):
                raise VanishedError
            listed.append((place, groups[::-1]))
        return listed

    def _namespace(self, place: Place, groups: list[Group], target: Place) -> Plan[None]:
        done: set[tuple[str, Reference]] = set()
        for at in range(0, len(groups), _CHECKPOINTS):
            some = groups[at : at + _CHECKPOINTS]
            found = yield from self.reader.found(place, some)
            if len(found) < len(some):
                raise VanishedError
            yield from self._values(found, place, target, done)
            yield from self._checkpoints(found, target)

    def _values(self, found: list[Found], place: Place, target: Place, done: set[tuple[str, Reference]]) -> Plan[None]:
        cells = self.reader.cells
        wanted = [item for read in found for item in read.record.references().items() if item not in done]
        if not wanted:
            return
        values = yield from self.reader.values([(place, channel, reference) for channel, reference in dict.fromkeys(wanted)])
        if missing := [(place, *item) for item in wanted if (place, *item) not in values]:
            for read in found:
                yield from self.reader.check_whole(read, missing)
        (puts,) = yield [
            Work(
                lambda: [
                    Put(cells.layout.value(target, reference.origin, reference.nonce), cells.seal_value(target, channel, reference, packed))
                    for (_, channel, reference), packed in values.items()
                ]
            )
        ]
        yield puts
        done.update(wanted)

    def _checkpoints(self, found: list[Found], target: Place) -> Plan[None]:
        """Writes first, since a reader looks for them where it finds a checkpoint."""
        cells = self.reader.cells

        def sealed_writes() -> list[Put]:
            return [
                Put(cells.layout.writes(target, read.checkpoint_id, call), cells.seal_writes(target, read.checkpoint_id, call, record))
                for read in found
                for call, record in read.writes
            ]

        def sealed_checkpoints() -> list[Put]:
            puts = []
            for read in found:
                record = replace(read.record, copied_from=read.place.thread_id)
                key = cells.layout.checkpoint(target, read.checkpoint_id)
                puts.append(Put(key, cells.seal_checkpoint(target, read.checkpoint_id, record)))
            return puts

        writes, checkpoints = yield [Work(sealed_writes), Work(sealed_checkpoints)]
        if writes:
            yield writes
        if checkpoints:
            yield checkpoints
