"""A graph with user types, a subgraph, parallel tasks and an interrupt, run on a saver given by name; also a script, for strict mode.

`python -m tests.chain.agent_run SAVER FOLDER` prints one JSON object; `test_savers.py` says what must be in it.
"""

import asyncio
import dataclasses
import json
import operator
import sqlite3
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

from sealpoint import Keyring, LayeredSerializer, sealed_serializer

SAVERS = ("InMemorySaver", "SqliteSaver", "AsyncSqliteSaver")
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@dataclasses.dataclass
class Case:
    """A user's dataclass in the state."""

    number: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Verdict(BaseModel):
    """A user's model in the state."""

    ok: bool
    why: str | None = None


class State(TypedDict, total=False):
    """The graph's state."""

    messages: Annotated[list[AnyMessage], add_messages]
    case: Case
    verdict: Verdict
    parts: Annotated[list[int], operator.add]
    answer: str


def build(saver: Any) -> Any:
    """The compiled graph."""
    inner = StateGraph(State)
    inner.add_node("judge", lambda state: {"verdict": Verdict(ok=state["case"].number == 7)})
    inner.add_edge(START, "judge")
    inner.add_edge("judge", END)
    outer = StateGraph(State)
    outer.add_node("open", lambda _: {"case": Case(7, ["a"]), "messages": [AIMessage("opened")]})
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_node("part", lambda state: {"parts": [state["n"]]})
    outer.add_node("ask", lambda state: {"answer": interrupt({"verdict": state["verdict"]})})
    outer.add_edge(START, "open")
    outer.add_edge("open", "inner")
    outer.add_conditional_edges("inner", lambda _: [Send("part", {"n": n}) for n in range(4)], ["part"])
    outer.add_edge("part", "ask")
    outer.add_edge("ask", END)
    return outer.compile(checkpointer=saver)


def summary(state: Any, asked: Any, graph: Any, serde: Any) -> dict[str, Any]:
    """What the tests look at."""
    return {
        "asked": type(asked.value["verdict"]).__name__,
        "case": [type(state["case"]).__name__, state["case"].number, state["case"].tags],
        "verdict": [type(state["verdict"]).__name__, state["verdict"].ok],
        "parts": sorted(state["parts"]),
        "messages": [message.content for message in state["messages"]],
        "answer": state["answer"],
        "serde": type(graph.checkpointer.serde).__name__,
        "refused": serde.stats()["refuse"] if isinstance(serde, LayeredSerializer) else {},
        "sealed": serde.stats()["seal"] if isinstance(serde, LayeredSerializer) else {},
    }


def run_sync(saver: Any, serde: Any) -> dict[str, Any]:
    """The graph on a sync saver."""
    graph = build(saver)
    asked = graph.invoke({"messages": [HumanMessage("hi")]}, CONFIG)["__interrupt__"][0]
    state = graph.invoke(Command(resume="yes"), CONFIG)
    assert len(list(graph.get_state_history(CONFIG))) > 4
    return summary(state, asked, graph, serde)


async def run_async(saver: Any, serde: Any) -> dict[str, Any]:
    """The graph on an async saver."""
    graph = build(saver)
    asked = (await graph.ainvoke({"messages": [HumanMessage("hi")]}, CONFIG))["__interrupt__"][0]
    state = await graph.ainvoke(Command(resume="yes"), CONFIG)
    assert len([_ async for _ in graph.aget_state_history(CONFIG)]) > 4
    return summary(state, asked, graph, serde)


def run(name: str, folder: Path, serde: Any) -> dict[str, Any]:
    """The graph on the saver `name`, with its files in `folder`."""
    if name == "InMemorySaver":
        return run_sync(InMemorySaver(serde=serde), serde)
    if name == "SqliteSaver":
        connection = sqlite3.connect(folder / "sync.db", check_same_thread=False)
        try:
            return run_sync(SqliteSaver(connection, serde=serde), serde)
        finally:
            connection.close()

    async def with_async_sqlite() -> dict[str, Any]:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "async.db")) as saver:
            saver.serde = serde
            return await run_async(saver, serde)

    return asyncio.run(with_async_sqlite())


if __name__ == "__main__":
    sealed = sealed_serializer(Keyring.generate("k"))
    sys.stdout.write(
        json.dumps({"ours": run(sys.argv[1], Path(sys.argv[2]), sealed), "strict": JsonPlusSerializer()._allowed_msgpack_modules is None})
    )
