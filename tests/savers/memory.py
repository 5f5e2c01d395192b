"""What ours is compared with: LangGraph's InMemorySaver, with its present order of writes whatever release it is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import langgraph.checkpoint.base
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

ORDERS_WRITES = hasattr(langgraph.checkpoint.base, "writes_sort_key")
"""Whether LangGraph's own savers return writes by task path, task id and index. In 4.1 they return them as they were inserted."""


class Ordering(InMemorySaver):
    """The saver of 4.1, with the order of writes and the seeds of delta channels of the releases after it."""

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        where = config["configurable"]
        kept = self.writes[where["thread_id"], where.get("checkpoint_ns", ""), where["checkpoint_id"]]
        in_order = sorted(kept.items(), key=lambda item: (item[1][3], *item[0]))
        kept.clear()
        kept.update(in_order)

    # The walk over `get_tuple`, right in every release: that of 4.1's InMemorySaver leaves out the writes at a seed that is a plain value.
    get_delta_channel_history = BaseCheckpointSaver.get_delta_channel_history
    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history


def in_memory() -> InMemorySaver:
    """The installed release's saver, put in order where it is older than the order."""
    return InMemorySaver() if ORDERS_WRITES else Ordering()
