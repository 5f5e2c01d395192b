"""Where an object lies: thread, namespace and checkpoint id to keys and back; pure, and it knows nothing of what the objects hold.

Keys (docs/spec/object-layout-v1.md), below whatever prefix the store adds::

    <thread>/<namespace>/c/<sort>.c             a checkpoint: skeleton, metadata, small values
    <thread>/<namespace>/c/<sort>.w.<ulid>      the writes of one put_writes call
    <thread>/<namespace>/v/<sort>.<nonce>       one large value, first stored by the checkpoint <sort>

`<sort>` puts the newest checkpoint first, because object stores list upwards only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from ...ciphers import SecretKey
from ...context import Context
from ...errors import ConfigurationError
from ...keys import Keyring
from . import ulid

MAX_READABLE: Final = 200  # bytes of an escaped id; longer ones are hashed, since a segment ends at 255
MAX_READABLE_ID: Final = 96  # bytes of a checkpoint id that is no UUIDv6; twice that in hexadecimal
HASHED_ID_PREFIX: Final = 64  # bytes of a longer one that still sort
NONCE_LENGTH: Final = 16  # characters of 5 bits

_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_LABEL: Final = b"sealpoint/v1/thread-name"
_ESCAPED: Final = re.compile(r"(?:[a-z0-9_-]|\.[0-9a-f]{2})*", re.ASCII)
_ESCAPE: Final = re.compile(r"\.([0-9a-f]{2})", re.ASCII)
_SORT_ULID: Final = re.compile(r"u([0-9a-z]{26})-([0-9a-z]{26})", re.ASCII)
_SORT_OTHER: Final = re.compile(r"o((?:[0-9a-f]{2}){1,96})z", re.ASCII)
_SORT_HASHED: Final = re.compile(r"o([0-9a-f]{128})y[0-9a-f]{64}", re.ASCII)
_HASHED_SEGMENT: Final = re.compile(r"(?:[tn]h|tk-(?:[a-z0-9_-]|\.[0-9a-f]{2})*)-[0-9a-f]{64}", re.ASCII)
_NONCE: Final = re.compile(f"[0-9a-z]{{{NONCE_LENGTH}}}", re.ASCII)

ULIDS_START: Final = "p"
"""Sorts after every checkpoint whose id is no UUIDv6, and before every other."""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace of a thread.

    Args:
        thread_id: as text; may be anything, also empty.
        checkpoint_ns: as text; "" for the root graph.
    """

    thread_id: str
    checkpoint_ns: str


@dataclass(frozen=True, slots=True)
class ThreadHash:
    """Replaces thread ids in keys by a keyed hash, so that a listing names no one.

    Args:
        key_id: names the key in the layout.
        key: must never change while the data lives: it is how a thread is found.
        scope: enters the hash, so that two applications do not share names.
    """

    key_id: str
    key: SecretKey
    scope: str = ""

    @classmethod
    def of(cls, ring: Keyring, scope: str) -> ThreadHash:
        """The hash under the key of `ring` that is active."""
        reference, key = ring.current(Context.unbound())
        return cls(reference.key_id, key, scope)

    def segment(self, thread_id: str) -> str:
        """``tk-<key id>-<64 hexadecimal digits>``."""
        scope = raw(self.scope)
        message = len(scope).to_bytes(4, "big") + scope + raw(thread_id)
        digest = hmac.new(self.key.derive(_LABEL), message, hashlib.sha256).hexdigest()
        return f"tk-{escape(self.key_id)}-{digest}"


@dataclass(frozen=True, slots=True)
class Layout:
    """How places become keys.

    Args:
        thread_hash: hashes all thread ids, not only long ones.
    """

    thread_hash: ThreadHash | None = None

    def thread_folder(self, thread_id: str) -> str:
        """The prefix of everything a thread has; no other thread's starts with it."""
        segment = self.thread_hash.segment(thread_id) if self.thread_hash else _named("t", thread_id)
        return f"{segment}/"

    def folder(self, place: Place) -> str:
        """The prefix of everything a namespace of a thread has."""
        return f"{self.thread_folder(place.thread_id)}{_named('n', place.checkpoint_ns)}/"

    def checkpoints(self, place: Place) -> str:
        """The prefix of a namespace's checkpoints and writes, newest first."""
        return f"{self.folder(place)}c/"

    def values(self, place: Place) -> str:
        """The prefix of a namespace's large values."""
        return f"{self.folder(place)}v/"

    def checkpoint(self, place: Place, checkpoint_id: str) -> str:
        """The key of a checkpoint."""
        return f"{self.checkpoints(place)}{sort_of(checkpoint_id)}.c"

    def writes(self, place: Place, checkpoint_id: str, call: str) -> str:
        """The key of the writes of one call; `call` is a ULID's text."""
        return f"{self.checkpoints(place)}{sort_of(checkpoint_id)}.w.{call}"

    def value(self, place: Place, origin: str, nonce: str) -> str:
        """The key of a large value."""
        return f"{self.values(place)}{sort_of(origin)}.{nonce}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the last segment of a key says.

    Args:
        sort: the sort component.
        call: for writes, the ULID of the call; "" for a checkpoint.
    """

    sort: str
    call: str = ""


def raw(text: str) -> bytes:
    """UTF-8, lone surrogates kept."""
    return text.encode("utf-8", "surrogatepass")


def escape(text: str) -> str:
    """`text` with every byte outside ``a-z 0-9 _ -`` as a dot and two hexadecimal digits, capitals too: some folders fold case."""
    return "".join([chr(byte) if byte in _PLAIN else f".{byte:02x}" for byte in raw(text)])


def unescape(escaped: str) -> str | None:
    """The text that `escape` was given, or None when it was given none that looks like this."""
    if not _ESCAPED.fullmatch(escaped):
        return None
    try:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), escaped).encode("latin-1").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return text if escape(text) == escaped else None


def name_of(segment: str) -> str | None:
    """The id that a thread or namespace segment spells out, or None where it is hashed, or is no segment of this layout."""
    return unescape(segment[2:]) if segment[:2] in ("t-", "n-") else None


def is_thread(segment: str) -> bool:
    """Whether a segment is a thread's, spelt out or hashed."""
    return segment.startswith(("t-", "th-", "tk-"))


def is_namespace(segment: str) -> bool:
    """Whether a segment is a namespace's, spelt out or hashed."""
    return segment.startswith(("n-", "nh-"))


def is_hashed_segment(segment: str) -> bool:
    """Whether a segment stands for a thread or namespace that only the sealed objects know."""
    return _HASHED_SEGMENT.fullmatch(segment) is not None


def place_and_sort(key: str) -> tuple[str, str] | None:
    """The namespace segment and the sort component of any object's key, or None when it is not of this layout."""
    parts = key.split("/")
    if len(parts) != 4 or parts[2] not in ("c", "v") or not is_namespace(parts[1]):
        return None
    entry = parse_entry(parts[3]) if parts[2] == "c" else None
    sort = entry.sort if entry else origin_of(parts[3]) if parts[2] == "v" else None
    return None if sort is None else (parts[1], sort)


def sort_of(checkpoint_id: str) -> str:
    """The sort component of a checkpoint id: greater ids first.

    Raises:
        ConfigurationError: the id is empty.
    """
    if not checkpoint_id:
        raise ConfigurationError("a checkpoint id is never empty: LangGraph takes an empty one to mean the latest checkpoint")
    value = ulid.from_uuid6(checkpoint_id)
    if value is not None:
        return f"u{ulid.encode(ulid.MAX - value)}-{ulid.encode(value)}"
    data = raw(checkpoint_id)
    if len(data) <= MAX_READABLE_ID:
        return f"o{_complement(data)}z"
    return f"o{_complement(data[:HASHED_ID_PREFIX])}y{hashlib.sha256(data).hexdigest()}"


def id_of(sort: str) -> str | None:
    """The checkpoint id of a sort component, or None where it is hashed, or is no sort component of this layout."""
    if match := _SORT_ULID.fullmatch(sort):
        value = ulid.decode(match[2])
        return ulid.to_uuid6(value) if value is not None and ulid.encode(ulid.MAX - value) == match[1] else None
    if match := _SORT_OTHER.fullmatch(sort):
        try:
            text = _complemented(match[1]).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
        return text if sort_of(text) == sort else None
    return None


def is_hashed(sort: str) -> bool:
    """Whether a sort component stands for an id that only the sealed object knows."""
    return _SORT_HASHED.fullmatch(sort) is not None


def after(sort: str) -> str:
    """Sorts after every key of this checkpoint and before every key of the next older one.

    A slash would do on S3, but servers that keep real folders read it as one.
    """
    return f"{sort}0"


def older_than(checkpoint_id: str) -> str:
    """Where checkpoints that are no UUIDv6 and have a smaller id than this (of any form) start: list after it."""
    data = raw(checkpoint_id)
    if len(data) > MAX_READABLE_ID:
        return f"o{_complement(data[:HASHED_ID_PREFIX])}"  # too early by those that share the prefix: the reader compares ids
    return after(f"o{_complement(data)}z")


def parse_entry(name: str) -> Entry | None:
    """The parts of the last segment of a key below ``c/``, or None when it is not of this layout."""
    sort, _, kind = name.partition(".")
    if id_of(sort) is None and not is_hashed(sort):
        return None
    if kind == "c":
        return Entry(sort)
    call = kind.removeprefix("w.")
    return Entry(sort, call) if call != kind and ulid.decode(call) is not None else None


def origin_of(name: str) -> str | None:
    """The sort component in the last segment of a key below ``v/``, or None when it is not of this layout."""
    sort, _, nonce = name.partition(".")
    return sort if _NONCE.fullmatch(nonce) and (id_of(sort) is not None or is_hashed(sort)) else None


def is_value(key: str) -> bool:
    """Whether a key is a large value's: it goes after the checkpoints that may refer to it."""
    return key.split("/")[2:3] == ["v"]


def _named(marker: str, text: str) -> str:
    escaped = escape(text)
    if len(escaped) <= MAX_READABLE:
        return f"{marker}-{escaped}"
    return f"{marker}h-{hashlib.sha256(raw(text)).hexdigest()}"


def _complement(data: bytes) -> str:
    return bytes([255 - byte for byte in data]).hex()


def _complemented(digits: str) -> bytes:
    return bytes([255 - byte for byte in bytes.fromhex(digits)])
