"""Subclasses of str, int and bytes in every place where a kind keeps a name or a number: what dumping accepts, loading accepts.

An enum with text values (`StrEnum`) is the usual way in which one gets there.
"""

from __future__ import annotations

import collections
import datetime as dt
import enum
import fractions
import pathlib
import re
import types
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pydantic
import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command, Interrupt, Send

from sealpoint.errors import ValueNotStorableError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec import scan


class Word(enum.StrEnum):
    NAME = "name"
    ZONE = "Europe/Lisbon"
    PATTERN = "a+@b"


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Raw(bytes):
    pass


class Model(pydantic.BaseModel):
    model_config = {"extra": "allow"}
    name: str = ""


class Holder:
    value: Any


def _with_private(value: Any) -> Model:
    made = Model()
    object.__setattr__(made, "__pydantic_private__", value)
    return made


def _with_extra(value: Any) -> Model:
    made = Model()
    object.__setattr__(made, "__pydantic_extra__", value)
    return made


def _with_attribute(name: Any) -> Holder:
    made = Holder()
    vars(made)[name] = 1
    return made


def _zone(key: Any) -> zoneinfo.ZoneInfo:
    zoneinfo.ZoneInfo.clear_cache()
    return zoneinfo.ZoneInfo(key)


def _fraction() -> fractions.Fraction:
    made: Any = fractions.Fraction(3, 4)
    made._numerator = Whole(3)
    return made  # type: ignore[no-any-return]


VALUES: dict[str, Callable[[], Any]] = {
    "pattern": lambda: re.compile(Word.PATTERN),
    "pattern of bytes": lambda: re.compile(Raw(b"a")),
    "named offset": lambda: dt.timezone(dt.timedelta(hours=1), Word.NAME),
    "datetime with it": lambda: dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1), Text("x"))),
    "zone": lambda: _zone(Word.ZONE),
    "fraction": _fraction,
    "range": lambda: range(Whole(1), Whole(5)),
    "slice": lambda: slice(Whole(1), Word.NAME, None),
    "deque": lambda: collections.deque([1], maxlen=Whole(3)),
    "path": lambda: pathlib.PurePosixPath(Word.NAME),
    "fields set": lambda: Model().model_copy(update={Word.NAME: "x"}),
    "fields set, constructed": lambda: HumanMessage.model_construct(_fields_set={"content", Text("name")}, content="x"),
    "fields set, frozen": lambda: Model.model_construct(_fields_set=frozenset({"name"}), name="x"),  # type: ignore[arg-type]
    "fields set, a list": lambda: Model.model_construct(_fields_set=["name"], name="x"),  # type: ignore[arg-type]
    "extra keys": lambda: Model(**{Word.PATTERN: 1}),  # type: ignore[arg-type]
    "extra, ordered": lambda: _with_extra(collections.OrderedDict(x=1)),
    "private, ordered": lambda: _with_private(collections.OrderedDict(x=1)),
    "attribute": lambda: _with_attribute(Word.NAME),
    "namespace": lambda: types.SimpleNamespace(**{Word.NAME: 1}),
    "syntax error": lambda: SyntaxError("m", (Text("f"), 1, 2, Text("t"))),
    "import error": lambda: ImportError("m", name=Word.NAME, path=Text("p")),
    "os error": lambda: OSError(Whole(2), Text("x"), Word.NAME),
    "unicode error": lambda: UnicodeDecodeError(Text("utf-8"), Raw(b"x"), 0, 1, Text("r")),
    "exit": lambda: SystemExit(Word.NAME),
    "stop": lambda: StopIteration(Word.NAME),
    "group": lambda: ExceptionGroup(Word.NAME, [ValueError(1)]),
    "dtype": lambda: np.dtype([(Word.NAME, "i4")]),
    "object array": lambda: np.array([Word.NAME, Whole(3)], dtype=object),
    "series": lambda: pd.Series([1], name=Word.NAME),
    "frame": lambda: pd.DataFrame({Word.NAME: [1], "b": [2]}),
    "range index": lambda: pd.RangeIndex(3, name=Word.NAME),
    "multi index": lambda: pd.MultiIndex.from_tuples([(1, Word.NAME)], names=[Word.NAME, None]),
    "timestamp": lambda: pd.Timestamp("2026-01-01", tz=dt.timezone(dt.timedelta(hours=1), Word.NAME)),
    "interval": lambda: pd.Interval(Whole(1), Whole(2)),
    "message": lambda: HumanMessage("x", id=Word.NAME, name=Text("n"), additional_kwargs={Word.NAME: 1}),
    "send": lambda: Send(Word.NAME, {Word.NAME: 1}),
    "command": lambda: Command(goto=Word.NAME, update={Word.NAME: 1}),
    "interrupt": lambda: Interrupt(value=Word.NAME, id=Text("i")),
    "keys": lambda: {Word.NAME: 1, Whole(1): 2},
    "default dict": lambda: collections.defaultdict(list, {Word.NAME: 1}),
    "ordered dict": lambda: collections.OrderedDict({Word.NAME: 1}),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_dumping_accepts_loading_accepts(name: str) -> None:
    serde = JsonPlus()
    value = VALUES[name]()
    try:
        tag, data = serde.dumps_typed({"value": value})
    except ValueNotStorableError:
        return
    found = serde.load(tag, data, authenticated=True)["value"]
    assert type(found) is type(value)


def test_a_zone_that_somebody_asked_for_by_an_enum_is_kept_for_everyone() -> None:
    asked = _zone(Word.ZONE)
    value = dt.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Lisbon"))
    assert value.tzinfo is asked
    serde = JsonPlus()
    assert serde.loads_typed(serde.dumps_typed(value)) == value


def test_equal_names_of_another_type_are_not_merged_silently() -> None:
    plain = Model.model_construct(_fields_set={"name"}, name="x")
    odd = Model.model_construct(_fields_set={Word.NAME}, name="x")
    with pytest.raises(ValueNotStorableError, match="plain set of plain str"):
        JsonPlus().dumps_typed([plain, odd])


def test_a_dict_that_once_had_another_key_hides_nothing_from_the_proof() -> None:
    """From Python 3.13 on, an instance's dict tells the collector nothing; one with a general key table tells it twice as much."""
    hides, tells = Holder(), Holder()
    hides.value = bytearray(b"x")
    setattr(tells, Word.NAME, 1)
    dicts = [vars(hides), vars(tells)]
    assert not scan.is_exact([dicts])
    serde = JsonPlus()
    found = serde.load(*serde.dumps_typed([hides, tells]), authenticated=True)
    assert type(found[0].value) is bytearray
