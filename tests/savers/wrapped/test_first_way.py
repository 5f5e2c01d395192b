"""A store whose values were sealed without a place (`serde=sealed_serializer()`) moves to SealedSaver like any old one, writes included."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Literal

import pytest

from sealpoint import UNENCRYPTED, AesGcm, Keyring, sealed_serializer
from sealpoint.errors import AuthenticationError, ConfigurationError, NotSealedError
from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped import migration
from sealpoint.savers.wrapped.innerserde import NarrowSerde
from sealpoint.serde import CipherLayer, JsonPlus, LayeredSerializer
from sealpoint.serde.legacy import LegacyReader
from tests.savers.wrapped import agent
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import MEMORY, SQLITE, Saver, Target
from tests.savers.wrapped.test_canaries import found_in
from tests.savers.wrapped.test_habits import at, checkpoint
from tests.savers.wrapped.test_migration import _history, _live_bytes, _name

STORES = [SQLITE, pytest.param(POSTGRES, marks=needs_postgres)]
THREADS = ("plain", "first", "both", "failed")
Compression = Literal["zstd"] | None


def migrating(inner: Saver, keyring: Keyring) -> SealedSaver:
    return SealedSaver(inner, serde=sealed_serializer(keyring, migrate=True, allowed_types=[]), migrate=True)


@pytest.fixture(params=["zstd", None], ids=["compressed", "uncompressed"])
def compression(request: pytest.FixtureRequest) -> Compression:
    found: Compression = request.param
    return found


def _grown(target: Target, where: Path, keyring: Keyring, compression: Compression) -> None:
    """One thread of each way of writing, one begun plain and carried on sealed without a place, and a failed one."""
    with target.make(where) as bare:
        graph = agent.build().compile(checkpointer=bare)
        graph.invoke(agent.first(), agent.config("plain"))
        graph.invoke(agent.first(), agent.config("both"))
    with target.make(where) as bare:
        bare.serde = sealed_serializer(keyring, compression=compression, migrate=True, allowed_types=[])
        graph = agent.build().compile(checkpointer=bare)
        graph.invoke({**agent.first(), "parts": ["long " * 200]}, agent.config("first"))
        graph.invoke(agent.resume(), agent.config("both"))
        with pytest.raises(RuntimeError):
            agent.failing().compile(checkpointer=bare).invoke(agent.first(), agent.config("failed"))


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_everything_sealed_without_a_place_is_converted(target: Target, keyring: Keyring, compression: Compression, tmp_path: Path) -> None:
    _grown(target, tmp_path / "store", keyring, compression)
    with target.make(tmp_path / "store") as inner:
        saver = migrating(inner, keyring)
        # The third way of writing: one more turn, sealed in its place, on each kind of thread.
        for thread in ("first", "both"):
            agent.build().compile(checkpointer=saver).invoke(agent.first(), agent.config(thread))
        before = {thread: _history(saver, thread) for thread in THREADS}
        started = saver.coverage()
        assert started.unsealed_writes > 0
        assert started.unsealed_checkpoints > 0
        after = saver.convert()
        assert after.complete
        assert after.writes == started.writes
        assert saver.convert() == after

        closed = SealedSaver(inner, keyring)
        assert {thread: _history(closed, thread) for thread in THREADS} == before
        assert len(list(closed.list(None))) == started.checkpoints
        resumed = agent.build().compile(checkpointer=closed).invoke(agent.resume(), agent.config("first"))
        assert resumed["messages"][-1].content == agent.ANSWER
        assert found_in(_live_bytes(target, tmp_path / "store", inner)) == []


@pytest.mark.parametrize("target", [MEMORY, *STORES], ids=_name)
def test_it_is_read_without_being_converted_and_refused_with_migration_off(
    target: Target, keyring: Keyring, compression: Compression, tmp_path: Path
) -> None:
    with target.make(tmp_path / "store") as inner:
        inner.serde = sealed_serializer(keyring, compression=compression)
        inner.put(at(), checkpoint("1", {"a": ["x" * 500], "b": 1}), {"source": "input"}, {"a": 1, "b": 1})
        inner.put_writes(at("1"), [("a", ["y"])], "task")
        found = migrating(inner, keyring).get_tuple(at())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": ["x" * 500], "b": 1}
        assert found.pending_writes == [("task", "a", ["y"])]
        with pytest.raises(NotSealedError, match=r"stored without SealedSaver.*migrate=True.*convert\(\)"):
            SealedSaver(inner, keyring).get_tuple(at())


def test_what_does_not_open_stops_the_conversion_with_the_reason(keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        inner.serde = sealed_serializer(keyring, scope="elsewhere")
        inner.put_writes(at("1"), [("a", "x")], "task")
        with pytest.raises(AuthenticationError) as caught:
            migrating(inner, keyring).convert()
        assert "a write to channel 'a' of thread 't', checkpoint '1'" in caught.value.__notes__[0]


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_a_checkpoint_that_does_not_open_is_located(target: Target, keyring: Keyring, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("2", {"a": ["x"]}, {"a": 2}), {}, {"a": 2})
        inner.serde = sealed_serializer(keyring, scope="elsewhere")
        inner.put(at(), checkpoint("1", {"a": ["x"]}), {}, {"a": 1})
        with pytest.raises(AuthenticationError) as caught:
            migrating(inner, keyring).convert()
        assert "after '2' of thread 't'" in caught.value.__notes__[0]
        assert migrating(inner, keyring).coverage().unsealed_checkpoints == 2


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_wherever_a_conversion_stops_migration_mode_reads_everything_and_the_next_one_ends_it(
    target: Target, keyring: Keyring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _grown(target, tmp_path / "store", keyring, "zstd")
    with target.make(tmp_path / "store") as inner:
        before = {thread: _history(migrating(inner, keyring), thread) for thread in THREADS}
        for step, after in (("_seal_write", 1), ("_seal_write", 5), ("_seal_checkpoint", 3), ("_seal_checkpoint", 9)):
            steps = itertools.count()
            original = getattr(migration, step)

            def stopping(*args: Any, steps: Any = steps, after: int = after, original: Any = original) -> Any:
                if next(steps) == after:
                    raise KeyboardInterrupt
                return original(*args)

            with monkeypatch.context() as patch:
                patch.setattr(migration, step, stopping)
                with pytest.raises(KeyboardInterrupt):
                    migrating(inner, keyring).convert()
            assert {thread: _history(migrating(inner, keyring), thread) for thread in THREADS} == before
        assert migrating(inner, keyring).convert().complete
        assert {thread: _history(SealedSaver(inner, keyring), thread) for thread in THREADS} == before


def test_what_an_unwrapped_process_adds_meanwhile_is_reported(keyring: Keyring, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        inner.put(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        saver = migrating(inner, keyring)
        convert_rows = saver._core.cache.clear

        def meanwhile() -> None:
            inner.put_writes(at("1"), [("a", "x")], "task")
            convert_rows()

        saver._core.cache.clear = meanwhile  # type: ignore[method-assign]  # what convert calls last
        assert saver.convert().unsealed_writes == 1
        assert "without SealedSaver" in caplog.text


@pytest.mark.parametrize(("tag", "hinted"), [("msgpack1+aesgcm", True), ("json", True), ("msgpack+aes", True), ("pickle", False)])
def test_a_refusal_points_to_migration_mode_only_where_that_reads(tag: str, hinted: bool) -> None:
    with pytest.raises(NotSealedError) as caught:
        NarrowSerde().loads_typed((tag, b"x"))
    assert ("migrate=True" in str(caught.value)) is hinted


def test_one_migration_switch_without_the_other_is_refused(keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        with pytest.raises(ConfigurationError, match=r"sealed_serializer\(migrate=True"):
            SealedSaver(inner, serde=sealed_serializer(keyring), migrate=True)
        with pytest.raises(ConfigurationError, match="the saver is not"):
            SealedSaver(inner, serde=sealed_serializer(keyring, migrate=True))


def test_migration_needs_an_envelope_to_tell_sealed_values_by(keyring: Keyring, tmp_path: Path) -> None:
    class Foreign:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "foreign", plaintext

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return ciphertext

    foreign: Any = CipherLayer(Foreign(), name="foreign", authenticates=True)
    for serde in (
        LayeredSerializer(JsonPlus(), foreign, legacy=LegacyReader()),
        sealed_serializer(UNENCRYPTED, migrate=True),
    ):
        with SQLITE.make(tmp_path / "store") as inner, pytest.raises(ConfigurationError, match="AesGcm"):
            SealedSaver(inner, serde=serde, migrate=True)
    with SQLITE.make(tmp_path / "store") as inner:
        SealedSaver(inner, serde=LayeredSerializer(JsonPlus(), AesGcm(keyring), legacy=LegacyReader()), migrate=True)
