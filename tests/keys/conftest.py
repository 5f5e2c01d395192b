"""Real key services for the tests: moto's KMS behind the real boto3 client, and OpenBao's transit engine, both on 127.0.0.1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.keys.helpers import Clock, World
from tests.keys.services import Kms, Transit, kms_client
from tests.services import ROOT_TOKEN, Service

POLICY = """
path "transit/encrypt/*" { capabilities = ["update"] }
path "transit/decrypt/*" { capabilities = ["update"] }
path "transit/keys/*" { capabilities = ["read"] }
"""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def kms_endpoint(s3_moto: Service) -> str:
    """The same moto serves S3 and KMS."""
    return s3_moto.url


@pytest.fixture(scope="session")
def _kms(kms_endpoint: str) -> Kms:
    found = Kms(kms_client(kms_endpoint))

    def count(request: Any, **_: object) -> None:
        found.wire[request.headers["X-Amz-Target"].decode().rpartition(".")[2]] += 1

    found.client.meta.events.register("before-send.kms", count)
    return found


@pytest.fixture
def kms(_kms: Kms) -> Kms:
    _kms.wire.clear()
    return _kms


@pytest.fixture(scope="session")
def transit(openbao: Service) -> Transit:
    hvac = pytest.importorskip("hvac", reason="hvac is not installed (extra transit)")
    admin = hvac.Client(url=openbao.url, token=ROOT_TOKEN, timeout=10)
    admin.sys.enable_secrets_engine("transit")
    admin.sys.create_or_update_policy(name="app", policy=POLICY)
    found = Transit(openbao.url, admin, None)
    found.client = found.app_client()
    return found
