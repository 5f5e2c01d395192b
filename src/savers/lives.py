"""What a saver tells the key store of a thread's life: that it begins, ends or is copied; values and requests are the savers' business."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from ..ciphers import KeySource
from ..context import Context
from ..errors import ConfigurationError, ThreadErasedError
from ..keys import ErasureReceipt, ThreadKeys, all_thread_keys, erase, thread_keys
from .objects.ulid import from_uuid6, milliseconds

StoredAs = Callable[[str], str | None]
"""What the saver stores in the place of a thread's id, where cells hold the id itself: those have a key of their own."""


@dataclass(frozen=True, slots=True)
class Lives:
    """The key store in use, as one saver sees it. Its methods block: async callers run them in a thread.

    Without a key store nothing is told, and nothing costs a call.

    Args:
        sealing: the key store that seals, if one does.
        holding: every key store that opens: each may hold a key of a thread.
        scope: the saver's.
        stored_as: the saver's names for threads.
    """

    sealing: ThreadKeys | None
    holding: tuple[ThreadKeys, ...]
    scope: str
    stored_as: StoredAs

    @classmethod
    def of(cls, keys: KeySource | None, scope: str, stored_as: StoredAs) -> Lives:
        """What `keys` contains of key stores."""
        return cls(None, (), scope, stored_as) if keys is None else cls(thread_keys(keys), all_thread_keys(keys), scope, stored_as)

    def begins(self, checkpoint_ns: str, parent: str | None) -> bool:
        """Whether a put there may be the first of a new life: one of the root namespace, without a parent.

        A subgraph's first checkpoint has no parent either, but belongs to a run that is under way: such a run, outliving the fence, must
        not bring its thread back.
        """
        return self.sealing is not None and not checkpoint_ns and not parent

    def begin(self, thread_id: str) -> None:
        """The thread has a key that seals, also if it was erased, once its fence has passed.

        Raises:
            ThreadFencedError: the erasure is too recent; try again when the message says.
            KeyAccessError, RetryableError, IntegrityError: from the key store; nothing was stored.
        """
        if self.sealing is not None:
            for context in self._keyed(thread_id):
                self.sealing.begin(context)

    @contextmanager
    def beginning(self, thread_id: str, checkpoint_ns: str, parent: str | None) -> Iterator[None]:
        """Put around a whole put, from its first step on: if it may begin a life, what else is stored for the thread waits for `begin`."""
        with ExitStack() as stack:
            if self.sealing is not None and self.begins(checkpoint_ns, parent):
                for context in self._keyed(thread_id):
                    stack.enter_context(self.sealing.announced(context))
            yield

    def _keyed(self, thread_id: str) -> list[Context]:
        """A place of the thread for each of its keys."""
        stored = self.stored_as(thread_id)
        places = [Context.checkpoint(self.scope, thread_id, "", "")]
        return places if stored is None else [*places, Context.stored_place(self.scope, stored, "", "")]

    def earlier(self, thread_id: str, named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of the checkpoints (namespace, id) that were made before the thread's present life, going by the time in their ids.

        A run that outlives the erasure and the fence would else go on under the new life's key, and bring back what was erased. A copy has
        old ids too: whoever asks looks whether the checkpoint is there and opens. An id that is no UUIDv6 tells no time.

        Raises:
            ThreadErasedError, KeyAccessError, RetryableError, IntegrityError: as `ThreadKeys.current`.
        """
        if self.sealing is None:
            return []
        context = Context.checkpoint(self.scope, thread_id, "", "")
        made = [(ns, checkpoint_id, from_uuid6(checkpoint_id)) for ns, checkpoint_id in named]
        return [
            (ns, checkpoint_id)
            for ns, checkpoint_id, ulid in made
            if ulid is not None and self.sealing.is_of_earlier_life(context, milliseconds(ulid))
        ]

    def copy(self, source: str, target: str) -> int:
        """The target has a key, and the copy is on record, before anything is copied; its generation, for `copied`.

        Raises:
            ThreadErasedError: the source was erased.
            ThreadFencedError, KeyAccessError, RetryableError, IntegrityError: as `begin`.
        """
        if self.sealing is None or source == target:
            return 0
        self.begin(target)
        return self.sealing.record_copy(source, target, scope=self.scope)

    def copied(self, source: str, target: str, generation: int) -> None:
        """After the copying: a copy whose target was erased and begun anew meanwhile is on record for the life that it ended in, too.

        Raises:
            ThreadErasedError, KeyAccessError, RetryableError, IntegrityError: as `copy`.
        """
        if self.sealing is not None and source != target and self.sealing.generation(target, scope=self.scope) != generation:
            self.sealing.record_copy(source, target, scope=self.scope)

    def end(self, thread_id: str) -> ErasureReceipt:
        """The thread's key is destroyed; see `sealpoint.keys.erase`.

        Raises:
            ConfigurationError: no key store is in use.
            KeyAccessError: a key store is read-only; nothing was destroyed.
            RetryableError, IntegrityError: from the key store.
        """
        if not self.holding:
            raise ConfigurationError(_NO_STORE)
        for threads in self.holding:
            threads.check_may_write()
        receipts = [erase(threads, thread_id, scope=self.scope, stored_as=self.stored_as(thread_id)) for threads in self.holding]
        return receipts[0]


def continued(checkpoint_ns: str, parent: str | None, metadata: Any) -> list[tuple[str, str]]:
    """Namespace and id of each checkpoint that a put continues: its parent, and those of the graphs around it."""
    around = metadata.get("parents") if isinstance(metadata, Mapping) else None
    named = list(around.items()) if isinstance(around, Mapping) else []
    if parent:
        named.append((checkpoint_ns, parent))
    return [(ns, checkpoint_id) for ns, checkpoint_id in named if isinstance(ns, str) and isinstance(checkpoint_id, str)]


def of_earlier_life() -> ThreadErasedError:
    """The error for a run that goes on from before the erasure."""
    return ThreadErasedError(
        "this continues a checkpoint of an earlier life of the thread, which was erased; nothing was stored: a new run begins the "
        "conversation anew"
    )


_NO_STORE: Final = (
    "a thread is erased by destroying its key, and these keys are not one for each thread: use keys=sealpoint.keys.ThreadKeys(…); "
    "delete_thread removes the data that is at hand"
)
