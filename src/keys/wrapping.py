"""The seam to a key service: wrap and unwrap a data key, bound to what it is for; no service is known here.

A key that wraps others is a *root*. The context of a wrap is a small mapping of strings, which the service authenticates (AWS calls it
encryption context) and may log, so nothing private is in it. Its form is fixed (docs/spec/keys-v1.md, "Contexts")::

    inline data key  sealpoint: data-key/1    key: <id>  scope: <scope, left out when empty>
    thread key       sealpoint: thread-key/1  key: <id>  scope: <as above>  thread: <hash>  generation: <decimal>
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from ..errors import ConfigurationError

MAX_SCOPE: Final = 1024  # bytes; AWS KMS takes 8,192 bytes of encryption context in all (API reference, "Quotas")

_U32: Final = struct.Struct(">I").pack


@runtime_checkable
class KeyWrapper(Protocol):
    """One root key of one service.

    A new service is one class with these two methods, and `tests/keys/wrapper_contract.py` tells whether it is right. Implementations are
    safe in threads, retry what is worth retrying, send the root's name from configuration (never from what is stored), and raise the errors
    below with the service's own chained.
    """

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """`key`, encrypted under the root, so that it unwraps with an equal context only.

        Args:
            key: 32 bytes.
            context: authenticated, not encrypted.

        Returns:
            1 to 6,144 bytes.

        Raises:
            KeyRefusedError: disabled, deleted, not permitted, or the credentials are bad.
            KeyServiceUnavailableError: out of reach or throttled after retries.
        """

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """The key that was wrapped.

        Args:
            wrapped: what a header or a key object says `wrap` returned; nothing vouches for it.
            context: what `wrap` was given.

        Raises:
            AuthenticationError: changed, moved, or wrapped under another root or context.
            KeyRefusedError, KeyServiceUnavailableError: as `wrap`.
        """


@runtime_checkable
class KeyGenerator(Protocol):
    """A `KeyWrapper` whose service also makes keys (GenerateDataKey): used instead of local randomness where it is there."""

    def generate(self, context: Mapping[str, str]) -> tuple[bytes, bytes]:
        """A new 32-byte key and the same key wrapped.

        Raises:
            KeyRefusedError, KeyServiceUnavailableError: as `KeyWrapper.wrap`.
        """


def data_key_context(scope: str, key_id: str) -> dict[str, str]:
    """What an inline data key is bound to.

    Raises:
        ConfigurationError: the scope is unfit for a key service.
    """
    return _scoped({"sealpoint": "data-key/1", "key": key_id}, scope)


def thread_key_context(scope: str, key_id: str, thread: str, generation: int) -> dict[str, str]:
    """What the key of one generation of one thread is bound to; `thread` is the hash, never the id.

    Raises:
        ConfigurationError: the scope is unfit for a key service.
    """
    return _scoped({"sealpoint": "thread-key/1", "key": key_id, "thread": thread, "generation": str(generation)}, scope)


def canonical(context: Mapping[str, str]) -> bytes:
    """The one byte form of a context, for services that authenticate bytes: sorted by name, every name and value behind its u32 length."""
    out = bytearray()
    for name in sorted(context):
        for part in (name.encode("utf-8"), context[name].encode("utf-8")):
            out += _U32(len(part)) + part
    return bytes(out)


def _scoped(context: dict[str, str], scope: str) -> dict[str, str]:
    if not scope:
        return context
    try:
        fits = len(scope.encode("utf-8")) <= MAX_SCOPE
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise ConfigurationError(
            f"with wrapped keys a scope is plain text of at most {MAX_SCOPE} bytes: it is sent to the key service and logged there"
        )
    return {**context, "scope": scope}
