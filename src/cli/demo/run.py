"""The demo's story, step by step, each claim checked as it is made; the agent and the scanner are rooms of their own."""

from __future__ import annotations

import base64
import secrets
import time
from pathlib import Path

import click

from ...errors import MissingExtraError
from ...keys.environment import SEALPOINT_KEYS
from .attack import latest, tamper
from .claims import Claims, in_process, remark, table, title
from .places import KEYS_FILE, check_uri, folder, write_keys
from .scan import find, scan_columns

_BARE = "agent.sqlite"
_SEALED = "sealed.sqlite"


def run(keep: str | None = None, uri: str | None = None) -> bool:
    """Tells the whole story; True when every claim held.

    Args:
        keep: a new folder to keep the files in; None for a temporary one.
        uri: where the object saver's half lives; None for a local folder.

    Raises:
        MissingExtraError: LangGraph or its SQLite saver is not installed.
        ConfigurationError: the folder to keep the files in is not empty, or `uri` cannot be worked at.
    """
    try:
        import langgraph.checkpoint.sqlite
        import langgraph.graph  # noqa: F401  (only to say early what is missing)
    except ImportError as exc:
        raise MissingExtraError("the demo runs a LangGraph agent on SQLite: pip install 'sealpoint[demo]'") from exc
    if uri is not None:
        check_uri(uri)
    from . import agent, objects

    began = time.monotonic()
    claims = Claims()
    with folder(keep) as place:
        first, second = _entry("2026-05"), _entry("2026-11")
        if keep is not None:
            write_keys(place / KEYS_FILE, f"{SEALPOINT_KEYS}={second},{first}")
        _story(place, first, second, claims)
        kept_objects = keep is not None and uri is None
        objects.story(uri or (place / "objects").absolute().as_uri(), f"{second},{first}", claims, leave=kept_objects)
    if keep is not None:
        left = f", objects/ (the thread {objects.OTHER}; {agent.THREAD} is deleted there)" if kept_objects else ""
        click.echo(f"\nKept in {keep}: {_BARE} and {_SEALED} (two ways in), {KEYS_FILE} (their keys){left}.")
    click.echo(f"\n{'All claims hold' if not claims.failed else f'{claims.failed} claims are false'}; {time.monotonic() - began:.1f} s.")
    return not claims.failed


def _story(place: Path, first: str, second: str, claims: Claims) -> None:
    from . import agent, sealed

    database = place / _BARE
    title("1  A real agent, sealed, stopped at an interrupt (process 1)")
    asked = in_process("start", "serde", str(database), first)
    claims.check(
        "the agent called a tool, ran a subgraph and three parallel tasks, and asks for approval", asked == agent.SECRETS["interrupt value"]
    )

    title("2  Resumed from the file by another process (process 2)")
    answer = in_process("resume", "serde", str(database), first)
    claims.check("it remembers everything and finishes", answer == "3 checks passed, decision recorded.", answer)

    title("3  What a thief of the file sees, by column")
    columns = scan_columns(database, {**agent.SECRETS, "e-mail in metadata": agent.METADATA_SECRET})
    table(columns)
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
    remark("ids, channel names, types and metadata stay in clear here; SealedSaver and the object saver seal metadata too.")

    sealed.story(database, place / _SEALED, first, claims)

    title("5  What happens to someone who changes the first file")
    tamper(database, first, claims)

    title("6  A new key for new writes; old state still opens")
    _rotate(database, first, second, claims)


def _rotate(database: Path, old: str, new: str, claims: Claims) -> None:
    from . import agent

    both = f"{new},{old}"
    state = latest(database, both)
    claims.check("with the new key in front, the old thread opens", agent.SECRETS["resume value"] in str(state))
    in_process("start", "serde", str(database), both, "refund-0008")
    ids = scan_columns(database, {})["checkpoints.checkpoint"].key_ids
    claims.check("new writes are under the new key, and every header says which", set(ids) == {"2026-05", "2026-11"}, _counts(ids))
    claims.check("re-sealing what is left under 2026-05 can be planned from headers alone, without a key", ids["2026-05"] > 0)


def _entry(key_id: str) -> str:
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


def _counts(ids: dict[str, int]) -> str:
    return ", ".join(f"{count} under {key_id}" for key_id, count in sorted(ids.items()))
