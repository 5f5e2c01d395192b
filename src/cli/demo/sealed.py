"""The demo's section on `SealedSaver`: the same agent on SQLite, with nothing but ids and structure left to read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import ormsgpack
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ...ciphers import looks_sealed
from ...errors import IntegrityError
from ...keys import Keyring
from ...savers import SealedSaver
from ...serde import sealed_serializer
from . import agent
from .attack import copied
from .claims import Claims, in_process, remark, table, title
from .scan import find, scan_columns

_OTHER: Final = "refund-0010"
_NEWEST: Final = "select checkpoint from checkpoints where thread_id = ? and checkpoint_ns = '' order by checkpoint_id desc limit 1"
_REPLACE: Final = (
    "update checkpoints set checkpoint = ? where thread_id = ? and checkpoint_ns = '' and checkpoint_id = "
    "(select max(checkpoint_id) from checkpoints where thread_id = ? and checkpoint_ns = '')"
)
# What docs/limitations-sealed-saver.md lists as readable, by column; every other column has to be on the list as a whole.
_IDS: Final = {
    *(f"checkpoints.{name}" for name in ("thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type")),
    *(f"writes.{name}" for name in ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type")),
}
_METADATA: Final = {"source", "step", "parents", "run_id", "counters_since_delta_snapshot", "delta_writes_versioned", "sealpoint"}
_CHECKPOINT: Final = {"v", "id", "ts", "channel_versions", "versions_seen", "updated_channels", "channel_values"}


def story(bare: Path, database: Path, key: str, claims: Claims) -> None:
    """Tells it.

    Args:
        bare: what the agent left behind on `SqliteSaver` with the sealed serializer.
        database: where to put the same, sealed.
        key: the value of `SEALPOINT_KEYS`.
        claims: takes what is claimed.
    """
    title("4  The same agent on SealedSaver(SqliteSaver(…)): metadata is sealed too, and every value is bound to its place")
    asked = in_process("start", "sealed", str(database), key)
    answer = in_process("resume", "sealed", str(database), key)
    claims.check(
        "it stops, and is resumed by another process",
        asked == agent.SECRETS["interrupt value"] and answer == "3 checks passed, decision recorded.",
    )
    columns = scan_columns(database, {**agent.SECRETS, "e-mail in metadata": agent.METADATA_SECRET})
    table(columns)
    files = [path for path in database.parent.iterdir() if path.name.startswith(database.name)]
    shown = find([path.read_bytes() for path in files], {**agent.SECRETS, "e-mail in metadata": agent.METADATA_SECRET})
    claims.check("no planted secret is in the raw file, the e-mail in the metadata included", not shown, ", ".join(shown))
    beyond = sorted(set(beyond_the_list(database, set(columns))))
    claims.check("what is readable is on the list of docs/limitations-sealed-saver.md, to the last field", not beyond, ", ".join(beyond))
    remark("that list: ids, times, channel names and versions, lengths. Ids and names can be hidden too (hash_thread_ids=, hide_names=).")
    _move(bare, database, key, claims)


def beyond_the_list(database: Path, columns: set[str]) -> Iterator[str]:
    """What can be read in the file and is not on the list."""
    yield from columns - _IDS - {"checkpoints.checkpoint", "checkpoints.metadata", "writes.value", "writes.task_path"}
    with closing(sqlite3.connect(database)) as connection:
        for (cell,) in connection.execute("select checkpoint from checkpoints"):
            found = ormsgpack.unpackb(cell)
            yield from (f"checkpoint.{name}" for name in found.keys() - _CHECKPOINT)
            yield from (f"checkpoint.{name}" for name in ("versions_seen", "updated_channels") if found[name])
            yield from (f"channel {name}" for name, value in found["channel_values"].items() if not _sealed(value))
        for (cell,) in connection.execute("select metadata from checkpoints"):
            yield from (f"metadata.{name}" for name in json.loads(cell).keys() - _METADATA)
        if any(not _sealed(cell) for (cell,) in connection.execute("select value from writes")):
            yield "writes.value"
        if "writes.task_path" in columns and connection.execute("select 1 from writes where task_path <> ''").fetchone():
            yield "writes.task_path"  # older versions of the saver have no such column


def _sealed(value: object) -> bool:
    return isinstance(value, bytes) and looks_sealed(value)


def _move(bare: Path, database: Path, key: str, claims: Claims) -> None:
    """Moves a value from one thread to another, in copies of both files."""
    keys = Keyring.parse(key)
    with copied(bare) as copy, closing(sqlite3.connect(copy, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection, serde=sealed_serializer(keys))
        agent.start(saver, _OTHER)
        connection.execute(_REPLACE, (_newest(connection, _OTHER), agent.THREAD, agent.THREAD))
        claims.check(
            "another thread's value put into this thread opens with the serializer alone, as the threat model says",
            _values(saver, agent.THREAD) == _values(saver, _OTHER),
        )
    with copied(database) as copy, closing(sqlite3.connect(copy, check_same_thread=False)) as connection:
        sealed = SealedSaver(SqliteSaver(connection), keys)
        agent.start(sealed, _OTHER)
        genuine = _values(sealed, agent.THREAD) is not None
        ours, theirs = (ormsgpack.unpackb(_newest(connection, thread)) for thread in (agent.THREAD, _OTHER))
        ours["channel_values"]["messages"] = theirs["channel_values"]["messages"]
        connection.execute(_REPLACE, (ormsgpack.packb(ours), agent.THREAD, agent.THREAD))
        try:
            _values(sealed, agent.THREAD)
            refusal = ""
        except IntegrityError as exc:
            refusal = type(exc).__name__
        claims.check("the same move is refused by SealedSaver", genuine and bool(refusal), refusal)


def _newest(connection: sqlite3.Connection, thread: str) -> bytes:
    (cell,) = connection.execute(_NEWEST, (thread,)).fetchone()
    return bytes(cell)


def _values(saver: BaseCheckpointSaver[Any], thread: str) -> object:
    found = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})
    return None if found is None else found.checkpoint["channel_values"]
