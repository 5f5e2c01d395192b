"""Plans of requests, and what carries them out, sync or async; a plan does no I/O, and a runner knows nothing of checkpoints.

A plan is a generator. It yields waves: requests that may all be in flight at once. It is sent their results in the same order. So the
number of round trips of an operation is the number of times its plan yields, and one plan serves sync and async callers.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from ...errors import NotFoundError
from ...locks import ForkSafeLock
from ...stores import Listed, ObjectStore
from ...stores.base import is_key
from .. import threads

T = TypeVar("T")

WINDOW: Final = 256  # requests that a plan puts into one wave, about: it bounds memory and keeps 32 threads busy
_THREADS: Final = 32


@dataclass(frozen=True, slots=True)
class Get:
    """Reads an object: its bytes, or None when there is none."""

    key: str


@dataclass(frozen=True, slots=True)
class Put:
    """Writes an object, unconditionally."""

    key: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """Lists at most `limit` objects: a tuple of `Listed`."""

    prefix: str
    start_after: str
    limit: int


@dataclass(frozen=True, slots=True)
class Folders:
    """Lists the next segments below a prefix: a tuple of str."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes objects, in the order given, in batches of a thousand."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteAll:
    """Removes everything below a prefix, a thousand objects at a time; gives the number of objects.

    Somebody else's, under a key that stores do not take (`t-x/`, a space, …), is left where it is: it must not keep ours from going.

    Args:
        prefix: below which.
        later: which of a thousand go in a batch of their own, once that of the others is done: within one batch a store keeps no order, and
            it may remove a part.
    """

    prefix: str
    later: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Work:
    """Computes something that takes a while, such as sealing: off the event loop for async callers."""

    compute: Callable[[], Any]


Request = Get | Put | Page | Folders | Delete | DeleteAll | Work
Plan = Generator[Sequence[Request], list[Any], T]


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """A result that a streaming plan hands out on its way."""

    item: T


Stream = Generator[Sequence[Request] | Emit[T], list[Any], None]

_BATCH: Final = 1000


class Runner:
    """Carries out plans over a store.

    Args:
        store: the store; also what async callers' threads come from.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    # --- sync -----------------------------------------------------------------------------------------------------

    def run(self, plan: Plan[T]) -> T:
        """The plan's result, its waves carried out by threads."""
        send: Callable[[], Sequence[Request]] = plan.__next__
        while True:
            try:
                wave = send()
            except StopIteration as done:
                result: T = done.value
                return result
            send = _continuing(plan, functools.partial(self._wave, wave))

    def stream(self, plan: Stream[T]) -> Iterator[T]:
        """The items that the plan emits, as they are asked for."""
        send: Callable[[], Sequence[Request] | Emit[T]] = plan.__next__
        try:
            while True:
                try:
                    step = send()
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.item
                    send = functools.partial(plan.send, [])
                else:
                    send = _continuing(plan, functools.partial(self._wave, step))
        finally:
            plan.close()

    def _wave(self, wave: Sequence[Request]) -> list[Any]:
        if len(wave) < 2:
            return [self._one(request) for request in wave]
        futures = [self._executor().submit(self._one, request) for request in wave]
        wait(futures)
        return [future.result() for future in futures]

    def _one(self, request: Request) -> Any:
        store = self._store
        match request:
            case Get(key):
                try:
                    return store.get(key).data
                except NotFoundError:
                    return None
            case Put(key, data):
                return store.put(key, data)
            case Page(prefix, start_after, limit):
                return tuple(store.list(prefix, start_after=start_after, limit=limit))
            case Folders(prefix):
                return tuple(store.folders(prefix))
            case Delete(keys):
                return store.delete_many(keys)
            case DeleteAll(prefix, later):
                return self._delete_all(prefix, later)
            case Work(compute):
                return compute()

    def _delete_all(self, prefix: str, later: Callable[[str], bool]) -> int:
        listing, count = (entry.key for entry in self._store.list(prefix) if is_key(entry.key)), 0
        while keys := list(itertools.islice(listing, _BATCH)):
            for batch in _batches(keys, later):
                self._store.delete_many(batch)
            count += len(keys)
        return count

    def _executor(self) -> ThreadPoolExecutor:
        """The threads of this process: a child made by fork starts its own."""
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._pool, self._pid = ThreadPoolExecutor(_THREADS, thread_name_prefix="sealpoint-wave"), os.getpid()
            return self._pool

    def close(self) -> None:
        """Gives the threads back; a later call starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._pid == os.getpid():
            pool.shutdown(wait=True)

    # --- async ----------------------------------------------------------------------------------------------------

    async def arun(self, plan: Plan[T]) -> T:
        """As `run`, without blocking the event loop."""
        send: Callable[[], Sequence[Request]] = plan.__next__
        while True:
            try:
                wave = send()
            except StopIteration as done:
                result: T = done.value
                return result
            send = await _acontinuing(plan, self._awave(wave))

    async def astream(self, plan: Stream[T]) -> AsyncIterator[T]:
        """As `stream`, without blocking the event loop."""
        send: Callable[[], Sequence[Request] | Emit[T]] = plan.__next__
        try:
            while True:
                try:
                    step = send()
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    yield step.item
                    send = functools.partial(plan.send, [])
                else:
                    send = await _acontinuing(plan, self._awave(step))
        finally:
            plan.close()

    async def _awave(self, wave: Sequence[Request]) -> list[Any]:
        if len(wave) == 1:
            return [await self._aone(wave[0])]
        results = await asyncio.gather(*(self._aone(request) for request in wave), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return list(results)

    async def _aone(self, request: Request) -> Any:
        store = self._store
        match request:
            case Get(key):
                try:
                    return (await store.aget(key)).data
                except NotFoundError:
                    return None
            case Put(key, data):
                return await store.aput(key, data)
            case Page(prefix, start_after, limit):
                return tuple([entry async for entry in store.alist(prefix, start_after=start_after, limit=limit)])
            case Folders(prefix):
                return tuple([name async for name in store.afolders(prefix)])
            case Delete(keys):
                return await store.adelete_many(keys)
            case DeleteAll(prefix, later):
                return await self._adelete_all(prefix, later)
            case Work(compute):
                return await threads.WORKERS.run(compute)

    async def _adelete_all(self, prefix: str, later: Callable[[str], bool]) -> int:
        keys: list[str] = []
        count = 0
        async for entry in self._store.alist(prefix):
            if is_key(entry.key):
                keys.append(entry.key)
            if len(keys) == _BATCH:
                count += await self._adelete_some(keys, later)
                keys = []
        return count + await self._adelete_some(keys, later)

    async def _adelete_some(self, keys: list[str], later: Callable[[str], bool]) -> int:
        for batch in _batches(keys, later):
            await self._store.adelete_many(batch)
        return len(keys)


def _batches(keys: list[str], later: Callable[[str], bool]) -> list[tuple[str, ...]]:
    """One batch, or two where both kinds are in it."""
    kinds = [tuple(key for key in keys if not later(key)), tuple(key for key in keys if later(key))]
    return [batch for batch in kinds if batch]


def _continuing(plan: Generator[Any, list[Any], Any], carry_out: Callable[[], list[Any]]) -> Callable[[], Any]:
    """How the plan goes on after a wave: with its results, or with what went wrong."""
    try:
        results = carry_out()
    except BaseException as exc:  # noqa: BLE001 - handed to the plan, which does not swallow what it does not know
        return functools.partial(plan.throw, exc)
    return functools.partial(plan.send, results)


async def _acontinuing(plan: Generator[Any, list[Any], Any], carried_out: Any) -> Callable[[], Any]:
    try:
        results = await carried_out
    except BaseException as exc:  # noqa: BLE001 - as above
        return functools.partial(plan.throw, exc)
    return functools.partial(plan.send, results)


def together(plans: Sequence[Plan[T]]) -> Plan[list[T]]:
    """Several plans at once: their waves become one wave, as long as each still has one."""
    results: dict[int, T] = {}
    sends: dict[int, Callable[[], Sequence[Request]]] = {at: plan.__next__ for at, plan in enumerate(plans)}
    while sends:
        waves: dict[int, Sequence[Request]] = {}
        for at, send in sends.items():
            try:
                waves[at] = send()
            except StopIteration as done:
                results[at] = done.value
        if not waves:
            break
        answers = iter((yield [request for wave in waves.values() for request in wave]))
        sends = {at: functools.partial(plans[at].send, list(itertools.islice(answers, len(wave)))) for at, wave in waves.items()}
    return [results[at] for at in range(len(plans))]


def after(first: Callable[[], None], plan: Plan[T]) -> Plan[T]:
    """The plan, once `first` is done: off the event loop for async callers."""
    yield [Work(first)]
    return (yield from plan)


def listed(results: Sequence[Any]) -> tuple[Listed, ...]:
    """The one result of a wave that was one `Page`."""
    (page,) = results
    found: tuple[Listed, ...] = page
    return found
