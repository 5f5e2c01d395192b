"""What a put, a read and a listing do, as flows over any inner saver; sealing is `cells`', habits are `profile`'s, calls are `drive`'s."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Version
from ...keys import ErasureReceipt
from ..lives import Lives, continued, of_earlier_life
from .cache import Known, OriginCache
from .cells import Cells, Stored
from .clear import PLACE, SEAL, checkpoint_in_clear, metadata_in_clear, passed_in_clear, to_text
from .drive import Ask, Flow
from .history import History
from .names import Names
from .opening import Opener
from .places import ID, NS, THREAD, Place, narrowed, place_of
from .profile import Profile
from .reading import RawTuple, fetch, fetch_all
from .skeleton import Cell, Skeleton
from .tokens import Tokens


class Core:
    """The flows of one sealed saver.

    Args:
        cells: seals and opens.
        opener: checks and opens what the inner saver returns.
        cache: what this process knows.
        names: how names go inward.
        profile: the inner saver's habits.
        pass_through: config keys that go inward in clear because the user named them.
        tokens: makes search tokens, where fields are declared.
        fields: the declared search fields.
        takes_path: whether the inner `put_writes` takes a task path.
        migrate: whether checkpoints from before sealing are admitted.
        erase_keys: whether `delete_thread` ends the thread's key, where there is a key store.
    """

    def __init__(
        self,
        cells: Cells,
        opener: Opener,
        cache: OriginCache,
        names: Names,
        profile: Profile,
        *,
        pass_through: tuple[str, ...] = (),
        tokens: Tokens | None = None,
        fields: tuple[str, ...] = (),
        migrate: bool = False,
        erase_keys: bool = True,
    ) -> None:
        self.cells = cells
        self.opener = opener
        self.cache = cache
        self.names = names
        self.profile = profile
        self.pass_through = pass_through
        self.tokens = tokens
        self.fields = fields
        self.migrate = migrate
        self.erase_keys = erase_keys
        self.lives = Lives.of(cells.serde.keys, cells.scope, lambda thread: str(names.thread(thread)) if names.places else None)

    # --- configs --------------------------------------------------------------------------------------------------

    def inward(self, config: RunnableConfig) -> RunnableConfig:
        """The config that the inner saver gets."""
        ids = narrowed(config, self.pass_through)
        if self.names.places:
            if THREAD in ids:
                ids[THREAD] = self.names.thread(ids[THREAD])
            if NS in ids:
                ids[NS] = self.names.ns(ids[NS])
        return {"configurable": ids}

    def _outward(self, config: RunnableConfig, asked: RunnableConfig) -> RunnableConfig:
        ids = dict(config["configurable"])
        for key in (THREAD, NS):
            if self.names.places and key in ids and key in asked["configurable"]:
                ids[key] = asked["configurable"][key]
        return {**config, "configurable": ids}

    # --- put ------------------------------------------------------------------------------------------------------

    def beginning(self, config: RunnableConfig) -> AbstractContextManager[None]:
        """What goes around a put as long as it runs: see `Lives.beginning`."""
        place = place_of(config)
        return self.lives.beginning(place.thread, place.ns, config["configurable"].get(ID) or None)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        unsealed: Mapping[str, Version] | None = None,
    ) -> Flow[RunnableConfig]:
        """Stores a checkpoint sealed; see `BaseCheckpointSaver.put`. `unsealed` names versions that are stored from before sealing."""
        place = place_of(config)
        values: Mapping[str, Any] = checkpoint["channel_values"]
        versions: Mapping[str, Version] = checkpoint["channel_versions"]
        parent: str | None = config["configurable"].get(ID) or None
        if self.lives.begins(place.ns, parent):
            self.lives.begin(place.thread)
        else:
            yield from self._continue(place, continued(place.ns, parent, metadata))
        unchanged = {channel: version for channel, version in versions.items() if channel not in new_versions}
        history = yield from self._history(
            config, place, parent, unchanged, [channel for channel in unchanged if channel in values], unsealed or {}
        )

        cells: dict[str, Cell] = {}
        stored: dict[str, Stored] = {}
        added: dict[str, Version] = {}
        for channel, value in values.items():
            if channel not in versions:
                continue
            cell = history.cells.get(channel)
            delta = type(value) is _DeltaSnapshot
            found = history.stored.get(channel) if cell is not None and cell.delta == delta else None
            if cell is None or found is None:
                origin = history.origin(place, channel, versions[channel], checkpoint["id"])
                cell = Cell(versions[channel], origin, delta)
                found = self.cells.seal_value(place, channel, cell, value)
                if channel not in new_versions:
                    added[channel] = versions[channel]
            cells[channel], stored[channel] = cell, found
        # An old value may come back as well: of a delta channel that has no snapshot in this checkpoint, at the version of its last one.
        optional = {channel: cell for channel, cell in {**history.old, **history.cells}.items() if channel not in values}

        parents = yield from self._parents(config, place, parent, checkpoint["id"])
        merged = get_checkpoint_metadata(config, metadata) if self.profile.merges_config else metadata
        full = {key: value for key, value in merged.items() if key not in self.profile.drops_metadata}
        skeleton = Skeleton(
            {key: value for key, value in checkpoint.items() if key != "channel_values"},
            full,
            parents,
            cells,
            {} if self.profile.whole else optional,
            {channel: value for channel, value in values.items() if channel not in versions},
            self.tokens.stored(self.fields, full) if self.tokens and self.fields else {},
        )
        beside = {**(passed_in_clear(full, self._passed(config)) if self.profile.merges_config else {}), **self._beside(place, skeleton)}
        inner_checkpoint = {**checkpoint_in_clear(skeleton, self.names), "channel_values": self._renamed(stored)}
        result: RunnableConfig = yield Ask("put", (self.inward(config), inner_checkpoint, beside, self._renamed({**new_versions, **added})))
        self.cache.remember(place, skeleton, stored)
        return self._outward(result, config)

    def _continue(self, place: Place, named: Sequence[tuple[str, str]]) -> Flow[None]:
        """Refuses what goes on from a life that was erased; a checkpoint as old that is there and opens was copied."""
        for ns, checkpoint_id in self.lives.earlier(place.thread, named):
            config: RunnableConfig = {"configurable": {THREAD: place.thread, NS: ns, ID: checkpoint_id}}
            raw = yield from self._read_raw(config, checkpoint_id)
            if raw is None:
                raise of_earlier_life()
            if self.opener.is_sealed(raw):
                self.opener.skeleton(raw, Place(place.thread, ns))

    def _passed(self, config: RunnableConfig) -> list[str]:
        """The passed keys that the inner saver would put into the metadata by itself."""
        return [key for key in self.pass_through if isinstance(config["configurable"].get(key), (str, int, float))]

    def _beside(self, place: Place, skeleton: Skeleton) -> dict[str, Any]:
        beside = {
            **metadata_in_clear(skeleton.metadata, self.names),
            **skeleton.tokens,
            SEAL: to_text(self.cells.seal_skeleton(place, skeleton)),
        }
        if self.names.places:
            stored = Place(str(self.names.thread(place.thread)), str(self.names.ns(place.ns)))
            beside[PLACE] = to_text(self.cells.seal_place(stored, skeleton.id, place))
        return beside

    def _renamed(self, by_channel: Mapping[str, Any]) -> dict[str, Any]:
        return {self.names.channel(channel): value for channel, value in by_channel.items()} if self.names.nodes else dict(by_channel)

    def _parents(self, config: RunnableConfig, place: Place, parent: str | None, own: str) -> Flow[tuple[str, ...]]:
        """The parents that the inner saver may name later: more than one only where a re-put keeps the first."""
        named = (parent,) if parent else ()
        if not self.profile.keeps_first_parent:
            return named
        before = self.cache.checkpoint(place, own)
        if before is None and parent == own:
            opened = yield from self._read(config, own)
            before = Known(opened.parents, {}) if opened is not None else None
        return tuple(dict.fromkeys((*(before.parents if before else ()), *named)))

    # --- where unchanged values come from -------------------------------------------------------------------------

    def _history(
        self,
        config: RunnableConfig,
        place: Place,
        parent: str | None,
        unchanged: Mapping[str, Version],
        needed: Sequence[str],
        unsealed: Mapping[str, Version],
    ) -> Flow[History]:
        """Which cells of `unchanged` are stored already, and the sealed bytes of those in `needed`.

        `new_versions` is never trusted alone: `as_node="__copy__"` puts a sibling's values with none. So a cell is looked for in what is
        known of the parent, then in the parent as stored, then under the version itself, then in the namespace; what is found nowhere is
        sealed anew.
        """
        history = History(self.cache, self.profile)
        history.note_unsealed(unsealed, unchanged, {})
        history.look(place, self.cache.checkpoint(place, parent) if parent else None, unchanged)
        if parent and unchanged and (history.missing(needed) or self.cache.checkpoint(place, parent) is None):
            raw = yield from self._read_raw(config, parent)
            if raw is not None:
                self._learn(raw, place, history, unchanged)
        history.look_by_version(place, unchanged)
        if history.missing(needed) and not self.profile.whole:
            yield from self._scan(config, place, history, unchanged, needed)
        return history

    def _learn(self, raw: RawTuple, place: Place, history: History, unchanged: Mapping[str, Version]) -> None:
        if self.opener.is_sealed(raw):
            self.opener.learn(raw, place, self.cache)
            history.look(place, self.cache.checkpoint(place, raw.checkpoint["id"]), unchanged)
        else:
            history.note_unsealed(raw.checkpoint["channel_versions"], unchanged, raw.checkpoint["channel_values"])

    def _scan(
        self, config: RunnableConfig, place: Place, history: History, unchanged: Mapping[str, Version], needed: Sequence[str]
    ) -> Flow[None]:
        """Last resort, one listing of the namespace: a cell stored long ago by a checkpoint that is not the parent."""
        ids = {key: value for key, value in self.inward(config)["configurable"].items() if key in (THREAD, NS)}
        for raw in (yield from fetch_all({"configurable": ids})):
            self._learn(raw, place, history, unchanged)
            if not history.missing(needed):
                return

    def _read_raw(self, config: RunnableConfig, checkpoint_id: str) -> Flow[RawTuple | None]:
        """A stored checkpoint, unopened; None when the saver has another one or none."""
        inner = self.inward(config)
        raw = yield from fetch({"configurable": {**inner["configurable"], ID: checkpoint_id}})
        return raw if raw is not None and raw.checkpoint["id"] == checkpoint_id else None

    def _read(self, config: RunnableConfig, checkpoint_id: str) -> Flow[Skeleton | None]:
        raw = yield from self._read_raw(config, checkpoint_id)
        if raw is None or not self.opener.is_sealed(raw):
            return None
        return self.opener.skeleton(raw, place_of(config))

    # --- writes, reads --------------------------------------------------------------------------------------------

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str, *, takes_path: bool
    ) -> Flow[None]:
        """Stores pending writes sealed; see `BaseCheckpointSaver.put_writes`.

        The path goes inward only sealed; but in migration mode beside a checkpoint that may be old, the inner saver sorts by it.
        """
        place = place_of(config)
        checkpoint_id = str(config["configurable"][ID])
        yield from self._continue(place, [(place.ns, checkpoint_id)])
        inner = [
            (self.names.channel(channel), self.cells.seal_write(place, checkpoint_id, task_id, channel, position, task_path, value))
            for position, (channel, value) in enumerate(writes)
        ]
        if self.names.nodes:
            inner = [
                (stored, self.cells.with_channel(place, stored, channel, sealed) if stored != channel else sealed)
                for (stored, sealed), (channel, _) in zip(inner, writes, strict=True)
            ]
        beside_old = self.migrate and self.cache.checkpoint(place, checkpoint_id) is None
        path = task_path if beside_old else ""
        yield Ask("put_writes", (self.inward(config), inner, task_id, *((path,) if takes_path else ())))

    def get_tuple(self, config: RunnableConfig) -> Flow[CheckpointTuple | None]:
        """Opens one checkpoint; see `BaseCheckpointSaver.get_tuple`."""
        asked = self.inward(config)
        raw = yield from fetch(asked)
        if raw is None:
            return None
        opened = self.opener.open(raw, place_of(config), self.cache, wanted=config["configurable"].get(ID))
        if raw.config is asked:
            return opened._replace(config=config)
        return opened._replace(config=self._outward(raw.config, config))

    def delete_thread(self, thread_id: str) -> Flow[None]:
        """See `BaseCheckpointSaver.delete_thread`; erases where there is a key store."""
        if self.erase_keys and self.lives.holding:
            yield from self.erase_thread(thread_id)
        else:
            yield from self._remove(thread_id)

    def erase_thread(self, thread_id: str) -> Flow[ErasureReceipt]:
        """Destroys the key, then removes the data: whatever a kill leaves is unreadable then, and goes with the next call."""
        receipt = self.lives.end(str(thread_id))
        yield from self._remove(thread_id)
        return receipt

    def _remove(self, thread_id: str) -> Flow[None]:
        self.cache.forget_thread(str(thread_id))
        yield Ask("delete_thread", (self.names.thread(thread_id),))
        self.cache.forget_thread(str(thread_id))

    def prune(self, thread_ids: Iterable[str], options: dict[str, Any]) -> Flow[None]:
        """See `BaseCheckpointSaver.prune`."""
        named = thread_ids if isinstance(thread_ids, str) else [self.names.thread(thread_id) for thread_id in thread_ids]
        yield Ask("prune", (named,), options)

    def delete_for_runs(self, run_ids: Sequence[str]) -> Flow[None]:
        """See `BaseCheckpointSaver.delete_for_runs`: the run's id is among the readable metadata."""
        yield Ask("delete_for_runs", (run_ids,))
