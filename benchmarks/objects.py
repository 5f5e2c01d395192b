"""The object saver over a real S3 server 20 ms away, beside langgraph-checkpoint-objectstorage: waiting times, stored bytes, stalls.

`python -m benchmarks.objects [--checkpoints N] [--rounds N]`. The other saver runs in an environment of its own, made with `venv` and pip
under ``.cache``, or the one whose Python `SEALPOINT_BENCH_OBJECTSTORAGE` names. Rounds are interleaved; on a
busy machine the best round of each is what the saver takes, the median what the machine adds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import row
from benchmarks.objects_worker import chat, checkpoint, config
from sealpoint import Keyring, ObjectSaver
from sealpoint.stores import Fault, MemoryStore
from tests import services

ROOT = Path(__file__).parents[1]
RIVAL = "langgraph-checkpoint-objectstorage[s3,compression]==0.1.15"
ROUND_TRIP_S = 0.020
TARGETS_MS = {"latest": 90, "put": 30, "put_writes": 30, "list(10)": 110}


class Remote:
    """A worker process that times one saver."""

    def __init__(self, python: str, kind: str, where: str = "", near: str = "", far: str = "") -> None:
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": services.ACCESS, "AWS_SECRET_ACCESS_KEY": services.SECRET}
        environment |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
        if kind != "ours":
            environment.pop("PYTHONPATH", None)
        script = str(ROOT / "benchmarks" / "objects_worker.py")
        self._process = subprocess.Popen(
            [python, script, kind, where, near, far], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **command: Any) -> Any:
        """The answer to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline() or "null")

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait(10)


def rival_python() -> str | None:
    """The Python of an environment that has the other saver, made when it is missing; None when it cannot be had."""
    if given := os.environ.get("SEALPOINT_BENCH_OBJECTSTORAGE"):
        return given
    folder = ROOT / ".cache" / "bench-objectstorage"
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", RIVAL], check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        (folder / "done").touch()
    return str(python)


@contextmanager
def distant(port: int) -> Iterator[int]:
    """The port of a proxy before a local server."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / "delayproxy.py"), str(port), str(ROUND_TRIP_S)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(10)


def waiting(checkpoints: int, rounds: int, rival: str | None) -> bool:
    """Medians of each operation at 20 ms round trip, connections warm."""
    from sealpoint.stores.s3 import make_client

    held = True
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(services.seaweedfs(folder))
        far = stack.enter_context(distant(server.port))
        os.environ |= {"AWS_ACCESS_KEY_ID": services.ACCESS, "AWS_SECRET_ACCESS_KEY": services.SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
        make_client(server.url).create_bucket(Bucket="bench")
        pythons = {"ours": sys.executable} | ({"objectstorage": rival} if rival else {})
        remotes = {
            kind: Remote(python, kind, f"s3://bench/{kind}", server.url, f"http://127.0.0.1:{far}") for kind, python in pythons.items()
        }
        for remote in remotes.values():
            stack.callback(remote.close)
            remote.ask(fill=checkpoints)
        times: dict[tuple[str, str], list[float]] = {}
        operations = [*TARGETS_MS, "latest, sync"]
        for at in range(rounds + 2):  # two to warm connections
            for kind, remote in remotes.items():
                for operation in operations if kind == "ours" else TARGETS_MS:  # its async file system serves one event loop
                    took = remote.ask(once=operation)
                    if at >= 2:
                        times.setdefault((kind, operation), []).append(took)
        about = (
            f"{ROUND_TRIP_S * 1000:.0f} ms round trip, {checkpoints} checkpoints, best of {rounds} interleaved rounds (median in brackets)"
        )
        print(f"milliseconds at {about}")
        for operation in operations:
            ours = min(times["ours", operation])
            median = f"({statistics.median(times['ours', operation]):.0f})"
            others = times.get(("objectstorage", operation))
            its = f"objectstorage {min(others):.0f} ({statistics.median(others):.0f})" if others else "" if rival else "no objectstorage"
            target = TARGETS_MS.get(operation, TARGETS_MS["latest"])
            held &= row(operation, ours, f"<= {target}", ours <= target, f"{median:7} {its}")
    return held


def stored_bytes(rival: str | None) -> bool:
    """What a chat of 50 steps takes."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Remote(sys.executable, "ours")
        ours.ask(chat=f"{folder}/ours")
        ours.close()
        sizes = {"ours, sealed": _size(Path(folder) / "ours")}
        if rival:
            other = Remote(rival, "objectstorage")
            other.ask(chat=f"{folder}/objectstorage")
            other.close()
            sizes["objectstorage, zstd"] = _size(Path(folder) / "objectstorage")
        sizes["SqliteSaver"] = asyncio.run(_sqlite(Path(folder) / "sqlite.db"))
    print("kilobytes for a chat of 50 steps that grows 1 KB a step beside 20 KB of static channels, with its pending writes")
    others = ", ".join(f"{name} {size / 1000:.0f}" for name, size in sizes.items() if name != "ours, sealed")
    kilobytes = sizes["ours, sealed"] / 1000
    return row("stored", kilobytes, "<= 450", kilobytes <= 450, others)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and ".locks" not in path.parts)


async def _sqlite(path: Path) -> int:
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    except ImportError:
        return 0
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await chat(saver)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size  # noqa: ASYNC240 - nothing else runs here


async def _stall() -> float:
    store = MemoryStore()
    saver = ObjectSaver(store, Keyring.generate())
    state = {f"document-{n}": os.urandom(1 << 20).hex() for n in range(10)}  # 20 MB that hardly compress
    store.faults.plan(Fault("put", "slow", seconds=0.2, times=1000))
    longest, running = 0.0, True

    async def tick() -> None:
        nonlocal longest
        while running:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - started - 0.001)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    made: Any = checkpoint(state, dict.fromkeys(state, f"{1:032}.1"))
    await saver.aput(config("large"), made, {"source": "loop"}, made["channel_versions"])
    running = False
    await ticking
    return longest * 1000


def stalls(rounds: int) -> bool:
    """How long the event loop stands still while 20 MB are put through a slow store."""
    longest = statistics.median(asyncio.run(_stall()) for _ in range(rounds))
    print("longest stall of the event loop in milliseconds, a state of 20 MB through a slow store")
    return row("stall", longest, "<= 50", longest <= 50)


def main() -> int:
    """Prints every figure and returns 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    rival = rival_python()
    try:
        results = [waiting(options.checkpoints, options.rounds, rival)]
    except services.NotInstalledError as exc:
        print(f"  skipped: waiting times: {exc}")
        results = []
    results += [stored_bytes(rival), stalls(3)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
