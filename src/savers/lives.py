"""What a saver tells the key store of a thread's life: that it begins, ends or is copied; values and requests are the savers' business."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from ..ciphers import KeySource
from ..context import Context
from ..errors import ConfigurationError
from ..keys import ErasureReceipt, ThreadKeys, all_thread_keys, erase, thread_keys

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

    def copy(self, source: str, target: str) -> None:
        """The target has a key, and the copy is on record, before anything is copied.

        Raises:
            ThreadErasedError: the source was erased.
            ThreadFencedError, KeyAccessError, RetryableError, IntegrityError: as `begin`.
        """
        if self.sealing is None or source == target:
            return
        self.begin(target)
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


_NO_STORE: Final = (
    "a thread is erased by destroying its key, and these keys are not one for each thread: use keys=sealpoint.keys.ThreadKeys(…); "
    "delete_thread removes the data that is at hand"
)
