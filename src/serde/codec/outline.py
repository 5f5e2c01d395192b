"""The plain shape of a payload, and the classes it names: enough to count and to plan; nothing is imported, built or called.

Classes are found where objects of a class lie, not in type expressions among the values: whoever reads the payload decides for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import ormsgpack

from ...errors import DecodeError
from . import arrays, enums, exceptions, frame, instances, langgraph_reader, models, subclasses
from .trust import Name, Trust


class Unbuilt:
    """Stands in a shape for what is no plain value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBUILT"


UNBUILT: Final = Unbuilt()


@dataclass(frozen=True, slots=True)
class Outline:
    """A payload that was looked through and not read.

    Args:
        shape: the plain containers and scalars down to the first object of another kind, which is `UNBUILT`; not to be shown or returned.
        names: classes of the objects in it, in the order met.
    """

    shape: Any
    names: tuple[Name, ...] = ()


_ONE_HEAD: Final = frozenset(
    kind.code for kind in (instances.INSTANCE, subclasses.SUBCLASS, enums.ENUM, exceptions.EXCEPTION, arrays.SUBCLASS)
)
_MANY_HEADS: Final = models.MODEL.code
_CLASS_CODES: Final = range(6)  # LangGraph's extensions whose content begins with module and name
_DELTA: Final = 7
_MAX_NESTING: Final = 200  # as langgraph_reader's


def outline(tag: str, data: bytes) -> Outline:
    """The outline of a payload of msgpack1 or of LangGraph's.

    Raises:
        DecodeError: it is damaged, or of another format.
    """
    try:
        if tag in ("null", "bytes", "bytearray"):
            return Outline(langgraph_reader.loads(tag, data, Trust()))
        if tag == "json":  # what its envelopes name and is not allowed stays a dict, so nothing has to be named
            return Outline(json.loads(str(data, "utf-8")))
        if tag == "msgpack":
            found: dict[Name, None] = {}
            return Outline(_unpacked(data, found, 0), tuple(found))
        if tag == "msgpack1":
            return _own(data)
    except (ValueError, TypeError, LookupError, RecursionError) as exc:
        raise DecodeError(f"a stored value does not decode ({type(exc).__name__}): it was damaged, or written by something else") from None
    raise DecodeError(f"a value tagged {tag[:60]!r} has no outline: its format is not known here, or not read without running code")


def _unpacked(data: bytes, found: dict[Name, None], depth: int) -> Any:
    """The shape of LangGraph's msgpack; the names in it go to `found`."""

    def extension(code: int, inner: bytes) -> Any:
        if depth >= _MAX_NESTING:
            raise ValueError("nested too deep")
        if code not in _CLASS_CODES and code != _DELTA:
            return UNBUILT
        value = _unpacked(inner, found, depth + 1)
        if code == _DELTA:
            from langgraph.checkpoint.serde.types import _DeltaSnapshot

            return _DeltaSnapshot(value)
        if isinstance(value, list) and (name := _named(value)) is not None:
            found[name] = None
        return UNBUILT

    return ormsgpack.unpackb(data, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)


def _own(data: bytes) -> Outline:
    """The outline of msgpack1: its first document is the value, the others are groups of objects by class."""
    _marker, documents, _buffers = frame.parse(data)
    first, *rest = (ormsgpack.unpackb(document, ext_hook=lambda _code, _data: UNBUILT) for document in documents)
    names = dict.fromkeys(name for document in rest for name in _heads(document))
    return Outline(first, tuple(names))


def _heads(document: Any) -> Iterator[Name]:
    _order, groups, _references = document
    for code, *columns in groups:
        heads = columns[:1] if code in _ONE_HEAD else [head[0] for head in columns[0]] if code == _MANY_HEADS else ()
        for head in heads:
            if (name := _named(head)) is not None:
                yield name


def _named(head: list[Any]) -> Name | None:
    module, qualname = head[:2]
    return (module, qualname) if type(module) is str and type(qualname) is str else None
