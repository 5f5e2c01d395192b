"""The bytes before the body: header core and key block, parsed and marshalled; no cryptography happens here.

Layout (docs/spec/envelope-v1.md), big-endian::

    core   magic C1 53 4C 50 | version 1 | suite 1 | key kind | id length n | key id (n) | key check value (4)
    block  kind 2 only: count (1) | count x ( root length r (1) | root (r) | wrapped length w (2) | wrapped (w) )

C1 is the one byte that msgpack never uses and that cannot start UTF-8 text, so no plaintext of ours looks like a header.
What a header says is a hint until the body was opened.
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass, field
from typing import Final

from ..errors import EnvelopeError, KeyFormatError
from .secret import CHECK_BYTES

MAGIC: Final = b"\xc1SLP"
VERSION: Final = 1
SUITE_COBBLESTONE_256: Final = 1
MAX_KEY_ID: Final = 32  # bytes
MAX_ROOTS: Final = 8
MAX_WRAPPED: Final = 6144  # bytes; the largest CiphertextBlob of AWS KMS (API reference, Decrypt)

_PREFIX: Final = MAGIC + bytes((VERSION, SUITE_COBBLESTONE_256))
_FIXED: Final = len(_PREFIX) + 2  # up to the key id
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,32}", re.ASCII)


class KeyKind(enum.IntEnum):
    """Where the key of a value is kept."""

    KEYRING = 1
    WRAPPED_INLINE = 2
    KEY_STORE = 3


def check_key_id(key_id: str) -> str:
    """`key_id`, when it is one: 1 to 32 of ``A-Z a-z 0-9 . _ -``.

    Raises:
        KeyFormatError: it is not. It is not shown, since a key pasted in its place would be.
    """
    if not isinstance(key_id, str) or not _KEY_ID.fullmatch(key_id):
        raise KeyFormatError("a key id is 1 to 32 characters of A-Z a-z 0-9 . _ - (for example 2026-11)")
    return key_id


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key wrapped under one root.

    Args:
        root: the name that the configuration gives the root key; same alphabet as a key id.
        wrapped: what the root's service returned, 1 to 6,144 bytes.
    """

    root: str
    wrapped: bytes

    def __post_init__(self) -> None:
        check_key_id(self.root)
        if not 1 <= len(self.wrapped) <= MAX_WRAPPED:
            raise KeyFormatError(f"a wrapped key is 1 to {MAX_WRAPPED} bytes, not {len(self.wrapped)}")


@dataclass(frozen=True, slots=True)
class KeyReference:
    """Which key a value is under, as its header says it.

    Args:
        kind: where that key is kept.
        key_id: its stable id; it survives re-wrapping.
        wrapped: kind 2 only: the data key under each of its roots, 1 to 8 of them, each root once.
        lead: made from these, once for the many values under one key: the core up to the check value.
        block: likewise: the key block.
    """

    kind: KeyKind
    key_id: str
    wrapped: tuple[WrappedKey, ...] = ()
    lead: bytes = field(init=False, repr=False, compare=False)
    block: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_key_id(self.key_id)
        if not isinstance(self.kind, KeyKind):
            raise KeyFormatError(f"a key kind is a KeyKind, not {self.kind!r}")
        inline = self.kind == KeyKind.WRAPPED_INLINE
        if inline != bool(self.wrapped) or len(self.wrapped) > MAX_ROOTS:
            raise KeyFormatError(f"key kind {int(self.kind)} cannot carry {len(self.wrapped)} wrapped keys")
        if len({entry.root for entry in self.wrapped}) != len(self.wrapped):
            raise KeyFormatError("a root appears twice among the wrapped keys")
        key_id = self.key_id.encode("ascii")
        object.__setattr__(self, "lead", b"".join((_PREFIX, bytes((self.kind, len(key_id))), key_id)))
        object.__setattr__(self, "block", _block(self.wrapped) if self.wrapped else b"")


@dataclass(frozen=True, slots=True)
class Header:
    """A parsed header.

    Args:
        reference: which key the value is under.
        check: the 4-byte key check value.
    """

    reference: KeyReference
    check: bytes

    def __post_init__(self) -> None:
        if len(self.check) != CHECK_BYTES:
            raise KeyFormatError(f"a key check value is {CHECK_BYTES} bytes, not {len(self.check)}")

    def core(self) -> bytes:
        """The bytes that the body authenticates."""
        return self.reference.lead + self.check

    def block(self) -> bytes:
        """The bytes that may be rewritten without touching the body; empty but for wrapped data keys."""
        return self.reference.block

    def marshal(self) -> bytes:
        """Core and block; `parse(header.marshal())` gives `header` back."""
        return self.core() + self.block()


def _block(wrapped: tuple[WrappedKey, ...]) -> bytes:
    """The key block of `wrapped`."""
    parts = [bytes((len(wrapped),))]
    for entry in wrapped:
        root = entry.root.encode("ascii")
        parts += (bytes((len(root),)), root, len(entry.wrapped).to_bytes(2, "big"), entry.wrapped)
    return b"".join(parts)


def _malformed(what: str) -> EnvelopeError:
    return EnvelopeError(f"not a well-formed sealed value: {what}; it is damaged, or was not written by Sealpoint")


class _Reader:
    """A bounds-checked walk over a header."""

    __slots__ = ("_data", "at")

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def take(self, count: int) -> bytes:
        piece = bytes(self._data[self.at : self.at + count])
        if len(piece) != count:
            raise _malformed("it ends inside the header")
        self.at += count
        return piece

    def name(self) -> str:
        length = self.take(1)[0]
        if not 1 <= length <= MAX_KEY_ID:
            raise _malformed("a name's length is out of range")
        raw = self.take(length)
        text = raw.decode("latin-1")
        if not _KEY_ID.fullmatch(text):
            raise _malformed("a name has characters that are not allowed")
        return text


def looks_sealed(data: bytes | bytearray | memoryview) -> bool:
    """True when `data` starts like a sealed value of any version. Says nothing about whether it opens."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def peek_key_id(data: bytes | bytearray | memoryview) -> str:
    """The key id in the header core of `data`, or "" when there is no core of ours: a hint, for counting."""
    try:
        return _parse_fields(bytes(data[: _core_end(data)]))[1]
    except EnvelopeError:
        return ""


def parse(data: bytes | bytearray | memoryview) -> tuple[Header, int]:
    """The header at the start of `data`, with the offset at which the body starts.

    Raises:
        EnvelopeError: there is no well-formed header of version 1, suite 1. Treat the value as damaged, or, where the message
            names another version, read it with a release that knows it.
    """
    end = _core_end(data)
    header = _parse_core(bytes(data[:end]))
    if header is None:
        end = _inline_end(data, end)
        return _parse_inline(bytes(data[:end]))
    return header, end


def _core_end(data: bytes | bytearray | memoryview) -> int:
    """Where the core ends, going by the id's length alone."""
    return _FIXED + CHECK_BYTES + (data[_FIXED - 1] if len(data) >= _FIXED else 0)


@functools.lru_cache(maxsize=1024)
def _parse_core(core: bytes) -> Header | None:
    """The header whose core is `core`; None when wrapped keys follow it. Cached: most values of a store share a core."""
    kind, key_id = _parse_fields(core)
    if kind is KeyKind.WRAPPED_INLINE:
        return None
    return Header(KeyReference(kind, key_id), core[-CHECK_BYTES:])


@functools.lru_cache(maxsize=1024)
def _parse_fields(core: bytes) -> tuple[KeyKind, str]:
    prefix = core[: len(_PREFIX)]
    if prefix != _PREFIX:
        if not looks_sealed(prefix):
            raise _malformed("it does not start with the magic bytes")
        if len(prefix) < len(_PREFIX):
            raise _malformed("it ends inside the header")
        raise EnvelopeError(
            f"a sealed value of format version {prefix[4]}, suite {prefix[5]}; this release reads version {VERSION}, "
            f"suite {SUITE_COBBLESTONE_256}: it is damaged, or a newer release wrote it"
        )
    reader = _Reader(memoryview(core), len(_PREFIX))
    kind_byte = reader.take(1)[0]
    try:
        kind = KeyKind(kind_byte)
    except ValueError:
        raise _malformed(f"key kind {kind_byte} is unknown") from None
    key_id = reader.name()
    reader.take(CHECK_BYTES)
    return kind, key_id


def _inline_end(data: bytes | bytearray | memoryview, at: int) -> int:
    """Where the key block that starts at `at` ends, going by its length fields alone, or at the end of the data if that comes first."""
    size = len(data)
    count = data[at] if at < size else 0
    at += 1
    for _ in range(min(count, MAX_ROOTS)):
        at += 1 + (data[at] if at < size else 0)
        at += 2 + int.from_bytes(data[at : at + 2], "big")
    return min(at, size)


@functools.lru_cache(maxsize=256)
def _parse_inline(raw: bytes) -> tuple[Header, int]:
    """The header that is all of `raw`, wrapped data keys included. Cached: one data key seals many values."""
    core_end = _FIXED + raw[_FIXED - 1] + CHECK_BYTES
    core = raw[:core_end]
    kind, key_id = _parse_fields(core)
    reader = _Reader(memoryview(raw), core_end)
    count = reader.take(1)[0]
    if not 1 <= count <= MAX_ROOTS:
        raise _malformed("the number of wrapped keys is out of range")
    wrapped: list[WrappedKey] = []
    for _ in range(count):
        root = reader.name()
        length = int.from_bytes(reader.take(2), "big")
        if not 1 <= length <= MAX_WRAPPED:
            raise _malformed("a wrapped key's length is out of range")
        wrapped.append(WrappedKey(root, reader.take(length)))
    if len({entry.root for entry in wrapped}) != count:
        raise _malformed("a root appears twice")
    return Header(KeyReference(kind, key_id, tuple(wrapped)), core[-CHECK_BYTES:]), reader.at
