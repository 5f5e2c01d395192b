"""The pages tell the truth: their Python runs, in order, and the recipe for copying threads copies everything."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from sealpoint import Keyring, ObjectSaver, SealedSaver, sealed_serializer
from sealpoint.errors import KeyAccessError
from sealpoint.stores import MemoryStore
from tests.savers.chains import config, put

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("page", "expected"), [("object-store.md", 3), ("erasure.md", 2), ("keys-kms.md", 4)])
def test_the_python_of_a_page_runs(page: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here asks a service: clients are made and not used, and a rotation of no threads calls nobody."""
    pytest.importorskip("boto3", reason="boto3 is not installed (extras s3, kms)")
    pytest.importorskip("hvac", reason="hvac is not installed (extra transit)")
    for name, value in {"SEALPOINT_KEYS": "k:" + "A" * 43 + "=", "VAULT_ADDR": "http://127.0.0.1:9", "VAULT_TOKEN": "t"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    names: dict[str, Any] = {}
    shown = [block for block in blocks(page) if "google" not in block]  # that one is run beside the wrappers' contract
    assert len(shown) == expected
    for block in shown:
        exec(block.replace("/var/lib", str(tmp_path)), names)  # noqa: S102 - our own page


@pytest.mark.parametrize("page", ["object-store.md", "erasure.md"])
def test_a_block_needs_nothing_of_the_one_before(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="boto3 is not installed (extras s3, kms)")
    monkeypatch.setenv("SEALPOINT_KEYS", "k:" + "A" * 43 + "=")
    for block in blocks(page):
        exec(block.replace("/var/lib", str(tmp_path)), {})  # noqa: S102 - our own page


# --- copy-threads.md ----------------------------------------------------------------------------------------------

OLD, NEW = Keyring.generate("old"), Keyring.generate("new")


@pytest.fixture
def database() -> Iterator[Callable[[], sqlite3.Connection]]:
    opened: list[sqlite3.Connection] = []

    def make() -> sqlite3.Connection:
        opened.append(sqlite3.connect(":memory:", check_same_thread=False))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


def saver(kind: str, keys: Keyring, connection: sqlite3.Connection) -> BaseCheckpointSaver[Any]:
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    if kind == "objects":
        return ObjectSaver(MemoryStore(), keys)
    if kind == "sealed":
        sealed: BaseCheckpointSaver[Any] = SealedSaver(sqlite.SqliteSaver(connection), keys)
        return sealed
    bare: BaseCheckpointSaver[Any] = sqlite.SqliteSaver(connection, **({"serde": sealed_serializer(keys)} if kind == "serde" else {}))
    return bare


def by_place(found: BaseCheckpointSaver[Any], thread: str) -> dict[Any, Any]:
    rows = list(found.list({"configurable": {"thread_id": thread}}))  # of all namespaces
    ids = [row.config["configurable"] for row in rows]
    return {(place["checkpoint_ns"], place["checkpoint_id"]): row for place, row in zip(ids, rows, strict=True)}


def by_hand(found: BaseCheckpointSaver[Any]) -> None:
    """Writes in an order that ids do not have, and a task that has writes of both kinds."""
    at = put(found, config("by hand"), {"n": 1})
    found.put_writes(at, [("n", 2)], "task-9", "~1")
    found.put_writes(at, [("__resume__", ["a"])], "task-9", "~1")
    found.put_writes(at, [("n", 3), ("n", 4)], "task-1", "~2")


def the_same(one: BaseCheckpointSaver[Any], other: BaseCheckpointSaver[Any], thread: str) -> None:
    mine, theirs = by_place(one, thread), by_place(other, thread)
    assert mine.keys() == theirs.keys()
    for place, row in mine.items():
        assert theirs[place].checkpoint == row.checkpoint
        assert theirs[place].metadata == row.metadata
        assert theirs[place].parent_config == row.parent_config
        assert theirs[place].pending_writes == row.pending_writes


@pytest.mark.parametrize(("before", "after"), [("sealed", "sealed"), ("langgraph", "sealed"), ("serde", "serde"), ("sealed", "objects")])
def test_a_copied_thread_is_the_same_and_goes_on(before: str, after: str, database: Callable[[], sqlite3.Connection]) -> None:
    pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra: demo)")
    from sealpoint.cli.demo import agent

    names: dict[str, Any] = {}
    exec(blocks("copy-threads.md")[0], names)  # noqa: S102 - our own page
    source, target = database(), database()
    old, new = saver(before, OLD, source), saver(after, NEW, target)
    by_hand(old)
    for thread in ("open", "done"):
        agent.start(old, thread)
    agent.resume(old, "done")
    for _ in range(2):  # it may be run again
        for thread in ("open", "done", "by hand"):
            names["copy_thread"](old, new, thread)
    for thread in ("open", "done", "by hand"):
        the_same(old, new, thread)
    for each in (old, new):  # a task that is run again writes over its writes, not beside them
        each.put_writes(next(iter(each.list(config("by hand")))).config, [("n", 2)], "task-9", "~1")
    the_same(old, new, "by hand")
    assert len({ns for ns, _ in by_place(new, "open")}) == 2  # the subgraph's as well
    assert agent.resume(new, "open")["decision"] == agent.SECRETS["resume value"]
    if after != "objects":
        with pytest.raises(KeyAccessError):
            saver(after, OLD, target).get_tuple(config("open"))


def test_the_copy_that_the_page_runs_leaves_nothing_under_the_old_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("chat.db", check_same_thread=False)
    for thread in ("a", "b"):
        put(SealedSaver(sqlite.SqliteSaver(connection), Keyring.parse("old:" + "B" * 42 + "A=")), config(thread), {"n": 1})
    connection.close()
    monkeypatch.setenv("SEALPOINT_KEYS", "new:" + "A" * 43 + "=,old:" + "B" * 42 + "A=")
    names: dict[str, Any] = {}
    for block in blocks("copy-threads.md"):
        exec(block, names)  # noqa: S102 - our own page
    alone = SealedSaver(sqlite.SqliteSaver(names["target"]), Keyring.parse("new:" + "A" * 43 + "="))
    assert [row.checkpoint["channel_values"] for row in alone.list(None)] == [{"n": 1}, {"n": 1}]
    for name in ("source", "target"):
        names[name].close()
