"""Pydantic v2 models by instance state: fields, fields set, extra and private values; no validator, serializer or constructor runs."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from . import drift
from .classes import marshal_class, stored_class
from .containers import attributes, keyed
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, all_exactly, counted, expect, listed, spread
from .layout import Layout, layout_of
from .subclasses import base_of

_CODE: Final = 41
_drain: Final = deque[Any](maxlen=0).extend
_COPY: Final = 10  # the cost of a name in a set of its own, in items hashed
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is worked out once for every model class: its name, its head in the group, and whether it has slots of its own."""

    module: str
    qualname: str
    head: list[Any]
    has_slots: bool


_plans: Final[dict[type, _Plan]] = {}
_MAX_PLANS: Final = 4096  # classes; those made at run time would otherwise stay for ever


def _plan(cls: type) -> _Plan:
    """The plan of a class, whose name is checked every time: another class may have taken it since."""
    plan = _plans.get(cls)
    if plan is not None:
        loaded = sys.modules.get(plan.module)
        if loaded is not None and loaded.__dict__.get(plan.qualname) is cls:
            return plan
    plan = _Plan(cls.__module__, cls.__qualname__, [marshal_class(cls), *_fields(cls)], bool(model_layout(cls).slots))
    if len(_plans) >= _MAX_PLANS:
        _plans.clear()
    _plans[cls] = plan
    return plan


def _encode(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    types, which = counted(map(type, objs))
    plans = list(map(_plan, types))
    slots = None
    for plan in plans:
        if plan.has_slots:
            slots = [model_layout(type(obj)).read_slots(obj) for obj in objs]
            break
    sets, which_set = _fields_set(objs)
    return [
        [plan.head for plan in plans],
        which,
        list(map(_get_dict, objs)),
        sets,
        which_set,
        _column(objs, _get_extra),
        _column(objs, _get_private),
        slots,
    ]


def _fields_set(objs: list[Any]) -> tuple[list[list[str]], Any]:
    """The distinct sets of fields that were set, and for each object the place of its own."""
    found = list(map(_get_set, objs))
    if not _all_of(set, found) or not _all_of(str, gc.get_referents(*found)):
        raise UnstorableError("the names of the fields that were set are not a plain set of plain str; copy it with such names")
    sets, which = counted(map(frozenset, found))
    return list(map(list, sets)), which


def _all_of(kind: type, values: list[Any]) -> bool:
    """Whether all have exactly this type; counting in a list is quicker than making a set."""
    return list(map(type, values)).count(kind) == len(values)


def _column(objs: list[Any], get: Callable[[Any], Any]) -> Any:
    """Extra or private values: nil where all are None, 0 where all are empty, 1 where all are unset; else a list, with False for unset."""
    try:
        values = list(map(get, objs))
    except AttributeError:
        values = [_or_unset(obj, get) for obj in objs]
    types = set(map(type, values))
    if not types <= _EXACT:
        raise UnstorableError("its extra or private values are not in a plain dict; give it a dict of them")
    if any(values) or len(types) > 1:
        return values
    return _UNIFORM[type(values[0])]


_EXACT: Final = frozenset({dict, type(None), bool})  # the last for unset
_UNIFORM: Final[dict[type, int | None]] = {type(None): None, dict: 0, bool: 1}


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
    heads, which, dicts, table, numbers, extras, privates, slots = expect(columns, 8)
    count = len(listed(dicts))
    sets = [set(all_exactly(str, names)) for names in listed(table)]
    source.spend(_COPY * sum(map(len, spread(numbers, sets, count))))
    classes: list[type] = []
    shared = True
    for number, head in enumerate(heads):
        name, *fields = expect(listed(head), 3)
        cls = stored_class(name, _CODE, source)
        if fields != _fields(cls):
            mine = [at for at in range(count) if which is None or which[at] == number]
            if shared:
                sets, numbers, shared = list(map(set, spread(numbers, sets, count))), list(range(count)), False
            privates = _adapt(cls, fields, mine, dicts, sets, privates, source)
        if cls in classes:
            raise MalformedError
        classes.append(cls)
    made: list[Any] = list(map(object.__new__, spread(which, classes, count)))
    _drain(map(_set_dict, made, dicts))
    if not source.authenticated and any(getattr(cls, "__hash__", None) for cls in classes):
        for obj, state in zip(made, dicts, strict=True):
            source.weigh(obj, state.values())
    _drain(map(_set_set, made, map(set, spread(numbers, sets, count)) if shared else sets))
    _set_column(made, extras, _set_extra)
    _set_column(made, privates, _set_private)
    if slots is not None:
        for obj, state in zip(made, slots, strict=True):
            setters = {name: put for name, _get, put in model_layout(type(obj)).slots}
            for name, value in state.items():
                setters[name](obj, value)
    return made


# --- drift -----------------------------------------------------------------------------------------------------------


def _fields(cls: Any) -> list[str]:
    """Declared fields and private attributes, joined."""
    return [drift.joined(cls.__pydantic_fields__), drift.joined(cls.__private_attributes__)]


def _adapt(cls: Any, stored: list[Any], mine: list[int], dicts: list[Any], sets: list[set[str]], privates: Any, source: Reading) -> Any:
    """Adapts the objects at `mine`, those of this class; returns the private values of all."""
    before, before_private = stored
    current, current_private = _fields(cls)
    states = [dicts[at] for at in mine]
    drift.adapt(cls, before, current, states, _defaults(cls), source.drift)
    removed = set(before.split("\n")) - set(cls.__pydantic_fields__)
    for at in mine:
        sets[at] = {name for name in sets[at] if name not in removed}
    if before_private == current_private:
        return privates
    everyone = list(privates) if type(privates) is list else [{} if privates == 0 else None for _ in dicts]
    own = [dict(everyone[at] or {}) for at in mine]
    makers = {name: _private_default(attribute) for name, attribute in cls.__private_attributes__.items()}
    drift.adapt(cls, before_private, current_private, own, makers, source.drift)
    for at, state in zip(mine, own, strict=True):
        # A private attribute without a default is unset, as it is after construction.
        everyone[at] = {name: value for name, value in state.items() if value is not PydanticUndefined} if current_private else None
    return everyone


def _defaults(cls: Any) -> drift.Defaults:
    return {name: _field_default(field) for name, field in cls.__pydantic_fields__.items() if not field.is_required()}


def _field_default(field: Any) -> Callable[[Any], Any]:
    return lambda state: field.get_default(call_default_factory=True, validated_data=state)


def _private_default(attribute: Any) -> Callable[[Any], Any]:
    factory = attribute.default_factory
    if factory is None:
        return lambda _state: attribute.get_default()
    if getattr(attribute, "default_factory_takes_validated_data", False):
        return factory  # type: ignore[no-any-return]  # the class's own function
    return drift.made_by(factory)


def _parts(obj: Any) -> list[Part]:
    parts = [*attributes(_get_dict(obj)), *keyed(_or_unset(obj, _get_extra) or {}), *attributes(_or_unset(obj, _get_private) or {})]
    return [*parts, *attributes(model_layout(type(obj)).read_slots(obj))]


def _foreign(columns: list[Any]) -> list[Any]:
    _heads, _which, dicts, sets, _which_set, extras, privates, slots = columns
    return [*dicts, sets, extras, privates, slots]


MODEL: Final = Kind(_CODE, _encode, _decode, _parts, mixed=True, foreign=_foreign)
