"""Checkpoints by hand, for tests that look at a saver from below LangGraph."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint
from langgraph.checkpoint.base.id import uuid6


def config(thread: Any = "t", ns: str = "", checkpoint_id: str | None = None) -> RunnableConfig:
    ids = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **ids}}


def checkpoint(
    values: dict[str, Any] | None = None, versions: dict[str, Any] | None = None, checkpoint_id: str | None = None
) -> Checkpoint:
    values = values or {}
    return Checkpoint(
        v=4,
        id=checkpoint_id or str(uuid6(clock_seq=-2)),
        ts="2026-11-30T00:00:00+00:00",
        channel_values=dict(values),
        channel_versions=dict.fromkeys(values, 1) if versions is None else versions,
        versions_seen={"node": {"ch": 1}},
        updated_channels=None,
    )


def put(
    saver: BaseCheckpointSaver,
    at: RunnableConfig,
    values: dict[str, Any] | None = None,
    *,
    versions: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    checkpoint_id: str | None = None,
    **metadata: Any,
) -> RunnableConfig:
    made = checkpoint(values, versions, checkpoint_id)
    changed = made["channel_versions"] if new is None else new
    told: Any = {"source": "loop", "step": 1, "parents": {}, **metadata}
    return saver.put(at, made, told, changed)


def chain(
    saver: BaseCheckpointSaver, length: int, at: RunnableConfig | None = None, values: dict[str, Any] | None = None
) -> list[RunnableConfig]:
    """`length` checkpoints, each the parent of the next."""
    at = at or config()
    found = []
    for step in range(length):
        at = put(saver, at, {"n": step, **(values or {})}, step=step)
        found.append(at)
    return found


def ids(saver: BaseCheckpointSaver, at: RunnableConfig | None, **options: Any) -> list[str]:
    return [found.config["configurable"]["checkpoint_id"] for found in saver.list(at, **options)]
