"""The demo's story, step by step, each claim checked as it is made; the agent and the scanner are rooms of their own."""

from __future__ import annotations

import base64
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ...errors import ConfigurationError, IntegrityError, MissingExtraError
from ...keys import Keyring
from ...keys.environment import SEALPOINT_KEYS
from ...serde import sealed_serializer
from .claims import Claims, in_process, remark, title
from .scan import Column, find, scan_columns


def run(keep: str | None = None, uri: str | None = None) -> bool:
    """Tells the whole story; True when every claim held.

    Args:
        keep: a new folder to keep the files in; None for a temporary one.
        uri: where the object saver's half lives; None for a local folder.

    Raises:
        MissingExtraError: LangGraph or its SQLite saver is not installed.
        ConfigurationError: the folder to keep the files in is not empty.
    """
    try:
        import langgraph.checkpoint.sqlite
        import langgraph.graph  # noqa: F401  (only to say early what is missing)
    except ImportError as exc:
        raise MissingExtraError("the demo runs a LangGraph agent on SQLite: pip install 'sealpoint[demo]'") from exc
    began = time.monotonic()
    claims = Claims()
    with _folder(keep) as folder:
        key = _story(folder / "agent.sqlite", claims)
        if keep is not None:
            (folder / "keys.env").write_text(f"{SEALPOINT_KEYS}={key}\n", encoding="utf-8")
        from . import objects

        objects.story(uri or (folder / "objects").absolute().as_uri(), key, claims)
    click.echo(f"\n{'All claims hold' if not claims.failed else f'{claims.failed} claims are false'}; {time.monotonic() - began:.1f} s.")
    return not claims.failed


def _story(database: Path, claims: Claims) -> str:
    from . import agent

    first, second = _entry("2026-05"), _entry("2026-11")

    title("1  A real agent, sealed, stopped at an interrupt (process 1)")
    asked = in_process("start", str(database), first)
    claims.check(
        "the agent called a tool, ran a subgraph and three parallel tasks, and asks for approval", asked == agent.SECRETS["interrupt value"]
    )

    title("2  Resumed from the file by another process (process 2)")
    answer = in_process("resume", str(database), first)
    claims.check("it remembers everything and finishes", answer == "3 checks passed, decision recorded.", answer)

    title("3  What a thief of the file sees, by column")
    columns = scan_columns(database, {**agent.SECRETS, "e-mail in metadata": agent.METADATA_SECRET})
    _table(columns)
    for name in ("checkpoints.checkpoint", "writes.value"):
        claims.check(f"every cell of {name} is sealed", columns[name].cells == columns[name].sealed > 0)
    files = [path for path in database.parent.iterdir() if path.name.startswith(database.name)]
    shown = find([path.read_bytes() for path in files], agent.SECRETS)
    claims.check(
        f"none of the {len(agent.SECRETS)} planted secrets is in the raw file, in UTF-8, hex or base64", not shown, ", ".join(shown)
    )
    clear = sorted(name for name, column in columns.items() if column.found)
    claims.check(
        "the e-mail in the metadata IS readable: this way in cannot seal what the saver writes itself", clear == ["checkpoints.metadata"]
    )
    remark("ids, channel names, types and metadata stay in clear here; SealedSaver and the object saver (below) seal metadata too.")

    title("4  What happens to someone who changes the file")
    _tamper(database, first, claims)

    title("5  A new key for new writes; old state still opens")
    _rotate(database, first, second, claims)
    return f"{second},{first}"


def _tamper(database: Path, key: str, claims: Claims) -> None:
    edits: dict[str, Callable[[str, bytes], tuple[str, bytes]]] = {
        "one flipped bit": lambda tag, cell: (tag, cell[:100] + bytes((cell[100] ^ 1,)) + cell[101:]),
        "a type tag relabelled as pickle": lambda tag, cell: (f"pickle+{tag.rpartition('+')[2]}", cell),
        "a layer dropped from the type tag": lambda tag, cell: (tag.rpartition("+")[0], cell),
        "plaintext in place of the value": lambda _tag, _cell: ("msgpack", b"\x80"),
    }
    for what, edit in edits.items():
        with _copy(database) as copy:
            _edit_checkpoints(copy, edit)
            try:
                _latest(copy, key)
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


def _rotate(database: Path, old: str, new: str, claims: Claims) -> None:
    from . import agent

    both = f"{new},{old}"
    state = _latest(database, both)
    claims.check("with the new key in front, the old thread opens", agent.SECRETS["resume value"] in str(state))
    in_process("start", str(database), both, "refund-0008")
    ids = scan_columns(database, {})["checkpoints.checkpoint"].key_ids
    claims.check("new writes are under the new key, and every header says which", set(ids) == {"2026-05", "2026-11"}, _counts(ids))
    claims.check("re-sealing what is left under 2026-05 can be planned from headers alone, without a key", ids["2026-05"] > 0)


def _latest(database: Path, keys: str) -> object:
    from langgraph.checkpoint.sqlite import SqliteSaver

    from . import agent

    connection = sqlite3.connect(database, check_same_thread=False)
    try:
        saver = SqliteSaver(connection, serde=sealed_serializer(Keyring.parse(keys)))
        return agent.build(saver).get_state(agent.config()).values
    finally:
        connection.close()


def _entry(key_id: str) -> str:
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="sealpoint-demo-") as made:
            yield Path(made)
        return
    folder = Path(keep)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigurationError(f"{keep} is not empty; name a new folder")
    yield folder


@contextmanager
def _copy(database: Path) -> Iterator[Path]:
    """A consistent copy of the database, for tampering with."""
    with tempfile.TemporaryDirectory(prefix="sealpoint-demo-") as made:
        copy = Path(made) / database.name
        source, target = sqlite3.connect(database), sqlite3.connect(copy)
        source.backup(target)
        source.close()
        target.close()
        yield copy


def _counts(ids: dict[str, int]) -> str:
    return ", ".join(f"{count} under {key_id}" for key_id, count in sorted(ids.items()))


def _table(columns: dict[str, Column]) -> None:
    click.echo(f"       {'column':34}{'cells':>6}{'sealed':>8}  secrets in clear")
    for name, column in columns.items():
        sealed = f"{column.sealed}" if column.sealed else "-"
        click.echo(f"       {name:34}{column.cells:>6}{sealed:>8}  {', '.join(sorted(column.found)) or '-'}")
