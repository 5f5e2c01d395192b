"""What a failed node leaves behind: its exception as it was, or, where that has no faithful form, its text; never nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypedDict

import pydantic
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from sealpoint import Keyring, ObjectSaver, SealedSaver
from sealpoint.errors import ValueNotStorableError
from sealpoint.savers.failures import store_write
from sealpoint.stores import MemoryStore

SAVERS: dict[str, Callable[[], Any]] = {
    "sealed": lambda: SealedSaver(InMemorySaver(), Keyring.generate()),
    "objects": lambda: ObjectSaver(MemoryStore(), Keyring.generate()),
}


class State(TypedDict):
    text: str


class Wanted(pydantic.BaseModel):
    number: int


def _parse(state: State) -> State:
    Wanted.model_validate({"number": json.loads(state["text"])})
    return state


class _MuteError(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.fixture(params=SAVERS)
def graph(request: pytest.FixtureRequest) -> Any:
    builder = StateGraph(State)
    builder.add_node("parse", _parse)
    builder.add_edge(START, "parse")
    builder.add_edge("parse", END)
    return builder.compile(checkpointer=SAVERS[request.param]())


def failure(graph: Any, text: str) -> Any:
    """What the state says of the failed task."""
    config = {"configurable": {"thread_id": "1"}}
    with pytest.raises((json.JSONDecodeError, pydantic.ValidationError)):
        graph.invoke({"text": text}, config)
    (task,) = graph.get_state(config).tasks
    return task.error


def test_an_exception_with_a_faithful_form_comes_back_as_it_was(graph: Any) -> None:
    error = failure(graph, "{half")
    assert type(error) is json.JSONDecodeError
    assert (error.pos, error.doc) == (1, "{half")


def test_an_exception_without_one_leaves_its_text(graph: Any) -> None:
    error = failure(graph, '"seven"')
    assert isinstance(error, str)
    assert "unable to parse string as an integer" in error


def _refusing(value: Any) -> Any:
    if isinstance(value, BaseException):
        raise ValueNotStorableError("no")
    return value


def test_an_exception_without_text_leaves_its_name() -> None:
    assert store_write("__error__", _MuteError(), _refusing) == "_MuteError()"


def test_nothing_else_is_replaced() -> None:
    with pytest.raises(ValueNotStorableError):
        store_write("messages", ValueError("x"), _refusing)
    with pytest.raises(ValueNotStorableError):
        store_write("__error__", object(), lambda value: _refusing(ValueError(value)))
