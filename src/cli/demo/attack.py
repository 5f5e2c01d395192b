"""What somebody tries who can write to the SQLite file, on copies of it; each try is a claim."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import IntegrityError
from ...keys import Keyring
from ...serde import sealed_serializer
from .claims import Claims


def tamper(database: Path, key: str, claims: Claims) -> None:
    """Edits every checkpoint in several ways, each in a copy, and claims that none of them opens."""
    edits: dict[str, Callable[[str, bytes], tuple[str, bytes]]] = {
        "one flipped bit": lambda tag, cell: (tag, cell[:100] + bytes((cell[100] ^ 1,)) + cell[101:]),
        "a type tag relabelled as pickle": lambda tag, cell: (f"pickle+{tag.rpartition('+')[2]}", cell),
        "a layer dropped from the type tag": lambda tag, cell: (tag.rpartition("+")[0], cell),
        "plaintext in place of the value": lambda _tag, _cell: ("msgpack", b"\x80"),
    }
    for what, edit in edits.items():
        with copied(database) as copy:
            _edit_checkpoints(copy, edit)
            try:
                latest(copy, key)
                refusal = ""
            except IntegrityError as exc:
                refusal = type(exc).__name__
            claims.check(f"{what} is refused", bool(refusal), refusal)


def _edit_checkpoints(database: Path, edit: Callable[[str, bytes], tuple[str, bytes]]) -> None:
    connection = sqlite3.connect(database)
    for row, tag, cell in connection.execute("select rowid, type, checkpoint from checkpoints").fetchall():
        connection.execute("update checkpoints set type = ?, checkpoint = ? where rowid = ?", (*edit(tag, cell), row))
    connection.commit()
    connection.close()


def latest(database: Path, keys: str) -> object:
    """The state of the demo's thread, as the agent reads it."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    from . import agent

    connection = sqlite3.connect(database, check_same_thread=False)
    try:
        saver = SqliteSaver(connection, serde=sealed_serializer(Keyring.parse(keys)))
        return agent.build(saver).get_state(agent.config()).values
    finally:
        connection.close()


@contextmanager
def copied(database: Path) -> Iterator[Path]:
    """A consistent copy of the database, for tampering with."""
    with tempfile.TemporaryDirectory(prefix="sealpoint-demo-") as made:
        copy = Path(made) / database.name
        source, target = sqlite3.connect(database), sqlite3.connect(copy)
        source.backup(target)
        source.close()
        target.close()
        yield copy
