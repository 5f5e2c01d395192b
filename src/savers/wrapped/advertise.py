"""A class for each class of inner saver, with exactly the methods that the inner class has; LangGraph finds out by looking at the class."""

from __future__ import annotations

from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...locks import ForkSafeLock

_OPTIONAL: Final = ("delete_for_runs", "copy_thread", "prune", "get_delta_channel_history")
_REQUIRED: Final = ("get_tuple", "list", "put", "put_writes", "delete_thread")
_CONTEXTS: Final = ("__enter__", "__exit__", "__aenter__", "__aexit__")


def has(inner: type, method: str) -> bool:
    """Whether a saver class offers a method by itself."""
    own = getattr(inner, method, None)
    return own is not None and own is not getattr(BaseCheckpointSaver, method, None)


_made: dict[type, type[Any]] = {}
_making: Final = ForkSafeLock()


def sealed_class(base: type, methods: type, inner: type) -> type[Any]:
    """The subclass of `base` that stands for `inner`; one for each class, so that equal savers have equal types.

    Args:
        base: `SealedSaver`, without any of the methods.
        methods: has every method that a saver can have.
        inner: the inner saver's class.
    """
    with _making:
        if inner not in _made:
            _made[inner] = _class(base, methods, inner)
        return _made[inner]


def _class(base: type, methods: type, inner: type) -> type[Any]:
    names = [*_CONTEXTS, *(prefix + name for name in (*_REQUIRED, *_OPTIONAL) for prefix in ("", "a"))]
    body = {name: methods.__dict__[name] for name in names if has(inner, name)}
    body["__doc__"] = f"A `SealedSaver` around a {inner.__name__}."
    body["__module__"] = base.__module__
    return type(f"Sealed{inner.__name__}", (base,), body)
