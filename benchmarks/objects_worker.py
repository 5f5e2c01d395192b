"""One saver under the stopwatch, in whatever environment it is installed; it takes commands as JSON lines and answers in kind.

It imports nothing of Sealpoint unless that is the saver, so that another saver can be timed in an environment of its own by the same code.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6

_WORDS = 600


def text(size: int, seed: int) -> str:
    """`size` characters of made-up words of a small vocabulary, common ones more often: it compresses about as prose does."""
    rng = random.Random(0)  # noqa: S311 - the same text for every saver
    vocabulary = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(2, 9))) for _ in range(_WORDS)]
    weights = [1 / (rank + 1) for rank in range(_WORDS)]
    words = random.Random(seed).choices(vocabulary, weights, k=size // 3)  # noqa: S311 - as above
    return " ".join(words)[:size]


def make(kind: str, where: str, endpoint: str | None) -> Any:
    """A saver: `ours` or `objectstorage`, over ``s3://…`` or a folder."""
    if kind == "ours":
        from sealpoint import Keyring, ObjectSaver, S3Saver

        keys = Keyring({"bench": bytes(range(32))}, active="bench")
        return S3Saver(where, keys, endpoint_url=endpoint) if endpoint else ObjectSaver.from_uri(f"file://{where}", keys)
    from langgraph_checkpoint_objectstorage import ObjectStorageSaver  # type: ignore[import-not-found] # in its own environment

    if not endpoint:
        return ObjectStorageSaver.from_conn_string(f"file://{where}", compression="zstd")
    from s3fs import S3FileSystem  # type: ignore[import-not-found] # as above

    return ObjectStorageSaver(S3FileSystem(endpoint_url=endpoint, use_listings_cache=False), where.removeprefix("s3://"))


def checkpoint(values: dict[str, Any], versions: dict[str, Any]) -> Any:
    """A checkpoint as the engine makes it."""
    return {
        "v": 4, "id": str(uuid6(clock_seq=-2)), "ts": "2026-11-30T00:00:00+00:00", "channel_values": values, "channel_versions": versions,
        "versions_seen": {"agent": versions}, "updated_channels": None,
    }  # fmt: skip


def config(thread: str, checkpoint_id: str | None = None) -> Any:
    """Where."""
    ids = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **ids}}


class Worker:
    """Times operations of one saver.

    Args:
        kind: as for `make`.
        where: the bucket and prefix.
        near: the server itself, for filling it.
        far: the server behind the proxy, for timing.
    """

    def __init__(self, kind: str, where: str, near: str, far: str) -> None:
        self.near: BaseCheckpointSaver = make(kind, where, near)
        self.far: BaseCheckpointSaver = make(kind, where, far)
        self.head: Any = None
        self.version = 0

    def _next(self) -> tuple[Any, dict[str, Any]]:
        self.version += 1
        versions: dict[str, Any] = {"messages": f"{self.version:032}.1", "topic": f"{1:032}.1"}
        return checkpoint({"messages": [text(200, n) for n in range(5)], "topic": "x"}, versions), {"messages": versions["messages"]}

    async def fill(self, count: int) -> None:
        """A thread of `count` checkpoints, the head with 9 pending writes of 3 tasks."""
        at = config("long")
        for step in range(count):
            made, new = self._next()
            at = await self.near.aput(at, made, {"source": "loop", "step": step, "parents": {}}, new)
        for task in range(3):
            await self.near.aput_writes(at, [(name, text(100, task)) for name in ("a", "b", "c")], str(uuid6()))
        self.head = at

    async def once(self, what: str) -> float:
        """One operation's time in milliseconds."""
        made, new = self._next()
        at = config("puts", self.head["configurable"]["checkpoint_id"])
        writes, task = [(name, text(100, 1)) for name in ("a", "b", "c")], str(uuid6())
        started = time.perf_counter()
        if what == "latest":
            found = await self.far.aget_tuple(config("long"))
            assert found is not None
            assert len(found.pending_writes or ()) == 9
        elif what == "latest, sync":
            await asyncio.to_thread(self.far.get_tuple, config("long"))
        elif what == "put":
            await self.far.aput(at, made, {"source": "loop", "step": 1, "parents": {}}, new)
        elif what == "put_writes":
            await self.far.aput_writes(at, writes, task)
        elif what == "list(10)":
            assert len([item async for item in self.far.alist(config("long"), limit=10)]) == 10
        return (time.perf_counter() - started) * 1000


async def chat(saver: BaseCheckpointSaver, steps: int = 50) -> None:
    """A conversation that grows by about 1 KB a step beside 20 KB that do not change, as the engine stores it."""
    static = {f"static{n}": text(5 * 1024, 100 + n) for n in range(4)}
    versions: dict[str, Any] = dict.fromkeys(static, f"{1:032}.1")
    at, messages = config("chat"), list[str]()
    for step in range(steps):
        message = text(1000, step)
        messages.append(message)
        versions["messages"] = f"{step + 1:032}.1"
        new = {"messages": versions["messages"]} if step else dict(versions)
        made = checkpoint({**static, "messages": list(messages)}, dict(versions))
        at = await saver.aput(at, made, {"source": "loop", "step": step, "parents": {}}, new)
        await saver.aput_writes(at, [("messages", text(1000, step + 1))], str(uuid6()), "~__pregel_pull, agent")


async def main(kind: str, where: str, near: str, far: str) -> None:
    """Carries out commands until there are no more."""
    worker = Worker(kind, where, near, far) if near else None
    for line in sys.stdin:
        command = json.loads(line)
        if "chat" in command:
            await chat(make(kind, command["chat"], None))
            answer: Any = True
        elif worker is None:
            raise SystemExit("there is no server to time")
        elif "fill" in command:
            await worker.fill(command["fill"])
            answer = True
        else:
            answer = await worker.once(command["once"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
