"""What objects hold, as bytes: the frame around every object, and the plaintext of checkpoints and writes; no cryptography happens here.

Formats (docs/spec/object-layout-v1.md). Integers are big-endian::

    object      magic C1 53 4C 4F | version 1 | names length (2) | names cell | cell

The cells are what `LayeredSerializer.seal_packed` makes. Names are there only where a part of the key is hashed. Plaintexts are msgpack
arrays (no extension types, no maps) of byte strings, integers and nil; text is UTF-8 with lone surrogates kept, so that every string has
a form.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import ormsgpack

from ...context import Kind, Version
from ...errors import ConfigurationError, DecodeError
from ...serde import Packed
from .layout import raw

MAGIC: Final = b"\xc1SLO"
VERSION: Final = 1
CHECKPOINT_TAG: Final = "checkpoint1"
WRITES_TAG: Final = "writes1"
NAMES_TAG: Final = "names1"

_HEAD: Final = struct.Struct(">4sBH")
_INLINE: Final = 0
_STORED: Final = 1
_F64: Final = struct.Struct(">d")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a large value lies.

    Args:
        kind: `Kind.CHANNEL_VALUE` or `Kind.DELTA_SNAPSHOT`.
        version: the channel's version when it was stored.
        origin: the checkpoint that first stored it.
        nonce: tells apart what one checkpoint stored when it was put more than once.
    """

    kind: Kind
    version: Version
    origin: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Value:
    """A channel's value in a checkpoint: a chain of links; this version of the format has exactly one.

    Args:
        channel: the channel's name.
        kind: `Kind.CHANNEL_VALUE` or `Kind.DELTA_SNAPSHOT`.
        link: the packed value itself, or where it lies.
    """

    channel: str
    kind: Kind
    link: Packed | Reference


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """The plaintext of a checkpoint object.

    Args:
        skeleton: the checkpoint without its values.
        metadata: its metadata.
        parent: the parent's id.
        values: every channel that has a value.
        copied_from: the thread that `copy_thread` took it from.
    """

    skeleton: Packed
    metadata: Packed
    parent: str | None
    values: tuple[Value, ...]
    copied_from: str | None = None

    def references(self) -> dict[str, Reference]:
        """Channel → where its large value lies."""
        return {value.channel: value.link for value in self.values if isinstance(value.link, Reference)}


@dataclass(frozen=True, slots=True)
class Write:
    """One pending write.

    Args:
        index: its place in the call, or below 0 for a special channel.
        channel: the channel's name.
        value: packed.
    """

    index: int
    channel: str
    value: Packed


@dataclass(frozen=True, slots=True)
class WritesRecord:
    """The plaintext of a writes object: one `put_writes` call."""

    task_id: str
    task_path: str
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """The ids behind a key with a hashed part."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Frame:
    """An object's outer form.

    Args:
        cell: the sealed plaintext.
        names: the sealed ids, or empty.
    """

    cell: bytes = field(repr=False)
    names: bytes = field(default=b"", repr=False)

    def marshal(self) -> bytes:
        """The object's bytes; `parse_frame(frame.marshal()) == frame`.

        Raises:
            ConfigurationError: the ids are too long to be told.
        """
        if len(self.names) >= 1 << 16:
            raise ConfigurationError("thread id, namespace and checkpoint id together are longer than 64 KiB; use shorter ones")
        return b"".join((_HEAD.pack(MAGIC, VERSION, len(self.names)), self.names, self.cell))


def parse_frame(data: bytes) -> Frame:
    """The frame of an object.

    Raises:
        DecodeError: it is no object of this format and version. Nothing of it was opened.
    """
    if len(data) < _HEAD.size:
        raise DecodeError("an object is shorter than its own header: it was cut off, or was not written by Sealpoint")
    magic, version, names = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise DecodeError("an object does not start like one of Sealpoint's: it was replaced, or was not written by Sealpoint")
    if version != VERSION:
        raise DecodeError(
            f"an object of format version {version}; this release reads version {VERSION}: it is damaged, or a newer one wrote it"
        )
    at = _HEAD.size + names
    if len(data) < at:
        raise DecodeError("an object ends inside its names: it was cut off")
    return Frame(data[at:], data[_HEAD.size : at])


def marshal_checkpoint(record: CheckpointRecord) -> bytes:
    """The plaintext of a checkpoint object."""
    values = [[raw(value.channel), int(value.kind), [_link(value.link)]] for value in record.values]
    fields = [_packed(record.skeleton), _packed(record.metadata), _optional(record.parent), values, _optional(record.copied_from)]
    return ormsgpack.packb(fields)


def parse_checkpoint(packed: Packed) -> CheckpointRecord:
    """The record of an opened checkpoint object.

    Raises:
        DecodeError: it is none, or of a newer format.
    """

    def build(skeleton: Any, metadata: Any, parent: Any, values: Any, copied_from: Any) -> CheckpointRecord:
        return CheckpointRecord(
            _inner(skeleton, packed),
            _inner(metadata, packed),
            None if parent is None else _text(parent),
            tuple(_value(value, packed) for value in values),
            None if copied_from is None else _text(copied_from),
        )

    return _parsed(packed, CHECKPOINT_TAG, build)


def marshal_writes(record: WritesRecord) -> bytes:
    """The plaintext of a writes object."""
    writes = [[write.index, raw(write.channel), *_packed(write.value)] for write in record.writes]
    return ormsgpack.packb([raw(record.task_id), raw(record.task_path), writes])


def parse_writes(packed: Packed) -> WritesRecord:
    """The record of an opened writes object.

    Raises:
        DecodeError: it is none, or of a newer format.
    """

    def build(task_id: Any, task_path: Any, writes: Any) -> WritesRecord:
        found = tuple(Write(_int(index), _text(channel), _inner((tag, data), packed)) for index, channel, tag, data in writes)
        return WritesRecord(_text(task_id), _text(task_path), found)

    return _parsed(packed, WRITES_TAG, build)


def marshal_names(names: Names) -> bytes:
    """The plaintext of the names of an object."""
    return ormsgpack.packb([raw(names.thread_id), raw(names.checkpoint_ns), raw(names.checkpoint_id)])


def parse_names(packed: Packed) -> Names:
    """The names of an object whose names cell was opened.

    Raises:
        DecodeError: there are none, or they are of a newer format.
    """

    def build(thread_id: Any, checkpoint_ns: Any, checkpoint_id: Any) -> Names:
        return Names(_text(thread_id), _text(checkpoint_ns), _text(checkpoint_id))

    return _parsed(packed, NAMES_TAG, build)


def _parsed(packed: Packed, tag: str, build: Callable[..., T]) -> T:
    if packed.tag != tag:
        raise DecodeError(f"an object holds {packed.tag[:40]!r} where {tag!r} belongs: another release wrote it, or it was replaced")
    try:
        return build(*ormsgpack.unpackb(packed.data))
    except (TypeError, ValueError, struct.error) as exc:  # ormsgpack's own error is a ValueError
        raise DecodeError(f"the fields of {tag!r} are not those of this format ({type(exc).__name__})") from None


def _link(link: Packed | Reference) -> list[Any]:
    if isinstance(link, Packed):
        return [_INLINE, *_packed(link)]
    return [_STORED, _marshal_version(link.version), raw(link.origin), raw(link.nonce)]


def _value(fields: Any, outer: Packed) -> Value:
    channel, number, links = fields
    kind = Kind(number)
    if kind not in (Kind.CHANNEL_VALUE, Kind.DELTA_SNAPSHOT) or len(links) != 1:
        raise ValueError("a value has one link in this version of the format")
    ((how, *rest),) = links
    if how == _INLINE:
        return Value(_text(channel), kind, _inner(rest, outer))
    if how != _STORED:
        raise ValueError("a link of an unknown kind")
    version, origin, nonce = rest
    return Value(_text(channel), kind, Reference(kind, _parse_version(version), _text(origin), _text(nonce)))


def _packed(packed: Packed) -> list[bytes]:
    return [raw(packed.tag), packed.data]


def _inner(fields: Any, outer: Packed) -> Packed:
    tag, data = fields
    if not isinstance(data, bytes):
        raise TypeError("bytes belong here")
    return Packed(_text(tag), data, outer.authenticated)


def _text(data: Any) -> str:
    if not isinstance(data, bytes):
        raise TypeError("bytes belong here")
    return data.decode("utf-8", "surrogatepass")


def _int(number: Any) -> int:
    if type(number) is not int:
        raise TypeError("an integer belongs here")
    return number


def _optional(text: str | None) -> bytes | None:
    return None if text is None else raw(text)


def _marshal_version(version: Version) -> bytes:
    """As in a Context: a type letter, then the value, so that 1, 1.0 and "1" stay three versions."""
    if type(version) is int:
        return b"i%d" % version
    if type(version) is float:
        return b"f" + _F64.pack(version)
    if type(version) is str:
        return b"s" + raw(version)
    raise ConfigurationError(f"a channel version is an int, a float or a str, not {type(version).__name__}")


def _parse_version(data: bytes) -> Version:
    letter, rest = data[:1], data[1:]
    if letter == b"i":
        return int(rest)
    if letter == b"f":
        (number,) = _F64.unpack(rest)
        return float(number)
    if letter == b"s":
        return rest.decode("utf-8", "surrogatepass")
    raise ValueError("a version of an unknown type")
