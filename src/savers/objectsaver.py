"""`ObjectSaver`: a LangGraph checkpointer over an object store; which requests it makes and what objects hold is decided in `objects`."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Self, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)

from ..ciphers import KeySource
from ..errors import ConfigurationError
from ..keys import ErasureReceipt, Keyring, Unencrypted
from ..serde import LayeredSerializer, sealed_serializer
from ..stores import ObjectStore
from .lives import Lives
from .objects.asked import as_asked, check_strategy, id_of, place_of
from .objects.cells import Cells
from .objects.continuing import continuing, copying, putting
from .objects.copy import Copier
from .objects.heads import Heads
from .objects.history import Historian
from .objects.layout import Layout, Place, ThreadHash
from .objects.listing import listing
from .objects.read import Reader, config_of
from .objects.remove import Remover
from .objects.waves import Plan, Runner, Work
from .objects.write import Writer
from .scoped import scope_of
from .uri import open_store

DEFAULT_INLINE_BYTES: Final = 4096


class ObjectSaver(BaseCheckpointSaver[str]):
    """Checkpoints as sealed objects. Sync and async callers may share one instance; threads may, and so may processes, one store.

    Args:
        store: where objects live: `sealpoint.stores.FolderStore`, `S3Store`, `MemoryStore`, or anything that follows `ObjectStore`.
        keys: a key source. None takes the environment's (`SEALPOINT_KEYS`, else `LANGGRAPH_AES_KEY`); `sealpoint.UNENCRYPTED` stores
            plaintext.
        serde: a chain of your own, in the place of `keys`.
        scope: separates applications that share a key: what one scope sealed does not open in another. That of `serde`, where it has one.
        inline_bytes: values up to this size, serialized, stay in the checkpoint object; larger ones are objects of their own, stored once
            while they do not change.
        hash_threads: a keyring of its own, never rotated: thread ids become keyed hashes in all object keys, so that a listing names none.
        erase_keys: with `ThreadKeys` as keys, `delete_thread` also destroys the thread's key, so that no copy of the data opens any more.
            False leaves it: what backups hold stays readable.

    Raises:
        NoKeyError: no key is given and the environment has none.
        ConfigurationError: the arguments contradict each other.

    >>> from sealpoint import Keyring
    >>> from sealpoint.stores import MemoryStore
    >>> saver = ObjectSaver(MemoryStore(), Keyring.generate())
    """

    seals_by_itself: ClassVar[bool] = True
    """`SealedSaver` returns such a saver as it is."""

    serde: LayeredSerializer  # type: ignore[mutable-override] # LangGraph replaces it only by what `with_msgpack_allowlist` answers

    def __init__(
        self,
        store: ObjectStore,
        keys: KeySource | Unencrypted | None = None,
        *,
        serde: LayeredSerializer | None = None,
        scope: str = "",
        inline_bytes: int = DEFAULT_INLINE_BYTES,
        hash_threads: Keyring | None = None,
        erase_keys: bool = True,
    ) -> None:
        if serde is not None and keys is not None:
            raise ConfigurationError("ObjectSaver takes keys, or a serde that has its own; not both")
        if serde is not None and not isinstance(serde, LayeredSerializer):
            raise ConfigurationError(f"serde is a sealpoint.serde.LayeredSerializer here, not {type(serde).__name__}: it must bind places")
        if not isinstance(store, ObjectStore):
            raise ConfigurationError(f"{type(store).__name__} is not an object store; for a URI use ObjectSaver.from_uri")
        if inline_bytes < 0:
            raise ConfigurationError("inline_bytes is a size in bytes, 0 or more")
        self._scope = scope_of(serde, scope)
        super().__init__(serde=sealed_serializer(keys, scope=self._scope) if serde is None else serde)
        self.store = store
        self._inline_bytes = inline_bytes
        self._erase_keys = erase_keys
        self._layout = Layout(None if hash_threads is None else ThreadHash.of(hash_threads, self._scope))
        self._heads = Heads()
        self._runner = Runner(store)

    @staticmethod
    def from_uri(uri: str, keys: KeySource | Unencrypted | None = None, **options: Any) -> ObjectSaver:
        """A saver for ``file:///folder``, ``s3://bucket/prefix`` or ``memory://``.

        Args:
            uri: where; anything but those three is refused.
            keys: as for the class.
            options: the class's other arguments.

        Raises:
            ConfigurationError: the URI is of another form.
            MissingExtraError: ``s3://`` without the extra ``s3``.
        """
        return ObjectSaver(open_store(uri), keys, **options)

    # --- read -----------------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the latest of its namespace, with its pending writes; None when there is none.

        Raises:
            IntegrityError: what is stored was damaged, forged, moved, or lost a part.
            KeyAccessError: supply the key that the message names.
            RetryableError: the store is out of reach.
        """
        return as_asked(config, self._runner.run(self._get(config)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`, without blocking the event loop."""
        return as_asked(config, await self._runner.arun(self._get(config)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, greatest id first, streamed: of one namespace, of all of a thread's, or (`config` None) of all threads.

        Args:
            config: names a thread, and perhaps a namespace and a checkpoint.
            filter: metadata fields and the values they must equal.
            before: only checkpoints with a smaller id.
            limit: at most so many.

        Raises:
            IntegrityError, KeyAccessError, RetryableError: as `get_tuple`, when it comes to the checkpoint in question.
        """
        yield from self._runner.stream(listing(self._reader(), config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`, without blocking the event loop."""
        async for item in self._runner.astream(listing(self._reader(), config, filter, before, limit)):
            yield item

    def threads(self) -> Iterator[str]:
        """The ids of all threads, streamed, in the order of their keys."""
        yield from self._runner.stream(self._reader().threads())

    async def athreads(self) -> AsyncIterator[str]:
        """As `threads`, without blocking the event loop."""
        async for thread_id in self._runner.astream(self._reader().threads()):
            yield thread_id

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Each channel's writes among the ancestors back to its nearest stored value: see LangGraph's own docstring.

        Raises:
            IntegrityError, KeyAccessError, RetryableError: as `get_tuple`.
        """
        return self._runner.run(self._history(config, channels)) if channels else {}

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`, without blocking the event loop."""
        return await self._runner.arun(self._history(config, channels)) if channels else {}

    # --- write ----------------------------------------------------------------------------------------------------

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint; when this returns it is durable, with everything it refers to.

        Without a parent, in the root namespace, it begins a new life of a thread that was erased.

        Raises:
            ThreadErasedError, ThreadFencedError: the thread was erased; only a checkpoint without a parent, after the fence, begins anew.
            ValueNotStorableError: a value cannot be stored so that it comes back equal; nothing was stored.
            RetryableError: the store is out of reach; the same call may be made again.
        """
        place, plan = self._put(config, checkpoint, metadata, new_versions)
        with self._beginning(place, config):
            self._runner.run(plan)
        return config_of(place, checkpoint["id"])

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """As `put`, without blocking the event loop."""
        place, plan = self._put(config, checkpoint, metadata, new_versions)
        with self._beginning(place, config):
            await self._runner.arun(plan)
        return config_of(place, checkpoint["id"])

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Stores the writes of a task as one object. Special channels overwrite what they held; of others the first stays.

        Raises:
            ValueNotStorableError, RetryableError: as `put`.
        """
        if writes:
            self._runner.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """As `put_writes`, without blocking the event loop."""
        if writes:
            await self._runner.arun(self._put_writes(config, writes, task_id, task_path))

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """A version greater than `current` that no fork can draw as well: a counter of 32 digits, a dot, 16 random digits of the OS."""
        counter = 0 if current is None else int(current) if isinstance(current, (int, float)) else int(current.partition(".")[0])
        return f"{counter + 1:032}.{secrets.randbelow(10**16):016}"

    # --- remove and copy ------------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Removes everything of a thread. With a key store, first destroys its key (`erase_keys`), as `erase_thread`.

        Raises:
            KeyAccessError: the key store is read-only; nothing was removed.
            RetryableError: some may be left; the same call may be made again.
        """
        self._runner.run(self._delete(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`, without blocking the event loop."""
        await self._runner.arun(self._delete(str(thread_id)))

    def erase_thread(self, thread_id: str) -> ErasureReceipt:
        """Destroys the thread's key, then removes everything of it; made again, it ends what was cut off, with the same receipt.

        Raises:
            ConfigurationError: the keys are not `ThreadKeys`; nothing was removed.
            KeyAccessError, RetryableError: as `delete_thread`.
        """
        return self._runner.run(self._erase(str(thread_id)))

    async def aerase_thread(self, thread_id: str) -> ErasureReceipt:
        """As `erase_thread`, without blocking the event loop."""
        return await self._runner.arun(self._erase(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str], *, thread_ids: Sequence[str] | None = None) -> None:
        """Removes the checkpoints of some runs. It opens every checkpoint there is: run ids are sealed.

        A thread that lives on may need such a checkpoint for its delta channels: see LangGraph's own warning.

        Args:
            run_ids: as in the metadata.
            thread_ids: look in these threads only, when they are known.

        Raises:
            RetryableError: some may be left; the same call may be made again.
        """
        wanted = frozenset(str(run_id) for run_id in run_ids)
        for thread_id in self.threads() if thread_ids is None and wanted else thread_ids or ():
            self._runner.run(self._remover().runs(str(thread_id), wanted))

    async def adelete_for_runs(self, run_ids: Sequence[str], *, thread_ids: Sequence[str] | None = None) -> None:
        """As `delete_for_runs`, without blocking the event loop."""
        wanted = frozenset(str(run_id) for run_id in run_ids)
        if not wanted:
            return
        for thread_id in [thread_id async for thread_id in self.athreads()] if thread_ids is None else thread_ids:
            await self._runner.arun(self._remover().runs(str(thread_id), wanted))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes old checkpoints.

        Args:
            thread_ids: the threads.
            strategy: ``keep_latest`` keeps each namespace's latest checkpoint and what its delta channels are rebuilt from;
                ``delete`` keeps nothing.

        Raises:
            ConfigurationError: another strategy.
            RetryableError: some may be left; the same call may be made again.
        """
        check_strategy(strategy)
        for thread_id in thread_ids:
            self._runner.run(self._prune(str(thread_id), strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`, without blocking the event loop."""
        check_strategy(strategy)
        for thread_id in thread_ids:
            await self._runner.arun(self._prune(str(thread_id), strategy))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies a thread with all its history, sealed anew for its new place; with a key store, the copy is on record before.

        Raises:
            ThreadErasedError, ThreadFencedError: the source was erased; or the target was, too lately to begin anew.
            IntegrityError, KeyAccessError: as `get_tuple`.
            RetryableError: a part may be copied; the same call may be made again.
        """
        self._runner.run(self._copy(str(source_thread_id), str(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`, without blocking the event loop."""
        await self._runner.arun(self._copy(str(source_thread_id), str(target_thread_id)))

    def close(self) -> None:
        """Gives back threads and connections."""
        self._runner.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ObjectSaver({self.store!r}, {self.serde!r})"

    # --- plans ----------------------------------------------------------------------------------------------------

    def _cells(self) -> Cells:
        """With the serializer of this very instance: LangGraph clones a saver and gives the clone another (`with_allowlist`)."""
        return Cells(self.serde, self._scope, self._layout)

    def _reader(self) -> Reader:
        return Reader(self._cells(), self._heads)

    def _remover(self) -> Remover:
        return Remover(self._reader())

    def _writer(self) -> Writer:
        return Writer(self._cells(), self._heads, self._inline_bytes)

    def _get(self, config: RunnableConfig) -> Plan[CheckpointTuple | None]:
        checkpoint_id, reader, place = id_of(config), self._reader(), place_of(config)
        return reader.latest(place) if checkpoint_id is None else reader.by_id(place, checkpoint_id)

    def _history(self, config: RunnableConfig, channels: Sequence[str]) -> Plan[dict[str, DeltaChannelHistory]]:
        return Historian(self._reader()).history(place_of(config), id_of(config), channels)

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> tuple[Place, Plan[None]]:
        place, parent = place_of(config), id_of(config)
        complete = get_checkpoint_metadata(config, metadata)
        plan = self._writer().put(place, parent, checkpoint, dict(complete), new_versions)
        return place, putting(self._lives(), self._reader(), place, parent, metadata, plan)

    def _beginning(self, place: Place, config: RunnableConfig) -> AbstractContextManager[None]:
        return self._lives().beginning(place.thread_id, place.checkpoint_ns, id_of(config))

    def _put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> Plan[None]:
        checkpoint_id = id_of(config)
        if checkpoint_id is None:
            raise ConfigurationError("put_writes needs the checkpoint_id that the writes belong to, in config['configurable']")
        place = place_of(config)
        plan = self._writer().put_writes(place, checkpoint_id, tuple(writes), task_id, task_path)
        return continuing(self._lives(), self._reader(), place, [(place.checkpoint_ns, checkpoint_id)], plan)

    def _delete(self, thread_id: str) -> Plan[Any]:
        return self._erase(thread_id) if self._erase_keys and self._lives().holding else self._remover().thread(thread_id)

    def _erase(self, thread_id: str) -> Plan[ErasureReceipt]:
        """The key first: whatever a kill leaves is unreadable then, and goes with the next call."""
        lives = self._lives()
        (receipt,) = yield [Work(lambda: lives.end(thread_id))]
        yield from self._remover().thread(thread_id)
        return cast("ErasureReceipt", receipt)

    def _copy(self, source: str, target: str) -> Plan[None]:
        return copying(self._lives(), source, target, Copier(self._reader()).thread(source, target))

    def _lives(self) -> Lives:
        return Lives.of(self.serde.keys, self._scope, lambda thread_id: self._layout.thread_folder(thread_id).rstrip("/"))

    def _prune(self, thread_id: str, strategy: str) -> Plan[None]:
        return self._remover().thread(thread_id) if strategy == "delete" else self._remover().keep_latest(thread_id)
