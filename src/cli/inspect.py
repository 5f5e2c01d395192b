"""`sealpoint inspect`: what the headers of the sealed values in one stored cell say, without a key; it opens nothing."""

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
from ..errors import IntegrityError

_STARTS = (MAGIC.hex().encode(), base64.b64encode(MAGIC)[:5].lower())  # of a value in hex or base64
_SEVERAL = "these are several values; give one, for example with LIMIT 1"
_HEX = re.compile(rb"(?:\\x|0x)?([0-9A-Fa-f]{2}\s*)+")


@click.command(short_help="Show the headers and key ids of stored values, without a key.")
@click.argument("value", type=click.File("rb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, with an object for each sealed value.")
def inspect(value: BinaryIO, as_json: bool) -> None:
    """Show header and key id of the sealed values in a stored cell, without any key.

    VALUE is a file, or - for standard input: the raw bytes, or their hex (also as PostgreSQL prints it, \\x…) or base64. It is a sealed
    value, what SealedSaver puts around some (a checkpoint in msgpack, metadata in JSON), or an object of the object saver.

    \b
    sqlite3 chat.db "select hex(checkpoint) from checkpoints limit 1" | sealpoint inspect
    sqlite3 chat.db "select metadata from checkpoints limit 1" | sealpoint inspect

    What a header says is a hint until the value was opened: nothing vouches for it before.
    """  # noqa: D301 - \b is the character that tells click to keep the lines that follow
    from ..savers.finding import SeveralError, find

    try:
        every = [_facts(found.where, found.data) for found in find(decoded(value.read()))]
    except SeveralError:
        raise click.UsageError(_SEVERAL) from None
    if as_json:
        click.echo(json.dumps(every))
        return
    for number, facts in enumerate(every):
        if number:
            click.echo()
        for name, fact in facts.items():
            if fact not in ([], ""):
                click.echo(f"{name:13} {', '.join(fact) if isinstance(fact, list) else fact}")
    click.echo("hint: unverified until the value is opened with its key", err=True)


def _facts(where: str, data: bytes) -> dict[str, str | int | list[str]]:
    """What the header says of one sealed value.

    Raises:
        IntegrityError: it is none, or is cut off.
    """
    try:
        header, at = parse(data)
        size = plain_length(len(data) - at)
    except IntegrityError as exc:
        raise type(exc)(f"{where}: {exc}" if where else str(exc)) from None
    reference = header.reference
    return {
        "where": where,
        "format": "sealpoint envelope v1",
        "suite": "Cobblestone-256 (HKDF-SHA-512, AES-256-GCM)",
        "key_kind": reference.kind.name.lower(),
        "key_id": reference.key_id,
        "key_check": header.check.hex(),
        "roots": [entry.root for entry in reference.wrapped],
        "header_bytes": at,
        "plain_bytes": size,
        "total_bytes": len(data),
    }


def decoded(text: bytes) -> bytes:
    """The raw bytes of a value that is given raw, as hex or as base64."""
    if looks_sealed(text):
        return text
    if sum(line.strip().lower().removeprefix(b"\\x").removeprefix(b"0x").startswith(_STARTS) for line in text.splitlines()) > 1:
        raise click.UsageError(_SEVERAL)
    compact = b"".join(text.split())
    if _HEX.fullmatch(compact):
        return bytes.fromhex(compact.decode("ascii").removeprefix("\\x").removeprefix("0x"))
    try:
        return base64.b64decode(compact, validate=True)
    except binascii.Error:
        return text
