"""What every test stands on: no key of the developer's machine, and a ring of fresh keys; nothing that only one part needs."""

from __future__ import annotations

import os
import secrets
from importlib.metadata import version
from pathlib import Path

import pytest

import sealpoint
from sealpoint import Keyring

# Contract suites, too, say what differed.
pytest.register_assert_rewrite(*(f"tests.{part.name}" for part in Path(__file__).parent.iterdir() if part.is_dir()))

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
