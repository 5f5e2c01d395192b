"""A live store moves to sealed values without losing a state: read in migration mode, carried on, converted in place, then closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from sealpoint import Keyring
from sealpoint.errors import ConfigurationError, IntegrityError, NotSealedError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped import agent
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import MEMORY, SQLITE, Saver, Target
from tests.savers.wrapped.test_canaries import found_in
from tests.savers.wrapped.test_graphs import _plain, _told
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]
AES_KEY = "0123456789abcdef"
STORES = [SQLITE, pytest.param(POSTGRES, marks=needs_postgres)]


def _name(target: Target) -> str:
    return target.name


@pytest.fixture(params=["plaintext", "aes"])
def old(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Saver], Saver]:
    """How the store was written before: LangGraph's serializer, plain or encrypted."""
    if request.param == "plaintext":
        return lambda saver: saver
    monkeypatch.setenv("LANGGRAPH_AES_KEY", AES_KEY)

    def encrypted(saver: Saver) -> Saver:
        saver.serde = EncryptedSerializer.from_pycryptodome_aes()
        return saver

    return encrypted


def _history(saver: Saver, thread: str = "thread") -> Any:
    return _plain(_told(agent.build().compile(checkpointer=saver).get_state_history(agent.config(thread))))


@pytest.mark.parametrize("target", [MEMORY, *STORES], ids=_name)
def test_an_old_run_is_read_resumed_and_forked(target: Target, old: Callable[[Saver], Saver], keyring: Keyring, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as bare:
        agent.build().compile(checkpointer=old(bare)).invoke(agent.first(), agent.config("thread"))
        before = _history(bare)
    with target.make(tmp_path / "store") as inner:
        old(inner)
        saver = SealedSaver(inner, keyring, migrate=True)
        assert _history(saver) == before
        graph = agent.build().compile(checkpointer=saver)
        fork_at = next(snapshot for snapshot in graph.get_state_history(agent.config("thread")) if snapshot.next == ("ask",))
        done = graph.invoke(agent.resume(), agent.config("thread"))
        assert [message.content for message in done["messages"]][-2:] == [agent.RESUMED, agent.ANSWER]
        assert done["number"] == agent.NUMBER
        copied = graph.update_state(fork_at.config, None, as_node="__copy__")
        assert graph.get_state(copied).values["parts"] == fork_at.values["parts"]
        assert _history(SealedSaver(inner, keyring, migrate=True))[-len(before) :][1:] == before[1:]
        assert saver.stats()["saver"]["unsealed_checkpoint"] > 0


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_a_store_is_converted_in_place_and_then_closed(
    target: Target, old: Callable[[Saver], Saver], keyring: Keyring, tmp_path: Path
) -> None:
    with target.make(tmp_path / "store") as bare:
        for thread in ("thread", "other"):
            agent.build().compile(checkpointer=old(bare)).invoke(agent.first(), agent.config(thread))
        with pytest.raises(RuntimeError):
            agent.failing().compile(checkpointer=old(bare)).invoke(agent.first(), agent.config("failed"))
        before = {thread: _history(bare, thread) for thread in ("thread", "other", "failed")}
    with target.make(tmp_path / "store") as inner:
        saver = SealedSaver(old(inner), keyring, migrate=True)
        # One thread went on in the meantime, so sealed and old checkpoints lie mixed.
        agent.build().compile(checkpointer=saver).invoke(agent.resume(), agent.config("other"))
        before["other"] = _history(saver, "other")
        started = saver.coverage()
        assert 0 < started.unsealed_checkpoints < started.checkpoints
        assert not started.complete
        with pytest.raises(NotSealedError):
            _history(SealedSaver(inner, keyring), "thread")

        one = saver.convert("thread")
        assert one.complete
        assert not saver.coverage().complete
        after = saver.convert()
        assert after.complete
        assert after.checkpoints == started.checkpoints
        assert saver.convert() == after

        closed = SealedSaver(inner, keyring)
        assert {thread: _history(closed, thread) for thread in before} == before
        assert closed.stats()["legacy"] == {}
        graph = agent.build().compile(checkpointer=closed)
        assert graph.invoke(agent.resume(), agent.config("thread"))["messages"][-1].content == agent.ANSWER
        assert found_in(_live_bytes(target, tmp_path / "store", inner)) == []


def _live_bytes(target: Target, where: Path, inner: Any) -> bytes:
    """The store without what a database keeps of rows that were replaced."""
    if target is SQLITE:
        inner.conn.execute("PRAGMA secure_delete = ON")
        inner.conn.execute("VACUUM")
        inner.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return target.dump(where, inner)


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_with_migration_off_a_planted_old_row_is_refused_and_with_it_on_it_imports_nothing(
    target: Target, keyring: Keyring, tmp_path: Path
) -> None:
    with target.make(tmp_path / "store") as inner:
        SealedSaver(inner, keyring).put(at(), checkpoint("1", {"a": ["x"]}), {}, {"a": 1})
        inner.put(at("1"), checkpoint("2", {"a": Path("/planted")}, {"a": 2}), {}, {"a": 2})
        with pytest.raises(IntegrityError):
            SealedSaver(inner, keyring).get_tuple(at())
        # An old cell in a checkpoint that is sealed is refused in migration mode as well.
        sealed = SealedSaver(inner, keyring, migrate=True)
        inner.put_writes(at("1"), [("a", "planted")], "task")
        with pytest.raises(NotSealedError):
            sealed.get_tuple(at("1"))


def test_conversion_says_what_it_needs(keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner, pytest.raises(ConfigurationError, match="migrate=True"):
        SealedSaver(inner, keyring).convert()
    with MEMORY.make(tmp_path / "memory") as inner, pytest.raises(ConfigurationError, match="SqliteSaver"):
        SealedSaver(inner, keyring, migrate=True).convert()


async def test_a_coroutine_converts_through_a_sync_saver_and_is_told_so(keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "store" / "store.sqlite")) as other:
            with pytest.raises(ConfigurationError, match="AsyncSqliteSaver: convert through the sync saver on the same database"):
                await SealedSaver(other, keyring, migrate=True).aconvert()
        converted = await SealedSaver(inner, keyring, migrate=True).aconvert()
        assert converted.complete


@pytest.mark.parametrize("target", [MEMORY, *STORES], ids=_name)
def test_a_new_turn_on_an_old_thread_reads_back_where_a_snapshot_is_older_than_sealing(
    target: Target, old: Callable[[Saver], Saver], keyring: Keyring, tmp_path: Path
) -> None:
    """A saver that keeps values by version returns an old delta snapshot with every checkpoint of its version, sealed or not."""
    with target.make(tmp_path / "store") as inner:
        agent.build().compile(checkpointer=old(inner)).invoke(agent.first(), agent.config("thread"))
        saver = SealedSaver(inner, keyring, migrate=True)
        agent.build().compile(checkpointer=saver).invoke(agent.first(), agent.config("thread"))
        before = _history(saver)
        assert _history(SealedSaver(inner, keyring, migrate=True)) == before
        if target is not MEMORY:
            saver.convert()
            assert _history(SealedSaver(inner, keyring)) == before


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_what_a_run_without_the_wrapper_made_of_a_sealed_store_is_counted_and_neither_read_nor_converted(
    target: Target, keyring: Keyring, tmp_path: Path
) -> None:
    """docs/limitations-sealed-saver.md, "Do not open a sealed database without the wrapper"."""
    with target.make(tmp_path / "store") as inner:
        SealedSaver(inner, keyring).put(at(), checkpoint("1", {"a": [1], "b": 2}), {"source": "input"}, {"a": 1, "b": 1})
        bare = inner.get_tuple(at())
        assert bare is not None
        assert type(bare.checkpoint["channel_values"]["a"]) is bytes  # it read ciphertext, and goes on with it
        values = {**bare.checkpoint["channel_values"], "b": 3}
        inner.put(at("1"), checkpoint("2", values, {"a": 1, "b": 2}), {"source": "loop"}, {"b": 2})
        with pytest.raises(NotSealedError, match="stored without SealedSaver"):
            SealedSaver(inner, keyring).get_tuple(at())
        saver = SealedSaver(inner, keyring, migrate=True)
        assert saver.coverage().unsealed_checkpoints == 1
        with pytest.raises(IntegrityError):
            saver.convert()
