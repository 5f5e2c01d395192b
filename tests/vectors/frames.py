"""Compression vectors: zstd frames built by hand, whole and faulty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAGIC = bytes.fromhex("28b52ffd")
SKIPPABLE = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"
XXH64_ABC = bytes.fromhex("990977ad")  # the low 4 bytes of xxh64(b"abc", seed 0), little-endian


def zstd() -> Iterator[dict[str, Any]]:
    """Frames built by hand from RFC 8878, of raw and run-length blocks, so that they do not depend on a compressor."""
    for name, frame, plain in _frames():
        yield {"name": f"opens: {name}", "data": frame.hex(), "max_bytes": 1 << 20, "expect": {"plain": plain.hex()}}
    for name, frame in _bad_frames():
        yield {"name": name, "data": frame.hex(), "max_bytes": 1 << 20, "expect": {"error": "CompressionError"}}
    abc = _frame(3, _raw(b"abc"))
    for ceiling in (1, 2):
        yield {"name": f"over a ceiling of {ceiling}", "data": abc.hex(), "max_bytes": ceiling, "expect": {"error": "CompressionError"}}
    yield {"name": "opens: at the ceiling", "data": abc.hex(), "max_bytes": 3, "expect": {"plain": b"abc".hex()}}


def _frames() -> Iterator[tuple[str, bytes, bytes]]:
    yield "one raw block", _frame(3, _raw(b"abc")), b"abc"
    yield "one run", _frame(100, _run(b"z", 100)), b"z" * 100
    yield "two blocks", _frame(5, _raw(b"ab", last=False) + _run(b"c", 3)), b"abccc"
    yield "an empty block before the last", _frame(2, _raw(b"", last=False) + _raw(b"ab")), b"ab"
    yield "a size in 2 bytes", _frame(300, _run(b"z", 300)), b"z" * 300
    yield "a size in 4 bytes", _frame(3, _raw(b"abc"), width=4), b"abc"
    yield "a size in 8 bytes", _frame(3, _raw(b"abc"), width=8), b"abc"
    yield "a window descriptor", MAGIC + b"\x80\x00" + (3).to_bytes(4, "little") + _raw(b"abc"), b"abc"
    yield "a checksum", MAGIC + b"\x24\x03" + _raw(b"abc") + XXH64_ABC, b"abc"
    yield "nothing, in its one spelling", _frame(0, _raw(b"")), b""


def _bad_frames() -> Iterator[tuple[str, bytes]]:
    abc = _frame(3, _raw(b"abc"))
    yield "no size stated", MAGIC + b"\x00\x00" + _raw(b"abc")
    yield "no size stated, checksum", MAGIC + b"\x04\x00" + _raw(b"abc") + XXH64_ABC
    yield "a size stated too small", _frame(2, _raw(b"abc"))
    yield "a size stated too large", _frame(4, _raw(b"abc"))
    yield "a size one over the ceiling", _frame((1 << 20) + 1, _run(b"z", 128 * 1024), width=4)
    yield "a size of 2^63", _frame(1 << 63, _raw(b"abc"), width=8)
    yield "a size of 2^64 - 1", _frame((1 << 64) - 1, _raw(b"abc"), width=8)
    yield "a size of 2^64 - 2", _frame((1 << 64) - 2, _raw(b"abc"), width=8)
    yield "a size that so few bytes cannot hold", _frame(1 << 20, _raw(b"abc"), width=4)
    yield "two frames", abc + abc
    yield "a frame and nothing's frame", abc + _frame(0, _raw(b""))
    yield "one byte behind it", abc + b"\0"
    yield "a skippable frame alone", SKIPPABLE
    yield "an empty skippable frame alone", SKIPPABLE[:4] + bytes(4)
    yield "a skippable frame before", SKIPPABLE + abc
    yield "a skippable frame behind", abc + SKIPPABLE
    yield "a checksum that is wrong", MAGIC + b"\x24\x03" + _raw(b"abc") + b"\0" + XXH64_ABC[1:]
    yield "a checksum that is cut", MAGIC + b"\x24\x03" + _raw(b"abc") + XXH64_ABC[:3]
    yield "a reserved bit set", MAGIC + b"\x28\x03" + _raw(b"abc")
    yield "a reserved block type", MAGIC + b"\x20\x03" + _block(3, 3, b"abc")
    yield "a dictionary asked for", MAGIC + b"\x21\x07\x03" + _raw(b"abc")
    yield "no last block", MAGIC + b"\x20\x03" + _raw(b"abc", last=False)
    yield "nothing in a size of 8 bytes", _frame(0, _raw(b""), width=8)
    yield "nothing, with a byte behind it", _frame(0, _raw(b"")) + b"\0"
    yield "nothing stated, something inside", _frame(0, _raw(b"abc"))
    yield "nothing as an empty run", _frame(0, _run(b"z", 0))
    yield "no bytes", b""
    yield "plain text", b"msgpack"
    yield "a gzip stream", bytes.fromhex("1f8b080000000000000303000000000000000000")
    yield "another magic number", b"\x27" + abc[1:]
    for length in range(1, len(abc)):
        yield f"cut to {length} bytes", abc[:length]


def _frame(size: int, blocks: bytes, width: int = 0) -> bytes:
    width = width or (1 if size < 256 else 2)
    flag = {1: 0x20, 2: 0x60, 4: 0xA0, 8: 0xE0}[width]
    return MAGIC + bytes((flag,)) + (size - 256 if width == 2 else size).to_bytes(width, "little") + blocks


def _block(kind: int, size: int, content: bytes, last: bool = True) -> bytes:
    return (last | kind << 1 | size << 3).to_bytes(3, "little") + content


def _raw(content: bytes, last: bool = True) -> bytes:
    return _block(0, len(content), content, last)


def _run(byte: bytes, count: int) -> bytes:
    return _block(1, count, byte)
