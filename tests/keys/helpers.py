"""What the tests of keys share: a clock, a root that can fail, and a world in which several processes share one store."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from sealpoint import Context
from sealpoint.ciphers import AesGcm, KeySource
from sealpoint.errors import SealpointError
from sealpoint.keys import Keyring, LocalRoot, ThreadKeys
from sealpoint.stores import MemoryStore


class Clock:
    """A clock that a test sets."""

    def __init__(self, start: float = 1_000.0) -> None:
        self.time = start

    def __call__(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


class FlakyRoot:
    """A local root that counts its calls and can be made to fail or to wait."""

    def __init__(self) -> None:
        self.inner = LocalRoot(Keyring.generate("flaky"))
        self.calls: list[str] = []
        self.failing: SealpointError | Exception | None = None
        self.gate: threading.Event | None = None

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        self._called("wrap")
        return self.inner.wrap(key, context)

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        self._called("unwrap")
        return self.inner.unwrap(wrapped, context)

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.gate is not None:
            assert self.gate.wait(10)
        if self.failing is not None:
            raise self.failing


def place(thread: str = "t1", number: int = 1, scope: str = "") -> Context:
    return Context.checkpoint(scope, thread, "", f"c{number}")


def seal(keys: KeySource, data: bytes = b"secret", context: Context | None = None) -> bytes:
    return AesGcm(keys).encode(data, "msgpack1", context or place())


def open_(keys: KeySource, sealed: bytes, context: Context | None = None) -> bytes:
    return AesGcm(keys).decode(sealed, "msgpack1", context or place())


class World:
    """A store, a root and a clock that several "processes" share: each `keys()` is another process."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.root = FlakyRoot()
        self.clock = Clock()

    def keys(self, **options: object) -> ThreadKeys:
        return ThreadKeys(self.store, self.root, clock=self.clock, now=self.clock, **options)  # type: ignore[arg-type]  # the options under test

    def path(self, thread: str = "t1", scope: str = "") -> str:
        shelf = self.keys().shelf
        return shelf.path(shelf.thread(scope, thread).name)
