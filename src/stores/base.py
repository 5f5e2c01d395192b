"""The object-store seam: what a place for sealed bytes must offer, in as few methods as there are; nothing is implemented here.

Semantics that every implementation keeps (tests/stores/contract.py runs them all):

- Strong consistency: whatever a finished `put` or `delete_many` did, every later `get` and `list` sees, in this process and in others.
- `put` is atomic: a reader sees the old object or the new one, never a part, also when the writer is killed.
- `list` answers in ascending order of the keys' bytes. An object that exists throughout is listed; one that comes or goes meanwhile may be.
  Servers that keep real folders (SeaweedFS) sort each folder by name instead: the same, unless one name starts with a sibling folder's.
- A method fails with the errors named below and no others; an implementation translates its own in one place.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from ..errors import ConfigurationError

MAX_KEY_BYTES: Final = 1024  # Amazon S3 user guide, "Naming Amazon S3 objects"
MAX_SEGMENT_BYTES: Final = 255  # NAME_MAX of Linux file systems; SeaweedFS has the same limit
BATCH: Final = 1000  # keys in one S3 DeleteObjects call or ListObjectsV2 page (API reference)

# What needs no escaping in a URL, a file name, or S3's list of safe characters. No segment starts with a dot: those are a store's own.
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as it was read.

    Args:
        data: its bytes.
        etag: changes when the bytes change; equal bytes may have equal etags. Opaque: compare it, or hand it to `put(if_match=…)`.
    """

    data: bytes = field(repr=False)
    etag: str


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a listing.

    Args:
        key: the object's key.
        size: its length in bytes.
        modified: when it was written, in seconds since 1970 by the store's clock; a hint, good for ages in minutes.
    """

    key: str
    size: int
    modified: float


@runtime_checkable
class Gets(Protocol):
    """Reads one object."""

    def get(self, key: str) -> Stored:
        """The object under `key`.

        Raises:
            NotFoundError: there is none.
            StoreUnavailableError: try again later.
            StoreAccessError: fix permissions or names; the message says which.
        """

    async def aget(self, key: str) -> Stored:
        """As `get`, without blocking the event loop."""


@runtime_checkable
class Puts(Protocol):
    """Writes one object."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """Stores `data` under `key`, whole and durable when this returns, and gives its etag.

        Args:
            key: 1 to 1,024 bytes: segments of ``A-Z a-z 0-9 _ . -`` joined by ``/``, each 1 to 255 long and not starting with a dot.
                No key may be a folder of another.
            data: the bytes.
            if_absent: only when no object has this key.
            if_match: only while the object there has this etag.

        Raises:
            ConflictError: the condition does not hold (also: nothing there to match). After an answer that was lost, what is found may be
                this very write: compare a unique field of the body.
            StoreUnavailableError: it may or may not have been written; the same call may be made again.
            StoreAccessError: fix permissions or names.
            StoreUnsupportedError: the store cannot do conditional writes, or ignores conditions.
        """

    async def aput(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """As `put`, without blocking the event loop."""


@runtime_checkable
class Lists(Protocol):
    """Lists keys in order."""

    def list(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> Iterator[Listed]:
        """The objects whose keys start with `prefix`, ascending, streamed: one request for each 1,000, made as they are consumed.

        Args:
            prefix: any string; "" for all.
            start_after: only keys greater than this one.
            limit: at most so many; it bounds what the store is asked for.

        Raises:
            StoreUnavailableError, StoreAccessError: as `get`.
        """

    def folders(self, prefix: str = "", *, start_after: str = "") -> Iterator[str]:
        """The distinct next segments of all keys below `prefix`, ascending, each once: what stands between `prefix` and the next ``/``.

        Args:
            prefix: "" or a string that ends with ``/``.
            start_after: only segments greater than this one.

        Raises:
            StoreUnavailableError, StoreAccessError: as `get`.
        """

    def alist(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> AsyncIterator[Listed]:
        """As `list`, without blocking the event loop."""

    def afolders(self, prefix: str = "", *, start_after: str = "") -> AsyncIterator[str]:
        """As `folders`, without blocking the event loop."""


@runtime_checkable
class Deletes(Protocol):
    """Removes objects."""

    def delete_many(self, keys: Iterable[str]) -> None:
        """Removes the objects, in one request for each 1,000; keys that have none are no error.

        Raises:
            StoreUnavailableError: some may be gone, others not; the same call may be made again.
            StoreAccessError: fix permissions (`s3:DeleteObject`), or an Object Lock holds one.
        """

    async def adelete_many(self, keys: Iterable[str]) -> None:
        """As `delete_many`, without blocking the event loop."""


@runtime_checkable
class ObjectStore(Gets, Puts, Lists, Deletes, Protocol):
    """All four. Implementations are safe in threads, and the same instance serves sync and async callers at once."""

    def close(self) -> None:
        """Gives back threads and connections. Closing twice is no error."""


def check_key(key: str) -> str:
    """`key`, when it is one that every store takes (see `Puts.put`).

    Raises:
        ConfigurationError: it is not.
    """
    if not is_key(key):
        raise ConfigurationError(
            f"not an object key: {key[:80]!r}; a key is at most {MAX_KEY_BYTES} characters, in segments of A-Z a-z 0-9 _ . - "
            f"joined by '/', each 1 to {MAX_SEGMENT_BYTES} long and not starting with a dot"
        )
    return key


def is_key(key: str) -> bool:
    """Whether every store takes `key`. What is listed may be another: somebody else's, put into the same bucket or folder."""
    return len(key) <= MAX_KEY_BYTES and all(_SEGMENT.fullmatch(segment) for segment in key.split("/"))


def can_have_keys(prefix: str) -> bool:
    """False for a prefix that no key starts with, for example one with ``..`` in it; a store answers it with an empty listing."""
    *folders, last = prefix.split("/")
    return all(_SEGMENT.fullmatch(segment) for segment in folders) and (not last or _SEGMENT.fullmatch(last) is not None)


def check_condition(if_absent: bool, if_match: str | None) -> None:
    """Refuses two conditions at once.

    Raises:
        ConfigurationError: both were given.
    """
    if if_absent and if_match is not None:
        raise ConfigurationError("put takes if_absent or if_match, not both")
