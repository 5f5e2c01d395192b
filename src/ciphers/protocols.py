"""The seams of the cipher floor: what a layer and a key source must offer; nothing is implemented here."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..context import Context
from .header import KeyReference
from .secret import SecretKey


@runtime_checkable
class Layer(Protocol):
    """One reversible step over serialized bytes.

    `decode(encode(data, tag, context), tag, context) == data` for every `data`, and a layer must be safe in threads.
    """

    @property
    def name(self) -> str:
        """What the layer adds to the tag: lower-case letters, digits, ``_`` and ``-``."""

    @property
    def authenticates_tag(self) -> bool:
        """True only when `decode` proves that `data`, `tag` and `context` are what `encode` was given, by a key."""

    @property
    def may_skip(self) -> bool:
        """True for a layer that may answer None from `encode` (compression that does not help). Never for a cipher."""

    def encode(self, data: bytes, tag: str, context: Context) -> bytes | None:
        """The encoded bytes; None, from a layer that may skip, to be left out (never when `tag` ends with this layer's name).

        Args:
            data: the bytes so far.
            tag: the tag so far; without this layer's name.
            context: where the value lives.
        """

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        """The bytes that `encode` was given.

        Raises:
            IntegrityError: they cannot be had, whole and unchanged.
        """


@runtime_checkable
class AsyncLayer(Layer, Protocol):
    """A layer that may have to fetch something first, and can wait for it without blocking an event loop."""

    async def aencode(self, data: bytes, tag: str, context: Context) -> bytes:
        """As `encode`."""

    async def adecode(self, data: bytes, tag: str, context: Context) -> bytes:
        """As `decode`."""


@runtime_checkable
class KeySource(Protocol):
    """Where keys come from. Implementations must be safe in threads, and quick when nothing has to be fetched.

    The async twins must not block the loop; `sealpoint.keys.BlockingKeySource` gives them to a class that has the sync ones.
    """

    def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """The key to seal with at `context`, and how a header refers to it.

        Raises:
            KeyAccessError: there is none to seal with.
            RetryableError: the service that holds it is out of reach.
        """

    def resolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """The key that `reference` (from a header that nothing vouches for yet) names.

        Raises:
            UnknownKeyError: no such key here.
            RetryableError: the service that holds it is out of reach.
        """

    async def acurrent(self, context: Context) -> tuple[KeyReference, SecretKey]:
        """As `current`."""

    async def aresolve(self, reference: KeyReference, context: Context) -> SecretKey:
        """As `resolve`."""


@runtime_checkable
class SizedKeySource(KeySource, Protocol):
    """A key source that limits how many bytes one key seals, so it must be told before each seal. Ciphers call these where they exist."""

    def current_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current`, for a value of `size` bytes of plaintext, which is counted against the key's limits."""

    async def acurrent_sized(self, context: Context, size: int) -> tuple[KeyReference, SecretKey]:
        """As `current_sized`."""
