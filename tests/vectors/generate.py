"""Writes the test vectors beside it; it does not import the package, and its output depends on nothing but this folder.

Run ``python -m tests.vectors.generate`` from the root of the repository. Most vectors are failures with one fault each; what must happen
is written here by hand, not taken from an implementation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import bodies, frames, headers, keytexts, oldcells, places, tagging

FOLDER = Path(__file__).parent
FILES: dict[str, tuple[str, Callable[[], Iterator[dict[str, Any]]]]] = {
    "keys": ("Sub-keys, check values, and the texts that configure keys", keytexts.keys),
    "context": ("Canonical bytes of places", places.contexts),
    "header": ("Headers, with any bytes behind them", headers.headers),
    "envelope": ("Whole envelopes, opened with the keys, form, tag and place given", places.envelopes),
    "large": ("Envelopes too long to print, by recipe: seal the stream, then put the pieces together", bodies.large),
    "tags": ("Tags: what a chain writes, and how it is peeled", tagging.tags),
    "zstd": ("Compressed payloads", frames.zstd),
    "legacy": ("Cells that LangGraph wrote, opened in migration mode", oldcells.legacy),
}


def generated() -> dict[str, str]:
    """File name → text of every generated file."""
    out = {}
    for kind, (about, make) in FILES.items():
        vectors = list(make())
        body = {"$schema": "schema.json", "kind": kind, "about": about, "vectors": vectors}
        out[f"{kind}.json"] = json.dumps(body, indent=1, ensure_ascii=True) + "\n"
    return out


def main() -> None:
    """Writes the files."""
    for name, text in generated().items():
        (FOLDER / name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
