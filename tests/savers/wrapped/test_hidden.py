"""Where ids are hidden in the store, they are in no error and no log either."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sealpoint import Keyring
from sealpoint.errors import IntegrityError
from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped.names import Names
from sealpoint.savers.wrapped.tokens import Tokens
from tests.savers.wrapped.targets import SQLITE
from tests.savers.wrapped.test_habits import checkpoint

Wrap = Callable[..., SealedSaver]
PERSON = "alice@canary.example"
NODE = "canary-node"
CHANNEL = "canary-channel"
OPTIONS = {"hash_thread_ids": True, "hide_names": True}


def _read_all(saver: SealedSaver) -> Iterator[BaseException]:
    """What every way to read raises."""
    here: Any = {"configurable": {"thread_id": PERSON, "checkpoint_ns": f"{NODE}:1"}}
    for read in (
        lambda: saver.get_tuple(here),
        lambda: list(saver.list(here)),
        lambda: list(saver.list(None)),
        lambda: saver.get_delta_channel_history(config=here, channels=[CHANNEL]),
    ):
        try:
            read()
        except IntegrityError as exc:
            yield exc


CHANGES = [
    "UPDATE checkpoints SET metadata = (SELECT metadata FROM checkpoints ORDER BY checkpoint_id LIMIT 1)",
    "UPDATE checkpoints SET checkpoint = (SELECT checkpoint FROM checkpoints ORDER BY checkpoint_id LIMIT 1)",
    "UPDATE checkpoints SET parent_checkpoint_id = NULL",
    "UPDATE checkpoints SET parent_checkpoint_id = 'other'",
    'UPDATE checkpoints SET metadata = \'{"sealpoint": "AAAA", "sealpoint_place": "AAAA"}\'',
    "DELETE FROM checkpoints WHERE checkpoint_id = '1'",
    "UPDATE writes SET value = (SELECT value FROM writes ORDER BY idx LIMIT 1)",
    "UPDATE writes SET value = x'00'",
    "UPDATE writes SET type = 'null'",
    "UPDATE writes SET task_id = 'other'",
]


@pytest.mark.parametrize("change", [*CHANGES, "values"])
def test_no_hidden_id_is_in_an_error_or_a_log(
    change: str, seal: Wrap, index_keys: Keyring, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    with SQLITE.make(tmp_path / "store") as inner:
        saver = seal(inner, index_keys=index_keys, **OPTIONS)
        here: Any = {"configurable": {"thread_id": PERSON, "checkpoint_ns": f"{NODE}:1"}}
        there = saver.put(here, checkpoint("1", {CHANNEL: ["x"]}), {}, {CHANNEL: 1})
        there = saver.put(there, checkpoint("2", {CHANNEL: ["x"], "b": [2]}, {CHANNEL: 1, "b": 2}), {}, {"b": 2})
        saver.put_writes(there, [(CHANNEL, 1), (CHANNEL, 2)], "task", "path")
        raw: Any = inner
        if change == "values":
            stored = raw.conn.execute("SELECT checkpoint FROM checkpoints WHERE checkpoint_id = '2'").fetchone()[0]
            unpacked = inner.serde.loads_typed(("msgpack", stored))
            ours, other = unpacked["channel_values"]
            swapped = {ours: unpacked["channel_values"][other], other: 5}
            raw.conn.execute(
                "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = '2'",
                (inner.serde.dumps_typed({**unpacked, "channel_values": swapped})[1],),
            )
        else:
            raw.conn.execute(change)
        reader = seal(inner, index_keys=index_keys, **OPTIONS)
        raised = list(_read_all(reader))
        assert raised or "SET parent_checkpoint_id = NULL" in change or "DELETE" in change
    told = caplog.text + "".join(repr(exc) + "".join(traceback.format_exception_only(exc)) for exc in raised)
    assert "canary" not in told, told
    assert told


UUID = "46392386-694b-e7bd-f825-961115584381"


@pytest.mark.parametrize(
    "level",
    [f"{NODE}:{UUID}", f"{NODE}:canary-tail:{UUID}", f"{NODE}:canary-tail", f"canary:{NODE}:7", NODE, f"{NODE}:{UUID}x", f"7:{NODE}"],
)
def test_the_whole_name_of_a_node_is_hidden_in_namespaces(level: str, index_keys: Keyring) -> None:
    """A task of the functional API may be called `svc:name`."""
    names = Names(Tokens(index_keys, ""), nodes=True)
    stored = names.ns(f"{level}|{level}|7")
    assert "canary" not in stored
    one, other, number = stored.split("|")
    assert (one == other, number) == (True, "7")
    if level.endswith(UUID):
        assert one.endswith(f":{UUID}")


def test_levels_that_are_no_names_stay(index_keys: Keyring) -> None:
    names = Names(Tokens(index_keys, ""), nodes=True)
    assert names.ns(f"3|:{UUID}||3:{UUID}|12:7") == f"3|:{UUID}||3:{UUID}|12:7"
