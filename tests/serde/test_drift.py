"""A class may change after its objects were stored: added fields get defaults, removed ones are dropped and reported, the rest raises."""

from __future__ import annotations

import logging
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sealpoint.errors import ConfigurationError, MissingTypeError, SchemaDriftError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec import drift

MODULE = "shop_models_under_change"
HEADER = (
    "import attrs, dataclasses, enum\nfrom typing import Any, NamedTuple\nfrom pydantic import BaseModel, PrivateAttr\nimport pydantic.v1\n"
)

KINDS = {
    "dataclass": "@dataclasses.dataclass\nclass Item:\n",
    "slotted dataclass": "@dataclasses.dataclass(slots=True)\nclass Item:\n",
    "attrs": "@attrs.define\nclass Item:\n",
    "pydantic": "class Item(BaseModel):\n",
    "pydantic v1": "class Item(pydantic.v1.BaseModel):\n",
    "named tuple": "class Item(NamedTuple):\n",
}

Define = Callable[[str], Any]


@pytest.fixture
def define(monkeypatch: pytest.MonkeyPatch) -> Iterator[Define]:
    """Defines the module anew, as a later release of an application would."""
    drift._reported.clear()

    def defined(body: str) -> Any:
        module = types.ModuleType(MODULE)
        monkeypatch.setitem(sys.modules, MODULE, module)
        exec(HEADER + body, vars(module))  # noqa: S102 - the classes under test
        return module.Item

    yield defined
    drift._reported.clear()


def stored(item: Any, **options: Any) -> Callable[..., Any]:
    """Stores the item now; what is returned loads it later, under another definition."""
    cell = JsonPlus().dumps_typed([item, item])
    return lambda **later: JsonPlus(**{**options, **later}).load(*cell, authenticated=True)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_an_added_field_gets_its_default(kind: str, define: Define) -> None:
    load = stored(define(f"{KINDS[kind]}    a: int\n")(a=1))
    define(f"{KINDS[kind]}    a: int\n    b: Any = 'new'\n")
    assert (load().a, load().b) == (1, "new")


@pytest.mark.parametrize("kind", KINDS)
def test_an_added_field_without_a_default_raises(kind: str, define: Define) -> None:
    load = stored(define(f"{KINDS[kind]}    a: int\n")(a=1))
    define(f"{KINDS[kind]}    a: int\n    b: int\n")
    with pytest.raises(SchemaDriftError, match=f"{MODULE}.Item lack the field 'b'"):
        load()


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_field_is_dropped_and_reported_once(kind: str, define: Define, caplog: pytest.LogCaptureFixture) -> None:
    load = stored(define(f"{KINDS[kind]}    a: int\n    gone: int\n")(a=1, gone=2))
    define(f"{KINDS[kind]}    a: int\n")
    with caplog.at_level(logging.WARNING, logger="sealpoint"):
        assert [load().a for _ in range(3)] == [1, 1, 1]
    assert not hasattr(load(), "gone")
    assert [record.getMessage() for record in caplog.records] == [
        f"stored objects of {MODULE}.Item have fields that the class lacks; dropped: gone"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_field_can_be_an_error_or_ignored(kind: str, define: Define, caplog: pytest.LogCaptureFixture) -> None:
    load = stored(define(f"{KINDS[kind]}    a: int\n    gone: int\n")(a=1, gone=2))
    define(f"{KINDS[kind]}    a: int\n")
    with pytest.raises(SchemaDriftError, match="gone"):
        load(on_drift="error")
    assert load(on_drift="ignore").a == 1
    assert caplog.records == []


@pytest.mark.parametrize("kind", ["dataclass", "attrs", "pydantic"])
def test_a_default_factory_makes_one_for_every_object(kind: str, define: Define) -> None:
    factory = {
        "dataclass": "dataclasses.field(default_factory=list)",
        "attrs": "attrs.field(factory=list)",
        "pydantic": "pydantic.Field(default_factory=list)",
    }
    item_class = define(f"{KINDS[kind]}    a: int\n")
    cell = JsonPlus().dumps_typed([item_class(a=1), item_class(a=2)])
    define(f"import pydantic\n{KINDS[kind]}    a: int\n    b: list = {factory[kind]}\n")
    first, second = JsonPlus().load(*cell, authenticated=True)
    first.b.append(1)
    assert second.b == []


def test_pydantic_forgets_that_a_removed_field_was_set(define: Define) -> None:
    load = stored(define("class Item(BaseModel):\n    a: int\n    gone: int\n")(a=1, gone=2))
    define("class Item(BaseModel):\n    a: int\n    b: int = 3\n")
    assert load(on_drift="ignore").model_fields_set == {"a"}
    assert load(on_drift="ignore").model_dump() == {"a": 1, "b": 3}


def test_private_attributes_of_pydantic_drift_likewise(define: Define) -> None:
    item = define("class Item(BaseModel):\n    a: int\n    _old: int = PrivateAttr(default=1)\n")(a=1)
    load = stored(item)
    define("class Item(BaseModel):\n    a: int\n    _new: list = PrivateAttr(default_factory=list)\n    _unset: int = PrivateAttr()\n")
    back = load(on_drift="ignore")
    assert back.__pydantic_private__ == {"_new": []}


def test_only_the_class_that_changed_is_adapted_in_a_mixed_list(define: Define) -> None:
    both = "class Item(BaseModel):\n    a: int\n{0}class Other(BaseModel):\n    x: int = 1\n"
    item_class = define(both.format(""))
    other = sys.modules[MODULE].Other
    cell = JsonPlus().dumps_typed([item_class(a=1), other(), item_class(a=2), other(x=5)])
    define(both.format("    b: int = 9\n"))
    back = JsonPlus().load(*cell, authenticated=True)
    assert [item.model_dump() for item in back] == [{"a": 1, "b": 9}, {"x": 1}, {"a": 2, "b": 9}, {"x": 5}]


def test_an_attribute_outside_the_fields_survives_a_change_of_the_fields(define: Define) -> None:
    item = define("@dataclasses.dataclass\nclass Item:\n    a: int\n")(1)
    item.note = "kept"
    load = stored(item)
    define("@dataclasses.dataclass\nclass Item:\n    a: int\n    b: int = 2\n")
    assert vars(load()) == {"a": 1, "note": "kept", "b": 2}


def test_a_class_that_got_slots_takes_the_state_that_fits(define: Define) -> None:
    load = stored(define("@dataclasses.dataclass\nclass Item:\n    a: int\n    b: int = 2\n")(1))
    define("@dataclasses.dataclass(slots=True)\nclass Item:\n    a: int\n    b: int = 2\n")
    assert (load().a, load().b) == (1, 2)


def test_a_removed_enum_member_raises_and_names_it(define: Define) -> None:
    load = stored(define("class Item(enum.Enum):\n    A = 1\n    B = 2\n").B)
    define("class Item(enum.Enum):\n    A = 1\n")
    with pytest.raises(SchemaDriftError, match="'B'"):
        load()


def test_a_missing_class_or_module_raises_and_names_it(define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    load = stored(define("@dataclasses.dataclass\nclass Item:\n    a: int\n")(1))
    define("Item = None\n")
    with pytest.raises(MissingTypeError, match=f"{MODULE}.Item"):
        load()
    monkeypatch.delitem(sys.modules, MODULE)
    with pytest.raises(MissingTypeError, match=MODULE):
        load()


def test_a_class_that_became_another_kind_raises(define: Define) -> None:
    load = stored(define("@dataclasses.dataclass\nclass Item:\n    a: int\n")(1))
    define("class Item(BaseModel):\n    a: int\n")
    with pytest.raises(SchemaDriftError, match="another kind"):
        load()


def test_an_instance_of_a_class_that_was_replaced_is_not_stored(define: Define) -> None:
    from sealpoint.errors import ValueNotStorableError

    item = define("@dataclasses.dataclass\nclass Item:\n    a: int\n")(1)
    JsonPlus().dumps_typed(item)
    define("@dataclasses.dataclass\nclass Item:\n    a: int\n")
    with pytest.raises(ValueNotStorableError, match="cannot be found again"):
        JsonPlus().dumps_typed(item)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        JsonPlus(on_drift="sometimes")  # type: ignore[arg-type]  # that is the point
