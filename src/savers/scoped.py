"""The scope that a saver binds values to, where its serializer may have one already; it binds nothing."""

from __future__ import annotations

from ..errors import ConfigurationError
from ..serde import LayeredSerializer


def scope_of(serde: LayeredSerializer | None, scope: str) -> str:
    """The saver's scope: its own, or that of the serializer it was given.

    Raises:
        ConfigurationError: it is no text, or the two differ: one of them would silently not hold.
    """
    if not isinstance(scope, str):
        raise ConfigurationError(f"a scope is text, not {type(scope).__name__}")
    if serde is None or scope == serde.scope:
        return scope
    if scope and serde.scope:
        raise ConfigurationError("the saver and its serde have different scopes; give the scope to one of them, or the same to both")
    return scope or serde.scope
