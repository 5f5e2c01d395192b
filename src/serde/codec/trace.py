"""Where in a value an object lies: the path for error messages, and cycles; it runs only when something went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from .containers import indexed, keyed
from .kind import Kind, Part, Writing
from .lift import Octets, Text

_LEAVES: Final = frozenset({str, int, float, bool, type(None), bytes, bytearray, complex, Text, Octets})
_ROOT: Final = "state"
_MAX_STEPS: Final = 24  # of a path; longer ones are cut in the middle
_MAX_VISITED: Final = 2_000_000  # objects; beyond that the search gives up, and the path says so

KindOf = Callable[[Any], Kind]


def path_to(root: Any, culprit: Any, kind_of: KindOf, out: Writing) -> str:
    """The path of `culprit`, such as ``state.conn.lock``; keys that are not plain words are positions (see keyed)."""
    steps: dict[int, tuple[int, str]] = {id(root): (0, _ROOT)}
    kept: list[Any] = [root]  # ids are only unique among objects that are alive
    for obj in kept:
        if obj is culprit:
            return _joined(id(obj), steps)
        if len(kept) > _MAX_VISITED:
            break
        for step, part in _parts(obj, kind_of, out):
            if id(part) not in steps and (type(part) not in _LEAVES or part is culprit):
                steps[id(part)] = (id(obj), step)
                kept.append(part)
    return f"{_ROOT}…"


def cycle_path(root: Any, kind_of: KindOf, out: Writing) -> str | None:
    """The path of an object that contains itself, or None."""
    path: list[str] = []
    inside: set[int] = set()
    done: set[int] = set()
    kept: list[Any] = []
    stack: list[tuple[str, Any, Any]] = [(_ROOT, root, None)]
    while stack:
        step, obj, parts = stack.pop()
        if parts is None:
            if id(obj) in inside:
                return _cut([*path, step])
            if type(obj) in _LEAVES or type(obj) in out.codecs or id(obj) in done:
                # What a user's codec makes of an object can be new every time, without end; the limit on depth stops that.
                continue
            kept.append(obj)
            inside.add(id(obj))
            path.append(step)
            parts = iter(list(_parts(obj, kind_of, out)))
        following = next(parts, None)
        if following is None:
            inside.discard(id(obj))
            done.add(id(obj))
            path.pop()
            continue
        stack.append((step, obj, parts))
        stack.append((*following, None))
    return None


def _parts(obj: Any, kind_of: KindOf, out: Writing) -> Iterable[Part]:
    if type(obj) is dict:
        return keyed(obj)
    if type(obj) is list:
        return indexed(obj)
    if type(obj) in _LEAVES:
        return ()
    try:
        kind = kind_of(obj)
        if kind.parts is not None:
            return kind.parts(obj)
        columns = kind.encode(type(obj), [obj], Writing(out.codecs, out.pickle))
    except Exception:  # noqa: BLE001 - an object that cannot be entered has no parts
        return ()
    return [("", column) for column in columns]


def _joined(found: int, steps: dict[int, tuple[int, str]]) -> str:
    path: list[str] = []
    while found:
        found, step = steps[found]
        path.append(step)
    return _cut(path[::-1])


def _cut(path: list[str]) -> str:
    if len(path) > _MAX_STEPS:
        path = [*path[: _MAX_STEPS // 2], "…", *path[-_MAX_STEPS // 2 :]]
    return "".join(path)
