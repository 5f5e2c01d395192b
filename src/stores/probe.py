"""Whether a store keeps its word on conditional writes: tried on an object of its own, since some take a condition and ignore it."""

from __future__ import annotations

import contextlib
import secrets
from typing import Protocol

from ..errors import ConflictError, SealpointError, StoreUnsupportedError
from .base import Deletes, Puts


class PutsAndDeletes(Puts, Deletes, Protocol):
    """What the trial needs."""


def require_conditional_writes(store: PutsAndDeletes) -> None:
    """Returns when `if_absent` and `if_match` are kept; four small writes and a removal, under ``probe/``.

    Needs the permissions to put and, to leave nothing behind, to delete (`s3:PutObject`, `s3:DeleteObject`) below the store's prefix.

    Raises:
        StoreUnsupportedError: the store ignores or refuses conditions: use another for what needs compare-and-swap, such as a key store.
        StoreUnavailableError, StoreAccessError: it could not be tried.
    """
    key = f"probe/{secrets.token_hex(8)}"
    old = store.put(key, b"1")
    store.put(key, b"2")
    try:
        for condition, etag in (("if_absent", None), ("if_match", old)):
            if not _conflicts(store, key, etag):
                raise StoreUnsupportedError(
                    f"this store ignores {condition}: a write that must not replace another object would; "
                    "use a store with conditional writes (Amazon S3 has them since 2024) for what needs them"
                )
    finally:
        with contextlib.suppress(SealpointError):
            store.delete_many([key])


def _conflicts(store: Puts, key: str, etag: str | None) -> bool:
    try:
        store.put(key, b"3", if_absent=etag is None, if_match=etag)
    except ConflictError:
        return True
    return False
