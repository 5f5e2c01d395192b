"""A sealed saver has the shape of the one inside: its methods, attributes, contexts; and says why, when it cannot be made."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance.capabilities import DetectedCapabilities
from langgraph.checkpoint.memory import InMemorySaver

import sealpoint
from sealpoint import UNENCRYPTED, Keyring, sealed_serializer
from sealpoint.errors import ConfigurationError, NoKeyError
from sealpoint.savers import ObjectSaver, SealedSaver
from tests.savers.wrapped.targets import SQLITE, AsyncTarget, Target
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]


async def test_it_has_exactly_the_methods_of_the_inner_class(async_target: AsyncTarget, seal: Wrap, tmp_path: Path) -> None:
    async with async_target.make(tmp_path / "store") as inner:
        sealed = seal(inner)
        assert DetectedCapabilities.from_instance(sealed) == DetectedCapabilities.from_instance(inner)
        for name in vars(BaseCheckpointSaver):
            if callable(getattr(BaseCheckpointSaver, name)) and not name.startswith("_") and name not in ("with_allowlist", "get", "aget"):
                base = getattr(BaseCheckpointSaver, name)
                assert (getattr(type(sealed), name) is base) == (getattr(type(inner), name) is base) or name == "get_next_version", name


def test_versions_specs_and_attributes_are_the_inner_savers(seal: Wrap, tmp_path: Path) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        sealed = seal(inner)
        assert sealed.conn is inner.conn  # type: ignore[attr-defined]  # a SqliteSaver
        assert sealed.config_specs == inner.config_specs
        assert sealed.get_next_version("00000000000000000000000000000002.5", None).startswith("00000000000000000000000000000003.")
        sealed.setup()
        with pytest.raises(AttributeError):
            _ = sealed.nothing_of_that_name
        with pytest.raises(NotImplementedError):
            asyncio.run(sealed.aget_tuple(at()))


def test_contexts_are_the_inner_savers(seal: Wrap) -> None:
    with seal(InMemorySaver()) as sealed:
        sealed.put(at(), checkpoint("1", {}), {}, {})

    async def entered() -> Any:
        async with seal(InMemorySaver()) as sealed:
            return sealed

    assert isinstance(asyncio.run(entered()), SealedSaver)


def test_the_inner_saver_that_was_passed_in_is_not_changed(seal: Wrap) -> None:
    inner = InMemorySaver()
    serde = inner.serde
    seal(inner).put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
    assert inner.serde is serde


def test_with_allowlist_keeps_keys_and_what_is_known(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        sealed = seal(inner)
        allowed = sealed.with_allowlist({("tests.savers.wrapped.test_shape", "Nothing")})
        assert type(allowed) is type(sealed)
        allowed.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        found = sealed.get_tuple(at())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": [1]}
        assert sealed.stats()["seal"] == allowed.stats()["seal"]


def test_scopes_do_not_read_each_other(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        seal(inner, scope="billing").put(at(), checkpoint("1", {}), {}, {})
        with pytest.raises(sealpoint.errors.AuthenticationError):
            seal(inner).get_tuple(at())


def test_older_keys_open_and_unknown_ones_are_named(target: Target, keyring: Keyring, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        SealedSaver(inner, Keyring.generate("elsewhere")).put(at(), checkpoint("1", {}), {}, {})
        with pytest.raises(sealpoint.errors.UnknownKeyError, match="elsewhere"):
            SealedSaver(inner, keyring).get_tuple(at())


def test_unencrypted_is_possible_by_name_only(target: Target, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        with pytest.raises(NoKeyError):
            SealedSaver(inner)
        saver = SealedSaver(inner, UNENCRYPTED)
        saver.put(at(), checkpoint("1", {"a": [1]}), {}, {"a": 1})
        assert [item.checkpoint["channel_values"] for item in saver.list(at())] == [{"a": [1]}]


def test_contradictions_are_refused(keyring: Keyring, index_keys: Keyring) -> None:
    inner = InMemorySaver()
    sealed = SealedSaver(inner, keyring)
    for call in (
        lambda: SealedSaver(sealed, keyring),
        lambda: SealedSaver("postgresql://…", keyring),  # type: ignore[arg-type]  # on purpose
        lambda: SealedSaver(inner, keyring, serde=sealed_serializer(keyring)),
        lambda: SealedSaver(inner, serde=sealed_serializer(keyring), pad_lengths=True),
        lambda: SealedSaver(inner, serde=inner.serde),  # type: ignore[arg-type]  # on purpose
        lambda: SealedSaver(inner, UNENCRYPTED, migrate=True),
        lambda: SealedSaver(inner, keyring, migrate=True, hash_thread_ids=True, index_keys=index_keys),
        lambda: SealedSaver(inner, keyring, search_fields=["a"]),
        lambda: SealedSaver(inner, keyring, search_fields=["a.b"], index_keys=index_keys),
    ):
        with pytest.raises(ConfigurationError):
            call()


def test_the_object_saver_seals_by_itself_and_is_returned_as_it_is(keyring: Keyring) -> None:
    native: Any = ObjectSaver.from_uri("memory://", keys=keyring)
    assert SealedSaver(native) is native
    with pytest.raises(ConfigurationError, match="seals by itself"):
        SealedSaver(native, keyring)


def test_it_shows_no_key_and_is_not_pickled(seal: Wrap) -> None:
    sealed = seal(InMemorySaver())
    assert repr(sealed) == "SealedSaver(InMemorySaver)"
    assert repr(copy.copy(sealed)) == repr(sealed)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(sealed)
