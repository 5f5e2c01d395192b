"""Hostile payloads that nothing vouches for, and values that used to change or crash: each ends in an error of ours, quickly."""

from __future__ import annotations

import json
from typing import Any

import ormsgpack
import pytest

from sealpoint.errors import TypeRefusedError
from sealpoint.serde import JsonPlus


def constructor(code: int, *parts: Any) -> ormsgpack.Ext:
    """An object as LangGraph's writer describes it."""
    return ormsgpack.Ext(code, ormsgpack.packb(list(parts)))


# --- LangGraph's formats: constructors are called, so the list is shorter -------------------------------------------


@pytest.mark.parametrize("authenticated", [False, True])
def test_a_metaclass_is_not_called(authenticated: bool) -> None:
    named = constructor(1, "builtins", "type", ["X", [], {"__module__": "builtins"}])
    with pytest.raises(TypeRefusedError):
        JsonPlus().load("msgpack", ormsgpack.packb(named), authenticated=authenticated)


def test_a_metaclass_in_json_stays_the_dict_that_it_is() -> None:
    posted = {"lc": 2, "type": "constructor", "id": ["builtins", "type"], "args": ["X", [], {}]}
    assert JsonPlus().loads_typed(("json", json.dumps(posted).encode())) == posted


@pytest.mark.parametrize("name", [("builtins", "bytearray"), ("builtins", "bytes"), ("numpy", "recarray"), ("collections", "Counter")])
def test_what_is_safe_to_restore_is_not_safe_to_call(name: tuple[str, str]) -> None:
    with pytest.raises(TypeRefusedError):
        JsonPlus().loads_typed(("msgpack", ormsgpack.packb(constructor(0, *name, 3 * 10**9))))
