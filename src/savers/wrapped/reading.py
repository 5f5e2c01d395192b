"""Asks for stored checkpoints, and lets in only what has the form of one, so that nothing after it stumbles; it checks no seal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ...errors import NotSealedError
from .drive import Ask, Flow
from .places import ID, THREAD

RawTuple = CheckpointTuple
"""A tuple as the inner saver returned it: nothing in it was authenticated yet."""


def fetch(config: RunnableConfig) -> Flow[RawTuple | None]:
    """The checkpoint that the inner saver has for `config`.

    Raises:
        NotSealedError: it is not of the form of one.
    """
    raw: CheckpointTuple | None = yield Ask("get_tuple", (config,))
    return None if raw is None else checked(raw)


def fetch_all(config: RunnableConfig | None) -> Flow[list[RawTuple]]:
    """Everything that the inner saver lists for `config`; raises as `fetch`."""
    found: list[CheckpointTuple] = yield Ask("list", (config,))
    return [checked(raw) for raw in found]


def checked(raw: CheckpointTuple) -> RawTuple:
    """`raw`, if what every reader looks at is there.

    Raises:
        NotSealedError: the row was damaged or replaced. Which of its parts is wrong does not matter: nothing of it is used.
    """
    checkpoint: Any = raw.checkpoint
    metadata: Any = raw.metadata
    if (
        isinstance(checkpoint, Mapping)
        and "id" in checkpoint
        and _by_name(checkpoint.get("channel_values"))
        and _by_name(checkpoint.get("channel_versions"))
        and (metadata is None or _by_name(metadata))
    ):
        return raw
    ids = raw.config["configurable"]
    raise NotSealedError(
        f"what is stored as checkpoint {ids.get(ID)!r} of thread {ids.get(THREAD)!r} has not the form of a checkpoint: it was damaged or "
        "replaced; restore it from a backup, or go back to an older one"
    )


def _by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
