"""Type tags as text: naming a layer, peeling it off again, and framing a tag into bare bytes; it applies no layer."""

from __future__ import annotations

import functools

from ..ciphers import tag_bytes
from ..errors import ConfigurationError, TagError


def with_layer(tag: str, name: str) -> str:
    """The tag of a value after the layer `name` was applied to it."""
    return f"{tag}+{name}"


def peeled(tag: str, name: str) -> str | None:
    """The tag before the layer `name` was applied, or None when it was not the last one applied."""
    return tag[: -len(name) - 1] if tag.endswith(f"+{name}") else None


def framed(tag: str, data: bytes) -> bytes:
    """The tag's length (1), the tag, the data: for places without a column for the tag.

    Raises:
        ConfigurationError: the tag is longer than 255 bytes, or is no UTF-8 text.
    """
    return _lead(tag) + data


@functools.lru_cache(maxsize=256)
def _lead(tag: str) -> bytes:
    raw = tag_bytes(tag, ConfigurationError)
    return bytes((len(raw),)) + raw


def unframed(plain: bytes) -> tuple[str, bytes]:
    """The tag and the data of `framed`.

    Raises:
        TagError: the bytes do not start with a whole tag.
    """
    end = 1 + plain[0] if plain else 1
    try:
        tag = plain[1:end].decode("utf-8")
    except UnicodeDecodeError:
        tag = ""
    if not tag or len(plain) < end:
        raise TagError("a cell does not start with its tag: it was written by something else")
    return tag, plain[end:]
