"""One graph with everything that LangGraph persists (scalars, messages, subgraph, Send, interrupt, error, delta), and its canaries."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

TEXT = "canary-text-7f3a"
MESSAGE = "canary-message-91bc"
ANSWER = "canary-answer-03de"
NESTED = "canary-nested-55aa"
SENT = "canary-sent-c0ff"
QUESTION = "canary-question-8be1"
RESUMED = "canary-resumed-4d4d"
FAILURE = "canary-exception-e77e"
LOGGED = "canary-delta-2b2b"
EMAIL = "canary.user@example.org"
API_KEY = "sk-canary-6a6a6a6a"
NUMBER = 918273645546
FRACTION = 0.8172635445362718

CANARIES: tuple[str | int | float, ...] = (
    TEXT, MESSAGE, ANSWER, NESTED, SENT, QUESTION, RESUMED, FAILURE, LOGGED, EMAIL, API_KEY, NUMBER, FRACTION,
)  # fmt: skip


def _appended(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


class Inner(TypedDict):
    nested: str


class State(TypedDict):
    text: str
    number: int
    fraction: float
    flag: bool
    messages: Annotated[list[AnyMessage], add_messages]
    parts: Annotated[list[str], operator.add]
    nested: str
    log: Annotated[list[str], DeltaChannel(_appended, snapshot_frequency=2)]


def build() -> StateGraph[Any]:
    """The graph, not compiled: start → subgraph → Send to two workers → interrupt → answer."""
    sub = StateGraph(Inner)
    sub.add_node("deep", lambda _: {"nested": NESTED})
    sub.add_edge(START, "deep")

    def begin(state: State) -> dict[str, Any]:
        return {"number": NUMBER, "fraction": FRACTION, "flag": True, "messages": [AIMessage(MESSAGE)], "log": [f"{LOGGED} begin"]}

    def spread(state: State) -> list[Send]:
        return [Send("worker", {"text": f"{SENT} {index}"}) for index in range(2)]

    def worker(state: Any) -> dict[str, Any]:
        return {"parts": [state["text"]], "log": [f"{LOGGED} {state['text']}"]}

    def ask(state: State) -> dict[str, Any]:
        answer = interrupt({"question": QUESTION})
        return {"messages": [HumanMessage(answer)], "log": [f"{LOGGED} asked"]}

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(ANSWER)], "parts": ["done"], "log": [f"{LOGGED} answered"]}

    graph = StateGraph(State)
    graph.add_node("begin", begin)
    graph.add_node("sub", sub.compile(checkpointer=True))
    graph.add_node("worker", worker)
    graph.add_node("ask", ask)
    graph.add_node("answer", answer)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "sub")
    graph.add_conditional_edges("sub", spread, ["worker"])
    graph.add_edge("worker", "ask")
    graph.add_edge("ask", "answer")
    graph.add_edge("answer", END)
    return graph


def failing() -> StateGraph[Any]:
    """A graph of one node that raises."""

    def fail(state: State) -> dict[str, Any]:
        raise RuntimeError(FAILURE)

    graph = StateGraph(State)
    graph.add_node("fail", fail)
    graph.add_edge(START, "fail")
    return graph


def config(thread: str) -> RunnableConfig:
    """A config as applications make them, with what should never be stored readably."""
    return {
        "configurable": {"thread_id": thread, "user_email": EMAIL, "api_key": API_KEY},
        "metadata": {"customer": EMAIL},
    }


def first() -> dict[str, Any]:
    """The input of the first turn."""
    return {"text": TEXT, "messages": [HumanMessage(MESSAGE)]}


def resume() -> Command[Any]:
    """The input of the second turn."""
    return Command(resume=RESUMED)
