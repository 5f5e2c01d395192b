"""`SealedSaver`: any LangGraph checkpointer, nothing in clear and everything in its place; the parts do the work, this joins them."""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, Self

from langgraph.checkpoint.base import BaseCheckpointSaver

from ...ciphers import KeySource
from ...errors import ConfigurationError
from ...events import Hook
from ...keys import ErasureReceipt, Keyring, Unencrypted
from ...locks import ForkSafeLock
from ...serde import LayeredSerializer, sealed_serializer
from ...serde.padding import Padme
from .. import threads
from ..scoped import scope_of
from .advertise import has, sealed_class
from .cache import OriginCache
from .cells import Cells
from .clear import check_passed
from .core import Core
from .coverage import Coverage, Survey, coverage
from .drive import arun, run
from .inherited import listed_types
from .methods import Methods
from .migration import convert
from .names import Names
from .narrowing import narrowed
from .opening import Opener
from .profile import profile_of
from .tokens import Tokens, check_fields

INDEX_KEYS: Final = "SEALPOINT_INDEX_KEYS"
_CACHE_BYTES: Final = 64 * 1024 * 1024


class SealedSaver(BaseCheckpointSaver[Any]):
    """A checkpointer that seals what goes into another one, and refuses what comes out changed.

    The inner saver and its schema stay as they are. Values, writes, checkpoints and metadata are sealed and bound to thread, namespace,
    checkpoint, channel, version and task; the inner saver parses none of it. What stays readable is named in
    docs/limitations-sealed-saver.md.

    It has the methods that the inner saver's class has, and no others; what else is public on the inner saver (`setup`, `conn`, …) is
    reached through it. It works on a shallow copy of the inner saver, so the object that was passed in still reads and writes as before: do
    not use both.

    Args:
        inner: any `BaseCheckpointSaver`. A saver that seals by itself is returned as it is.
        keys: a key source. None takes the environment's (`SEALPOINT_KEYS`, else `LANGGRAPH_AES_KEY`). `sealpoint.UNENCRYPTED` seals
            nothing.
        serde: the serializer to seal with, instead of `keys`. Without one, types that the inner saver's own serializer lists
            (`JsonPlusSerializer(allowed_msgpack_modules=[…])`) are allowed as well.
        scope: separates applications that share a key; that of `serde`, where it has one.
        migrate: reads what was stored before sealing began, unauthenticated and counted, while the store is converted.
        pass_through: keys of `configurable` that the inner saver needs; they go inward in clear.
        search_fields: metadata keys that `list(filter=…)` can look up by keyed tokens; needs index keys.
        index_keys: the keys of tokens. None takes `SEALPOINT_INDEX_KEYS` when a token is asked for.
        hash_thread_ids: stores keyed tokens instead of thread ids; needs index keys. Chosen before the first write: over a store that was
            written without it, old threads are not found.
        hide_names: stores keyed tokens instead of channel names and of node names in namespaces; needs index keys. Likewise.
        pad_lengths: pads what is sealed, so that its length says less (Padmé).
        cache_bytes: of sealed cells kept in memory, so that unchanged channels are not sealed again.
        erase_keys: with `ThreadKeys` as keys, `delete_thread` also destroys the thread's key, so that no copy of the data opens any more.
            False leaves it: what backups hold stays readable.
        on_event: called for every seal, open and refusal; see `sealpoint.events.Event`.

    Raises:
        NoKeyError: there is no key; the message says how to make one.
        ConfigurationError: the arguments contradict each other, or `inner` is no checkpointer.
    """

    if TYPE_CHECKING:  # there when the inner saver has them, as with every method that an inner saver need not have

        def __enter__(self) -> Self: ...
        def __exit__(self, *exc: Any) -> Any: ...
        async def __aenter__(self) -> Self: ...
        async def __aexit__(self, *exc: Any) -> Any: ...

    _core: Core
    _inner: Any
    _takes_path: bool

    def __new__(cls, inner: Any = None, *args: Any, **kwargs: Any) -> Any:
        """An instance of the class that stands for `inner`'s class; `inner` itself when it seals by itself."""
        if getattr(inner, "seals_by_itself", False):
            if args or kwargs:
                raise ConfigurationError(f"{type(inner).__name__} seals by itself: give it the keys, and no second seal")
            return inner
        if inner is None or isinstance(inner, SealedSaver):
            return super().__new__(cls)  # copies; __init__ refuses the rest
        if not isinstance(inner, BaseCheckpointSaver):
            raise ConfigurationError(
                f"SealedSaver wraps a LangGraph checkpointer, not {type(inner).__name__}; was it a context manager (`with … as saver`)?"
            )
        return super().__new__(sealed_class(SealedSaver, Methods, type(inner)))

    def __init__(
        self,
        inner: BaseCheckpointSaver[Any],
        keys: KeySource | Unencrypted | None = None,
        *,
        serde: LayeredSerializer | None = None,
        scope: str = "",
        migrate: bool = False,
        pass_through: Iterable[str] = (),
        search_fields: Iterable[str] = (),
        index_keys: Keyring | None = None,
        hash_thread_ids: bool = False,
        hide_names: bool = False,
        pad_lengths: bool = False,
        cache_bytes: int = _CACHE_BYTES,
        erase_keys: bool = True,
        on_event: Hook | None = None,
    ) -> None:
        if isinstance(inner, SealedSaver):
            raise ConfigurationError("this saver is sealed already")
        if serde is not None and not isinstance(serde, LayeredSerializer):
            raise ConfigurationError(f"serde is what sealed_serializer() makes, not {type(serde).__name__}: only that knows of places")
        if serde is not None and keys is not None:
            raise ConfigurationError("give keys or a serde, not both: the serde has its keys")
        if serde is not None and (pad_lengths or on_event is not None):
            raise ConfigurationError("pad_lengths and on_event are for the serializer made here; give them to the serde that you pass")
        if serde is not None and serde.migrates != migrate:
            raise ConfigurationError(_one_switch(migrate))
        if migrate and isinstance(keys, Unencrypted):
            raise ConfigurationError("migrate=True moves a store to sealed values; with UNENCRYPTED there is nothing to tell them by")
        if migrate and (hash_thread_ids or hide_names):
            raise ConfigurationError(
                "convert the store first, then hide ids in a copy of it: under hidden ids old checkpoints would not be found"
            )
        for name, names_given in (("pass_through", pass_through), ("search_fields", search_fields)):
            if isinstance(names_given, str):
                raise ConfigurationError(f"{name} is a list of names, and one text was given: put it into a list")
        scope = scope_of(serde, scope)
        fields, passed = check_fields(search_fields), check_passed(pass_through)
        sealing = serde if serde is not None else _serializer(inner, keys, scope, migrate=migrate, pad=pad_lengths, on_event=on_event)
        if migrate and sealing.keys is None:
            raise ConfigurationError(
                "migrate=True tells sealed values from old ones by Sealpoint's envelope, and this serde seals without it: its last layer "
                "has to be AesGcm. Copy the store with a saver on each side"
            )
        tokens = _tokens(index_keys, scope, needed=bool(fields) or hash_thread_ids or hide_names)
        names = Names(tokens, threads=hash_thread_ids, nodes=hide_names)
        profile = profile_of(inner)
        cells = Cells(sealing, scope, names)
        self._counts: Counter[str] = Counter()
        self._counts_lock = ForkSafeLock()
        opener = Opener(cells, names, profile, migrate=migrate, count=self._count)
        self._core = Core(
            cells, opener, OriginCache(cache_bytes), names, profile,
            pass_through=passed, tokens=tokens, fields=fields, migrate=migrate, erase_keys=erase_keys,
        )  # fmt: skip
        if migrate and not profile.converts:
            raise ConfigurationError(f"a {type(inner).__name__} is not read in migration mode; copy its threads with a saver on each side")
        self._inner = narrowed(inner, profile, sealing.loads_typed if migrate else None)
        self._takes_path = "task_path" in inspect.signature(inner.put_writes).parameters
        self.serde = sealing

    # --- the inner saver's own ------------------------------------------------------------------------------------

    @property
    def config_specs(self) -> list[Any]:
        """The inner saver's."""
        specs: list[Any] = self._inner.config_specs
        return specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The inner saver's."""
        return self._inner.get_next_version(current, channel)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    # --- ours -----------------------------------------------------------------------------------------------------

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> SealedSaver:
        """The same saver, with a serializer that also allows these types; LangGraph calls it in strict mode."""
        serde = self._core.cells.serde.with_msgpack_allowlist(extra_allowlist)
        clone = copy.copy(self)
        cells = Cells(serde, self._core.cells.scope, self._core.names)
        clone._core = copy.copy(self._core)
        clone._core.cells = cells
        clone._core.opener = self._core.opener.with_cells(cells)
        clone.serde = serde
        if self._core.migrate:
            clone._inner = narrowed(self._inner, self._core.profile, serde.loads_typed)
        return clone

    def erase_thread(self, thread_id: str) -> ErasureReceipt:
        """Destroys the thread's key, then removes everything of it; made again, it ends what was cut off, with the same receipt.

        Raises:
            ConfigurationError: the keys are not `ThreadKeys`; nothing was removed.
            KeyAccessError: the key store is read-only; nothing was removed.
            RetryableError: some may be left; the same call may be made again.
        """
        self._check_deletes("delete_thread")
        return run(self._core.erase_thread(thread_id), self._inner)

    async def aerase_thread(self, thread_id: str) -> ErasureReceipt:
        """As `erase_thread`."""
        self._check_deletes("adelete_thread")
        return await arun(self._core.erase_thread(thread_id), self._inner)

    def coverage(self, thread_id: str | None = None) -> Coverage:
        """How much of the store, or of one thread, is sealed; what is left unsealed needs migration mode. Builds no value."""
        return run(coverage(self._core, thread_id), self._counting())

    async def acoverage(self, thread_id: str | None = None) -> Coverage:
        """As `coverage`."""
        return await arun(coverage(self._core, thread_id), self._counting())

    def convert(self, thread_id: str | None = None) -> Coverage:
        """Seals in place what was stored before, in the store or in one thread, and returns what is covered afterwards.

        What is left unsealed afterwards was added meanwhile by a process without SealedSaver: end that, and convert again.

        Raises:
            TypeRefusedError: old values hold types that the serde's `allowed_types` does not name. The message names all of them; nothing
                was converted.
            ConfigurationError: not in migration mode, or not over a saver whose rows can be replaced (SqliteSaver, PostgresSaver; the
                stores of their async forms are converted through them). Copy any other store with a saver on each side.
        """
        if not self._core.migrate:
            raise ConfigurationError("convert() reads old values: it needs migrate=True on the saver, and on its serde if one is given")
        rows = self._core.profile.rows
        if rows is None:
            raise ConfigurationError(
                f"convert() replaces rows, which it cannot through {type(self._inner).__name__}: convert through the sync saver on the "
                "same database (SqliteSaver or PostgresSaver, in a SealedSaver with migrate=True); copy any other store with a saver on "
                "each side"
            )
        return convert(self._core, self._inner, rows(self._inner), thread_id)

    async def aconvert(self, thread_id: str | None = None) -> Coverage:
        """As `convert`, in a thread. It converts through a sync saver too: AsyncSqliteSaver and AsyncPostgresSaver are refused.

        Raises:
            As `convert`.
        """
        return await threads.WORKERS.run(self.convert, thread_id)

    def stats(self) -> dict[str, dict[str, int]]:
        """Counts so far: sealed, opened, refused (`LayeredSerializer.stats`), and under ``saver`` what was met unsealed or cut short."""
        return {**self._core.cells.serde.stats(), "saver": dict(self._counts)}

    def _counting(self) -> Any:
        """The inner saver for a count, in which old cells are only looked through."""
        profile = self._core.profile
        return narrowed(self._inner, profile, Survey(self._core.cells.serde).load) if profile.converts else self._inner

    def _check_deletes(self, method: str) -> None:
        if not has(type(self), method):
            raise NotImplementedError(f"{type(self._inner).__name__} has no {method}; sealpoint.keys.erase destroys the key alone")

    def _count(self, what: str) -> None:
        with self._counts_lock:
            self._counts[what] += 1

    def __repr__(self) -> str:
        return f"SealedSaver({type(self).__name__.removeprefix('Sealed')})"


def _serializer(
    inner: Any, keys: KeySource | Unencrypted | None, scope: str, *, migrate: bool, pad: bool, on_event: Hook | None
) -> LayeredSerializer:
    made = sealed_serializer(keys, migrate=migrate, scope=scope, on_event=on_event, padding=Padme() if pad else None)
    return made.with_msgpack_allowlist(listed_types(getattr(inner, "serde", None)))


def _one_switch(migrate: bool) -> str:
    """What to do where only one of saver and serde is in migration mode."""
    if migrate:
        return (
            "migrate=True, and a serde that is not in migration mode: it would refuse the old values that the saver admits. "
            "Make it with sealed_serializer(migrate=True, allowed_types=[…]); your own classes go into the list"
        )
    return (
        "the serde is in migration mode and the saver is not, so old checkpoints would be refused all the same. Give both migrate=True to "
        "read and convert a store from before sealing; once coverage() is complete, drop it from both"
    )


def _tokens(index_keys: Keyring | None, scope: str, *, needed: bool) -> Tokens | None:
    if not needed:
        return None
    if index_keys is None:
        import os

        if INDEX_KEYS not in os.environ:
            raise ConfigurationError(
                f"search fields and hidden names need an index key: set {INDEX_KEYS} (written like SEALPOINT_KEYS), or pass index_keys="
            )
        index_keys = Keyring.parse(os.environ[INDEX_KEYS])
    return Tokens(index_keys, scope)
