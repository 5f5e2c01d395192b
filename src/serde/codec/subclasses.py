"""Subclasses of builtin types: the builtin value, read through the base, and the state on top of it.

Restoring makes the builtin part with the base's own ``__new__`` and methods, and puts the state beside it; nothing that the subclass
overrides is called.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

from . import drift
from .classes import marshal_class, parse_type, stored_class
from .containers import attributes, checked_flat, checked_list, filled, indexed, keyed, mapped, marshal_factory
from .kind import Kind, MalformedError, Part, Reading, Writing, all_exactly, exactly, expect, listed
from .layout import Layout, layout_of
from .temporal import date_row, datetime_from, datetime_row, delta_row, time_from, time_row

_CODE: Final = 43


class Base:
    """How one builtin type gives and takes its value.

    Args:
        give: the value as plain data or parts.
        take: an instance of the class with that value.
    """

    __slots__ = ("give", "take")

    def __init__(self, give: Callable[[Any], Any], take: Callable[[Any, Any, Reading], Any]) -> None:
        self.give = give
        self.take = take


def _new(base: Any, stored: type[Any] | None = None) -> Callable[[Any, Any, Reading], Any]:
    return lambda cls, value, _source: base.__new__(cls, exactly(stored or base, value))


def _fill_list(cls: Any, row: Any, _source: Reading) -> Any:
    made: list[Any] = list.__new__(cls)
    list.extend(made, listed(row))
    return made


def _fill_set(cls: Any, row: Any, source: Reading) -> Any:
    made: set[Any] = set.__new__(cls)
    set.update(made, filled(set, row, source))
    return made


def _tuple(cls: Any, row: Any, source: Reading) -> Any:
    made = tuple.__new__(cls, listed(row))
    source.weigh(made, row)
    return made


def _fill_dict(cls: Any, row: Any, source: Reading) -> Any:
    made: dict[Any, Any] = dict.__new__(cls)
    dict.update(made, mapped(row, source))
    return made


def _fill_ordered(cls: Any, row: Any, source: Reading) -> Any:
    made: OrderedDict[Any, Any] = OrderedDict.__new__(cls)
    for key, value in mapped(row, source).items():
        OrderedDict.__setitem__(made, key, value)
    return made


def _fill_defaultdict(cls: Any, row: Any, source: Reading) -> Any:
    factory, items = expect(listed(row), 2)
    made: defaultdict[Any, Any] = defaultdict.__new__(cls)
    defaultdict.__init__(made, None if factory is None else parse_type(factory, source.trust))
    dict.update(made, mapped(items, source))
    return made


def _fill_deque(cls: Any, row: Any, _source: Reading) -> Any:
    made: deque[Any] = deque.__new__(cls)
    length, items = expect(listed(row), 2)
    deque.__init__(made, listed(items), None if length is None else exactly(int, length))
    return made


def _fill_bytearray(cls: Any, row: Any, _source: Reading) -> Any:
    made: bytearray = bytearray.__new__(cls)
    bytearray.__init__(made, exactly(bytes, row))
    return made


def _date(cls: Any, row: Any, _source: Reading) -> Any:
    return dt.date.__new__(cls, *all_exactly(int, row, 3))


def _delta(cls: Any, row: Any, _source: Reading) -> Any:
    return dt.timedelta.__new__(cls, *all_exactly(int, row, 3))


BASES: Final[dict[type, Base]] = {
    int: Base(lambda v: int.__add__(v, 0), _new(int)),
    float: Base(float.__pos__, _new(float)),
    complex: Base(
        lambda v: [vars(complex)["real"].__get__(v), vars(complex)["imag"].__get__(v)],
        lambda cls, row, _source: complex.__new__(cls, *all_exactly(float, row, 2)),
    ),
    str: Base(str.__str__, _new(str)),
    bytes: Base(lambda v: bytes(memoryview(v)), _new(bytes)),
    bytearray: Base(lambda v: bytes(memoryview(v)), _fill_bytearray),
    tuple: Base(lambda v: list(tuple.__iter__(v)), _tuple),
    frozenset: Base(
        lambda v: checked_list(frozenset.__iter__(v)), lambda cls, row, source: frozenset.__new__(cls, filled(frozenset, row, source))
    ),
    list: Base(lambda v: list(list.__iter__(v)), _fill_list),
    set: Base(lambda v: checked_list(set.__iter__(v)), _fill_set),
    Counter: Base(checked_flat, _fill_dict),
    OrderedDict: Base(lambda v: [part for item in OrderedDict.items(v) for part in item], _fill_ordered),
    defaultdict: Base(lambda v: [marshal_factory(defaultdict.__dict__["default_factory"].__get__(v)), checked_flat(v)], _fill_defaultdict),
    dict: Base(checked_flat, _fill_dict),
    deque: Base(lambda v: [deque.__dict__["maxlen"].__get__(v), list(deque.__iter__(v))], _fill_deque),
    dt.datetime: Base(datetime_row, lambda cls, row, _source: datetime_from(cls, row)),
    dt.date: Base(date_row, _date),
    dt.time: Base(time_row, lambda cls, row, _source: time_from(cls, row)),
    dt.timedelta: Base(delta_row, _delta),
    Decimal: Base(Decimal.__str__, _new(Decimal, str)),
}
"""Most derived first where one is the base of another."""

NATIVE: Final = frozenset({*BASES, SimpleNamespace})
"""Builtin classes whose own state is stored, or is nothing but ``__dict__``."""


def base_of(cls: type) -> type | None:
    """The builtin type whose value instances of `cls` carry, or None."""
    return next((base for base in cls.__mro__ if base in BASES), None)


def subclass_layout(cls: type) -> Layout:
    """The layout of a builtin type's subclass.

    Raises:
        UnstorableError: its instances are more than the builtin value and state.
    """
    return layout_of(cls, NATIVE)


def read_dict(layout: Layout, obj: Any) -> Any:
    """The ``__dict__`` of an instance, or nil where it has none or an empty one."""
    return (layout.get_dict(obj) or None) if layout.get_dict is not None else None


def write_dict(layout: Layout, obj: Any, state: Any) -> None:
    """Puts a stored ``__dict__`` in place."""
    if state is None:
        return
    if layout.set_dict is None or type(state) is not dict:
        raise MalformedError
    layout.set_dict(obj, state)


def _encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    layout = subclass_layout(cls)
    base = base_of(cls)
    if base is None:
        raise MalformedError
    give = BASES[base].give
    fields = _fields(cls)
    states = [[read_dict(layout, obj), layout.read_slots(obj) if layout.slots else None] for obj in objs]
    return [marshal_class(cls), fields, list(map(give, objs)), states if any(a or b for a, b in states) else None]


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    head, fields, values, states = expect(columns, 4)
    cls = stored_class(head, _CODE, source)
    base = base_of(cls)
    if base is None or base is cls:
        raise MalformedError
    layout = subclass_layout(cls)
    if fields != _fields(cls):
        values = _adapted(cls, fields, listed(values), source)
    made = [BASES[base].take(cls, value, source) for value in listed(values)]
    if states is not None:
        setters = {name: put for name, _get, put in layout.slots}
        for obj, (state, slots) in zip(made, states, strict=True):
            write_dict(layout, obj, state)
            for name, value in (slots or {}).items():
                setters[name](obj, value)
    return made


# --- named tuples: the only ones whose builtin value has fields ----------------------------------------------------


def _fields(cls: type) -> Any:
    if not issubclass(cls, tuple):
        return None
    names = next((vars(base)["_fields"] for base in cls.__mro__ if "_fields" in vars(base)), None)
    return drift.joined(names) if type(names) is tuple and all(type(name) is str for name in names) else None


def _adapted(cls: type, stored: Any, values: list[Any], source: Reading) -> list[Any]:
    current = _fields(cls)
    if type(stored) is not str or current is None:
        raise MalformedError
    defaults = {name: drift.always(value) for name, value in getattr(cls, "_field_defaults", {}).items()}
    states = [dict(zip(stored.split("\n"), row, strict=True)) for row in values]
    drift.adapt(cls, stored, current, states, defaults, source.drift)
    return [[state[name] for name in current.split("\n")] for state in states]


_ITERATE: Final[dict[Any, Callable[[Any], Any]]] = {base: base.__iter__ for base in (tuple, list, set, frozenset, deque)}


def _parts(obj: Any) -> list[Part]:
    base = base_of(type(obj))
    parts: list[Part] = []
    if base in (dict, OrderedDict, defaultdict, Counter):
        parts.extend(keyed(obj))
    elif base in _ITERATE:
        names = getattr(type(obj), "_fields", None)
        items = list(indexed(_ITERATE[base](obj)))
        parts.extend([(f".{name}", item) for name, (_step, item) in zip(names, items, strict=False)] if type(names) is tuple else items)
    layout = subclass_layout(type(obj))
    parts.extend(attributes(read_dict(layout, obj) or {}))
    parts.extend(attributes(layout.read_slots(obj)))
    return parts


SUBCLASS: Final = Kind(_CODE, _encode, _decode, _parts)
