"""Data keys and thread keys: what they cost beside an environment key, and the two runs that are too long for a test.

`make bench`, or `python -m benchmarks.keys`.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.measure import best_of, row
from sealpoint import AesGcm, Context, Keyring, sealed_serializer
from sealpoint.ciphers import KeySource, parse
from sealpoint.keys import CacheLimits, EnvelopeKeys, LocalRoot, Roots, ThreadKeys, rotate_roots
from sealpoint.stores import Fault, MemoryStore, Stopped

TAG = "msgpack1"
AWS_BLOB = 184  # bytes of a 32-byte key that AWS KMS wrapped


class FreeRoot:
    """A root that costs nothing and protects nothing: what is measured is the rest. As long as AWS KMS's answer."""

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """The key itself, padded."""
        return key.ljust(AWS_BLOB, b"\0")

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """The key itself."""
        return wrapped[:32]


def place(thread: int = 1, number: int = 1) -> Context:
    """The place of a checkpoint."""
    return Context.checkpoint("", f"thread-{thread}", "", f"1f0c9a10-0000-6000-8000-{number:012d}")


def overhead() -> bool:
    """Sealing and opening with a warm cache, beside an environment key: through the whole chain, and through the cipher alone."""
    print("\nunder a data key at hand / under an environment key: values through the chain")
    sources: dict[str, KeySource] = {
        "environment": Keyring.generate("2026-11"),
        "inline": EnvelopeKeys(FreeRoot()),
        "thread": ThreadKeys(MemoryStore(), FreeRoot()),
    }
    held = True
    context = place()
    chains = {name: sealed_serializer(source) for name, source in sources.items()}
    chat = [{"role": "user", "content": secrets.token_hex(100), "id": number} for number in range(10)]
    for label, value in (("a number", 7), ("a chat, 2 kB", chat), ("bytes, 80 kB", secrets.token_bytes(80_000))):
        calls = {name: partial(chain.seal, value, context) for name, chain in chains.items()}
        held &= _ratios(f"seal {label}", calls, 1.2)
    print("\nthe same, the cipher alone (opening has no target)")
    ciphers = {name: AesGcm(source) for name, source in sources.items()}
    for size in (100, 2_000, 80_000):
        data = secrets.token_bytes(size)
        sealed = {name: cipher.encode(data, TAG, context) for name, cipher in ciphers.items()}
        held &= _ratios(f"seal {size:,} B", {name: partial(cipher.encode, data, TAG, context) for name, cipher in ciphers.items()}, 1.2)
        _ratios(f"open {size:,} B", {name: partial(cipher.decode, sealed[name], TAG, context) for name, cipher in ciphers.items()}, None)
    return held


def _ratios(what: str, calls: dict[str, partial[Any]], target: float | None) -> bool:
    times = best_of(calls, rounds=300, seconds=0.001)
    held = True
    for name in ("inline", "thread"):
        ratio = times[name] / times["environment"]
        ok = target is None or ratio <= target
        held &= row(f"{what}, {name}", ratio, f"<= {target}" if target else "-", ok, f"{times[name] * 1e6:8.1f} us")
    return held


def headers() -> bool:
    """Header bytes, and all that sealing adds to a small value."""
    print("\nheader bytes (and all that sealing adds to one byte)")
    held = True
    for name, source, target in (
        ("inline, one AWS root", EnvelopeKeys(FreeRoot()), 320),
        ("key store", ThreadKeys(MemoryStore(), FreeRoot()), 120),
    ):
        sealed = AesGcm(source).encode(b"x", TAG, place())
        header = len(parse(sealed)[0].marshal())
        held &= row(name, header, f"<= {target}", header <= target, f"{len(sealed) - 1} in all")
    return held


def rotation(threads: int = 1_000, checkpoints: int = 100) -> bool:
    """A root rotation killed half-way and run again beside a writer, on real wrapped keys."""
    print(f"\nroot rotation of {threads:,} threads x {checkpoints} checkpoints, stopped half-way, run again, with a writer running")
    store = MemoryStore()
    old, new = (LocalRoot(Keyring.generate(name)) for name in ("old", "new"))
    keys = ThreadKeys(store, {"old": old})
    cipher = AesGcm(keys)
    for thread in range(threads):
        for number in range(checkpoints):
            store.put(f"data/{thread}/{number}", cipher.encode(b"value", TAG, place(thread, number)))
    etags = {listed.key: store.get(listed.key).etag for listed in store.list("data/")}
    store.faults.clear()
    during = Roots({"old": old, "new": new}, active=["new"])
    stop = threading.Event()
    unreadable: list[str] = []
    written: list[tuple[Context, bytes]] = []

    def write_and_read() -> None:
        live = AesGcm(ThreadKeys(store, during, recheck_s=0.001))
        while not stop.is_set():
            thread = len(written) % threads
            context = place(thread, len(written))
            written.append((context, live.encode(b"value", TAG, context)))
            if live.decode(store.get(f"data/{thread}/0").data, TAG, place(thread, 0)) != b"value":
                unreadable.append(f"{thread}")

    writer = threading.Thread(target=write_and_read)
    writer.start()
    store.faults.plan(Fault("put", "stop", key_contains="/keys/", skip=threads // 2))
    rotating = ThreadKeys(store, during)
    start = time.perf_counter()
    with suppress(Stopped):
        rotate_roots(rotating, workers=2)
    report = rotate_roots(rotating, workers=2)
    took = time.perf_counter() - start
    stop.set()
    writer.join()
    puts = store.faults.requests["put"] - 1  # the one that was stopped wrote nothing
    moved = sum(store.get(key).etag != etag for key, etag in etags.items())
    after = AesGcm(ThreadKeys(store, {"new": new}))
    opened = sum(after.decode(store.get(key).data, TAG, place(*map(int, key.split("/")[1:]))) == b"value" for key in etags)
    opened_late = sum(after.decode(sealed, TAG, context) == b"value" for context, sealed in written)
    detail = f"{took:.1f} s"
    return all(
        [
            row("small writes", puts, f"<= {threads}", puts <= threads and report.complete, detail),
            row("data objects rewritten", moved, "== 0", moved == 0),
            row("values unreadable under the new root alone", len(etags) - opened, "== 0", opened == len(etags)),
            row("values unreadable meanwhile", len(unreadable), "== 0", not unreadable, f"{len(written):,} written and read"),
            row("values written meanwhile unreadable", len(written) - opened_late, "== 0", opened_late == len(written)),
        ]
    )


class Forgetful(MemoryStore):
    """Takes everything and keeps nothing, so that what grows is the key source."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """Nothing is stored."""
        return "etag"


def growth(threads: int = 100_000) -> bool:
    """Memory of a key source that meets one new thread after another."""
    print(f"\nresident memory after {threads:,} threads / after {threads // 10:,} (cache of 1,000)")
    held = True
    for name, source in (("inline", EnvelopeKeys(FreeRoot())), ("thread", ThreadKeys(Forgetful(), FreeRoot(), cache=CacheLimits()))):
        for number in range(threads // 10):
            source.current(place(number))
        before = _resident()
        for number in range(threads // 10, threads):
            source.current(place(number))
        ratio = _resident() / before
        held &= row(name, ratio, "<= 1.05", ratio <= 1.05)
    return held


def _resident() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123  # a file of the kernel, read line by line
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def main() -> bool:
    """Everything; True when every target held."""
    return all([growth(), overhead(), headers(), rotation()])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
