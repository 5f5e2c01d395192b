"""Data keys under root keys, carried by each value's header (key kind 2); it calls no service by itself and stores nothing."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from typing import Final, Literal, NoReturn, get_args

from ..ciphers import KeyKind, KeyReference, SecretKey, WrappedKey
from ..context import Context
from ..errors import ConfigurationError, KeyAccessError, UnknownKeyError
from ..locks import ForkSafeLock
from .aged import AgedCache
from .calls import CallReport
from .flight import SingleFlight
from .roots import HasRoots, Roots
from .wrapping import KeyWrapper, data_key_context

Mode = Literal["full", "encrypt-only", "decrypt-only"]

_MAX_SCOPES: Final = 256  # data keys in use at once; an application has one scope, seldom a few
_AFTER_SCOPE: Final = 5  # bytes of an unbound context behind the scope
_IDS: Final = 256
_ID_BYTES: Final = 12  # random; two of 2^40 data keys share an id with a chance of 2^-17, and then each still unwraps as itself


@dataclass(frozen=True, slots=True)
class DataKeyLimits:
    """When a data key is replaced.

    The limits bound what one stolen data key opens. No proof rests on them: the cipher is safe for 2^55 messages under one key
    (Cobblestone-256; docs/spec/envelope-v1.md).

    Args:
        max_age_s: seconds after which a new one is made: also how long a process can go on sealing after its root key was disabled.
        max_messages: values sealed under one data key, by this process.
        max_bytes: bytes of plaintext sealed under one data key. A single larger value gets a key of its own.
    """

    max_age_s: float = 900.0
    max_messages: int = 1_000_000
    max_bytes: int = 64 * 1024**3  # 64 GiB

    def __post_init__(self) -> None:
        if not self.max_age_s > 0 or not 1 <= self.max_messages <= 2**55 or self.max_bytes < 1:
            raise ConfigurationError("limits of a data key are positive, and at most 2**55 messages")


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """How many unwrapped keys are kept for reading, and how long.

    Args:
        max_keys: about 600 bytes each; the least recently used one goes first.
        max_age_s: seconds: how long a process can go on reading after its root key was disabled.
    """

    max_keys: int = 1_000
    max_age_s: float = 900.0


@dataclass(slots=True)
class _InUse:
    """The data key of one scope, when it expires, and what may still be sealed under it. `scope` is as a context's bytes begin."""

    scope: bytes
    sealing: tuple[KeyReference, SecretKey]
    expires: float
    messages_left: int
    bytes_left: int


class EnvelopeKeys:
    """A key source that seals under data keys of its own making, each wrapped under root keys and carried by the values it seals.

    `KmsKeys` and `TransitKeys` are this with the roots of one service. Several roots, also of different services, make a value that any of
    them opens. One data key serves many values within `limits`; keys unwrapped for reading are cached within `cache`; concurrent callers
    who need the same key share one call. While a service is down, keys at hand go on working until they expire; then sealing and opening
    fail, and nothing is sealed under a key that could not be wrapped.

    The header only says which root by name; the key service is always asked for the key that the configuration names.

    Args:
        roots: a wrapper, or name → wrapper; see `Roots`.
        active: the names that new data keys are wrapped under; all by default, so that each root alone can open.
        mode: ``encrypt-only`` refuses to open (for a role without Decrypt), ``decrypt-only`` refuses to seal. Such roles separate
            confidentiality, not integrity: whoever may encrypt can forge (docs/keys-kms.md).
        limits: when a data key is replaced.
        cache: bounds for unwrapped keys.
        clock: seconds that only grow; for tests.

    Raises:
        ConfigurationError: see `Roots`.
    """

    def __init__(
        self,
        roots: Roots | HasRoots | KeyWrapper | Mapping[str, KeyWrapper],
        *,
        active: Sequence[str] | None = None,
        mode: Mode = "full",
        limits: DataKeyLimits | None = None,
        cache: CacheLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigurationError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}")
        if isinstance(roots, (Roots, HasRoots)) and active is not None:
            raise ConfigurationError("these roots know already which of them are active")
        self.roots: Roots = Roots(roots, active=active) if not isinstance(roots, (Roots, HasRoots)) else Roots.of(roots)
        self._mode = mode
        self._limits = limits or DataKeyLimits()
        bounds = cache or CacheLimits()
        self._clock = clock
        self._opened: AgedCache[bytes, SecretKey] = AgedCache(bounds.max_keys, bounds.max_age_s, clock)
        self._ids = lru_cache(_IDS)(self._ids_of)  # remembered, because hashing them costs more than opening a small value may
        self._lock = ForkSafeLock()
        self._in_use: OrderedDict[str, _InUse] = OrderedDict()
        self._latest: _InUse | None = None
        self._served = 0
        self._generating: SingleFlight[None] = SingleFlight()
        self._opening: SingleFlight[SecretKey] = SingleFlight()

    # --- sealing --------------------------------------------------------------------------------------------------

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """See `sealpoint.ciphers.KeySource.current`. Counts a value of no bytes; ciphers call `current_sized`.

        Raises:
            KeyAccessError: the mode is ``decrypt-only``, or a root's service refuses.
            KeyServiceUnavailableError: a root's service is out of reach, and no data key is at hand.
        """
        return self.current_sized(context, 0)

    def current_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current`, for a value of `size` bytes."""
        latest = self._latest  # most applications have one scope: asking for it costs a third of reading it back from the context
        if latest is not None and context.encoded.startswith(latest.scope) and (taken := self._take(latest, size)) is not None:
            return taken
        if self._mode == "decrypt-only":
            raise _may_not_seal()
        scope = context.scope
        while True:
            spent = self._in_use.get(scope)
            if spent is not None and (taken := self._take(spent, size)) is not None:
                with self._lock:
                    if self._in_use.get(scope) is spent:  # `forget` may have come between
                        self._latest = spent
                return taken
            self._generating.do(scope, partial(self._generate, scope, spent))

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`; a service is called in a thread."""
        return await self.acurrent_sized(context, 0)

    async def acurrent_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current_sized`; a service is called in a thread."""
        if self._mode == "decrypt-only":
            raise _may_not_seal()
        scope = context.scope
        while True:
            spent = self._in_use.get(scope)
            if spent is not None and (taken := self._take(spent, size)) is not None:
                return taken
            await self._generating.ado(scope, partial(self._generate, scope, spent))

    # --- opening --------------------------------------------------------------------------------------------------

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """See `sealpoint.ciphers.KeySource.resolve`.

        Raises:
            UnknownKeyError: no root is configured that the key is wrapped under; no service was asked.
            KeyRefusedError: the root key is disabled, deleted or not permitted, or the credentials are bad.
            KeyServiceUnavailableError: out of reach, and the key is not cached.
            AuthenticationError: the wrapped key was damaged, forged or moved.
        """
        cache_ids = self._cache_ids(reference, context)
        key = self._cached(cache_ids)
        return key or self._opening.do(cache_ids, lambda: self._open(reference, context, cache_ids))

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`; a service is called in a thread."""
        cache_ids = self._cache_ids(reference, context)
        key = self._cached(cache_ids)
        return key or await self._opening.ado(cache_ids, lambda: self._open(reference, context, cache_ids))

    # --- the rest -------------------------------------------------------------------------------------------------

    def stats(self) -> CallReport:
        """Calls made and saved since this key source was made."""
        return self.roots.tally.report(self._served + self._opened.hits)

    def forget(self) -> None:
        """Drops every key at hand: the next value is sealed under a new data key, and every read asks a service again."""
        with self._lock:
            self._in_use.clear()
            self._latest = None
        self._opened.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.roots!r}, mode={self._mode!r})"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled; build it from its configuration in the other process")

    def __copy__(self) -> EnvelopeKeys:
        return self

    def __deepcopy__(self, _memo: object) -> EnvelopeKeys:
        return self

    # --- inside ---------------------------------------------------------------------------------------------------

    def _take(self, now: _InUse, size: int) -> tuple[KeyReference, SecretKey] | None:
        """The data key, with one more value counted against its limits, or None where they do not allow it."""
        with self._lock:
            left = now.messages_left
            if self._clock() >= now.expires or not left or (now.bytes_left < size and left < self._limits.max_messages):
                return None  # but the first value may be of any size
            now.messages_left = left - 1
            now.bytes_left -= size
            self._served += 1
            return now.sealing

    def _generate(self, scope: str, spent: _InUse | None) -> None:
        """Puts a new data key in the place of `spent`, unless another caller has done so since."""
        if self._in_use.get(scope) is not spent:
            return
        key_id = secrets.token_hex(_ID_BYTES)
        began = self._clock()
        key, wrapped = self.roots.generate(data_key_context(scope, key_id))
        reference = KeyReference(KeyKind.WRAPPED_INLINE, key_id, wrapped)
        if self._mode == "full":
            for entry in wrapped:
                self._opened.put(_cache_id(scope, key_id, entry), key)
        with self._lock:
            begin = Context.unbound(scope).encoded[:-_AFTER_SCOPE]
            limits = self._limits
            self._in_use[scope] = _InUse(begin, (reference, key), began + limits.max_age_s, limits.max_messages, limits.max_bytes)
            self._in_use.move_to_end(scope)
            while len(self._in_use) > _MAX_SCOPES:
                self._in_use.popitem(last=False)

    def _cache_ids(self, reference: KeyReference, context: Context) -> tuple[bytes, ...]:
        if self._mode == "encrypt-only":
            raise KeyAccessError("this key source is encrypt-only; nothing was opened")
        if reference.kind is not KeyKind.WRAPPED_INLINE:
            raise UnknownKeyError(
                f"key id {reference.key_id!r} is of kind {reference.kind.name.lower()}, and these keys are wrapped inline; "
                "sealpoint.keys.AnyOf puts several key sources together"
            )
        return self._ids(reference, context.scope)

    def _ids_of(self, reference: KeyReference, scope: str) -> tuple[bytes, ...]:
        return tuple(_cache_id(scope, reference.key_id, entry) for entry in self.roots.known(reference.wrapped))

    def _cached(self, cache_ids: tuple[bytes, ...]) -> SecretKey | None:
        for cache_id in cache_ids:
            if (key := self._opened.get(cache_id)) is not None:
                return key
        return None

    def _open(self, reference: KeyReference, context: Context, cache_ids: tuple[bytes, ...]) -> SecretKey:
        if (key := self._cached(cache_ids)) is not None:
            return key
        key, entry = self.roots.unwrap(reference.wrapped, data_key_context(context.scope, reference.key_id))
        # Only the entry that gave the key is vouched for: another one in this header may be anything.
        self._opened.put(_cache_id(context.scope, reference.key_id, entry), key)
        return key


def _may_not_seal() -> KeyAccessError:
    return KeyAccessError("this key source is decrypt-only; nothing was sealed")


def _cache_id(scope: str, key_id: str, entry: WrappedKey) -> bytes:
    """Stands for all that an unwrap depends on, so that a warm cache refuses whatever a cold one would."""
    digest = sha256(b"%d:" % len(entry.wrapped))
    for part in (entry.wrapped, entry.root.encode(), b"\n", key_id.encode(), b"\n", scope.encode("utf-8", "surrogatepass")):
        digest.update(part)
    return digest.digest()
