"""The outer shape of msgpack1: sizes, a marker, documents, buffers; what is in them is not its business.

Layout (big-endian; docs/spec/msgpack1.md)::

    1   version, 0x01
    8   marker, random for every message with references (else zeros); the only Ext a document may hold is code 1 with exactly these bytes
    2   number of documents, 1 to 256
    4   number of buffers
    8 × documents, then 8 × buffers: their sizes in bytes
    the documents, then the buffers
"""

from __future__ import annotations

import os
import struct
from typing import Final

from ...ciphers.buffers import OutputBuffer
from ...errors import DecodeError
from .kind import BufferSource

VERSION: Final = 1
REFERENCE: Final = 1  # the Ext code
MARKER_BYTES: Final = 8
NO_MARKER: Final = bytes(MARKER_BYTES)  # of a message without references
MAX_DOCUMENTS: Final = 256  # one for the value, 255 for levels of other objects: something has to stop values that are too deep to free
SLICE: Final = 4 * 1024 * 1024  # bytes copied at a stretch: other threads get their turn in between

_HEAD: Final = struct.Struct(">B8sHI")
_ONE: Final = struct.Struct(">B8sHIQ")  # the usual cases: a document alone
_TWO: Final = struct.Struct(">B8sHIQQ")  # and with one for its objects

_markers: list[bytes] = []


def fresh_marker() -> bytes:
    """Eight random bytes. They come from the system 256 at a time, because one call costs as much as packing a small state."""
    try:
        return _markers.pop()
    except IndexError:
        block = os.urandom(256 * MARKER_BYTES)
        _markers.extend(block[i : i + MARKER_BYTES] for i in range(MARKER_BYTES, len(block), MARKER_BYTES))
        return block[:MARKER_BYTES]


_forget_markers = _markers.clear
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_markers)


def marshal(marker: bytes, documents: list[bytes], buffers: list[BufferSource]) -> bytes:
    """The message; every buffer is copied once, straight into it."""
    if len(documents) == 1 and not buffers:
        return _ONE.pack(VERSION, marker, 1, 0, len(documents[0])) + documents[0]
    if len(documents) == 2 and not buffers:
        first, second = documents
        return b"".join((_TWO.pack(VERSION, marker, 2, 0, len(first), len(second)), first, second))
    sizes = [*map(len, documents), *(buffer.nbytes for buffer in buffers)]
    head = _HEAD.pack(VERSION, marker, len(documents), len(buffers)) + struct.pack(f">{len(sizes)}Q", *sizes)
    if not buffers:
        return b"".join((head, *documents))
    output = OutputBuffer(len(head) + sum(sizes))
    with output.view() as view:
        at = 0
        for piece in (head, *documents):
            copy_into(view[at : at + len(piece)], memoryview(piece))
            at += len(piece)
        for buffer in buffers:
            with view[at : at + buffer.nbytes] as room:
                buffer.write(room)
            at += buffer.nbytes
    return output.getvalue()


def parse(data: bytes) -> tuple[bytes, list[memoryview], list[memoryview]]:
    """Marker, documents and buffers.

    Raises:
        DecodeError: a later version, or sizes that do not add up.
    """
    if len(data) < _HEAD.size:
        raise DecodeError("a stored value is too short to be msgpack1; it was cut off, or written by something else")
    version, marker, documents, buffers = _HEAD.unpack_from(data)
    if version != VERSION:
        raise DecodeError(f"a stored value has version {version} of msgpack1; this release reads version {VERSION}: upgrade to read it")
    if documents == 1 and buffers == 0 and len(data) >= _ONE.size and _ONE.unpack_from(data)[4] == len(data) - _ONE.size:
        return marker, [memoryview(data)[_ONE.size :]], []
    at = _HEAD.size + 8 * (documents + buffers)
    if not 0 < documents <= MAX_DOCUMENTS or at > len(data):
        raise DecodeError("a stored value is damaged: its parts do not fit its size")
    sizes = struct.unpack_from(f">{documents + buffers}Q", data, _HEAD.size)
    if at + sum(sizes) != len(data):
        raise DecodeError("a stored value is damaged: its parts do not fit its size")
    view = memoryview(data)
    parts = []
    for size in sizes:
        parts.append(view[at : at + size])
        at += size
    return marker, parts[:documents], parts[documents:]


def copy_into(target: memoryview, source: memoryview) -> None:
    """Copies bytes of equal number, a slice at a time."""
    for start in range(0, len(source), SLICE):
        target[start : start + SLICE] = source[start : start + SLICE]


def copied_bytes(source: memoryview) -> bytes:
    """The same bytes as an object of their own, copied a slice at a time."""
    if len(source) <= SLICE:
        return bytes(source)
    output = OutputBuffer(len(source))
    with output.view() as view:
        copy_into(view, source)
    return output.getvalue()
