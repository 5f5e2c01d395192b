"""A node's failure whose exception has no faithful form, as text, since LangGraph loses it if refused; nothing else is ever replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from langgraph.checkpoint.serde.types import ERROR

from ..errors import ValueNotStorableError

T = TypeVar("T")


def store_write(channel: str, value: Any, store: Callable[[Any], T]) -> T:
    """What `store` makes of a write's value; of an exception in `ERROR` that it refuses, what it makes of the exception's repr.

    LangGraph writes the exception while the run fails with it, and drops the write when that raises. Its own serializer stores the repr of
    every exception.

    Raises:
        ValueNotStorableError: from `store`, for everything else.
    """
    try:
        return store(value)
    except ValueNotStorableError:
        if channel != ERROR or not isinstance(value, BaseException):
            raise
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - the exception's own code; its name will do
            text = f"{type(value).__qualname__}()"
        return store(text)
