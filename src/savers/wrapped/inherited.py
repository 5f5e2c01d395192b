"""Types that an inner saver's own serializer was told to allow; it changes nothing there.

LangGraph keeps the list of `JsonPlusSerializer(allowed_msgpack_modules=[…])` in an attribute, as pairs of module and name
(langgraph-checkpoint 4.1 to 4.3). Where it is not, nothing is taken over, and a type of the list is refused with an error that names it.
"""

from __future__ import annotations

from typing import Any, Final

from ...serde import LayeredSerializer

_LIST: Final = "_allowed_msgpack_modules"


def listed_types(serde: Any) -> tuple[tuple[str, str], ...]:
    """The pairs that a serializer of LangGraph's lists, or the one inside its `EncryptedSerializer`; none for "any" and for "safe ones"."""
    if isinstance(serde, LayeredSerializer):
        return ()
    found = getattr(serde, _LIST, None)
    if found is None and hasattr(serde, "serde"):
        return listed_types(serde.serde) if serde.serde is not serde else ()
    if not isinstance(found, (set, frozenset, list, tuple)):
        return ()
    return tuple(sorted(entry for entry in found if _is_pair(entry)))


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(part, str) for part in entry)
