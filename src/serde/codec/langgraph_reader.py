"""Reads what LangGraph's JsonPlusSerializer wrote: tags null, bytes, bytearray, json and msgpack; it builds allowed types only, and never writes.

Formats (langgraph-checkpoint 4.3.2, serde/jsonplus.py): msgpack with Ext codes 0 class(arg), 1 class(*args), 2 class(**kwargs), 3 class.method(arg),
4 pydantic v1, 5 pydantic v2, 6 numpy array, 7 delta snapshot, each a packed (module, name, argument[, method]); JSON with ``{"lc": 2, …}`` for
constructors and ``{"lc": 1, …}`` for LangChain's own. Those formats store constructor arguments, so constructors run here, unlike in msgpack1; which
is why a name that is not allowed is refused before it is imported. LangGraph's reader answers None or raw data in such cases; this one raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import ormsgpack

from ...errors import DecodeError, SealpointError
from . import arrays
from .classes import resolve
from .kind import MalformedError
from .trust import Trust

TAGS: Final = frozenset({"null", "bytes", "bytearray", "json", "msgpack"})
_MAX_NESTING: Final = (
    200  # Ext within Ext; LangGraph's own writer stops at Python's recursion limit, which is further only for chains of objects
)
_METHODS: Final = frozenset({("datetime", "datetime", "fromisoformat")})  # the only one that LangGraph wrote
_DAMAGED: Final = "a value that LangGraph wrote does not decode: it was damaged, or its type no longer takes what was stored"


def loads(tag: str, data: bytes, trust: Trust) -> Any:
    """The object of a payload of LangGraph's.

    Raises:
        TypeRefusedError: it names a type that is not allowed; nothing was imported.
        MissingTypeError: a type is not there any more.
        DecodeError: it is damaged, or a constructor refused what was stored.
    """
    if tag == "null":
        return None
    if tag == "bytes":
        return bytes(data)
    if tag == "bytearray":
        return bytearray(data)
    reader = _Reader(trust)
    try:
        return reader.json(data) if tag == "json" else reader.msgpack(data)
    except SealpointError:
        raise
    except Exception as exc:
        if reader.refusal is not None:
            raise reader.refusal from None
        raise DecodeError(f"{_DAMAGED} ({type(exc).__name__})") from None


class _Reader:
    """One read: ormsgpack swallows what a hook raises, so the first refusal is kept."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._depth = 0
        self.refusal: SealpointError | None = None

    def msgpack(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=self._extension, option=ormsgpack.OPT_NON_STR_KEYS)

    def _extension(self, code: int, data: bytes) -> Any:
        self._depth += 1
        try:
            if self._depth > _MAX_NESTING:
                raise DecodeError(_DAMAGED)
            return self._built(code, self.msgpack(data))
        except SealpointError as exc:
            self.refusal = self.refusal or exc
            raise
        except Exception as exc:
            self.refusal = self.refusal or DecodeError(f"{_DAMAGED} ({type(exc).__name__})")
            raise
        finally:
            self._depth -= 1

    def _built(self, code: int, value: Any) -> Any:
        if code == 7:
            from langgraph.checkpoint.serde.types import _DeltaSnapshot

            return _DeltaSnapshot(value)
        if code == 6:
            return _array(*value)
        module, name, argument = value[:3]
        if (module, name) == ("re", "compile") and code == 1:
            return _pattern(*argument)
        if (module, name) == ("langgraph.types", "Send") and code == 1 and len(argument) == 3:
            return self._class(module, name)(argument[0], argument[1], timeout=argument[2])
        if code == 3:
            if (module, name, value[3]) not in _METHODS:
                raise MalformedError
            return self._class(module, name).fromisoformat(argument)
        cls = self._class(module, name)
        if code == 0:
            return cls(argument)
        if code == 1:
            return cls(*argument)
        if code == 2:
            return cls(**argument)
        if code in (4, 5):
            return _model(cls, argument, "construct" if code == 4 else "model_construct")
        raise MalformedError

    def _class(self, module: Any, name: Any) -> Any:
        """The class; LangGraph wrote `__name__`, so a nested class is found only by the module's own dictionary, or by its qualified name."""
        return resolve(module, name, self._trust)

    # --- json --------------------------------------------------------------------------------------------------------

    def json(self, data: bytes) -> Any:
        return json.loads(data, object_hook=self._revived)

    def _revived(self, value: Mapping[str, Any]) -> Any:
        """An object for a constructor envelope of an allowed type; anything else stays the dict it is, because a user can post such a dict."""
        names = value.get("id")
        if value.get("type") != "constructor" or value.get("lc") not in (1, 2) or not _is_path(names):
            return value
        module, name = ".".join(names[:-1]), names[-1]
        if value["lc"] == 1:
            module, name = _langchain_home(names) or (module, name)
        if not self._trust.allows(module, name) or self._trust.names is None:
            # Without a list, JSON is data: it carries no sign of who wrote it.
            if self._trust.names is not None or not Trust().allows(module, name):
                return value
        if (module, name) == ("re", "compile"):
            return _pattern(*value.get("args", ()))
        cls = self._class(module, name)
        if issubclass(cls, BaseException):
            return value
        return cls(*(value.get("args") or ()), **(value.get("kwargs") or {}))


def _is_path(names: Any) -> bool:
    return type(names) is list and len(names) >= 2 and all(type(part) is str for part in names)


def _langchain_home(names: list[str]) -> tuple[str, str] | None:
    """Where a class lives that LangChain named by an older place: its table maps one to the other."""
    try:
        from langchain_core.load.mapping import SERIALIZABLE_MAPPING
    except ImportError:
        return None
    found = SERIALIZABLE_MAPPING.get(tuple(names))
    return (".".join(found[:-1]), found[-1]) if found else None


def _model(cls: Any, fields: dict[str, Any], without_validation: str) -> Any:
    try:
        return cls(**fields)
    except Exception:  # noqa: BLE001 - what was stored is a dump, which validators need not take back
        return getattr(cls, without_validation)(**fields)


def _pattern(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
    if flags & re.DEBUG:
        raise MalformedError
    return re.compile(pattern, flags)


def _array(described: str, shape: list[int], order: Any, raw: bytes) -> Any:
    dtype = arrays.numpy().dtype(described)
    if dtype.hasobject:
        raise DecodeError(
            "a value that LangGraph wrote holds a numpy object array, which it stored as memory addresses; its contents are lost"
        )
    return arrays.numpy().frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order=order)
