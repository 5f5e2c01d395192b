"""Real LangGraph graphs keep their state here as they do in memory: delta channels at every step, forks, interrupts in subgraphs."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.graph", reason="the engine is not installed (extra demo)")

from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from sealpoint import Keyring, ObjectSaver
from sealpoint.stores import MemoryStore
from tests.savers.memory import in_memory


def _append(state: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


class Log(TypedDict):
    log: Annotated[list[str], DeltaChannel(_append, snapshot_frequency=3)]
    total: Annotated[int, operator.add]


def _delta_graph(saver: Any) -> Any:
    graph = StateGraph(Log)
    for name in ("left", "right"):
        graph.add_node(name, lambda state, name=name: {"log": [f"{name}{len(state['log'])}"], "total": 1})
    graph.add_node("join", lambda _: {"log": ["|"], "total": 1})
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "join")
    graph.add_conditional_edges("join", lambda state: END if state["total"] % 9 == 0 else "left")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_delta_channels_equal_those_in_memory_at_every_step(durability: Any, keyring: Keyring) -> None:
    histories = []
    for saver in (in_memory(), ObjectSaver(MemoryStore(), keyring)):
        graph, config = _delta_graph(saver), {"configurable": {"thread_id": "t"}}
        for turn in range(4):
            graph.invoke({"log": [f"turn{turn}"], "total": 0}, config, durability=durability)
        graph.update_state(config, {"log": ["by hand"], "total": 0}, as_node="join")
        past = list(graph.get_state_history(config))[3]
        graph.update_state(past.config, {"log": ["fork"], "total": 0}, as_node="join")
        graph.invoke({"log": ["after fork"], "total": 1}, config, durability=durability)
        # InMemorySaver makes lists of the tuples in the metadata; ours come back as tuples.
        told = [(state.values, state.next, json.dumps(state.metadata)) for state in graph.get_state_history(config)]
        histories.append(told)
    memory, objects = histories
    assert len(memory) > 5
    for ours, theirs in zip(objects, memory, strict=True):
        assert ours == theirs


async def test_delta_channels_equal_those_in_memory_async(keyring: Keyring) -> None:
    states = []
    for saver in (in_memory(), ObjectSaver(MemoryStore(), keyring)):
        graph, config = _delta_graph(saver), {"configurable": {"thread_id": "t"}}
        for turn in range(4):
            await graph.ainvoke({"log": [f"turn{turn}"], "total": 0}, config)
        if isinstance(saver, ObjectSaver):
            await saver.aprune(["t"])
        await graph.ainvoke({"log": ["more"], "total": 0}, config)
        states.append((await graph.aget_state(config)).values)
    assert states[0] == states[1]


class State(TypedDict):
    steps: Annotated[list[str], operator.add]


def _nested(saver: Any, depth: int = 3) -> Any:
    inner: Any = None
    for level in range(depth):
        graph = StateGraph(State)
        if inner is None:
            graph.add_node("work", lambda _: {"steps": [f"asked:{interrupt('name?')}"]})
        else:
            graph.add_node("work", inner)
        graph.add_node("after", lambda _, level=level: {"steps": [f"after{level}"]})
        graph.add_edge(START, "work")
        graph.add_edge("work", "after")
        graph.add_edge("after", END)
        inner = graph.compile(checkpointer=saver if level == depth - 1 else None)
    return inner


def test_an_interrupt_three_subgraphs_deep_resumes_in_another_process(keyring: Keyring) -> None:
    store, results = MemoryStore(), []
    config: Any = {"configurable": {"thread_id": "t"}}
    for first, second in ((ObjectSaver(store, keyring), ObjectSaver(store, keyring)), (memory := in_memory(), memory)):
        stopped = _nested(first).invoke({"steps": []}, config)
        assert stopped["__interrupt__"][0].value == "name?"
        results.append(_nested(second).invoke(Command(resume="ada"), config))
    assert results[0] == results[1]
    namespaces = {found.config["configurable"]["checkpoint_ns"].count("|") for found in ObjectSaver(store, keyring).list(config)}
    assert namespaces == {0, 1} or namespaces == {0, 1, 2}
    assert any(found.config["configurable"]["checkpoint_ns"] == "" for found in ObjectSaver(store, keyring).list(config))
