"""Erasing a thread by destroying its key, with a receipt that holds no personal data; the data itself is not touched here."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from ..errors import ConflictError, IntegrityError, ThreadErasedError
from .keyobject import Ended, Live
from .shelf import RACES, Found, KeyShelf, OldVersions, Thread
from .threadkeys import ThreadKeys

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What an erasure did: to be kept, and shown.

    It names the thread by the hash that the key store knows it by, and holds nothing else of it. It proves that the key store no longer
    holds the key, as far as `old_versions_left` and the store's own backups go; it cannot prove that no copy of the key exists anywhere
    (docs/erasure.md).

    Args:
        erasure_id: random; the tombstone and every `ThreadErasedError` carry it too.
        key_object: where the tombstone stands in the key store.
        generation: the life of the thread that ended; 0 when it never had a key.
        key_id: the id of the destroyed key, as the headers of the data name it; "" for generation 0.
        roots: the root keys that it was wrapped under.
        ended_at: when, in seconds since 1970.
        readable_until: when the last other process can still have a copy of the key in its cache, in seconds since 1970.
        fenced_until: when the thread may begin anew, in seconds since 1970.
        old_versions_purged: old versions of the key object that were removed; None when nobody was asked (see `erase`).
        old_versions_left: the version ids of those that could not be removed, and so still hold the wrapped key.
        surviving_copies: key objects of threads that were copied from this one, directly or by way of others, and live on.
    """

    erasure_id: str
    key_object: str
    generation: int
    key_id: str
    roots: tuple[str, ...]
    ended_at: float
    readable_until: float
    fenced_until: float
    old_versions_purged: int | None
    old_versions_left: tuple[str, ...]
    surviving_copies: tuple[str, ...]

    def to_json(self) -> str:
        """The receipt as one line of JSON."""
        return json.dumps({"format": "sealpoint-erasure/1", **dataclasses.asdict(self)}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Erased:
    """A marker that stands for a value of an erased thread.

    Args:
        erasure_id: as in the receipt; "" for an earlier life of a thread that lives again.
        ended_at: when the key was destroyed, in seconds since 1970; 0 where it is not known.
    """

    erasure_id: str
    ended_at: float


def or_erased(read: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | Erased:
    """What `read` returns, or the marker when the thread was erased: ``or_erased(saver.get_tuple, config)``."""
    try:
        return read(*args, **kwargs)
    except ThreadErasedError as exc:
        return Erased(exc.erasure_id, exc.ended_at)


async def aor_erased(read: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R | Erased:
    """What awaiting `read` gives, or the marker when the thread was erased.

    For coroutines what `or_erased` is for functions: ``await aor_erased(saver.aget_tuple, config)``.
    """
    try:
        return await read(*args, **kwargs)
    except ThreadErasedError as exc:
        return Erased(exc.erasure_id, exc.ended_at)


def erase(
    keys: ThreadKeys, thread_id: str, *, scope: str = "", stored_as: str | None = None, old_versions: OldVersions | None = None
) -> ErasureReceipt:
    """Destroys the thread's key: from now on nothing of the thread opens in this process, and after the recheck time in no other.

    The key object becomes a tombstone in one compare-and-swap, so an erasure that is cut off has happened or has not; run it again to be
    sure and to get the receipt, which is the same. A thread that has no key yet gets a tombstone too, so that a late writer cannot make
    one. The data is not touched: `ObjectSaver.erase_thread` and `SealedSaver.erase_thread` do both.

    Args:
        keys: the key source of the store.
        thread_id: the thread.
        scope: the scope that it belongs to.
        stored_as: what a saver that hides thread ids stores in the place of this one: the key of the cells that hold the id itself is
            destroyed too, last, since until then they tell which threads are left to erase. Savers pass it.
        old_versions: for a store that keeps old versions: removes those of the key object; by default the one that `keys` has. None in
            both: the receipt says that nobody asked.

    Raises:
        KeyAccessError: the key source is read-only.
        RetryableError: the store is out of reach; run it again.
        IntegrityError: the key object is damaged; nothing was changed.
    """
    keys.check_may_write()
    old_versions = old_versions or keys.old_versions
    thread = keys.shelf.thread(scope, thread_id)
    ended, purged, left = _destroyed(keys, thread, old_versions)
    if stored_as is not None:
        _, purged_too, left_too = _destroyed(keys, keys.shelf.stored_thread(scope, stored_as), old_versions)
        purged, left = purged + purged_too, left + left_too
    at = ended.since_ms / 1000
    return ErasureReceipt(
        erasure_id=ended.erasure_id.hex(),
        key_object=keys.shelf.path(thread.name),
        generation=ended.generation,
        key_id=ended.key_id,
        roots=ended.roots,
        ended_at=at,
        readable_until=at + keys.recheck_s,
        fenced_until=ended.fence_ms / 1000,
        old_versions_purged=purged if old_versions is not None else None,
        old_versions_left=left,
        surviving_copies=tuple(sorted(map(keys.shelf.path, _surviving(keys.shelf, thread.name)))),
    )


def _destroyed(keys: ThreadKeys, thread: Thread, old_versions: OldVersions | None) -> tuple[Ended, int, tuple[str, ...]]:
    """The tombstone, and what became of old versions."""
    ended, found = _ended(keys, thread.scope, thread.name)
    keys.mark_ended(thread.name, found)
    purged, left = old_versions.purge(keys.shelf.path(thread.name)) if old_versions is not None else (0, ())
    return ended, purged, left


def _ended(keys: ThreadKeys, scope: str, name: str) -> tuple[Ended, Found]:
    for _ in range(RACES):
        found = keys.shelf.read(name)
        if found is not None and isinstance(found.object, Ended):
            return found.object, found
        now_ms = int(keys.now() * 1000)
        live = found.object if found is not None else None
        ended = Ended(
            scope=scope,
            generation=live.generation if isinstance(live, Live) else 0,
            erasure_id=secrets.token_bytes(16),
            fence_ms=now_ms + int(keys.fence_s * 1000),
            key_id=live.key_id if isinstance(live, Live) else "",
            roots=tuple(entry.root for entry in live.wrapped) if isinstance(live, Live) else (),
            since_ms=now_ms,
            unique=secrets.token_bytes(16),
        )
        try:
            return ended, keys.shelf.write(name, ended, found)
        except ConflictError:
            continue  # a rotation, or a writer that made the key meanwhile
    raise ConflictError("the thread's key object changes faster than it can be erased; try again")


def _surviving(shelf: KeyShelf, name: str) -> set[str]:
    """Threads that hold data of this one and live on, through any number of copies."""
    seen = {name}
    alive: set[str] = set()
    pending = [name]
    while pending:
        for target, generation in shelf.copies(pending.pop()):
            if _may_live(shelf, target, generation):
                alive.add(target)
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return alive - {name}


def _may_live(shelf: KeyShelf, name: str, generation: int) -> bool:
    """Whether the thread is in this life, or its key object does not say: the erasure has happened and must not fail for that."""
    try:
        found = shelf.read(name)
    except IntegrityError:
        return True
    return found is not None and isinstance(found.object, Live) and generation in (found.object.generation, 0)
