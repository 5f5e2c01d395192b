"""Whatever a user calls a metadata or config key, and whatever it holds, what was stored is read back, or was refused when it was put."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

from sealpoint import Keyring
from sealpoint.errors import ConfigurationError, IntegrityError, ValueNotStorableError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.targets import MEMORY, Saver, Target
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]
OURS = ("sealpoint", "sealpoint_place", "sealpoint_t_0123")
LONE = "a\ud800b"
NAN = float("nan")
HUGE = 1e23  # in decimal digits, as PostgreSQL returns it, it is another number


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def _graph(saver: Saver) -> Any:
    made = StateGraph(State).add_node("n", lambda _: {"log": ["n"]}).add_edge(START, "n")
    return made.compile(checkpointer=saver)


def _run(saver: Saver, **config: Any) -> Any:
    """The metadata, after everything was read that a run left."""
    config = {**config, "configurable": {"thread_id": "t", **config.get("configurable", {})}}
    graph = _graph(saver)
    graph.invoke({"log": ["in"]}, config)
    assert len(list(saver.list(None))) == len(list(graph.get_state_history(config))) == 3
    state = graph.get_state(config)
    assert state.values == {"log": ["in", "n"]}
    return state.metadata


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "hidden"])
@pytest.mark.parametrize("where", ["metadata", "configurable"])
@pytest.mark.parametrize("key", OURS)
def test_a_key_called_like_a_seal_is_kept_like_any_other(
    inner: Saver, seal: Wrap, index_keys: Keyring, key: str, where: str, hidden: bool
) -> None:
    saver = seal(inner, index_keys=index_keys, hash_thread_ids=hidden)
    assert _run(saver, **{where: {key: "x"}})[key] == "x"
    assert len(list(saver.list(None, filter={key: "x"}))) == 3


@pytest.mark.parametrize("key", OURS)
def test_a_key_called_like_a_seal_cannot_be_passed_in_clear(inner: Saver, seal: Wrap, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"pass_through names '{key}'"):
        seal(inner, pass_through=(key,))


def test_a_passed_key_has_one_value_in_the_sealed_and_in_the_readable_copy(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """LangGraph prefers `metadata` to `configurable`, and the inner saver sees only what was passed."""
    config: Any = {"configurable": {"user_id": "tenant-7"}, "metadata": {"user_id": "alice"}}
    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        told = _run(seal(inner, pass_through=["user_id"]), **config)
        assert told == _run(bare, **config)
        assert told["user_id"] == "alice"


@pytest.mark.parametrize("run_id", [LONE, NAN, float("inf"), HUGE], ids=repr)
def test_a_readable_key_that_stores_would_change_is_stored_sealed_only(inner: Saver, seal: Wrap, run_id: Any) -> None:
    found = _run(seal(inner), metadata={"run_id": run_id})["run_id"]
    assert repr(found) == repr(run_id)


@pytest.mark.parametrize("key", ["user_id", "run_id"])
@pytest.mark.parametrize("value", [LONE, NAN, HUGE], ids=repr)
def test_a_passed_key_that_stores_would_change_is_refused_when_it_is_put(inner: Saver, seal: Wrap, key: str, value: Any) -> None:
    saver = seal(inner, pass_through=[key])
    config: Any = {"configurable": {**at()["configurable"], key: value}}
    with pytest.raises(ValueNotStorableError, match=f"'{key}' is named in pass_through"):
        saver.put(config, checkpoint("1", {"a": 1}), {}, {"a": 1})
    assert saver.get_tuple(at()) is None


def test_a_filter_on_what_was_stored_sealed_only_finds_it(seal: Wrap, tmp_path: Path) -> None:
    with MEMORY.make(tmp_path / "store") as inner:
        saver = seal(inner)
        saver.put(at(), checkpoint("1", {"a": 1}), {"run_id": LONE}, {"a": 1})
        assert len(list(saver.list(None, filter={"run_id": LONE}))) == 1


def test_a_readable_key_put_beside_a_checkpoint_that_has_it_sealed_only_is_refused(seal: Wrap, tmp_path: Path) -> None:
    with MEMORY.make(tmp_path / "store") as inner:
        seal(inner).put(at(), checkpoint("1", {"a": 1}), {"run_id": LONE}, {"a": 1})
        raw: Any = inner
        stored = raw.storage["t"][""]["1"]
        metadata = {**inner.serde.loads_typed(stored[1]), "run_id": "other"}
        raw.storage["t"][""]["1"] = (stored[0], inner.serde.dumps_typed(metadata), stored[2])
        with pytest.raises(IntegrityError, match="readable metadata"):
            seal(inner).get_tuple(at())
