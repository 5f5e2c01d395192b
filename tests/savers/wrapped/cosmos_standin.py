r"""A container of Azure Cosmos DB in memory: a stand-in for the client, and no server; it knows the calls of one saver, and no others.

What langchain-azure-cosmosdb 1.0.1 calls on a container: `create_item`, `upsert_item`, and `query_items` with the one shape of query below.
A query of another shape raises. As the client does, an item is JSON on its way in and out; as the service does, an item is unique by
partition and id, and an id without ``/ \ ? #`` of at most 1023 bytes is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from azure.cosmos.exceptions import CosmosHttpResponseError, CosmosResourceExistsError

_QUERY = re.compile(
    r"SELECT (?:TOP (?P<top>\d+) )?(?P<what>\*|c\.id) FROM c WHERE c\.partition_key=@partition_key"
    r"(?: AND c\.id ?(?P<compared>[<=]) ?(?P<key>@\w+))?(?P<newest> ORDER BY c\.id DESC)?"
)


class Container:
    """One container; `items` maps partition and id to the item's JSON text."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], str] = {}

    def create_item(self, body: dict[str, Any]) -> None:
        if (body["partition_key"], body["id"]) in self.items:
            raise CosmosResourceExistsError(status_code=409, message="an item of that id exists")
        self.upsert_item(body)

    def upsert_item(self, body: dict[str, Any]) -> None:
        if re.search(r"[/\\?#]", body["id"]) or len(body["id"].encode()) > 1023:
            raise CosmosHttpResponseError(status_code=400, message="the id is not one that an item can have")
        self.items[body["partition_key"], body["id"]] = json.dumps(body)

    def query_items(self, query: str, parameters: list[dict[str, Any]], partition_key: str) -> Iterator[dict[str, Any]]:
        shape = _QUERY.fullmatch(query)
        values = {parameter["name"]: parameter["value"] for parameter in parameters}
        if shape is None or values.pop("@partition_key") != partition_key or set(values) != ({shape["key"]} - {None}):
            raise NotImplementedError(f"a query that this stand-in does not know: {query}")
        ids = [item_id for partition, item_id in self.items if partition == partition_key]
        if shape["key"]:
            wanted = values[shape["key"]]
            ids = [item_id for item_id in ids if (item_id == wanted if shape["compared"] == "=" else item_id < wanted)]
        if shape["newest"]:
            ids.sort(reverse=True)
        for item_id in ids[: int(shape["top"]) if shape["top"] else None]:
            item = json.loads(self.items[partition_key, item_id])
            yield {"id": item["id"]} if shape["what"] == "c.id" else item


class AsyncContainer:
    """The same container, as the async client offers it."""

    def __init__(self, container: Container) -> None:
        self.container = container

    async def create_item(self, body: dict[str, Any]) -> None:
        self.container.create_item(body)

    async def upsert_item(self, body: dict[str, Any]) -> None:
        self.container.upsert_item(body)

    async def query_items(self, query: str, parameters: list[dict[str, Any]], partition_key: str) -> AsyncIterator[dict[str, Any]]:
        for item in list(self.container.query_items(query, parameters, partition_key)):
            yield item


class Client:
    """What the sync saver's constructor asks of `CosmosClient`, for one container."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def __call__(self, endpoint: str, key: str, **options: Any) -> Client:
        return self

    def create_database_if_not_exists(self, name: str) -> Client:
        return self

    def create_container_if_not_exists(self, id: str, partition_key: Any) -> Container:  # noqa: A002  # the client's name
        return self._container
