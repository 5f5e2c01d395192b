"""Plans that write: a checkpoint after the large values it refers to, and the writes of one call as one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Kind
from ..failures import store_write
from .cells import Cells
from .format import CheckpointRecord, Reference, Value, Write, WritesRecord
from .heads import Heads, new_nonce
from .layout import Place
from .waves import Plan, Put, Work


@dataclass(frozen=True, slots=True)
class _Sealed:
    """A checkpoint that is ready to be stored, with the values to be stored before it."""

    values: list[Put]
    checkpoint: Put
    references: dict[str, Reference]


@dataclass(frozen=True, slots=True)
class Writer:
    """Plans that write.

    Args:
        cells: seals what is written.
        heads: knows which large values are stored already.
        inline_bytes: values up to this size, serialized, stay in the checkpoint.
    """

    cells: Cells
    heads: Heads
    inline_bytes: int

    def put(
        self,
        place: Place,
        parent: str | None,
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        new_versions: ChannelVersions,
    ) -> Plan[None]:
        """Stores a checkpoint: one PUT, and before it one wave of PUTs for the large values that changed."""
        (sealed,) = yield [Work(lambda: self._sealed(place, parent, checkpoint, metadata, new_versions))]
        if sealed.values:
            yield sealed.values
        yield [sealed.checkpoint]
        self.heads.remember(place, checkpoint["id"], sealed.references)

    def put_writes(self, place: Place, checkpoint_id: str, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> Plan[None]:
        """Stores the writes of one call: one PUT, under a name of its own, so that no other writer's can be lost."""
        call = self.heads.next_call(place, checkpoint_id)
        (data,) = yield [Work(lambda: self._sealed_writes(place, checkpoint_id, call, writes, task_id, task_path))]
        yield [Put(self.cells.layout.writes(place, checkpoint_id, call), data)]

    def _sealed(
        self, place: Place, parent: str | None, checkpoint: Checkpoint, metadata: Mapping[str, Any], new_versions: ChannelVersions
    ) -> _Sealed:
        known = self.heads.references(place, parent)
        values: list[Value] = []
        puts: list[Put] = []
        for channel, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(channel, "")
            stored = known.get(channel)
            if stored is not None and channel not in new_versions and _same(stored.version, version):
                values.append(Value(channel, stored.kind, stored))
                continue
            kind = Kind.DELTA_SNAPSHOT if isinstance(value, _DeltaSnapshot) else Kind.CHANNEL_VALUE
            packed = self.cells.serde.pack(value)
            if len(packed.data) <= self.inline_bytes:
                values.append(Value(channel, kind, packed))
                continue
            reference = Reference(kind, version, checkpoint["id"], new_nonce())
            values.append(Value(channel, kind, reference))
            key = self.cells.layout.value(place, reference.origin, reference.nonce)
            puts.append(Put(key, self.cells.seal_value(place, channel, reference, packed)))
        skeleton = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        pack = self.cells.serde.pack
        record = CheckpointRecord(pack(skeleton), pack(dict(metadata)), parent, tuple(values))
        sealed = self.cells.seal_checkpoint(place, checkpoint["id"], record)
        return _Sealed(puts, Put(self.cells.layout.checkpoint(place, checkpoint["id"]), sealed), record.references())

    def _sealed_writes(
        self, place: Place, checkpoint_id: str, call: str, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> bytes:
        pack = self.cells.serde.pack
        made = tuple(
            Write(WRITES_IDX_MAP.get(channel, at), channel, store_write(channel, value, pack)) for at, (channel, value) in enumerate(writes)
        )
        return self.cells.seal_writes(place, checkpoint_id, call, WritesRecord(task_id, task_path, made))


def _same(one: object, other: object) -> bool:
    """Equal in type too: 1, 1.0 and True are three versions."""
    return type(one) is type(other) and one == other
