"""What is chosen before the first write says so when it is changed; what the inner saver was told to allow is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint import Keyring, sealed_serializer
from sealpoint.errors import IntegrityError, TypeRefusedError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.targets import SQLITE
from tests.savers.wrapped.test_habits import at, checkpoint


@pytest.mark.parametrize("option", ["hash_thread_ids", "hide_names"])
def test_hiding_that_is_switched_on_or_off_over_a_store_is_named_in_the_refusal(
    option: str, keyring: Keyring, index_keys: Keyring, tmp_path: Path
) -> None:
    with SQLITE.make(tmp_path / "store") as inner:

        def off() -> SealedSaver:
            return SealedSaver(inner, keyring)

        def on() -> SealedSaver:
            return SealedSaver(inner, keyring, index_keys=index_keys, **{option: True})  # type: ignore[arg-type]  # a switch

        off().put(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        with pytest.raises(IntegrityError, match="chosen before the first write"):
            list(on().list(None))
        if option == "hide_names":
            with pytest.raises(IntegrityError, match="chosen before the first write"):
                on().get_tuple(at())
        off().delete_thread("t")
        on().put(at(thread="u"), checkpoint("2", {"a": 1}), {}, {"a": 1})
        with pytest.raises(IntegrityError, match="that the store was written with"):
            list(off().list(None))


def test_the_other_kind_of_hiding_is_named_too(keyring: Keyring, index_keys: Keyring, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        hashed = SealedSaver(inner, keyring, index_keys=index_keys, hash_thread_ids=True)
        hashed.put(at(), checkpoint("1", {"a": 1}), {}, {"a": 1})
        for options in ({"hide_names": True}, {"hide_names": True, "hash_thread_ids": True}):
            with pytest.raises(IntegrityError, match="other hash_thread_ids, hide_names or index keys"):
                list(SealedSaver(inner, keyring, index_keys=index_keys, **options).list(None))  # type: ignore[arg-type]  # switches
        with pytest.raises(IntegrityError, match="other hash_thread_ids, hide_names or index keys"):
            list(SealedSaver(inner, keyring, index_keys=Keyring.generate("index"), hash_thread_ids=True).list(None))


@dataclass
class Job:
    number: int


def _told(saver: SealedSaver) -> Any:
    saver.put(at(), checkpoint("1", {"job": Job(1)}), {}, {"job": 1})
    found = saver.get_tuple(at())
    assert found is not None
    return found.checkpoint["channel_values"]["job"]


@pytest.mark.parametrize("encrypted", [False, True])
def test_types_that_the_inner_serializer_lists_are_allowed_in_strict_mode(
    encrypted: bool, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    listing: Any = JsonPlusSerializer(allowed_msgpack_modules=[Job])
    if encrypted:
        monkeypatch.setenv("LANGGRAPH_AES_KEY", "0123456789abcdef")
        listing = EncryptedSerializer.from_pycryptodome_aes(listing)
    assert _told(SealedSaver(InMemorySaver(serde=listing), keyring)) == Job(1)
    with pytest.raises(TypeRefusedError, match="Job"):
        _told(SealedSaver(InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None)), keyring))
    with pytest.raises(TypeRefusedError, match="Job"):  # a serde of the user's has its own list
        _told(SealedSaver(InMemorySaver(serde=listing), serde=sealed_serializer(keyring)))


@pytest.mark.parametrize("odd", [True, None, "text", [1], [("a",)], {("a", "b", "c")}])
def test_a_list_of_another_form_is_left_alone(odd: Any, keyring: Keyring) -> None:
    serde = JsonPlusSerializer()
    serde._allowed_msgpack_modules = odd
    assert _told(SealedSaver(InMemorySaver(serde=serde), keyring)) == Job(1)
