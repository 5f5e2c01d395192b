"""Bytes of msgpack1 to an object: documents from the last to the first, one native call each; the types are the kinds' business."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import ormsgpack

from ...errors import DecodeError, SealpointError
from . import dispatch, frame
from .drift import DriftPolicy
from .kind import MalformedError, Reading, UnstorableError, allowance
from .registry import Codec
from .trust import Trust

_DAMAGED: Final = "a stored value does not decode: it was not written by this serializer, or was changed since"


def loads(data: bytes, *, trust: Trust, drift: DriftPolicy, codecs: Mapping[str, Codec], authenticated: bool, pickle: bool) -> Any:
    """The object that `writer.dumps` was given.

    Raises:
        DecodeError: the bytes are not what it wrote.
        MemoryError: there is not enough memory for it, which says nothing about the bytes.
        TypeRefusedError, MissingTypeError, SchemaDriftError: a type is not allowed, not there, or has changed.
    """
    marker, documents, buffers = frame.parse(data)
    found: list[Any] = []
    try:
        if len(documents) > 1:
            source = Reading(
                authenticated,
                allowance(len(data)),
                trust=trust,
                drift=drift,
                codecs=codecs,
                classify=dispatch.code_of,
                pickle=pickle,
                buffers=list(buffers),
            )
            for document in documents[:0:-1]:
                found = _objects(_unpacked(document, marker, found), source)
            if source.buffers.count(None) != len(buffers):
                raise MalformedError
        elif buffers:
            raise MalformedError
        return _unpacked(documents[0], marker, found)
    except SealpointError:
        raise
    except MemoryError:
        raise
    except MalformedError as exc:
        raise DecodeError(_DAMAGED) from exc
    except RecursionError:
        raise DecodeError("a stored value is nested deeper than this thread can follow; read it with a higher recursion limit") from None
    except UnstorableError as exc:
        raise DecodeError(f"{_DAMAGED} ({exc.reason})") from None
    except Exception as exc:  # noqa: BLE001 - whatever rebuilding raises on hostile bytes, the value does not decode
        # The text of a foreign error can quote the value, so only its type is passed on.
        raise DecodeError(f"{_DAMAGED} ({type(exc).__name__})") from None


def _unpacked(document: memoryview, marker: bytes, found: list[Any]) -> Any:
    """One document, its references replaced by the objects in `found`, all of them and in order."""
    following: Iterator[Any] = iter(found)

    def reference(code: int, data: bytes) -> Any:
        if data != marker or code != frame.REFERENCE:
            raise MalformedError
        return next(following)

    unpacked = ormsgpack.unpackb(document, ext_hook=reference)
    for _left in following:
        raise MalformedError
    return unpacked


def _objects(payload: Any, source: Reading) -> list[Any]:
    """The objects of a document, in the order in which the document before refers to them."""
    order, groups, references = payload
    made = [_group(group, source) for group in groups]
    if order is None:
        (objs,) = made
    else:
        iterators: list[Iterator[Any]] = [iter(group) for group in made]
        objs = list(map(next, map(iterators.__getitem__, order)))
        if len(objs) != sum(map(len, made)):
            raise MalformedError
    return objs if references is None else list(map(objs.__getitem__, references))


def _group(group: Any, source: Reading) -> list[Any]:
    code, *columns = group
    kind = dispatch.BY_CODE.get(code)
    if kind is None:
        raise DecodeError(f"a stored value has a part of kind {code!r:.20}, which this release does not know; upgrade to read it")
    return kind.decode(columns, source)
