"""The usual chain in one call: JsonPlus, zstd, AES-GCM; it only puts the parts together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..ciphers import AesGcm, KeySource, Layer
from ..errors import ConfigurationError
from ..events import Hook
from ..keys import UNENCRYPTED, Keyring, Unencrypted, langgraph_aes_keys
from .jsonplus import JsonPlus
from .layered import LayeredSerializer
from .legacy import LegacyReader
from .padding import Padme
from .zstd import Zstd


def sealed_serializer(
    keys: KeySource | Unencrypted | None = None,
    *,
    compression: Zstd | Literal["zstd"] | None = "zstd",
    pickle_fallback: bool = False,
    migrate: bool = False,
    allowed_types: Iterable[type | tuple[str, ...]] | None = None,
    on_drift: Literal["warn", "error", "ignore"] = "warn",
    scope: str = "",
    on_event: Hook | None = None,
    padding: Padme | None = None,
) -> LayeredSerializer:
    """A serializer for the ``serde=`` of any LangGraph saver: lossless, compressed, encrypted, authenticated.

    It seals values. It cannot know where a value lives, so it cannot stop a swap between rows, and it cannot reach what a saver stores in
    clear by itself; `SealedSaver` does both (docs/threat-model.md).

    Args:
        keys: a key source. None takes the environment's (`SEALPOINT_KEYS`, else `LANGGRAPH_AES_KEY`). `sealpoint.UNENCRYPTED` stores
            plaintext.
        compression: `Zstd(level=…, max_bytes=…)`, or None to write none (what is compressed already still opens): compressed sizes can leak
            where a secret and an attacker's text share a value.
        pickle_fallback: allows pickle for the parts that nothing else stores.
        migrate: opens what LangGraph's serializers wrote, plain or ``…+aes``, as unauthenticated data. Switch it off when done.
        allowed_types: narrows the types that stored values may name; see `JsonPlus`.
        on_drift: what to do with stored fields that a class no longer has; see `JsonPlus`.
        scope: separates applications that share a key.
        on_event: called for every seal, open and refusal; see `sealpoint.events.Event`.
        padding: `Padme()` hides exact lengths, after compression.

    Raises:
        NoKeyError: no key is given and the environment has none.
        KeyFormatError: the environment's key is malformed.
        ConfigurationError: another argument is of the wrong kind.

    >>> from sealpoint import Keyring, sealed_serializer
    >>> serde = sealed_serializer(Keyring.generate())
    >>> tag, data = serde.dumps_typed({"user": "ada"})
    >>> tag
    'msgpack1+aesgcm'
    >>> serde.loads_typed((tag, data))
    {'user': 'ada'}
    """
    if compression not in ("zstd", None) and not isinstance(compression, Zstd):
        raise ConfigurationError(f"compression takes Zstd(…), 'zstd' or None, not {compression!r:.40}")
    layers: list[Layer] = [compression if isinstance(compression, Zstd) else Zstd(writes=compression is not None)]
    if padding is not None:
        layers.append(padding)
    if not isinstance(keys, Unencrypted):
        layers.append(AesGcm(Keyring.from_env() if keys is None else keys))
    elif keys is not UNENCRYPTED:
        raise ConfigurationError("unencrypted storage is asked for with keys=sealpoint.UNENCRYPTED")
    base = JsonPlus(pickle_fallback=pickle_fallback, allowed_types=allowed_types, on_drift=on_drift)
    legacy = LegacyReader(langgraph_aes_keys()) if migrate else None
    return LayeredSerializer(base, *layers, scope=scope, legacy=legacy, on_event=on_event)
