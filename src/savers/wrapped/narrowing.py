"""The copy of an inner saver that a sealed saver works on: the same store, serializers that build nothing; the original is not touched."""

from __future__ import annotations

import copy
from typing import Any

from .innerserde import LegacyLoad
from .profile import Profile


def narrowed(inner: Any, profile: Profile, legacy: LegacyLoad | None) -> Any:
    """A shallow copy of `inner` in which every serializer is the narrow one.

    Args:
        inner: the saver.
        profile: its habits.
        legacy: reads old cells; None refuses them.
    """
    clone, narrow = copy.copy(inner), profile.serde(legacy)
    for name, value in list(vars(clone).items()):
        # Asked of the class: a MongoDB collection answers to any name.
        if hasattr(type(value), "dumps_typed") and hasattr(type(value), "loads_typed"):
            setattr(clone, name, narrow)
    clone.serde = narrow
    if profile.narrow is not None:
        profile.narrow(clone)
    return clone
