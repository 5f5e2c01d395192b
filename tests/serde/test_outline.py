"""An outline names the types that reading would refuse, and builds nothing, whatever the bytes are."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import BaseModel

from sealpoint.errors import DecodeError, SealpointError, TypeRefusedError
from sealpoint.serde import JsonPlus


@dataclass
class Point:
    x: Any


class Model(BaseModel):
    inner: Any = None


class Level(enum.Enum):
    LOW = 1


class Text(str):
    __slots__ = ()


class FailedError(Exception):
    pass


VALUE = {"a": [1, "b", None, {"c": 2.5}], "own": [Model(inner=1), Point([Level.LOW])], "delta": _DeltaSnapshot([1])}
OURS = {**VALUE, "more": [Text("t"), FailedError("no")]}


@pytest.mark.parametrize(
    ("serializer", "value", "expected"),
    [
        (JsonPlusSerializer(), VALUE, {"Point", "Model", "Level"}),
        (JsonPlus(), OURS, {"Point", "Model", "Level", "Text", "FailedError"}),
    ],
    ids=["msgpack", "msgpack1"],
)
def test_every_type_that_is_not_allowed_is_named_and_nothing_else(serializer: Any, value: Any, expected: set[str]) -> None:
    tag, data = serializer.dumps_typed(value)
    found = JsonPlus().outline(tag, data, authenticated=False)
    assert set(found.names) == {(__name__, name) for name in expected}
    assert found.shape["a"] == VALUE["a"]
    assert not any(isinstance(part, (Model, Point)) for part in found.shape["own"])
    allowed = JsonPlus(allowed_types=[(__name__, name) for name in expected])
    assert allowed.outline(tag, data, authenticated=False).names == ()
    allowed.load(tag, data, authenticated=False)
    assert JsonPlus().outline("msgpack1", JsonPlus().dumps_typed(OURS)[1], authenticated=True).names == ()


def test_the_named_types_are_those_that_reading_refuses_one_by_one() -> None:
    tag, data = JsonPlus().dumps_typed(OURS)
    allowed: list[tuple[str, str]] = []
    while True:
        try:
            JsonPlus(allowed_types=allowed).load(tag, data, authenticated=False)
        except TypeRefusedError:
            left = JsonPlus(allowed_types=allowed).outline(tag, data, authenticated=False).names
            allowed.append(next(name for name in left))
        else:
            break
    assert len(allowed) == 5


def test_a_named_module_is_not_imported() -> None:
    tag, data = JsonPlusSerializer().dumps_typed(Model())
    planted = data.replace(__name__.encode(), b"this".ljust(len(__name__), b"x"))
    assert JsonPlus().outline(tag, planted, authenticated=False).names == (("this".ljust(len(__name__), "x"), "Model"),)
    assert "this" not in sys.modules


@pytest.mark.parametrize(("serializer", "value"), [(JsonPlusSerializer(), VALUE), (JsonPlus(), OURS)], ids=["msgpack", "msgpack1"])
def test_damage_is_an_error_of_ours_or_another_outline(serializer: Any, value: Any) -> None:
    tag, data = serializer.dumps_typed(value)
    for position in range(len(data)):
        for changed in (data[:position], data[:position] + bytes((data[position] ^ 1 << position % 8,)) + data[position + 1 :]):
            try:
                JsonPlus().outline(tag, changed, authenticated=False)
            except SealpointError:
                continue


@pytest.mark.parametrize("tag", ["pickle", "unknown", "msgpack1+zstd"])
def test_what_is_not_read_has_no_outline(tag: str) -> None:
    with pytest.raises(DecodeError, match="no outline"):
        JsonPlus().outline(tag, b"\x80\x04N.", authenticated=True)
