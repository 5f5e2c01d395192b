"""Filters on sealed metadata: declared fields by keyed tokens, the rest after opening; never a silently empty answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealpoint import Keyring
from sealpoint.errors import AuthenticationError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.targets import SQLITE, Target
from tests.savers.wrapped.test_habits import at, checkpoint

Wrap = Callable[..., SealedSaver]


def _fill(saver: Any, count: int = 6) -> None:
    for number in range(count):
        metadata: Any = {"source": "loop", "step": number, "customer": f"customer-{number % 2}", "score": number % 3}
        saver.put(at(), checkpoint(f"{number}", {}), metadata, {})


def _steps(found: Any) -> list[int]:
    return [item.metadata["step"] for item in found]


def test_a_token_lookup_opens_only_what_matches(target: Target, seal: Wrap, tmp_path: Path, index_keys: Keyring) -> None:
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner, index_keys=index_keys, search_fields=["customer"])
        _fill(saver)
        before = saver.stats()["open"].get("new", 0)
        assert _steps(saver.list(at(), filter={"customer": "customer-1"})) == [5, 3, 1]
        assert saver.stats()["open"]["new"] - before == 3
        assert _steps(saver.list(at(), filter={"customer": "customer-1", "score": 0}, limit=1)) == [3]
        assert _steps(saver.list(at(), filter={"customer": "nobody"})) == []
        assert b"customer" not in target.dump(tmp_path / "store", inner)


def test_fields_that_are_not_declared_are_found_too(target: Target, seal: Wrap, tmp_path: Path) -> None:
    with target.make(tmp_path / "store") as inner:
        saver = seal(inner)
        _fill(saver)
        assert _steps(saver.list(at(), filter={"customer": "customer-1"}, limit=2)) == [5, 3]


@pytest.mark.parametrize("target", [SQLITE], ids=["sqlite"])
def test_what_an_older_index_key_marked_is_still_found(target: Target, seal: Wrap, tmp_path: Path) -> None:
    old, new = ("old", b"o" * 32), ("new", b"n" * 32)
    with target.make(tmp_path / "store") as inner:
        _fill(seal(inner, index_keys=Keyring(dict([old]), active="old"), search_fields=["customer"]), 3)
        saver = seal(inner, index_keys=Keyring(dict([new, old]), active="new"), search_fields=["customer"])
        metadata: Any = {"step": 7, "customer": "customer-0"}
        saver.put(at(), checkpoint("7", {}), metadata, {})
        assert _steps(saver.list(at(), filter={"customer": "customer-0"})) == [7, 2, 0]
        assert _steps(saver.list(at(), filter={"customer": "customer-0"}, limit=2)) == [7, 2]


def test_an_edited_token_is_refused_where_it_is_read(seal: Wrap, tmp_path: Path, index_keys: Keyring) -> None:
    with SQLITE.make(tmp_path / "store") as inner:
        saver = seal(inner, index_keys=index_keys, search_fields=["customer"])
        _fill(saver, 2)
        connection: Any = inner.conn  # type: ignore[attr-defined]  # a SqliteSaver
        connection.execute(
            "UPDATE checkpoints SET metadata = (SELECT metadata FROM checkpoints WHERE checkpoint_id = '0') WHERE checkpoint_id = '1'"
        )
        with pytest.raises(AuthenticationError):
            _steps(saver.list(at(), filter={"customer": "customer-0"}))


def test_tokens_of_one_value_differ_between_fields_and_scopes(seal: Wrap, tmp_path: Path, index_keys: Keyring) -> None:
    from sealpoint.savers.wrapped.tokens import Tokens

    here, there = Tokens(index_keys, "here"), Tokens(index_keys, "there")
    made = [*here.stored(["a", "b"], {"a": "x", "b": "x"}).items(), *there.stored(["a"], {"a": "x"}).items()]
    assert len({value for _, value in made}) == len({key for key, _ in made}) == 3
    assert here.stored(["a"], {"a": 1}) == here.stored(["a"], {"a": 1.0}) == here.stored(["a"], {"a": True})
    assert here.stored(["a"], {"a": "1"}) != here.stored(["a"], {"a": 1})
    assert here.stored(["a"], {"a": [1]}) == here.stored(["a"], {"a": float("nan")}) == {}


@pytest.mark.parametrize("filtered", [{}, {"customer": "customer-1"}, {"source": "loop"}], ids=["no filter", "sealed", "readable"])
@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_that_is_no_count_means_what_it_means_to_the_inner_saver(
    target: Target, seal: Wrap, filtered: dict[str, Any], limit: int, tmp_path: Path
) -> None:
    """To SQLite a negative one is none, to memory nothing, to PostgreSQL an error."""

    def told(saver: Any) -> Any:
        _fill(saver)
        try:
            return _steps(saver.list(at(), filter=filtered, limit=limit))
        except Exception as exc:  # noqa: BLE001  # the two are compared
            return type(exc)

    with target.make(tmp_path / "bare") as bare, target.make(tmp_path / "sealed") as inner:
        expected = told(bare)
        assert told(seal(inner)) == expected
    assert expected or target is not SQLITE or limit == 0
