"""Attacks from inside (values that a user of the application controls) and from outside (payloads that nothing vouches for)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from sealpoint.errors import (
    ConfigurationError,
    DecodeError,
    MissingTypeError,
    SchemaDriftError,
    SealpointError,
    TypeRefusedError,
    ValueNotStorableError,
)
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec import frame
from tests.corpus.values import AnyAttribute, BoobyTrap, Holder, Plain, PlainObject, Simple
from tests.serde.compare import bare
from tests.serde.extra import WithProperty

MARKER = b"\x01\x02\x03\x04\x05\x06\x07\x08"
REFERENCE = ormsgpack.Ext(1, MARKER)


def forged(root: Any, *groups: Any, order: Any = None, references: Any = None) -> tuple[str, bytes]:
    """A payload with one further document of these groups."""
    documents = [ormsgpack.packb(root)]
    if groups:
        documents.append(ormsgpack.packb([order, list(groups), references]))
    return "msgpack1", frame.marshal(MARKER, documents, [])


def instance(module: str, qualname: str, state: dict[str, Any] | None = None, fields: str = "") -> list[Any]:
    """The group of one plain object."""
    return [40, [module, qualname], fields, [state or {}], None, 1]


class Mortal:
    """Acts when it dies."""

    deaths = 0

    def __del__(self) -> None:
        Mortal.deaths += 1


class Reduced:
    def __reduce__(self) -> Any:
        return (print, ("ran",))


class Restored:
    def __setstate__(self, state: Any) -> None:
        raise AssertionError("it ran")


# --- from inside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [lambda: ormsgpack.Ext(1, MARKER), lambda: ormsgpack.Ext(5, b"x"), lambda: ormsgpack.Fragment(b"\xa1a"), lambda: memoryview(b"x")],
)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda v: v,
        lambda v: {"a": [v]},
        lambda v: (v,),
        lambda v: Plain(1, [v]),
        lambda v: Simple.model_construct(a={"k": v}),
        lambda v: {1: v},
    ],
)
def test_what_ormsgpack_would_write_raw_is_refused(make: Any, wrap: Any) -> None:
    with pytest.raises(ValueNotStorableError):
        bare().dumps_typed(wrap(make()))


def test_a_fragment_is_refused_in_a_value_that_is_otherwise_plain_text() -> None:
    fragments = [ormsgpack.Fragment(b"\xa1a")]
    with pytest.raises(ValueNotStorableError, match=r"state\.a\[0\]"):
        bare().dumps_typed({"a": fragments})


def test_the_state_of_an_instance_held_as_a_dict_is_looked_into() -> None:
    # On Python 3.13 such a dict does not show the garbage collector what it holds.
    holder = PlainObject([1])
    holder.buffer = bytearray(b"x")  # type: ignore[attr-defined]  # an attribute of this instance only
    back = bare().loads_typed(bare().dumps_typed({"state": vars(holder)}))
    assert type(back["state"]["buffer"]) is bytearray


@pytest.mark.parametrize(
    "value",
    [
        {"lc": 2, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
        [None, [[40, ["os", "_wrap_close"], "", [{}], None, 1]], None],
        [1, ["uuid", "UUID"], {"hex": "0"}],
        {"__class__": "x", "__dict__": {}, "__reduce__": "y", "__pydantic_private__": {"a": 1}},
        {"\ud800": 1, "msgpack1": b"\xd7\x01" + MARKER},
    ],
)
def test_data_that_looks_like_a_format_stays_data(value: Any) -> None:
    assert bare().loads_typed(bare().dumps_typed(value)) == value


def test_state_under_the_names_of_properties_and_classes_runs_nothing() -> None:
    given = WithProperty(1)
    vars(given).update({"level": 7, "__class__": "int", "__init__": None})
    back = bare().loads_typed(bare().dumps_typed(given))
    assert type(back) is WithProperty
    assert vars(back) == {"_level": 1, "level": 7, "__class__": "int", "__init__": None}


def test_looking_at_a_value_runs_none_of_its_code() -> None:
    BoobyTrap.touched.clear()
    bare().dumps_typed([BoobyTrap(), AnyAttribute()])
    assert BoobyTrap.touched == []


@pytest.mark.parametrize(("make", "said"), [(Mortal, "__del__"), (Reduced, "__reduce__"), (Restored, "__setstate__")])
def test_a_class_with_a_say_of_its_own_is_refused_with_advice(make: Any, said: str) -> None:
    with pytest.raises(ValueNotStorableError, match=f"{said}.*register a codec"):
        bare().dumps_typed({"x": make()})


# --- from outside ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["xml.dom.pulldom", "antigravity", "this"])
@pytest.mark.parametrize("code", [40, 41, 43, 44, 45, 54])
def test_a_name_that_is_not_allowed_is_never_imported(module: str, code: int) -> None:
    sys.modules.pop(module, None)
    group = [code, *instance(module, "C")[1:]] if code == 40 else [code, [module, "C"], *[[]] * {41: 7, 43: 3, 44: 1, 45: 1, 54: 1}[code]]
    if code == 41:
        group = [41, [[[module, "C"], "", ""]], None, [{}], [[]], None, None, None, None]
    with pytest.raises(TypeRefusedError, match="not allowed"):
        JsonPlus().loads_typed(forged(REFERENCE, group))
    assert module not in sys.modules


@pytest.mark.parametrize(
    ("module", "qualname"), [("os", "system"), ("builtins", "eval"), ("os", "path"), ("operator", "attrgetter.__call__")]
)
def test_an_authenticated_name_must_be_a_class(module: str, qualname: str) -> None:
    with pytest.raises((TypeRefusedError, MissingTypeError)):
        JsonPlus().load(*forged(REFERENCE, instance(module, qualname)), authenticated=True)


def test_a_class_that_acts_when_it_dies_is_not_built_even_if_named() -> None:
    Mortal.deaths = 0
    with pytest.raises(SchemaDriftError, match="__del__"):
        JsonPlus().load(*forged(REFERENCE, instance(__name__, "Mortal")), authenticated=True)
    assert Mortal.deaths == 0


@pytest.mark.parametrize(
    ("module", "qualname"),
    [("builtins", "int"), ("uuid", "UUID"), ("decimal", "Decimal"), (Simple.__module__, "Simple"), (Simple.__module__, "Colour")],
)
def test_an_object_of_another_kind_than_its_class_is_refused(module: str, qualname: str) -> None:
    with pytest.raises(SchemaDriftError, match="another kind"):
        JsonPlus().load(*forged(REFERENCE, instance(module, qualname, {"a": 1})), authenticated=True)


@pytest.mark.parametrize(
    "payload",
    [
        forged(ormsgpack.Ext(1, b"another!")),
        forged(ormsgpack.Ext(2, MARKER), [1, [[]]]),
        forged(REFERENCE),
        forged(1, [1, [[]]]),
        forged([REFERENCE, REFERENCE], [1, [[]]]),
        forged(REFERENCE, [1, [[], []]]),
        forged(REFERENCE, [1, [[]]], order=[1]),
        forged(REFERENCE, [1, [[]]], references=[5]),
        forged(REFERENCE, [6, [[False, 3]]]),
        forged(REFERENCE, [99, []]),
        forged(REFERENCE, [3, [[[]]]]),
        forged(REFERENCE, [18, [["a", 128]]]),
        forged(REFERENCE, [18, [["(", 0]]]),
        forged(REFERENCE, [24, ["../../etc/passwd"]]),
        forged(REFERENCE, [50, [["|O", [1], "C", True, b"\x00" * 8]]]),
        forged(REFERENCE, [50, [["<f4", [1 << 40], "C", True, b""]]]),
        forged(REFERENCE, [50, [["<f4", [-1], "C", True, b""]]]),
        ("msgpack1", b""),
        ("msgpack1", b"\x02" + bytes(30)),
        ("msgpack1", b"\x01" + MARKER + b"\xff\xff\xff\xff\xff\xff"),
        ("msgpack1", frame.marshal(MARKER, [b"\xdd\xff\xff\xff\xff"], [])),
        ("msgpack1", frame.marshal(MARKER, [b"\xc0"], [])[:-1]),
        ("msgpack1", frame.marshal(MARKER, [b"\xc0"], []) + b"x"),
    ],
    ids=lambda payload: payload[1].hex()[30:70],
)
@pytest.mark.parametrize("authenticated", [False, True])
def test_a_payload_that_we_did_not_write_is_refused(payload: tuple[str, bytes], authenticated: bool) -> None:
    with pytest.raises(DecodeError):
        JsonPlus().load(*payload, authenticated=authenticated)


def test_a_pickled_part_is_refused_unauthenticated_and_without_the_switch(tmp_path: Path) -> None:
    group = [71, [b"cos\nmkdir\n(V" + str(tmp_path / "made").encode() + b"\ntR."]]
    for serde, authenticated in ((JsonPlus(), True), (JsonPlus(pickle_fallback=True), False), (JsonPlus(), False)):
        with pytest.raises(TypeRefusedError, match="run code"):
            serde.load(*forged(REFERENCE, group), authenticated=authenticated)
    assert not (tmp_path / "made").exists()


def test_errors_on_reading_do_not_quote_the_payload() -> None:
    payload = forged(REFERENCE, [10, ["s3cret is no number"]])
    with pytest.raises(SealpointError) as caught:
        JsonPlus().loads_typed(payload)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# --- who may name what ----------------------------------------------------------------------------------------------


def test_trust_follows_authentication() -> None:
    tag, data = JsonPlus().dumps_typed(Plain(1))
    assert JsonPlus().load(tag, data, authenticated=True) == Plain(1)
    with pytest.raises(TypeRefusedError, match=r"allowed_types=\[\('tests.corpus.values', 'Plain'\)\]"):
        JsonPlus().load(tag, data, authenticated=False)
    assert JsonPlus(allowed_types=[Plain]).load(tag, data, authenticated=False) == Plain(1)


def test_a_list_narrows_authenticated_payloads_too() -> None:
    tag, data = JsonPlus().dumps_typed(PlainObject(1))
    with pytest.raises(TypeRefusedError):
        JsonPlus(allowed_types=[Plain]).load(tag, data, authenticated=True)
    with pytest.raises(TypeRefusedError):
        JsonPlus(allowed_types=[]).load(tag, data, authenticated=True)


@pytest.mark.parametrize("entry", [Holder.Inner, (Holder.__module__, "Holder.Inner"), (Holder.__module__, "Inner")])
def test_a_class_and_both_of_its_names_match(entry: Any) -> None:
    cell = JsonPlus().dumps_typed(Holder.Inner(3))
    assert JsonPlus(allowed_types=[entry]).loads_typed(cell) == Holder.Inner(3)


def test_strict_mode_allows_the_safe_types_and_what_langgraph_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    strict = JsonPlus()
    cell = strict.dumps_typed(Plain(1))
    with pytest.raises(TypeRefusedError):
        strict.load(*cell, authenticated=True)
    wider = strict.with_msgpack_allowlist([(Plain.__module__, "Plain")])
    assert wider.load(*cell, authenticated=True) == wider.load(*cell, authenticated=False) == Plain(1)
    with pytest.raises(TypeRefusedError):
        strict.load(*cell, authenticated=True)


def test_a_wider_list_does_not_narrow_what_was_unrestricted() -> None:
    cell = JsonPlus().dumps_typed(Plain(1))
    assert JsonPlus().with_msgpack_allowlist([PlainObject]).load(*cell, authenticated=True) == Plain(1)


@pytest.mark.parametrize("entry", ["a.b", ("a",), ("a", 1), 3])
def test_a_list_of_nonsense_is_refused(entry: Any) -> None:
    with pytest.raises(ConfigurationError):
        JsonPlus(allowed_types=[entry])


def test_a_json_cell_is_not_trusted_with_names_because_it_was_authenticated() -> None:
    posted = {"lc": 2, "type": "constructor", "id": [Plain.__module__, "Plain"], "kwargs": {"a": 1}}
    assert JsonPlus().load("json", json.dumps(posted).encode(), authenticated=True) == posted
