"""What a chain is made of and given, checked: bases, layers, what layers return, stored bytes; it composes nothing."""

from __future__ import annotations

import re
from typing import Final

from ..ciphers import Layer
from ..errors import ConfigurationError, NotSealedError, TagError
from .base import BaseSerializer

_LAYER_NAME: Final = re.compile(r"[a-z0-9_-]{1,32}", re.ASCII)
Data = bytes | bytearray | memoryview


def checked_base(base: BaseSerializer) -> BaseSerializer:
    """The base, if it is one.

    Raises:
        ConfigurationError: it is not.
    """
    if not isinstance(base, BaseSerializer):
        raise ConfigurationError(f"the base of a chain has dumps_typed and loads_typed; {type(base).__name__} has not")
    return base


def checked_layers(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers, if they make a legal chain.

    Raises:
        ConfigurationError: one is no layer, is misnamed, or stands outside the cipher.
    """
    for layer in layers:
        if isinstance(layer, type) or not isinstance(layer, Layer):
            wrap = " Wrap a LangGraph cipher: sealpoint.serde.CipherLayer(cipher, name=…)." if hasattr(layer, "encrypt") else ""
            raise ConfigurationError(f"{type(layer).__name__} is not a layer (name, authenticates_tag, may_skip, encode, decode).{wrap}")
        if not _LAYER_NAME.fullmatch(layer.name):
            raise ConfigurationError(f"a layer's name is 1 to 32 of a-z 0-9 _ -, not {layer.name!r}")
        if layer.authenticates_tag and layer.may_skip:
            raise ConfigurationError(f"the layer {layer.name!r} authenticates, so it may not be skipped")
    if any(layer.authenticates_tag for layer in layers) and not layers[-1].authenticates_tag:
        raise ConfigurationError(
            f"the layer {layers[-1].name!r} stands outside the cipher, so it would be undone unauthenticated; put it before"
        )
    return layers


def lacking(layer: Layer) -> TagError:
    """The error for a tag in which a layer that is never skipped is not where it belongs."""
    return TagError(f"the tag lacks the layer {layer.name!r} or has it out of order: relabelled, or written by another chain")


def whole(layer: Layer, encoded: bytes | None) -> bytes:
    """What the layer made, if it made something.

    Raises:
        ConfigurationError: it skipped a value that it may not skip.
    """
    if encoded is None:
        raise ConfigurationError(f"the layer {layer.name!r} skipped a value that it may not skip")
    return encoded


def as_bytes(data: Data) -> bytes:
    """What a saver returned, as bytes.

    Raises:
        NotSealedError: it is nothing of the kind.
    """
    if isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise NotSealedError(f"a stored value is bytes; the saver returned {type(data).__name__}")
