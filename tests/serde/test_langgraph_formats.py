"""What LangGraph's serializer wrote can be read: bytes of the installed package, and golden bytes of the releases before it."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint.errors import DecodeError, MissingTypeError, TagError, TypeRefusedError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec.trust import LANGGRAPH_SAFE
from tests.corpus.values import Cents, Holder, Plain
from tests.serde.compare import bare, differences
from tests.serde.make_golden import FOLDER, VALUES

GOLDEN = {
    f"{path.stem}: {name}": (entry["tag"], base64.b64decode(entry["data"]), name)
    for path in sorted(Path(FOLDER).glob("*.json"))
    for name, entry in json.loads(path.read_text(encoding="utf-8"))["values"].items()
}
OWN = {name for name in VALUES if name.startswith("own_")}


@pytest.mark.parametrize("name", VALUES)
def test_bytes_of_the_installed_package_are_read(name: str) -> None:
    value = VALUES[name]()
    tag, data = JsonPlusSerializer().dumps_typed(value)
    assert differences(value, bare().loads_typed((tag, bytes(data)))) == []


def test_there_are_golden_bytes() -> None:
    assert len(GOLDEN) >= len(VALUES)


@pytest.mark.parametrize("golden", GOLDEN.values(), ids=GOLDEN)
def test_golden_bytes_are_read(golden: tuple[str, bytes, str]) -> None:
    tag, data, name = golden
    assert differences(VALUES[name](), bare().loads_typed((tag, data))) == []


@pytest.mark.parametrize("name", sorted(set(VALUES) - OWN))
def test_safe_types_need_no_list(name: str) -> None:
    value = VALUES[name]()
    assert differences(value, JsonPlus().loads_typed(JsonPlusSerializer().dumps_typed(value))) == []


@pytest.mark.parametrize("name", sorted(OWN))
def test_other_types_are_refused_without_a_list_and_read_once_authenticated(name: str) -> None:
    value = VALUES[name]()
    tag, data = JsonPlusSerializer().dumps_typed(value)
    with pytest.raises(TypeRefusedError, match=r"not allowed here.* serde=sealed_serializer\(allowed_types=\["):
        JsonPlus().loads_typed((tag, data))
    assert differences(value, JsonPlus().load(tag, data, authenticated=True)) == []


def test_a_nested_class_is_found_when_it_is_listed_and_missed_loudly_when_only_its_name_is() -> None:
    # LangGraph wrote __name__ only, which for a nested class leads nowhere; its own reader answers raw data.
    cell = JsonPlusSerializer().dumps_typed(Holder.Inner(5))
    assert JsonPlus(allowed_types=[Holder.Inner]).loads_typed(cell) == Holder.Inner(5)
    with pytest.raises(MissingTypeError, match="Inner"):
        JsonPlus(allowed_types=[(Holder.__module__, "Inner")]).loads_typed(cell)


def test_the_safe_list_is_that_of_the_installed_package() -> None:
    assert frozenset(_msgpack.SAFE_MSGPACK_TYPES) <= LANGGRAPH_SAFE


def _packed(code: int, *parts: Any) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(list(parts))))


@pytest.mark.parametrize("code", range(6))
def test_a_name_that_is_not_allowed_is_never_imported(code: int) -> None:
    module = "xml.dom.expatbuilder"
    sys.modules.pop(module, None)
    with pytest.raises((TypeRefusedError, DecodeError)):
        JsonPlus().loads_typed(("msgpack", _packed(code, module, "Namespaces", {}, "x")))
    assert module not in sys.modules


@pytest.mark.parametrize(
    "payload",
    [
        _packed(1, "os", "mkdir", ["sealpoint-was-here"]),
        _packed(0, "builtins", "eval", "1/0"),
        _packed(3, "datetime", "datetime", "x", "strptime"),
        _packed(1, "re", "compile", ["a", 128]),
        _packed(9, "a", "b", "c"),
        _packed(6, "|O", [1], "C", b"\x00" * 8),
        b"\xc1",
        b"",
    ],
)
@pytest.mark.parametrize("authenticated", [False, True])
def test_functions_methods_and_nonsense_are_refused(
    payload: bytes, authenticated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeRefusedError, DecodeError)):
        JsonPlus().load("msgpack", payload, authenticated=authenticated)
    assert list(tmp_path.iterdir()) == []


def test_a_constructor_that_refuses_is_loud() -> None:
    with pytest.raises(DecodeError):
        JsonPlus(allowed_types=[Plain]).loads_typed(("msgpack", _packed(2, Plain.__module__, "Plain", {"z": 1})))


# --- json: what a user posted stays what it was --------------------------------------------------------------------


def _json(value: Any) -> tuple[str, bytes]:
    return "json", json.dumps(value).encode()


def test_json_revives_langgraphs_constructors_of_safe_and_listed_types() -> None:
    stored = {"a": {"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "kwargs": {"hex": "0" * 31 + "7"}}}
    assert JsonPlus().loads_typed(_json(stored))["a"].int == 7
    own = {"lc": 2, "type": "constructor", "id": [Cents.__module__, "Cents"], "args": [5]}
    assert type(JsonPlus(allowed_types=[Cents]).loads_typed(_json(own))) is Cents


def test_json_revives_langchains_messages_under_their_old_names() -> None:
    stored = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "hi"}}
    message = JsonPlus().loads_typed(_json([stored]))[0]
    assert (type(message).__name__, message.content) == ("HumanMessage", "hi")


@pytest.mark.parametrize("authenticated", [False, True])
@pytest.mark.parametrize("lc", [1, 2])
@pytest.mark.parametrize("names", [["subprocess", "Popen"], ["os", "system"], ["builtins", "KeyError"], "os.system", ["x"], [1, 2]])
def test_other_envelopes_in_json_stay_data(lc: int, names: Any, authenticated: bool) -> None:
    posted = {"lc": lc, "type": "constructor", "id": names, "kwargs": {"args": "true"}}
    tag, data = _json({"posted": posted})
    assert JsonPlus().load(tag, data, authenticated=authenticated) == {"posted": posted}


# --- tags -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tag", "layer"), [("msgpack1+zstd", "zstd"), ("msgpack+aes", "aes"), ("msgpack1+aesgcm", "aesgcm")])
def test_a_tag_with_a_layer_says_which_one_is_missing(tag: str, layer: str) -> None:
    with pytest.raises(TagError, match=f"layer '{layer}'"):
        JsonPlus().loads_typed((tag, b""))


@pytest.mark.parametrize("tag", ["", "msgpack2", "yaml", "Pickle"])
def test_an_unknown_tag_is_refused(tag: str) -> None:
    with pytest.raises(TagError):
        JsonPlus().loads_typed((tag, b"\xc0"))


def test_a_pickle_opens_only_by_name_and_authenticated() -> None:
    tag, data = "pickle", b"\x80\x04N."
    for serde in (JsonPlus(), JsonPlus(pickle_fallback=True)):
        with pytest.raises(TypeRefusedError):
            serde.load(tag, data, authenticated=False)
    with pytest.raises(TypeRefusedError):
        JsonPlus().load(tag, data, authenticated=True)
    assert JsonPlus(pickle_fallback=True).load(tag, data, authenticated=True) is None
