"""What every family of types offers to the writer and the reader; it knows no type itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...errors import DecodeError

if TYPE_CHECKING:
    from .drift import DriftPolicy
    from .registry import Codec
    from .trust import Trust

T = TypeVar("T")
Part = tuple[str, Any]
"""A step of a path (``.name`` or ``[3]``) and the value found there."""


class UnstorableError(Exception):
    """A value has no faithful form. Internal: the writer turns it into ValueNotStorableError, with the path.

    Args:
        reason: what is wrong and what to do, without the value.
        culprit: the object itself, for finding its path; None when the object being encoded is meant.
    """

    def __init__(self, reason: str, culprit: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.culprit = culprit


class MalformedError(Exception):
    """A stored part has not the shape that its kind writes. Internal: the reader turns it into DecodeError."""


@dataclass(slots=True)
class BufferSource:
    """Bytes that will stand outside the documents: how many, and how to write them into a view of that size."""

    nbytes: int
    write: Callable[[memoryview], None]


@dataclass(slots=True)
class Writing:
    """What encoders share during one `dumps`.

    Args:
        codecs: the registered ones.
        pickle: whether what has no form goes to pickle.
        buffers: what will stand outside the documents.
        unproved: of the next document, what is packed as it is and has yet to be proved exact (see scan).
    """

    codecs: Mapping[type, Codec]
    pickle: bool = False
    buffers: list[BufferSource] = field(default_factory=list)
    unproved: list[Any] = field(default_factory=list)

    def add_buffer(self, source: BufferSource) -> int:
        """The number under which the reader finds these bytes."""
        self.buffers.append(source)
        return len(self.buffers) - 1


def allowance(size: int) -> int:
    """What reading a payload of so many bytes may cost, in items hashed: a few seconds, and in proportion to its size."""
    return 100_000_000 + 16 * size


@dataclass(slots=True)
class Spending:
    """What reading costs beyond the size of the payload; only one that nobody vouches for has to keep within its budget."""

    authenticated: bool
    budget: int
    weights: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def spend(self, amount: int) -> None:
        """Takes from the budget: for copies, hashes, comparisons, patterns.

        Raises:
            DecodeError: nothing is left; of values that somebody wrote for use, none comes near.
        """
        if not self.authenticated:
            self.budget -= amount
            if self.budget < 0:
                raise DecodeError(
                    "a stored value costs far more to read than its size, in hashes, comparisons or a regular expression, and nobody "
                    "vouches for it: it was made to, or has to be read through the chain that sealed it"
                )

    def weigh(self, obj: Any, items: Iterable[Any]) -> None:
        """Notes what hashing `obj` costs: tuples remember no hash, so one that is shared at every level is hashed over and over."""
        if not self.authenticated:
            weights = self.weights
            weight = 1 + sum(weights[id(item)][0] if id(item) in weights else 1 for item in items)
            weights[id(obj)] = weight, obj

    def hashed(self, items: Sequence[Any]) -> None:
        """Spends what making a set, or the keys of a mapping, of these costs, before it is done: hashes, and comparisons of equal ones."""
        if self.authenticated:
            return
        heaviest = 1
        if self.weights:
            weights = [self.weights[id(item)][0] for item in items if id(item) in self.weights]
            self.spend(sum(weights))
            heaviest = max(weights, default=1)
        hashes = list(map(hash, items))
        if len(set(hashes)) < len(hashes):
            self.spend(heaviest * sum(count * count for count in Counter(hashes).values()))


@dataclass(slots=True, kw_only=True)
class Reading(Spending):
    """What decoders share during one `loads`."""

    trust: Trust
    drift: DriftPolicy
    codecs: Mapping[str, Codec]
    classify: Callable[[type], int]
    pickle: bool = False
    buffers: list[memoryview | None] = field(default_factory=list)

    def buffer(self, number: Any) -> memoryview:
        """The bytes that the writer put under this number; each is handed out once, as each was stored for one object."""
        if type(number) is not int or not 0 <= number < len(self.buffers):
            raise MalformedError
        found, self.buffers[number] = self.buffers[number], None
        if found is None:
            raise MalformedError
        return found


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to store objects. A group of objects of one class becomes ``[code, *columns]``.

    Args:
        code: the number in the format.
        encode: the columns of a group, from its class and objects: plain msgpack values, or objects that get their own group.
        decode: the objects of a group, from its columns, in order.
        parts: the steps into one object, for error paths.
        mixed: whether one group takes objects of several classes; `encode` is then given any of them.
        foreign: of the columns, what is not made of names and numbers by `encode` itself, and so has to be proved exact; None for all.
    """

    code: int
    encode: Callable[[type, list[Any], Writing], list[Any]]
    decode: Callable[[list[Any], Reading], list[Any]]
    parts: Callable[[Any], Iterable[Part]] | None = None
    mixed: bool = False
    foreign: Callable[[list[Any]], list[Any]] | None = None


def expect(columns: list[Any], count: int) -> list[Any]:
    """The columns, if there are `count` of them."""
    if len(columns) != count:
        raise MalformedError
    return columns


def shown(name: Any, limit: int = 40) -> str:
    """A name out of a payload, fit for a log or an error: ASCII without control characters, cut after `limit` characters."""
    return ascii(str(name)[:limit])[1:-1] if type(name) is str else "?"


def exactly(kind: type[T], value: Any) -> T:
    """The value, if its type is exactly this one.

    What stands in a row can be any object that a payload may name, and much of what rows are given to takes other types in another
    sense: bytes as a pickled date, an int as a size.
    """
    if type(value) is not kind:
        raise MalformedError
    return value


def all_exactly(kind: type[T], values: Any, count: int | None = None) -> list[T]:
    """The list, if all that is in it has exactly this type, and it has `count` items where that is given."""
    found = listed(values)
    if (count is not None and len(found) != count) or not set(map(type, found)) <= {kind}:
        raise MalformedError
    return found


def listed(value: Any) -> list[Any]:
    """The value, if it is a list."""
    if type(value) is not list:
        raise MalformedError
    return value


def counted(values: Iterable[T]) -> tuple[list[T], Any]:
    """The distinct values, in the order in which they occur, and of each value its place among them; nil if there is one only."""
    places: defaultdict[T, int] = defaultdict(count().__next__)
    column = [*map(places.__getitem__, values)]
    return [*places], None if len(places) == 1 else packed_places(column, len(places))


def packed_places(places: list[int], distinct: int) -> Any:
    """A column of places: a byte each in long columns where that is enough, else a list. Short ones stay free of bytes (see scan)."""
    return bytes(places) if len(places) >= _LONG and distinct <= 256 else places


_LONG: Final = 64


def spread(column: Any, distinct: list[Any], length: int) -> Iterable[Any]:
    """The values that `counted` made a column of."""
    if column is None:
        (one,) = distinct
        return repeat(one, length)
    if len(column) != length:
        raise MalformedError
    return map(distinct.__getitem__, column)


def whole(made: Any, count: int) -> Any:
    """The set or mapping, if it has as many entries as were stored: keys that have become equal would lose some.

    Raises:
        DecodeError: it has not.
    """
    if len(made) != count:
        raise DecodeError("a stored set or mapping has keys that are equal now; nothing of it was returned: check their class's __eq__")
    return made


def distinct(keys: Iterable[Any]) -> None:
    """Returns if the keys of a set or mapping are still different; those of builtin types without parts cannot change.

    Raises:
        UnstorableError: some were changed since they were put in.
    """
    changeable = [key for key in keys if type(key) not in _CONSTANT]
    if changeable and len(set(changeable)) != len(changeable):
        raise UnstorableError("two of its keys have become equal since they were put in; build it anew")


_CONSTANT: Final = frozenset({str, int, float, bool, bytes, complex, type(None)})


def simple(
    code: int,
    to_row: Callable[[Any], Any],
    from_row: Callable[[Any], Any],
    parts: Callable[[Any], Iterable[Part]] | None = None,
) -> Kind:
    """A kind with one column: what `to_row` makes of each object."""

    def encode(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
        return [list(map(to_row, objs))]

    def decode(columns: list[Any], _source: Reading) -> list[Any]:
        (rows,) = expect(columns, 1)
        return list(map(from_row, listed(rows)))

    return Kind(code, encode, decode, parts)
