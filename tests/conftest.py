"""What every test stands on: nothing of the developer's machine reaches it, and no clock judges it; nothing that only one part needs."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

import sealpoint
from sealpoint import Keyring
from tests import services
from tests.services import Service

pytest.register_assert_rewrite("tests.stores.contract")

# Contract suites, too, say what differed.
pytest.register_assert_rewrite(*(f"tests.{part.name}" for part in Path(__file__).parent.iterdir() if part.is_dir()))

if find_spec("hypothesis"):  # the environment without extras has none
    from hypothesis import settings

    settings.register_profile("untimed", settings(), deadline=None)
    settings.load_profile("untimed")

_VARIABLES = ("SEALPOINT_", "LANGGRAPH_", "LANGCHAIN_", "LANGSMITH_", "AWS_")


def pytest_report_header() -> str:
    return f"sealpoint {version('sealpoint')} from {Path(sealpoint.__file__).parent}"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, switches and credentials of whoever runs the tests do not reach them."""
    for name in [name for name in os.environ if name.startswith(_VARIABLES)]:
        monkeypatch.delenv(name)


@pytest.fixture
def keyring() -> Keyring:
    """A new key that seals, and an older one that only opens."""
    return Keyring({"new": secrets.token_bytes(32), "old": secrets.token_bytes(32)}, active="new")


@pytest.fixture(scope="session")
def s3_seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A SeaweedFS server, one for the whole run."""
    yield from _served(services.seaweedfs(tmp_path_factory.mktemp("weed")))


@pytest.fixture(scope="session")
def s3_moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A moto server, one for the whole run."""
    yield from _served(services.moto(tmp_path_factory.mktemp("moto")))


@pytest.fixture(scope="session")
def openbao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """An OpenBao server, one for the whole run."""
    yield from _served(services.openbao(tmp_path_factory.mktemp("openbao")))


def _served(server: AbstractContextManager[Service]) -> Iterator[Service]:
    try:
        service = server.__enter__()
    except services.NotInstalledError as exc:
        pytest.skip(str(exc))
    try:
        yield service
    finally:
        server.__exit__(None, None, None)
