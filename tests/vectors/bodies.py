"""Body vectors: every part of a body damaged, and every way to rearrange its chunks; sizes on both sides of every boundary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from . import reference as ref
from .cases import TAG, case, flip, shown
from .fixtures import CHANNEL, HEADER, KEY, KEYRING, OLD, PLAIN, UNBOUND, salt

START = len(HEADER.core())  # of the body
FIRST = START + 56  # of chunk 0
FULL = ref.CHUNK + 16
BAD = "AuthenticationError"

Piece = tuple[int, int] | bytes
"""A range of the sealed bytes, or bytes of its own."""


def small() -> Iterator[dict[str, Any]]:
    """Bodies of one chunk with one fault each."""
    end = FIRST + len(PLAIN)
    for name, at in [("salt", START), ("commitment", START + 24), ("chunk", FIRST), ("tag", end)]:
        yield case(f"body: first byte of the {name} changed", BAD, edit=flip(at))
    for name, at in [("salt", START + 23), ("commitment", FIRST - 1), ("chunk", end - 1), ("tag", end + 15)]:
        yield case(f"body: last byte of the {name} changed", BAD, edit=flip(at, 0x80))
    for length in (0, 1, 23, 24, 40, 55, 56, 57, 71, 72, 73, len(PLAIN) + 71):
        yield case(f"body: cut to {length} bytes", BAD, edit=lambda data, end=START + length: data[:end])
    yield case("body: of an empty message, tag cut by one byte", BAD, plain=b"", edit=lambda data: data[:-1])
    for extra in (b"\0", bytes(12), bytes(16), bytes(20), b"\xc1SLP"):
        yield case(f"body: followed by {extra.hex()}", BAD, edit=lambda data, extra=extra: data + extra)
    yield case("body: followed by its last chunk again", BAD, edit=lambda data: data + data[FIRST:])
    yield case("body: followed by the whole envelope again", BAD, edit=lambda data: data + data)
    yield case("body: one byte inserted before the chunk", BAD, edit=lambda data: data[:FIRST] + b"\0" + data[FIRST:])
    other = ref.seal(HEADER, KEY, 3, TAG, ref.context(CHANNEL), b"another one", salt("other"))
    yield case("body: salt of another envelope", BAD, edit=lambda data: data[:START] + other[START : START + 24] + data[START + 24 :])
    yield case("body: salt and commitment of another envelope", BAD, edit=lambda data: data[:START] + other[START:FIRST] + data[FIRST:])
    yield case("body: chunk of another envelope", BAD, edit=lambda data: data[:FIRST] + other[FIRST:])
    older = ref.seal(ref.Header(1, "2026-05", ref.check_value(OLD)), OLD, 3, TAG, ref.context(CHANNEL), PLAIN, salt("older"))
    yield case("body: of an envelope under another key", BAD, edit=lambda data: data[:START] + older[START:])
    yield from _without_context()


def _without_context() -> Iterator[dict[str, Any]]:
    """Bodies that are right but for what they were bound to."""
    place = ref.context(CHANNEL)
    for name, bound in [
        ("nothing", b""),
        ("a header without its check value", ref.bind(3, HEADER.core()[:-4], TAG, place)),
        ("no lengths", bytes((3,)) + HEADER.core() + TAG.encode() + place),
        ("the place before the tag", ref.bind(3, HEADER.core(), "", place) + TAG.encode()),
        ("one byte more", ref.bind(3, HEADER.core(), TAG, place) + b"\0"),
    ]:
        body = ref.seal_body(ref.seal_key(KEY), bound, PLAIN, salt(name))
        yield case(f"bound to {name}", BAD, envelope=HEADER.core() + body)
    whole = ref.bind(3, HEADER.core(), TAG, place)
    keys = [("the key itself", KEY), ("a sub-key of another label", ref.subkey(KEY, "sealpoint/v1/wrap"))]
    for name, key in keys:
        yield case(f"sealed under {name}", BAD, envelope=HEADER.core() + ref.seal_body(key, whole, PLAIN, salt(name)))


def large() -> Iterator[dict[str, Any]]:
    """Sizes that open, then messages of several chunks with their chunks damaged, lost, doubled and moved."""
    for length in (1024, 16383, 16384, 16385, 32767, 32768, 32769, 49152, 65535, 65536, 262_144, 1 << 20):
        yield _recipe(f"opens: {length} bytes", length, None)
    for length in (255 * ref.CHUNK, 256 * ref.CHUNK - 1, 256 * ref.CHUNK, 256 * ref.CHUNK + 1, 257 * ref.CHUNK + 1):
        yield _recipe(f"opens: {length} bytes, about where the chunk number needs a second byte", length, None)
    yield _recipe("opens: 40000 bytes without a place", 40_000, None, place=UNBOUND, form=1)
    for chunks, tail in [(2, 0), (2, 100), (4, 100)]:
        yield from _chunk_faults(chunks, tail)
    yield from _chunk_faults(256, 100)


def _chunk_faults(chunks: int, tail: int) -> Iterator[dict[str, Any]]:
    """`chunks` full chunks and a last one of `tail` bytes, with one fault each."""
    length = chunks * ref.CHUNK + tail
    start = [FIRST + number * FULL for number in range(chunks + 1)]
    end = start[-1] + tail + 16
    faults: list[tuple[str, list[Piece]]] = [
        ("first two chunks exchanged", [(0, FIRST), (start[1], start[2]), (FIRST, start[1]), (start[2], end)]),
        ("chunk 0 in place of chunk 1", [(0, start[1]), (FIRST, start[1]), (start[2], end)]),
        ("chunk 0 twice", [(0, start[1]), (FIRST, end)]),
        ("first chunk lost", [(0, FIRST), (start[1], end)]),
        ("second chunk lost", [(0, start[1]), (start[2], end)]),
        ("last chunk lost", [(0, start[-1])]),
        ("all but the last chunk lost", [(0, FIRST), (start[-1], end)]),
        ("cut behind the first chunk", [(0, start[1])]),
        ("cut inside the second chunk", [(0, start[1] + 5000)]),
        ("cut 15 bytes into the last chunk", [(0, start[-1] + 15)]),
        ("last tag cut by one byte", [(0, end - 1)]),
        ("last chunk first", [(0, FIRST), (start[-1], end), (FIRST, start[-1])]),
        ("last chunk twice", [(0, end), (start[-1], end)]),
        ("12 bytes behind it", [(0, end), bytes(12)]),
        ("20 bytes behind it", [(0, end), bytes(20)]),
        ("first byte of the second chunk replaced", [(0, start[1]), b"\0", (start[1] + 1, end)]),
        ("last byte of the second tag replaced", [(0, start[2] - 1), b"\0", (start[2], end)]),
        ("last byte replaced", [(0, end - 1), b"\0"]),
        ("first byte replaced", [(0, FIRST), b"\0", (FIRST + 1, end)]),
    ]
    for name, pieces in faults:
        yield _recipe(f"{chunks} full chunks and {tail} bytes: {name}", length, pieces)


def _recipe(name: str, length: int, pieces: list[Piece] | None, place: ref.Place = CHANNEL, form: int = 3) -> dict[str, Any]:
    plain = ref.stream("large", length)
    sealed = ref.seal(HEADER, KEY, form, TAG, ref.context(place), plain, salt(name))
    used: list[Piece] = [(0, len(sealed))] if pieces is None else pieces
    whole = assembled(sealed, [piece.hex() if isinstance(piece, bytes) else list(piece) for piece in used])
    if pieces is not None and whole == sealed:
        raise ValueError(f"the fault {name!r} changes nothing")
    return {
        "name": name,
        "keys": KEYRING[:1],
        "form": form,
        "tag": TAG,
        "context": shown(place),
        "salt": salt(name).hex(),
        "plain": {"seed": "large", "length": length, "sha256": hashlib.sha256(plain).hexdigest()},
        "pieces": [piece.hex() if isinstance(piece, bytes) else list(piece) for piece in used],
        "envelope_sha256": hashlib.sha256(whole).hexdigest(),
        "expect": {"opens": True} if pieces is None else {"error": BAD},
    }


def assembled(sealed: bytes, pieces: list[Any]) -> bytes:
    """The envelope of a recipe: ranges of the sealed bytes, and bytes in hexadecimal, one after the other."""
    return b"".join(bytes.fromhex(piece) if isinstance(piece, str) else sealed[piece[0] : piece[1]] for piece in pieces)
