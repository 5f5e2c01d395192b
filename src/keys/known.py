"""What is known of a thread's key object at a moment, and which answer follows from it; nothing is fetched or unwrapped here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ciphers import KeyReference, SecretKey
from ..errors import AuthenticationError, ThreadErasedError, UnknownKeyError
from .keyobject import Ended, generation_of
from .shelf import Found


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a thread's key object.

    Args:
        found: the object as it was read.
        sealing: how headers refer to the key, and the key, unwrapped; None when it has ended.
        checked_at: when the read began.
        unwrapped_at: when the key was unwrapped or made.
    """

    found: Found
    sealing: tuple[KeyReference, SecretKey] | None = field(repr=False)
    checked_at: float
    unwrapped_at: float


def settles(known: Known, reference: KeyReference) -> bool:
    """Whether the answer for this header cannot be another after asking the store again."""
    generation = generation_of(reference.key_id)
    ended = generation is not None and generation <= _ended_generation(known)
    return ended or (known.sealing is not None and known.sealing[0] == reference)


def _ended_generation(known: Known) -> int:
    return known.found.object.generation - (known.sealing is not None)


def key_to_open(known: Known | None, reference: KeyReference) -> SecretKey:
    """The key that the header names (docs/spec/keys-v1.md, "Rules").

    Raises:
        ThreadErasedError: its generation has ended.
        UnknownKeyError: there is no key object, or it is older than the value.
        AuthenticationError: the thread never had this key.
    """
    if known is None:
        raise UnknownKeyError(
            f"the key store has no key for the thread of this value (key id {reference.key_id!r}): it is another store, prefix or "
            "hash_threads, or the key object was lost; restore it from a backup of the key store"
        )
    if known.sealing is not None and known.sealing[0] == reference:
        return known.sealing[1]
    generation = generation_of(reference.key_id)
    if generation is not None and generation <= _ended_generation(known):
        raise erased(known)
    if generation is not None and generation > known.found.object.generation:
        raise UnknownKeyError(
            f"the thread of this value has no key {reference.key_id!r} yet: the key store is older than the value; "
            "was it restored from a backup?"
        )
    raise AuthenticationError(
        f"the thread of this value never had the key {reference.key_id!r}: the value was forged, or moved here from another thread"
    )


def erased(known: Known | None) -> ThreadErasedError:
    """The error for a thread that has ended, or for an earlier life of one that lives."""
    ended = known.found.object if known is not None else None
    if not isinstance(ended, Ended):
        return ThreadErasedError("the value is of an earlier life of this thread, whose key was destroyed; no copy of it opens any more")
    return ThreadErasedError(
        f"the thread was erased (erasure {ended.erasure_id.hex()}): its key was destroyed and nothing of it opens; a new life begins "
        "with a checkpoint without a parent, or with ThreadKeys.reopen",
        ended.erasure_id.hex(),
        ended.since_ms / 1000,
    )
