"""The pickle fallback: for single objects that nothing else stores, on request, checked on writing; never read unauthenticated."""

from __future__ import annotations

import pickle
from typing import Any, Final

from ...errors import TypeRefusedError
from .kind import Kind, Reading, UnstorableError, Writing, expect, listed

_PROTOCOL: Final = 5


def _encode(_cls: type, objs: list[Any], _out: Writing) -> list[Any]:
    return [list(map(_pickled, objs))]


def _pickled(obj: Any) -> bytes:
    try:
        raw = pickle.dumps(obj, _PROTOCOL)
        again = pickle.loads(raw)  # noqa: S301 - bytes that were made in the line above
    except Exception as exc:  # noqa: BLE001 - reduce methods raise what they like
        reason = f"pickle does not store it either ({type(exc).__name__}); store its data, or register a codec for its class"
        raise UnstorableError(reason, obj) from None
    if type(again) is not type(obj) or not _alike(obj, again):
        raise UnstorableError("pickle changes it; store its data, or register a codec for its class", obj)
    return raw


def _alike(obj: Any, again: Any) -> bool:
    """Whether both are pickled to the same bytes, and so are their attributes: what a class says about equality decides nothing.

    Text that is one object in one and two in the other makes the bytes differ; both are first pickled and read once more for that.
    """
    try:
        return all(_settled(a) == _settled(b) for a, b in ((obj, again), (_attributes(obj), _attributes(again))))
    except Exception:  # noqa: BLE001 - what its attributes raise in pickling means that they are not kept
        return False


def _settled(obj: Any) -> bytes:
    return pickle.dumps(pickle.loads(pickle.dumps(obj, _PROTOCOL)), _PROTOCOL)  # noqa: S301 - bytes that were made in this line


def _attributes(obj: Any) -> Any:
    try:
        return dict(object.__getattribute__(obj, "__dict__"))
    except AttributeError:
        return None


def _decode(columns: list[Any], source: Reading) -> list[Any]:
    rows = listed(*expect(columns, 1))
    if not source.pickle or not source.authenticated:
        raise TypeRefusedError(
            "a stored value has a part that was pickled, which can run code when read; "
            "it is read only with pickle_fallback=True and from an authenticated payload"
        )
    return [pickle.loads(row) for row in rows]  # noqa: S301 - authenticated, and asked for by name


PICKLED: Final = Kind(71, _encode, _decode)
