"""Writes the vectors of the object layout beside it, from docs/spec/object-layout-v1.md alone; it does not import the package.

Run ``python -m tests.savers.vectors.generate`` from the root of the repository.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

FOLDER = Path(__file__).parent
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".lower()
PLAIN = "abcdefghijklmnopqrstuvwxyz0123456789_-"
GREGORIAN = 122192928000000000

THREADS = [
    "user-42", "Alice", "", "a/b", "a", ".", "..", "t:1", "x" * 200, "x" * 201, "\u00e9" * 66, "\u00e9" * 67, "\U0001f9ea", "a.2fb",
    "\ud800", "a\x00b", "th-x", "1",
]  # fmt: skip
NAMESPACES = ["", "child:1", "parent:uuid|child:uuid", "N", "y" * 300]
UUIDS = [
    "1ef4f797-8335-6428-8001-8a1503f9b875",
    "1ef4f797-8335-6428-bfff-ffffffffffff",
    "1b21dd21-3814-6000-8000-000000000000",
    "1b21dd21-3814-6000-8000-000000000001",
    "ffffffff-ffff-6fff-bfff-ffffffffffff",
]
OTHERS = [
    "1", "10", "2", "a", "ab", "\u00e9", "\U0001f9ea", "p" * 96, "p" * 97, "p" * 64 + "q" * 40, "1EF4F797-8335-6428-8001-8A1503F9B875",
    "1ef4f797-8335-4428-8001-8a1503f9b875", "1b21dd21-3813-6fff-8000-000000000000", "1ef4f797-8335-6428-c001-8a1503f9b875", "\ud800",
]  # fmt: skip
BAD_SEGMENTS = {
    "no marker": "user-42", "a capital": "t-Alice", "an escape in capitals": "t-.2F", "an escape that was not needed": "t-.61",
    "a cut escape": "t-a.2",
    "no UTF-8": "t-.ff", "a hash": "th-" + "0" * 64, "another marker": "x-a",
}  # fmt: skip
BAD_NAMES = {
    "no kind": "o9ez", "another kind": "o9ez.x", "a call that is too short": "o9ez.w.01hnvegyf9183000400",
    "a call over 128 bits": "o9ez.w.8" + "0" * 25, "a character outside the alphabet": "o9ez.w.01hnvegyf91830004088z6jg8u",
    "half a byte": "o9z.c",
    "two halves that do not match": "u7" + "z" * 25 + "-" + "0" * 25 + "1.c",
    "a ULID that is no UUIDv6": "u7" + "z" * 24 + "y-" + "0" * 25 + "1.c",
    "a UUIDv6 spelt as another id": None, "an id that had to be hashed": "o" + "8f" * 97 + "z.c", "empty": "", "capitals": "O9EZ.c",
}  # fmt: skip


def utf8(text: str) -> bytes:
    """As the specification says."""
    return text.encode("utf-8", "surrogatepass")


def escape(text: str) -> str:
    """As the specification says."""
    return "".join(chr(byte) if chr(byte) in PLAIN else "." + bytes([byte]).hex() for byte in utf8(text))


def segment(marker: str, text: str) -> str:
    """A thread's or namespace's segment."""
    short = escape(text)
    return f"{marker}-{short}" if len(short) <= 200 else f"{marker}h-{hashlib.sha256(utf8(text)).hexdigest()}"


def base32(number: int) -> str:
    """26 characters."""
    digits = ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits = ALPHABET[digit] + digits
    return digits


def ulid(text: str) -> int:
    """From the fields that the standard library finds in the UUID."""
    value = uuid.UUID(text)
    ticks = (value.time_low << 28 | value.time_mid << 12 | value.time_hi_version & 0xFFF) - GREGORIAN
    sequence = (value.clock_seq_hi_variant & 0x3F) << 8 | value.clock_seq_low
    return ((ticks // 10000 << 14 | ticks % 10000) << 14 | sequence) << 52 | value.node << 4


def sort(text: str) -> str:
    """The sort component of an id; which ids are UUIDv6 is said by the lists above."""
    if text in UUIDS:
        number = ulid(text)
        return f"u{base32(2**128 - 1 - number)}-{base32(number)}"
    data = utf8(text)
    if len(data) <= 96:
        return "o" + bytes(0xFF ^ byte for byte in data).hex() + "z"
    return "o" + bytes(0xFF ^ byte for byte in data[:64]).hex() + "y" + hashlib.sha256(data).hexdigest()


def hashed(key_id: str, key: bytes, scope: str, text: str) -> str:
    """A thread's segment under a naming key."""
    sub = HKDF(SHA512(), 32, None, b"sealpoint/v1/thread-name").derive(key)
    message = len(utf8(scope)).to_bytes(4, "big") + utf8(scope) + utf8(text)
    return f"tk-{escape(key_id)}-{hmac.new(sub, message, 'sha256').hexdigest()}"


def generated() -> str:
    """The file's text."""
    key = bytes(range(32))
    bad_names = {**BAD_NAMES, "a UUIDv6 spelt as another id": "o" + bytes(0xFF ^ byte for byte in UUIDS[0].encode()).hex() + "z.c"}
    body: dict[str, Any] = {
        "about": "Keys of the object layout, version 1: ids to segments, sort components and back, and names that are none",
        "threads": [{"id": text, "segment": segment("t", text)} for text in THREADS],
        "namespaces": [{"id": text, "segment": segment("n", text)} for text in NAMESPACES],
        "hashed_threads": [
            {"key_id": key_id, "key": key.hex(), "scope": scope, "id": text, "segment": hashed(key_id, key, scope, text)}
            for key_id, scope, text in (
                ("names-1", "", "user-42"),
                ("Names.1", "app", "user-42"),
                ("names-1", "", ""),
                ("names-1", "\u00e9", "x" * 300),
            )
        ],
        "checkpoints": [{"id": text, "sort": sort(text), "readable": len(utf8(text)) <= 96} for text in [*UUIDS, *OTHERS]],
        "order": [sorted(UUIDS, reverse=True), sorted([text for text in OTHERS if len(utf8(text)) <= 96], reverse=True)],
        "not_segments": [{"why": why, "segment": text} for why, text in BAD_SEGMENTS.items()],
        "not_names": [{"why": why, "name": text} for why, text in bad_names.items()],
    }
    return json.dumps(body, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    (FOLDER / "layout.json").write_text(generated(), encoding="ascii")
