"""What happens when a class has changed since its objects were stored; how a class lists its fields is the caller's business."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...errors import ConfigurationError, SchemaDriftError
from .kind import MalformedError, shown

_log = logging.getLogger("sealpoint")
_reported: set[tuple[str, str]] = set()
_MAX_NAMED: Final = 10  # fields in a message
_MAX_REPORTED: Final = 1000  # classes; dynamic ones would otherwise fill memory

Defaults = Mapping[str, Callable[[Any], Any]]
"""For each field of a class that has a default: what makes it, given the state so far."""


@dataclass(frozen=True, slots=True)
class DriftPolicy:
    """What to do with stored fields that a class no longer has."""

    on_drift: Literal["warn", "error", "ignore"] = "warn"

    def __post_init__(self) -> None:
        if self.on_drift not in ("warn", "error", "ignore"):
            raise ConfigurationError(f"on_drift is 'warn', 'error' or 'ignore', not {self.on_drift!r}")

    def removed(self, cls: type, names: list[str]) -> None:
        """Reports that stored fields were dropped: once for each class and process, or by raising.

        Raises:
            SchemaDriftError: `on_drift` is "error".
        """
        where = f"{cls.__module__}.{cls.__qualname__}"
        listing = ", ".join(shown(name) for name in names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")
        if self.on_drift == "error":
            raise SchemaDriftError(
                f"stored objects of {where} have fields that the class lacks: {listing}; restore them, or relax on_drift"
            )
        key = (cls.__module__, cls.__qualname__)
        if self.on_drift == "warn" and key not in _reported and len(_reported) < _MAX_REPORTED:
            _reported.add(key)
            _log.warning("stored objects of %s have fields that the class lacks; dropped: %s", where, listing)


def always(value: Any) -> Callable[[Any], Any]:
    """A default that is `value` whatever the state."""
    return lambda _state: value


def made_by(factory: Callable[[], Any]) -> Callable[[Any], Any]:
    """A default that `factory` makes anew for every object."""
    return lambda _state: factory()


def joined(names: Any) -> str:
    """Field names as one string, which is compared in one step when nothing has changed."""
    return "\n".join(names)


def adapt(cls: type, stored: Any, current: str, states: list[Any], defaults: Defaults, policy: DriftPolicy) -> None:
    """Turns `states` (one dict of field values each), written for the fields `stored`, into states for `current`. In place.

    A field added since gets its default, one removed is dropped and reported. What an object lacked when it was stored stays lacking.

    Raises:
        SchemaDriftError: an added field has no default, or `policy` says to raise.
    """
    if stored == current:
        return
    if type(stored) is not str:
        raise MalformedError
    before, now = dict.fromkeys(_names(stored)), dict.fromkeys(_names(current))
    removed = {name: None for name in before if name not in now}
    if removed:
        policy.removed(cls, list(removed))
    for name in (name for name in now if name not in before):
        default = defaults.get(name)
        for state in states:
            if name in state:
                continue
            if default is None:
                where = f"{cls.__module__}.{cls.__qualname__}"
                raise SchemaDriftError(f"stored objects of {where} lack the field {name!r}, which has no default; give it one to read them")
            state[name] = default(state)
    for state in states:
        for name in state.keys() & removed.keys():
            del state[name]


def _names(text: str) -> list[str]:
    return text.split("\n") if text else []
