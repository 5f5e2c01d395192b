"""What every key source that may block shares: async twins in a thread; it holds no keys."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Final, final

from ..ciphers import KeyReference, SecretKey
from ..context import Context


class BlockingKeySource(ABC):
    """A `KeySource` whose async methods run the sync ones in a thread, so that a slow key service never blocks a loop."""

    @abstractmethod
    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """See `sealpoint.ciphers.KeySource.current`."""

    @abstractmethod
    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """See `sealpoint.ciphers.KeySource.resolve`."""

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`, in a thread."""
        return await asyncio.to_thread(self.current, context)

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`, in a thread."""
        return await asyncio.to_thread(self.resolve, reference, context)


@final
class Unencrypted:
    """The type of `UNENCRYPTED`: asks, by name, for values that are not encrypted and not authenticated."""

    def __repr__(self) -> str:
        return "sealpoint.UNENCRYPTED"


UNENCRYPTED: Final = Unencrypted()
