"""Keys from environment variables, Sealpoint's and LangGraph's; it stores nothing and never shows a key.

LangGraph's variables (docs.langchain.com, "AES encryption"): `LANGGRAPH_AES_KEY` encrypts; `LANGGRAPH_AES_FALLBACK_KEYS` (comma-separated)
and `LANGGRAPH_AES_LEGACY_KEY` decrypt what older keys wrote. Each is 16, 24 or 32 raw characters, often typed by hand.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..ciphers import SecretKey
from ..errors import KeyFormatError, NoKeyError
from .keyring import Keyring, parse_named

SEALPOINT_KEYS: Final = "SEALPOINT_KEYS"
LANGGRAPH_AES_KEY: Final = "LANGGRAPH_AES_KEY"
LANGGRAPH_AES_FALLBACK_KEYS: Final = "LANGGRAPH_AES_FALLBACK_KEYS"
LANGGRAPH_AES_LEGACY_KEY: Final = "LANGGRAPH_AES_LEGACY_KEY"

_AES_LENGTHS: Final = (16, 24, 32)
# Typed keys have less entropy than their length says, so they are stretched. N, r, p: about 80 ms and 32 MiB, once at construction.
# The label takes the salt's place: one typed key must give one sealing key in every process (RFC 7914, section 2).
_SCRYPT_N: Final = 2**15
_SCRYPT_R: Final = 8
_SCRYPT_P: Final = 1
_SCRYPT_LABEL: Final = b"sealpoint/v1/langgraph-aes-key"

_log = logging.getLogger("sealpoint")


def keyring_from_env(environ: Mapping[str, str] | None = None) -> Keyring:
    """See `Keyring.from_env`. With both kinds of variable set, `SEALPOINT_KEYS` seals and LangGraph's keys still open."""
    env = os.environ if environ is None else environ
    typed = [_stretched(raw) for raw in langgraph_aes_keys(env)]
    by_id = {f"lg-{key.check.hex()}": key for key in typed}
    if SEALPOINT_KEYS in env:
        if not env[SEALPOINT_KEYS]:
            raise KeyFormatError(f"{SEALPOINT_KEYS} is set but empty; `sealpoint keygen` makes a value for it")
        try:
            named, active = parse_named(env[SEALPOINT_KEYS])
        except KeyFormatError as exc:
            raise KeyFormatError(f"{SEALPOINT_KEYS}: {exc}") from None
        return Keyring._of_secrets({**by_id, **named}, active)
    if LANGGRAPH_AES_KEY not in env:
        raise NoKeyError(
            f"no key: set {SEALPOINT_KEYS} (`sealpoint keygen` makes one and says where to put it), or pass keys=; "
            "to store values unencrypted, ask for it by name with keys=sealpoint.UNENCRYPTED"
        )
    _log.warning("sealing under a key stretched from %s; `sealpoint keygen` makes a full-strength %s", LANGGRAPH_AES_KEY, SEALPOINT_KEYS)
    return Keyring._of_secrets(by_id, next(iter(by_id)))


def langgraph_aes_keys(environ: Mapping[str, str] | None = None) -> tuple[bytes, ...]:
    """LangGraph's AES keys as raw bytes, the encrypting one first, each once: what its ``…+aes`` values open with.

    Raises:
        KeyFormatError: a variable is set and is not 16, 24 or 32 bytes long.
    """
    env = os.environ if environ is None else environ
    found = [_aes_key(variable, env[variable]) for variable in (LANGGRAPH_AES_KEY, LANGGRAPH_AES_LEGACY_KEY) if variable in env]
    if fallbacks := env.get(LANGGRAPH_AES_FALLBACK_KEYS):
        found += [_aes_key(LANGGRAPH_AES_FALLBACK_KEYS, part) for part in fallbacks.split(",")]
    return tuple(dict.fromkeys(found))


def _aes_key(variable: str, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogateescape")
    if len(raw) not in _AES_LENGTHS:
        raise KeyFormatError(f"{variable}: a key is 16, 24 or 32 bytes as LangGraph takes it, not {len(raw)}")
    return raw


@functools.lru_cache(maxsize=16)
def _stretched(raw: bytes) -> SecretKey:
    return SecretKey(Scrypt(salt=_SCRYPT_LABEL, length=32, n=_SCRYPT_N, r=_SCRYPT_R, p=_SCRYPT_P).derive(raw))
