"""Codecs that users register for their types: a pair of functions and a name; there is no global registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ...errors import ConfigurationError, MissingTypeError
from .kind import Kind, Reading, UnstorableError, Writing, expect, listed, shown

NOT_REGISTRABLE: Final = frozenset({str, int, float, bool, type(None), list, dict, tuple, bytes, bytearray, memoryview, type})


@dataclass(frozen=True, slots=True)
class Codec:
    """How one type is stored.

    Args:
        name: what stands in the stored value.
        cls: the exact type; subclasses are not meant.
        encode: makes something storable of an instance.
        decode: makes an instance of that.
    """

    name: str
    cls: type
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def codec_for(cls: type, encode: Callable[[Any], Any], decode: Callable[[Any], Any], name: str | None) -> Codec:
    """The codec of these parts.

    Raises:
        ConfigurationError: `cls` is not a class that can have one, or a function is missing.
    """
    if not isinstance(cls, type) or cls in NOT_REGISTRABLE:
        raise ConfigurationError("a codec is registered for a class of yours; builtin scalars and containers have their forms already")
    if not callable(encode) or not callable(decode):
        raise ConfigurationError(f"the codec for {cls.__qualname__} needs two functions: encode and decode")
    return Codec(name or f"{cls.__module__}.{cls.__qualname__}", cls, encode, decode)


def _encode(cls: type, objs: list[Any], out: Writing) -> list[Any]:
    codec = out.codecs[cls]
    rows = []
    for obj in objs:
        try:
            rows.append(codec.encode(obj))
        except Exception as exc:
            raise UnstorableError(f"the encoder registered for it raised {type(exc).__name__}", obj) from exc
    return [codec.name, rows]


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    name, rows = expect(columns, 2)
    codec = source.codecs.get(name) if type(name) is str else None
    if codec is None:
        raise MissingTypeError(f"a stored value needs the codec registered as {shown(name)!r}; register it before reading")
    return [codec.decode(row) for row in listed(rows)]


REGISTERED: Final = Kind(70, _encode, _decode)
