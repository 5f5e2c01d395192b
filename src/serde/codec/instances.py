"""Instances of dataclasses, attrs classes, pydantic v1 models and plain classes: stored as their state, restored without calling them."""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

from . import drift
from .classes import marshal_class, stored_class
from .containers import attributes
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, expect, listed
from .layout import CACHED_HASH, Layout, caches_hash, layout_of
from .subclasses import NATIVE, base_of

_CODE: Final = 40
_drain: Final = deque[Any](maxlen=0).extend
# Slots that classes of ours to know grew since they were first stored, and what they mean when absent.
_LATER_SLOTS: Final[dict[tuple[str, str], dict[str, Any]]] = {("langgraph.types", "Send"): {"timeout": None}}


def instance_layout(cls: type) -> Layout:
    """The layout of a class whose instances are nothing but state.

    Raises:
        UnstorableError: there is more to them.
    """
    if base_of(cls) is not None:
        raise UnstorableError("its class extends a builtin type")
    layout = layout_of(cls, NATIVE)
    try:
        object.__new__(cls)
    except TypeError:
        raise UnstorableError("it keeps state inside a native class, or its class is abstract; register a codec for its class") from None
    return layout


def _encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    layout = instance_layout(cls)
    dicts = None if layout.get_dict is None else list(map(layout.get_dict, objs))
    if dicts is not None and caches_hash(cls) and any(CACHED_HASH in state for state in dicts):
        dicts = [{**state, CACHED_HASH: None} for state in dicts]
    slots = list(map(layout.read_slots, objs)) if layout.slots or dicts is None else None
    return [marshal_class(cls), _fields(cls), dicts, slots, len(objs)]


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    head, fields, dicts, slots, count = expect(columns, 5)
    cls = stored_class(head, _CODE, source)
    layout = instance_layout(cls)
    rows = listed(slots if dicts is None else dicts)
    if type(count) is not int or len(rows) != count or (slots is not None and len(listed(slots)) != count):
        raise MalformedError
    current = _fields(cls)
    if fields != current:
        _adapt(cls, layout, fields, current, dicts, slots, source)
    made: list[Any] = list(map(object.__new__, repeat(cls, count)))
    if dicts is not None:
        if layout.set_dict is None:
            slots = _into_slots(dicts, slots)
        else:
            _drain(map(layout.set_dict, made, dicts))
    if slots is not None:
        _fill_slots(cls, layout, made, slots, source)
    if not source.authenticated and vars(object)["__hash__"] is not getattr(cls, "__hash__", None):
        for obj, state, more in zip(made, dicts or repeat({}), slots or repeat({}), strict=False):
            source.weigh(obj, [*state.values(), *more.values()])
    return made


def _fill_slots(cls: type, layout: Layout, made: list[Any], slots: list[Any], source: Reading) -> None:
    setters = {name: put for name, _get, put in layout.slots}
    gone: dict[str, None] = {}
    for obj, state in zip(made, slots, strict=True):
        for name, value in state.items():
            if name in setters:
                setters[name](obj, value)
            elif layout.get_dict is not None:
                layout.get_dict(obj)[name] = value
            else:
                gone[name] = None
    if gone:
        source.drift.removed(cls, list(gone))
    for name, value in _LATER_SLOTS.get((cls.__module__, cls.__qualname__), {}).items():
        for obj, state in zip(made, slots, strict=True):
            if name not in state and name in setters:
                setters[name](obj, value)


def _into_slots(dicts: list[Any], slots: Any) -> list[Any]:
    """For a class that has slots now and had ``__dict__`` when its objects were stored."""
    return [{**state, **more} for state, more in zip(dicts, slots or repeat({}), strict=False)]


# --- declared fields -------------------------------------------------------------------------------------------------


def _fields(cls: type) -> str:
    """The declared fields, joined; "" where a class declares none."""
    if "__dataclass_fields__" in vars(cls) or dataclasses.is_dataclass(cls):
        return drift.joined(field.name for field in dataclasses.fields(cls))
    declared = getattr(cls, "__attrs_attrs__", None)
    if isinstance(declared, tuple):
        return drift.joined(attribute.name for attribute in declared)
    if _is_v1_model(cls):
        return drift.joined(cls.__fields__)  # type: ignore[attr-defined]  # every pydantic v1 model has it
    return ""


def _is_v1_model(cls: type) -> bool:
    v1 = sys.modules.get("pydantic.v1.main")
    return v1 is not None and issubclass(cls, v1.BaseModel)


def _defaults(cls: Any) -> drift.Defaults:
    if dataclasses.is_dataclass(cls):
        return _dataclass_defaults(cls)
    if _is_v1_model(cls):
        return {name: drift.made_by(field.get_default) for name, field in cls.__fields__.items() if not field.required}
    return _attrs_defaults(cls)


def _dataclass_defaults(cls: Any) -> drift.Defaults:
    found: dict[str, Callable[[Any], Any]] = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            found[field.name] = drift.always(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = drift.made_by(field.default_factory)
    return found


def _attrs_defaults(cls: Any) -> drift.Defaults:
    found: dict[str, Callable[[Any], Any]] = {}
    for attribute in getattr(cls, "__attrs_attrs__", ()):
        default = attribute.default
        if type(default).__name__ == "Factory":
            # One that takes the unfinished object is code of the class; such a field counts as having no default.
            if not default.takes_self:
                found[attribute.name] = drift.made_by(default.factory)
        elif default is not sys.modules["attr"].NOTHING:
            found[attribute.name] = drift.always(default)
    return found


def _adapt(cls: type, layout: Layout, stored: Any, current: str, dicts: Any, slots: Any, source: Reading) -> None:
    known = {name for name, _get, _set in layout.slots}
    states = [dict(state) for state in _into_slots(dicts, slots)] if dicts is not None else [dict(state) for state in slots]
    drift.adapt(cls, stored, current, states, _defaults(cls), source.drift)
    for number, state in enumerate(states):
        if slots is not None:
            slots[number] = {name: value for name, value in state.items() if name in known or dicts is None}
        if dicts is not None:
            dicts[number] = {name: value for name, value in state.items() if slots is None or name not in known}


def _parts(obj: Any) -> list[Part]:
    layout = instance_layout(type(obj))
    state = {} if layout.get_dict is None else layout.get_dict(obj)
    return [*attributes(state), *attributes(layout.read_slots(obj))]


INSTANCE: Final = Kind(_CODE, _encode, _decode, _parts)
