"""What is known of each inner saver's habits; it imports none of them, and one that is not known gets the cautious answer everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .filters import Rule, containment, equality, sqlite_json_extract
from .innerserde import NarrowSerde
from .redisjson import RedisSerde, narrow_redis, narrow_shallow_redis
from .rows import PostgresRows, Rows, SqliteRows
from .textserde import TextSerde


@dataclass(frozen=True, slots=True)
class Profile:
    """The habits of an inner saver that the wrapper has to answer for.

    Args:
        whole: keeps all of a checkpoint's values in the checkpoint's own row, so a cell is never shared between checkpoints.
        shared: keeps one cell for a channel's version, whatever checkpoints refer to it, and returns it with each of them.
        latest_only: keeps one checkpoint per namespace, and returns it whatever id is asked for.
        keeps_first_parent: a checkpoint that is put again keeps the parent of its first put.
        rule: how it filters metadata.
        newest_first: lists by descending checkpoint id over all namespaces.
        filters_any_key: can filter by metadata keys of our own, so that search tokens go inward.
        drops_metadata: metadata keys that it does not store.
        merges_config: puts the scalars of `configurable` and `config["metadata"]` into the metadata, as LangGraph's helper does.
        converts: can be read in migration mode.
        rows: reaches its single rows, where a conversion must replace them.
        serde: makes the inner serializer.
        narrow: changes the copy that we work on, where a narrow serializer alone does not keep it from reviving what it reads.
    """

    whole: bool = False
    shared: bool = False
    latest_only: bool = False
    keeps_first_parent: bool = True
    rule: Rule = equality
    newest_first: bool = False
    filters_any_key: bool = False
    drops_metadata: frozenset[str] = frozenset()
    merges_config: bool = True
    converts: bool = True
    rows: Callable[[Any], Rows] | None = None
    serde: type[NarrowSerde] = NarrowSerde
    narrow: Callable[[Any], None] | None = None


_SQLITE = Profile(whole=True, filters_any_key=True, keeps_first_parent=False, rule=sqlite_json_extract, newest_first=True)
_POSTGRES = Profile(shared=True, filters_any_key=True, rule=containment, newest_first=True, drops_metadata=frozenset({"writes"}))
_SHALLOW = Profile(latest_only=True, filters_any_key=True, rule=containment, drops_metadata=frozenset({"writes"}))

_REDIS = Profile(merges_config=False, converts=False, serde=RedisSerde, narrow=narrow_redis)
_REDIS_FULL = replace(_REDIS, whole=True, keeps_first_parent=False, newest_first=True)
_REDIS_SHALLOW = replace(_REDIS, latest_only=True, narrow=narrow_shallow_redis)

_COSMOS = Profile(whole=True, keeps_first_parent=False, merges_config=False, serde=TextSerde)

_PROFILES = {
    "langgraph.checkpoint.memory.InMemorySaver": Profile(shared=True, filters_any_key=True, keeps_first_parent=False),
    "langgraph.checkpoint.sqlite.SqliteSaver": replace(_SQLITE, rows=SqliteRows),
    "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver": _SQLITE,
    "langgraph.checkpoint.postgres.PostgresSaver": replace(_POSTGRES, rows=PostgresRows),
    "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver": _POSTGRES,
    "langgraph.checkpoint.postgres.shallow.ShallowPostgresSaver": _SHALLOW,
    "langgraph.checkpoint.postgres.shallow.AsyncShallowPostgresSaver": _SHALLOW,
    "langgraph.checkpoint.redis.RedisSaver": _REDIS_FULL,
    "langgraph.checkpoint.redis.aio.AsyncRedisSaver": _REDIS_FULL,
    "langgraph.checkpoint.redis.shallow.ShallowRedisSaver": _REDIS_SHALLOW,
    "langgraph.checkpoint.redis.ashallow.AsyncShallowRedisSaver": _REDIS_SHALLOW,
    "langgraph.checkpoint.redis.base.BaseRedisSaver": replace(_REDIS, latest_only=True),  # kin of theirs that is not known
    "langchain_azure_cosmosdb._langgraph_checkpoint_store.CosmosDBSaverSync": _COSMOS,
    "langchain_azure_cosmosdb.aio._langgraph_checkpoint_store.CosmosDBSaver": _COSMOS,
}


def profile_of(inner: object) -> Profile:
    """The profile of the nearest known class among the saver's bases."""
    for cls in type(inner).__mro__:
        if found := _PROFILES.get(f"{cls.__module__}.{cls.__qualname__}"):
            return found
    return Profile()
