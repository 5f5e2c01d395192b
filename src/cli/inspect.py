"""`sealpoint inspect`: what the header of one sealed value says, without a key; it opens nothing."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import BinaryIO

import click

from ..ciphers import looks_sealed, parse
from ..ciphers.body import plain_length
from ..ciphers.header import MAGIC

_STARTS = (MAGIC.hex().encode(), base64.b64encode(MAGIC)[:5].lower())  # of a value in hex or base64
_HEX = re.compile(rb"(?:\\x|0x)?([0-9A-Fa-f]{2}\s*)+")


@click.command()
@click.argument("value", type=click.File("rb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a program to read.")
def inspect(value: BinaryIO, as_json: bool) -> None:
    """Show the header and key id of one sealed value, without any key.

    VALUE is a file, or - for standard input: the raw bytes, or their hex (also as PostgreSQL prints it, \\x…) or base64.

    \b
    sqlite3 chat.db "select hex(checkpoint) from checkpoints limit 1" | sealpoint inspect

    What a header says is a hint until the value was opened: nothing vouches for it before.
    """  # noqa: D301 - \b is the character that tells click to keep the line that follows
    from ..savers.objects.format import MAGIC as OBJECT_MAGIC
    from ..savers.objects.format import parse_frame

    data = decoded(value.read())
    if data.startswith(OBJECT_MAGIC):  # an object of the object saver: a sealed value in a frame
        data = parse_frame(data).cell
    header, at = parse(data)
    reference = header.reference
    facts = {
        "format": "sealpoint envelope v1",
        "suite": "Cobblestone-256 (HKDF-SHA-512, AES-256-GCM)",
        "key_kind": reference.kind.name.lower(),
        "key_id": reference.key_id,
        "key_check": header.check.hex(),
        "roots": [entry.root for entry in reference.wrapped],
        "header_bytes": at,
        "plain_bytes": plain_length(len(data) - at),
        "total_bytes": len(data),
    }
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, fact in facts.items():
        if fact != []:
            click.echo(f"{name:13} {', '.join(fact) if isinstance(fact, list) else fact}")
    click.echo("hint: unverified until the value is opened with its key", err=True)


def decoded(text: bytes) -> bytes:
    """The raw bytes of a value that is given raw, as hex or as base64."""
    if looks_sealed(text):
        return text
    if sum(line.strip().lower().removeprefix(b"\\x").removeprefix(b"0x").startswith(_STARTS) for line in text.splitlines()) > 1:
        raise click.UsageError("these are several values; give one, for example with LIMIT 1")
    compact = b"".join(text.split())
    if _HEX.fullmatch(compact):
        return bytes.fromhex(compact.decode("ascii").removeprefix("\\x").removeprefix("0x"))
    try:
        return base64.b64decode(compact, validate=True)
    except binascii.Error:
        return text
