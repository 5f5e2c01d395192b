"""Real graphs run on a sealed saver as on the bare one: history, time travel, forks, updates, durability, subgraphs, delta channels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import StateSnapshot

from sealpoint import Keyring
from sealpoint.savers import SealedSaver
from tests.savers.wrapped import agent
from tests.savers.wrapped.targets import SQLITE, AsyncTarget, Saver, Target

Wrap = Callable[[Saver], Saver]


def _told(history: Iterable[StateSnapshot]) -> list[Any]:
    """What of a history must be the same in two runs: everything but ids, versions and times."""
    return [
        (
            {key: [(m.type, m.content) for m in value] if key == "messages" else value for key, value in snapshot.values.items()},
            snapshot.next,
            {
                key: (snapshot.metadata or {}).get(key)
                for key in ("source", "step", "user_email", "customer", "counters_since_delta_snapshot")
            },
            [(task.name, _error(task.error), [item.value for item in task.interrupts], task.result is not None) for task in snapshot.tasks],
            snapshot.parent_config is not None,
        )
        for snapshot in history
    ]


def _error(error: Any) -> Any:
    """LangGraph's serializer makes text of an exception, ours keeps it."""
    return repr(error) if isinstance(error, Exception) else error


def _plain(told: list[Any]) -> Any:
    """Tuples as lists: a JSON column returns them so, a sealed one returns what it was given."""
    return [_plain(list(item)) if isinstance(item, (tuple, list)) else _plain_dict(item) for item in told]


def _plain_dict(item: Any) -> Any:
    return {key: _plain([value])[0] for key, value in item.items()} if isinstance(item, dict) else item


def _full_run(saver: Saver, durability: Any) -> Any:
    graph = agent.build().compile(checkpointer=saver)
    config = agent.config("thread")
    told: list[Any] = [graph.invoke(agent.first(), config, durability=durability)["parts"]]
    graph.invoke(agent.resume(), config, durability=durability)
    told += _told(graph.get_state_history(config))
    told += [_told([graph.get_state(config, subgraphs=True)])]
    # Time travel to the checkpoint before the question, a fork by an update there, and both branches afterwards.
    past = [snapshot for snapshot in graph.get_state_history(config) if snapshot.next == ("ask",)]
    if past:
        forked = graph.update_state(past[0].config, {"text": "forked"}, as_node="worker")
        told.append(graph.invoke(None, forked, durability=durability)["parts"])
        told.append(graph.invoke(agent.resume(), config, durability=durability)["text"])
        copied = graph.update_state(past[0].config, None, as_node="__copy__")
        told.append(graph.get_state(copied).values["parts"])
    graph.update_state(config, {"number": 7}, as_node="answer")
    told += _told(graph.get_state_history(config, limit=5))
    told.append(sorted(_metadata(list(saver.list(agent.config("thread"), filter={"source": "update"})))))
    with pytest.raises(RuntimeError, match="canary-exception"):
        agent.failing().compile(checkpointer=saver).invoke(agent.first(), agent.config("failed"), durability=durability)
    told += _told(agent.failing().compile(checkpointer=saver).get_state_history(agent.config("failed")))
    return _plain(told)


def _metadata(found: list[Any]) -> list[int]:
    return [item.metadata["step"] for item in found]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_runs_as_on_the_bare_saver(any_target: Target, durability: str, seal: Wrap, tmp_path: Path) -> None:
    with any_target.make(tmp_path / "bare") as bare, any_target.make(tmp_path / "sealed") as inner:
        assert _full_run(seal(inner), durability) == _full_run(bare, durability)


async def test_a_graph_runs_on_async_savers(async_target: AsyncTarget, seal: Wrap, tmp_path: Path) -> None:
    async def run(saver: Saver) -> Any:
        graph = agent.build().compile(checkpointer=saver)
        config = agent.config("thread")
        await graph.ainvoke(agent.first(), config)
        await graph.ainvoke(agent.resume(), config)
        history = [snapshot async for snapshot in graph.aget_state_history(config)]
        if past := [snapshot for snapshot in history if snapshot.next == ("ask",)]:
            await graph.ainvoke(None, await graph.aupdate_state(past[0].config, {"text": "forked"}, as_node="worker"))
        return _plain(_told([snapshot async for snapshot in graph.aget_state_history(config)]))

    async with async_target.make(tmp_path / "bare") as bare, async_target.make(tmp_path / "sealed") as inner:
        assert await run(seal(inner)) == await run(bare)


_RESUME = """
import sys, sqlite3
from langgraph.checkpoint.sqlite import SqliteSaver
from sealpoint import Keyring
from sealpoint.savers import SealedSaver
from tests.savers.wrapped import agent
saver = SealedSaver(SqliteSaver(sqlite3.connect(sys.argv[1], check_same_thread=False)), Keyring.parse(sys.stdin.read()))
graph = agent.build().compile(checkpointer=saver)
print(graph.invoke(agent.resume(), agent.config("thread"))["messages"][-1].content)
"""


def test_an_interrupted_run_resumes_in_another_process(tmp_path: Path) -> None:
    keys = "k:" + "A" * 42 + "E="
    with SQLITE.make(tmp_path / "store") as inner:
        agent.build().compile(checkpointer=SealedSaver(inner, Keyring.parse(keys))).invoke(agent.first(), agent.config("thread"))
    command = [sys.executable, "-c", _RESUME, str(tmp_path / "store" / "store.sqlite")]
    done = subprocess.run(command, input=keys, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert done.stdout.strip() == agent.ANSWER
    with SQLITE.make(tmp_path / "store") as inner:
        graph = agent.build().compile(checkpointer=SealedSaver(inner, Keyring.parse(keys)))
        assert graph.get_state(agent.config("thread")).values["messages"][-1].content == agent.ANSWER


def test_a_fresh_process_continues_without_what_it_had_cached(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        agent.build().compile(checkpointer=seal(inner)).invoke(agent.first(), agent.config("thread"))
    with target.make(tmp_path / "store") as inner:
        graph = agent.build().compile(checkpointer=seal(inner))
        past = next(snapshot for snapshot in graph.get_state_history(agent.config("thread")) if snapshot.next == ("worker", "worker"))
        # Another saver again: nothing was opened by it when the copy is put, and the copy's parent is not what it copies.
        graph = agent.build().compile(checkpointer=seal(inner, cache_bytes=0))  # type: ignore[call-arg]  # the fixture passes options on
        copied = graph.update_state(past.config, None, as_node="__copy__")
        assert graph.get_state(copied).values["text"] == agent.TEXT
        assert graph.get_state(past.config).values["text"] == agent.TEXT
        graph.invoke(None, copied)
        graph.invoke(agent.resume(), agent.config("thread"))
        assert graph.get_state(agent.config("thread")).values["parts"][-1] == "done"
