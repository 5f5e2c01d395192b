"""Several key sources as one, for a change from one kind of key to another; it holds no keys."""

from __future__ import annotations

from ..ciphers import KeyReference, KeySource, SecretKey, SizedKeySource
from ..context import Context
from ..errors import ConfigurationError, UnknownKeyError


class AnyOf:
    """Seals under the first source; opens with whichever knows the key, asked in order.

    A store that moves from environment keys to a KMS is read through ``AnyOf(KmsKeys(…), Keyring.from_env())`` until a rotation has sealed
    it all anew.

    Args:
        primary: seals.
        others: open only.

    Raises:
        ConfigurationError: one of them is not a key source.
    """

    def __init__(self, primary: KeySource, *others: KeySource) -> None:
        self.sources = (primary, *others)
        if not all(isinstance(source, KeySource) for source in self.sources):
            raise ConfigurationError("AnyOf takes key sources, such as KmsKeys(…) and Keyring.from_env()")
        self._sized = primary if isinstance(primary, SizedKeySource) else None

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """See `sealpoint.ciphers.KeySource.current`."""
        return self.sources[0].current(context)

    def current_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current`, for a value of `size` bytes."""
        return self.current(context) if self._sized is None else self._sized.current_sized(context, size)

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """See `sealpoint.ciphers.KeySource.resolve`.

        Any error but `UnknownKeyError` is final: that source knows the key, and cannot give it.
        """
        refusals = []
        for source in self.sources:
            try:
                return source.resolve(reference, context)
            except UnknownKeyError as exc:
                refusals.append(str(exc))
        raise UnknownKeyError("; ".join(refusals))

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`."""
        return await self.sources[0].acurrent(context)

    async def acurrent_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current_sized`."""
        return await (self.acurrent(context) if self._sized is None else self._sized.acurrent_sized(context, size))

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`."""
        refusals = []
        for source in self.sources:
            try:
                return await source.aresolve(reference, context)
            except UnknownKeyError as exc:
                refusals.append(str(exc))
        raise UnknownKeyError("; ".join(refusals))

    def __repr__(self) -> str:
        return f"AnyOf({', '.join(map(repr, self.sources))})"
