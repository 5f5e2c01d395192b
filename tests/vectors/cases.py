"""How one envelope vector is made: sealed in one way, changed, and opened in another; what is expected comes from the caller."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from . import reference as ref
from .fixtures import CHANNEL, HEADER, KEY, KEYRING, PLAIN, salt

TAG = "msgpack1"
Edit = Callable[[bytes], bytes]


def case(name: str, expect: str | bytes, **changed: Any) -> dict[str, Any]:
    """One vector: sealed as the first group says, opened as the second does, `expect` being an error or the plaintext."""
    made: dict[str, Any] = {"header": HEADER, "material": KEY, "form": 3, "tag": TAG, "place": CHANNEL, "plain": PLAIN} | {
        key: value for key, value in changed.items() if key in {"header", "material", "form", "tag", "place", "plain"}
    }
    sealed = changed.get("envelope") or ref.seal(
        made["header"], made["material"], made["form"], made["tag"], ref.context(made["place"]), made["plain"], salt(name)
    )
    edit = changed.get("edit", lambda data: data)
    return {
        "name": name,
        "keys": changed.get("keys", KEYRING),
        "form": changed.get("open_form", made["form"]),
        "tag": shown_text(changed.get("open_tag", made["tag"])),
        "context": shown(changed.get("open_place", made["place"])),
        "envelope": edit(sealed).hex(),
        "expect": {"error": expect} if isinstance(expect, str) else {"plaintext": expect.hex()},
    }


def shown(place: ref.Place) -> dict[str, Any]:
    """A place as JSON: the version with its type, since JSON has one kind of number; a float by its 64 bits."""
    out: dict[str, Any] = {name: shown_text(value) if isinstance(value, str) else value for name, value in place.items()}
    version = place.get("version")
    if isinstance(version, float):
        out["version"] = {"float": struct.pack(">d", version).hex()}
    elif version is not None:
        out["version"] = {"str": out["version"]} if isinstance(version, str) else {"int": str(version)}
    return out


def shown_text(text: str) -> str | dict[str, list[int]]:
    """Text as JSON: by its code points where it has surrogates, since JSON joins a pair of them, and some readers refuse one alone."""
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        return {"code_points": [ord(character) for character in text]}
    return text


def flip(at: int, mask: int = 1) -> Edit:
    """An edit: one byte changed."""
    return lambda data: data[:at] + bytes((data[at] ^ mask,)) + data[at + 1 :]
