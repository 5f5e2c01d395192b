"""Runs of bytes: inside a document while small, outside when large; copied a slice at a time and never more than once."""

from __future__ import annotations

from typing import Any

from .frame import copied_bytes, copy_into
from .kind import BufferSource, Reading, Writing
from .scan import LARGE


def of_bytes(raw: bytes | bytearray | memoryview, out: Writing) -> Any:
    """What stands in the row: the bytes, or the number of the buffer that will hold them."""
    if len(raw) < LARGE:
        return bytes(raw)
    view = memoryview(raw)
    return out.add_buffer(BufferSource(len(view), lambda room: copy_into(room, view)))


def read_view(stored: Any, source: Reading) -> memoryview:
    """The bytes that `of_bytes` put away, in place."""
    if type(stored) is bytes:
        return memoryview(stored)
    return source.buffer(stored)


def read_bytes(stored: Any, source: Reading, kind: type) -> Any:
    """The bytes that `of_bytes` put away, as `bytes` or `bytearray` of their own."""
    view = read_view(stored, source)
    if kind is bytes:
        return stored if type(stored) is bytes else copied_bytes(view)
    made = bytearray(len(view))
    with memoryview(made) as room:
        copy_into(room, view)
    return made
