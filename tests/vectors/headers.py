"""Header vectors: every field with every kind of fault; nothing is encrypted here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import reference as ref
from .fixtures import BLOB, HEADER, KMS_HEADER, STORE_HEADER


def headers() -> Iterator[dict[str, Any]]:
    """Well-formed headers, then malformed ones."""
    yield from map(_good, _well_formed())
    for name, data in _malformed():
        yield {"name": name, "data": data.hex(), "expect": {"error": "EnvelopeError"}}


def _good(named: tuple[str, ref.Header, bytes]) -> dict[str, Any]:
    name, header, body = named
    return {
        "name": name,
        "data": (header.core() + header.block() + body).hex(),
        "expect": {
            "kind": header.kind,
            "key_id": header.key_id,
            "check": header.check.hex(),
            "roots": [{"root": root, "wrapped": wrapped.hex()} for root, wrapped in header.roots],
            "core": header.core().hex(),
            "body": body.hex(),
        },
    }


def _well_formed() -> Iterator[tuple[str, ref.Header, bytes]]:
    check = bytes.fromhex("00ff00ff")
    yield "keyring", HEADER, b"body"
    yield "keyring, no body", HEADER, b""
    yield "key id of 1 character", ref.Header(1, "a", check), b"body"
    yield "key id of 32 characters", ref.Header(1, "k" * 32, check), b"body"
    yield "key id of dots, which is no path here", ref.Header(1, "..", check), b"body"
    for part in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789._-"):
        yield f"key id {part}", ref.Header(1, part, check), b"body"
    yield "key store", STORE_HEADER, b"body"
    yield "wrapped under two roots", KMS_HEADER, b"body"
    yield "wrapped under one root, 1 byte", ref.Header(2, "dk", check, (("r", b"\0"),)), b"body"
    yield "wrapped under one root, 6144 bytes", ref.Header(2, "dk", check, (("r" * 32, ref.stream("long blob", 6144)),)), b"body"
    yield "wrapped under eight roots", ref.Header(2, "dk", check, tuple((f"root-{n}", bytes((n,))) for n in range(8))), b"body"
    yield "the same wrapped key under two roots", ref.Header(2, "dk", check, (("a", BLOB), ("b", BLOB))), b"body"


def _malformed() -> Iterator[tuple[str, bytes]]:
    good = HEADER.core()
    for at in range(4):
        yield f"magic byte {at} changed", _with(good, at, good[at] ^ 1)
    yield "magic in lower case", good[:1] + good[1:4].lower() + good[4:]
    yield "a byte before the magic", b"\0" + good
    for number in (0, 2, 255):
        yield f"version {number}", _with(good, 4, number)
        yield f"suite {number}", _with(good, 5, number)
    for number in (0, 4, 255):
        yield f"key kind {number}", _with(good, 6, number)
    yield "key id length 0", good[:7] + b"\0" + HEADER.check
    yield "key id length 33", good[:7] + b"\x21" + b"k" * 33 + HEADER.check
    yield "key id length 255", good[:7] + b"\xff" + b"k" * 255 + HEADER.check
    for number in (0x00, 0x0A, 0x20, 0x2B, 0x2C, 0x2F, 0x3A, 0x40, 0x5B, 0x60, 0x7B, 0x7F, 0x80, 0xC3, 0xFF):
        yield f"key id ends with byte {number:02x}", _with(good, 14, number)
    for length in range(len(good)):
        yield f"keyring header cut to {length} bytes", good[:length]
    yield from _malformed_blocks()


def _malformed_blocks() -> Iterator[tuple[str, bytes]]:
    core, entry = KMS_HEADER.core(), ref.Header(2, "dk", bytes(4), (("kms-eu", BLOB),)).block()[1:]
    yield "no key block", core
    yield "key block of 0 entries", core + b"\0"
    yield "key block of 9 entries", core + b"\x09" + b"".join(bytes((2,)) + b"r%d" % n + b"\0\1x" for n in range(9))
    yield "key block of 255 entries", core + b"\xff" + b"".join(bytes((4,)) + b"r%03d" % n + b"\0\1x" for n in range(255))
    yield "key block that counts one entry too many", core + b"\2" + entry
    yield "root of length 0", core + b"\1\0" + entry[7:]
    yield "root of length 33", core + b"\1\x21" + b"r" * 33 + entry[7:]
    yield "root with a slash", core + b"\1" + entry.replace(b"kms-eu", b"kms/eu")
    yield "root with a byte over 127", core + b"\1" + entry.replace(b"kms-eu", b"kms\xe9eu")
    yield "root named twice", core + b"\2" + entry + entry
    yield "root named twice, with different wrapped keys", core + b"\2" + entry + entry[:-1] + b"\0"
    yield "wrapped key of length 0", core + b"\1" + entry[:7] + b"\0\0"
    yield "wrapped key of length 6145", core + b"\1" + entry[:7] + (6145).to_bytes(2, "big") + bytes(6145)
    yield "wrapped key of length 65535, cut", core + b"\1" + entry[:7] + b"\xff\xff" + bytes(100)
    for name, length in [("count", 1), ("root length", 2), ("root", 5), ("wrapped length", 9), ("wrapped key", 20), ("last byte", 49)]:
        yield f"key block cut in or behind its {name}", (core + b"\1" + entry)[: len(core) + length]
    yield "key block cut inside its second entry", (core + KMS_HEADER.block())[:-1]


def _with(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes((value,)) + data[at + 1 :]
