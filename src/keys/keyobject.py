"""The key object of one thread as bytes: parsed and marshalled; no key is unwrapped and nothing is stored here.

Layout (docs/spec/keys-v1.md, "Key objects"), big-endian; times are milliseconds since 1970::

    C1 53 4C 4B | version 1 | state 1 live, 2 ended | unique (16) | generation (4) | since (8) | scope length (2) | scope
    live    an envelope header of kind 2: key id, key check value, the thread's key under each of its roots
    ended   erasure id (16) | fence until (8) | key id length (1) | key id | count (1) | count x ( root length (1) | root )

What it says is a hint until a root has unwrapped the key: name, scope, generation and key id are in the context of the wrap.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Final

from ..ciphers import Header, KeyKind, KeyReference, WrappedKey, parse
from ..ciphers.header import MAX_KEY_ID, MAX_ROOTS
from ..errors import EnvelopeError
from .wrapping import MAX_SCOPE

_MAGIC: Final = b"\xc1SLK"
_VERSION: Final = 1
_LIVE: Final = 1
_ENDED: Final = 2
_FIXED: Final = struct.Struct(">4sBB16sIQH")
_END: Final = struct.Struct(">16sQ")
_NAME: Final = re.compile(rb"[A-Za-z0-9._-]+")
_GENERATION: Final = re.compile(r"g(\d{1,10})-[0-9a-f]{20}", re.ASCII)
MAX_GENERATION: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Live:
    """A thread's key in use.

    Args:
        scope: the scope that the thread belongs to.
        generation: 1 for the first life of the thread, one more after each erasure.
        key_id: what headers call the key.
        check: its key check value.
        wrapped: the key under each of its roots.
        since_ms: when this generation began.
        unique: 16 random bytes, new with every write, so that no two writes have equal bytes.
    """

    scope: str
    generation: int
    key_id: str
    check: bytes
    wrapped: tuple[WrappedKey, ...]
    since_ms: int
    unique: bytes = field(repr=False)

    def marshal(self) -> bytes:
        """The object's bytes; `parse_object` gives it back."""
        header = Header(KeyReference(KeyKind.WRAPPED_INLINE, self.key_id, self.wrapped), self.check)
        return _start(_LIVE, self) + header.marshal()


@dataclass(frozen=True, slots=True)
class Ended:
    """The tombstone of a thread's key: the key is gone, and what is left says when and how often, never what.

    Args:
        scope: the scope that the thread belonged to.
        generation: the generation that ended, and with it every earlier one; 0 when the thread had no key yet.
        erasure_id: random; the receipt carries it.
        fence_ms: until when no new generation may begin.
        key_id: the id of the key that was destroyed, "" for generation 0.
        roots: the names of the roots that it was wrapped under.
        since_ms: when it was destroyed.
        unique: as in `Live`.
    """

    scope: str
    generation: int
    erasure_id: bytes
    fence_ms: int
    key_id: str
    roots: tuple[str, ...]
    since_ms: int
    unique: bytes = field(repr=False)

    def marshal(self) -> bytes:
        """The object's bytes; `parse_object` gives it back."""
        names = b"".join(_short(name) for name in self.roots)
        end = _END.pack(self.erasure_id, self.fence_ms) + _short(self.key_id)
        return _start(_ENDED, self) + end + bytes((len(self.roots),)) + names


KeyObject = Live | Ended


def key_id_of(generation: int, random: str) -> str:
    """The id of a thread's key: it says the generation, so that a header alone tells an erased value from an unknown one."""
    return f"g{generation}-{random}"


def generation_of(key_id: str) -> int | None:
    """The generation in a thread key's id, or None when it is not one. From a header it is a hint."""
    match = _GENERATION.fullmatch(key_id)
    return int(match[1]) if match else None


def parse_object(data: bytes) -> KeyObject:
    """The key object in `data`.

    Raises:
        EnvelopeError: it is not a well-formed key object of version 1. Restore it, or read it with a release that knows its version.
    """
    if len(data) < _FIXED.size or data[:4] != _MAGIC:
        raise _malformed("it does not start like one")
    _, version, state, unique, generation, since_ms, scope_length = _FIXED.unpack_from(data)
    if version != _VERSION:
        raise _malformed(f"its version is {version}; this release reads version {_VERSION}")
    at = _FIXED.size + scope_length
    if scope_length > MAX_SCOPE or len(data) < at:
        raise _malformed("its scope is too long")
    try:
        scope = data[_FIXED.size : at].decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("its scope is not text") from None
    if state == _LIVE and generation > 0:
        header, end = parse(data[at:])
        if header.reference.kind is not KeyKind.WRAPPED_INLINE or at + end != len(data):
            raise _malformed("it does not carry exactly one wrapped key")
        reference = header.reference
        return Live(scope, generation, reference.key_id, header.check, reference.wrapped, since_ms, unique)
    if state == _ENDED:
        return _parse_ended(data, at, scope, generation, since_ms, unique)
    raise _malformed("its state is unknown")


def _parse_ended(data: bytes, at: int, scope: str, generation: int, since_ms: int, unique: bytes) -> Ended:
    if len(data) < at + _END.size:
        raise _malformed("it ends too early")
    erasure_id, fence_ms = _END.unpack_from(data, at)
    key_id, at = _take_short(data, at + _END.size)
    count = data[at : at + 1]
    if not count or count[0] > MAX_ROOTS:
        raise _malformed("its number of roots is out of range")
    at += 1
    roots = []
    for _ in range(count[0]):
        name, at = _take_short(data, at)
        roots.append(name)
    if at != len(data) or "" in roots or (key_id == "") != (generation == 0):
        raise _malformed("its fields do not add up")
    return Ended(scope, generation, erasure_id, fence_ms, key_id, tuple(roots), since_ms, unique)


def _start(state: int, found: KeyObject) -> bytes:
    scope = found.scope.encode("utf-8")
    return _FIXED.pack(_MAGIC, _VERSION, state, found.unique, found.generation, found.since_ms, len(scope)) + scope


def _short(name: str) -> bytes:
    return bytes((len(name),)) + name.encode("ascii")


def _take_short(data: bytes, at: int) -> tuple[str, int]:
    length = data[at] if at < len(data) else MAX_KEY_ID + 1
    raw = data[at + 1 : at + 1 + length]
    if length > MAX_KEY_ID or len(raw) != length or (raw and not _NAME.fullmatch(raw)):
        raise _malformed("a name in it is malformed")
    return raw.decode("ascii"), at + 1 + length


def _malformed(what: str) -> EnvelopeError:
    return EnvelopeError(f"not a well-formed key object: {what}; it is damaged, or was not written by Sealpoint")
