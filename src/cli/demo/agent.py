"""The demo's agent: a refund desk on LangGraph, scripted instead of a model, with a known secret in every kind of value."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send, interrupt

THREAD = "refund-0007"

SECRETS = {
    "user message": "card-4929-1111-2222-3333",
    "tool call argument": "order-88-secret-argument",
    "tool result": "shipped-to-17-Rosewood-Lane",
    "subgraph state": "risk-note-late-payer-twice",
    "parallel task (Send)": "fraud-check-passphrase-indigo",
    "interrupt value": "approve-refund-of-1250-euro",
    "resume value": "approved-by-badge-5521",
    "number in the state": "7305511984421",
}
"""What is planted, by the kind of value that carries it; none of it may be found in the raw store."""

METADATA_SECRET = "ada@example.org"  # noqa: S105  (planted to show what a bare serializer cannot seal)


class Desk(TypedDict, total=False):
    """The agent's state."""

    messages: Annotated[list[AnyMessage], add_messages]
    account: int
    risk: str
    checks: Annotated[list[tuple[str, str]], operator.add]
    decision: str


class Check(TypedDict):
    """What one parallel task is sent."""

    name: str
    passphrase: str


def _plan(state: Desk) -> dict[str, Any]:
    call = {"name": "find_order", "args": {"order": SECRETS["tool call argument"]}, "id": "call-1"}
    usage = {"input_tokens": 31, "output_tokens": 12, "total_tokens": 43}
    return {"messages": [AIMessage("", tool_calls=[call], usage_metadata=usage)], "account": int(SECRETS["number in the state"])}


def _find_order(state: Desk) -> dict[str, Any]:
    last = state["messages"][-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    return {"messages": [ToolMessage(SECRETS["tool result"], tool_call_id=str(call["id"])) for call in calls]}


def _assess(state: Desk) -> dict[str, Any]:
    return {"risk": SECRETS["subgraph state"]}


def _fan_out(state: Desk) -> list[Send]:
    return [Send("check", {"name": name, "passphrase": SECRETS["parallel task (Send)"]}) for name in ("address", "velocity", "device")]


def _check(state: Check) -> dict[str, Any]:
    return {"checks": [(state["name"], f"ok ({state['passphrase']})")]}


def _approve(state: Desk) -> dict[str, Any]:
    return {"decision": interrupt({"question": SECRETS["interrupt value"]})}


def _answer(state: Desk) -> dict[str, Any]:
    return {"messages": [AIMessage(f"{len(state['checks'])} checks passed, decision recorded.")]}


def build(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled agent over `saver`."""
    risk = StateGraph(Desk)
    risk.add_node("assess", _assess)
    risk.add_edge(START, "assess")
    risk.add_edge("assess", END)

    desk = StateGraph(Desk)
    desk.add_node("plan", _plan)
    desk.add_node("find_order", _find_order)
    desk.add_node("risk", risk.compile(checkpointer=True))
    desk.add_node("check", _check)
    desk.add_node("approve", _approve)
    desk.add_node("answer", _answer)
    desk.add_edge(START, "plan")
    desk.add_edge("plan", "find_order")
    desk.add_edge("find_order", "risk")
    desk.add_conditional_edges("risk", _fan_out, ["check"])
    desk.add_edge("check", "approve")
    desk.add_edge("approve", "answer")
    desk.add_edge("answer", END)
    return desk.compile(checkpointer=saver)


def config(thread: str = THREAD) -> RunnableConfig:
    """The run's config; the user's e-mail is in the metadata, where many applications put it."""
    return {"configurable": {"thread_id": thread}, "metadata": {"user_email": METADATA_SECRET}}


def start(saver: BaseCheckpointSaver[Any], thread: str = THREAD) -> str:
    """Runs the agent until it stops at its interrupt, and returns the question it asks."""
    out = build(saver).invoke({"messages": [HumanMessage(f"Refund me to {SECRETS['user message']}, please.")]}, config(thread))
    question: str = out["__interrupt__"][0].value["question"]
    return question


def resume(saver: BaseCheckpointSaver[Any], thread: str = THREAD) -> dict[str, Any]:
    """Answers the interrupt and returns the final state."""
    state: dict[str, Any] = build(saver).invoke(Command(resume=SECRETS["resume value"]), config(thread))
    return state
