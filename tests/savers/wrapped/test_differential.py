"""A bare and a sealed saver, driven side by side through random histories, answer alike: values, orders, filters, limits, errors.

`DIFFERENTIAL_EXAMPLES=2000 pytest tests/savers/wrapped/test_differential.py` looks longer.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import langgraph.checkpoint.base
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from sealpoint import Keyring
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import MEMORY, SQLITE, Target

RING = Keyring.generate()
INDEX = Keyring.generate("index")
THREADS = ("t1", "t2")
SPACES = ("", "sub:1")
PLACES = st.sampled_from([*[("t1", "")] * 5, ("t1", "sub:1"), ("t2", "")])  # mostly one, so that histories get long
CHANNELS = ("a", "b", "counter")
SCALARS = st.sampled_from(["x", "y", "1", 0, 1, 2, True, False, 1.0, 2.5, None])
VALUES = st.one_of(
    SCALARS,
    st.lists(st.integers(0, 9), max_size=3),
    st.binary(max_size=4),
    st.builds(_DeltaSnapshot, st.lists(st.integers(0, 3), max_size=2)),
)
SCORES = st.one_of(SCALARS, st.just({"deep": [1, {"k": "v"}]}), st.just([1, 2]))


def _told(item: Any) -> Any:
    """A tuple in comparable form: metadata as JSON has it, which is how SQL savers return it."""
    if item is None:
        return None
    metadata = json.loads(json.dumps(item.metadata))
    return (
        item.config["configurable"],
        item.checkpoint,
        metadata,
        item.parent_config and item.parent_config["configurable"],
        item.pending_writes,
    )


def _histories(found: Any) -> Any:
    """Without a seed of None: PostgresSaver (3.2.0) gives none where a plain channel holds None, which is the same to LangGraph."""
    return {
        channel: {key: value for key, value in history.items() if key != "seed" or value is not None} for channel, history in found.items()
    }


class Pair(RuleBasedStateMachine):
    """Two stores of one kind, one of them sealed."""

    target: Target
    options: ClassVar[dict[str, Any]] = {}

    @initialize()
    def open(self) -> None:
        self.stack = ExitStack()
        self.folder = Path(tempfile.mkdtemp())
        self.bare = self.stack.enter_context(self.target.make(self.folder / "bare"))
        self.inner = self.stack.enter_context(self.target.make(self.folder / "sealed"))
        self.sealed = self.wrap()
        self.count = 0
        self.heads: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def wrap(self) -> SealedSaver:
        return SealedSaver(self.inner, RING, **self.options)

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()
            shutil.rmtree(self.folder)

    def both(self, call: Any) -> Any:
        """The one answer of both savers; an error must be the same, too."""
        answers = []
        for saver in (self.bare, self.sealed):
            try:
                answers.append(("ok", call(saver)))
            except (ValueError, TypeError, KeyError, NotImplementedError) as exc:
                answers.append(("raised", type(exc)))
        assert answers[1] == answers[0]
        return answers[0][1]

    def known(self, data: st.DataObject, place: tuple[str, str]) -> dict[str, Any] | None:
        found = self.heads.get(place)
        return data.draw(st.one_of(st.just(found[-1]), st.sampled_from(found))) if found else None

    @rule(data=st.data(), place=PLACES, score=SCORES, source=st.sampled_from(["input", "loop", "update"]))
    def put(self, data: st.DataObject, place: tuple[str, str], score: Any, source: str) -> None:
        """A checkpoint on any known one: the newest mostly, an older one for a fork, or a copy of it beside it."""
        parent = self.known(data, place)
        self.count += 1
        values = dict(parent["channel_values"]) if parent else {}
        versions = dict(parent["channel_versions"]) if parent else {}
        new = {}
        copies = parent is not None and data.draw(st.booleans()) and data.draw(st.booleans())
        if not copies:
            for channel in data.draw(st.sets(st.sampled_from(CHANNELS))):
                new[channel] = versions[channel] = f"{self.count:032}.{data.draw(st.integers(0, 10**6))}"
                values.pop(channel, None)
                if data.draw(st.integers(0, 4)):
                    values[channel] = data.draw(VALUES)
        base = parent["parent"] if copies and parent else parent and parent["id"]
        checkpoint: Any = {
            "v": 4, "id": f"{self.count:08}-0000", "ts": f"2026-01-01T00:00:{self.count % 60:02}", "channel_values": values,
            "channel_versions": versions, "versions_seen": {"node": dict(versions)}, "updated_channels": sorted(new) or None,
        }  # fmt: skip
        metadata: Any = {
            "source": source,
            "step": self.count % 3,
            "parents": {},
            "score": score,
            "counters_since_delta_snapshot": {"a": (1, 2)},
        }
        config: Any = {
            "configurable": {"thread_id": place[0], "checkpoint_ns": place[1], "user": "ada"},
            "metadata": {"run_id": f"r{self.count % 2}"},
        }
        if base:
            config["configurable"]["checkpoint_id"] = base
        self.both(lambda saver: saver.put(config, {**checkpoint, "channel_values": dict(values)}, dict(metadata), dict(new)))
        self.heads.setdefault(place, []).append({**checkpoint, "parent": base})

    @rule(data=st.data(), place=PLACES)
    def put_again(self, data: st.DataObject, place: tuple[str, str]) -> None:
        """The same checkpoint once more under itself, as a run does that exits where it was resumed."""
        known = self.known(data, place)
        if known is None:
            return
        config: Any = {"configurable": {"thread_id": place[0], "checkpoint_ns": place[1], "checkpoint_id": known["id"]}}
        checkpoint: Any = {key: value for key, value in known.items() if key != "parent"}
        self.both(
            lambda saver: saver.put(
                config, {**checkpoint, "channel_values": dict(known["channel_values"])}, {"source": "loop", "step": 9}, {}
            )
        )
        self.both(lambda saver: _told(saver.get_tuple(config)))

    @rule(
        data=st.data(),
        place=PLACES,
        task=st.sampled_from(["task-1", "task-2", "task-3"]),
        path=st.sampled_from(["", "~a", "~b"]),
        writes=st.lists(
            st.tuples(st.sampled_from([*CHANNELS, "__error__", "__interrupt__", "__resume__"]), VALUES), min_size=1, max_size=4
        ),
    )
    def put_writes(self, data: st.DataObject, place: tuple[str, str], task: str, path: str, writes: list[tuple[str, Any]]) -> None:
        known = self.known(data, place)
        if known is not None and self.heads[place].index(known) >= 0:
            # A task has one path; LangGraph derives its id from it.
            task = task + path
            config: Any = {"configurable": {"thread_id": place[0], "checkpoint_ns": place[1], "checkpoint_id": known["id"]}}
            self.both(lambda saver: saver.put_writes(config, writes, task, path))

    @rule(data=st.data(), thread=st.sampled_from(THREADS), space=st.sampled_from([*SPACES, None, "none"]), by_id=st.booleans())
    def get_tuple(self, data: st.DataObject, thread: str, space: str | None, by_id: bool) -> None:
        ids: dict[str, Any] = {"thread_id": thread, "extra": 1} | ({} if space is None else {"checkpoint_ns": space})
        if by_id and (known := self.known(data, (thread, space or ""))):
            ids["checkpoint_id"] = known["id"]
        self.both(lambda saver: _told(saver.get_tuple({"configurable": ids})))

    @rule(
        data=st.data(),
        thread=st.sampled_from([*THREADS, None]),
        space=st.sampled_from([*SPACES, None]),
        wanted=st.one_of(
            st.none(),
            st.fixed_dictionaries({}, optional={
                "source": st.sampled_from(["input", "loop"]), "step": st.integers(0, 2), "score": SCORES, "run_id": st.just("r1"),
                "user": st.just("ada"), "absent": st.sampled_from([None, 1]), "bad'key": st.just(1), "score.deep": st.just([1, {"k": "v"}]),
            }),
        ),
        limit=st.one_of(st.none(), st.integers(0, 3)),
        cursor=st.booleans(),
    )  # fmt: skip
    def list(self, data: st.DataObject, thread: str | None, space: str | None, wanted: Any, limit: int | None, cursor: bool) -> None:
        config: Any = (
            None if thread is None else {"configurable": {"thread_id": thread} | ({} if space is None else {"checkpoint_ns": space})}
        )
        known = self.known(data, (thread or "t1", space or "")) if cursor else None
        before: Any = None if known is None else {"configurable": {"thread_id": thread or "t1", "checkpoint_id": known["id"]}}
        self.both(lambda saver: [_told(item) for item in saver.list(config, filter=wanted, before=before, limit=limit)])

    @rule(thread=st.sampled_from(THREADS))
    def delete(self, thread: str) -> None:
        self.both(lambda saver: saver.delete_thread(thread))
        self.heads = {place: found for place, found in self.heads.items() if place[0] != thread}

    @rule(thread=st.sampled_from(THREADS), space=st.sampled_from(SPACES))
    def delta_history(self, thread: str, space: str) -> None:
        heads = self.heads.get((thread, space))
        if heads and not any(head["id"] == head["parent"] for head in heads):
            config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": heads[-1]["id"]}}
            if not self.loops(thread, space):
                self.both(lambda saver: _histories(saver.get_delta_channel_history(config=config, channels=list(CHANNELS))))

    def loops(self, thread: str, space: str) -> bool:
        """A checkpoint that is its own parent: InMemorySaver's own walk would not end."""
        found = self.bare.list({"configurable": {"thread_id": thread, "checkpoint_ns": space}})
        return any(item.parent_config and item.parent_config["configurable"]["checkpoint_id"] == item.checkpoint["id"] for item in found)

    @rule()
    def another_process(self) -> None:
        """A sealed saver that knows nothing yet."""
        self.sealed = self.wrap()

    @invariant()
    def nothing_was_refused(self) -> None:
        if hasattr(self, "sealed"):
            assert self.sealed.stats()["refuse"] == {}


@pytest.mark.skipif(
    not hasattr(langgraph.checkpoint.base, "writes_sort_key"),
    reason="bare savers of langgraph-checkpoint before 4.2 return writes as they were inserted; sealed ones in LangGraph's later order",
)
@pytest.mark.parametrize("target", [MEMORY, SQLITE, pytest.param(POSTGRES, marks=needs_postgres)], ids=lambda target: target.name)
@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "every-option"])
def test_a_sealed_saver_answers_as_the_bare_one(target: Target, hidden: bool) -> None:
    options = (
        {"index_keys": INDEX, "search_fields": ["score", "run_id"], "pad_lengths": True, "hash_thread_ids": True, "hide_names": True}
        if hidden
        else {}
    )
    machine = type("Pair", (Pair,), {"target": target, "options": options})
    slow = target is POSTGRES
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(os.environ.get("DIFFERENTIAL_EXAMPLES", "4" if slow else "20")),
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
