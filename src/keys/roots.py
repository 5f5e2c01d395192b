"""Several root keys under the names that the configuration gives them; it caches nothing and talks to no service itself."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar, runtime_checkable

from ..ciphers import SecretKey, WrappedKey
from ..ciphers.header import MAX_ROOTS, check_key_id
from ..ciphers.secret import KEY_BYTES
from ..errors import (
    AuthenticationError,
    ConfigurationError,
    KeyAccessError,
    KeyRefusedError,
    RetryableError,
    SealpointError,
    UnknownKeyError,
)
from .calls import Tally
from .wrapping import KeyGenerator, KeyWrapper

T = TypeVar("T")

DEFAULT_ROOT: Final = "root"
"""The name of a root that is given without one."""


@runtime_checkable
class HasRoots(Protocol):
    """Something that was set up with roots, for example `KmsKeys`."""

    @property
    def roots(self) -> Roots:
        """Those roots."""


class Roots:
    """Root keys by name. New keys are wrapped under every active root and open under any; headers carry the names.

    Args:
        roots: one `KeyWrapper` (it gets the name ``root``), or name → wrapper in the order in which they are tried. A name stays with its
            key: give another key another name.
        active: the names that new keys are wrapped under; all by default. The others open only.

    Raises:
        ConfigurationError: there is no root, more than 8 are active, or something is not a wrapper.
        KeyFormatError: a name is malformed.
    """

    def __init__(self, roots: KeyWrapper | Mapping[str, KeyWrapper], *, active: Sequence[str] | None = None) -> None:
        named = {DEFAULT_ROOT: roots} if isinstance(roots, KeyWrapper) else roots
        if not isinstance(named, Mapping) or not all(isinstance(wrapper, KeyWrapper) for wrapper in named.values()):
            raise ConfigurationError("roots are wrappers (KmsRoot, TransitRoot, LocalRoot or a class with wrap and unwrap) by name")
        self._wrappers = {check_key_id(name): wrapper for name, wrapper in named.items()}
        self.active: tuple[str, ...] = tuple(self._wrappers) if active is None else tuple(active)
        if isinstance(active, str) or not set(self.active) <= set(self._wrappers):
            raise ConfigurationError(f"active lists names of roots; there are: {', '.join(self._wrappers)}")
        if not 1 <= len(self.active) <= MAX_ROOTS or len(set(self.active)) != len(self.active):
            raise ConfigurationError(f"1 to {MAX_ROOTS} different roots are active, not {len(self.active)}")
        first = self._wrappers[self.active[0]]
        self._generator = first if isinstance(first, KeyGenerator) else None
        self.tally = Tally()

    @classmethod
    def of(cls, roots: Roots | HasRoots | KeyWrapper | Mapping[str, KeyWrapper]) -> Roots:
        """`roots` as they are, or those that a key source was set up with."""
        if isinstance(roots, Roots):
            return roots
        return roots.roots if isinstance(roots, HasRoots) else cls(roots)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they are tried."""
        return tuple(self._wrappers)

    def generate(self, context: Mapping[str, str]) -> tuple[SecretKey, tuple[WrappedKey, ...]]:
        """A new key, wrapped under every active root. All must succeed: a key that one of them cannot give back is not used.

        Raises:
            KeyRefusedError, KeyServiceUnavailableError: nothing was sealed.
        """
        first, *others = self.active
        if self._generator is not None:
            material, wrapped = self._call("generated", first, partial(self._generator.generate, context))
        else:
            material = secrets.token_bytes(KEY_BYTES)
            wrapped = self._call("generated", first, partial(self._wrappers[first].wrap, material, context))
        return _secret(material), (WrappedKey(first, wrapped), *self.wrap(material, context, others))

    def wrap(self, material: bytes, context: Mapping[str, str], names: Iterable[str]) -> tuple[WrappedKey, ...]:
        """`material` wrapped under each of `names`. For key code only.

        Raises:
            KeyRefusedError, KeyServiceUnavailableError: nothing is to be kept of it.
        """
        return tuple(WrappedKey(name, self._call("wrapped", name, partial(self._wrappers[name].wrap, material, context))) for name in names)

    def known(self, wrapped: Iterable[WrappedKey]) -> tuple[WrappedKey, ...]:
        """Those of `wrapped` whose roots are configured, in the configured order.

        Raises:
            UnknownKeyError: there is none.
        """
        by_name = {entry.root: entry for entry in wrapped}
        found = tuple(by_name[name] for name in self._wrappers if name in by_name)
        if not found:
            raise UnknownKeyError(
                f"the data key is wrapped under {', '.join(by_name)}; the roots configured here are {', '.join(self._wrappers)}. "
                "Configure one of those by that name; no service was asked"
            )
        return found

    def unwrap(self, wrapped: Iterable[WrappedKey], context: Mapping[str, str]) -> tuple[SecretKey, WrappedKey]:
        """The key, and the entry that gave it: the first of the configured roots that can.

        Raises:
            UnknownKeyError: no root is configured that it is wrapped under; no call was made.
            RetryableError: at least one root may give it later.
            KeyAccessError: none may, and at least one refused.
            AuthenticationError: every entry is damaged, forged or moved.
        """
        material, entry = self.reveal(wrapped, context)
        return _secret(material), entry

    def reveal(self, wrapped: Iterable[WrappedKey], context: Mapping[str, str]) -> tuple[bytes, WrappedKey]:
        """As `unwrap`, but the key's bytes, for wrapping them anew. For key code only."""
        failures: list[SealpointError] = []
        for entry in self.known(wrapped):
            try:
                material = self._call("unwrapped", entry.root, partial(self._wrappers[entry.root].unwrap, entry.wrapped, context))
                if len(material) != KEY_BYTES:
                    raise AuthenticationError(
                        f"root {entry.root!r} unwraps to {len(material)} bytes, which is no data key of ours: it was forged"
                    )
            except SealpointError as exc:
                failures.append(exc)
            else:
                return material, entry
        raise min(failures, key=_hopefulness)

    def _call(self, what: str, name: str, call: Callable[[], T]) -> T:
        self.tally.add(what)
        try:
            return call()
        except SealpointError:
            self.tally.add("failed")
            raise
        except Exception as exc:
            self.tally.add("failed")
            raise KeyRefusedError(
                f"the wrapper of root {name!r} failed with {type(exc).__name__}; it should raise the errors of KeyWrapper"
            ) from exc

    def __repr__(self) -> str:
        return f"Roots({', '.join(self._wrappers)}; active: {', '.join(self.active)})"


def _secret(material: bytes) -> SecretKey:
    if len(material) != KEY_BYTES:
        raise KeyRefusedError(f"a key service made a data key of {len(material)} bytes, not {KEY_BYTES}; it was not used")
    return SecretKey(material)


def _hopefulness(exc: SealpointError) -> int:
    """Which of several failures to report: the one after which trying again, or another key, may still help."""
    return 0 if isinstance(exc, RetryableError) else 1 if isinstance(exc, KeyAccessError) else 2
