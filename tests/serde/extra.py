"""More values that break serializers, and classes of theirs: kinds that the corpus only samples; it tests nothing itself."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import attrs
import numpy as np
import pandas as pd
import pydantic
from langchain_core import documents, messages
from langgraph import types as graph
from langgraph.store.base import Item
from pydantic import BaseModel, PrivateAttr

from tests.corpus import values as corpus

T = TypeVar("T")


@attrs.define
class AttrsSlots:
    a: int
    b: Any = None


@attrs.define(frozen=True)
class AttrsFrozen:
    a: int


@attrs.define(slots=False)
class AttrsDict:
    a: int
    b: list[Any] = attrs.field(factory=list)


@attrs.define(unsafe_hash=True, cache_hash=True, frozen=True)
class AttrsCachedHash:
    a: str


@dataclasses.dataclass(slots=True, frozen=True)
class FrozenSlots:
    a: int
    b: Any = None


@dataclasses.dataclass
class WithProperty:
    _level: int = 0

    @property
    def level(self) -> int:
        return self._level

    @level.setter
    def level(self, value: int) -> None:
        raise AssertionError("a setter ran")


class Base:
    __slots__ = ("__hidden", "x")

    def __init__(self, x: Any, hidden: Any) -> None:
        self.x = x
        self.__hidden = hidden

    def hidden(self) -> Any:
        return self.__hidden


class Derived(Base):
    __slots__ = ("y",)

    def __init__(self) -> None:
        super().__init__(1, (2,))
        self.y = {3}


class SlotsAndDict(Base):
    def __init__(self) -> None:
        super().__init__((1,), None)
        self.free = [b"x"]


class Temperature(float):
    def __new__(cls, value: float, unit: str = "C") -> Self:
        made = super().__new__(cls, value)
        made.unit = unit
        return made

    unit: str


class Loud(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        raise AssertionError("an overridden method ran")

    def update(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("an overridden method ran")


class Window(collections.deque[int]):
    pass


class Lookup(collections.defaultdict[str, list[int]]):
    pass


class Tally(collections.Counter[str]):
    pass


class Ordered(collections.OrderedDict[str, int]):
    pass


class Money(decimal.Decimal):
    pass


class Third(fractions.Fraction):
    pass


class RetryError(Exception):
    def __init__(self, attempt: int, *, wait: float) -> None:
        super().__init__(f"attempt {attempt}")
        self.wait = wait


class PrivateModel(BaseModel):
    a: int = 1
    _token: str = PrivateAttr()
    _seen: set[str] = PrivateAttr(default_factory=set)


class SlotModel(BaseModel):
    __slots__ = ("handle",)
    a: int = 1


class CachedModel(BaseModel):
    a: int = 2

    @pydantic.computed_field  # type: ignore[prop-decorator]  # mypy does not know this pair of decorators
    @property
    def double(self) -> int:
        return self.a * 2


class Pair(BaseModel, Generic[T]):
    left: T
    right: T


class Weird(enum.Enum):
    A = 1
    B = 1.5
    C = A


class Coded(int, enum.Enum):
    X = 10


class BoundFlag(enum.IntFlag, boundary=enum.KEEP):
    R = 1


class PandasIsh(np.ndarray):
    pass


@dataclasses.dataclass(order=True)
class Node:
    name: str
    next: Any = None


def _noted() -> Exception:
    error = ValueError("bad", 3)
    error.add_note("seen at step 4")
    error.__cause__ = KeyError("k")
    return error


def _caught() -> Exception:
    try:
        try:
            raise KeyError("inner")
        except KeyError:
            raise corpus.DomainError(3, hint=(1, 2)) from None
    except corpus.DomainError as exc:
        return exc


def _model_with_private() -> PrivateModel:
    model = PrivateModel()
    model._token = "t"
    model._seen.add("x")
    return model


def _slot_model() -> SlotModel:
    model = SlotModel()
    object.__setattr__(model, "handle", (1,))
    return model


def _invalid() -> Any:
    strict = corpus.StrictInit(1)
    strict.a = -5
    return strict


def _temperature() -> Temperature:
    value = Temperature(21.5, "F")
    value.history = [1, (2,)]  # type: ignore[attr-defined]  # an attribute of this instance only
    return value


def _loud() -> Loud:
    made = Loud()
    dict.update(made, a=1, b=(2,))
    return made


def _deleted() -> Any:
    plain = corpus.Plain(1, 2)
    del plain.b
    return plain


def _weird_key_state() -> Any:
    plain = corpus.PlainObject(1)
    vars(plain)["__class__"] = "not a class"
    vars(plain)["odd key\ud800"] = 2
    return plain


def _masked() -> Any:
    masked = np.ma.array([[1.5, 2.5], [3.5, 4.5]], mask=[[False, True], [False, False]], fill_value=-1.0)
    masked.harden_mask()
    return masked


def _readonly() -> Any:
    made = np.arange(5)
    made.flags.writeable = False
    return made


def _fortran() -> Any:
    return np.asfortranarray(np.arange(12.0).reshape(3, 4))


def _frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024-03-30", periods=3, tz="Europe/Berlin"),
            "kind": pd.Categorical(["a", None, "b"], categories=["b", "a"], ordered=True),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "text": pd.array(["x", None, "z"], dtype="string"),
            "mixed": [1, "1", (1,)],
        },
        index=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["letter", "number"]),
    )
    frame.attrs["source"] = ("api", 3)
    return frame


VALUES: dict[str, Callable[[], Any]] = {
    # subclasses of builtins
    "int_subclass": lambda: corpus.Cents(5),
    "int_subclass_huge": lambda: corpus.Cents(2**80),
    "str_subclass": lambda: corpus.Ident("é"),
    "float_subclass": lambda: corpus.Ratio(-0.0),
    "float_subclass_state": _temperature,
    "bytes_subclass": lambda: corpus.Blob(b"\xff"),
    "list_subclass_state": lambda: corpus.Row([1, (2,)], label="x"),
    "dict_subclass_state": lambda: corpus.Bag({1: "a"}, owner="me"),
    "dict_subclass_overrides": _loud,
    "set_subclass": lambda: corpus.Labels({1, 2}),
    "deque_subclass": lambda: Window([1, 2], maxlen=5),
    "defaultdict_subclass": lambda: Lookup(list, {"a": [1]}),
    "counter_subclass": lambda: Tally("banana"),
    "ordered_subclass": lambda: Ordered(b=1, a=2),
    "decimal_subclass": lambda: Money("1.10"),
    "fraction_subclass": lambda: Third(1, 3),
    "uuid_subclass": lambda: corpus.MyUUID(int=5),
    "datetime_subclass": lambda: corpus.MyDateTime(2024, 1, 1, fold=1),
    "in_a_set": lambda: {corpus.Cents(1), corpus.Ident("a"), corpus.Pair((1,))},
    "as_keys": lambda: {
        corpus.Cents(1): 1,
        corpus.Ident("a"): 2,
        corpus.Level.LOW: 3,
        (1, (2,)): 4,
        frozenset({1}): 5,
        None: 6,
        1.5: 7,
        b"": 8,
    },
    "renamed_namedtuple": lambda: corpus.RenamedXY(1, [2]),
    # enums
    "int_enum": lambda: corpus.Level.HIGH,
    "str_enum": lambda: corpus.Kind.B,
    "enum_tuple_value": lambda: corpus.Point3.UNIT,
    "enum_alias": lambda: Weird.C,
    "enum_int_mixin": lambda: Coded.X,
    "flag_zero": lambda: corpus.Perm(0),
    "flag_unknown_bits": lambda: BoundFlag(9),
    "same_enum_often": lambda: [corpus.Kind.A] * 50 + [corpus.Colour.RED],
    # dataclasses, attrs, plain classes
    "dc_kw_only": lambda: corpus.KwOnly(a=1),
    "dc_slots": lambda: corpus.Slotted(1, (2,)),
    "dc_frozen_slots": lambda: FrozenSlots(1, {2}),
    "dc_init_var": lambda: corpus.WithInitVar(1),
    "dc_like_pydantic_1": lambda: corpus.LooksLikePydanticV1(1),
    "dc_like_pydantic_2": lambda: corpus.LooksLikePydanticV2(1),
    "dc_like_secret": lambda: corpus.LooksLikeSecret(1),
    "dc_invalid_by_now": _invalid,
    "dc_generic": lambda: corpus.GenericDc[int](item=1),
    "dc_deleted_field": _deleted,
    "dc_property": lambda: WithProperty(3),
    "attrs_slots": lambda: AttrsSlots(1, (2,)),
    "attrs_frozen": lambda: AttrsFrozen(1),
    "attrs_dict": lambda: AttrsDict(1, [2]),
    "slots_inherited": Derived,
    "slots_and_dict": SlotsAndDict,
    "state_like_markers": _weird_key_state,
    "linked_list": lambda: _chain(60),
    # pydantic
    "pyd_inner_class": lambda: corpus.Holder.Model(x=5),
    "pyd_aliased": lambda: corpus.Aliased(userName="n", inner=corpus.Simple(a=1)),
    "pyd_excluded_required": lambda: corpus.ExcludedRequired(a=1, token="t"),
    "pyd_serialised": lambda: corpus.Serialised(when=dt.datetime(2024, 5, 6, 7, 8, tzinfo=dt.UTC)),
    "pyd_masked_on_dump": lambda: corpus.MaskedOnDump(card="4111111111111111"),
    "pyd_int_keys": lambda: corpus.IntKeyed(by_id={1: 2}),
    "pyd_discriminated": lambda: corpus.Pet(pet=corpus.Fish(water="sweet")),
    "pyd_lax_union": lambda: corpus.LaxUnion(v=corpus.Dog(name="x")),
    "pyd_recursive": lambda: corpus.Recursive(name="a", kids=[corpus.Recursive(name="b")]),
    "pyd_private": _model_with_private,
    "pyd_private_unset": PrivateModel,
    "pyd_slots": _slot_model,
    "pyd_computed": lambda: CachedModel(a=4),
    "pyd_constructed": lambda: corpus.Simple.model_construct(a="not an int", extra=1),
    "pyd_generic_many": lambda: [
        Pair[int](left=1, right=2),
        Pair[str](left="a", right="b"),
        Pair[Pair[int]](left=Pair[int](left=1, right=2), right=Pair[int](left=3, right=4)),
    ],
    "pyd_generic_union": lambda: Pair[int | None](left=None, right=1),
    "pyd_generic_optional": lambda: Pair[typing.Optional[dict[str, list[int]]]](left=None, right={"a": [1]}),  # noqa: UP045 - typing's form is meant
    "pyd_secret_bytes": lambda: pydantic.SecretBytes(b"s"),
    "pydv1_nested": lambda: corpus.V1Holder(child=corpus.V1Simple(a=1, b=(2,))),
    # standard library
    "complex_signed_zero": lambda: complex(-0.0, 0.0),
    "range": lambda: range(1, 2**70, 3),
    "slice": lambda: slice(1, None, 2),
    "not_implemented": lambda: NotImplemented,
    "time_of_day": lambda: dt.time(1, 2, 3, 4),
    "timezone_named": lambda: dt.timezone(dt.timedelta(hours=1), "X"),
    "timezone_utc": lambda: dt.UTC,
    "networks": lambda: [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_interface("fe80::1/64")],
    "uuid_safety": lambda: uuid.uuid1(),
    "paths": lambda: [pathlib.PurePosixPath("a"), pathlib.PurePath("/x"), pathlib.Path("caf\udce9")],
    "surrogates": lambda: ["\ud800", {"\udfff": "a\ud800b"}],
    "array_module": lambda: array.array("d", [1.5, -0.0]),
    "user_list": lambda: collections.UserList([1, (2,)]),
    "user_string": lambda: collections.UserString("x"),
    "namespace_nested": lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=(1,))),
    "generic_alias": lambda: list[int],
    "typing_alias": lambda: typing.Dict[str, typing.List[int]],  # noqa: UP006 - typing's forms are meant
    "literal": lambda: typing.Literal["a", 1],
    "defaultdict_of_class": lambda: collections.defaultdict(typing.cast("Any", corpus.PlainObject), {"a": corpus.PlainObject(1)}),
    "ordered_with_int_keys": lambda: collections.OrderedDict([(2, "b"), (1, "a")]),
    "chain_of_maps": lambda: collections.ChainMap({1: (1,)}, {}),
    "bytearray": lambda: [bytearray(b"abc"), {"k": bytearray()}],
    "pattern_verbose": lambda: re.compile(r"a # b", re.VERBOSE),
    "large_bytes": lambda: {"a": [bytes(70_000)], "b": bytes(65_536), "c": bytearray(80_000)},
    "large_text": lambda: {"a": "é" * 100_000, "b": "\ud800" * 70_000},
    "huge_int_bytes": lambda: 1 << 600_000,
    "true_is_not_one": lambda: [True, 1, 1.0, {"k": False}, {"k": 0}, (True,), (1,)],
    "nan_keys": lambda: {"a": {float("inf"): 1}},
    "surrogate_of_formats": lambda: {
        "lc": 2,
        "type": "constructor",
        "id": ["os", "system"],
        "kwargs": {},
        "__type__": 1,
        "__pydantic_extra__": {},
    },
    # exceptions
    "exception_noted": _noted,
    "exception_state": lambda: RetryError(3, wait=1.5),
    "exception_caught": _caught,
    "exception_os": lambda: FileNotFoundError(2, "gone", "a", None, "b"),
    "exception_group": lambda: ExceptionGroup("several", [ValueError(1), corpus.DomainError(2)]),
    "exception_unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    "exception_stop": lambda: StopIteration((1, 2)),
    "exception_exit": lambda: SystemExit(3),
    "exception_import": lambda: ImportError("m", name="n", path="p"),
    # LangChain and LangGraph
    "lc_subclass": lambda: corpus.TaggedMessage(content="x", tag="y"),
    "lc_chunk": lambda: messages.AIMessageChunk(content="a", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}]),
    "lc_remove": lambda: messages.RemoveMessage(id="1"),
    "lc_extra": lambda: messages.HumanMessage("x", custom=(1, 2)),
    "lc_document": lambda: documents.Document("t", id="7", metadata={"a": {1}}),
    "lg_send_nested": lambda: graph.Send("n", corpus.Plain(1, (2,))),
    "lg_command_all": lambda: graph.Command(graph="p", update=[("a", (1,))], resume={"i": 1}, goto=("x", graph.Send("y", {}))),
    "lg_item": lambda: Item(
        value={"a": (1,)},
        key="k",
        namespace=("n", "m"),
        created_at=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        updated_at=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    ),
    "lg_snapshot": lambda: graph.StateSnapshot({"a": (1,)}, ("n",), {"configurable": {}}, None, None, None, (), ()),
    # numpy and pandas
    "np_zero_d": lambda: np.array(3.5),
    "np_empty_shape": lambda: np.empty((0, 3), "i2"),
    "np_fortran": _fortran,
    "np_readonly": _readonly,
    "np_big_endian": lambda: np.arange(3, dtype=">i4"),
    "np_negative_strides": lambda: np.arange(10)[::-2],
    "np_large_strided": lambda: np.arange(60_000.0).reshape(200, 300)[::2, ::-1],
    "np_large_transposed": lambda: np.arange(60_000.0).reshape(20, 30, 100).transpose(2, 0, 1),
    "np_large_fortran": lambda: np.asfortranarray(np.arange(60_000.0).reshape(200, 300)),
    "np_aligned_struct": lambda: np.zeros(3, np.dtype([("a", "i1"), ("b", "f8"), ("c", "i4", (2, 2))], align=True)),
    "np_object_nested": lambda: np.array([[(1,), {2}], [corpus.Plain(1), None]], dtype=object),
    "np_masked_hard": _masked,
    "np_matrix": lambda: np.arange(4).reshape(2, 2).view(np.matrix),
    "np_recarray": lambda: np.rec.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "np_subclass": lambda: np.arange(4).view(PandasIsh),
    "np_dtype": lambda: [np.dtype("f4"), np.dtype([("a", "i4")])],
    "np_scalars": lambda: [
        np.complex64(1j),
        np.timedelta64(5, "ns"),
        np.str_("a\x00"),
        np.bytes_(b"a\x00"),
        np.uint64(2**64 - 1),
        np.float16(0.1),
        np.longdouble("0.1"),
    ],
    "np_void": lambda: np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])[0],
    "np_scalar_keys": lambda: {np.int64(1): "a", np.str_("k"): "b", np.float64(0.5): 1},
    "pd_frame_rich": _frame,
    "pd_frame_empty": lambda: pd.DataFrame(index=pd.Index([1, 2], name="i")),
    "pd_frame_int_columns": lambda: pd.DataFrame({0: [1.5], 1: [2]}),
    "pd_frame_same_names": lambda: pd.DataFrame([[1, "a"]], columns=["x", "x"]),
    "pd_series_categorical": lambda: pd.Series(["a", "b"], dtype="category"),
    "pd_period_index": lambda: pd.period_range("2024-01", periods=2, freq="M"),
    "pd_date_index": lambda: pd.date_range("2024-01-01", periods=3, freq="D"),
    "pd_interval_index": lambda: pd.interval_range(0, 3),
    "pd_index": lambda: pd.Index(["a", 1, None], dtype=object),
    "pd_timestamp_zoned": lambda: pd.Timestamp("2024-10-27 00:30", tz="UTC").tz_convert("Europe/Berlin"),
    "pd_timestamp_seconds": lambda: pd.Timestamp(1_700_000_000, unit="s").as_unit("s"),
    "pd_period": lambda: pd.Period("2024-01", "M"),
    "pd_categorical": lambda: pd.Categorical(["a", None]),
    "pd_masked_array": lambda: pd.array([1.5, None], dtype="Float32"),
}


def _chain(length: int) -> Node:
    node = Node("end")
    for number in range(length):
        node = Node(str(number), node)
    return node


REFUSED: dict[str, Callable[[], Any]] = {
    "function": lambda: corpus.module_function,
    "lambda_factory": lambda: collections.defaultdict(lambda: 1),
    "memoryview": lambda: {"a": [memoryview(b"x")]},
    "cycle_object": corpus._cyclic_tree,
    "cycle_model": corpus._cyclic_pydantic,
    "cycle_list": corpus._cyclic_list,
    "cycle_dict": corpus._cyclic_dict,
    "local_model": corpus._local_model,
    "local_enum": corpus._local_enum,
    "dtype_object_struct": lambda: np.zeros(1, np.dtype([("a", object)])),
    "np_string_dtype": lambda: np.array(["a"], dtype=np.dtypes.StringDType()),
    "np_random": lambda: np.random.default_rng(3),
    "pd_sparse": lambda: pd.arrays.SparseArray([0, 0, 1]),
    "typevar": lambda: T,
    "coroutine_function": lambda: asyncio_sleep,
}


async def asyncio_sleep() -> None:
    """Nothing."""
