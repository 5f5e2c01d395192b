"""Interleaved timing, for ratios that hold on a noisy machine: A B A B …, the best of several rounds each; it judges nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

Calls = Mapping[str, Callable[[], Any]]


def best_of(calls: Calls, rounds: int = 9, seconds: float = 0.02) -> dict[str, float]:
    """The best time of each call, in seconds.

    Args:
        calls: what to time, by name; each is run in turn within every round.
        rounds: how many rounds.
        seconds: about how long each call is repeated within a round.
    """
    repeats = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    best = dict.fromkeys(calls, float("inf"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                for _ in range(repeats[name]):
                    call()
                best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    finally:
        gc.enable()
    return best


def row(what: str, ratio: float, target: str, held: bool, detail: str = "") -> bool:
    """Prints one measured ratio beside its target, and returns whether it held."""
    print(f"  {'ok  ' if held else 'MISS'} {what:58} {ratio:8.3f}   target {target:8} {detail}")
    return held
