"""Which stored names may be resolved, decided before anything is imported; it imports nothing.

Source of `LANGGRAPH_SAFE`: langgraph-checkpoint 4.3.2, SAFE_MSGPACK_TYPES (a test compares it with the installed one).
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ...errors import ConfigurationError, TypeRefusedError
from .kind import shown

Name = tuple[str, str]
"""Module and qualified name."""

_MESSAGES: Final = {
    "ai": "AIMessage",
    "chat": "ChatMessage",
    "function": "FunctionMessage",
    "human": "HumanMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
    "base": "BaseMessage",
}
LANGGRAPH_SAFE: Final[frozenset[Name]] = frozenset(
    {
        *(("datetime", name) for name in ("datetime", "date", "time", "timedelta", "timezone")),
        ("uuid", "UUID"),
        ("decimal", "Decimal"),
        ("builtins", "set"),
        ("builtins", "frozenset"),
        ("collections", "deque"),
        *(("ipaddress", f"IPv{version}{form}") for version in (4, 6) for form in ("Address", "Interface", "Network")),
        *((module, name) for module in ("pathlib", "pathlib._local") for name in ("Path", "PosixPath", "WindowsPath")),
        ("zoneinfo", "ZoneInfo"),
        ("re", "compile"),
        *((f"langchain_core.messages.{module}", name + suffix) for module, name in _MESSAGES.items() for suffix in ("", "Chunk")),
        ("langchain_core.messages.modifier", "RemoveMessage"),
        ("langchain_core.documents.base", "Document"),
        *(
            ("langgraph.types", name)
            for name in ("Send", "TimeoutPolicy", "Interrupt", "Command", "StateSnapshot", "PregelTask", "Overwrite")
        ),
        ("langgraph.store.base", "Item"),
        ("langgraph.store.base", "GetOp"),
    }
)
_EXCEPTIONS: Final = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
OWN_SAFE: Final[frozenset[Name]] = frozenset(
    {
        *(
            ("builtins", name)
            for name in ("bool", "bytearray", "bytes", "complex", "dict", "float", "int", "list", "object", "str", "tuple", "type")
        ),
        *(("builtins", name) for name in _EXCEPTIONS),
        *(("collections", name) for name in ("ChainMap", "Counter", "OrderedDict", "UserDict", "UserList", "UserString", "defaultdict")),
        ("fractions", "Fraction"),
        ("langgraph.checkpoint.serde.types", "_DeltaSnapshot"),
        ("pydantic.types", "SecretStr"),
        ("pydantic.types", "SecretBytes"),
        ("types", "SimpleNamespace"),
        ("uuid", "SafeUUID"),
        *(("numpy", name) for name in ("matrix", "recarray", "record")),
        *(("numpy.rec", name) for name in ("recarray", "record")),
    }
)
"""Types that hold data and do nothing when built from their state. Not to be called: `type` is among them, and makes classes."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What a payload may name: everything (`names` is None), or the safe types and `names`.

    Args:
        names: module and name, qualified or not.
        classes: the classes among them that were given as such; they are found even where their stored name leads nowhere.
        own: safe types of our own, for a reader that calls no constructor.
    """

    names: frozenset[Name] | None = field(default_factory=frozenset)
    classes: Mapping[Name, type] = field(default_factory=dict)
    own: frozenset[Name] = OWN_SAFE

    @classmethod
    def in_types(cls, types: Iterable[type | tuple[str, ...]]) -> Trust:
        """Trust in a list of classes and (module, name) pairs.

        Raises:
            ConfigurationError: an entry is neither.
        """
        names: set[Name] = set()
        classes: dict[Name, type] = {}
        for entry in types:
            if isinstance(entry, type):
                classes[entry.__module__, entry.__qualname__] = classes[entry.__module__, entry.__name__] = entry
            elif isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(part, str) for part in entry):
                names.add((entry[0], entry[1]))
            else:
                raise ConfigurationError(f"an allowed type is a class or (module, name), not {type(entry).__name__}")
        return cls(frozenset({*names, *classes}), classes)

    def and_also(self, other: Trust) -> Trust:
        """Trust in what either of the two allows."""
        names = None if self.names is None or other.names is None else self.names | other.names
        return Trust(names, {**self.classes, **other.classes}, self.own & other.own)

    def to_call(self) -> Trust:
        """The same trust for a reader that calls constructors: without the types of our own that are safe only if nothing is called."""
        return replace(self, own=frozenset())

    def allows(self, module: str, qualname: str) -> bool:
        """Whether the name may be resolved. The last part of a qualified name matches too, as LangGraph writes it."""
        if self.names is None:
            return True
        return any(
            (module, name) in allowed
            for name in (qualname, qualname.rpartition(".")[2])
            for allowed in (LANGGRAPH_SAFE, self.own, self.names)
        )

    def check(self, module: str, qualname: str) -> None:
        """Returns if the name may be resolved.

        Raises:
            TypeRefusedError: it may not; nothing was imported.
        """
        if not self.allows(module, qualname):
            where, name = shown(module, 200), shown(qualname, 200)
            raise TypeRefusedError(
                f"a stored value names the type {where}.{name}, which is not allowed here; it was not imported. "
                f"If it is yours, allow it: serde=sealed_serializer(allowed_types=[('{where}', '{name}')]), or "
                "JsonPlus(allowed_types=[...]) in a chain of your own"
            )


def refusal_of(names: Iterable[Name]) -> TypeRefusedError:
    """The error for several types at once, that all of them may be allowed at once."""
    pairs = [f"({shown(module, 200)!r}, {shown(name, 200)!r})" for module, name in names]
    more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
    return TypeRefusedError(
        f"stored values name types that are not allowed here: {', '.join(pairs[:_SHOWN])}{more}; none was imported. Put those that are "
        "yours into allowed_types=[…]; a class that lies inside another one goes there as the class itself"
    )


_SHOWN: Final = 100


def strict_by_environment() -> bool:
    """Whether LANGGRAPH_STRICT_MSGPACK asks for listed types only."""
    return os.environ.get("LANGGRAPH_STRICT_MSGPACK", "").lower() in ("1", "true", "yes")
