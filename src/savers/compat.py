"""What newer releases of LangGraph's checkpoint package export and the oldest allowed one (4.1.0) does not; nothing of our own.

Where LangGraph has a name it is LangGraph's that is used, so that a change there reaches us. To be emptied when the lower bound is raised.
"""

from __future__ import annotations

from collections.abc import Callable

from langgraph.checkpoint import base

SortKey = Callable[[str, str, int], tuple[str, str, int]]


def _sort_key(task_path: str, task_id: str, idx: int) -> tuple[str, str, int]:
    """The order in which LangGraph applies the writes of one super-step: source `writes_sort_key` of langgraph-checkpoint 4.3.2."""
    return task_path, task_id, idx


writes_sort_key: SortKey = getattr(base, "writes_sort_key", _sort_key)
"""The key that sorts pending writes, of a task's path, its id and the write's index."""
