"""The history of delta channels, walked over our own opened checkpoints; no inner fast path, because its answers name no checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from .core import Core
from .drive import Flow
from .places import ID, place_of


def delta_history(core: Core, config: RunnableConfig, channels: Sequence[str]) -> Flow[Mapping[str, DeltaChannelHistory]]:
    """See `BaseCheckpointSaver.get_delta_channel_history`. A chain that loops (a checkpoint put under itself) ends where it closes.

    Where the chain ends before its time, or has fewer writes than the first checkpoint's sealed metadata counts, that is noted and not
    refused: savers prune.
    """
    writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    remaining = set(channels)
    visited: set[str] = set()
    target = (yield from core.get_tuple(config)) if channels else None
    cursor = target.parent_config if target else None
    if target is not None:
        visited.add(target.checkpoint["id"])
    while cursor is not None and remaining:
        ancestor: CheckpointTuple | None = yield from core.get_tuple(cursor)
        if ancestor is None:
            core.opener.history_cut(place_of(config), cursor["configurable"][ID])
            break
        if ancestor.checkpoint["id"] in visited:
            break
        visited.add(ancestor.checkpoint["id"])
        for write in reversed(ancestor.pending_writes or ()):
            if write[1] in remaining:
                writes[write[1]].append(write)
        values = ancestor.checkpoint["channel_values"]
        for channel in remaining & values.keys():
            seeds[channel] = values[channel]
        remaining -= seeds.keys()
        cursor = ancestor.parent_config
    if target is not None and not core.profile.latest_only:
        for channel in channels:
            if len(writes[channel]) < _updates(target, channel):
                core.opener.delta_short(place_of(config), target.checkpoint["id"])
    return {channel: _entry(writes[channel], channel, seeds) for channel in channels}


def _updates(target: CheckpointTuple, channel: str) -> int:
    """How many steps have written to the channel since its last snapshot, as LangGraph counts: at least one write each."""
    counters = (target.metadata or {}).get("counters_since_delta_snapshot")
    counted = counters.get(channel) if isinstance(counters, Mapping) else None
    return counted[0] if isinstance(counted, (list, tuple)) and counted and isinstance(counted[0], int) else 0


def _entry(writes: list[PendingWrite], channel: str, seeds: Mapping[str, Any]) -> DeltaChannelHistory:
    found: DeltaChannelHistory = {"writes": writes[::-1]}
    if channel in seeds:
        found["seed"] = seeds[channel]
    return found
