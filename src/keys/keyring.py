"""Named keys in memory: the first seals, all open; `from_env` alone asks the environment."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from typing import Final, NoReturn

from ..ciphers import KeyKind, KeyReference, SecretKey
from ..ciphers.header import check_key_id
from ..ciphers.secret import KEY_BYTES
from ..context import Context
from ..errors import KeyFormatError, UnknownKeyError

_HINT: Final = "`sealpoint keygen` makes a well-formed one"


class Keyring:
    """A key source over named keys. Values name the key they are under, so keys rotate by putting a new one first.

    Args:
        keys: key id → 32 random bytes. An id is 1 to 32 characters of ``A-Z a-z 0-9 . _ -`` and must never be given to another key.
        active: the id of the key that seals.

    Raises:
        KeyFormatError: an id or a key is malformed, one key has two ids, or `active` is not among them. No key is ever shown.

    >>> import secrets
    >>> ring = Keyring({"2026-11": secrets.token_bytes(32)}, active="2026-11")
    >>> ring
    Keyring(active='2026-11', ids=['2026-11'])
    """

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        made = {check_key_id(key_id): _secret(key_id, material) for key_id, material in keys.items()}
        _refuse_one_key_under_two_ids(keys)
        self._set(made, active)

    def _set(self, keys: Mapping[str, SecretKey], active: str) -> None:
        if check_key_id(active) not in keys:
            raise KeyFormatError(f"the active key id is not among the keys: {', '.join(map(repr, keys)) or 'there are none'}")
        self._keys = dict(keys)
        self._active = active
        self._current = (KeyReference(KeyKind.KEYRING, active), self._keys[active])

    @classmethod
    def _of_secrets(cls, keys: Mapping[str, SecretKey], active: str) -> Keyring:
        ring = cls.__new__(cls)
        ring._set(keys, active)
        return ring

    @classmethod
    def parse(cls, text: str) -> Keyring:
        """A keyring from ``id:<base64 of 32 bytes>,id:<…>``; the first entry seals, all open.

        Raises:
            KeyFormatError: whatever is wrong with it, by the entry's number; never the text itself.
        """
        return cls._of_secrets(*parse_named(text))

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Keyring:
        """A keyring from the environment: `SEALPOINT_KEYS`, else LangGraph's `LANGGRAPH_AES_KEY` and its fallbacks.

        Args:
            environ: the variables; the process environment by default.

        Raises:
            NoKeyError: neither is set.
            KeyFormatError: one is malformed.
        """
        from .environment import keyring_from_env

        return keyring_from_env(environ)

    @classmethod
    def generate(cls, key_id: str = "test") -> Keyring:
        """A keyring with one new random key, for tests and throw-away stores: the key cannot be read out again."""
        return cls({key_id: secrets.token_bytes(KEY_BYTES)}, active=key_id)

    @property
    def active(self) -> str:
        """The id of the key that seals."""
        return self._active

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, in the order given."""
        return tuple(self._keys)

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """See `sealpoint.ciphers.KeySource.current`; the place makes no difference here."""
        return self._current

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """See `sealpoint.ciphers.KeySource.resolve`."""
        key = self._keys.get(reference.key_id) if reference.kind is KeyKind.KEYRING else None
        if key is None:
            kind = "" if reference.kind is KeyKind.KEYRING else f" of kind {reference.kind.name.lower()}"
            where = (
                "it is made from a key of LangGraph's: keep that in LANGGRAPH_AES_KEY or LANGGRAPH_AES_FALLBACK_KEYS"
                if reference.key_id.startswith("lg-")
                else "add it behind the active one, for example in SEALPOINT_KEYS"
            )
            raise UnknownKeyError(f"no key with id {reference.key_id!r}{kind} is configured (there are: {', '.join(self._keys)}); {where}")
        return key

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`: nothing is fetched."""
        return self._current

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`: nothing is fetched."""
        return self.resolve(reference, context)

    def __repr__(self) -> str:
        return f"Keyring(active={self._active!r}, ids={list(self._keys)!r})"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a Keyring cannot be pickled; build it from its source in the other process")

    def __copy__(self) -> Keyring:
        return self

    def __deepcopy__(self, _memo: object) -> Keyring:
        return self


def parse_named(text: str) -> tuple[dict[str, SecretKey], str]:
    """The keys of a ``SEALPOINT_KEYS`` value and the id of the first.

    Raises:
        KeyFormatError: by the entry's number, never its text.
    """
    raw: dict[str, bytes] = {}
    for number, entry in enumerate(text.split(","), start=1):
        where = f"entry {number} of the key list"
        if entry != entry.strip() or any(c.isspace() for c in entry):
            raise KeyFormatError(f"{where} contains white space; write id:base64,id:base64 without any. {_HINT}")
        key_id, colon, encoded = entry.partition(":")
        if not colon:
            raise KeyFormatError(f"{where} is not of the form id:base64. {_HINT}")
        try:
            check_key_id(key_id)
        except KeyFormatError as exc:
            raise KeyFormatError(f"{where}: {exc}") from None
        if key_id in raw:
            raise KeyFormatError(
                f"{where} has the id of entry {list(raw).index(key_id) + 1}; every key needs an id of its own. Make the new one again with "
                "`sealpoint keygen --id`, and never rename a key that something is sealed under"
            )
        raw[key_id] = _decode(where, encoded)
    _refuse_one_key_under_two_ids(raw)
    return {key_id: _secret(key_id, material) for key_id, material in raw.items()}, next(iter(raw))


def _decode(where: str, encoded: str) -> bytes:
    try:
        material = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        material = b""
    # Only the one canonical spelling: b64decode also takes stray bits in the last character, and bytes after the padding.
    if not material or base64.b64encode(material).decode("ascii") != encoded:
        raise KeyFormatError(f"{where}: the key is not standard base64 (alphabet A-Z a-z 0-9 + /, with padding). {_HINT}")
    if len(material) != KEY_BYTES:
        raise KeyFormatError(f"{where}: the key has {len(material)} bytes, not {KEY_BYTES}. {_HINT}")
    return material


def _secret(key_id: str, material: bytes) -> SecretKey:
    try:
        return SecretKey(material)
    except KeyFormatError as exc:
        raise KeyFormatError(f"key {key_id!r}: {exc}") from None


def _refuse_one_key_under_two_ids(keys: Mapping[str, bytes]) -> None:
    seen: dict[bytes, str] = {}
    for key_id, material in keys.items():
        if material in seen:
            raise KeyFormatError(f"the ids {seen[material]!r} and {key_id!r} name the same key; give every key one id")
        seen[material] = key_id
