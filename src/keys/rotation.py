"""Root rotation of a key store: every live key object gets the active roots, one compare-and-swap each; data is never read or written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from secrets import token_bytes
from typing import Final, Literal

from ..errors import ConflictError, IntegrityError, KeyAccessError
from .keyobject import Live
from .rewrap import StaleRule, needs_rewrap, never_stale, wrapped_anew
from .roots import Roots
from .shelf import RACES, KeyShelf
from .threadkeys import ThreadKeys
from .wrapping import thread_key_context

Outcome = Literal["rewritten", "current", "ended", "failed"]

_BATCH: Final = 256  # key objects in flight at most, so that a store of any size takes bounded memory
_MAX_FAILURES: Final = 1_000  # named in the report; all are counted


@dataclass(frozen=True, slots=True)
class RotationReport:
    """What a root rotation did, or would do.

    Args:
        dry_run: nothing was written; `rewritten` counts what would be.
        rewritten: key objects that got the active roots.
        current: key objects that had them already.
        ended: tombstones; they hold no key.
        failed: key objects that could not be rewritten; they are as they were.
        failures: key object and error class of the first 1,000 of those.
    """

    dry_run: bool
    rewritten: int
    current: int
    ended: int
    failed: int
    failures: tuple[tuple[str, str], ...]

    @property
    def complete(self) -> bool:
        """Whether every live key object now has the active roots, so that a former root may be retired."""
        return not self.dry_run and self.failed == 0


def rotate_roots(
    keys: ThreadKeys,
    *,
    dry_run: bool = False,
    stale: StaleRule = never_stale,
    workers: int = 8,
    on_progress: Callable[[Outcome], None] | None = None,
) -> RotationReport:
    """Wraps the key of every thread under the active roots and no others. The thread keys stay what they are, so the data stays as it is.

    Order of a rotation: give every process the new root beside the old one, both able to open, the new one active; run this until the
        report is
    complete; take the old root out of the configuration; then retire it. It may be killed at any point and run again: what is done is
    recognised, and a key object that another writer changed meanwhile is read again. A key that does not come back from the new root is not
    written.

    Args:
        keys: the key source of the store, with the roots from now on.
        dry_run: only count; no key is unwrapped.
        stale: wrapped keys that count as not there, for example those under an old version of a transit key (`transit_version_below`).
        workers: key objects worked on at once.
        on_progress: called with each outcome.

    Raises:
        KeyAccessError: the key source is read-only.
        RetryableError: the store or a root is out of reach; run it again.
    """
    if not dry_run:
        keys.check_may_write()
    counts: Counter[Outcome] = Counter()
    failures: list[tuple[str, str]] = []
    names = keys.shelf.names()
    with ThreadPoolExecutor(workers, thread_name_prefix="sealpoint-rotate") as pool:
        while batch := tuple(islice(names, _BATCH)):
            for name, (outcome, failure) in zip(batch, pool.map(lambda name: _one(keys, name, dry_run, stale), batch), strict=True):
                counts[outcome] += 1
                if failure and len(failures) < _MAX_FAILURES:
                    failures.append((keys.shelf.path(name), failure))
                if on_progress is not None:
                    on_progress(outcome)
    return RotationReport(dry_run, counts["rewritten"], counts["current"], counts["ended"], counts["failed"], tuple(failures))


def _one(keys: ThreadKeys, name: str, dry_run: bool, stale: StaleRule) -> tuple[Outcome, str]:
    try:
        return _rotated(keys.shelf, keys.roots, name, dry_run, stale), ""
    except (KeyAccessError, IntegrityError) as exc:
        return "failed", type(exc).__name__


def _rotated(shelf: KeyShelf, roots: Roots, name: str, dry_run: bool, stale: StaleRule) -> Outcome:
    for _ in range(RACES):
        found = shelf.read(name)
        if found is None or not isinstance(found.object, Live):
            return "ended"
        live = found.object
        if not needs_rewrap(live.wrapped, roots.active, stale):
            return "current"
        if dry_run:
            return "rewritten"
        context = thread_key_context(live.scope, live.key_id, name, live.generation)
        wrapped = wrapped_anew(roots, live.wrapped, context, live.check, stale)
        try:
            shelf.write(name, replace(live, wrapped=wrapped, unique=token_bytes(16)), found)
        except ConflictError:
            continue
        return "rewritten"
    raise ConflictError("a key object changes faster than it can be rewritten; run the rotation again")
