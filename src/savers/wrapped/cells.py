"""Values, writes and skeletons as sealed bytes bound to their place; what lies where is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...context import Context
from ...errors import DecodeError, NotSealedError
from ...serde import LayeredSerializer
from ..failures import store_write
from .names import Names
from .places import Place
from .skeleton import Cell, Skeleton

Stored = bytes | _DeltaSnapshot
"""A sealed channel value as it goes inward: bytes, in LangGraph's wrapper where it is a delta snapshot."""


@dataclass(frozen=True, slots=True)
class Write:
    """One pending write with what orders it.

    Args:
        index: its position among the task's writes, or LangGraph's negative index of a special channel.
        path: the task's path.
        value: what was written.
    """

    index: int
    path: str
    value: Any


class Cells:
    """Seals and opens the three kinds of cell of one application.

    Args:
        serde: the chain of layers.
        scope: separates applications that share a key.
        names: how names go inward; errors give no other.
    """

    def __init__(self, serde: LayeredSerializer, scope: str, names: Names) -> None:
        self.serde = serde
        self.scope = scope
        self.names = names

    def seal_value(self, place: Place, channel: str, cell: Cell, value: Any) -> Stored:
        """`value` of `channel`, bound to version and origin."""
        inner = value.value if cell.delta else value
        sealed = self.serde.seal_cell(inner, self._channel_context(place, channel, cell))
        return _DeltaSnapshot(sealed) if cell.delta else sealed

    def open_value(self, place: Place, channel: str, cell: Cell, stored: Any) -> Any:
        """The value that was sealed there.

        Raises:
            NotSealedError: something else than sealed bytes stands there.
        """
        sealed = _sealed_bytes(stored, cell.delta)
        if sealed is None:
            raise NotSealedError(
                f"the value of channel {self.names.channel(channel)!r} is not sealed, or not as its checkpoint says; nothing of it was read"
            )
        value = self.serde.open_cell(sealed, self._channel_context(place, channel, cell))
        return _DeltaSnapshot(value) if cell.delta else value

    def seal_write(self, place: Place, checkpoint_id: str, task_id: str, channel: str, position: int, path: str, value: Any) -> bytes:
        """A write with its index and path, bound to checkpoint, task and channel."""
        context = self._write_context(place, checkpoint_id, task_id, channel)
        index = WRITES_IDX_MAP.get(channel, position)
        return store_write(channel, value, lambda stored: self.serde.seal_cell([index, path, stored], context))

    def open_write(self, place: Place, checkpoint_id: str, task_id: str, channel: str, stored: Any) -> Write:
        """The write that was sealed there."""
        if type(stored) is not bytes:
            raise NotSealedError(f"a write to channel {self.names.channel(channel)!r} is not sealed; nothing of it was read")
        opened = self.serde.open_cell(stored, self._write_context(place, checkpoint_id, task_id, channel))
        if not (isinstance(opened, (list, tuple)) and len(opened) == 3 and type(opened[0]) is int and isinstance(opened[1], str)):
            raise DecodeError("a sealed write opened, and is not of the form that this release writes")
        return Write(opened[0], opened[1], opened[2])

    def seal_skeleton(self, place: Place, skeleton: Skeleton) -> bytes:
        """Checkpoint and metadata, bound to the checkpoint's id."""
        return self.serde.seal_cell(skeleton.pack(), self._skeleton_context(place, skeleton.id))

    def open_skeleton(self, place: Place, checkpoint_id: str, sealed: bytes) -> Skeleton:
        """The skeleton that was sealed under that id."""
        return Skeleton.unpack(self.serde.open_cell(sealed, self._skeleton_context(place, checkpoint_id)))

    def seal_place(self, stored: Place, checkpoint_id: str, real: Place) -> bytes:
        """The real place of a checkpoint that lies under tokens."""
        return self.serde.seal_cell([real.thread, real.ns], Context.stored_place(self.scope, stored.thread, stored.ns, checkpoint_id))

    def open_place(self, stored: Place, checkpoint_id: str, sealed: bytes) -> Place:
        """The real place that was sealed there."""
        thread, ns = self.serde.open_cell(sealed, Context.stored_place(self.scope, stored.thread, stored.ns, checkpoint_id))
        return Place(thread, ns)

    def with_channel(self, place: Place, stored_channel: str, channel: str, sealed: bytes) -> bytes:
        """A write's cell with the real channel's name, sealed, before it: u32 length, name, write."""
        name = self.serde.seal_cell(channel, self._stored_channel_context(place, stored_channel))
        return b"".join((len(name).to_bytes(4, "big"), name, sealed))

    def without_channel(self, place: Place, stored_channel: str, stored: Any) -> tuple[str, bytes]:
        """The real channel's name and the write's cell."""
        if type(stored) is not bytes or len(stored) < 4:
            raise NotSealedError("a write under a hidden channel is not sealed; nothing of it was read")
        end = 4 + int.from_bytes(stored[:4], "big")
        name = self.serde.open_cell(stored[4:end], self._stored_channel_context(place, stored_channel))
        return name, stored[end:]

    def _channel_context(self, place: Place, channel: str, cell: Cell) -> Context:
        make = Context.delta_snapshot if cell.delta else Context.channel_value
        return self._as_stored(make(self.scope, place.thread, place.ns, channel, cell.version, cell.origin))

    def _skeleton_context(self, place: Place, checkpoint_id: str) -> Context:
        return self._as_stored(Context.checkpoint(self.scope, place.thread, place.ns, checkpoint_id))

    def _write_context(self, place: Place, checkpoint_id: str, task_id: str, channel: str) -> Context:
        return self._as_stored(Context.write(self.scope, place.thread, place.ns, checkpoint_id, task_id, channel))

    def _stored_channel_context(self, place: Place, stored_channel: str) -> Context:
        return self._as_stored(Context.stored_channel(self.scope, place.thread, place.ns, stored_channel))

    def _as_stored(self, context: Context) -> Context:
        """The same context; where ids are hidden, errors about it give those that are stored."""
        if not self.names.places:
            return context
        stored = {"thread": self.names.thread, "namespace": self.names.ns, "channel": self.names.channel}
        return replace(context, ids=tuple((name, stored[name](str(value)) if name in stored else value) for name, value in context.ids))


def _sealed_bytes(stored: Any, delta: bool) -> bytes | None:
    if delta:
        stored = stored.value if type(stored) is _DeltaSnapshot else None
    return stored if type(stored) is bytes else None
