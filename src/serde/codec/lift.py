"""The slow path: wraps what msgpack cannot hold, or would change, so that `default()` is asked about it; it encodes nothing itself."""

from __future__ import annotations

from typing import Any, Final

from .kind import UnstorableError
from .scan import LARGE, UNASKED


class Pairs:
    """A dict whose keys are not all plain str."""

    __slots__ = ("mapping",)

    def __init__(self, mapping: dict[Any, Any]) -> None:
        self.mapping = mapping


class Text:
    """A str with lone surrogates, which UTF-8 has no room for."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value


class Octets:
    """Bytes of 64 KiB or more, or a bytearray."""

    __slots__ = ("value",)

    def __init__(self, value: bytes | bytearray) -> None:
        self.value = value


TOO_DEEP: Final = "it is nested too deep or contains itself; at most {} containers fit directly inside one another"


def lifted(root: Any, max_depth: int) -> Any:
    """A copy of the plain containers of `root` in which everything that ormsgpack would refuse or change is wrapped.

    Raises:
        UnstorableError: a memoryview, Ext or Fragment (ormsgpack would write it raw), or more than `max_depth` nested containers.
    """
    top: list[Any] = []
    stack: list[tuple[Any, Any, int]] = [([root], top, 0)]
    while stack:
        source, target, depth = stack.pop()
        if depth > max_depth:
            raise UnstorableError(TOO_DEEP.format(max_depth))
        if type(source) is dict:
            for key, value in source.items():
                target[key] = _lifted_value(value, stack, depth + 1)
        else:
            for value in source:
                target.append(_lifted_value(value, stack, depth + 1))
    return top[0]


def _lifted_value(value: Any, stack: list[tuple[Any, Any, int]], depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() or _encodable(value) else Text(value)
    if kind is list:
        fresh_list: list[Any] = []
        stack.append((value, fresh_list, depth))
        return fresh_list
    if kind is dict:
        if not all(type(key) is str and (key.isascii() or _encodable(key)) for key in value):
            return Pairs(value)
        fresh_dict: dict[str, Any] = {}
        stack.append((value, fresh_dict, depth))
        return fresh_dict
    if (kind is bytes and len(value) >= LARGE) or kind is bytearray:
        return Octets(value)
    if kind in UNASKED:
        raise UnstorableError("it would be written raw or come back as something else; store bytes(value) instead", value)
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
