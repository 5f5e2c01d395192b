"""Savers of other projects: a graph runs as on the bare one, no canary is readable, and what was exchanged is refused.

The wrapper knows nothing of the first two. The third keeps base64 in JSON items; it runs on a stand-in for its client, in memory
(`cosmos_standin`), since neither the service nor its emulator is here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealpoint.errors import IntegrityError, NotSealedError
from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped.profile import Profile, profile_of
from tests.savers.wrapped import agent, test_graphs
from tests.savers.wrapped.more_savers import ASYNC_COSMOS, COSMOS, MORE, PLAINREDIS, cosmos_container
from tests.savers.wrapped.targets import AsyncTarget, Saver, Target
from tests.savers.wrapped.test_canaries import found_in
from tests.savers.wrapped.test_graphs import _full_run, _plain, _told
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]


@pytest.mark.parametrize("target", MORE)
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_graph_runs_as_on_the_bare_saver(target: Target, durability: Any, seal: Wrap, tmp_path: Path) -> None:
    def run(saver: Saver) -> Any:
        if target.name != "plainredis":
            return _full_run(saver, durability)
        for turn in (agent.first(), agent.resume()):
            agent.build().compile(checkpointer=saver).invoke(turn, agent.config("thread"), durability=durability)
        return _plain(_told(agent.build().compile(checkpointer=saver).get_state_history(agent.config("thread"))))

    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        assert (profile_of(inner) == Profile()) == (target.name != "cosmosdb-stand-in")
        assert run(seal(inner)) == run(bare)


@pytest.mark.parametrize("target", [PLAINREDIS])
def test_forks_that_a_saver_mixes_by_itself_are_refused_not_mixed(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """This saver counts versions in whole numbers and keeps one value for a version, so a fork overwrites what its sibling stored."""

    def fork(saver: Saver) -> None:
        root = saver.put(at(), checkpoint("1", {"role": "user"}, {"role": 1}), {}, {"role": 1})
        for name, role in (("2", "user"), ("3", "admin")):
            saver.put(root, checkpoint(name, {"role": role}, {"role": 2}), {}, {"role": 2})

    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        fork(bare)
        mixed = bare.get_tuple(at("2"))
        assert mixed is not None
        assert mixed.checkpoint["channel_values"] == {"role": "admin"}
        fork(seal(inner))
        with pytest.raises(IntegrityError):
            seal(inner).get_tuple(at("2"))
        newest = seal(inner).get_tuple(at())
        assert newest is not None
        assert newest.checkpoint["channel_values"] == {"role": "admin"}


@pytest.mark.parametrize("target", MORE)
def test_no_canary_is_readable(target: Target, seal: Wrap, tmp_path: Path, index_keys: Any) -> None:
    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        for saver in (bare, seal(inner)):
            graph = agent.build().compile(checkpointer=saver)
            graph.invoke(agent.first(), agent.config("thread"))
            graph.invoke(agent.resume(), agent.config("thread"))
        assert set(found_in(target.dump(tmp_path / "bare", bare))) >= {agent.TEXT, agent.MESSAGE, agent.RESUMED, agent.NESTED}
        assert found_in(target.dump(tmp_path / "sealed", inner)) == []
        agent.build().compile(checkpointer=seal(inner, index_keys=index_keys, hash_thread_ids=True, hide_names=True)).invoke(
            agent.first(), agent.config("hidden-canary")
        )
        assert found_in(target.dump(tmp_path / "sealed", inner), ("hidden-canary",)) == []


@pytest.mark.parametrize("target", MORE)
def test_a_checkpoint_that_was_put_beside_the_seal_is_refused(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        seal(inner).put(at(), checkpoint("1", {"a": [1]}), {"source": "input"}, {"a": 1})
        stored = inner.get_tuple(at())
        assert stored is not None
        # Sealed values as they are, under another thread, and with one of them replaced: what someone could do who has the store.
        inner.put(at(thread="other"), stored.checkpoint, stored.metadata, {"a": 1})
        inner.put(at("1", thread="third"), checkpoint("2", {"a": [1]}), {"source": "loop"}, {"a": 1})
        for thread in ("other", "third"):
            with pytest.raises(IntegrityError):
                seal(inner).get_tuple(at(thread=thread))
        found = seal(inner).get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": [1]}


@pytest.mark.parametrize("target", [COSMOS])
def test_items_exchanged_in_the_container_are_refused(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """Every field that holds something sealed, replaced by that of each other item that has one: opened nowhere but where it was."""
    with target.make(tmp_path / "store") as inner:
        for thread in ("t", "other"):
            seal(inner).put(at(thread=thread), checkpoint("1", {"a": [1]}), {"source": "input"}, {"a": 1})
            seal(inner).put(at("1", thread=thread), checkpoint("2", {"a": [2]}, {"a": 2}), {"source": "loop"}, {"a": 2})
            seal(inner).put_writes(at("2", thread=thread), [("a", [3]), ("b", [4])], "task")
        items = cosmos_container(tmp_path / "store").items
        kept = dict(items)
        tried = 0
        for here, text in kept.items():
            for field in ("checkpoint", "metadata", "value"):
                for other in (json.loads(there) for place, there in kept.items() if place != here):
                    own = json.loads(text)
                    if field not in own or field not in other or own[field] == other[field]:
                        continue
                    items[here] = json.dumps({**own, field: other[field]})
                    parts = own["id"].split("$")
                    with pytest.raises(IntegrityError):
                        seal(inner).get_tuple(at(parts[3], thread=parts[1]))
                    items[here] = text
                    tried += 1
        assert tried == 3 * 4 * 3  # three fields, four items that have it, each with three others
        found = seal(inner).get_tuple(at("2"))
    assert found is not None
    assert found.pending_writes == [("task", "a", [3]), ("task", "b", [4])]


@pytest.mark.parametrize("target", [COSMOS])
@pytest.mark.parametrize("stored", [["json", base64.b64encode(b'{"lc": 2}').decode()], ["msgpack", "not base64"], ["bytes", None], 7])
def test_an_item_of_another_form_is_refused_unread(target: Target, stored: Any, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        seal(inner).put(at(), checkpoint("1", {"a": [1]}), {"source": "input"}, {"a": 1})
        items = cosmos_container(tmp_path / "store").items
        items.update({place: json.dumps({**json.loads(text), "metadata": stored}) for place, text in items.items()})
        with pytest.raises(NotSealedError):
            seal(inner).get_tuple(at())


@pytest.mark.parametrize("target", [COSMOS])
def test_old_items_are_read_in_migration_mode(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": [1]}), {"source": "input"}, {"a": 1})
        found = seal(inner, migrate=True).get_tuple(at())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": [1]}
        with pytest.raises(NotSealedError):
            seal(inner).get_tuple(at())


@pytest.mark.parametrize("async_target", [ASYNC_COSMOS])
async def test_a_graph_runs_as_on_the_bare_async_saver(async_target: AsyncTarget, seal: Wrap, tmp_path: Path) -> None:
    await test_graphs.test_a_graph_runs_on_async_savers(async_target, seal, tmp_path)
