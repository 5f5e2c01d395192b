"""Which kind stores a type: by exact type, else by what the class is made of; it encodes nothing itself."""

from __future__ import annotations

import array
import datetime as dt
import enum
import functools
import re
import sys
import types
import typing
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from . import arrays, classes, containers, enums, exceptions, frames, instances, models, pickled, registry, scalars, subclasses, temporal
from .kind import Kind, UnstorableError
from .lift import Octets, Pairs, Text

_TYPE_EXPRESSIONS: Final = (
    type,
    types.GenericAlias,
    types.UnionType,
    type(typing.List[int]),  # noqa: UP006 - the type of typing's own aliases is meant
    type(typing.Union[int, str]),  # noqa: UP007 - as above
    type(typing.Literal[1]),
    type(typing.Any),
)
EXACT: Final[Mapping[type, Kind]] = {
    tuple: containers.TUPLE,
    Pairs: containers.PAIRS,
    set: containers.SET,
    frozenset: containers.FROZENSET,
    Text: scalars.TEXT,
    Octets: containers.OCTETS,
    int: scalars.INT,
    complex: scalars.COMPLEX,
    Decimal: scalars.DECIMAL,
    Fraction: scalars.FRACTION,
    uuid.UUID: scalars.UUID,
    **dict.fromkeys(scalars.PATH_TYPES, scalars.PATH),
    **dict.fromkeys(scalars.ADDRESS_TYPES, scalars.ADDRESS),
    range: scalars.RANGE,
    slice: scalars.SLICE,
    type(Ellipsis): classes.SINGLETON,
    type(NotImplemented): classes.SINGLETON,
    re.Pattern: scalars.PATTERN,
    dt.datetime: temporal.DATETIME,
    dt.date: temporal.DATE,
    dt.time: temporal.TIME,
    dt.timedelta: temporal.TIMEDELTA,
    dt.timezone: temporal.TIMEZONE,
    ZoneInfo: temporal.ZONEINFO,
    deque: containers.DEQUE,
    OrderedDict: containers.ORDERED,
    defaultdict: containers.DEFAULTDICT,
    Counter: containers.COUNTER,
    array.array: containers.ARRAY,
    types.SimpleNamespace: containers.NAMESPACE,
    **dict.fromkeys(_TYPE_EXPRESSIONS, classes.CLASS),
}
_FAMILIES: Final = (
    classes.CLASS,
    instances.INSTANCE,
    models.MODEL,
    subclasses.SUBCLASS,
    enums.ENUM,
    exceptions.EXCEPTION,
    arrays.ARRAY,
    arrays.SCALAR,
    arrays.DTYPE,
    arrays.MASKED,
    arrays.SUBCLASS,
    frames.FRAME,
    frames.SERIES,
    frames.INDEX,
    frames.ARRAY,
    frames.SCALAR,
    registry.REGISTERED,
    pickled.PICKLED,
)
BY_CODE: Final[Mapping[int, Kind]] = {kind.code: kind for kind in (*EXACT.values(), *_FAMILIES)}

known: Final[dict[type, Kind]] = dict(EXACT)
"""The kinds found so far; `kind_of` fills it."""

_MAX_KNOWN: Final = 4096  # classes; those made at run time would otherwise stay for ever


def kind_of(cls: type) -> Kind:
    """The kind that stores instances of `cls`.

    Raises:
        UnstorableError: none does; the reason says what to do.
    """
    kind = known.get(cls)
    if kind is None:
        kind = _classified(cls)
        if len(known) >= _MAX_KNOWN:
            known.clear()
            known.update(EXACT)
        known[cls] = kind
    return kind


def code_of(cls: type) -> int:
    """The code of that kind."""
    return kind_of(cls).code


_FUNCTIONS: Final = frozenset(
    {
        types.FunctionType,
        types.BuiltinFunctionType,
        types.MethodType,
        types.MethodWrapperType,
        types.WrapperDescriptorType,
        functools.partial,
    }
)


def _classified(cls: type) -> Kind:
    if cls in _FUNCTIONS:
        raise UnstorableError("functions are not stored, because reading must not decide what is run; store a name and look it up")
    if issubclass(cls, type):
        return classes.CLASS
    if issubclass(cls, enum.Enum):
        return enums.ENUM
    if issubclass(cls, BaseException):
        exceptions.exception_layout(cls)
        return exceptions.EXCEPTION
    if issubclass(cls, BaseModel):
        models.model_layout(cls)
        return models.MODEL
    kind = _numeric(cls)
    if kind is not None:
        return kind
    if issubclass(cls, (ZoneInfo, dt.tzinfo)):
        raise UnstorableError("time zones other than zoneinfo's and datetime.timezone are not stored; use zoneinfo.ZoneInfo")
    if subclasses.base_of(cls) is not None:
        subclasses.subclass_layout(cls)
        return subclasses.SUBCLASS
    instances.instance_layout(cls)
    return instances.INSTANCE


def _numeric(cls: type) -> Kind | None:
    """The kind of a numpy or pandas class; those modules are not imported for it."""
    np, pd = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pd is not None and hasattr(pd, "arrays"):
        kind = frames.exact_types(pd).get(cls)
        if kind is not None:
            return kind
        if issubclass(cls, (pd.DataFrame, pd.Series, pd.Index)):
            raise UnstorableError("subclasses of pandas types are not stored; convert it to the pandas type, or register a codec")
    if np is None or not hasattr(np, "ndarray"):
        return None
    if cls is np.ndarray:
        return arrays.ARRAY
    if cls is np.ma.MaskedArray:
        return arrays.MASKED
    if issubclass(cls, np.ndarray):
        arrays.subclass_layout(cls)
        return arrays.SUBCLASS
    if issubclass(cls, np.dtype):
        return arrays.DTYPE
    if issubclass(cls, np.generic):
        if cls.__module__.partition(".")[0] != "numpy":
            raise UnstorableError("subclasses of numpy scalars are not stored; convert it with .item(), or register a codec")
        return arrays.SCALAR
    return None
