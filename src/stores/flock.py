"""A lock on a file that excludes threads and processes; the system opens it when its process ends, and a fork does not keep it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment] # `supported` tells

_held: Final[set[int]] = set()


def supported() -> bool:
    """Whether this system has POSIX file locks."""
    return fcntl is not None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else holds the lock of this file, which is made when it is missing.

    A child made by fork meanwhile has a copy of the open file, and with it the lock: closing ours would not end it while the child lives.
    So it is unlocked first, and the child closes its copy, lest it hold on when this process is killed.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _held.add(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        _held.discard(descriptor)  # before it is closed: then the number may be another file's
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


def _close_copies() -> None:
    while _held:
        with contextlib.suppress(OSError):
            os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_copies)
