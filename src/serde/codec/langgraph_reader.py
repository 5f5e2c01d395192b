"""Reads what LangGraph's JsonPlusSerializer wrote (null, bytes, bytearray, json, msgpack), of allowed types only; it never writes.

Formats (langgraph-checkpoint 4.3.2, serde/jsonplus.py): msgpack with Ext codes 0 class(arg), 1 class(*args), 2 class(**kwargs),
3 class.method(arg), 4 pydantic v1, 5 pydantic v2, 6 numpy array, 7 delta snapshot, each a packed (module, name, argument[, method]);
JSON with ``{"lc": 2, …}`` for constructors and ``{"lc": 1, …}`` for LangChain's own. Those formats store constructor arguments, so
constructors run here, unlike in msgpack1; which is why a name that is not allowed is refused before it is imported, why the types that
msgpack1 considers safe are not allowed here, and why nothing is called that makes classes. LangGraph's reader answers None
or raw data in such cases; this one raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import ormsgpack

from ...errors import DecodeError, SealpointError, TypeRefusedError
from . import arrays
from .classes import resolve
from .kind import MalformedError, Spending, allowance
from .scalars import compiled
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
    reader = _Reader(trust, len(data))
    try:
        return reader.json(data) if tag == "json" else reader.msgpack(data)
    except (SealpointError, MemoryError):
        raise
    except Exception as exc:  # noqa: BLE001 - whatever a constructor raises on stored arguments, the value does not decode
        if reader.refusal is not None:
            raise reader.refusal from None
        raise DecodeError(f"{_DAMAGED} ({type(exc).__name__})") from None


class _Reader:
    """One read: ormsgpack swallows what a hook raises, so the first refusal is kept."""

    def __init__(self, trust: Trust, size: int) -> None:
        self._trust = trust = trust.to_call()
        # An envelope in JSON does not show who wrote it: an authenticated one may be what a user posted. So a list is always needed.
        self._listed = trust if trust.names is not None else Trust()
        self._depth = 0
        self._spending = Spending(authenticated=False, budget=allowance(size))
        self.refusal: SealpointError | MemoryError | None = None

    def msgpack(self, data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=self._extension, option=ormsgpack.OPT_NON_STR_KEYS)

    def _extension(self, code: int, data: bytes) -> Any:
        self._depth += 1
        try:
            if self._depth > _MAX_NESTING:
                raise DecodeError(_DAMAGED)
            return self._built(code, self.msgpack(data))
        except (SealpointError, MemoryError) as exc:
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
        if code not in range(6):
            raise MalformedError
        module, name, argument = value[:3]
        if (module, name) == ("re", "compile") and code == 1:
            return self._pattern(*argument)
        if (module, name) == ("langgraph.types", "Send") and code == 1 and len(argument) == 3:
            return self._class(module, name)(argument[0], argument[1], timeout=argument[2])
        if code == 3:
            if (module, name, value[3]) not in _METHODS:
                raise MalformedError
            return self._class(module, name).fromisoformat(argument)
        cls = self._class(module, name)
        if cls in (set, frozenset):
            self._spending.hashed(argument[0] if code == 1 else argument)
        if code == 0:
            return cls(argument)
        if code == 1:
            return cls(*argument)
        if code == 2:
            return cls(**argument)
        return _model(cls, argument, "construct" if code == 4 else "model_construct")

    def _class(self, module: Any, name: Any) -> Any:
        """The class. LangGraph wrote `__name__`, so a nested class is found only if the list of allowed types has it as a class."""
        found = resolve(module, name, self._trust)
        if issubclass(found, type):
            # Calling one makes a class, of bases and a namespace out of the payload: code runs.
            raise TypeRefusedError("a stored value calls a metaclass, which would run code; it was not called")
        return found

    def _pattern(self, pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        return compiled(pattern, flags, self._spending.spend)

    # --- json --------------------------------------------------------------------------------------------------------

    def json(self, data: bytes) -> Any:
        # As text: given bytes, json guesses among encodings.
        return json.loads(str(data, "utf-8"), object_hook=self._revived)

    def _revived(self, value: Mapping[str, Any]) -> Any:
        """An object for the envelope of an allowed type; any other stays the dict that it is, because a user can post such a dict."""
        names = value.get("id")
        if value.get("type") != "constructor" or value.get("lc") not in (1, 2) or not _is_path(names):
            return value
        module, name = ".".join(names[:-1]), names[-1]
        if value["lc"] == 1:
            module, name = _langchain_home(names) or (module, name)
        if not self._listed.allows(module, name):
            return value
        if (module, name) == ("re", "compile"):
            return self._pattern(*value.get("args", ()))
        cls = self._class(module, name)
        if issubclass(cls, BaseException):
            return value
        return cls(*(value.get("args") or ()), **(value.get("kwargs") or {}))


def _is_path(names: Any) -> TypeGuard[list[str]]:
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


def _array(described: str, shape: list[int], order: Any, raw: bytes) -> Any:
    dtype = arrays.simple_dtype(described)
    if dtype.hasobject:
        raise DecodeError(
            "a value that LangGraph wrote holds a numpy object array, which it stored as memory addresses; its contents are lost"
        )
    return arrays.numpy().frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order=order)
