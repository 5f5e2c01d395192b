"""Sealing and opening what the object saver stores, each bound to its place; it makes no requests and orders none."""

from __future__ import annotations

from dataclasses import dataclass

from ...context import Context, Form, Kind
from ...errors import AuthenticationError, NotSealedError
from ...serde import LayeredSerializer, Packed
from . import format as fmt
from . import layout
from .layout import Layout, Place


@dataclass(frozen=True, slots=True)
class Cells:
    """Objects' bytes to records and back.

    Args:
        serde: the chain that seals.
        scope: separates applications that share a key.
        layout: says which parts of a key are hashed.
    """

    serde: LayeredSerializer
    scope: str
    layout: Layout

    # --- checkpoints ----------------------------------------------------------------------------------------------

    def seal_checkpoint(self, place: Place, checkpoint_id: str, record: fmt.CheckpointRecord) -> bytes:
        """The bytes of a checkpoint object."""
        packed = Packed(fmt.CHECKPOINT_TAG, fmt.marshal_checkpoint(record))
        return self._framed(place, checkpoint_id, self.serde.seal_packed(packed, self._checkpoint(place, checkpoint_id)))

    def open_checkpoint(self, place: Place, checkpoint_id: str, data: bytes) -> fmt.CheckpointRecord:
        """The record of a checkpoint object that was read where `place` and `checkpoint_id` say.

        Raises:
            IntegrityError: damaged, forged, moved, or not written by us.
            KeyAccessError: supply the key that the message names.
        """
        return fmt.parse_checkpoint(self._opened(data, self._checkpoint(place, checkpoint_id)))

    # --- writes ---------------------------------------------------------------------------------------------------

    def seal_writes(self, place: Place, checkpoint_id: str, call: str, record: fmt.WritesRecord) -> bytes:
        """The bytes of a writes object."""
        packed = Packed(fmt.WRITES_TAG, fmt.marshal_writes(record))
        return self._framed(place, checkpoint_id, self.serde.seal_packed(packed, self._writes(place, checkpoint_id, call)))

    def open_writes(self, place: Place, checkpoint_id: str, call: str, data: bytes) -> fmt.WritesRecord:
        """The record of a writes object.

        Raises:
            IntegrityError, KeyAccessError: as `open_checkpoint`.
        """
        return fmt.parse_writes(self._opened(data, self._writes(place, checkpoint_id, call)))

    # --- large values ---------------------------------------------------------------------------------------------

    def seal_value(self, place: Place, channel: str, reference: fmt.Reference, packed: Packed) -> bytes:
        """The bytes of a value object."""
        return self._framed(place, reference.origin, self.serde.seal_packed(packed, self._value(place, channel, reference)))

    def open_value(self, place: Place, channel: str, reference: fmt.Reference, data: bytes) -> Packed:
        """The packed value of a value object.

        Raises:
            IntegrityError, KeyAccessError: as `open_checkpoint`.
        """
        return self._opened(data, self._value(place, channel, reference))

    # --- names ----------------------------------------------------------------------------------------------------

    def open_names(self, thread_segment: str, namespace_segment: str, sort: str, data: bytes) -> fmt.Names:
        """The ids behind a key with a hashed part, from any object there.

        Raises:
            IntegrityError, KeyAccessError: as `open_checkpoint`.
        """
        sealed = fmt.parse_frame(data).names
        if not sealed:
            raise NotSealedError(f"an object under {thread_segment!r} does not say whose it is: it was moved there, or damaged")
        names = fmt.parse_names(self.serde.open_packed(sealed, self._names(thread_segment, namespace_segment, sort)))
        place = Place(names.thread_id, names.checkpoint_ns)
        if f"{thread_segment}/{namespace_segment}/" != self.layout.folder(place) or layout.sort_of(names.checkpoint_id) != sort:
            raise AuthenticationError(f"an object under {thread_segment!r} belongs elsewhere: it was moved there")
        return names

    # --- inside ---------------------------------------------------------------------------------------------------

    def _framed(self, place: Place, checkpoint_id: str, cell: bytes) -> bytes:
        thread, namespace = self.layout.folder(place).rstrip("/").split("/")
        sort = layout.sort_of(checkpoint_id)
        if layout.name_of(thread) is not None and layout.name_of(namespace) is not None and not layout.is_hashed(sort):
            return fmt.Frame(cell).marshal()
        packed = Packed(fmt.NAMES_TAG, fmt.marshal_names(fmt.Names(place.thread_id, place.checkpoint_ns, checkpoint_id)))
        return fmt.Frame(cell, self.serde.seal_packed(packed, self._names(thread, namespace, sort))).marshal()

    def _opened(self, data: bytes, context: Context) -> Packed:
        return self.serde.open_packed(fmt.parse_frame(data).cell, context)

    def _checkpoint(self, place: Place, checkpoint_id: str) -> Context:
        return Context.checkpoint(self.scope, place.thread_id, place.checkpoint_ns, checkpoint_id, form=Form.OBJECT)

    def _writes(self, place: Place, checkpoint_id: str, call: str) -> Context:
        """The call's ULID stands where a task id stands for single writes: task and channels are inside what is sealed."""
        return Context.write(self.scope, place.thread_id, place.checkpoint_ns, checkpoint_id, call, "", form=Form.OBJECT)

    def _value(self, place: Place, channel: str, reference: fmt.Reference) -> Context:
        """The nonce is bound with the origin: a value replaced by another put of the same checkpoint does not open."""
        make = Context.delta_snapshot if reference.kind is Kind.DELTA_SNAPSHOT else Context.channel_value
        origin = f"{reference.origin}/{reference.nonce}"
        return make(self.scope, place.thread_id, place.checkpoint_ns, channel, reference.version, origin, form=Form.OBJECT)

    def _names(self, thread_segment: str, namespace_segment: str, sort: str) -> Context:
        """The key's segments stand for the ids: these are not known yet."""
        return Context.stored_place(self.scope, thread_segment, namespace_segment, sort, form=Form.OBJECT)
