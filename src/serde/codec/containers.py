"""Containers of the standard library other than list and dict with str keys, by exact type; what they hold is packed by the writer."""

from __future__ import annotations

import array
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

from .buffers import of_bytes, read_bytes
from .classes import marshal_type, parse_type
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, exactly, expect, listed, simple
from .lift import Octets


def indexed(items: Iterable[Any]) -> Iterable[Part]:
    """Path steps into a sequence."""
    return ((f"[{number}]", item) for number, item in enumerate(items))


def keyed(mapping: Any) -> Iterable[Part]:
    """Path steps into a mapping: keys that look like names are shown, others are counted, because a key can be private."""
    for number, (key, value) in enumerate(dict.items(mapping)):
        yield f"[key {number}]", key
        named = type(key) is str and key.isidentifier() and len(key) <= 40
        yield (f".{key}" if named else f"[{number}]"), value


def flat(mapping: Any) -> list[Any]:
    """Keys and values in turn, in order; read through dict itself."""
    return list(chain.from_iterable(dict.items(mapping)))


def paired(row: Any) -> Iterable[tuple[Any, Any]]:
    """The items of a flat row."""
    items = listed(row)
    if len(items) % 2:
        raise MalformedError
    return zip(items[::2], items[1::2], strict=True)


TUPLE: Final = simple(1, list, lambda row: tuple(listed(row)), indexed)
PAIRS: Final = simple(2, lambda v: flat(v.mapping), lambda row: dict(paired(row)), lambda v: keyed(v.mapping))
SET: Final = simple(3, list, lambda row: set(listed(row)), indexed)
FROZENSET: Final = simple(4, list, lambda row: frozenset(listed(row)), indexed)
def _deque(row: Any) -> deque[Any]:
    length, items = expect(listed(row), 2)
    return deque(listed(items), None if length is None else exactly(int, length))


DEQUE: Final = simple(25, lambda v: [v.maxlen, list(v)], _deque, indexed)
ORDERED: Final = simple(26, lambda v: list(chain.from_iterable(v.items())), lambda row: OrderedDict(paired(row)), keyed)


def _namespace(row: Any) -> SimpleNamespace:
    if type(row) is not dict:
        raise MalformedError
    made = SimpleNamespace()
    vars(made).update(row)
    return made


NAMESPACE: Final = simple(31, vars, _namespace, lambda v: keyed(vars(v)))


def _counter(row: Any) -> Counter[Any]:
    made: Counter[Any] = Counter()
    dict.update(made, paired(row))
    return made


COUNTER: Final = simple(28, flat, _counter, keyed)


# --- defaultdict: the factory is a class or nothing ---------------------------------------------------------------


def marshal_factory(factory: Any) -> Any:
    """The factory as a type expression, or nil."""
    if factory is None:
        return None
    if not isinstance(factory, type):
        raise UnstorableError(
            "its default_factory is a function, and functions are not stored; use a class such as list, or register a codec"
        )
    return marshal_type(factory)


def _encode_defaultdicts(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    return [[[marshal_factory(obj.default_factory), flat(obj)] for obj in objs]]


def _decode_defaultdicts(columns: list[Any], source: Reading) -> list[Any]:
    made = []
    for factory, row in listed(*expect(columns, 1)):
        made.append(defaultdict(None if factory is None else parse_type(factory, source.trust), paired(row)))
    return made


DEFAULTDICT: Final = Kind(27, _encode_defaultdicts, _decode_defaultdicts, keyed)


# --- runs of bytes -------------------------------------------------------------------------------------------------


def _encode_octets(_cls: type, objs: list[Any], out: Writing) -> list[Any]:
    return [[[isinstance(obj.value, bytearray), of_bytes(obj.value, out)] for obj in objs]]


def _decode_octets(columns: list[Any], source: Reading) -> list[Any]:
    made: list[Any] = []
    for mutable, stored in listed(*expect(columns, 1)):
        made.append(read_bytes(stored, source, bytearray if mutable is True else bytes))
    return made


OCTETS: Final = Kind(6, _encode_octets, _decode_octets)


def _encode_bytearrays(_cls: type, objs: list[Any], out: Writing) -> list[Any]:
    return _encode_octets(Octets, [Octets(obj) for obj in objs], out)


def _encode_arrays(_cls: type, objs: list[array.array[Any]], out: Writing) -> list[Any]:
    return [sys.byteorder, [[obj.typecode, obj.itemsize, of_bytes(memoryview(obj).cast("B"), out)] for obj in objs]]


def _decode_arrays(columns: list[Any], source: Reading) -> list[Any]:
    order, rows = expect(columns, 2)
    made = []
    for code, itemsize, stored in listed(rows):
        one = array.array(exactly(str, code))
        if one.itemsize != exactly(int, itemsize):
            raise MalformedError
        one.frombytes(read_bytes(stored, source, bytes))
        if order != sys.byteorder:
            one.byteswap()
        made.append(one)
    return made


ARRAY: Final = Kind(29, _encode_arrays, _decode_arrays)
