"""Checks a stored checkpoint against what was sealed, and opens it; it calls no saver."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple, PendingWrite
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...ciphers.header import looks_sealed
from ...errors import AuthenticationError, NotSealedError
from .cache import OriginCache
from .cells import Cells, Write
from .clear import PLACE, SEAL, check_copy, checkpoint_in_clear, from_text, metadata_in_clear
from .filters import same_json
from .names import Names
from .oldwrites import with_places
from .places import ID, NS, THREAD, Place
from .profile import Profile
from .reading import RawTuple
from .skeleton import CONVERTED, Cell, Skeleton

_log = logging.getLogger("sealpoint")


class Opener:
    """Opens the tuples of one inner saver.

    Args:
        cells: opens sealed values.
        names: how names went inward.
        profile: the inner saver's habits.
        migrate: admits checkpoints, and cells marked as converted, that are not sealed.
        count: told of "history_cut", "delta_short", "unsealed_checkpoint", "unsealed_cell" and "unsealed_write".
    """

    def __init__(
        self,
        cells: Cells,
        names: Names,
        profile: Profile,
        *,
        migrate: bool,
        count: Callable[[str], None],
    ) -> None:
        self._cells = cells
        self._names = names
        self._profile = profile
        self._migrate = migrate
        self._count = count

    def with_cells(self, cells: Cells) -> Opener:
        """The same opener over another serializer."""
        clone = copy.copy(self)
        clone._cells = cells
        return clone

    def is_sealed(self, raw: RawTuple) -> bool:
        """Whether there is a seal to check; says nothing about whether it opens."""
        return isinstance(raw.metadata, Mapping) and SEAL in raw.metadata

    def place(self, raw: RawTuple) -> Place:
        """The real place of a listed tuple, opened from beside it where stored names are tokens."""
        ids = raw.config["configurable"]
        stored = Place(str(ids[THREAD]), str(ids.get(NS) or ""))
        if not self.is_sealed(raw):
            return stored
        self._check_options(raw)
        if not self._names.places:
            return stored
        text = (raw.metadata or {}).get(PLACE)
        real = self._cells.open_place(stored, str(raw.checkpoint["id"]), from_text(text))
        if (str(self._names.thread(real.thread)), str(self._names.ns(real.ns))) != (stored.thread, stored.ns):
            raise AuthenticationError(
                f"a stored checkpoint names a thread or namespace that is not the one it lies in; it is refused{self._other_options}"
            )
        return real

    def skeleton(self, raw: RawTuple, place: Place) -> Skeleton:
        """The opened skeleton, after every readable copy of it was compared.

        Raises:
            IntegrityError: it does not open at this place, or something beside it was edited.
        """
        self._check_options(raw)
        stored_metadata: Mapping[str, Any] = raw.metadata or {}
        skeleton = self._cells.open_skeleton(place, str(raw.checkpoint["id"]), from_text(stored_metadata.get(SEAL)))
        stored_checkpoint: Mapping[str, Any] = raw.checkpoint
        for key, value in checkpoint_in_clear(skeleton, self._names).items():
            if key not in stored_checkpoint or not _same(key, stored_checkpoint[key], value):
                raise AuthenticationError(f"{key} beside a sealed checkpoint was edited; the checkpoint is refused{self._other_options}")
        check_copy(stored_metadata, {**metadata_in_clear(skeleton.metadata, self._names), **skeleton.tokens}, skeleton.metadata)
        self._check_parent(raw, skeleton, place)
        return skeleton

    def open(self, raw: RawTuple, place: Place, cache: OriginCache, *, wanted: Any = None) -> CheckpointTuple:
        """The tuple as the bare saver would have returned it; its config is the caller's to set.

        Args:
            raw: what the inner saver returned.
            place: the real place that was asked for, or `place(raw)`.
            cache: told of what was found.
            wanted: the checkpoint id that was asked for, if any.

        Raises:
            IntegrityError: something is missing, extra, edited, moved, replayed or not sealed. Nothing is returned.
        """
        ids = raw.config["configurable"]
        if (str(ids.get(THREAD)), str(ids.get(NS) or "")) != (str(self._names.thread(place.thread)), str(self._names.ns(place.ns))):
            raise AuthenticationError("the saver returned a checkpoint of another thread or namespace than it was asked for")
        found = str(raw.checkpoint["id"])
        if str(ids.get(ID)) != found or (wanted and not self._profile.latest_only and str(wanted) != found):
            raise AuthenticationError("the saver returned another checkpoint than it was asked for; it is refused")
        if not self.is_sealed(raw):
            return self._open_unsealed(raw, place, found)
        skeleton = self.skeleton(raw, place)
        values = self._values(raw, skeleton, place)
        self._remember(raw, skeleton, place, cache)
        return raw._replace(
            checkpoint={**skeleton.checkpoint, "channel_values": values},  # type: ignore[typeddict-item]  # the sealed copy, key for key
            metadata=skeleton.metadata,  # type: ignore[arg-type]  # likewise
            parent_config=self._parent_config(raw, place),
            pending_writes=self._pending(raw, place),
        )

    def learn(self, raw: RawTuple, place: Place, cache: OriginCache) -> None:
        """Notes a stored checkpoint's cells without opening them."""
        self._remember(raw, self.skeleton(raw, place), place, cache)

    def writes(self, raw: RawTuple, place: Place) -> list[tuple[str, str, Write]]:
        """Task, channel and write of every pending write, in LangGraph's order (path, task, index) by what was sealed.

        Where one is from before sealing, they stay in the inner saver's order, which goes by the paths that it has stored.

        Raises:
            IntegrityError: one is damaged, moved, not sealed, or there twice.
        """
        found = raw.pending_writes or []
        admit_old = self._migrate and not self.is_sealed(raw)
        opened: list[tuple[str, str, Write]] = []
        mixed: list[tuple[str, str, Write | None, Any]] = []
        for task_id, stored_channel, stored in found:
            if admit_old and not self._is_cell(stored):
                self._count("unsealed_write")
                mixed.append((task_id, stored_channel, None, stored))
                continue
            channel, sealed = self._channel_of(place, stored_channel, stored)
            opened.append((task_id, channel, self._cells.open_write(place, str(raw.checkpoint["id"]), task_id, channel, sealed)))
            mixed.append((*opened[-1], None))
        if len({(task_id, write.index) for task_id, _, write in opened}) != len(opened):
            raise AuthenticationError("a pending write is there twice: one was copied or replayed; the checkpoint is refused")
        if len(mixed) > len(opened):
            return with_places(mixed)
        return sorted(opened, key=lambda item: (item[2].path, item[0], item[2].index))

    def history_cut(self, place: Place, checkpoint_id: str) -> None:
        """Notes a checkpoint that had a parent and has none now: savers prune."""
        self._count("history_cut")
        thread = self._names.thread(place.thread)
        _log.debug("history cut: the parent of checkpoint %r in thread %r is not there any more", checkpoint_id, thread)

    def delta_short(self, place: Place, checkpoint_id: str) -> None:
        """Notes a delta channel of which fewer writes are left than its checkpoint counted."""
        self._count("delta_short")
        thread = self._names.thread(place.thread)
        _log.debug("delta channel: writes that checkpoint %r in thread %r counted are not there any more", checkpoint_id, thread)

    @property
    def _other_options(self) -> str:
        if not self._names.places:
            return ""
        return ". Or the store was written with other hash_thread_ids, hide_names or index keys than this saver has"

    def _check_options(self, raw: RawTuple) -> None:
        """Refuses a sealed checkpoint of a store with hidden ids where none are hidden, and the other way round: it would not open."""
        hidden = PLACE in (raw.metadata or {})
        if hidden and not self._names.places:
            raise NotSealedError(
                "a checkpoint was stored under hidden ids, and this saver hides none: give it the hash_thread_ids, hide_names and index "
                "keys that the store was written with. If there never were any, the checkpoint was edited"
            )
        if self._names.places and not hidden:
            raise NotSealedError(
                "a checkpoint was stored without hidden ids, and this saver hides them: hash_thread_ids and hide_names are chosen before "
                "the first write. Open the store without them, or copy its threads into a new one. If they were on, it was edited"
            )

    # --- inside ---------------------------------------------------------------------------------------------------

    def _remember(self, raw: RawTuple, skeleton: Skeleton, place: Place, cache: OriginCache) -> None:
        stored: Mapping[str, Any] = raw.checkpoint["channel_values"]
        named = {channel: stored.get(self._names.channel(channel)) for channel in (*skeleton.cells, *skeleton.optional)}
        cells: dict[str, Any] = {channel: cell for channel, cell in named.items() if self._is_cell(cell)}
        cache.remember(place, skeleton, cells)

    def _values(self, raw: RawTuple, skeleton: Skeleton, place: Place) -> dict[str, Any]:
        stored: Mapping[str, Any] = raw.checkpoint["channel_values"]
        allowed = {self._names.channel(channel) for channel in (*skeleton.cells, *skeleton.optional)}
        if not stored.keys() <= allowed:
            raise AuthenticationError("a checkpoint has a channel value that was not sealed with it: one was added, or moved there")
        values: dict[str, Any] = {}
        for channel, cell in skeleton.cells.items():
            name = self._names.channel(channel)
            if name not in stored:
                raise AuthenticationError(f"the value of channel {name!r} is missing: it was deleted, emptied or replaced")
            values[channel] = self._value(place, channel, cell, stored[name])
        for channel, cell in skeleton.optional.items():
            if (name := self._names.channel(channel)) in stored:
                values[channel] = self._value(place, channel, cell, stored[name])
            elif self._profile.shared and cell.origin != CONVERTED:
                raise AuthenticationError(f"the value of channel {name!r} is missing: this saver returns one value for each version")
        return {**values, **skeleton.inline}

    def _value(self, place: Place, channel: str, cell: Cell, stored: Any) -> Any:
        if self._migrate and cell.origin == CONVERTED and not self._is_cell(stored):
            self._count("unsealed_cell")
            return stored
        return self._cells.open_value(place, channel, cell, stored)

    def _pending(self, raw: RawTuple, place: Place) -> list[PendingWrite] | None:
        if raw.pending_writes is None:
            return None
        return [(task_id, channel, write.value) for task_id, channel, write in self.writes(raw, place)]

    def _channel_of(self, place: Place, stored_channel: str, stored: Any) -> tuple[str, Any]:
        if not self._names.nodes or stored_channel.startswith("__"):
            return stored_channel, stored
        channel, sealed = self._cells.without_channel(place, stored_channel, stored)
        if self._names.channel(channel) != stored_channel:
            raise AuthenticationError("a pending write names a channel that is not the one it lies under; it is refused")
        return channel, sealed

    def _check_parent(self, raw: RawTuple, skeleton: Skeleton, place: Place) -> None:
        parent = _parent_id(raw)
        if parent is not None and parent not in skeleton.parents:
            raise AuthenticationError("the parent of a sealed checkpoint was edited; the checkpoint is refused")
        if parent is None and skeleton.parents and not self._profile.latest_only:
            self.history_cut(place, skeleton.id)

    def _parent_config(self, raw: RawTuple, place: Place) -> Any:
        if raw.parent_config is None or not self._names.places:
            return raw.parent_config
        ids = {**raw.parent_config["configurable"], THREAD: place.thread, NS: place.ns}
        return {**raw.parent_config, "configurable": ids}

    def _open_unsealed(self, raw: RawTuple, place: Place, checkpoint_id: str) -> CheckpointTuple:
        if not self._migrate:
            raise NotSealedError(f"checkpoint {checkpoint_id!r} is not sealed; nothing of it was read{self._profile.serde.old_hint}")
        self._count("unsealed_checkpoint")
        versions: Mapping[str, Any] = raw.checkpoint["channel_versions"]
        values = {
            # A saver that shares cells between checkpoints may already hold the converted cell of this version.
            channel: self._cells.open_value(place, channel, _converted(versions, channel, value), value) if self._is_cell(value) else value
            for channel, value in raw.checkpoint["channel_values"].items()
        }
        checkpoint: Any = {**raw.checkpoint, "channel_values": values}
        return raw._replace(
            checkpoint=checkpoint,
            parent_config=self._parent_config(raw, place),
            pending_writes=self._pending(raw, place),
        )

    def _is_cell(self, stored: Any) -> bool:
        """Whether a value has the form of a sealed cell; in migration mode an old value can be bytes too, so there it must look sealed."""
        raw = stored.value if type(stored) is _DeltaSnapshot else stored
        return type(raw) is bytes and (not self._migrate or looks_sealed(raw))


def _parent_id(raw: RawTuple) -> str | None:
    return None if raw.parent_config is None else raw.parent_config["configurable"].get(ID)


def _converted(versions: Mapping[str, Any], channel: str, stored: Any) -> Cell:
    version = versions.get(channel)
    if not isinstance(version, (int, float, str)):
        raise NotSealedError(f"channel {channel!r} has a sealed value in an unsealed checkpoint that names no version of it; it is refused")
    return Cell(version, CONVERTED, type(stored) is _DeltaSnapshot)


def _same(key: str, stored: Any, expected: Any) -> bool:
    if key == "channel_versions":  # some savers keep versions as text
        return isinstance(stored, Mapping) and {k: str(v) for k, v in stored.items()} == {k: str(v) for k, v in expected.items()}
    return same_json(stored, expected)
