"""Tag vectors: what a chain writes, how it is peeled, and the tag inside a cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import reference as ref

USUAL: ref.Layers = [("zstd", True), ("aesgcm", False)]


def tags() -> Iterator[dict[str, Any]]:
    """Tags that a chain writes, tags that it peels, and cells."""
    yield from _written()
    for tag, undone in [("msgpack1+aesgcm", [1]), ("msgpack1+zstd+aesgcm", [1, 0]), ("a+b+zstd+aesgcm", [1, 0]), ("x+aesgcm+aesgcm", [1])]:
        base = tag.split("+zstd")[0].removesuffix("+aesgcm")
        yield {"name": f"peels {tag}", "layers": USUAL, "open": tag, "expect": {"base": base, "undone": undone}}
    twice: ref.Layers = [("zstd", True), ("zstd", True), ("aesgcm", False)]
    yield {
        "name": "the outer of two layers of one name is peeled first",
        "layers": twice,
        "open": "m+zstd+aesgcm",
        "expect": {"base": "m", "undone": [2, 1]},
    }
    yield {"name": "no layers, any tag", "layers": [], "open": "m+zstd", "expect": {"base": "m+zstd", "undone": []}}
    for tag in ("msgpack1", "msgpack1+zstd", "msgpack", "null", "pickle", "msgpack+aes", "", "aesgcm", "msgpack1+aesgcm2"):
        yield {"name": f"not sealed: {tag!r}", "layers": USUAL, "open": tag, "expect": {"error": "NotSealedError"}}
    for tag in ("msgpack1+aesgcm+zstd", "msgpack1+AESGCM", "msgpack1+aesgcm ", "msgpack1+aesgcm+", "msgpack1 +aesgcm+x"):
        yield {"name": f"out of order or misspelt: {tag!r}", "layers": USUAL, "open": tag, "expect": {"error": "NotSealedError"}}
    two: ref.Layers = [("foreign", False), ("aesgcm", False)]
    yield {"name": "inner cipher missing", "layers": two, "open": "m+aesgcm", "expect": {"error": "TagError"}}
    yield {"name": "inner cipher in the wrong place", "layers": two, "open": "m+foreign+x+aesgcm", "expect": {"error": "TagError"}}
    for tag in ("+aesgcm", "+zstd+aesgcm"):
        yield {"name": f"no format: {tag!r}", "layers": USUAL, "open": tag, "expect": {"error": "TagError"}}
    yield from _cells()


def _written() -> Iterator[dict[str, Any]]:
    same: ref.Layers = [("zstd", True), ("zstd", True)]
    for base, layers, willing in [
        ("msgpack1", USUAL, []),
        ("msgpack1", USUAL, [0]),
        ("x+zstd", USUAL, []),
        ("x+zstd", USUAL, [0]),
        ("x+aesgcm", USUAL, []),
        ("m", same, [0]),
        ("m", same, [1]),
        ("m", same, []),
        ("m", [], []),
    ]:
        tag = ref.extend(base, layers, set(willing))
        yield {
            "name": f"writes {tag} for {base}: {len(layers)} layers, willing {willing}",
            "layers": layers,
            "seal": base,
            "willing": willing,
            "expect": {"tag": tag},
        }


def _cells() -> Iterator[dict[str, Any]]:
    yield {"name": "a cell", "cell": "086d73677061636b3101ff", "expect": {"tag": "msgpack1", "data": "01ff"}}
    yield {"name": "a cell without data", "cell": "016d", "expect": {"tag": "m", "data": ""}}
    yield {
        "name": "a cell with a tag of 255 bytes",
        "cell": (b"\xff" + b"x" * 255 + b"d").hex(),
        "expect": {"tag": "x" * 255, "data": "64"},
    }
    for name, cell in [
        ("nothing", ""),
        ("an empty tag", "00"),
        ("an empty tag and data", "0001ff"),
        ("a tag that is cut", "086d7367"),
        ("a tag that is no UTF-8", "02c328"),
        ("a tag with an encoded surrogate", "03eda080"),
        ("a length and no tag", "08"),
    ]:
        yield {"name": f"a cell of {name}", "cell": cell, "expect": {"error": "TagError"}}
