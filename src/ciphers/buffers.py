"""One output buffer of known size that becomes `bytes` without being copied; it does not grow."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager


class OutputBuffer:
    """`size` writable bytes; after the writing, `getvalue()` is the finished `bytes` object.

    `bytes(size)` comes zeroed from the operating system page by page (calloc), so nothing is touched twice, and `BytesIO` hands the
    very object back when nobody else holds it: peak memory for a 64 MiB value is 64 MiB here, where joining pieces takes twice that
    (`make bench` prints it). Where an interpreter copies instead, the result is the same.
    """

    __slots__ = ("_file",)

    def __init__(self, size: int) -> None:
        self._file = io.BytesIO(bytes(size))

    @contextmanager
    def view(self) -> Iterator[memoryview]:
        """The writable bytes; released at the end of the block, as `getvalue` needs."""
        with self._file.getbuffer() as view:
            yield view

    def getvalue(self) -> bytes:
        """What was written."""
        return self._file.getvalue()
