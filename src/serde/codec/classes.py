"""Classes by name: module and qualified name, checked on writing to mean this very class; parametrised generics by origin and arguments.

A name is looked up in module and class dictionaries only, never through `getattr`, so that no property, descriptor or module hook runs.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import types
import typing
from typing import Any, Final

from pydantic import BaseModel

from ...errors import MissingTypeError, SchemaDriftError, SealpointError, TypeRefusedError
from .kind import Kind, MalformedError, Reading, UnstorableError, expect, listed, shown, simple
from .trust import Trust

_SINGLE: Final = {"none": type(None), "any": typing.Any, "ellipsis": Ellipsis, "never": typing.Never}
_ALIASES: Final[dict[str, Any]] = {
    name: value
    for name, value in vars(typing).items()
    if type(value) in (type(typing.List), type(typing.Tuple))  # noqa: UP006 - the typing objects themselves are meant
}
_MAX_NESTING: Final = 32  # type arguments within type arguments; type checkers stop far earlier


def static_lookup(module: str, qualname: str) -> Any:
    """What the name means in the loaded modules, or None."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return None
    scope: Any = vars(loaded)
    found: Any = None
    for part in qualname.split("."):
        found = scope.get(part)
        scope = vars(found) if isinstance(found, type) else {}
    return found


def name_of(cls: type) -> list[str]:
    """Module and qualified name, after checking that they lead back to `cls`.

    Raises:
        UnstorableError: they do not: a local class, or another one of that name.
    """
    module, qualname = cls.__module__, cls.__qualname__
    loaded = sys.modules.get(module)
    if (loaded is not None and vars(loaded).get(qualname) is cls) or static_lookup(module, qualname) is cls:
        return [module, qualname]
    raise UnstorableError(
        "its class cannot be found again under its name: define it at the top of a module (not inside a function), under a name of its own"
    )


def resolve(module: Any, qualname: Any, trust: Trust) -> type:
    """The class of that name.

    Raises:
        TypeRefusedError: `trust` does not allow it, or it is not a class.
        MissingTypeError: the module or the class is not there.
    """
    if type(module) is not str or type(qualname) is not str:
        raise MalformedError
    trust.check(module, qualname)
    where = f"{shown(module, 200)}.{shown(qualname, 200)}"
    if module not in sys.modules:
        try:
            importlib.import_module(module)
        except SealpointError:
            raise
        except Exception as exc:
            raise MissingTypeError(
                f"a stored value needs {where}, whose module cannot be imported ({type(exc).__name__}); restore it where it was"
            ) from exc
    found = static_lookup(module, qualname) or trust.classes.get((module, qualname))
    if found is None:
        raise MissingTypeError(f"a stored value needs {where}, which is not there any more; restore it where it was")
    if not isinstance(found, type):
        raise TypeRefusedError(f"a stored value names {where}, which is not a class; it was not called")
    return found


# --- classes as part of a group's head, and type expressions as values -------------------------------------------


def is_model_generic(cls: type) -> bool:
    """Whether `cls` is a pydantic model with type arguments, such as ``Box[int]``."""
    return issubclass(cls, BaseModel) and bool(cls.__pydantic_generic_metadata__["args"])


def marshal_class(cls: type) -> list[Any]:
    """``[module, qualname]``, or ``[module, qualname, [argument, …]]`` for a pydantic generic."""
    if not is_model_generic(cls):
        return name_of(cls)
    found: Any = marshal_type(cls)
    return [*found[1], found[2]]


def parse_class(head: Any, trust: Trust) -> type:
    """The class that `marshal_class` described."""
    head = listed(head)
    if len(head) == 2:
        return resolve(head[0], head[1], trust)
    if len(head) != 3:
        raise MalformedError
    found = parse_type(["model", head[:2], head[2]], trust)
    if not isinstance(found, type):
        raise MalformedError
    return found


def stored_class(head: Any, code: int, source: Reading) -> type:
    """The class that `marshal_class` described, if its instances are still of the kind that they were stored as.

    Raises:
        SchemaDriftError: they are not, for example because the class now says itself how it is pickled.
    """
    cls = parse_class(head, source.trust)
    try:
        now = source.classify(cls)
    except UnstorableError as exc:
        raise SchemaDriftError(f"stored objects of {cls.__module__}.{cls.__qualname__} cannot be restored now: {exc.reason}") from None
    if now != code:
        raise SchemaDriftError(
            f"{cls.__module__}.{cls.__qualname__} has become another kind of class since its objects were stored; register a codec"
        )
    return cls


def marshal_type(value: Any) -> list[Any]:
    """A type expression as nested lists.

    Raises:
        UnstorableError: it has parts that cannot be named (type variables, annotations, local classes).
    """
    described = _describe(value, 0)
    try:
        same = parse_type(described, Trust(None)) == value
    except Exception as exc:
        raise UnstorableError("its type arguments do not lead back to the same type") from exc
    if not same:
        raise UnstorableError("its type arguments do not lead back to the same type")
    return described


def _describe(value: Any, depth: int) -> list[Any]:
    if depth > _MAX_NESTING:
        raise UnstorableError("its type arguments are nested too deep")
    for name, single in _SINGLE.items():
        if value is single:
            return [name]
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        if not is_model_generic(value):
            return ["class", *name_of(value)]
        meta = value.__pydantic_generic_metadata__  # type: ignore[attr-defined]  # is_model_generic made sure of it
        return ["model", name_of(meta["origin"]), [_describe(arg, depth + 1) for arg in meta["args"]]]
    if isinstance(value, types.GenericAlias) and type(value) is not types.GenericAlias:
        # Such as collections.abc.Callable[[int], str], whose arguments are not what it was given.
        raise UnstorableError("this kind of type expression cannot be named")
    origin = typing.get_origin(value)
    if origin is typing.Literal:
        return ["literal", [_literal(arg) for arg in value.__args__]]
    if origin is None or origin is typing.Annotated:
        raise UnstorableError("this kind of type expression cannot be named")
    args = [_describe(arg, depth + 1) for arg in value.__args__]
    if isinstance(value, types.GenericAlias):
        return ["alias", _describe(origin, depth + 1), args]
    if isinstance(value, types.UnionType):
        return ["union", args]
    if origin is typing.Union:
        return ["optional", args]
    alias = getattr(value, "_name", None)
    if alias in _ALIASES and _ALIASES[alias].__origin__ is origin:
        return ["typing", alias, args]
    return ["generic", name_of(origin), args]


def _literal(value: Any) -> Any:
    if type(value) not in (str, int, bool, bytes, type(None)):
        raise UnstorableError("a Literal of this type cannot be named")
    return value


def parse_type(described: Any, trust: Trust, depth: int = 0) -> Any:
    """The type expression that `marshal_type` described; every class in it passes `trust`."""
    form, *rest = listed(described)
    if depth > _MAX_NESTING:
        raise MalformedError
    if form in _SINGLE:
        return _SINGLE[form]
    if form == "class":
        return resolve(*_pair(rest), trust)
    if form == "literal":
        values = tuple(_literal(value) for value in listed(rest[0]))
        return typing.Literal[values] if len(values) <= _MAX_LITERALS else _malformed()
    args = tuple(parse_type(arg, trust, depth + 1) for arg in listed(rest[-1]))
    if form == "alias":
        origin = parse_type(rest[0], trust, depth + 1)
        return types.GenericAlias(origin, args) if isinstance(origin, type) else _malformed()
    if form == "union":
        _check_union(args)
        return functools.reduce(operator.or_, args)
    if form == "optional":
        _check_union(args)
        return typing.Union[args]  # noqa: UP007 - built at run time
    if form == "typing":
        return _ALIASES[rest[0]][args] if rest[0] in _ALIASES else _malformed()
    if form not in ("generic", "model"):
        raise MalformedError
    owner = resolve(*_pair(rest[0]), trust)
    base: Any = BaseModel if form == "model" else typing.Generic
    # The class's own __class_getitem__ could be anything; only pydantic's or typing's is called.
    if next((c for c in owner.__mro__ if "__class_getitem__" in vars(c)), None) is not base:
        raise TypeRefusedError(f"{owner.__module__}.{owner.__qualname__} does not take type arguments in the usual way")
    subscript: Any = getattr(owner, "__class_getitem__")  # noqa: B009 - type checkers do not know it
    return subscript(args if len(args) > 1 else args[0])


def _check_union(args: tuple[Any, ...]) -> None:
    """Raises MalformedError for more members than Python compares in a moment (each with each), or a class with a | of its own."""
    if sum(max(1, len(getattr(arg, "__args__", ()))) for arg in args if not isinstance(arg, type)) + len(args) > _MAX_UNION:
        raise MalformedError
    for arg in args:
        if isinstance(arg, type) and any(name in vars(base) for base in type(arg).__mro__[:-1] if base is not type for name in _OR):
            raise MalformedError


_OR: Final = ("__or__", "__ror__")
_MAX_UNION: Final = 256
_MAX_LITERALS: Final = 4096


def _pair(name: Any) -> tuple[Any, Any]:
    module, qualname = expect(listed(name), 2)
    return module, qualname


def _malformed() -> Any:
    raise MalformedError


def _decode_types(columns: list[Any], source: Reading) -> list[Any]:
    (rows,) = expect(columns, 1)
    return [parse_type(row, source.trust) for row in listed(rows)]


CLASS: Final = Kind(30, lambda _cls, objs, _out: [[marshal_type(obj) for obj in objs]], _decode_types)
"""A class, or a type expression, as a value."""

_SINGLETONS: Final = {"ellipsis": Ellipsis, "notimplemented": NotImplemented}
SINGLETON: Final = simple(17, lambda value: "ellipsis" if value is Ellipsis else "notimplemented", lambda name: _SINGLETONS[name])
