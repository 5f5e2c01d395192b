"""Fault switches for a store in tests: what goes wrong, when, and how often; it stores nothing and is off by default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..errors import StoreUnavailableError
from ..locks import ForkSafeLock

Operation = Literal["get", "put", "list", "delete"]
FaultKind = Literal["refuse", "lost_reply", "slow", "stop"]


class Stopped(BaseException):
    """A process that ends at this point: not an `Exception`, so that no handler mistakes it for a fault that can be dealt with."""


@dataclass(slots=True)
class Fault:
    """One thing that goes wrong.

    Args:
        operation: at which kind of request.
        kind: ``refuse`` (nothing happens, `StoreUnavailableError`), ``lost_reply`` (it happens, then `StoreUnavailableError`),
            ``slow`` (it happens after `seconds`), ``stop`` (`Stopped`, before anything happens).
        key_contains: only where a key or prefix contains this.
        skip: lets so many matching requests pass first.
        times: how often it strikes.
        seconds: for ``slow``.
    """

    operation: Operation
    kind: FaultKind = "refuse"
    key_contains: str = ""
    skip: int = 0
    times: int = 1
    seconds: float = 0.0


class Faults:
    """What a `MemoryStore` asks before and after each request. Counts all requests by operation in `requests`."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._planned: list[Fault] = []
        self.requests: Counter[Operation] = Counter()
        self.ignore_conditions = False
        """True makes the store one that ignores `if_absent` and `if_match`, as some S3-compatible ones do."""
        self.watch: Callable[[Operation, str], None] | None = None
        """Called before each request, in the caller's thread."""

    def plan(self, *faults: Fault) -> None:
        """Adds faults; the first that matches a request strikes."""
        with self._lock:
            self._planned.extend(faults)

    def clear(self) -> None:
        """Forgets planned faults and counts."""
        with self._lock:
            self._planned.clear()
            self.requests.clear()

    def strike(self, operation: Operation, key: str) -> Fault | None:
        """Counts a request and takes the fault that is due for it.

        Raises:
            StoreUnavailableError, Stopped: the fault is ``refuse`` or ``stop``.
        """
        if self.watch is not None:
            self.watch(operation, key)
        with self._lock:
            self.requests[operation] += 1
            due = self._due(operation, key)
        if due is not None and due.kind == "refuse":
            raise StoreUnavailableError(f"the {operation} was refused by a planned fault")
        if due is not None and due.kind == "stop":
            raise Stopped(operation, key)
        return due

    def _due(self, operation: Operation, key: str) -> Fault | None:
        for fault in self._planned:
            if fault.operation != operation or fault.key_contains not in key or fault.times <= 0:
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.times -= 1
            return fault
        return None


def answer_lost(fault: Fault | None) -> None:
    """Raises `StoreUnavailableError` after a request that was carried out, when its answer is to be lost."""
    if fault is not None and fault.kind == "lost_reply":
        raise StoreUnavailableError("the answer was lost by a planned fault; what was asked for has happened")
