"""Key objects in a store, by thread: names, reads, conditional writes and the records of copies; no key is unwrapped here."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol, runtime_checkable

from ..context import Context
from ..errors import ConflictError, NotFoundError
from ..stores import ObjectStore
from .keyobject import KeyObject, parse_object
from .keyring import Keyring

_LABEL: Final = b"sealpoint/v1/thread-name"
_STORED_LABEL: Final = b"sealpoint/v1/stored-thread-name"
_NAME_LENGTH: Final = 64

RACES: Final = 20
"""Lost compare-and-swaps before a caller gives up; each one means that another writer got through."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as the key store knows it.

    Args:
        scope: the scope that it belongs to.
        name: the hash that stands for it, 64 hexadecimal digits.
    """

    scope: str
    name: str


@dataclass(frozen=True, slots=True)
class Found:
    """A key object as it was read, or is there after a write.

    Args:
        object: what it says.
        etag: for the next conditional write.
    """

    object: KeyObject
    etag: str


@runtime_checkable
class OldVersions(Protocol):
    """A store's way to reach what it keeps of an object besides its present bytes."""

    def purge(self, key: str) -> tuple[int, tuple[str, ...]]:
        """Removes every old version of the object.

        Returns:
            How many were removed, and the version ids of those that could not be (a lock holds them).
        """


class KeyShelf:
    """One key object a thread, under ``<prefix>/keys/<hash>``; copies are recorded under ``<prefix>/copies/<hash>/<hash>``.

    Args:
        store: any object store with conditional writes.
        prefix: where in the store.
        hash_threads: a keyring of its own, never rotated. With it the hash is keyed, and says nothing to one who does not have it; without,
            it is plain SHA-256, by which a guessed thread id can be confirmed.
    """

    def __init__(self, store: ObjectStore, prefix: str, hash_threads: Keyring | None) -> None:
        self._store = store
        self._keys = f"{prefix}/keys/"
        self._copies = f"{prefix}/copies/"
        self._index = None if hash_threads is None else hash_threads.current(Context.unbound())[1].derive(_LABEL)

    def thread(self, scope: str, thread_id: str) -> Thread:
        """The thread by its hash: SHA-256, or HMAC-SHA-256 under a key for it, of label, scope and id, each behind its length."""
        return self._hashed(_LABEL, scope, thread_id)

    def stored_thread(self, scope: str, stored_id: str) -> Thread:
        """What stands for a thread where a saver hides its id: the key of the cells that hold the id itself. Never a thread's own name."""
        return self._hashed(_STORED_LABEL, scope, stored_id)

    def _hashed(self, label: bytes, scope: str, thread_id: str) -> Thread:
        data = bytearray()
        for part in (label, scope.encode("utf-8", "surrogatepass"), thread_id.encode("utf-8", "surrogatepass")):
            data += len(part).to_bytes(4, "big") + part
        digest = sha256(data).hexdigest() if self._index is None else hmac.new(self._index, data, sha256).hexdigest()
        return Thread(scope, digest)

    def path(self, name: str) -> str:
        """The object's key in the store."""
        return self._keys + name

    def read(self, name: str) -> Found | None:
        """The key object of the thread with that hash, or None.

        Raises:
            EnvelopeError: it is damaged.
            StoreUnavailableError, StoreAccessError: as `ObjectStore.get`.
        """
        try:
            stored = self._store.get(self.path(name))
        except NotFoundError:
            return None
        return Found(parse_object(stored.data), stored.etag)

    def write(self, name: str, found: KeyObject, replacing: Found | None) -> Found:
        """Writes the object where `replacing` (None: nothing) still is.

        Raises:
            ConflictError: something else is there now: read it and decide anew.
            StoreUnavailableError: it may or may not have been written.
            StoreAccessError, StoreUnsupportedError: as `ObjectStore.put`.
        """
        data = found.marshal()
        try:
            if replacing is None:
                etag = self._store.put(self.path(name), data, if_absent=True)
            else:
                etag = self._store.put(self.path(name), data, if_match=replacing.etag)
        except ConflictError:
            # A client that repeats a put whose answer was lost meets its own write: the unique field tells.
            there = self.read(name)
            if there is None or there.object != found:
                raise
            return there
        return Found(found, etag)

    def names(self) -> Iterator[str]:
        """The hashes of all threads that have a key object, ascending."""
        for listed in self._store.list(self._keys):
            name = listed.key[len(self._keys) :]
            if len(name) == _NAME_LENGTH:
                yield name

    def record_copy(self, source: str, target: str, generation: int) -> None:
        """Keeps on record that `generation` of the target holds data of the source."""
        self._store.put(f"{self._copies}{source}/{target}", str(generation).encode("ascii"))

    def copies(self, source: str) -> Iterator[tuple[str, int]]:
        """The threads that were copied from the source, each with its generation then; 0 where the record is damaged."""
        prefix = f"{self._copies}{source}/"
        for listed in self._store.list(prefix):
            recorded = self._store.get(listed.key).data
            yield listed.key[len(prefix) :], int(recorded) if recorded.isdigit() else 0
