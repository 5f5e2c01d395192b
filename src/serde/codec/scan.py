"""Proof that ormsgpack saw nothing that it would change silently; it repairs nothing (see lift).

ormsgpack 1.13 writes `bytearray` and `memoryview` as bytes and `Ext` and `Fragment` raw, without asking `default()`, so their absence
has to be proved. `gc.get_referents` and ``map(type, …)`` walk plain containers in C, a level at a time, at about the cost of packing them;
an option of ormsgpack that hands those four to `default()` would save it.
"""

from __future__ import annotations

import gc
import sys
from itertools import chain
from typing import Any, Final

import ormsgpack

CONTAINERS: Final = frozenset({list, dict})
SCALARS: Final = frozenset({str, int, float, bool, type(None)})
NATIVE: Final = CONTAINERS | SCALARS
UNASKED: Final = frozenset({bytearray, memoryview, ormsgpack.Ext, *((ormsgpack.Fragment,) if hasattr(ormsgpack, "Fragment") else ())})
LARGE: Final = 64 * 1024  # bytes; from here on, bytes lie outside the documents and are copied once
_LEVELS: Final = range(300)  # more than ormsgpack packs; a value that another thread changes meanwhile must not keep us here


def has_large_bytes_on_top(value: Any) -> bool:
    """Whether `value` is large bytes, or a plain container with some directly in it: worth knowing before they are packed in vain."""
    kind = type(value)
    if kind is dict:
        value = value.values()
    elif kind is bytes:
        value = (value,)
    elif kind is not list:
        return False
    for item in value:  # noqa: SIM110 - any() with a generator takes three times as long, and this is here to be fast
        if type(item) is bytes and len(item) >= LARGE:
            return True
    return False


def is_exact(payloads: list[Any]) -> bool:
    """Whether the plain containers in `payloads` hold neither what ormsgpack changes nor large bytes.

    Objects that are not plain are not entered: `default()` was asked about those. The payloads were packed before, so they hold no cycle.
    """
    level = payloads
    for _ in _LEVELS:
        types = set(map(type, level))
        if types <= SCALARS:
            return True
        if not types <= NATIVE:
            if not types.isdisjoint(UNASKED) or (bytes in types and any(type(x) is bytes and len(x) >= LARGE for x in level)):
                return False
            if types.isdisjoint(CONTAINERS):
                return True
            level = [x for x in level if type(x) in CONTAINERS]
        level = _referents(*level) if _DICTS_TELL else _inside([x for x in level if type(x) in CONTAINERS])
    return False


# From Python 3.13 on, the __dict__ of an instance may leave its values to the instance, and then does not tell the collector about them.
_referents: Final = gc.get_referents
_DICTS_TELL: Final = sys.version_info < (3, 13)


def _inside(containers: list[Any]) -> list[Any]:
    lists = [x for x in containers if type(x) is list]
    return [*_referents(*lists), *chain.from_iterable(map(dict.values, [x for x in containers if type(x) is dict]))]
