"""Copying a thread: everything is opened at the source and sealed anew at the target, because a sealed value belongs to its thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions

from .cells import Write
from .core import Core
from .drive import Flow
from .places import ID, NS, THREAD
from .reading import fetch_all


def copy_thread(core: Core, source: Any, target: Any) -> Flow[None]:
    """Every checkpoint of `source` with its parent, its values and its writes, under the same ids in `target`.

    With a key store, the copy is on record before. Oldest first, so that a reader of `target` never sees a checkpoint before its ancestors.
    """
    generation = core.lives.copy(str(source), str(target))
    rows = yield from fetch_all(core.inward({"configurable": {THREAD: source}}))
    stored: set[tuple[str, str, Any]] = set()
    for raw in sorted(rows, key=lambda row: str(row.checkpoint["id"])):
        place = core.opener.place(raw)
        opened = core.opener.open(raw, place, core.cache)
        parent = None if opened.parent_config is None else opened.parent_config["configurable"][ID]
        config: RunnableConfig = {"configurable": {THREAD: target, NS: place.ns, **({ID: parent} if parent else {})}}
        versions: ChannelVersions = opened.checkpoint["channel_versions"]
        new = {channel: version for channel, version in versions.items() if (place.ns, channel, version) not in stored}
        stored.update((place.ns, channel, version) for channel, version in versions.items())
        copied = yield from core.put(config, opened.checkpoint, opened.metadata, new)
        by_task: dict[str, list[tuple[str, Write]]] = {}
        for task_id, channel, write in core.opener.writes(raw, place):
            by_task.setdefault(task_id, []).append((channel, write))
        for task_id, writes in by_task.items():
            yield from core.put_writes(
                {"configurable": {**copied["configurable"], THREAD: target}},
                in_positions(writes),
                task_id,
                writes[0][1].path,
                takes_path=True,
            )
    core.lives.copied(str(source), str(target), generation)


def in_positions(writes: Sequence[tuple[str, Write]]) -> list[tuple[str, Any]]:
    """A task's writes as the list that `put_writes` was once given: each ordinary write at its index, special ones in the gaps.

    Indexes have gaps only where special writes stood. They must come out the same: a task that runs again finds its writes by them.
    """
    ordinary = {write.index: (channel, write.value) for channel, write in writes if write.index >= 0}
    special = [(channel, write.value) for channel, write in writes if write.index < 0]
    listed: list[tuple[str, Any]] = []
    waiting = list(special)
    for position in range(max(ordinary, default=-1) + 1):
        if position in ordinary:
            listed.append(ordinary[position])
        elif waiting:
            listed.append(waiting.pop(0))
        elif special:
            listed.append(special[-1])  # the same slot again: it is stored once
    return [*listed, *waiting] if all(channel in WRITES_IDX_MAP for channel, _ in waiting) else listed
