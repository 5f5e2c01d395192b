"""A store in this process's memory, for tests and experiments, with fault switches; nothing survives the process."""

from __future__ import annotations

import asyncio
import hashlib
import time
from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncIterator, Iterable, Iterator

from ..errors import ConflictError, NotFoundError
from ..locks import ForkSafeLock
from .base import BATCH, Listed, Stored, check_condition, check_key
from .faults import Fault, Faults, answer_lost


class MemoryStore:
    """An `ObjectStore` in memory. Safe in threads. `faults` plans what goes wrong and counts requests, page by page as S3 would bill them.

    Args:
        faults: switches shared with the test; new ones by default.
    """

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = Faults() if faults is None else faults
        self._lock = ForkSafeLock()
        self._objects: dict[str, tuple[bytes, str, float]] = {}
        self._keys: list[str] = []  # sorted; keys are ASCII, so this is the order of their bytes

    def get(self, key: str) -> Stored:
        """See `sealpoint.stores.Gets.get`."""
        _wait(self.faults.strike("get", check_key(key)))
        return self._get(key)

    async def aget(self, key: str) -> Stored:
        """As `get`."""
        await _await(self.faults.strike("get", check_key(key)))
        return self._get(key)

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """See `sealpoint.stores.Puts.put`."""
        check_condition(if_absent, if_match)
        fault = self.faults.strike("put", check_key(key))
        _wait(fault)
        return self._put(key, data, if_absent, if_match, fault)

    async def aput(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """As `put`."""
        check_condition(if_absent, if_match)
        fault = self.faults.strike("put", check_key(key))
        await _await(fault)
        return self._put(key, data, if_absent, if_match, fault)

    def list(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> Iterator[Listed]:
        """See `sealpoint.stores.Lists.list`."""
        while limit is None or limit > 0:
            _wait(self.faults.strike("list", prefix))
            want = BATCH if limit is None else min(BATCH, limit)
            page, more = self._page(prefix, start_after, want)
            yield from page
            if not more:
                return
            start_after = page[-1].key
            limit = None if limit is None else limit - len(page)

    async def alist(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> AsyncIterator[Listed]:
        """As `list`."""
        while limit is None or limit > 0:
            await _await(self.faults.strike("list", prefix))
            want = BATCH if limit is None else min(BATCH, limit)
            page, more = self._page(prefix, start_after, want)
            for entry in page:
                yield entry
            if not more:
                return
            start_after = page[-1].key
            limit = None if limit is None else limit - len(page)

    def folders(self, prefix: str = "", *, start_after: str = "") -> Iterator[str]:
        """See `sealpoint.stores.Lists.folders`."""
        _wait(self.faults.strike("list", prefix))
        yield from self._folders(prefix, start_after)

    async def afolders(self, prefix: str = "", *, start_after: str = "") -> AsyncIterator[str]:
        """As `folders`."""
        await _await(self.faults.strike("list", prefix))
        for name in self._folders(prefix, start_after):
            yield name

    def delete_many(self, keys: Iterable[str]) -> None:
        """See `sealpoint.stores.Deletes.delete_many`."""
        for batch in _batches(keys):
            fault = self.faults.strike("delete", batch[0])
            _wait(fault)
            self._delete(batch, fault)

    async def adelete_many(self, keys: Iterable[str]) -> None:
        """As `delete_many`."""
        for batch in _batches(keys):
            fault = self.faults.strike("delete", batch[0])
            await _await(fault)
            self._delete(batch, fault)

    def close(self) -> None:
        """Nothing to give back."""

    def __repr__(self) -> str:
        return f"MemoryStore({len(self._objects)} objects)"

    # --- inside ---------------------------------------------------------------------------------------------------

    def _get(self, key: str) -> Stored:
        with self._lock:
            found = self._objects.get(key)
        if found is None:
            raise NotFoundError(f"no object {key!r}")
        return Stored(found[0], found[1])

    def _put(self, key: str, data: bytes, if_absent: bool, if_match: str | None, fault: Fault | None) -> str:
        etag = hashlib.sha256(data).hexdigest()
        with self._lock:
            found = self._objects.get(key)
            if not self.faults.ignore_conditions:
                if if_absent and found is not None:
                    raise ConflictError(f"object {key!r} exists already")
                if if_match is not None and (found is None or found[1] != if_match):
                    raise ConflictError(f"object {key!r} was changed or removed since it was read")
            if found is None:
                insort(self._keys, key)
            self._objects[key] = (bytes(data), etag, time.time())
        answer_lost(fault)
        return etag

    def _page(self, prefix: str, start_after: str, want: int) -> tuple[tuple[Listed, ...], bool]:
        """One answer of a listing, and whether there is more."""
        with self._lock:
            at = max(bisect_left(self._keys, prefix), bisect_right(self._keys, start_after))
            keys = [key for key in self._keys[at : at + want + 1] if key.startswith(prefix)]
            page = tuple(Listed(key, len(self._objects[key][0]), self._objects[key][2]) for key in keys[:want])
            return page, len(keys) > want

    def _folders(self, prefix: str, start_after: str) -> tuple[str, ...]:
        with self._lock:
            found = {key[len(prefix) :].partition("/") for key in self._keys[bisect_left(self._keys, prefix) :] if key.startswith(prefix)}
        return tuple(sorted({name for name, slash, _ in found if slash and name > start_after}))

    def _delete(self, keys: tuple[str, ...], fault: Fault | None) -> None:
        with self._lock:
            for key in keys:
                if self._objects.pop(key, None) is not None:
                    del self._keys[bisect_left(self._keys, key)]
        answer_lost(fault)


def _batches(keys: Iterable[str]) -> Iterator[tuple[str, ...]]:
    all_keys = tuple(check_key(key) for key in keys)
    for at in range(0, len(all_keys), BATCH):
        yield all_keys[at : at + BATCH]


def _wait(fault: Fault | None) -> None:
    if fault is not None and fault.kind == "slow":
        time.sleep(fault.seconds)


async def _await(fault: Fault | None) -> None:
    if fault is not None and fault.kind == "slow":
        await asyncio.sleep(fault.seconds)
