"""What is not sealed is counted without a value being built, and all types that a conversion needs are named before it begins."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel

from sealpoint import Keyring, sealed_serializer
from sealpoint.errors import TypeRefusedError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.postgres import POSTGRES, needs_postgres
from tests.savers.wrapped.targets import MEMORY, SQLITE, Saver, Target
from tests.savers.wrapped.test_habits import at, checkpoint
from tests.savers.wrapped.test_migration import _name

STORES = [SQLITE, pytest.param(POSTGRES, marks=needs_postgres)]


@dataclass
class Note:
    text: str


class Profile(BaseModel):
    note: str


class Color(enum.Enum):
    RED = 1


class Names(NamedTuple):
    given: str


OWN = {"Note", "Profile", "Color", "Names"}


@pytest.fixture(params=["LangGraph's", "ours, without a place"])
def before(request: pytest.FixtureRequest, keyring: Keyring) -> Callable[[Saver], None]:
    """Writes an old checkpoint and old writes, of four types of the user's own, some inside others."""

    def write(bare: Saver) -> None:
        if request.param != "LangGraph's":
            bare.serde = sealed_serializer(keyring)
        values = {"note": [Note("x")], "profile": {"deep": [(Profile(note="y"),)]}, "count": 3}
        bare.put(at(), checkpoint("1", values), {"source": "input"}, dict.fromkeys(values, 1))
        bare.put_writes(at("1"), [("color", Color.RED), ("names", [Names("z")]), ("plain", [1])], "task")

    return write


def migrating(inner: Saver, keyring: Keyring, *types: type) -> SealedSaver:
    return SealedSaver(inner, serde=sealed_serializer(keyring, migrate=True, allowed_types=types), migrate=True)


@pytest.mark.parametrize("target", [MEMORY, *STORES], ids=_name)
def test_coverage_counts_values_of_types_that_it_may_not_build(
    target: Target, before: Callable[[Saver], None], keyring: Keyring, tmp_path: Path
) -> None:
    with target.make(tmp_path / "store") as inner:
        before(inner)
        found = migrating(inner, keyring).coverage()
        assert (found.checkpoints, found.unsealed_checkpoints) == (1, 1)
        assert (found.values, found.unsealed_values) == (3, 3)
        assert (found.writes, found.unsealed_writes) == (3, 3)


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_coverage_needs_no_migration_mode(target: Target, before: Callable[[Saver], None], keyring: Keyring, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        before(inner)
        saver = SealedSaver(inner, keyring)
        saver.put(at("1"), checkpoint("2", {"note": "sealed"}, {"note": 2}), {}, {"note": 2})
        found = saver.coverage()
        assert (found.checkpoints, found.unsealed_checkpoints, found.unsealed_writes) == (2, 1, 3)
        assert found.values - found.unsealed_values == 1


async def test_coverage_of_an_async_saver(before: Callable[[Saver], None], keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        before(inner)
        expected = migrating(inner, keyring).coverage()
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "store" / "store.sqlite")) as other:
        assert await migrating(other, keyring).acoverage() == expected


def test_coverage_counts_what_does_not_open(keyring: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        inner.serde = sealed_serializer(Keyring.generate())
        inner.put(at(), checkpoint("1", {"a": 1, "b": 2}), {}, {"a": 1, "b": 1})
        found = migrating(inner, keyring).coverage()
        assert (found.unsealed_checkpoints, found.unsealed_values) == (1, 1)  # the row counts as one value


def test_hidden_names_are_counted_as_sealed(keyring: Keyring, index_keys: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        saver = SealedSaver(inner, keyring, hide_names=True, index_keys=index_keys)
        saver.put(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        saver.put_writes(at("1"), [("a", 2), ("__error__", "x")], "task")
        assert saver.coverage().complete


@pytest.mark.parametrize("target", STORES, ids=_name)
def test_all_missing_types_are_named_before_anything_is_converted(
    target: Target, before: Callable[[Saver], None], keyring: Keyring, tmp_path: Path
) -> None:
    with target.make(tmp_path / "store") as inner:
        before(inner)
        saver = migrating(inner, keyring)
        started = saver.coverage()
        with pytest.raises(TypeRefusedError) as caught:
            saver.convert()
        assert all(f"('{__name__}', '{name}')" in str(caught.value) for name in OWN)
        assert "x" not in str(caught.value).split()
        assert saver.coverage() == started
        with pytest.raises(TypeRefusedError) as caught:
            migrating(inner, keyring, Note, Color).convert()
        assert "'Note'" not in str(caught.value)
        assert "'Profile'" in str(caught.value)
        assert migrating(inner, keyring, Note, Profile, Color, Names).convert().complete
        found: Any = SealedSaver(inner, keyring).get_tuple(at())
        assert found.checkpoint["channel_values"]["note"] == [Note("x")]
        assert found.checkpoint["channel_values"]["profile"]["deep"][0][0] == Profile(note="y")
        assert found.pending_writes[0] == ("task", "color", Color.RED)
