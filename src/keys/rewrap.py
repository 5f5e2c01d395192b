"""Inline data keys under other roots: the key block of a sealed value is rewritten, its body is not touched; it stores nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from ..ciphers import Header, KeyKind, KeyReference, SecretKey, WrappedKey, parse
from ..errors import AuthenticationError, WrongKeyError
from ..locks import ForkSafeLock
from .roots import HasRoots, Roots
from .transit import TRANSIT_CIPHERTEXT
from .wrapping import KeyWrapper, data_key_context

_REMEMBERED: Final = 10_000  # data keys; up to about 1 KiB each


StaleRule = Callable[[WrappedKey], bool]
"""Says whether a wrapped key counts as not there, although its root is active."""


def never_stale(_entry: WrappedKey) -> bool:
    """The usual `StaleRule`: what is under an active root stays."""
    return False


def transit_version_below(version: int) -> StaleRule:
    """A `StaleRule` for the time after a transit key was rotated: what is wrapped under a lower version of it is wrapped anew."""

    def stale(entry: WrappedKey) -> bool:
        match = TRANSIT_CIPHERTEXT.fullmatch(entry.wrapped)
        return match is not None and int(match[1]) < version

    return stale


def needs_rewrap(wrapped: tuple[WrappedKey, ...], active: tuple[str, ...], stale: StaleRule = never_stale) -> bool:
    """Whether a data key is wrapped under other roots than exactly the `active` ones, or some are stale: answered without a key."""
    return {entry.root for entry in wrapped} != set(active) or any(map(stale, wrapped))


class Rewrapper:
    """Gives sealed values the active roots: new ones are added, those that are no longer active dropped, and what is there already stays.

    To add a second root, make both active; to change provider, add the new root, rewrap, then make it the only active one and rewrap again
    (or both in one step). Values that share a data key share the new wrapping, so a store costs as many calls as it has data keys, not
    values.

    Args:
        roots: the roots that are configured from now on, former ones included as long as something is to be opened with them.
        stale: wrapped keys that count as not there.
    """

    def __init__(self, roots: Roots | HasRoots | KeyWrapper | Mapping[str, KeyWrapper], *, stale: StaleRule = never_stale) -> None:
        self._roots = Roots.of(roots)
        self._stale = stale
        self._lock = ForkSafeLock()
        self._done: OrderedDict[tuple[str, bytes], tuple[WrappedKey, ...]] = OrderedDict()

    def rewrap(self, sealed: bytes, scope: str = "") -> bytes | None:
        """The value with its key block rewritten, or None when nothing is to be done (also: its key is not an inline one).

        Every byte from the body on is the same as before, and so is the header core; the result opens wherever the old one did, and under
        the active roots. Write it back by compare-and-swap: a value that was replaced meanwhile must not come back.

        Args:
            sealed: an envelope.
            scope: the scope that it was sealed with.

        Raises:
            EnvelopeError: not a well-formed envelope.
            UnknownKeyError, KeyRefusedError, KeyServiceUnavailableError, AuthenticationError: the data key could not be unwrapped or
                wrapped.
            WrongKeyError: it unwraps to another key than the value was sealed with.
        """
        header, at = parse(sealed)
        if header.reference.kind is not KeyKind.WRAPPED_INLINE:
            return None
        if not needs_rewrap(header.reference.wrapped, self._roots.active, self._stale):
            return None
        marshalled = header.block()
        with self._lock:
            wrapped = self._done.get((scope, header.core() + marshalled))
        if wrapped is None:
            wrapped = self._wrapped_anew(header, scope)
            with self._lock:
                self._done[scope, header.core() + marshalled] = wrapped
                while len(self._done) > _REMEMBERED:
                    self._done.popitem(last=False)
        reference = KeyReference(KeyKind.WRAPPED_INLINE, header.reference.key_id, wrapped)
        return Header(reference, header.check).marshal() + sealed[at:]

    def _wrapped_anew(self, header: Header, scope: str) -> tuple[WrappedKey, ...]:
        context = data_key_context(scope, header.reference.key_id)
        return wrapped_anew(self._roots, header.reference.wrapped, context, header.check, self._stale)


def wrapped_anew(
    roots: Roots, wrapped: tuple[WrappedKey, ...], context: Mapping[str, str], check: bytes, stale: StaleRule = never_stale
) -> tuple[WrappedKey, ...]:
    """The key of `wrapped` under exactly the active roots; each new wrapping is unwrapped once, as a proof.

    Raises:
        WrongKeyError: the key is not the one that `check` belongs to.
        AuthenticationError: a root does not give back what it was given; nothing is to be written.
        UnknownKeyError, KeyRefusedError, KeyServiceUnavailableError: as `Roots.unwrap`.
    """
    material, opened = roots.reveal(wrapped, context)
    if SecretKey(material).check != check:
        raise WrongKeyError(
            "the data key unwraps, but is not the key that was sealed with: the key block was exchanged; nothing was rewritten"
        )
    # Of the entries only the one that just opened is vouched for; the others are wrapped anew rather than trusted.
    kept = {} if stale(opened) else {opened.root: opened}
    missing = [name for name in roots.active if name not in kept]
    for entry in roots.wrap(material, context, missing):
        if roots.reveal((entry,), context)[0] != material:
            raise AuthenticationError(f"root {entry.root!r} does not give back the key that it wrapped; nothing was rewritten")
        kept[entry.root] = entry
    return tuple(kept[name] for name in roots.active)
