"""LangGraph's own conformance suite over a saver, by its async methods or, through a small adapter, by its sync ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.conformance import validate
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer

EXPECTED = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}
"""Tests per capability in langgraph-checkpoint-conformance 0.0.2: 81."""


class SyncThroughAsync(BaseCheckpointSaver):
    """Gives the suite, which calls async methods only, the answers of a saver's sync methods."""

    def __init__(self, inner: BaseCheckpointSaver) -> None:
        super().__init__(serde=inner.serde)
        self.inner = inner

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.inner.get_tuple(config)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for item in self.inner.list(config, **options):
            yield item

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        return self.inner.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self.inner.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.inner.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.inner.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.inner.prune(thread_ids, strategy=strategy)


async def conformance(make: Callable[[], BaseCheckpointSaver]) -> tuple[dict[str, int], list[str]]:
    """How many tests passed by capability, and the names of those that failed."""

    async def factory() -> AsyncGenerator[BaseCheckpointSaver, None]:
        yield make()

    report = await validate(RegisteredCheckpointer("under test", factory))
    failures = [failure for result in report.results.values() for failure in result.failures or []]
    return {name: result.tests_passed for name, result in report.results.items()}, failures
