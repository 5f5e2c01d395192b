"""Two applications under one key, separated by their scopes, whether the saver or its serializer was given it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sealpoint import Keyring, ObjectSaver, SealedSaver, sealed_serializer
from sealpoint.errors import AuthenticationError, ConfigurationError
from sealpoint.stores import MemoryStore
from tests.savers.chains import config, put

RING = Keyring.generate()


def _sealed() -> Callable[..., Any]:
    inner = InMemorySaver()
    return lambda **options: SealedSaver(inner, **options)


def _objects() -> Callable[..., Any]:
    store = MemoryStore()
    return lambda **options: ObjectSaver(store, **options)


@pytest.fixture(params=[_sealed, _objects], ids=["sealed", "objects"])
def saver(request: pytest.FixtureRequest) -> Callable[..., Any]:
    made: Callable[..., Any] = request.param()
    return made


def given(to_serde: bool, scope: str) -> dict[str, Any]:
    return {"serde": sealed_serializer(RING, scope=scope)} if to_serde else {"keys": RING, "scope": scope}


@pytest.mark.parametrize("to_writers_serde", [False, True])
@pytest.mark.parametrize("to_readers_serde", [False, True])
def test_a_scope_separates_wherever_it_was_given(saver: Callable[..., Any], to_writers_serde: bool, to_readers_serde: bool) -> None:
    put(saver(**given(to_writers_serde, "tenant-a")), config(), {"said": "of tenant a"})
    with pytest.raises(AuthenticationError):
        saver(**given(to_readers_serde, "tenant-b")).get_tuple(config())
    found = saver(**given(to_readers_serde, "tenant-a")).get_tuple(config())
    assert found.checkpoint["channel_values"] == {"said": "of tenant a"}


def test_two_different_scopes_are_refused(saver: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError, match="different scopes"):
        saver(serde=sealed_serializer(RING, scope="a"), scope="b")
    saver(serde=sealed_serializer(RING, scope="a"), scope="a")


@pytest.mark.parametrize("scope", [b"a", 5, None])
def test_a_scope_is_text(saver: Callable[..., Any], scope: Any) -> None:
    with pytest.raises(ConfigurationError, match="scope is text"):
        saver(keys=RING, scope=scope)
    with pytest.raises(ConfigurationError, match="scope is text"):
        saver(serde=sealed_serializer(RING), scope=scope)


@pytest.mark.parametrize("option", ["pass_through", "search_fields"])
def test_one_text_is_no_list_of_names(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{option} is a list of names"):
        SealedSaver(InMemorySaver(), RING, **{option: "user_id"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "uri", ["https://AKIAXX:s3cr3t@host/bucket", "s3://AKIAXX:s3cr3t@bucket/prefix", "s3://u:s3cr3t@b?x=1#y", "memory://a:s3cr3t@b"]
)
def test_credentials_in_a_uri_are_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ObjectSaver.from_uri(uri, RING)
    assert "s3cr3t" not in str(caught.value)
