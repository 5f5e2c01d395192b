"""The seam of a base serializer: objects to a tagged plain payload; layers and ciphers come after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class BaseSerializer(Protocol):
    """What every base offers: LangGraph's typed serializer interface."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and bytes of `obj`."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The object of a payload that nothing vouches for."""


@runtime_checkable
class TrustAwareBase(BaseSerializer, Protocol):
    """A base that is told whether a payload was authenticated before it is parsed."""

    def load(self, tag: str, data: bytes, *, authenticated: bool) -> Any:
        """The object of a payload; only an authenticated one may import the types that it names."""


@runtime_checkable
class AllowlistBase(BaseSerializer, Protocol):
    """A base that LangGraph's strict-msgpack mode can hand more allowed types to."""

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> BaseSerializer:
        """A base that also allows these types."""
