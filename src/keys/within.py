"""Which key stores a composed key source contains: what a saver asks before it tells them of a thread's life."""

from __future__ import annotations

from ..ciphers import KeySource
from .anyof import AnyOf
from .revoked import Revoking
from .threadkeys import ThreadKeys


def thread_keys(keys: KeySource) -> ThreadKeys | None:
    """The `ThreadKeys` that seals in `keys`, however it is composed: what a saver asks to know whether a thread has to be begun."""
    while not isinstance(keys, ThreadKeys):
        if isinstance(keys, Revoking):
            keys = keys.keys
        elif isinstance(keys, AnyOf):
            keys = keys.sources[0]
        else:
            return None
    return keys


def all_thread_keys(keys: KeySource) -> tuple[ThreadKeys, ...]:
    """Every `ThreadKeys` in `keys`, also those that only open: each of them holds a key of a thread that is to be erased."""
    if isinstance(keys, ThreadKeys):
        return (keys,)
    inner = (keys.keys,) if isinstance(keys, Revoking) else keys.sources if isinstance(keys, AnyOf) else ()
    return tuple(dict.fromkeys(found for source in inner for found in all_thread_keys(source)))
