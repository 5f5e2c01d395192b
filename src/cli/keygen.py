"""`sealpoint keygen`: makes a key and says where to put it; it writes no file."""

from __future__ import annotations

import base64
import datetime
import json
import os
import secrets

import click

from ..ciphers.header import check_key_id
from ..ciphers.secret import KEY_BYTES
from ..keys.environment import SEALPOINT_KEYS


@click.command(short_help="Make a new key, and say where to put it.")
@click.option(
    "--id",
    "key_id",
    metavar="ID",
    help="The key's id: 1-32 of A-Z a-z 0-9 . _ - (default: today's date, UTC, and a number if that is taken).",
)
@click.option("--json", "as_json", is_flag=True, help='Print {"id": …, "key": …} for a program to read.')
def keygen(key_id: str | None, as_json: bool) -> None:
    """Make a new random 256-bit key, in the form that SEALPOINT_KEYS takes.

    \b
    A first key:    export SEALPOINT_KEYS="$(sealpoint keygen)"
    Rotate it:      export SEALPOINT_KEYS="$(sealpoint keygen),$SEALPOINT_KEYS"

    The first key seals, all of them open. Every value names the id of its key, so give no id to two keys, and keep old keys for as long
    as anything sealed under them exists.
    """  # noqa: D301 - \b is the character that tells click to keep the lines that follow
    key_id = _new_id() if key_id is None else check_key_id(key_id)
    key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")
    click.echo(json.dumps({"id": key_id, "key": key}) if as_json else f"{key_id}:{key}")
    click.echo(
        f"Put it into the environment variable {SEALPOINT_KEYS}, from a secret manager rather than a file in the repository.\n"
        "hint: whoever loses it loses the data; keep a copy in escrow. To rotate, put a new key in front and keep the old ones behind it.",
        err=True,
    )


def _new_id() -> str:
    """Today's date; with a number behind it when SEALPOINT_KEYS has a key of that id already."""
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    taken = {entry.partition(":")[0] for entry in os.environ.get(SEALPOINT_KEYS, "").split(",")}
    return next(name for name in (today, *(f"{today}.{number}" for number in range(2, 10_000))) if name not in taken)
