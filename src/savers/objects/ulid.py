"""UUIDv6 ⇄ ULID as text, without loss and with the order kept; it draws no randomness and reads no clock.

A checkpoint id of LangGraph is a UUIDv6: a 60-bit count of 100 ns since 1582-10-15, a 14-bit clock sequence, a 48-bit node (RFC 9562,
section 5.6). A ULID is 48 bits of milliseconds since 1970 and 80 more bits, as 26 characters of Crockford's base 32. The bits fit:

====================================  ====
milliseconds since 1970               48
100 ns units within the millisecond   14
clock sequence                        14
node                                  48
zero                                  4
====================================  ====
"""

from __future__ import annotations

import re
from typing import Final

MAX: Final = (1 << 128) - 1

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, in lower case: its order is the order of the bytes
_VALUES: Final = {character: value for value, character in enumerate(_ALPHABET)}
_TEXT: Final = re.compile(f"[0-7][{_ALPHABET}]{{25}}", re.ASCII)  # 128 bits leave 3 for the first character
_UUID6: Final = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-([89ab][0-9a-f]{3})-([0-9a-f]{12})", re.ASCII)
_EPOCH: Final = 0x01B21DD213814000  # 100 ns units from 1582-10-15 to 1970-01-01 (RFC 9562, section 5.1)
_UNITS: Final = 10_000  # 100 ns units in a millisecond


def encode(value: int) -> str:
    """The 26 characters of a 128-bit number."""
    return "".join([_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5)])


def decode(text: str) -> int | None:
    """The number of 26 characters that `encode` made, or None."""
    if not _TEXT.fullmatch(text):
        return None
    value = 0
    for character in text:
        value = value << 5 | _VALUES[character]
    return value


def encode_short(value: int, length: int) -> str:
    """The low ``5 * length`` bits of a number, as `length` characters."""
    return "".join([_ALPHABET[value >> shift & 31] for shift in range(5 * (length - 1), -1, -5)])


def from_uuid6(text: str) -> int | None:
    """The ULID of a UUIDv6 in its canonical text form (lower case), or None for any other string and for times before 1970."""
    match = _UUID6.fullmatch(text)
    if match is None:
        return None
    high, mid, low, sequence, node = match.groups()
    ticks = int(high + mid + low, 16) - _EPOCH
    if ticks < 0:
        return None
    milliseconds, rest = divmod(ticks, _UNITS)
    return milliseconds << 80 | rest << 66 | (int(sequence, 16) & 0x3FFF) << 52 | int(node, 16) << 4


def to_uuid6(value: int) -> str | None:
    """The UUIDv6 that `from_uuid6` made the ULID of, or None when it was made of none."""
    rest = value >> 66 & 0x3FFF
    ticks = (value >> 80) * _UNITS + rest + _EPOCH
    if rest >= _UNITS or value & 0xF or ticks >> 60:
        return None
    digits = f"{ticks:015x}"
    return f"{digits[:8]}-{digits[8:12]}-6{digits[12:]}-{value >> 52 & 0x3FFF | 0x8000:04x}-{value >> 4 & 0xFFFFFFFFFFFF:012x}"


def milliseconds(value: int) -> int:
    """When, in milliseconds since 1970."""
    return value >> 80
