"""Where a value lives, as canonical bytes that a cipher can bind; it knows nothing of ciphers or savers.

Format (docs/spec/envelope-v1.md, "Context"): every field is a big-endian u32 length followed by that many bytes. The
order is scope, kind (one byte), then for every bound kind thread_id, checkpoint_ns, then the fields of the kind.
"""

from __future__ import annotations

import enum
import functools
import struct
from dataclasses import dataclass, field
from typing import Final

from .errors import ConfigurationError


class Form(enum.IntEnum):
    """By which door a value was sealed; a value sealed by one never opens by another."""

    SERIALIZER = 1
    CIPHER = 2  # LangGraph's CipherProtocol: neither tag nor place is known there
    WRAPPED_SAVER = 3
    OBJECT = 4
    KEY_WRAP = 5


class Kind(enum.IntEnum):
    """What kind of cell a value is; the numbers are part of the format and are never reused."""

    UNBOUND = 0
    CHECKPOINT = 1
    CHANNEL_VALUE = 2
    DELTA_SNAPSHOT = 3
    WRITE = 4
    # 5 to 15: the object saver
    STORED_PLACE = 16
    STORED_CHANNEL = 17


Version = int | float | str
"""A channel version as LangGraph's savers make them."""

MAX_VERSION_BITS: Final = 8192  # Python refuses to print integers beyond 4,300 digits

_U32 = struct.Struct(">I").pack
_READ_U32 = struct.Struct(">I").unpack_from
_F64 = struct.Struct(">d").pack


def _text(value: object) -> bytes:
    """UTF-8 of `str(value)`, lone surrogates kept, so that every id that a saver takes can be bound."""
    if type(value) is not str:
        # str.__str__, because str() of an enum with text values gives its name, although it equals the text.
        value = str.__str__(value) if isinstance(value, str) else str(value)
    return value.encode("utf-8", "surrogatepass")


def _version(value: Version) -> bytes:
    """A type letter, then the value: 1, 1.0 and "1" are three versions."""
    if type(value) is int and value.bit_length() <= MAX_VERSION_BITS:
        return b"i%d" % value
    if type(value) is float:
        return b"f" + _F64(value)
    if type(value) is str:
        return b"s" + _text(value)
    raise ConfigurationError(f"a channel version is an int of up to {MAX_VERSION_BITS} bits, a float or a str, not {type(value).__name__}")


def _fields(*parts: bytes) -> bytes:
    return b"".join([piece for part in parts for piece in (_U32(len(part)), part)])


@dataclass(frozen=True, slots=True)
class Context:
    """One place, frozen: two contexts with equal `encoded` bytes are the same place.

    Use the class methods (`unbound`, `checkpoint`, `channel_value`, `delta_snapshot`, `write`, `stored_place`,
    `stored_channel`), one for each kind of cell.

    Args:
        kind: what kind of cell it is.
        encoded: the canonical bytes; a cipher layer authenticates them.
        form: by which door the value is sealed; bound beside the context, not in it.
        ids: the same fields by name, for error messages; never values.
    """

    kind: Kind
    encoded: bytes = field(repr=False)
    form: Form = Form.SERIALIZER
    ids: tuple[tuple[str, Version], ...] = field(default=(), compare=False, repr=False)

    @property
    def place(self) -> str:
        """A short description for error messages."""
        if self.kind is Kind.UNBOUND:
            return "a value without a place"
        return f"{self.kind.name.lower().replace('_', ' ')} at " + ", ".join(f"{name} {value!r}" for name, value in self.ids)

    @property
    def scope(self) -> str:
        """The scope, read back from the canonical bytes."""
        (length,) = _READ_U32(self.encoded, 0)
        return self.encoded[4 : 4 + length].decode("utf-8", "surrogatepass")

    @property
    def thread_id(self) -> str | None:
        """The thread, read back from the canonical bytes; None for a value without a place."""
        home = self.home
        return home[_READ_U32(home, 0)[0] + 13 :].decode("utf-8", "surrogatepass") if home else None

    @property
    def home(self) -> bytes:
        """The canonical bytes up to and with the thread: equal for all cells of one kind in one thread of one scope.

        Empty for a value without a place.
        """
        if self.kind is Kind.UNBOUND:
            return b""
        at = _READ_U32(self.encoded, 0)[0] + 9  # behind the scope and the kind, each with its length
        return self.encoded[: at + 4 + _READ_U32(self.encoded, at)[0]]

    @classmethod
    def unbound(cls, scope: str = "", *, form: Form = Form.SERIALIZER) -> Context:
        """A value whose place is not known: what a bare serializer seals. It never opens in a bound place.

        Args:
            scope: separates applications that share a key.
            form: by which door it is sealed.
        """
        return cls(Kind.UNBOUND, _fields(_text(scope), b"\x00"), form)

    @classmethod
    def checkpoint(cls, scope: str, thread_id: str, checkpoint_ns: str, checkpoint_id: str, *, form: Form = Form.WRAPPED_SAVER) -> Context:
        """The skeleton and the metadata of one checkpoint."""
        return cls._bound(Kind.CHECKPOINT, form, scope, thread_id, checkpoint_ns, ("checkpoint", checkpoint_id))

    @classmethod
    def channel_value(
        cls,
        scope: str,
        thread_id: str,
        checkpoint_ns: str,
        channel: str,
        version: Version,
        origin: str,
        *,
        form: Form = Form.WRAPPED_SAVER,
    ) -> Context:
        """A channel's value at a version; `origin` is the id of the checkpoint that first stored it."""
        parts = (("channel", channel), ("version", version), ("origin", origin))
        return cls._bound(Kind.CHANNEL_VALUE, form, scope, thread_id, checkpoint_ns, *parts)

    @classmethod
    def delta_snapshot(
        cls,
        scope: str,
        thread_id: str,
        checkpoint_ns: str,
        channel: str,
        version: Version,
        origin: str,
        *,
        form: Form = Form.WRAPPED_SAVER,
    ) -> Context:
        """The snapshot of a delta channel: as `channel_value`, but neither opens as the other."""
        parts = (("channel", channel), ("version", version), ("origin", origin))
        return cls._bound(Kind.DELTA_SNAPSHOT, form, scope, thread_id, checkpoint_ns, *parts)

    @classmethod
    def write(
        cls,
        scope: str,
        thread_id: str,
        checkpoint_ns: str,
        checkpoint_id: str,
        task_id: str,
        channel: str,
        *,
        form: Form = Form.WRAPPED_SAVER,
    ) -> Context:
        """A pending write of one task to one channel."""
        parts = (("checkpoint", checkpoint_id), ("task", task_id), ("channel", channel))
        return cls._bound(Kind.WRITE, form, scope, thread_id, checkpoint_ns, *parts)

    @classmethod
    def stored_place(
        cls, scope: str, stored_thread: str, stored_ns: str, checkpoint_id: str, *, form: Form = Form.WRAPPED_SAVER
    ) -> Context:
        """The real thread and namespace of a checkpoint that lies under tokens of them; the fields are the stored ones."""
        return cls._bound(Kind.STORED_PLACE, form, scope, stored_thread, stored_ns, ("checkpoint", checkpoint_id))

    @classmethod
    def stored_channel(
        cls, scope: str, thread_id: str, checkpoint_ns: str, stored_channel: str, *, form: Form = Form.WRAPPED_SAVER
    ) -> Context:
        """The real name of a channel that lies under a token of it."""
        return cls._bound(Kind.STORED_CHANNEL, form, scope, thread_id, checkpoint_ns, ("stored channel", stored_channel))

    @classmethod
    def _bound(cls, kind: Kind, form: Form, scope: str, thread_id: str, checkpoint_ns: str | None, *parts: tuple[str, Version]) -> Context:
        ns = "" if checkpoint_ns is None else checkpoint_ns
        plain = type(thread_id) is str and type(ns) is str and type(scope) is str  # others may be equal and not the same text: 1, True
        encoded = [(_place if plain else _place.__wrapped__)(kind, scope, thread_id, ns)]
        for name, value in parts:
            field_ = _version(value) if name == "version" else _text(value)
            encoded += (_U32(len(field_)), field_)
        return cls(kind, b"".join(encoded), form, (("thread", thread_id), ("namespace", ns), *parts))


@functools.lru_cache(maxsize=1024)
def _place(kind: Kind, scope: str, thread_id: str, ns: str) -> bytes:
    """The fields that all cells of one kind in one namespace begin with; remembered, because a step seals many of them."""
    return _fields(_text(scope), bytes((kind,)), _text(thread_id), _text(ns))
