"""LangGraph's old cells: which tags they have, and what its AES encryption held; nothing here vouches for them.

Formats (langgraph-checkpoint 4.3.2): plain tags ``null bytes bytearray json msgpack``; with ``+aes``, the bytes are nonce (16) | tag (16) |
ciphertext, AES in EAX mode by default or GCM where it was configured, the type tag not authenticated.
"""

from __future__ import annotations

import logging
from typing import Any, Final, NoReturn

from ..errors import AuthenticationError, MissingExtraError, NoKeyError, NotSealedError

PLAIN_TAGS: Final = frozenset({"null", "bytes", "bytearray", "json", "msgpack"})
OWN_PLAIN_TAGS: Final = frozenset({"msgpack1"})
_AES: Final = "+aes"
_PARTS: Final = 32  # bytes of nonce and tag

_log = logging.getLogger("sealpoint")


def legacy_kind(tag: str) -> str | None:
    """The kind of old cell that `tag` names, for counting, or None. Pickle is a kind, so that its refusal can say so."""
    inner = tag.removesuffix(_AES)
    own = inner.removesuffix("+zstd")
    if inner in PLAIN_TAGS or is_pickle(tag) or (tag == inner and own in OWN_PLAIN_TAGS):
        return tag
    return None


def is_pickle(tag: str) -> bool:
    """True for LangGraph's pickles, plain or encrypted: what could run code when read."""
    return tag.removesuffix(_AES) == "pickle"


def is_langgraph_encrypted(tag: str) -> bool:
    """True for the tags that LangGraph's AES encryption writes."""
    return tag.endswith(_AES) and legacy_kind(tag) is not None


class LegacyReader:
    """Opens old cells down to their plain payload, which stays unauthenticated.

    Args:
        aes_keys: LangGraph's raw keys of 16, 24 or 32 bytes, tried in order: `sealpoint.keys.langgraph_aes_keys()`.
    """

    def __init__(self, aes_keys: tuple[bytes, ...] = ()) -> None:
        self._aes_keys = aes_keys

    def plain(self, tag: str, data: bytes) -> tuple[str, bytes]:
        """The inner tag and payload of an old cell.

        Raises:
            NotSealedError: it is a pickle, which could run code; convert it in an offline job.
            NoKeyError, MissingExtraError: supply LangGraph's key, or install the extra.
            AuthenticationError: none of the keys opens it.
        """
        inner = tag.removesuffix(_AES)
        if is_pickle(tag):
            raise NotSealedError(
                f"an old cell tagged {tag!r} can run code when read, so migration mode does not open it; convert it in an offline job"
            )
        return (inner, data) if inner == tag else (inner, self._decrypt(data))

    def announce(self, kind: str) -> None:
        """Logs, for the first cell of a kind, that such cells are being opened."""
        _log.warning("migration mode opened an old %r cell; such cells are not authenticated (counted under stats()['legacy'])", kind)

    def _decrypt(self, data: bytes) -> bytes:
        if not self._aes_keys:
            raise NoKeyError(
                "an old cell is encrypted by LangGraph; set LANGGRAPH_AES_KEY (or its fallback variables) to what it was written with"
            )
        aes = _pycryptodome()
        nonce, mac, sealed = data[:16], data[16:_PARTS], data[_PARTS:]
        if len(mac) == 16:
            for key in self._aes_keys:
                for mode in (aes.MODE_EAX, aes.MODE_GCM):
                    try:
                        opened: bytes = aes.new(key, mode, nonce=nonce).decrypt_and_verify(sealed, mac)
                        return opened
                    except ValueError:
                        continue
        raise AuthenticationError("an old cell does not open with LangGraph's keys as configured: another key wrote it, or it was damaged")

    def __repr__(self) -> str:
        return f"LegacyReader({len(self._aes_keys)} keys)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a LegacyReader holds keys, so it cannot be pickled; build it from its source in the other process")

    def __copy__(self) -> LegacyReader:
        return self

    def __deepcopy__(self, _memo: object) -> LegacyReader:
        return self


def _pycryptodome() -> Any:
    try:
        from Crypto.Cipher import AES
    except ImportError as exc:
        raise MissingExtraError("reading LangGraph's encrypted cells needs pycryptodome: pip install 'sealpoint[legacy]'") from exc
    return AES
