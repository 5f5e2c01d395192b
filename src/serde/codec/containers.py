"""Containers of the standard library other than list and dict with str keys, by exact type; what they hold is packed by the writer."""

from __future__ import annotations

import array
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

from .buffers import of_bytes, read_bytes
from .classes import marshal_type, parse_type
from .kind import Kind, MalformedError, Part, Reading, UnstorableError, Writing, distinct, exactly, expect, listed, simple, whole


def indexed(items: Iterable[Any]) -> Iterable[Part]:
    """Path steps into a sequence."""
    return ((f"[{number}]", item) for number, item in enumerate(items))


def keyed(mapping: Any) -> Iterable[Part]:
    """Path steps into a mapping: keys are the user's data, so only a word of at most 24 lower-case letters or _ is shown.

    Of all others (a key with digits or capitals may be a credential or an account) the position stands in the path.
    """
    for number, (key, value) in enumerate(dict.items(mapping)):
        yield f"[key {number}]", key
        yield (f".{key}" if type(key) is str and _WORD.fullmatch(key) else f"[{number}]"), value


def attributes(state: Any) -> Iterable[Part]:
    """Path steps into the attributes of an object: their names are the program's, and shown up to 40 characters."""
    for number, (name, value) in enumerate(dict.items(state)):
        yield (f".{name}" if type(name) is str and name.isidentifier() and len(name) <= 40 else f"[{number}]"), value


_WORD: Final = re.compile("[a-z_]{1,24}")


def flat(mapping: Any) -> list[Any]:
    """Keys and values in turn, in order; read through dict itself."""
    return list(chain.from_iterable(dict.items(mapping)))


def paired(row: Any) -> Iterable[tuple[Any, Any]]:
    """The items of a flat row."""
    items = listed(row)
    if len(items) % 2:
        raise MalformedError
    return zip(items[::2], items[1::2], strict=True)


def mapped(row: Any, source: Reading) -> dict[Any, Any]:
    """The dict of a flat row."""
    items = listed(row)
    source.hashed(items[::2])
    return whole(dict(paired(items)), len(items) // 2)  # type: ignore[no-any-return]  # it is the dict


def checked_flat(mapping: Any) -> list[Any]:
    """As `flat`, after a look whether the keys are still different."""
    distinct(dict.keys(mapping))
    return flat(mapping)


def checked_list(items: Any) -> list[Any]:
    """The items of a set, after a look whether they are still different."""
    found = list(items)
    distinct(found)
    return found


def filled(kind: type[Any], row: Any, source: Reading) -> Any:
    """The set of a row."""
    items = listed(row)
    source.hashed(items)
    return whole(kind(items), len(items))


def _rows(code: int, to_row: Any, from_row: Callable[[Any, Reading], Any], parts: Any) -> Kind:
    """A kind with one column, read with a look at what it costs."""

    def decode(columns: list[Any], source: Reading) -> list[Any]:
        return [from_row(row, source) for row in listed(*expect(columns, 1))]

    return Kind(code, lambda _cls, objs, _out: [list(map(to_row, objs))], decode, parts)


def _decode_tuples(columns: list[Any], source: Reading) -> list[Any]:
    rows = listed(*expect(columns, 1))
    made = list(map(tuple, map(listed, rows)))
    if not source.authenticated:
        for one in made:
            source.weigh(one, one)
    return made


TUPLE: Final = Kind(1, lambda _cls, objs, _out: [list(map(list, objs))], _decode_tuples, indexed)
PAIRS: Final = _rows(2, lambda v: checked_flat(v.mapping), mapped, lambda v: keyed(v.mapping))
SET: Final = _rows(3, checked_list, lambda row, source: filled(set, row, source), indexed)
FROZENSET: Final = _rows(4, checked_list, lambda row, source: filled(frozenset, row, source), indexed)


def _deque(row: Any) -> deque[Any]:
    length, items = expect(listed(row), 2)
    return deque(listed(items), None if length is None else exactly(int, length))


DEQUE: Final = simple(25, lambda v: [v.maxlen, list(v)], _deque, indexed)


def _ordered_row(value: OrderedDict[Any, Any]) -> list[Any]:
    _refuse_attributes(value)
    return ordered_flat(value)


def ordered_flat(value: OrderedDict[Any, Any]) -> list[Any]:
    """Keys and values in turn, in order; first a look at the keys, as CPython iterates for ever where the hash of one has changed."""
    keys = list(dict.keys(value))
    distinct(keys)
    if not all(dict.__contains__(value, key) for key in keys):
        raise UnstorableError("one of its keys has changed since it was put in; build it anew", value)
    return list(chain.from_iterable(OrderedDict.items(value)))


def _refuse_attributes(value: Any) -> None:
    if vars(value):
        raise UnstorableError("it has attributes besides its items, which its own type has no form for; use a subclass", value)


ORDERED: Final = _rows(26, _ordered_row, lambda row, source: OrderedDict(mapped(row, source)), keyed)


def _namespace(row: Any) -> SimpleNamespace:
    if type(row) is not dict:
        raise MalformedError
    made = SimpleNamespace()
    vars(made).update(row)
    return made


NAMESPACE: Final = simple(31, vars, _namespace, lambda v: keyed(vars(v)))


def _counter_row(value: Counter[Any]) -> list[Any]:
    _refuse_attributes(value)
    return checked_flat(value)


def _counter(row: Any, source: Reading) -> Counter[Any]:
    made: Counter[Any] = Counter()
    dict.update(made, mapped(row, source))
    return made


COUNTER: Final = _rows(28, _counter_row, _counter, keyed)


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
    return [[[marshal_factory(obj.default_factory), checked_flat(obj)] for obj in objs]]


def _decode_defaultdicts(columns: list[Any], source: Reading) -> list[Any]:
    made = []
    for row in listed(*expect(columns, 1)):
        factory, items = expect(listed(row), 2)
        made.append(defaultdict(None if factory is None else parse_type(factory, source.trust), mapped(items, source)))
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
