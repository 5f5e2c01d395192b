"""Key ids that may not be used any more, over any key source; it holds no keys."""

from __future__ import annotations

from collections.abc import Collection

from ..ciphers import KeyReference, KeySource, SecretKey, SizedKeySource
from ..ciphers.header import check_key_id
from ..context import Context
from ..errors import ConfigurationError, RevokedKeyError


class Revoking:
    """`keys` without the revoked ids: they seal nothing, and open nothing unless `opens` says so.

    Args:
        keys: any key source.
        revoked: key ids as headers show them (`sealpoint inspect`).
        opens: True for a rotation job alone: revoked keys still open, so that what is under them can be sealed anew.

    Raises:
        ConfigurationError: `keys` is not a key source.
        KeyFormatError: an id is malformed.
    """

    def __init__(self, keys: KeySource, revoked: Collection[str], *, opens: bool = False) -> None:
        if not isinstance(keys, KeySource) or isinstance(revoked, str):
            raise ConfigurationError("Revoking takes a key source and a collection of key ids")
        self.keys = keys
        self._sized = keys if isinstance(keys, SizedKeySource) else None
        self._revoked = frozenset(check_key_id(key_id) for key_id in revoked)
        self._opens = opens

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """See `sealpoint.ciphers.KeySource.current`.

        Raises:
            RevokedKeyError: the key that would seal is revoked: make another one active.
        """
        return self._sealing(self.keys.current(context))

    def current_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current`, for a value of `size` bytes."""
        return self._sealing(self.keys.current(context) if self._sized is None else self._sized.current_sized(context, size))

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """See `sealpoint.ciphers.KeySource.resolve`.

        Raises:
            RevokedKeyError: the value is under a revoked key; only a rotation job may open it.
        """
        self._check_may_open(reference)
        return self.keys.resolve(reference, context)

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`."""
        return self._sealing(await self.keys.acurrent(context))

    async def acurrent_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current_sized`."""
        return self._sealing(await (self.keys.acurrent(context) if self._sized is None else self._sized.acurrent_sized(context, size)))

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`."""
        self._check_may_open(reference)
        return await self.keys.aresolve(reference, context)

    def _sealing(self, found: tuple[KeyReference, SecretKey]) -> tuple[KeyReference, SecretKey]:
        if found[0].key_id in self._revoked:
            raise RevokedKeyError(f"key id {found[0].key_id!r} is revoked and seals nothing: make another key the active one")
        return found

    def _check_may_open(self, reference: KeyReference) -> None:
        if reference.key_id in self._revoked and not self._opens:
            raise RevokedKeyError(
                f"the value is under key id {reference.key_id!r}, which is revoked; a rotation job may open it (opens=True)"
            )

    def __repr__(self) -> str:
        return f"Revoking({self.keys!r}, revoked={sorted(self._revoked)!r}, opens={self._opens})"
