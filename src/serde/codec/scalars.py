"""Numbers, identifiers and other small standard-library values, by exact type; their subclasses are elsewhere (see subclasses)."""

from __future__ import annotations

import functools
import ipaddress
import pathlib
import re
import sys
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from ...errors import DecodeError
from .kind import Kind, MalformedError, Reading, UnstorableError, Writing, all_exactly, exactly, expect, listed, simple
from .lift import Text


def big_int_to_bytes(value: int) -> bytes:
    """Two's complement, big-endian, as short as possible."""
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def big_int_from_bytes(raw: bytes) -> int:
    """The int of those bytes."""
    return int.from_bytes(exactly(bytes, raw), "big", signed=True)


INT: Final = simple(8, big_int_to_bytes, big_int_from_bytes)
"""Ints that do not fit 64 bits; never through decimal text, whose length Python limits."""

COMPLEX: Final = simple(9, lambda v: [v.real, v.imag], lambda row: complex(*all_exactly(float, row, 2)))
DECIMAL: Final = simple(10, Decimal.__str__, lambda row: Decimal(exactly(str, row)))
RANGE: Final = simple(15, lambda v: [v.start, v.stop, v.step], lambda row: range(*all_exactly(int, row, 3)))


def _decode_slices(columns: list[Any], source: Reading) -> list[Any]:
    rows = [expect(listed(row), 3) for row in listed(*expect(columns, 1))]
    made = [slice(*row) for row in rows]
    for one, row in zip(made, rows, strict=True):
        source.weigh(one, row)  # from Python 3.12 on they have a hash
    return made


SLICE: Final = Kind(16, lambda _cls, objs, _out: [[[v.start, v.stop, v.step] for v in objs]], _decode_slices)
TEXT: Final = simple(
    5,
    lambda v: (v.value if type(v) is Text else v).encode("utf-8", "surrogatepass"),
    lambda raw: exactly(bytes, raw).decode("utf-8", "surrogatepass"),
)

# --- fractions: terms as they are, which a constructor would reduce, at length for long ones --------------------------

_numerator: Final = vars(Fraction)["_numerator"]
_denominator: Final = vars(Fraction)["_denominator"]


def _fraction(row: Any) -> Fraction:
    numerator, denominator = all_exactly(int, row, 2)
    if denominator < 1:
        raise MalformedError
    made = object.__new__(Fraction)
    _numerator.__set__(made, numerator)
    _denominator.__set__(made, denominator)
    return made


def _fraction_row(value: Fraction) -> list[int]:
    terms = [value.numerator, value.denominator]
    if list(map(type, terms)) != [int, int]:
        raise UnstorableError("its terms are of a subclass of int; make it of int(…)", value)
    return terms


FRACTION: Final = simple(11, _fraction_row, _fraction)

# --- UUID: its constructor is never called, so that no version check can refuse or change a value -------------------

_set_int: Final = uuid.UUID.__dict__["int"].__set__
_set_safe: Final = uuid.UUID.__dict__["is_safe"].__set__
_SAFETY: Final = {member.value: member for member in uuid.SafeUUID}


def _uuid_row(value: uuid.UUID) -> Any:
    raw = value.int.to_bytes(16, "big")
    return raw if value.is_safe is uuid.SafeUUID.unknown else [raw, value.is_safe.value]


def _uuid(row: Any) -> uuid.UUID:
    raw, safety = expect(row, 2) if type(row) is list else (row, None)
    if type(raw) is not bytes or len(raw) != 16:
        raise MalformedError
    if safety is not None and type(safety) is not int:
        raise MalformedError
    made = object.__new__(uuid.UUID)
    _set_int(made, int.from_bytes(raw, "big"))
    _set_safe(made, _SAFETY[safety])
    return made


UUID: Final = simple(12, _uuid_row, _uuid)

# --- paths and addresses: the class by a short fixed name ----------------------------------------------------------

_PATHS: Final[dict[str, type[pathlib.PurePath]]] = {
    "posix": pathlib.PosixPath,
    "windows": pathlib.WindowsPath,
    "pureposix": pathlib.PurePosixPath,
    "purewindows": pathlib.PureWindowsPath,
}
_ADDRESSES: Final[dict[str, Any]] = {
    f"{version}{form}": getattr(ipaddress, f"IPv{version}{form}") for version in (4, 6) for form in ("Address", "Interface", "Network")
}


def _named(code: int, table: dict[str, Any]) -> Kind:
    names = {cls: name for name, cls in table.items()}

    def decode(columns: list[Any], _source: Reading) -> list[Any]:
        name, rows = expect(columns, 2)
        return list(map(table[exactly(str, name)], all_exactly(str, rows)))

    def encode(cls: type, objs: list[Any], _out: Writing) -> list[Any]:
        for obj in objs:
            if not getattr(obj, "__dict__", {}).keys() <= _own_attributes(cls):
                raise UnstorableError("it has attributes of its own, which its type has no form for; use a subclass", obj)
        return [names[cls], list(map(str, objs))]

    return Kind(code, encode, decode)


@functools.cache
def _own_attributes(cls: Any) -> frozenset[str]:
    """What Python itself may put into the ``__dict__`` of an address or network: set by its constructor, or cached."""
    made: Any = cls(0) if cls.__module__ == "ipaddress" else None
    return frozenset().union(getattr(made, "__dict__", {}), *map(vars, cls.__mro__))


PATH: Final = _named(13, _PATHS)
PATH_TYPES: Final = tuple(_PATHS.values())
ADDRESS: Final = _named(14, _ADDRESSES)
ADDRESS_TYPES: Final = tuple(_ADDRESSES.values())

# --- regular expressions --------------------------------------------------------------------------------------------


def _pattern_row(value: re.Pattern[Any]) -> list[Any]:
    if value.flags & re.DEBUG:
        raise UnstorableError("it was compiled with re.DEBUG, which prints when it is compiled again; leave that flag out", value)
    if type(value.pattern) not in (str, bytes):
        raise UnstorableError("its pattern is of a subclass of str or bytes; compile str(pattern)", value)
    return [value.pattern, value.flags]


def compiled(pattern: Any, flags: Any, spend: Callable[[int], None] | None) -> re.Pattern[Any]:
    """The pattern, compiled.

    Args:
        pattern: its text or bytes.
        flags: as they were stored.
        spend: where nobody vouches for it, told what compiling costs before it is done; it raises when that is too much.
    """
    if type(flags) is not int or flags & re.DEBUG or type(pattern) not in (str, bytes):
        raise MalformedError
    if spend is not None:
        if len(pattern) > _MAX_PATTERN:
            raise DecodeError(
                f"a stored value holds a regular expression of more than {_MAX_PATTERN} characters, which is compiled only if authenticated"
            )
        spend(_COMPILE * len(pattern) + (2 * sum(map(_end, _RANGE.finditer(pattern))) if type(pattern) is str else 0))
    return re.compile(pattern, flags)


_MAX_PATTERN: Final = 64 * 1024
_COMPILE: Final = 200  # the cost of a character, in items hashed: up to 10 us
# Every hyphen with what follows, which is the end of a range if it stands in a set: compiling goes through its characters one by one.
_RANGE: Final = re.compile(r"-(?=\\x(?P<x>..)|\\u(?P<u>....)|\\U(?P<U>.{8})|(?P<other>\\[N0-7])|(?P<plain>.))", re.DOTALL)


def _end(found: re.Match[str]) -> int:
    """At most so many characters in the range."""
    digits = found["x"] or found["u"] or found["U"]
    if digits is None:
        return sys.maxunicode if found["other"] else ord(found["plain"])
    try:
        return min(int(digits, 16), sys.maxunicode)
    except ValueError:
        return 0  # it does not compile


def _decode_patterns(columns: list[Any], source: Reading) -> list[Any]:
    rows = [expect(listed(row), 2) for row in listed(*expect(columns, 1))]
    return [compiled(pattern, flags, None if source.authenticated else source.spend) for pattern, flags in rows]


PATTERN: Final = Kind(18, lambda _cls, objs, _out: [list(map(_pattern_row, objs))], _decode_patterns)
