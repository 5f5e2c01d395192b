"""What inner savers do by themselves is no attack: put again, prune, collide, drop; a sealed saver answers as they do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sealpoint.savers import SealedSaver
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import Saver, Target

Wrap = Callable[..., SealedSaver]


def checkpoint(checkpoint_id: str, values: dict[str, Any], versions: dict[str, Any] | None = None) -> Any:
    return {
        "v": 4, "id": checkpoint_id, "ts": "2026-01-01T00:00:00+00:00", "channel_values": values,
        "channel_versions": dict.fromkeys(values, 1) if versions is None else versions, "versions_seen": {}, "updated_channels": None,
    }  # fmt: skip


def at(checkpoint_id: str | None = None, thread: str = "t") -> Any:
    ids = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": ids if checkpoint_id is None else {**ids, "checkpoint_id": checkpoint_id}}


def both(target: Target, seal: Wrap, tmp_path: Path, told: Callable[[Saver], Any]) -> Any:
    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        expected = told(bare)
        assert told(seal(inner)) == expected
        return expected


def test_a_checkpoint_put_again_under_itself_has_the_parent_that_the_bare_saver_gives(target: Target, seal: Wrap, tmp_path: Path) -> None:
    def told(saver: Saver) -> Any:
        saver.put(at(), checkpoint("1", {"a": "x"}), {"source": "input"}, {"a": 1})
        saver.put(at("1"), checkpoint("2", {"a": "x"}), {"source": "loop"}, {})
        saver.put(at("2"), checkpoint("2", {"a": "x"}), {"source": "loop"}, {})
        again = saver if not isinstance(saver, SealedSaver) else seal(saver._inner)
        again.put(at("2"), checkpoint("2", {"a": "x"}), {"source": "loop"}, {})
        found = [item for item in again.list(at()) if item.checkpoint["id"] == "2"]
        return found[0].parent_config, found[0].checkpoint

    parent, _ = both(target, seal, tmp_path, told)
    assert parent["configurable"]["checkpoint_id"] == ("1" if target.name == "postgres" else "2")


def test_a_version_that_two_checkpoints_use_reads_as_in_the_bare_saver(target: Target, seal: Wrap, tmp_path: Path) -> None:
    def told(saver: Saver) -> Any:
        saver.put(at(), checkpoint("1", {"a": ["one"]}), {}, {"a": 1})
        saver.put(at(), checkpoint("2", {"a": ["two"]}), {}, {"a": 1})
        saver.put(at("2"), checkpoint("3", {"a": ["three"]}), {}, {"a": 1})
        return [item.checkpoint["channel_values"] for item in saver.list(at())]

    both(target, seal, tmp_path, told)


def test_a_value_that_new_versions_do_not_name_is_not_lost(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """Copies are put with no new versions, on a parent that does not have the values."""
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        saver.put(at(), checkpoint("1", {"a": ["old"]}), {}, {"a": 1})
        saver.put(at("1"), checkpoint("2", {"a": ["new"]}, {"a": 2}), {}, {"a": 2})
        seal(inner, cache_bytes=0).put(at("1"), checkpoint("3", {"a": ["new"]}, {"a": 2}), {"source": "fork"}, {})
        seal(inner, cache_bytes=0).put(at(), checkpoint("4", {"a": ["old"]}, {"a": 1}), {"source": "fork"}, {})
        found = {item.checkpoint["id"]: item.checkpoint["channel_values"]["a"] for item in seal(inner).list(at())}
    assert found == {"1": ["old"], "2": ["new"], "3": ["new"], "4": ["old"]}


def test_values_without_a_version_are_kept(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """Some savers lose them; sealed, they travel with the checkpoint."""
    with target.make(tmp_path / "store") as inner:
        seal(inner).put(at(), checkpoint("1", {"a": [1], "b": {2}}, {"a": 1}), {}, {"a": 1})
        found = seal(inner).get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": [1], "b": {2}}


def test_a_value_that_came_back_at_an_old_version_reads_as_in_the_bare_saver(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """A channel keeps its version and has no value in the next checkpoint: savers that share values return the old one."""

    def told(saver: Saver) -> Any:
        saver.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        saver.put(at("1"), checkpoint("2", {}, {"a": 1}), {}, {})
        saver.put(at("2"), checkpoint("3", {}, {"a": 1}), {}, {})
        return [item.checkpoint["channel_values"] for item in saver.list(at())]

    both(target, seal, tmp_path, told)


def test_metadata_comes_back_as_it_was_given(target: Target, seal: Wrap, tmp_path: Path) -> None:
    """A JSON column alone would refuse it."""
    given: Any = {"source": "loop", "labels": {"a", "b"}, "since": datetime(2026, 1, 1, tzinfo=UTC)}
    with target.make(tmp_path / "store") as inner:
        seal(inner).put(at(), checkpoint("1", {}), given, {})
        found = seal(inner).get_tuple(at())
    assert found is not None
    assert found.metadata == given


def test_only_named_config_keys_go_inward(target: Target, seal: Wrap, tmp_path: Path) -> None:
    config = at()
    config["configurable"] |= {"tenant": "acme-canary", "secret": "secret-canary"}
    with target.make(tmp_path / "store") as inner:
        seal(inner, pass_through=["tenant"]).put(config, checkpoint("1", {}), {}, {})
        dump = target.dump(tmp_path / "store", inner)
        assert (b"acme-canary" in dump, b"secret-canary" in dump) == (True, False)
        found = seal(inner).get_tuple(at())
    assert found is not None
    assert found.metadata == {"tenant": "acme-canary", "secret": "secret-canary"}


@pytest.mark.parametrize("strategy", ["keep_latest", "delete"])
@pytest.mark.parametrize("target", [pytest.param(POSTGRES, marks=needs_postgres)], ids=["postgres"])
def test_a_pruned_history_is_cut_not_refused(target: Target, strategy: str, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        saver.put(at(), checkpoint("1", {"a": [1], "b": "x"}), {}, {"a": 1, "b": 1})
        saver.put(at("1"), checkpoint("2", {"a": [2], "b": "x"}, {"a": 2, "b": 1}), {}, {"a": 2})
        saver.prune(["t"], strategy=strategy)
        reader = seal(inner)
        found = list(reader.list(at()))
        if strategy == "delete":
            assert found == []
            return
        assert [item.checkpoint["channel_values"] for item in found] == [{"a": [2], "b": "x"}]
        assert found[0].parent_config is None
        assert reader.stats()["saver"] == {"history_cut": 1}
        # The run goes on from there, in a process that never saw the pruned checkpoints.
        reader.put(at("2"), checkpoint("3", {"a": [3], "b": "x"}, {"a": 3, "b": 1}), {}, {"a": 3})
        found_next = seal(inner).get_tuple(at())
        assert found_next is not None
        assert found_next.checkpoint["channel_values"] == {"a": [3], "b": "x"}


def test_deleting_a_thread_leaves_the_others(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        for thread in ("t", "u"):
            saver.put(at(thread=thread), checkpoint("1", {"a": thread}), {}, {"a": 1})
        saver.delete_thread("t")
        assert saver.get_tuple(at()) is None
        kept = saver.get_tuple(at(thread="u"))
    assert kept is not None
    assert kept.checkpoint["channel_values"] == {"a": "u"}
