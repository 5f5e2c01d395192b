"""Counts of what was sealed, opened and refused, with a hook for each; it never sees a value, a key or a place.

The hook is for metrics: what it raises is logged by type and dropped, so that monitoring cannot stop an agent.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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


class Recorder:
    """Counts events and hands them to a hook. Safe in threads; bounded: odd key ids are counted together past 1,000."""

    _MAX_KINDS = 1_000

    def __init__(self, hook: Hook | None = None) -> None:
        self._hook = hook
        self._lock = threading.Lock()
        self._counts: Counter[Event] = Counter()

    def record(self, action: Action, key_id: str = "", reason: str = "") -> int:
        """Counts the event, calls the hook, and returns how often this very event has now happened."""
        event = Event(action, key_id, reason)
        with self._lock:
            if event not in self._counts and len(self._counts) >= self._MAX_KINDS:
                event = Event(action, "(other)", reason if action != "legacy" else "(other)")
            self._counts[event] += 1
            count = self._counts[event]
        if self._hook is not None:
            try:
                self._hook(event)
            except Exception as exc:  # noqa: BLE001 - monitoring must not stop an agent, whatever it raises
                _log.warning("the on_event hook raised %s; the event was dropped", type(exc).__name__)
        return count

    def stats(self) -> dict[str, dict[str, int]]:
        """Counts so far: action → "key id" (and "key id: reason" for refusals) → how often."""
        with self._lock:
            counted = list(self._counts.items())
        out: dict[str, dict[str, int]] = {"seal": {}, "open": {}, "refuse": {}, "legacy": {}}
        for event, count in counted:
            label = ": ".join(part for part in (event.key_id, event.reason) if part) or "-"
            out[event.action][label] = out[event.action].get(label, 0) + count
        return out
