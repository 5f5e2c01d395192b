"""Random sequences of operations give the same answers here as in LangGraph's InMemorySaver, or as in a model where it lacks one.

Differences that are meant, and kept out of the comparison:

- values come back as they were put: InMemorySaver also adds a value that an earlier checkpoint stored under a channel's version;
- over several namespaces the greatest id is listed first, as SQLite and Postgres do: InMemorySaver goes namespace by namespace.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from sealpoint import Keyring, ObjectSaver
from sealpoint.stores import MemoryStore
from tests.savers.chains import config
from tests.savers.memory import in_memory

THREADS = ["a", "a/b", "A", ""]
NAMESPACES = ["", "child:1", "child:1|x"]
RING = Keyring.generate()

threads = st.sampled_from(THREADS)
namespaces = st.sampled_from(NAMESPACES)
# Whole numbers of 64 bits: InMemorySaver's serializer takes no others.
numbers = st.integers(-(2**63), 2**63 - 1)
values = st.one_of(numbers, st.text(max_size=5), st.just("large" * 2000), st.none(), st.lists(numbers, max_size=2))
channels = st.sampled_from(["x", "y", "z", INTERRUPT, RESUME])
tasks = st.sampled_from(["t1", "t2", "t10"])


class Differential(RuleBasedStateMachine):
    """Ours and InMemorySaver's, side by side; `sync` alternates between our sync and async methods."""

    def __init__(self) -> None:
        super().__init__()
        self.theirs = in_memory()
        self.store = MemoryStore()
        self.ours = ObjectSaver(self.store, RING)
        self.known: list[tuple[str, str, str]] = []
        self.sync = True
        self.number = 0

    def run(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Our method, sync or async by turns."""
        self.sync = not self.sync
        if self.sync:
            return getattr(self.ours, name)(*arguments, **options)
        return asyncio.run(getattr(self.ours, f"a{name}")(*arguments, **options))

    def listed(self, *arguments: Any, **options: Any) -> list[CheckpointTuple]:
        self.sync = not self.sync
        if self.sync:
            return list(self.ours.list(*arguments, **options))

        async def collect() -> list[CheckpointTuple]:
            return [item async for item in self.ours.alist(*arguments, **options)]

        return asyncio.run(collect())

    # --- what LangGraph has -------------------------------------------------------------------------------------------

    @rule(
        thread=threads,
        ns=namespaces,
        state=st.dictionaries(st.sampled_from(["x", "y", "z"]), values, max_size=3),
        changed=st.sets(st.sampled_from(["x", "y", "z"])),
        data=st.data(),
        source=st.sampled_from(["input", "loop"]),
    )
    def put(self, thread: str, ns: str, state: dict[str, Any], changed: set[str], data: st.DataObject, source: str) -> None:
        here = [known[2] for known in self.known if known[:2] == (thread, ns)]
        parent = data.draw(st.sampled_from([None, *here[-3:]]))
        made_id = data.draw(st.sampled_from([f"{self.number:04}", f"1ef4f797-8335-6{self.number:03x}-8001-8a1503f9b875", *here[-1:]]))
        self.number += 1
        previous = self.ours.get_tuple(config(thread, ns, parent)) if parent else None
        before: Any = previous.checkpoint if previous else {"channel_values": {}, "channel_versions": {}}
        versions, full = dict(before["channel_versions"]), dict(before["channel_values"])
        new: dict[str, str | int | float] = {}
        for channel in changed | set(state):
            versions[channel] = new[channel] = self.ours.get_next_version(versions.get(channel), None)
            full.pop(channel, None)
            if channel in state:
                full[channel] = state[channel]
        checkpoint: Any = {
            "v": 4, "id": made_id, "ts": "now", "channel_values": full, "channel_versions": versions, "versions_seen": {},
            "updated_channels": None,
        }  # fmt: skip
        metadata: Any = {"source": source, "step": self.number, "run_id": f"r{self.number % 3}"}
        at = config(thread, ns, parent)
        assert self.run("put", at, checkpoint, metadata, new) == self.theirs.put(at, checkpoint, metadata, new)
        if (thread, ns, made_id) not in self.known:
            self.known.append((thread, ns, made_id))

    @precondition(lambda self: self.known)
    @rule(data=st.data(), writes=st.lists(st.tuples(channels, values), max_size=3), task=tasks, path=st.sampled_from(["", "p1", "p10"]))
    def put_writes(self, data: st.DataObject, writes: list[tuple[str, Any]], task: str, path: str) -> None:
        thread, ns, checkpoint_id = data.draw(st.sampled_from(self.known))
        self.run("put_writes", config(thread, ns, checkpoint_id), writes, task, path)
        self.theirs.put_writes(config(thread, ns, checkpoint_id), writes, task, path)

    @rule(thread=threads)
    def delete_thread(self, thread: str) -> None:
        self.run("delete_thread", thread)
        self.theirs.delete_thread(thread)
        self.known = [known for known in self.known if known[0] != thread]
        assert thread not in list(self.ours.threads())

    @rule(
        thread=threads,
        ns=namespaces,
        data=st.data(),
        limit=st.sampled_from([None, 0, 1, 3]),
        wanted=st.sampled_from([None, {"source": "loop"}, {"run_id": "r1", "source": "loop"}, {"nothing": 1}, {"nothing": None}]),
    )
    def list_grid(self, thread: str, ns: str, data: st.DataObject, limit: int | None, wanted: dict[str, Any] | None) -> None:
        here = [known[2] for known in self.known if known[:2] == (thread, ns)]
        before = data.draw(st.sampled_from([None, "0001", "zzz", *here]))
        options: dict[str, Any] = {"limit": limit, "filter": wanted, "before": config(checkpoint_id=before) if before else None}
        only = data.draw(st.sampled_from([None, *here[:1]]))
        assert self.listed(config(thread, ns, only), **options) == list(self.theirs.list(config(thread, ns, only), **options))
        across = self.listed({"configurable": {"thread_id": thread}}, **{**options, "limit": None})
        theirs = list(self.theirs.list({"configurable": {"thread_id": thread}}, **{**options, "limit": None}))
        assert _by_id(across) == _by_id(theirs)
        every = [item.checkpoint["id"] for item in across]
        assert every == sorted(every, reverse=True)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), channel=st.sampled_from(["x", "y"]))
    def delta_history(self, data: st.DataObject, channel: str) -> None:
        thread, ns, checkpoint_id = data.draw(st.sampled_from(self.known))
        at = data.draw(st.sampled_from([config(thread, ns, checkpoint_id), config(thread, ns)]))
        if self._loops(thread, ns):
            return  # a checkpoint that was put again below its own descendant: InMemorySaver walks in a circle for ever
        assert self.run("get_delta_channel_history", config=at, channels=[channel]) == self.theirs.get_delta_channel_history(
            config=at, channels=[channel]
        )

    def _loops(self, thread: str, ns: str) -> bool:
        parents = {key: entry[2] for key, entry in self.theirs.storage[thread][ns].items()}
        for start in parents:
            seen, at = set(), start
            while at in parents and at not in seen:
                seen.add(at)
                at = parents[at]  # type: ignore[assignment] # None ends the walk
            if at in seen:
                return True
        return False

    # --- what it has not: a model over its own storage ------------------------------------------------------------------

    @rule(source=threads, copy=threads)
    def copy_thread(self, source: str, copy: str) -> None:
        if any(known[0] == copy for known in self.known):
            return
        self.run("copy_thread", source, copy)
        for ns, entries in list(self.theirs.storage[source].items()):
            self.theirs.storage[copy][ns].update(entries)
        for key, blob in list(self.theirs.blobs.items()):
            if key[0] == source:
                self.theirs.blobs[(copy, *key[1:])] = blob
        for (thread, ns, at), writes in list(self.theirs.writes.items()):
            if thread == source and (thread, ns, at) in self.known:
                self.theirs.writes[(copy, ns, at)] = dict(writes)
        self.known += [(copy, *known[1:]) for known in self.known if known[0] == source]

    @rule(thread=threads)
    def prune(self, thread: str) -> None:
        self.run("prune", [thread])
        for ns, entries in self.theirs.storage[thread].items():
            for gone in sorted(entries)[:-1]:
                self._forget(thread, ns, gone)

    @rule(run_id=st.sampled_from(["r0", "r1", "r7"]))
    def delete_for_runs(self, run_id: str) -> None:
        gone = [
            (found.config["configurable"]["thread_id"], found.config["configurable"]["checkpoint_ns"], found.checkpoint["id"])
            for found in self.theirs.list(None)
            if found.metadata.get("run_id") == run_id
        ]
        self.run("delete_for_runs", [run_id])
        for place in gone:
            self._forget(*place)

    def _forget(self, thread: str, ns: str, checkpoint_id: str) -> None:
        del self.theirs.storage[thread][ns][checkpoint_id]
        self.theirs.writes.pop((thread, ns, checkpoint_id), None)
        self.known.remove((thread, ns, checkpoint_id))

    # --- always ---------------------------------------------------------------------------------------------------------

    @invariant()
    def everything_is_equal(self) -> None:
        for thread in THREADS:
            for ns in NAMESPACES:
                assert self.run("get_tuple", config(thread, ns)) == self.theirs.get_tuple(config(thread, ns))
        for thread, ns, checkpoint_id in self.known[-4:]:
            at = config(thread, ns, checkpoint_id)
            assert self.run("get_tuple", at) == self.theirs.get_tuple(at)
        assert sorted(set(self.ours.threads())) == sorted({known[0] for known in self.known})


def _by_id(found: list[CheckpointTuple]) -> list[CheckpointTuple]:
    return sorted(found, key=lambda item: (item.config["configurable"]["checkpoint_ns"], item.checkpoint["id"]))


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
class TestDifferential(Differential.TestCase):  # type: ignore[misc,valid-type] # hypothesis makes the class at run time
    settings = settings(
        max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
