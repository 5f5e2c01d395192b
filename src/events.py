"""Counts of what was sealed, opened and refused, with a hook for each; it never sees a value, a key or a place.

The hook is for metrics: what it raises is logged by type and dropped, so that monitoring cannot stop an agent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .errors import ConfigurationError
from .locks import ForkSafeLock

_log = logging.getLogger("sealpoint")

Action = Literal["seal", "open", "refuse", "legacy"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Args:
        action: ``seal``, ``open``, ``refuse`` (an error was raised), or ``legacy`` (an old cell was opened unauthenticated).
        key_id: the key id in the header, or "" where there is none. For a refusal it is a hint: nothing vouches for it.
        reason: the error's class name for a refusal, the old cell's kind for ``legacy``, else "".
    """

    action: Action
    key_id: str = ""
    reason: str = ""


Hook = Callable[[Event], None]
_Kind = tuple[Action, str, str]  # an event's fields; quicker to make and to hash than the event


class Recorder:
    """Counts events and hands them to a hook. Safe in threads and after a fork.

    Bounded: past 1,000 kinds of refusal, and past 1,000 of everything else, what is new is counted as "(other)"; the hook still hears the
    real one. The two do not share a bound, so that hostile key ids cannot crowd out real ones.

    Raises:
        ConfigurationError: the hook cannot be called.
    """

    _MAX_KINDS = 1_000

    def __init__(self, hook: Hook | None = None) -> None:
        if hook is not None and not callable(hook):
            raise ConfigurationError(f"on_event takes a function of one Event, not {type(hook).__name__}")
        self._hook = hook
        self._lock = ForkSafeLock()
        self._refused: dict[_Kind, int] = {}
        self._others: dict[_Kind, int] = {}

    def record(self, action: Action, key_id: str = "", reason: str = "") -> int:
        """Counts the event, calls the hook, and returns how often this very event has now happened."""
        kind = (action, key_id, reason)
        counts = self._refused if action == "refuse" else self._others
        with self._lock:
            count = counts.get(kind, 0) + 1
            if count == 1 and len(counts) >= self._MAX_KINDS:
                kind = (action, "(other)", reason)
                count = counts.get(kind, 0) + 1
            counts[kind] = count
        if self._hook is not None:
            try:
                self._hook(Event(action, key_id, reason))
            except Exception as exc:  # noqa: BLE001 - monitoring must not stop an agent, whatever it raises
                _log.warning("the on_event hook raised %s; the event was dropped", type(exc).__name__)
        return count

    def stats(self) -> dict[str, dict[str, int]]:
        """Counts so far: action → "key id" (and "key id: reason" for refusals) → how often."""
        with self._lock:
            counted = [*self._refused.items(), *self._others.items()]
        out: dict[str, dict[str, int]] = {"seal": {}, "open": {}, "refuse": {}, "legacy": {}}
        for (action, key_id, reason), count in counted:
            label = ": ".join(part for part in (key_id, reason) if part) or "-"
            out[action][label] = out[action].get(label, 0) + count
        return out
