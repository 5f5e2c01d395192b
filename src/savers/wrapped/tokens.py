"""Keyed tokens for what an inner saver must be able to compare without reading it; a token cannot be undone, only made again.

A token is the first 16 bytes of HMAC-SHA-256 (RFC 2104) under a key derived from an index key, over length-prefixed fields: the scope, the
purpose, and what the purpose says. Equal inputs give equal tokens: that is their use, and all that they give away.

The index key is separate from the sealing keys and does not rotate with them: what it marks would have to be written again.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...ciphers import KeyKind, KeyReference
from ...context import Context
from ...errors import ConfigurationError
from ...keys import Keyring

LABEL: Final = b"sealpoint/v1/index"
_TOKEN_BYTES: Final = 16
_PREFIX: Final = "sealpoint_t_"
_U32 = struct.Struct(">I").pack


class Tokens:
    """Makes tokens under every live index key of one application.

    Args:
        keys: the index keys; the first makes new search tokens, all are looked up.
        scope: separates applications that share a key.
    """

    def __init__(self, keys: Keyring, scope: str) -> None:
        context = Context.unbound(scope)
        self._keys = {
            key_id: keys.resolve(KeyReference(KeyKind.KEYRING, key_id), context).derive(LABEL) for key_id in (keys.active, *_others(keys))
        }
        self._scope = scope.encode("utf-8", "surrogatepass")

    def name(self, purpose: str, text: str) -> str:
        """The token of a name, under the oldest live key, so that adding a key moves no name."""
        return self._token(next(reversed(self._keys.values())), purpose, text.encode("utf-8", "surrogatepass"))

    def stored(self, fields: Iterable[str], metadata: Mapping[str, Any]) -> dict[str, str]:
        """Metadata keys and values to store beside a sealed checkpoint: one for each of `fields` that holds a scalar."""
        active = next(iter(self._keys.values()))
        found: dict[str, str] = {}
        for name in fields:
            if name in metadata and (value := _canonical(metadata[name])) is not None:
                found.update(self._pair(active, name, value))
        return found

    def lookups(self, field: str, value: Any) -> list[dict[str, str]] | None:
        """For every live key, the stored pair that a match has; None when tokens cannot answer for such a value."""
        canonical = _canonical(value)
        return None if canonical is None else [self._pair(key, field, canonical) for key in self._keys.values()]

    def _pair(self, key: bytes, field: str, value: bytes) -> dict[str, str]:
        name = field.encode("utf-8", "surrogatepass")
        return {_PREFIX + self._token(key, "field", name): self._token(key, "value", name, value)}

    def _token(self, key: bytes, purpose: str, *fields: bytes) -> str:
        message = b"".join(_U32(len(part)) + part for part in (self._scope, purpose.encode("ascii"), *fields))
        return hmac.new(key, message, hashlib.sha256).digest()[:_TOKEN_BYTES].hex()


def is_token_key(key: str) -> bool:
    """Whether a metadata key is one of ours for a search token."""
    return key.startswith(_PREFIX)


def check_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """`fields`, when each can be a search field.

    Raises:
        ConfigurationError: a name has a dot, which savers read as a path.
    """
    named = tuple(fields)
    for name in named:
        if not name or "." in name:
            raise ConfigurationError(f"a search field is a top-level metadata key without dots, not {name!r}")
    return named


def _others(keys: Keyring) -> list[str]:
    return [key_id for key_id in keys.ids if key_id != keys.active]


def _canonical(value: Any) -> bytes | None:
    """A type letter and the value, coarse on purpose: what some saver holds equal shares a token, the rest is decided after opening."""
    if type(value) is str:
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, float) and not value.is_integer():
        return b"n" + repr(float(value)).encode("ascii") if value == value else None  # NaN equals nothing
    if isinstance(value, (bool, int, float)):
        return b"n%d" % int(value)
    return None
