"""Key vectors: the sub-keys of a key, and the environment variables that configure keys."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from . import reference as ref
from .fixtures import KEY, OLD


def keys() -> Iterator[dict[str, Any]]:
    """Sub-keys of materials, then texts that configure keys."""
    for name, material in [("the first key", KEY), ("zeros", bytes(32)), ("ones", b"\xff" * 32)]:
        yield {
            "name": f"sub-keys of {name}",
            "material": material.hex(),
            "expect": {
                "seal": ref.seal_key(material).hex(),
                "check": ref.check_value(material).hex(),
                "derived": [
                    {"label": label, "length": length, "key": ref.subkey(material, label, length).hex()}
                    for label, length in [("sealpoint/v1/wrap", 32), ("sealpoint/v1/index", 64), ("sealpoint/v1/index", 65), ("é", 16)]
                ],
            },
        }
    for length in (0, 16, 24, 31, 33, 64):
        yield {"name": f"a key of {length} bytes", "material": ref.stream("odd", length).hex(), "expect": {"error": "KeyFormatError"}}
    yield from _key_texts()
    yield from _typed_keys()


def _key_texts() -> Iterator[dict[str, Any]]:
    key, old = base64.b64encode(KEY).decode(), base64.b64encode(OLD).decode()
    ring = {"2026-11": ref.check_value(KEY).hex(), "2026-05": ref.check_value(OLD).hex()}
    yield _environment("one key", {"SEALPOINT_KEYS": f"2026-11:{key}"}, active="2026-11", checks={"2026-11": ring["2026-11"]})
    yield _environment("two keys", {"SEALPOINT_KEYS": f"2026-11:{key},2026-05:{old}"}, active="2026-11", checks=ring)
    loose = key[:-2] + chr(ord(key[-2]) + 1) + "="  # the same 32 bytes to a decoder that ignores stray bits
    url_safe = base64.urlsafe_b64encode(b"\xfb" * 32).decode()
    for name, text in [
        ("no text", ""),
        ("no id", key),
        ("an empty id", f":{key}"),
        ("no key", "2026-11:"),
        ("a space before", f" 2026-11:{key}"),
        ("a space after", f"2026-11:{key} "),
        ("a newline after", f"2026-11:{key}\n"),
        ("a space after the comma", f"2026-11:{key}, 2026-05:{old}"),
        ("a comma at the end", f"2026-11:{key},"),
        ("a semicolon between", f"2026-11:{key};2026-05:{old}"),
        ("an id of 33 characters", f"{'k' * 33}:{key}"),
        ("an id with a slash", f"2026/11:{key}"),
        ("an id with an umlaut", f"schl\u00fcssel:{key}"),
        ("the same id twice", f"2026-11:{key},2026-11:{old}"),
        ("the same key under two ids", f"2026-11:{key},2026-05:{key}"),
        ("a key without padding", f"2026-11:{key.rstrip('=')}"),
        ("a key with stray bits in its last character", f"2026-11:{loose}"),
        ("a key in the URL alphabet", f"2026-11:{url_safe}"),
        ("a key in hexadecimal", f"2026-11:{KEY.hex()}"),
        ("a key of 16 bytes", f"2026-11:{base64.b64encode(KEY[:16]).decode()}"),
        ("a key of 33 bytes", f"2026-11:{base64.b64encode(KEY + bytes(1)).decode()}"),
        ("bytes behind the padding", f"2026-11:{key}AAAA"),
    ]:
        yield _environment(f"SEALPOINT_KEYS with {name}", {"SEALPOINT_KEYS": text}, error="KeyFormatError")


def _typed_keys() -> Iterator[dict[str, Any]]:
    for length in (16, 24, 32):
        typed = "correct-horse-battery-staple-42."[:length]
        check = ref.check_value(ref.stretched(typed.encode())).hex()
        yield _environment(f"a typed key of {length}", {"LANGGRAPH_AES_KEY": typed}, active=f"lg-{check}", checks={f"lg-{check}": check})
    for length in (0, 15, 17, 31, 33):
        yield _environment(f"a typed key of {length} characters", {"LANGGRAPH_AES_KEY": "k" * length}, error="KeyFormatError")
    yield _environment("a typed key of 16 characters and more bytes", {"LANGGRAPH_AES_KEY": "\u00e9" * 16 + "k"}, error="KeyFormatError")
    yield _environment("only a fallback key, which seals nothing", {"LANGGRAPH_AES_FALLBACK_KEYS": "k" * 16}, error="NoKeyError")
    yield _environment("no variable", {}, error="NoKeyError")
    bad = {"LANGGRAPH_AES_KEY": "k" * 16, "LANGGRAPH_AES_FALLBACK_KEYS": "a" * 16 + "," + "b" * 15}
    yield _environment("a malformed fallback key", bad, error="KeyFormatError")


def _environment(name: str, environment: dict[str, str], error: str = "", **expect: Any) -> dict[str, Any]:
    return {"name": name, "environment": environment, "expect": {"error": error} if error else expect}
