"""Pydantic v2 models by instance state: fields, fields set, extra and private values; no validator, serializer or constructor runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

from pydantic import BaseModel

from . import drift
from .classes import marshal_class, stored_class
from .containers import keyed
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, expect, listed
from .layout import Layout, layout_of
from .subclasses import base_of

_CODE: Final = 41
_drain: Final = deque[Any](maxlen=0).extend
_NATIVE: Final = frozenset({BaseModel})
_OWN: Final = vars(BaseModel)
_get_dict: Final = _OWN["__dict__"].__get__
_set_dict: Final = _OWN["__dict__"].__set__
_get_set: Final = _OWN["__pydantic_fields_set__"].__get__
_set_set: Final = _OWN["__pydantic_fields_set__"].__set__
_get_extra: Final = _OWN["__pydantic_extra__"].__get__
_set_extra: Final = _OWN["__pydantic_extra__"].__set__
_get_private: Final = _OWN["__pydantic_private__"].__get__
_set_private: Final = _OWN["__pydantic_private__"].__set__


def model_layout(cls: type) -> Layout:
    """The layout of a model class; its slots are those beyond pydantic's own.

    Raises:
        UnstorableError: its instances are more than state.
    """
    if base_of(cls) is not None:
        raise UnstorableError("its class extends a builtin type as well as BaseModel")
    return layout_of(cls, _NATIVE)


def _encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    layout = model_layout(cls)
    sets = list(map(frozenset, map(_get_set, objs)))
    table = dict.fromkeys(sets)
    for number, names in enumerate(table):
        table[names] = number  # type: ignore[assignment]  # fromkeys fills with None first
    return [
        marshal_class(cls),
        _fields(cls),
        list(map(_get_dict, objs)),
        list(map(list, table)),
        list(map(table.__getitem__, sets)),
        _column(objs, _get_extra),
        _column(objs, _get_private),
        list(map(layout.read_slots, objs)) if layout.slots else None,
    ]


def _column(objs: list[Any], get: Callable[[Any], Any]) -> Any:
    """Extra or private values: nil where all are None, 0 where all are empty, 1 where all are unset (the usual cases); False for a single unset one."""
    try:
        values = list(map(get, objs))
    except AttributeError:
        values = [_or_unset(obj, get) for obj in objs]
    if any(values):
        return values
    first = values[0]
    if values.count(first) != len(values):
        return values
    return None if first is None else 1 if first is False else 0


def _or_unset(obj: Any, get: Callable[[Any], Any]) -> Any:
    try:
        return get(obj)
    except AttributeError:
        return False


def _set_column(made: list[Any], column: Any, put: Callable[[Any, Any], None]) -> None:
    if column is None:
        _drain(map(put, made, repeat(None)))
    elif type(column) is int:
        if column == 0:
            _drain(map(put, made, [{} for _ in made]))
    elif len(listed(column)) != len(made):
        raise MalformedError
    else:
        for obj, value in zip(made, column, strict=True):
            if value is not False:
                if value is not None and type(value) is not dict:
                    raise MalformedError
                put(obj, value)


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    head, fields, dicts, table, numbers, extras, privates, slots = expect(columns, 8)
    cls = stored_class(head, _CODE, source)
    layout = model_layout(cls)
    count = len(listed(dicts))
    if len(listed(numbers)) != count:
        raise MalformedError
    sets = [set(names) for names in listed(table)]
    current = _fields(cls)
    if fields != current:
        privates = _adapt(cls, fields, current, dicts, sets, privates, source)
    made = list(map(object.__new__, repeat(cls, count)))
    _drain(map(_set_dict, made, dicts))
    _drain(map(_set_set, made, map(set, map(sets.__getitem__, numbers))))
    _set_column(made, extras, _set_extra)
    _set_column(made, privates, _set_private)
    if slots is not None:
        setters = {name: put for name, _get, put in layout.slots}
        for obj, state in zip(made, slots, strict=True):
            for name, value in state.items():
                setters[name](obj, value)
    return made


# --- drift -----------------------------------------------------------------------------------------------------------


def _fields(cls: Any) -> list[str]:
    """Declared fields and private attributes, joined."""
    return [drift.joined(cls.__pydantic_fields__), drift.joined(cls.__private_attributes__)]


def _adapt(cls: Any, stored: Any, current: list[str], dicts: list[Any], sets: list[set[str]], privates: Any, source: Reading) -> Any:
    before, before_private = expect(listed(stored), 2)
    defaults: dict[str, Callable[[Any], Any]] = {
        name: lambda state, field=field: field.get_default(call_default_factory=True, validated_data=state)
        for name, field in cls.__pydantic_fields__.items()
        if not field.is_required()
    }
    drift.adapt(cls, before, current[0], dicts, defaults, source.drift)
    for names in sets:
        names.difference_update(set(before.split("\n")) - set(cls.__pydantic_fields__))
    if before_private == current[1]:
        return privates
    states = [dict(private or {}) for private in privates] if type(privates) is list else [{} for _ in dicts]
    makers: dict[str, Callable[[Any], Any]] = {
        name: lambda _state, attribute=attribute: attribute.get_default()
        for name, attribute in cls.__private_attributes__.items()
    }
    # A private attribute without a default is simply unset, as after construction.
    drift.adapt(cls, before_private, current[1], states, makers, source.drift)
    return states if current[1] else None


def _parts(obj: Any) -> list[Part]:
    parts = [*keyed(_get_dict(obj)), *keyed(_or_unset(obj, _get_extra) or {}), *keyed(_or_unset(obj, _get_private) or {})]
    return [*parts, *keyed(model_layout(type(obj)).read_slots(obj))]


MODEL: Final = Kind(_CODE, _encode, _decode, _parts)
