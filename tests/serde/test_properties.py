"""Nested structures of every supported type come back equal, whatever they are made of."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from langchain_core.messages import AIMessage, HumanMessage

from sealpoint import Keyring, sealed_serializer
from sealpoint.errors import ValueNotStorableError
from tests.corpus.values import XY, Cents, Colour, Frozen, Ident, Kind, Level, Pair, Perm, Plain, PlainObject, Simple, SlotObject
from tests.serde.compare import bare

# Hypothesis describes its own nested strategies when it draws from them.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning")

ZONES = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(minutes=-90)), ZoneInfo("Europe/Lisbon"), ZoneInfo("America/New_York")])
TEXT = st.text(st.characters(), max_size=12)
HASHABLE_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**200), max_value=2**200),
    st.floats(allow_nan=False),
    TEXT,
    st.binary(max_size=12),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False).map(lambda d: d if d.as_tuple().exponent != "n" else Decimal(0)),
    st.fractions(),
    st.uuids(),
    st.dates(),
    st.datetimes(timezones=ZONES),
    st.times(),
    st.timedeltas(),
    st.ip_addresses(),
    st.sampled_from([*Colour, *Kind, *Level, Perm.R | Perm.W]),
    st.integers().map(Cents),
)
HASHABLE = st.recursive(
    HASHABLE_LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(inner, max_size=4),
        st.lists(inner, max_size=3).map(Pair),
        st.builds(Frozen, inner, inner),
        st.builds(XY, st.integers(), inner),
    ),
    max_leaves=8,
)
LEAVES = st.one_of(
    HASHABLE,
    TEXT.map(lambda text: [Ident(text)]),
    st.just(math.nan),
    st.binary(max_size=8).map(bytearray),
    npst.arrays(npst.scalar_dtypes(), npst.array_shapes(max_dims=3, max_side=4)),
    npst.from_dtype(np.dtype("f4")),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
)


def _attributes(state: dict[str, Any]) -> PlainObject:
    made = PlainObject(0)
    vars(made).update(state)
    return made


def _slots(value: Any) -> SlotObject:
    return SlotObject(value)


def _message(content: str, extra: Any) -> Any:
    return AIMessage(content, additional_kwargs={"x": extra}, id="1")


VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(TEXT, inner, max_size=4),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.dictionaries(TEXT, inner, max_size=3).map(OrderedDict),
        st.dictionaries(HASHABLE, inner, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(deque, st.lists(inner, max_size=4), st.one_of(st.none(), st.integers(0, 5))),
        st.sets(HASHABLE, max_size=4),
        st.dictionaries(HASHABLE, st.integers(), max_size=3).map(Counter),
        st.builds(Plain, inner, inner),
        st.builds(XY, st.integers(), inner),
        st.dictionaries(TEXT, inner, max_size=3).map(_attributes),
        inner.map(_slots),
        inner.map(lambda value: Simple.model_construct(a=1, b=value)),
        st.builds(_message, TEXT.filter(lambda text: text.isprintable()), inner),
        TEXT.filter(lambda text: text.isprintable()).map(HumanMessage),
    ),
    max_leaves=25,
)


def alike(before: Any, after: Any) -> bool:
    """Equal in type and value, all the way down; the corpus' comparison orders sets by their text, which this does not."""
    if type(before) is not type(after):
        return False
    if isinstance(before, np.ndarray):
        return bool(before.dtype == after.dtype and before.shape == after.shape and before.tobytes() == after.tobytes())
    if isinstance(before, np.generic):
        return bool(before.tobytes() == after.tobytes())
    if isinstance(before, (float, complex)):
        return repr(before) == repr(after)
    if isinstance(before, dict):
        return (
            [*map(type, before)] == [*map(type, after)] and alike([*before.items()], [*after.items()]) and vars_of(before) == vars_of(after)
        )
    if isinstance(before, (list, tuple, deque)):
        return (
            len(before) == len(after)
            and all(map(alike, before, after))
            and getattr(before, "maxlen", None) == getattr(after, "maxlen", None)
        )
    if isinstance(before, (set, frozenset)):
        partners = {part: part for part in after}
        return len(before) == len(after) and all(part in partners and alike(part, partners[part]) for part in before)
    if isinstance(before, (Plain, Frozen, PlainObject, SlotObject, Simple, AIMessage, HumanMessage)):
        return alike(vars_of(before), vars_of(after))
    if isinstance(before, Decimal):
        return bool(before.as_tuple() == after.as_tuple())
    if isinstance(before, (dt.datetime, dt.time)):
        return (before.replace(tzinfo=None), before.fold, repr(before.tzinfo)) == (
            after.replace(tzinfo=None),
            after.fold,
            repr(after.tzinfo),
        )
    return bool(before == after)


def vars_of(value: Any) -> Any:
    """The state of an instance, and a defaultdict's factory."""
    if isinstance(value, dict):
        return getattr(value, "default_factory", None)
    return {"a": value.a} if isinstance(value, SlotObject) else dict(vars(value))


EXAMPLES = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SEALED = sealed_serializer(Keyring.generate())


@EXAMPLES
@given(VALUES)
def test_nested_values_come_back_equal(value: Any) -> None:
    serde = bare()
    tag, data = serde.dumps_typed(value)
    assert alike(value, serde.loads_typed((tag, data)))


@settings(EXAMPLES, max_examples=40)
@given(VALUES)
def test_nested_values_come_back_equal_through_the_chain(value: Any) -> None:
    assert alike(value, SEALED.loads_typed(SEALED.dumps_typed(value)))


@settings(EXAMPLES, max_examples=80)
@given(
    st.recursive(
        st.one_of(HASHABLE_LEAVES, st.builds(object), st.just(memoryview(b"x"))),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HASHABLE, inner, max_size=3),
    )
)
def test_whatever_is_stored_is_read(value: Any) -> None:
    try:
        tag, data = bare().dumps_typed(value)
    except ValueNotStorableError:
        return
    assert type(bare().loads_typed((tag, data))) is type(value)


@pytest.mark.parametrize("fraction", [Fraction(1, 3), Decimal("1E-20")])
def test_numbers_keep_their_type_beside_equal_ones(fraction: Any) -> None:
    value = [1, True, 1.0, Decimal(1), Fraction(1), complex(1), Cents(1), Level.LOW, np.int64(1), fraction]
    assert [type(part) for part in bare().loads_typed(bare().dumps_typed(value))] == [type(part) for part in value]
