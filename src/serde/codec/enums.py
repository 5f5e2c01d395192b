"""Enum members, by name; combinations of flags, by value. A value is never looked up through a user's `_missing_`."""

from __future__ import annotations

import enum
from typing import Any, Final

from ...errors import SchemaDriftError
from .classes import marshal_class, stored_class
from .kind import Kind, MalformedError, Reading, UnstorableError, Writing, expect, listed, shown

_CODE: Final = 44
_missing: Final = vars(enum.Flag)["_missing_"]


def _encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    return [marshal_class(cls), [_row(cls, obj) for obj in objs]]


def _row(cls: Any, obj: Any) -> Any:
    members = vars(cls)["_member_map_"]
    name = obj._name_
    if type(name) is str and members.get(name) is obj:
        return name
    value = obj._value_
    if not issubclass(cls, enum.Flag) or type(value) is not int or not _usual_flags(cls) or cls(value) is not obj:
        raise UnstorableError("it is an enum member that its class does not list, so it cannot be found again", obj)
    return value


def _usual_flags(cls: Any) -> bool:
    owner = next(base for base in cls.__mro__ if "_missing_" in vars(base))
    return vars(owner)["_missing_"] is _missing and type(cls).__call__ is enum.EnumMeta.__call__


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    head, rows = expect(columns, 2)
    cls: Any = stored_class(head, _CODE, source)
    members = vars(cls)["_member_map_"]
    made = []
    for row in listed(rows):
        if type(row) is str:
            if row not in members:
                raise SchemaDriftError(
                    f"a stored value needs the member {shown(row)!r} of {cls.__module__}.{cls.__qualname__}; restore it or add an alias"
                )
            made.append(members[row])
        elif type(row) is int and issubclass(cls, enum.Flag) and _usual_flags(cls):
            made.append(cls(row))
        else:
            raise MalformedError
    return made


ENUM: Final = Kind(_CODE, _encode, _decode)
