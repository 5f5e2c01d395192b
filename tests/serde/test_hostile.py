"""Hostile payloads that nothing vouches for, and values that used to change or crash: each ends in an error of ours, quickly."""

from __future__ import annotations

import collections
import collections.abc
import datetime as dt
import fractions
import ipaddress
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import ormsgpack
import pandas as pd
import pytest

from sealpoint.errors import DecodeError, SealpointError, TypeRefusedError, ValueNotStorableError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec import frame
from sealpoint.serde.codec.kind import BufferSource
from tests.serde.compare import bare
from tests.serde.test_attacks import MARKER, REFERENCE, forged


def message(*documents: Any, buffers: tuple[bytes, ...] = ()) -> tuple[str, bytes]:
    """A payload of these documents."""
    sources = [BufferSource(len(raw), lambda room, raw=raw: frame.copy_into(room, memoryview(raw))) for raw in buffers]  # type: ignore[misc]
    return "msgpack1", frame.marshal(MARKER, [ormsgpack.packb(document) for document in documents], sources)


def constructor(code: int, *parts: Any) -> ormsgpack.Ext:
    """An object as LangGraph's writer describes it."""
    return ormsgpack.Ext(code, ormsgpack.packb(list(parts)))


# --- LangGraph's formats: constructors are called, so the list is shorter -------------------------------------------


@pytest.mark.parametrize("authenticated", [False, True])
def test_a_metaclass_is_not_called(authenticated: bool) -> None:
    named = constructor(1, "builtins", "type", ["X", [], {"__module__": "builtins"}])
    with pytest.raises(TypeRefusedError):
        JsonPlus().load("msgpack", ormsgpack.packb(named), authenticated=authenticated)


def test_a_metaclass_in_json_stays_the_dict_that_it_is() -> None:
    posted = {"lc": 2, "type": "constructor", "id": ["builtins", "type"], "args": ["X", [], {}]}
    assert JsonPlus().loads_typed(("json", json.dumps(posted).encode())) == posted


@pytest.mark.parametrize("name", [("builtins", "bytearray"), ("builtins", "bytes"), ("numpy", "recarray"), ("collections", "Counter")])
def test_what_is_safe_to_restore_is_not_safe_to_call(name: tuple[str, str]) -> None:
    with pytest.raises(TypeRefusedError):
        JsonPlus().loads_typed(("msgpack", ormsgpack.packb(constructor(0, *name, 3 * 10**9))))


# --- msgpack1: what a row holds is of exactly the type that was written ---------------------------------------------


def bare_unicode_error(start: int, end: int, obj: Any) -> list[Any]:
    native = {"object": obj, "encoding": "a", "reason": "b", "start": start, "end": end}
    return [45, ["builtins", "UnicodeDecodeError"], [[REFERENCE, None, native, None, None, None, False]]]


@pytest.mark.parametrize(
    "group",
    [
        pytest.param([50, [["|S0", [2000], "C", True, b""]]], id="memory that was there before"),
        pytest.param([50, [["|S0", [1 << 40], "C", True, b""]]], id="a terabyte"),
        pytest.param([43, ["builtins", "bytearray"], None, [3 * 10**9], None], id="bytearray by size"),
        pytest.param([43, ["builtins", "list"], None, [[]], None], id="a list that can be shared"),
        pytest.param([51, [["S", 3 * 10**9]]], id="numpy bytes by size"),
        pytest.param([8, [[1, 2, 3]]], id="int of a list"),
        pytest.param([9, [["1", 2.0]]], id="complex of text"),
        pytest.param([11, [["1e30000000"]]], id="fraction of text"),
        pytest.param([11, [[1, 0]]], id="fraction by zero"),
        pytest.param([10, [["1", 2]]], id="decimal of a list"),
        pytest.param([20, [b"\x00\x00\x01\x00"]], id="date of a pickle"),
        pytest.param([19, [[b"\x07\xe0\x0c\xff\xff\xff\xff\xff\xff\xff", 0, None]]], id="datetime of a pickle"),
        pytest.param([6, [[False, 0]]], id="a buffer that is not there"),
        pytest.param([18, [["a" * 70_000, 32]]], id="a long pattern"),
        pytest.param([30, [["union", [["class", "builtins", "int"]] + [["literal", [n]] for n in range(300)]]]], id="a wide union"),
        pytest.param([64, [["timestamp", 0, "ns", "dateutil//dev/null", 0]]], id="a time zone by file"),
        pytest.param([61, [[["numpy", 5], ["range", 0, 3 * 10**9, 1, None], None, [True, {}]]]], id="a scalar repeated by an index"),
    ],
)
def test_a_row_of_another_type_than_was_written_is_refused(group: list[Any]) -> None:
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(forged(REFERENCE, group))


@pytest.mark.parametrize(("start", "end", "obj"), [(-(10**12), 1 - 10**12, b"x"), (5, 6, b"x"), (0, 1, 1.5), (0, 1, "x")])
def test_a_unicode_error_never_points_beside_its_object(start: int, end: int, obj: Any) -> None:
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(message(REFERENCE, [None, [bare_unicode_error(start, end, obj)], None], [None, [[1, [[]]]], None]))


def test_a_unicode_error_comes_back() -> None:
    before = UnicodeDecodeError("utf-8", b"abc", 1, 2, "why")
    assert str(bare().loads_typed(bare().dumps_typed(before))) == str(before)


@pytest.mark.parametrize("times", [0, 2])
def test_a_buffer_is_used_exactly_once(times: int) -> None:
    rows: list[list[Any]] = [[False, 0]] * times or [[False, b"x"]]
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(message([REFERENCE] * len(rows), [None, [[6, rows]], None], buffers=(b"x" * 100,)))


def test_more_documents_than_are_written_are_refused() -> None:
    levels = [[None, [[1, [[REFERENCE]]]], None]] * 256
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(message(REFERENCE, *levels, [None, [[1, [[]]]], None]))


def test_a_pickle_fallback_stores_no_buffer_twice() -> None:
    value = [bytearray(os.urandom(70_000)), JsonPlus]
    serde = JsonPlus(pickle_fallback=True)
    assert serde.load(*serde.dumps_typed([*value, len]), authenticated=True)[:2] == value


def test_running_out_of_memory_is_not_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any, **__: Any) -> Any:
        raise MemoryError

    tag, data = bare().dumps_typed((1, 2))
    monkeypatch.setattr("sealpoint.serde.codec.reader._objects", exhausted)
    with pytest.raises(MemoryError):
        bare().loads_typed((tag, data))


def test_names_from_a_payload_reach_errors_and_logs_as_plain_short_text(caplog: pytest.LogCaptureFixture) -> None:
    evil = "a\r\x1b[31mERROR\u202e" + "x" * 500
    with pytest.raises(SealpointError) as caught:
        JsonPlus().loads_typed(forged(REFERENCE, [40, ["m", evil], "", [{}], None, 1]))
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()
    fields = "\n".join(["node", "arg", "timeout", *(evil + str(n) for n in range(50))])
    with caplog.at_level(logging.WARNING, "sealpoint"):
        JsonPlus().loads_typed(forged(REFERENCE, [40, ["langgraph.types", "Send"], fields, None, [{"node": "a", "arg": 1}], 1]))
    assert caplog.text.count("ERROR") <= 10
    assert "\x1b" not in caplog.text


def test_sharing_at_every_level_does_not_make_a_hash_exponential() -> None:
    levels = [[None, [[1, [[REFERENCE, REFERENCE]]]], [0, 0] if level else None] for level in range(60)]
    payload = message(REFERENCE, [None, [[3, [[REFERENCE]]]], None], *levels, [None, [[1, [[]]]], [0, 0]])
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(payload)


_MODULUS = (1 << 61) - 1  # of the hash of numbers: these differ by multiples of it


@pytest.mark.parametrize("make", [set, lambda items: dict.fromkeys(items, 0)], ids=["set", "dict"])
def test_a_flood_of_equal_hashes_is_refused_unless_authenticated(make: Callable[[Any], Any]) -> None:
    few, many = (make([1 + number * _MODULUS for number in range(count)]) for count in (200, 11_000))
    assert bare().loads_typed(bare().dumps_typed(few)) == few
    tag, data = bare().dumps_typed(many)
    with pytest.raises(DecodeError, match="costs far more"):
        bare().loads_typed((tag, data))
    assert len(bare().load(tag, data, authenticated=True)) == 11_000


def test_a_flood_of_equal_hashes_is_refused_in_langgraphs_sets_too() -> None:
    items = [[1 + place + (number >> 2 * place & 3) * _MODULUS for place in range(7)] for number in range(11_000)]
    assert len(set(map(hash, map(frozenset, items)))) == 1
    flood = constructor(0, "builtins", "set", [constructor(0, "builtins", "frozenset", item) for item in items])
    with pytest.raises(DecodeError, match="costs far more"):
        JsonPlus().loads_typed(("msgpack", ormsgpack.packb(flood)))


@pytest.mark.parametrize("pattern", ["[\0-\U0010ffff]" * 500, r"[\0-\U0010ffff]" * 500, r"[a-\N{LATIN SMALL LETTER Z}]" * 500])
def test_a_pattern_that_takes_long_to_compile_is_refused_unless_authenticated(pattern: str) -> None:
    with pytest.raises(DecodeError, match="costs far more"):
        JsonPlus().loads_typed(forged(REFERENCE, [18, [[pattern, 34]]]))
    with pytest.raises(DecodeError, match="costs far more"):
        JsonPlus().loads_typed(("msgpack", ormsgpack.packb(constructor(1, "re", "compile", [pattern, 34]))))


@pytest.mark.parametrize("pattern", [r"[0-9a-f]{8}-[0-9a-f]{4}", "[à-ÿ]" * 2_000, "[!-~]-" * 5_000, r"[\x00-\x1f]" * 300, "-" * 60_000])
def test_an_ordinary_pattern_comes_back_without_authentication(pattern: str) -> None:
    value = re.compile(pattern, re.IGNORECASE)
    assert bare().loads_typed(bare().dumps_typed(value)) == value


def test_cells_of_a_frame_may_be_what_has_no_hash() -> None:
    frame_ = pd.DataFrame({"mixed": [(1, [2]), {"a": 1}, "x"], "plain": [1, 2, 3]})
    pd.testing.assert_frame_equal(bare().loads_typed(bare().dumps_typed(frame_)), frame_)


def test_names_of_fields_are_not_copied_without_end() -> None:
    head = [["langchain_core.messages.human", "HumanMessage"], "", ""]
    names = [f"{number:x}" for number in range(20_000)]
    group = [41, [head], None, [{}] * 20_000, [names], None, None, None, None]
    with pytest.raises(DecodeError):
        JsonPlus().loads_typed(forged([REFERENCE] * 20_000, group))


def test_a_set_whose_members_are_equal_is_not_read_as_a_smaller_one() -> None:
    with pytest.raises(DecodeError, match="equal"):
        JsonPlus().loads_typed(forged(REFERENCE, [3, [[1, True]]]))


# --- what used to change silently -----------------------------------------------------------------------------------


class Moment(dt.datetime):
    @property
    def year(self) -> int:
        return 1999


class Span(dt.timedelta):
    @property
    def days(self) -> int:
        return 7


class Number(complex):
    @property
    def real(self) -> float:
        return 5.0


@pytest.mark.parametrize(("base", "value"), [(dt.datetime, Moment(2020, 1, 2)), (dt.timedelta, Span(days=3)), (complex, Number(1, 2))])
def test_properties_do_not_hide_what_the_base_holds(base: Any, value: Any) -> None:
    assert base.__eq__(value, JsonPlus().load(*JsonPlus().dumps_typed(value), authenticated=True))


class LiarError(Exception):
    @property
    def __cause__(self) -> Any:  # type: ignore[override]  # the point of it
        return ValueError("invented")


def test_a_cause_is_read_from_the_exception_itself() -> None:
    assert vars(BaseException)["__cause__"].__get__(JsonPlus().load(*JsonPlus().dumps_typed(LiarError(1)), authenticated=True)) is None


class Key:
    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


class Shallow:
    """Pickled as another object, which it says is equal."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __reduce__(self) -> Any:
        return Shallow, (0,)


def collapsed(build: Callable[[Key, Key], Any]) -> Any:
    first, second = Key(1), Key(2)
    value = build(first, second)
    second.number = 1
    return value


def with_attribute(value: Any) -> Any:
    value.note = "x"
    return value


def grown_group() -> Any:
    members: list[Exception] = [ValueError(1)]
    group = ExceptionGroup("m", members)
    members.append(TypeError(2))
    return group


@pytest.mark.parametrize(
    "make",
    [
        lambda: collapsed(lambda a, b: {a, b}),
        lambda: collapsed(lambda a, b: frozenset((a, b))),
        lambda: collapsed(lambda a, b: {a: 1, b: 2}),
        lambda: collapsed(lambda a, b: collections.OrderedDict({a: 1, b: 2})),
        lambda: with_attribute(collections.OrderedDict(a=1)),
        lambda: with_attribute(collections.Counter("a")),
        lambda: with_attribute(ipaddress.ip_interface("10.0.0.1/8")),
        grown_group,
        lambda: list[collections.abc.Callable[[int], str]],
        lambda: np.zeros(1, np.dtype([("a", np.dtype("i4", metadata={"x": 1}))])),
    ],
)
def test_what_would_come_back_changed_is_refused(make: Any) -> None:
    with pytest.raises(ValueNotStorableError):
        bare().dumps_typed(make())


def test_pickle_is_not_believed_about_equality() -> None:
    with pytest.raises(ValueNotStorableError, match="pickle changes it"):
        JsonPlus(pickle_fallback=True).dumps_typed(Shallow(5))


@pytest.mark.parametrize(
    "dtype", [np.dtype("q"), np.dtype(">u8"), np.dtype("Q").newbyteorder(">"), np.dtype((np.record, [("a", "i4")]))], ids=repr
)
def test_a_dtype_keeps_its_type(dtype: Any) -> None:
    back = bare().loads_typed(bare().dumps_typed(np.zeros(2, dtype))).dtype
    assert (back, back.char, back.type, back.str) == (dtype, dtype.char, dtype.type, dtype.str)


def test_a_blocking_error_keeps_what_was_written() -> None:
    before = BlockingIOError(11, "busy", 5)
    assert bare().loads_typed(bare().dumps_typed(before)).characters_written == 5


def test_a_fraction_comes_back_in_the_terms_that_it_had() -> None:
    assert bare().loads_typed(bare().dumps_typed(fractions.Fraction(6, 4))) == fractions.Fraction(3, 2)


@pytest.mark.parametrize("moment", ["before the import", "after it, the name deleted"])
def test_a_fragment_is_refused_whenever_it_was_made(moment: str) -> None:
    make = "made = Fragment(b'\\x01')\n"
    first, second = (make, "") if moment == "before the import" else ("", make + "del Fragment\n")
    store = "try: JsonPlus().dumps_typed({'a': made})\nexcept ValueNotStorableError: print('refused')\n"
    imports = "from sealpoint.errors import ValueNotStorableError\nfrom sealpoint.serde import JsonPlus\n"
    code = f"from ormsgpack import Fragment\n{first}{imports}{second}{store}"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "refused\n"


# --- what an error shows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["AKIA1234567890", "akia_1", "Alice", "a" * 25, "é"])
def test_a_key_that_is_no_plain_word_is_not_shown(key: str) -> None:
    with pytest.raises(ValueNotStorableError, match=r"^state\[1\]\.conn\.lock \(") as caught:
        bare().dumps_typed({"x": 1, key: {"conn": {"lock": len}}})
    assert key not in str(caught.value).split(" (")[0].removeprefix("state")


class Remembering:
    """Has a slot of the name under which attrs keeps a hash, and is none of attrs' classes."""

    __slots__ = ("_attrs_cached_hash",)
    _attrs_cached_hash: int


def test_a_slot_that_is_named_as_attrs_names_its_cache_keeps_its_value() -> None:
    value = Remembering()
    value._attrs_cached_hash = 7
    serde = JsonPlus()
    assert serde.load(*serde.dumps_typed(value), authenticated=True)._attrs_cached_hash == 7
