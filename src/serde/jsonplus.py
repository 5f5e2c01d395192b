"""The default base serializer; for now LangGraph's codec under our trust rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..errors import TagError


class JsonPlus:
    """LangGraph's msgpack codec; unauthenticated payloads build LangGraph's safe types only."""

    def __init__(
        self,
        pickle_fallback: bool = False,
        allowed_types: Iterable[type | tuple[str, ...]] | None = None,
        on_drift: Literal["warn", "error", "ignore"] = "warn",
    ) -> None:
        self._allowed = None if allowed_types is None else tuple(allowed_types)
        self._trusted = JsonPlusSerializer(allowed_msgpack_modules=True if allowed_types is None else self._allowed)
        self._untrusted = JsonPlusSerializer(allowed_msgpack_modules=self._allowed)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and bytes of `obj`."""
        return self._trusted.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The object of a payload that nothing vouches for."""
        return self.load(*data, authenticated=False)

    def load(self, tag: str, data: bytes, *, authenticated: bool) -> Any:
        """The object of a payload."""
        if tag not in ("msgpack", "null", "bytes", "bytearray", "json"):
            raise TagError(f"no format with tag {tag[:40]!r}")
        return (self._trusted if authenticated else self._untrusted).loads_typed((tag, data))

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlus:
        """A base that also allows these types."""
        return JsonPlus(allowed_types=(*(self._allowed or ()), *extra_allowlist))
