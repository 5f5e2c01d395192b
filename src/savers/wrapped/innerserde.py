"""The serializer of the inner saver: plain bytes and plain containers, nothing that could name a type; it never sees a user's value.

An inner saver parses what it reads before anything could be authenticated, so its parser must not be able to do harm. Tags read: ``null``,
``bytes``, ``empty`` and ``msgpack`` without extension types; one exception is LangGraph's `_DeltaSnapshot` (extension 7) around bytes,
because savers treat that wrapper specially. In migration mode everything else is handed to a reader of old cells, which imports nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import ormsgpack
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ...ciphers.header import looks_sealed
from ...errors import NotSealedError
from ...serde.legacy import is_pickle

_DELTA: Final = 7  # EXT_DELTA_SNAPSHOT of langgraph-checkpoint 4.3.2
_PACK: Final = ormsgpack.OPT_PASSTHROUGH_TUPLE | ormsgpack.OPT_NON_STR_KEYS
_UNPACK: Final = ormsgpack.OPT_NON_STR_KEYS

LegacyLoad = Callable[[tuple[str, bytes]], Any]

OLD_HINT: Final = (
    ". If it was stored without SealedSaver (before it, or by another process), SealedSaver(…, migrate=True) reads it, with "
    "serde=sealed_serializer(migrate=True) if a serde is given, and convert() seals it in place; if not, someone put it there"
)
"""What to do about a value that stands unsealed, whoever wrote it."""


class NarrowSerde:
    """What a saver under `SealedSaver` serializes with.

    Args:
        legacy: reads a cell that is none of ours, in migration mode; None refuses it.
    """

    old_hint: ClassVar[str] = OLD_HINT
    """Ends the refusal of an unsealed value; empty where there is no migration mode."""

    def __init__(self, legacy: LegacyLoad | None = None) -> None:
        self._legacy = legacy

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and bytes of sealed bytes, or of the containers around them."""
        if obj is None:
            return "null", b""
        if type(obj) is bytes:
            return "bytes", obj
        return "msgpack", ormsgpack.packb(obj, default=_plain, option=_PACK)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """What `dumps_typed` was given.

        Raises:
            NotSealedError: the stored value is of another kind; nothing of it was built.
        """
        tag, raw = data
        raw = _bytes_of(raw)
        if tag == "bytes":
            return raw
        if tag in ("null", "empty"):
            return None
        if tag == "msgpack":
            try:
                return ormsgpack.unpackb(raw, ext_hook=_delta_only, option=_UNPACK)
            except ormsgpack.MsgpackDecodeError:
                if self._legacy is None:
                    raise NotSealedError(
                        f"a stored value is not of the plain form that a sealed saver writes; nothing of it was read{self.old_hint}"
                    ) from None
        if self._legacy is None or not isinstance(tag, str):
            hint = "" if is_pickle(str(tag)) else self.old_hint  # a pickle is not read in migration mode either
            raise NotSealedError(
                f"a stored value is tagged {str(tag)[:40]!r}, which a sealed saver never writes; nothing of it was read{hint}"
            )
        return self._legacy((tag, raw))

    def holds_cell(self, tag: str, raw: bytes) -> bool:
        """Whether a row's value is a sealed cell, by its form: a value of `sealed_serializer` begins like one, and says more in its tag."""
        if tag == "bytes":
            return looks_sealed(raw)
        if tag != "msgpack":
            return False
        try:
            return is_cell(ormsgpack.unpackb(raw, ext_hook=_delta_only, option=_UNPACK))
        except ormsgpack.MsgpackDecodeError:
            return False

    def dumps(self, obj: Any) -> bytes:
        """The bytes alone, for savers that keep no tag."""
        return self.dumps_typed(obj)[1]

    def loads(self, data: bytes) -> Any:
        """What `dumps` was given, which was not bare bytes."""
        return self.loads_typed(("msgpack", data))


def is_cell(stored: Any) -> bool:
    """Whether a stored value looks like a sealed cell, alone or as a delta snapshot."""
    raw = stored.value if type(stored) is _DeltaSnapshot else stored
    return type(raw) is bytes and looks_sealed(raw)


def _bytes_of(raw: Any) -> bytes:
    if raw is None:
        return b""
    if not isinstance(raw, (bytes, bytearray, memoryview)):
        raise NotSealedError(
            f"a stored value is {type(raw).__name__} where bytes belong: it was damaged or replaced; nothing of it was read"
        )
    return bytes(raw)


def _plain(obj: Any) -> Any:
    if type(obj) is _DeltaSnapshot and type(obj.value) is bytes:
        return ormsgpack.Ext(_DELTA, ormsgpack.packb(obj.value))
    if type(obj) is tuple:
        return list(obj)
    raise TypeError(f"{type(obj).__name__} does not go into an inner saver")


def _delta_only(code: int, data: bytes) -> Any:
    value = ormsgpack.unpackb(data) if code == _DELTA else None
    if type(value) is not bytes:
        raise ValueError("extension types are not read here")
    return _DeltaSnapshot(value)
