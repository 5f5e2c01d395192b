"""One data key a thread, kept in an object store and wrapped by root keys (key kind 3); it does not store values."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import Final, NoReturn

from ..ciphers import KeyKind, KeyReference, SecretKey
from ..context import Context, Kind
from ..errors import (
    AuthenticationError,
    ConfigurationError,
    ConflictError,
    KeyAccessError,
    ThreadFencedError,
    UnknownKeyError,
    WrongKeyError,
)
from ..stores import ObjectStore
from .calls import CallReport
from .envelope import CacheLimits
from .flight import SingleFlight
from .keyobject import MAX_GENERATION, Ended, Live, key_id_of
from .keyring import Keyring
from .known import Known, erased, key_to_open, settles
from .memory import ThreadMemory
from .roots import HasRoots, Roots
from .shelf import RACES, Found, KeyShelf, OldVersions, Thread
from .wrapping import KeyWrapper, thread_key_context

RECHECK_S: Final = 60.0
"""A cached thread key is used no longer than this without asking the store whether it still exists: the erasure latency of other
processes."""

_NAMES: Final = 4096  # thread names remembered
_BEGIN: Final = "begin"
_GRACE_S: Final = 0.25  # for the put that begins a life, where LangGraph has submitted a write just before it


class ThreadKeys:
    """A key source with one data key per thread: rotating the root rewrites one small object a thread, destroying that object erases one.

    The first value sealed for a thread makes its key, wraps it under the root and writes the key object, before anything is sealed. A put
    on an erased thread fails with `ThreadErasedError`: only `begin` (a checkpoint without a parent) or `reopen` opens a new generation,
    once the fence has passed.

    Only values with a place can be sealed: use it with `SealedSaver` or `ObjectSaver`, not as the keys of a bare serializer.

    Args:
        store: where the key objects are kept: any object store with conditional writes. Best a place of its own, without versions and
            backups: docs/erasure.md says what each kind of store means for erasure.
        root: the root key (`KmsRoot`, `TransitRoot`, `LocalRoot`), name → root, or a key source that has roots (`KmsKeys`).
        prefix: where in the store.
        hash_threads: a keyring of its own, never rotated, as for `ObjectSaver`: thread ids become keyed hashes in the key store and in
            receipts. Losing it loses every thread.
        read_only: seals nothing and writes no key object.
        recheck_s: seconds; the erasure latency, 60 at most.
        fence_s: seconds after an erasure during which the thread cannot begin anew; longer than `recheck_s` and the longest put together,
            and than the clocks of the processes differ.
        cache: bounds for cached thread keys; `max_keys` counts threads.
        old_versions: for a store that keeps old versions: what removes those of a key object when its thread is erased
            (`sealpoint.stores.S3Versions`).
        clock: seconds that only grow; for tests.
        now: seconds since 1970; for tests.

    Raises:
        ConfigurationError: a bound is out of range, or a root is not one.
    """

    def __init__(
        self,
        store: ObjectStore,
        root: Roots | HasRoots | KeyWrapper | Mapping[str, KeyWrapper],
        *,
        prefix: str = "sealpoint",
        hash_threads: Keyring | None = None,
        read_only: bool = False,
        recheck_s: float = RECHECK_S,
        fence_s: float = 300.0,
        cache: CacheLimits | None = None,
        old_versions: OldVersions | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not 0 < recheck_s <= RECHECK_S or not fence_s > recheck_s:
            raise ConfigurationError(f"recheck_s is at most {RECHECK_S:.0f} s, and fence_s is longer than it")
        self.roots: Roots = Roots.of(root)
        self.shelf = KeyShelf(store, prefix, hash_threads)
        self.fence_s = fence_s
        self.old_versions = old_versions
        self.now = now
        self._read_only = read_only
        self.recheck_s = recheck_s
        self._bounds = cache or CacheLimits()
        self._clock = clock
        self._memory = ThreadMemory(self._bounds, recheck_s, clock)
        self._flights: SingleFlight[Known | None] = SingleFlight()
        self._named = lru_cache(_NAMES)(self._name)

    # --- KeySource ------------------------------------------------------------------------------------------------

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """The thread's key, made if the thread has none yet.

        Raises:
            ThreadErasedError: the thread was erased; nothing was sealed.
            ConfigurationError: the context names no thread.
            KeyAccessError: read-only, or a root's service refuses.
            RetryableError: the store or a root's service is out of reach.
            IntegrityError: the key object is damaged, forged or moved.
        """
        if self._read_only:
            self.check_may_write()
        sealing = self._memory.sealing(context, self._named)
        return self._to_seal(self._named(context.home), None)[1] if sealing is None else sealing

    def _to_seal(self, thread: Thread, known: Known | None) -> tuple[Known, tuple[KeyReference, SecretKey]]:
        if known is None or known.sealing is None:
            known = self._flights.do((thread.name, True), partial(self._load_to_seal, thread))
        if known is None or known.sealing is None:
            raise erased(known)
        return known, known.sealing

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`; stores and services are called in a thread."""
        self.check_may_write()
        thread = self._named(context.home)
        known = self._memory.fresh(thread.name)
        if known is None or known.sealing is None:
            known = await self._flights.ado((thread.name, True), partial(self._load_to_seal, thread))
        if known is None or known.sealing is None:
            raise erased(known)
        return known.sealing

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """The thread's key, if it is the one that the header names.

        Raises:
            ThreadErasedError: it was destroyed on purpose.
            UnknownKeyError: the thread has no key object, or the key store is older than the value.
            AuthenticationError: the thread never had this key.
            ConfigurationError, KeyAccessError, RetryableError, IntegrityError: as `current`.
        """
        thread = self._thread_to_open(reference, context)
        known = self._memory.fresh(thread.name)
        if known is None or not settles(known, reference):
            known = self._flights.do((thread.name, False), partial(self._load, thread, mint=False))
        return key_to_open(known, reference)

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`; stores and services are called in a thread."""
        thread = self._thread_to_open(reference, context)
        known = self._memory.fresh(thread.name)
        if known is None or not settles(known, reference):
            known = await self._flights.ado((thread.name, False), partial(self._load, thread, mint=False))
        return key_to_open(known, reference)

    # --- lives of a thread ----------------------------------------------------------------------------------------

    def announced(self, context: Context) -> AbstractContextManager[None]:
        """Inside, whoever else seals for the thread in this process does what the `begin` that is to come would do, if he comes first.

        What a saver puts around a put that may begin a life: the run's first writes are under way as soon as it, and may overtake it.
        """
        thread = self._named(context.home)
        return nullcontext() if self._seals(thread.name) else self._flights.announced((thread.name, _BEGIN), partial(self._begin, thread))

    def begin(self, context: Context) -> None:
        """Opens a new generation where the thread has ended: what a saver calls before it stores a checkpoint without a parent.

        Whoever seals for the thread meanwhile, in this process, waits for the outcome.

        Raises:
            ThreadFencedError: the erasure is too recent; try again when the message says.
            KeyAccessError, RetryableError, IntegrityError, ConfigurationError: as `current`.
        """
        self.check_may_write()
        thread = self._named(context.home)
        self._flights.do((thread.name, _BEGIN), partial(self._begin, thread))

    def _begin(self, thread: Thread) -> None:
        if not self._seals(thread.name):
            self._reopen(thread)

    def is_of_earlier_life(self, context: Context, made_ms: int) -> bool:
        """Whether what was made at that time, in milliseconds since 1970, must be from before the thread's present life.

        The life before ended `fence_s` before this one could begin, and was sealed for at most `recheck_s` longer. Half way between these
        two tells them apart, however clocks differ by less than that.

        Raises:
            ThreadErasedError, KeyAccessError, RetryableError, IntegrityError, ConfigurationError: as `current`.
        """
        thread = self._named(context.home)
        live = self._to_seal(thread, self._memory.fresh(thread.name))[0].found.object
        return live.generation > 1 and made_ms < live.since_ms - 500 * (self.fence_s - self.recheck_s)

    def _seals(self, name: str) -> bool:
        known = self._memory.fresh(name)
        return known is not None and known.sealing is not None

    def reopen(self, thread_id: str, *, scope: str = "") -> None:
        """Opens a new generation of an erased thread by hand; a thread that is live or unknown stays as it is.

        What was erased stays erased.

        Raises:
            ThreadFencedError, KeyAccessError, RetryableError, IntegrityError: as `begin`.
        """
        self.check_may_write()
        self._reopen(self.shelf.thread(scope, thread_id))

    def record_copy(self, source_id: str, target_id: str, *, scope: str = "") -> int:
        """Keeps on record that the target thread gets a copy of the source: what a saver calls before it copies.

        A copy is sealed under the target's own key, so erasing the source does not reach it: the receipt lists it instead. The record is
        made first and the source looked up then, and an erasure goes the other way round: so one of the two sees the other.

        Returns:
            The generation of the target's key that the record names.

        Raises:
            ThreadErasedError: the source was erased; or the target was, and not reopened.
            KeyAccessError, RetryableError, IntegrityError: as `current`.
        """
        self.check_may_write()
        source, target = (self.shelf.thread(scope, thread_id) for thread_id in (source_id, target_id))
        known = self._flights.do((target.name, True), partial(self._load_to_seal, target))
        if known is None or known.sealing is None:
            raise erased(known)
        self.shelf.record_copy(source.name, target.name, known.found.object.generation)
        found = self.shelf.read(source.name)
        if found is not None and isinstance(found.object, Ended):
            raise erased(Known(found, None, 0.0, 0.0))
        return known.found.object.generation

    def generation(self, thread_id: str, *, scope: str = "") -> int:
        """The thread's present or last generation, asked of the store; 0 if it never had a key.

        Raises:
            RetryableError, IntegrityError: as `current`.
        """
        found = self.shelf.read(self.shelf.thread(scope, thread_id).name)
        return 0 if found is None else found.object.generation

    def forget(self) -> None:
        """Drops every key at hand: the next use of each thread asks the store and a root again."""
        self._memory.forget()

    def mark_ended(self, name: str, found: Found) -> None:
        """For erasure code: from here on no cached key and no read under way in this process gives the thread's key."""
        self._memory.end(name, found)

    def check_may_write(self) -> None:
        """Nothing, unless this key source is read-only.

        Raises:
            KeyAccessError: it is.
        """
        if self._read_only:
            raise KeyAccessError("this key source is read-only; nothing was sealed and no key object was written")

    def stats(self) -> CallReport:
        """Calls made and saved since this key source was made; reads of the store are not counted."""
        return self.roots.tally.report(self._memory.hits)

    @property
    def cached_threads(self) -> int:
        """Threads whose key object is cached."""
        return len(self._memory)

    def __repr__(self) -> str:
        return f"ThreadKeys({self.roots!r}{', read-only' if self._read_only else ''})"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("ThreadKeys cannot be pickled; build it from its configuration in the other process")

    def __copy__(self) -> ThreadKeys:
        return self

    def __deepcopy__(self, _memo: object) -> ThreadKeys:
        return self

    # --- inside ---------------------------------------------------------------------------------------------------

    def _name(self, home: bytes) -> Thread:
        """The thread of a context with these first bytes; remembered, because a hash costs more than sealing a small value may."""
        if not home:
            raise ConfigurationError(
                "ThreadKeys gives every thread a key of its own, and a bare serializer does not know the thread: "
                "pass ThreadKeys to SealedSaver or ObjectSaver, or give the serializer KmsKeys or a Keyring"
            )
        context = Context(Kind.CHECKPOINT, home)
        kind = home[int.from_bytes(home[:4], "big") + 8]  # behind the scope, each with its length
        named = self.shelf.stored_thread if kind == Kind.STORED_PLACE else self.shelf.thread
        return named(context.scope, context.thread_id or "")

    def _thread_to_open(self, reference: KeyReference, context: Context) -> Thread:
        if reference.kind is not KeyKind.KEY_STORE:
            raise UnknownKeyError(
                f"key id {reference.key_id!r} is of kind {reference.kind.name.lower()}, and these keys are in a key store; "
                "sealpoint.keys.AnyOf puts several key sources together"
            )
        return self._named(context.home)

    def _load_to_seal(self, thread: Thread) -> Known | None:
        """As `_load`, with `mint`; while the thread's new life is being begun here, after that."""
        begins = thread.name, _BEGIN
        self._flights.wait(begins)
        known = self._load(thread, mint=True)
        ended = None if known is None else known.found.object
        if isinstance(ended, Ended) and ended.fence_ms <= self.now() * 1000 and self._flights.appears(begins, _GRACE_S):
            self._flights.wait(begins)
            known = self._load(thread, mint=True)
        return known

    def _load(self, thread: Thread, *, mint: bool) -> Known | None:
        """What the store knows, after the cache; with `mint`, a thread without a key object gets one."""
        for _ in range(RACES):
            epoch = self._memory.epoch(thread.name)
            began = self._clock()
            found = self.shelf.read(thread.name)
            if found is None and not mint:
                return None
            try:
                known = self._minted(thread, None, 1, began) if found is None else self._understood(thread, found, began)
            except ConflictError:
                continue  # another writer made the key first
            if self._memory.keep(thread.name, known, epoch):
                return known
        raise ConflictError("the thread's key object changes faster than it can be read; try again")

    def _understood(self, thread: Thread, found: Found, began: float) -> Known:
        live = found.object
        before = self._memory.last(thread.name)
        if live.scope != thread.scope:
            raise AuthenticationError("the thread's key object belongs to another scope: it was exchanged or moved; no key was unwrapped")
        if isinstance(live, Ended):
            return Known(found, None, began, began)
        if self._memory.ended(thread.name) >= live.generation:
            raise AuthenticationError(
                "the thread was erased, and its key object is back: the key store was rolled back; no key was unwrapped"
            )
        if before is not None and before.sealing is not None and isinstance(before.found.object, Live):
            same = before.found.object.wrapped == live.wrapped and before.found.object.key_id == live.key_id
            if same and began - before.unwrapped_at < self._bounds.max_age_s:
                return Known(found, before.sealing, began, before.unwrapped_at)
        key, _ = self.roots.unwrap(live.wrapped, thread_key_context(thread.scope, live.key_id, thread.name, live.generation))
        if key.check != live.check:
            raise WrongKeyError(
                f"the key object of key id {live.key_id!r} unwraps to another key than its check value says: it was exchanged"
            )
        return Known(found, (KeyReference(KeyKind.KEY_STORE, live.key_id), key), began, began)

    def _minted(self, thread: Thread, replacing: Found | None, generation: int, began: float) -> Known:
        """A new generation, on record before its key is used.

        Raises:
            ConflictError: another writer was first.
        """
        if generation > MAX_GENERATION:
            raise ConfigurationError("this thread has been erased and reopened as often as the format can count; use another id")
        key_id = key_id_of(generation, secrets.token_hex(10))
        key, wrapped = self.roots.generate(thread_key_context(thread.scope, key_id, thread.name, generation))
        live = Live(thread.scope, generation, key_id, key.check, wrapped, int(self.now() * 1000), secrets.token_bytes(16))
        return Known(self.shelf.write(thread.name, live, replacing), (KeyReference(KeyKind.KEY_STORE, key_id), key), began, began)

    def _reopen(self, thread: Thread) -> None:
        for _ in range(RACES):
            epoch = self._memory.epoch(thread.name)
            began = self._clock()
            found = self.shelf.read(thread.name)
            if found is None or not isinstance(found.object, Ended):
                return
            wait_s = found.object.fence_ms / 1000 - self.now()
            if wait_s > 0:
                raise ThreadFencedError(
                    f"the thread was erased so lately that a late writer may still be under way: it can begin anew in {wait_s:.0f} s"
                )
            try:
                known = self._minted(thread, found, found.object.generation + 1, began)
            except ConflictError:
                continue
            self._memory.keep(thread.name, known, epoch)
            return
        raise ConflictError("the thread's key object changes faster than it can be read; try again")
