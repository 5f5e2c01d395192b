"""The savers that each contract test runs over, as parameters; a saver that cannot be started here is skipped with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sealpoint import Keyring
from sealpoint.savers import SealedSaver
from tests.savers.wrapped.postgres import ASYNC_POSTGRES, ASYNC_SHALLOW, POSTGRES, SHALLOW, needs_postgres
from tests.savers.wrapped.targets import ASYNC_TARGETS, TARGETS, AsyncTarget, Saver, Target

FULL = [*TARGETS, pytest.param(POSTGRES, marks=needs_postgres)]
EVERY = [*FULL, pytest.param(SHALLOW, marks=needs_postgres)]
EVERY_ASYNC = [*ASYNC_TARGETS, *(pytest.param(target, marks=needs_postgres) for target in (ASYNC_POSTGRES, ASYNC_SHALLOW))]


def _name(target: Any) -> str:
    return str(target.name)


@pytest.fixture(params=FULL, ids=_name)
def target(request: pytest.FixtureRequest) -> Target:
    """A sync saver that keeps history."""
    found: Target = request.param
    return found


@pytest.fixture(params=EVERY, ids=_name)
def any_target(request: pytest.FixtureRequest) -> Target:
    """A sync saver of any habits."""
    found: Target = request.param
    return found


@pytest.fixture(params=EVERY_ASYNC, ids=_name)
def async_target(request: pytest.FixtureRequest) -> AsyncTarget:
    """An async saver of any habits."""
    found: AsyncTarget = request.param
    return found


@pytest.fixture
def inner(target: Target, tmp_path: Path) -> Iterator[Saver]:
    """A bare saver on an empty store."""
    with target.make(tmp_path / "store") as saver:
        yield saver


@pytest.fixture
def seal(keyring: Keyring) -> Callable[..., SealedSaver]:
    """Wraps a saver under the test's keys."""

    def wrapped(inner: Saver, **options: Any) -> SealedSaver:
        return SealedSaver(inner, keyring, **options)

    return wrapped


@pytest.fixture
def index_keys() -> Keyring:
    """A ring of one index key."""
    return Keyring.generate("index")
