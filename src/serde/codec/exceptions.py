"""Exceptions: arguments, notes, attributes, cause and context. Tracebacks are not stored: frames are no values.

Neither is the `obj` of an AttributeError or NameError (CPython keeps it for its spelling hints, and leaves it out of pickles too).
"""

from __future__ import annotations

import types
from typing import Any, Final

from .classes import marshal_class, stored_class
from .containers import attributes, indexed
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, all_exactly, exactly, expect, listed
from .layout import Layout, layout_of

_CODE: Final = 45
_SKIPPED: Final = frozenset({"args", "exceptions", "obj"})
_OWN: Final = vars(BaseException)
_CHAIN: Final = ("__cause__", "__context__", "__suppress_context__")
_get_args: Final = _OWN["args"].__get__
_get_dict: Final = _OWN["__dict__"].__get__
_set_dict: Final = _OWN["__dict__"].__set__


def _builtin(cls: type) -> frozenset[type]:
    return frozenset(base for base in cls.__mro__ if base.__module__ == "builtins" and base is not object)


def exception_layout(cls: type) -> Layout:
    """The layout of an exception class.

    Raises:
        UnstorableError: its instances are more than state.
    """
    return layout_of(cls, _builtin(cls))


def _members(cls: type) -> dict[str, Any]:
    """What builtin exceptions keep natively: ``errno``, ``code``, ``value`` and the like."""
    return {
        name: member
        for base in _builtin(cls)
        for name, member in vars(base).items()
        if name not in _SKIPPED and name[:2] != "__" and isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType))
    }


def _row(obj: Any, members: dict[str, Any], layout: Layout) -> list[Any]:
    native = {}
    for name, member in members.items():
        try:
            value = member.__get__(obj)
        except (AttributeError, TypeError):
            continue
        if value is not None:
            native[name] = value
    try:
        _check_unicode(type(obj), native)
    except MalformedError:
        raise UnstorableError("its start, end and object do not fit together", obj) from None
    _check_group(obj)
    return [
        _get_args(obj),
        _get_dict(obj) or None,
        native or None,
        layout.read_slots(obj) or None,
        *(_OWN[name].__get__(obj) for name in _CHAIN),
    ]


def _check_unicode(cls: type, native: Any) -> None:
    """Raises MalformedError where CPython, which checks none of this, would read beside the object that could not be converted."""
    if not issubclass(cls, UnicodeError) or not native:
        return
    kind = bytes if issubclass(cls, UnicodeDecodeError) else str
    obj, start, end = native.get("object"), native.get("start", 0), native.get("end", 0)
    all_exactly(int, [start, end])
    all_exactly(str, [native[name] for name in ("encoding", "reason") if name in native])
    length = 0 if obj is None else len(exactly(kind, obj))
    if not (0 <= start <= max(length - 1, 0) and start <= end <= max(length, 1)):
        raise MalformedError


def _check_group(obj: Any) -> None:
    if isinstance(obj, BaseExceptionGroup):
        args = _get_args(obj)
        members = vars(BaseExceptionGroup)["exceptions"].__get__(obj)
        if len(args) != 2 or type(args[1]) not in (list, tuple) or list(map(id, args[1])) != list(map(id, members)):
            raise UnstorableError("its exceptions are no longer those that it was made of; make a new group", obj)


def _encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    members, layout = _members(cls), exception_layout(cls)
    return [marshal_class(cls), [_row(obj, members, layout) for obj in objs]]


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    head, rows = expect(columns, 2)
    cls = stored_class(head, _CODE, source)
    members, layout = _members(cls), exception_layout(cls)
    setters = {name: put for name, _get, put in layout.slots}
    return [_made(cls, row, members, setters) for row in listed(rows)]


def _made(cls: Any, row: Any, members: dict[str, Any], setters: dict[str, Any]) -> Any:
    args, state, native, slots, cause, context, suppress = expect(listed(row), 7)
    if type(args) is not tuple:
        raise MalformedError
    _check_unicode(cls, native)
    made = _bare(cls, args)
    _OWN["args"].__set__(made, args)
    if state is not None:
        _set_dict(made, state)
    for name, value in (native or {}).items():
        try:
            members[name].__set__(made, value)
        except AttributeError:
            # Read-only: the message of a group, which its __new__ has set.
            if members[name].__get__(made) != value:
                raise MalformedError from None
    for name, value in (slots or {}).items():
        setters[name](made, value)
    for name, value in zip(_CHAIN, (cause, context, suppress), strict=True):
        _OWN[name].__set__(made, value)
    return made


def _bare(cls: Any, args: tuple[Any, ...]) -> Any:
    if issubclass(cls, BaseExceptionGroup):
        return BaseExceptionGroup.__new__(cls, *args)
    if issubclass(cls, OSError):
        # With arguments it would answer an instance of another class.
        return OSError.__new__(cls)
    return next(base for base in cls.__mro__ if base.__module__ == "builtins").__new__(cls, *args)


def _parts(obj: Any) -> list[Part]:
    layout = exception_layout(type(obj))
    parts: list[Part] = [(f".args{step}", value) for step, value in indexed(_get_args(obj))]
    parts.extend(attributes(_get_dict(obj)))
    parts.extend(attributes(layout.read_slots(obj)))
    parts.extend((f".{name}", _OWN[name].__get__(obj)) for name in _CHAIN[:2])
    return parts


EXCEPTION: Final = Kind(_CODE, _encode, _decode, _parts)
