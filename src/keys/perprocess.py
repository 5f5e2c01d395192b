"""A client that is made again in a child process, since a connection shared across a fork garbles both ends; it knows no service."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """What `make` returns, once in each process; at once in the one that constructs this, so that a bad configuration is told there.

    Args:
        make: makes the client.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made = (os.getpid(), make())

    def get(self) -> T:
        """This process's own."""
        if self._made[0] != os.getpid():
            self._made = (os.getpid(), self._make())
        return self._made[1]
