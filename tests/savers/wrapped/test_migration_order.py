"""Pending writes from before sealing keep their order: read, carried on, copied and converted; afterwards no path stands in clear."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import langgraph.checkpoint.base
import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from sealpoint import Keyring
from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped import migration
from tests.savers.wrapped.targets import Saver, Target
from tests.savers.wrapped.test_copy import Copying
from tests.savers.wrapped.test_habits import at, checkpoint
from tests.savers.wrapped.test_migration import STORES, _live_bytes, _name

TASKS = [f"{name:0>8}-0000-0000-0000-000000000000" for name in ("7", "3", "9", "1", "5", "2")]
"""Ids that sort otherwise than the paths do."""
Sealed = Callable[..., SealedSaver]
by_path = pytest.mark.skipif(
    not hasattr(langgraph.checkpoint.base, "writes_sort_key"),
    reason="bare savers of langgraph-checkpoint before 4.2 return writes as they were inserted; sealed ones in LangGraph's later order",
)


@pytest.fixture(params=STORES, ids=_name)
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.param
    return found


@pytest.fixture
def sealed(keyring: Keyring) -> Sealed:
    return lambda inner, migrate=True: SealedSaver(inner, keyring, migrate=migrate)


def _path(number: int) -> str:
    return f"~canary-path, {number:010}"


def _put(saver: Saver, numbers: range, thread: str = "t") -> None:
    """One write of each task, in the order in which the tasks happened to end."""
    for number in sorted(numbers, key=lambda number: TASKS[number]):
        saver.put_writes(at("1", thread), [("log", number), ("other", -number)], TASKS[number], _path(number))


def _told(saver: Saver, thread: str = "t") -> list[Any]:
    found = saver.get_tuple(at("1", thread))
    assert found is not None
    return [write[2] for write in found.pending_writes or () if write[1] == "log"]


@by_path
def test_old_writes_are_read_and_converted_in_the_order_of_their_paths(target: Target, sealed: Sealed, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        _put(inner, range(6))
        assert _told(sealed(inner)) == _told(inner) == [*range(6)]
        assert sealed(inner).convert().complete
        assert _told(sealed(inner, migrate=False)) == [*range(6)]
        assert b"canary-path" not in _live_bytes(target, tmp_path / "store", inner)


@by_path
@pytest.mark.parametrize("first", [range(3), range(3, 6)], ids=["old first", "old last"])
def test_a_step_that_ends_in_migration_mode_has_one_order(target: Target, sealed: Sealed, first: range, tmp_path: Path) -> None:
    rest = range(3, 6) if first.start == 0 else range(3)
    with target.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        _put(inner, first)
        _put(sealed(inner), rest)
        assert _told(sealed(inner)) == [*range(6)]
        sealed(inner).convert()
        assert _told(sealed(inner, migrate=False)) == [*range(6)]
        assert b"canary-path" not in _live_bytes(target, tmp_path / "store", inner)


@by_path
def test_a_conversion_that_stops_between_writes_and_checkpoints_leaves_the_order(
    target: Target, sealed: Sealed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*_: Any) -> None:
        raise InterruptedError

    with target.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        _put(inner, range(6))
        seal_write, left = migration._seal_write, iter(range(5))
        with monkeypatch.context() as patched:
            patched.setattr(migration, "_seal_write", lambda *given: stop() if next(left, None) is None else seal_write(*given))
            with pytest.raises(InterruptedError):
                sealed(inner).convert()
        assert _told(sealed(inner)) == [*range(6)]
        assert sealed(inner).convert().complete
        assert _told(sealed(inner, migrate=False)) == [*range(6)]


def test_writes_of_a_sealed_checkpoint_have_no_path_in_clear_in_migration_mode(target: Target, sealed: Sealed, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        saver = sealed(inner)
        saver.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        _put(saver, range(6))
        assert _told(sealed(inner)) == [*range(6)]
        assert b"canary-path" not in _live_bytes(target, tmp_path / "store", inner)


@by_path
@pytest.mark.parametrize("first", [range(6), range(3), range(3, 6)], ids=["all old", "old first", "old last"])
def test_a_copy_made_in_migration_mode_has_all_old_writes_in_their_order(sealed: Sealed, first: range) -> None:
    inner = Copying()
    inner.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
    _put(inner, first)
    if len(first) < 6:
        _put(sealed(inner), range(3, 6) if first.start == 0 else range(3))
    inner.put_writes(at("1"), [("__interrupt__", "ask")], TASKS[0], _path(0))
    sealed(inner).copy_thread("t", "copy")
    copied = sealed(inner, migrate=False)
    assert _told(copied, "copy") == [*range(6)]
    writes: Any = copied.get_tuple(at("1", "copy"))
    assert len(writes.pending_writes) == 13


class State(TypedDict):
    log: Annotated[list[int], DeltaChannel(lambda log, added: [*log, *(item for items in added for item in items)])]


def _fanned_out(saver: Saver) -> Any:
    made = StateGraph(State).add_node("w", lambda state: {"log": [state["number"]]})
    made.add_conditional_edges(START, lambda _: [Send("w", {"number": number}) for number in range(6)], ["w"])
    return made.compile(checkpointer=saver)


@by_path
def test_a_delta_channel_over_old_writes_is_what_it_was(target: Target, sealed: Sealed, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        _fanned_out(inner).invoke({"log": []}, at())
        _fanned_out(sealed(inner)).update_state(at(), {"log": [6]}, as_node="w")
        assert _fanned_out(sealed(inner)).get_state(at()).values == {"log": [*range(7)]}
        sealed(inner).convert()
        assert _fanned_out(sealed(inner, migrate=False)).get_state(at()).values == {"log": [*range(7)]}
