"""A user's codec for a type: two lines, honoured in every mode, by copies and threads, and never global."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sealpoint import Keyring, sealed_serializer
from sealpoint.ciphers import AesGcm
from sealpoint.errors import ConfigurationError, DecodeError, MissingTypeError, ValueNotStorableError
from sealpoint.serde import JsonPlus, LayeredSerializer, Zstd


class Connection:
    """Holds what cannot be stored, and knows how to be made again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return type(other) is Connection and other.url == self.url

    __hash__ = None  # type: ignore[assignment]  # equal by value, changeable


class Special(Connection):
    pass


def registered() -> JsonPlus:
    return JsonPlus().register(Connection, lambda c: {"url": c.url, "tags": ("x",)}, lambda state: Connection(state["url"]))


VALUE = {"connections": [Connection("a"), Connection("b")], "n": (Connection("a"),)}


def test_without_a_codec_the_value_is_refused() -> None:
    with pytest.raises(ValueNotStorableError, match=r"state\.connections\[0\]\.lock"):
        JsonPlus().dumps_typed(VALUE)


def test_a_registered_type_comes_back_unauthenticated_too() -> None:
    serde = registered()
    assert serde.loads_typed(serde.dumps_typed(VALUE)) == VALUE


def test_it_survives_strict_mode_and_a_wider_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "1")
    serde = registered().with_msgpack_allowlist([("x", "Y")])
    assert serde.load(*serde.dumps_typed(VALUE), authenticated=True) == VALUE


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_keep_the_codecs_and_do_not_share_later_ones(duplicate: Any) -> None:
    original = registered()
    clone = duplicate(original)
    assert clone.loads_typed(clone.dumps_typed(VALUE)) == VALUE
    clone.register(Special, lambda s: s.url, Special)
    with pytest.raises(ValueNotStorableError):
        original.dumps_typed(Special("a"))


def test_it_works_in_a_chain_and_in_its_clones() -> None:
    chain = LayeredSerializer(registered(), Zstd(), AesGcm(Keyring.generate())).with_msgpack_allowlist([])
    assert chain.loads_typed(chain.dumps_typed(VALUE)) == VALUE


def test_the_usual_chain_takes_a_codec_in_one_line() -> None:
    chain = sealed_serializer(Keyring.generate()).register(Connection, lambda c: c.url, Connection)
    assert chain.loads_typed(chain.dumps_typed(VALUE)) == VALUE


def test_threads_share_one_serializer() -> None:
    serde = registered()
    with ThreadPoolExecutor(8) as pool:
        assert all(back == VALUE for back in pool.map(lambda _: serde.loads_typed(serde.dumps_typed(VALUE)), range(200)))


def test_subclasses_are_not_meant() -> None:
    with pytest.raises(ValueNotStorableError):
        registered().dumps_typed(Special("a"))


def test_a_codec_stands_before_the_built_in_form() -> None:
    serde = JsonPlus().register(frozenset, sorted, lambda items: frozenset([*items, "decoded"]))
    assert serde.loads_typed(serde.dumps_typed(frozenset({"a"}))) == {"a", "decoded"}


def test_a_local_class_can_be_registered_under_a_name() -> None:
    class Local:
        def __init__(self, x: int) -> None:
            self.x = x

    serde = JsonPlus().register(Local, lambda v: v.x, Local, name="local")
    assert serde.loads_typed(serde.dumps_typed(Local(4))).x == 4


def test_reading_without_the_codec_raises_and_names_it() -> None:
    cell = registered().dumps_typed(VALUE)
    with pytest.raises(MissingTypeError, match="Connection"):
        JsonPlus().load(*cell, authenticated=True)


def test_a_codec_that_raises_is_reported_with_the_path_and_without_its_words() -> None:
    def encode(_: Any) -> Any:
        raise RuntimeError("s3cret")

    with pytest.raises(ValueNotStorableError, match=r"state\.a.*RuntimeError") as caught:
        JsonPlus().register(Connection, encode, Connection).dumps_typed({"a": Connection("u")})
    assert "s3cret" not in str(caught.value)
    serde = JsonPlus().register(Connection, lambda c: c.url, lambda url: int(url))
    with pytest.raises(DecodeError):
        serde.loads_typed(serde.dumps_typed(Connection("u")))


def test_what_an_encoder_returns_is_held_to_the_same_rules() -> None:
    with pytest.raises(ValueNotStorableError, match="lock"):
        JsonPlus().register(Connection, vars, Connection).dumps_typed(Connection("u"))


def test_an_encoder_that_never_ends_is_stopped() -> None:
    with pytest.raises(ValueNotStorableError):
        JsonPlus().register(Connection, lambda c: [Connection(c.url)], Connection).dumps_typed(Connection("u"))


@pytest.mark.parametrize("cls", [int, dict, str, type, 3])
def test_builtin_scalars_and_containers_keep_their_forms(cls: Any) -> None:
    with pytest.raises(ConfigurationError):
        JsonPlus().register(cls, lambda v: v, lambda v: v)


def test_one_name_stands_for_one_class() -> None:
    serde = registered()
    with pytest.raises(ConfigurationError, match="another class"):
        serde.register(Special, lambda s: s.url, Special, name=f"{__name__}.Connection")
    serde.register(Connection, lambda c: c.url, Connection)
