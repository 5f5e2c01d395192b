"""Looks at a raw SQLite file the way a thief would: every column, every encoding; it needs no key and opens nothing."""

from __future__ import annotations

import base64
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ...ciphers import looks_sealed, peek_key_id
from ...errors import IntegrityError
from ...savers.finding import SeveralError
from ...savers.finding import find as sealed_values


@dataclass(slots=True)
class Column:
    """What one column of one table holds.

    Args:
        cells: cells that are not null.
        sealed: of these, how many are envelopes.
        around: of the others, how many have envelopes in them, between what is not sealed.
        found: the planted secrets that a cell shows, by name.
        key_ids: how many sealed cells name each key id.
    """

    cells: int = 0
    sealed: int = 0
    around: int = 0
    found: set[str] = field(default_factory=set)
    key_ids: Counter[str] = field(default_factory=Counter)


def needles(secret: str) -> tuple[bytes, ...]:
    """The forms a secret could be stored in: UTF-8, hex, base64 at each of the three alignments, big- and little-endian number."""
    raw = secret.encode()
    forms = [raw, raw.hex().encode(), raw.hex().upper().encode()]
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw)
        forms.append(whole[4 if shift else 0 : -4])
    if secret.isdigit():
        forms += [int(secret).to_bytes(8, "big"), int(secret).to_bytes(8, "little")]
    return tuple(forms)


def scan_columns(database: Path, secrets: dict[str, str]) -> dict[str, Column]:
    """Every column of every table of `database`, as ``table.column``."""
    wanted = {name: needles(secret) for name, secret in secrets.items()}
    columns: dict[str, Column] = {}
    with sqlite3.connect(database) as connection:
        for (table,) in connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall():
            cursor = connection.execute(f'select * from "{table}"')  # noqa: S608  (the names come from the file's own catalogue)
            names = [f"{table}.{item[0]}" for item in cursor.description]
            for row in cursor:
                for name, cell in zip(names, row, strict=True):
                    _add(columns.setdefault(name, Column()), cell, wanted)
    connection.close()
    return columns


def find(blobs: Iterable[bytes], secrets: dict[str, str]) -> list[str]:
    """The names of the secrets that any of `blobs` shows."""
    wanted = {name: needles(secret) for name, secret in secrets.items()}
    found = {name for data in blobs for name, forms in wanted.items() if any(form in data for form in forms)}
    return sorted(found)


def _add(column: Column, cell: object, wanted: dict[str, tuple[bytes, ...]]) -> None:
    if cell is None:
        return
    data = cell if isinstance(cell, bytes) else str(cell).encode()
    column.cells += 1
    if looks_sealed(data):
        column.sealed += 1
        column.key_ids[peek_key_id(data)] += 1
    elif _has_sealed(data):
        column.around += 1
    column.found |= {name for name, forms in wanted.items() if any(form in data for form in forms)}


def _has_sealed(data: bytes) -> bool:
    try:
        return any(looks_sealed(value.data) for value in sealed_values(data))
    except (IntegrityError, SeveralError):
        return False
