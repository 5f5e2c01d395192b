"""The methods of a checkpointer, sync and async, over the flows; `advertise` picks those that the inner saver has."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple, DeltaChannelHistory

from .copying import copy_thread
from .delta import delta_history
from .drive import arun, damage_named, in_thread, refuse_in_own_loop, run
from .listing import Listing

if TYPE_CHECKING:
    from .saver import SealedSaver as _Base
else:
    _Base = object


class Methods(_Base):
    """Everything a saver can offer. Not instantiated; see `advertise.sealed_class`."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver.get_tuple`.

        Raises:
            IntegrityError: what is stored was not sealed there, or was changed since. Nothing of it is returned.
            KeyAccessError: supply the key that the message names.
        """
        return run(self._core.get_tuple(config), self._inner)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await arun(self._core.get_tuple(config), self._inner)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See `BaseCheckpointSaver.list`. A filter that the inner saver cannot answer is answered here, over everything it lists.

        Raises:
            IntegrityError: at the checkpoint that does not open.
        """
        refuse_in_own_loop(self._inner)
        plan = Listing.plan(self._core, config, filter, before, limit)
        given = 0
        with contextlib.ExitStack() as stack:
            if plan.joined:
                with damage_named():
                    found = [row for call in plan.calls() for row in self._inner.list(plan.config, **call)]
                rows: Iterator[CheckpointTuple] = iter(plan.join(found))
            else:
                rows = iter(self._inner.list(plan.config, **next(plan.calls())))
                if close := getattr(rows, "close", None):
                    stack.callback(close)
            while plan.wants_more(given):
                with damage_named():
                    row = next(rows, None)
                if row is None:
                    return
                if (opened := plan.accept(row)) is not None:
                    given += 1
                    yield opened

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  # LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        plan = Listing.plan(self._core, config, filter, before, limit)
        given = 0
        async with contextlib.AsyncExitStack() as stack:
            if plan.joined:
                with damage_named():
                    found = [row for call in plan.calls() async for row in self._inner.alist(plan.config, **call)]
                rows = _each(plan.join(found))
            else:
                rows = aiter(self._inner.alist(plan.config, **next(plan.calls())))
            if close := getattr(rows, "aclose", None):
                stack.push_async_callback(close)
            while plan.wants_more(given):
                with damage_named():
                    row = await anext(rows, None)
                if row is None:
                    return
                if (opened := await in_thread(plan.accept, row)) is not None:
                    given += 1
                    yield opened

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver.put`.

        Raises:
            ValueNotStorableError: a value cannot be stored losslessly; nothing was stored.
            KeyAccessError, RetryableError: from the key source; nothing was stored. Of these, `ThreadErasedError` and `ThreadFencedError`:
                the thread was erased; only a checkpoint without a parent, in the root namespace and after the fence, begins anew.
        """
        with self._core.beginning(config):
            return run(self._core.put(config, checkpoint, metadata, new_versions), self._inner)

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """As `put`."""
        with self._core.beginning(config):
            return await arun(self._core.put(config, checkpoint, metadata, new_versions), self._inner)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """See `BaseCheckpointSaver.put_writes`; raises as `put`."""
        run(self._core.put_writes(config, writes, task_id, task_path, takes_path=self._takes_path), self._inner)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """As `put_writes`."""
        await arun(self._core.put_writes(config, writes, task_id, task_path, takes_path=self._takes_path), self._inner)

    def delete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver.delete_thread`. With a key store, first destroys the thread's key (`erase_keys`), as `erase_thread`.

        Raises:
            KeyAccessError: the key store is read-only; nothing was removed.
            RetryableError: from the key store; the same call may be made again.
        """
        run(self._core.delete_thread(thread_id), self._inner)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await arun(self._core.delete_thread(thread_id), self._inner)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `BaseCheckpointSaver.delete_for_runs`."""
        run(self._core.delete_for_runs(run_ids), self._inner)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await arun(self._core.delete_for_runs(run_ids), self._inner)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `BaseCheckpointSaver.copy_thread`. Everything is opened at the source and sealed anew for the target."""
        run(copy_thread(self._core, source_thread_id, target_thread_id), self._inner)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await arun(copy_thread(self._core, source_thread_id, target_thread_id), self._inner)

    def prune(self, thread_ids: Sequence[str], **options: Any) -> None:
        """See `BaseCheckpointSaver.prune`."""
        run(self._core.prune(thread_ids, options), self._inner)

    async def aprune(self, thread_ids: Sequence[str], **options: Any) -> None:
        """As `prune`."""
        await arun(self._core.prune(thread_ids, options), self._inner)

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """See `BaseCheckpointSaver.get_delta_channel_history`; raises as `get_tuple`."""
        return run(delta_history(self._core, config, channels), self._inner)

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        return await arun(delta_history(self._core, config, channels), self._inner)

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc: object) -> Any:
        return self._inner.__exit__(*exc)

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> Any:
        return await self._inner.__aexit__(*exc)


async def _each(rows: Sequence[CheckpointTuple]) -> AsyncIterator[CheckpointTuple]:
    for row in rows:
        yield row
