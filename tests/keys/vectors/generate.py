"""Writes keys-v1.json beside it, from docs/spec/keys-v1.md; it does not import the package.

Run ``python -m tests.keys.vectors.generate`` from the root of the repository. Most objects are failures with one fault each.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.vectors import reference as ref

FILE = Path(__file__).with_name("keys-v1.json")
MATERIAL = ref.stream("keys-v1/thread key", 32)
MASTER = ref.stream("keys-v1/master", 32)
BLOB = ref.stream("keys-v1/wrapped", 40)
UNIQUE = ref.stream("keys-v1/unique", 16)
ERASURE = ref.stream("keys-v1/erasure", 16)
KEY_ID = "g3-0123456789abcdef0123"
SINCE = 1_796_046_222_123


def canonical(context: dict[str, str]) -> bytes:
    """The byte form of a context."""
    out = b""
    for name, value in sorted(context.items()):
        for part in (name.encode(), value.encode()):
            out += struct.pack(">I", len(part)) + part
    return out


def contexts() -> Iterator[dict[str, Any]]:
    """Contexts as pairs and as bytes."""
    data = {"sealpoint": "data-key/1", "key": "0123456789abcdef01234567"}
    thread = {"sealpoint": "thread-key/1", "key": KEY_ID, "thread": "ab" * 32, "generation": "3"}
    for name, scope, pairs in (
        ("data key", "", data),
        ("data key in a scope", "billing", data),
        ("thread key", "", thread),
        ("thread key in a scope", "Zürich", thread),
    ):
        full = {**pairs, "scope": scope} if scope else pairs
        yield {"name": name, "pairs": full, "canonical": canonical(full).hex()}


def thread_name(scope: str, thread: str, material: bytes | None, label: bytes = b"sealpoint/v1/thread-name") -> str:
    """The hash that stands for a thread."""
    message = b""
    for part in (label, ref.text(scope), ref.text(thread)):
        message += struct.pack(">I", len(part)) + part
    if material is None:
        return hashlib.sha256(message).hexdigest()
    return hmac.digest(ref.subkey(material, "sealpoint/v1/thread-name"), message, "sha256").hex()


def names() -> Iterator[dict[str, Any]]:
    """Thread names, plain and keyed."""
    for scope, thread in (("", "t-1"), ("app", "t-1"), ("ap", "pt-1"), ("", ""), ("", "ada@example.org"), ("", "Zürich")):
        for material in (None, MASTER):
            keyed = material.hex() if material else None
            name = f"{thread!r} in scope {scope!r}, {'keyed' if material else 'plain'}"
            yield {"name": name, "scope": scope, "thread": thread, "material": keyed, "expect": thread_name(scope, thread, material)}


def stored_names() -> Iterator[dict[str, Any]]:
    """The same for stored ids: never a thread's own name."""
    label = b"sealpoint/v1/stored-thread-name"
    for scope, stored in (("", "t-1"), ("app", "tk-2026-" + "ab" * 32)):
        for material in (None, MASTER):
            keyed = material.hex() if material else None
            name = f"{stored[:8]!r} stored in scope {scope!r}, {'keyed' if material else 'plain'}"
            expect = thread_name(scope, stored, material, label)
            yield {"name": name, "scope": scope, "stored": stored, "material": keyed, "expect": expect}


def start(state: int, generation: int, scope: bytes) -> bytes:
    """The fields that live and ended objects share."""
    return b"\xc1SLK" + bytes((1, state)) + UNIQUE + struct.pack(">IQH", generation, SINCE, len(scope)) + scope


def live(
    scope: bytes = b"app", generation: int = 3, key_id: str = KEY_ID, roots: tuple[tuple[str, bytes], ...] = (("main", BLOB),)
) -> bytes:
    """A live key object."""
    header = ref.Header(ref.WRAPPED, key_id, ref.check_value(MATERIAL), roots)
    return start(1, generation, scope) + header.core() + header.block()


def ended(
    generation: int = 3, key_id: bytes = KEY_ID.encode(), roots: tuple[bytes, ...] = (b"main", b"bao"), scope: bytes = b"app"
) -> bytes:
    """An ended key object."""
    tail = ERASURE + struct.pack(">Q", SINCE + 300_000) + bytes((len(key_id),)) + key_id + bytes((len(roots),))
    return start(2, generation, b"app") + tail + b"".join(bytes((len(root),)) + root for root in roots)


def objects() -> Iterator[dict[str, Any]]:
    """Key objects, well-formed and not."""
    usual = {"state": "live", "generation": 3, "scope": "app", "key_id": KEY_ID, "roots": ["main"]}
    for name, data, fields in (
        ("live", live(), usual),
        ("live under two roots", live(roots=(("a", BLOB), ("b", BLOB))), {**usual, "roots": ["a", "b"]}),
        ("live without a scope", live(b""), {**usual, "scope": ""}),
        ("live with the longest scope", live(b"s" * 1024), {**usual, "scope": "s" * 1024}),
        ("ended", ended(), {**usual, "state": "ended", "roots": ["main", "bao"]}),
        ("ended before it had a key", ended(0, b"", ()), {"state": "ended", "generation": 0, "scope": "app", "key_id": "", "roots": []}),
    ):
        yield {"name": name, "data": data.hex(), "expect": fields}
    for name, data in malformed():
        yield {"name": name, "data": data.hex(), "expect": {"error": "EnvelopeError"}}


def malformed() -> Iterator[tuple[str, bytes]]:
    """One fault each."""
    good, gone = live(), ended()
    yield "empty", b""
    yield "an envelope's magic", b"\xc1SLP" + good[4:]
    for number in (0, 2, 255):
        yield f"version {number}", good[:4] + bytes((number,)) + good[5:]
    for number in (0, 3, 255):
        yield f"state {number}", good[:5] + bytes((number,)) + good[6:]
    yield "live, generation 0", live(generation=0)
    yield "live, a byte behind it", good + b"\0"
    yield "live, without wrapped keys", start(1, 3, b"app") + ref.Header(ref.KEYRING, KEY_ID, ref.check_value(MATERIAL)).core()
    yield "live, a header of kind 3", start(1, 3, b"app") + ref.Header(ref.STORED, KEY_ID, ref.check_value(MATERIAL)).core()
    yield "live, without a header", start(1, 3, b"app")
    yield "scope of 1,025 bytes", live(b"s" * 1025)
    yield "scope longer than the object", good[:34] + b"\x03\xff" + good[36:]
    yield "scope that is no UTF-8", live(b"\xff\xfe")
    yield "scope with a surrogate", live(b"\xed\xa0\x80")
    yield "ended, a byte behind it", gone + b"\0"
    yield "ended, generation 0 with a key id", ended(0)
    yield "ended, generation 3 without a key id", ended(3, b"")
    yield "ended, a root without a name", ended(roots=(b"",))
    yield "ended, a root of 33 bytes", ended(roots=(b"r" * 33,))
    yield "ended, a root with a slash", ended(roots=(b"a/b",))
    yield "ended, 9 roots", ended(roots=(b"r",) * 9)
    yield "ended, a key id of 33 bytes", ended(key_id=b"k" * 33)
    yield "ended, a key id with a space", ended(key_id=b"g3 0")
    for length in (4, 5, 21, 35, 38):
        yield f"cut to {length} bytes", good[:length]
    for length in (40, 54, 62, 70, len(gone) - 1):
        yield f"ended, cut to {length} bytes", gone[:length]


def local() -> Iterator[dict[str, Any]]:
    """Keys wrapped under a local root."""
    context = {"sealpoint": "data-key/1", "key": "0123456789abcdef01234567", "scope": "billing"}
    salt = ref.stream("keys-v1/salt", 24)
    header = ref.Header(ref.KEYRING, "master", ref.check_value(MASTER))
    good = ref.seal(header, MASTER, 5, "", canonical(context), MATERIAL, salt)
    other = {**context, "scope": "other"}
    serializer = ref.seal(header, MASTER, 1, "", canonical(context), MATERIAL, salt)
    stranger = ref.seal(ref.Header(ref.KEYRING, "other", header.check), MASTER, 5, "", canonical(context), MATERIAL, salt)
    for name, wrapped, pairs, expect in (
        ("unwraps", good, context, {"key": MATERIAL.hex()}),
        ("another scope", good, other, {"error": "AuthenticationError"}),
        ("a pair fewer", good, {name: value for name, value in context.items() if name != "scope"}, {"error": "AuthenticationError"}),
        ("another form", serializer, context, {"error": "AuthenticationError"}),
        ("the last byte changed", good[:-1] + bytes((good[-1] ^ 1,)), context, {"error": "AuthenticationError"}),
        ("no envelope", good[1:], context, {"error": "AuthenticationError"}),
        ("a master key that is not there", stranger, context, {"error": "UnknownKeyError"}),
    ):
        yield {"name": name, "master": MASTER.hex(), "wrapped": wrapped.hex(), "pairs": pairs, "expect": expect}


def generated() -> str:
    """The text of the file."""
    body = {
        "about": "docs/spec/keys-v1.md",
        "contexts": list(contexts()),
        "names": list(names()),
        "stored names": list(stored_names()),
        "objects": list(objects()),
        "local": list(local()),
    }
    return json.dumps(body, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(generated(), encoding="ascii")
