"""What a request costs this process, by boto3 and by obstore, against SeaweedFS on this machine: the measurement behind decision 0014."""

from __future__ import annotations

import asyncio
import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sealpoint.stores.s3 import S3Store, make_client
from tests import services

REQUESTS = 30


def _cpu_ms(call: Callable[[], object]) -> float:
    call()
    started = time.process_time()
    for _ in range(REQUESTS):
        call()
    return (time.process_time() - started) / REQUESTS * 1000


async def _async_cpu_ms(call: Callable[[], Awaitable[object]]) -> float:
    await call()
    started = time.process_time()
    for _ in range(REQUESTS):
        await call()
    return (time.process_time() - started) / REQUESTS * 1000


def main() -> int:
    """Prints the CPU milliseconds of each request, the median of three interleaved rounds."""
    os.environ |= {"AWS_ACCESS_KEY_ID": services.ACCESS, "AWS_SECRET_ACCESS_KEY": services.SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
    with tempfile.TemporaryDirectory() as folder, services.seaweedfs(Path(folder)) as server:
        make_client(server.url).create_bucket(Bucket="bench")
        stores = {
            "boto3": S3Store("bench", endpoint_url=server.url, engine="boto3"),
            "obstore": S3Store("bench", endpoint_url=server.url),
        }
        keys = [f"k/{number}" for number in range(10)]
        for key in keys:
            stores["boto3"].put(key, os.urandom(4000))
        for number in range(60):
            stores["boto3"].put(f"l/{number:02}", b"")
        figures: dict[tuple[str, str], list[float]] = {}
        for _ in range(3):
            for name, store in stores.items():

                def ten(store: S3Store = store) -> Awaitable[object]:
                    return asyncio.gather(*(store.aget(key) for key in keys))

                def listing(store: S3Store = store) -> object:
                    return list(store.list("l/", limit=64))

                measured = {
                    "get": _cpu_ms(functools.partial(store.get, "k/1")),
                    "put": _cpu_ms(functools.partial(store.put, "k/1", b"x" * 4000)),
                    "list of 60": _cpu_ms(listing),
                    "ten gets, async": asyncio.run(_async_cpu_ms(ten)),
                }
                for what, took in measured.items():
                    figures.setdefault((what, name), []).append(took)
        print(f"CPU milliseconds of this process a request, median of 3 rounds of {REQUESTS} (listings are boto3's in both)")
        for what in dict.fromkeys(what for what, _ in figures):
            print(f"  {what:18}" + "".join(f"{name:>10} {statistics.median(figures[what, name]):7.2f}" for name in stores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
