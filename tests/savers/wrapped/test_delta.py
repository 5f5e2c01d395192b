"""What a delta channel is made of does not vanish unnoticed: a missing snapshot is refused, missing writes and ancestors are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph

from sealpoint.errors import AuthenticationError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import MEMORY, Saver, Target

Wrap = Callable[..., SealedSaver]
CONFIG: Any = {"configurable": {"thread_id": "t"}}
SAID = ["user0", "bot", "user1", "bot", "user2", "bot"]


def _joined(said: list[str], added: list[list[str]]) -> list[str]:
    return [*said, *(item for items in added for item in items)]


class State(TypedDict, total=False):
    said: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=4)]
    turn: int


def _graph(saver: Saver) -> Any:
    made = StateGraph(State).add_node("bot", lambda state: {"said": ["bot"]} if state["turn"] else {}).add_edge(START, "bot")
    return made.compile(checkpointer=saver)


def _ids(graph: Any) -> list[str]:
    return [snapshot.config["configurable"]["checkpoint_id"] for snapshot in graph.get_state_history(CONFIG)]


@pytest.fixture
def said(inner: Saver, seal: Wrap) -> list[str]:
    """Three turns; the checkpoints' ids, newest first."""
    graph = _graph(seal(inner))
    for turn in range(3):
        graph.invoke({"said": [f"user{turn}"], "turn": turn + 1}, CONFIG)
    assert graph.get_state(CONFIG).values["said"] == SAID
    return _ids(graph)


def test_an_untouched_channel_counts_nothing(inner: Saver, seal: Wrap, said: list[str]) -> None:
    saver = seal(inner)
    states = [_graph(saver).get_state({"configurable": {**CONFIG["configurable"], "checkpoint_id": one}}).values for one in said]
    assert states[0]["said"] == SAID
    assert saver.stats()["saver"] == {}


def _without(target: Target, inner: Any, what: str, checkpoint_id: str) -> None:
    if target is MEMORY:
        if what == "row":
            del inner.storage["t"][""][checkpoint_id]
        else:
            found = inner.writes["t", "", checkpoint_id]
            for key in [key for key, write in found.items() if write[1] == "said"]:
                del found[key]
        return
    table, extra = ("checkpoints", "") if what == "row" else ("writes", " AND channel = 'said'")
    if target is POSTGRES:
        with inner._cursor() as cursor:
            table = "checkpoints" if what == "row" else "checkpoint_writes"
            cursor.execute(f"DELETE FROM {table} WHERE checkpoint_id = %s{extra}", (checkpoint_id,))  # noqa: S608  # a test's own text
    else:
        inner.conn.execute(f"DELETE FROM {table} WHERE checkpoint_id = ?{extra}", (checkpoint_id,))  # noqa: S608  # likewise


def test_a_deleted_write_is_counted(target: Target, inner: Saver, seal: Wrap, said: list[str]) -> None:
    _without(target, inner, "write", said[1])
    saver = seal(inner)
    assert _graph(saver).get_state(CONFIG).values["said"] == SAID[:-1]
    assert saver.stats()["saver"]["delta_short"] == 1


def test_a_deleted_ancestor_is_counted(target: Target, inner: Saver, seal: Wrap, said: list[str]) -> None:
    _without(target, inner, "row", said[2])
    saver = seal(inner)
    assert _graph(saver).get_state(CONFIG).values["said"] == SAID[-1:]
    assert saver.stats()["saver"] == {"history_cut": 1, "delta_short": 1}


@pytest.mark.parametrize("target", [MEMORY, pytest.param(POSTGRES, marks=needs_postgres)], ids=lambda target: target.name)
def test_a_deleted_snapshot_is_refused_by_every_checkpoint_of_its_version(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """Where the saver keeps one value for a version. It was passed over, and older writes made a state without it."""
    with target.make(tmp_path / "store") as inner:
        graph = _graph(seal(inner))
        for turn in range(2):
            graph.invoke({"said": [f"user{turn}"], "turn": turn + 1}, CONFIG)
        graph.invoke({"turn": 0}, CONFIG)  # steps that do not write to the channel
        assert graph.get_state(CONFIG).values["said"] == SAID[:4]
        raw: Any = inner
        if target is MEMORY:
            for key in [key for key in raw.blobs if key[2] == "said"]:
                del raw.blobs[key]
        else:
            with raw._cursor() as cursor:
                cursor.execute("DELETE FROM checkpoint_blobs WHERE channel = 'said'")
        with pytest.raises(AuthenticationError, match="'said' is missing"):
            _graph(seal(inner)).get_state(CONFIG)
