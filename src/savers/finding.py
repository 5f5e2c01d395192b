"""Where the sealed values are in one cell of a store: msgpack or JSON around them, or an object of the object saver; it opens nothing.

Nothing vouches for a cell. So msgpack is stepped over token by token and none of it is built: no extension types but the wrapper that
`SealedSaver` writes, no keys are hashed, and depth and number of parts are bounded.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ..ciphers import looks_sealed
from ..ciphers.header import MAGIC
from ..errors import DecodeError, NotSealedError
from ..serde.codec.kind import shown
from .objects.format import MAGIC as OBJECT_MAGIC
from .objects.format import parse_frame

MAX_DEPTH: Final = 32
MAX_PARTS: Final = 1_000_000  # about a second
MAX_JSON: Final = 16 * 1024 * 1024  # bytes; parsed, it takes up to some twenty times as much
BASE64_START: Final = base64.b64encode(MAGIC)[:5].decode("ascii")

_DELTA: Final = 7  # LangGraph's _DeltaSnapshot (docs/spec/sealed-rows-v1.md, section 2)
# The msgpack specification, "Formats": the first byte, and the struct of the length behind it.
_LENGTHS: Final = {
    **dict.fromkeys((0xC4, 0xC7, 0xD9), ">B"),  # bytes, extensions, text
    **dict.fromkeys((0xC5, 0xC8, 0xDA, 0xDC, 0xDE), ">H"),  # the same, arrays, maps
    **dict.fromkeys((0xC6, 0xC9, 0xDB, 0xDD, 0xDF), ">I"),
}
_FIXED: Final = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_U32: Final = struct.Struct(">I")


class SeveralError(Exception):
    """What was given goes on behind the end of its first value."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sealed value.

    Args:
        where: its place in what was given: keys and positions joined by dots, or "" for the whole.
        data: its bytes.
    """

    where: str
    data: bytes = field(repr=False)


def find(data: bytes) -> list[Found]:
    """The sealed values in `data`, in their order; `data` itself where it is nothing that could be around sealed values.

    Raises:
        NotSealedError: it is well-formed, and nothing in it is sealed.
        DecodeError: what is around sealed values is cut off or damaged, or there is too much of it to look through.
        SeveralError: it is several values.
    """
    if looks_sealed(data):
        return [Found("", data)]
    if data.startswith(OBJECT_MAGIC):
        frame = parse_frame(data)
        return [Found("", frame.cell), *([Found("names", frame.names)] if frame.names else ())]
    if (pair := _hidden(data)) is not None:
        return pair
    if data.lstrip()[:1] in (b"{", b"["):
        return _checked("JSON", list(_in_json(_parsed(data), "", _Parts())))
    try:
        walk = _Walk(data)
        found = list(walk.value("", 0))
    except _BrokenError:
        if MAGIC in data:
            raise DecodeError(
                "it holds a sealed value, and the msgpack around it is cut off or damaged; print the whole cell, for example with hex()"
            ) from None
        return [Found("", data)]
    if walk.at < len(data):
        if found:
            raise SeveralError
        return [Found("", data)]
    return _checked("msgpack", found) if walk.entered else [Found("", data)]


def _checked(form: str, found: list[Found]) -> list[Found]:
    if found:
        return found
    raise NotSealedError(
        f"this is well-formed {form} with no sealed value in it: it was stored unsealed, or what is sealed of this row lies in "
        "another column (a checkpoint without values has it in its metadata)"
    )


def _hidden(data: bytes) -> list[Found] | None:
    """A write whose channel is hidden: the channel's cell behind its length, then the write's (docs/spec/sealed-rows-v1.md, section 6)."""
    if len(data) < _U32.size or data[0]:
        return None
    end = _U32.size + _U32.unpack_from(data)[0]
    channel, write = data[_U32.size : end], data[end:]
    return [Found("channel", channel), Found("value", write)] if looks_sealed(channel) and looks_sealed(write) else None


class _BrokenError(Exception):
    """It is no msgpack."""


class _Parts:
    """Counts what was looked at, and stops where it is too much."""

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def count(self, depth: int) -> None:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise DecodeError(
                f"it has more than {MAX_PARTS:,} parts or {MAX_DEPTH} levels, more than is looked through; give a sealed value by itself"
            )


class _Walk:
    """Steps over one msgpack document.

    Args:
        data: the bytes.
        parts: counts, with those of the document that this one lies in.
    """

    def __init__(self, data: bytes, parts: _Parts | None = None) -> None:
        self._data = data
        self._parts = parts or _Parts()
        self.at = 0
        self.entered = False
        """Whether it holds something: a container, bytes, the wrapper of a delta snapshot. A bare number or text is not worth naming."""

    def value(self, where: str, depth: int) -> Iterator[Found]:
        """The sealed values in the value that begins here; afterwards `at` is behind it."""
        self._parts.count(depth)
        first = self._take(1)[0]
        if 0x80 <= first <= 0x9F:
            yield from self._container(first < 0x90, first & 0x0F, where, depth)
        elif 0xDC <= first <= 0xDF:
            yield from self._container(first >= 0xDE, self._length(first), where, depth)
        elif first in (0xC4, 0xC5, 0xC6):
            self.entered = True
            data = self._take(self._length(first))
            if looks_sealed(data):
                yield Found(where, data)
        elif first in (0xC7, 0xC8, 0xC9) or 0xD4 <= first <= 0xD8:
            size = self._length(first) if first <= 0xC9 else 1 << (first - 0xD4)
            code, data = self._take(1)[0], self._take(size)
            if code == _DELTA:
                self.entered = True
                yield from _Walk(data, self._parts).value(where, depth + 1)
        else:
            self._scalar(first)

    def _container(self, is_map: bool, size: int, where: str, depth: int) -> Iterator[Found]:
        self.entered = True
        for position in range(size):
            name = self._key(depth + 1) if is_map else str(position)
            yield from self.value(f"{where}.{name}" if where else name, depth + 1)

    def _key(self, depth: int) -> str:
        """A map's key, fit to be shown; what is no text has no name."""
        start = self.at
        for _ in self.value("", depth):
            pass
        first = self._data[start]
        size = {0xD9: 2, 0xDA: 3, 0xDB: 5}.get(first, 1)
        is_text = 0xA0 <= first <= 0xBF or 0xD9 <= first <= 0xDB
        return shown(self._data[start + size : self.at].decode("utf-8", "replace")) if is_text else "?"

    def _scalar(self, first: int) -> None:
        if first <= 0x7F or first >= 0xE0:
            return
        if 0xA0 <= first <= 0xBF:
            self._take(first & 0x1F)
        elif 0xD9 <= first <= 0xDB:
            self._take(self._length(first))
        elif first in _FIXED:
            self._take(_FIXED[first])
        else:  # C1, which msgpack never uses
            raise _BrokenError

    def _length(self, first: int) -> int:
        form = struct.Struct(_LENGTHS[first])
        (length,) = form.unpack(self._take(form.size))
        return int(length)

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise _BrokenError
        taken, self.at = self._data[self.at : end], end
        return taken


def _parsed(data: bytes) -> Any:
    if len(data) > MAX_JSON:
        raise DecodeError(f"it is JSON of more than {MAX_JSON >> 20} MiB, more than is looked through; give a sealed value by itself")
    try:
        return json.loads(data)
    except json.JSONDecodeError as exc:
        if exc.msg == "Extra data":
            raise SeveralError from None
        raise DecodeError(f"it starts like JSON and is none from character {exc.pos} on: it was cut off, or is something else") from None
    except (ValueError, RecursionError):
        raise DecodeError("it starts like JSON, and no saver writes such: it is not UTF-8, too deep, or has a number too long") from None


def _in_json(value: Any, where: str, parts: _Parts, depth: int = 0) -> Iterator[Found]:
    """The texts in `value` that are sealed values in base64."""
    parts.count(depth)
    if isinstance(value, str) and value.startswith(BASE64_START):
        try:
            yield Found(where, base64.b64decode(value, validate=True))
        except (ValueError, binascii.Error):
            raise DecodeError(f"{where}: it starts like a sealed value in base64, and is cut off or damaged") from None
    elif isinstance(value, (dict, list)):
        named = ((shown(key), inner) for key, inner in value.items()) if isinstance(value, dict) else enumerate(value)
        for name, inner in named:
            yield from _in_json(inner, f"{where}.{name}" if where else str(name), parts, depth + 1)
