"""Proof that ormsgpack saw nothing that it would change silently; it repairs nothing (see lift).

ormsgpack 1.13 writes `bytearray` and `memoryview` as bytes and `Ext` and `Fragment` raw, without asking `default()`, so their absence has to be
proved. `gc.get_referents` and ``map(type, …)`` walk plain containers in C, a level at a time, at about a third of the cost of packing them.
"""

from __future__ import annotations

import gc
from typing import Any, Final

import ormsgpack

NATIVE: Final = frozenset({str, int, float, bool, type(None), list, dict})
CONTAINERS: Final = frozenset({list, dict})
UNASKED: Final = frozenset({bytearray, memoryview, ormsgpack.Ext, *((ormsgpack.Fragment,) if hasattr(ormsgpack, "Fragment") else ())})
LARGE: Final = 64 * 1024  # bytes; from here on, bytes lie outside the documents and are copied once
_WIDE: Final = 4096  # values of one level; from here on, containers that occur twice are followed once


def is_exact(payloads: list[Any], max_levels: int) -> bool:
    """Whether the plain containers in `payloads` hold neither what ormsgpack changes nor large bytes, within `max_levels` levels.

    Objects that are not plain are not entered: `default()` was asked about those.
    """
    level = payloads
    for _ in range(max_levels):
        types = set(map(type, level))
        if types <= NATIVE:
            if types.isdisjoint(CONTAINERS):
                return True
        else:
            if not types.isdisjoint(UNASKED) or (bytes in types and any(type(x) is bytes and len(x) >= LARGE for x in level)):
                return False
            level = [x for x in level if type(x) in CONTAINERS]
        if len(level) > _WIDE:
            level = _distinct_containers(level)
        level = gc.get_referents(*level)
    return not level


def _distinct_containers(level: list[Any]) -> list[Any]:
    # A list that refers to itself twice would double with every level otherwise.
    containers = [x for x in level if type(x) in CONTAINERS]
    if len(set(map(id, containers))) == len(containers):
        return containers
    return list({id(x): x for x in containers}.values())
