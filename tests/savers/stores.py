"""A new, empty store of each kind for tests of savers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sealpoint.stores import FolderStore, MemoryStore, ObjectStore
from tests.s3 import credentials, new_bucket
from tests.services import Service

MakeStore = Callable[[], ObjectStore]

KINDS = ["memory", "folder", pytest.param("moto", marks=pytest.mark.services), pytest.param("seaweedfs", marks=pytest.mark.services)]


def makers(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeStore]:
    """What makes stores of the kind that the fixture's parameter names; the body of a fixture."""
    if request.param == "memory":
        yield MemoryStore
    elif request.param == "folder":
        yield lambda: FolderStore(tmp_path / secrets.token_hex(4), durable=False)
    else:
        pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")
        from sealpoint.stores.s3 import S3Store

        credentials(monkeypatch)
        service: Service = request.getfixturevalue(f"s3_{request.param}")
        bucket = new_bucket(service)
        store = S3Store(bucket, endpoint_url=service.url)

        def of_prefix() -> ObjectStore:
            store.prefix = f"{secrets.token_hex(4)}/"  # one client for all: making one takes longer than a test
            return store

        yield of_prefix
        store.close()
