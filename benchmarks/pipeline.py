"""The cipher layer against LangGraph's cipher and bare AES-GCM, interleaved; memory and GIL in processes and threads of their own.

`make bench`, or `python -m benchmarks.pipeline`. Prints ratios: ours / theirs, smaller is better, but for throughput.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from cryptography.cobblestone import Cobblestone256Decryptor, Cobblestone256Encryptor
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from benchmarks.measure import best_of, row
from sealpoint import AesGcm, Context, Keyring, sealed_serializer

RING = Keyring.generate("2026-11")
CIPHER = AesGcm(RING)
PLACE = Context.unbound()
TAG = "msgpack1"
MiB = 1 << 20


def ratios() -> bool:
    """Seal and open at the sizes of the targets."""
    print("\nours / LangGraph's cipher (EAX), and / bare AESGCM (one shot, no commitment, no header)")
    eax = EncryptedSerializer.from_pycryptodome_aes(key=secrets.token_bytes(32)).cipher
    gcm = AESGCM(secrets.token_bytes(32))
    held = True
    for size, target in ((100, 0.1), (2_000, 0.2), (80_000, 0.2), (MiB, 0.3)):
        data = secrets.token_bytes(size)
        nonce = secrets.token_bytes(12)
        sealed, (name, theirs), bare = CIPHER.encode(data, TAG, PLACE), eax.encrypt(data), gcm.encrypt(nonce, data, None)
        times = best_of(
            {
                "seal": partial(CIPHER.encode, data, TAG, PLACE),
                "eax seal": partial(eax.encrypt, data),
                "gcm seal": partial(gcm.encrypt, nonce, data, None),
                "open": partial(CIPHER.decode, sealed, TAG, PLACE),
                "eax open": partial(eax.decrypt, name, theirs),
                "gcm open": partial(gcm.decrypt, nonce, bare, None),
            }
        )
        for what in ("seal", "open"):
            ratio = times[what] / times[f"eax {what}"]
            detail = f"{times[what] * 1e6:8.1f} us; / AESGCM {times[what] / times[f'gcm {what}']:.2f}"
            held &= row(f"{what} {size:>9,} B", ratio, f"<= {target}", ratio <= target, detail)
    return held


def throughput() -> bool:
    """64 KiB against bare Cobblestone-256 that writes into one buffer over and over."""
    print("\nthroughput at 64 KiB: ours / bare Cobblestone-256 with reused buffers (larger is better)")
    data, key, context = secrets.token_bytes(65536), secrets.token_bytes(32), b"c" * 60
    buffer = bytearray(70_000)
    sealed = CIPHER.encode(data, TAG, PLACE)
    encryptor = Cobblestone256Encryptor(key, context)
    bare = encryptor.update(data) + encryptor.finalize()

    def bare_seal() -> None:
        encryptor = Cobblestone256Encryptor(key, context)
        at = encryptor.update_into(data, buffer)
        rest = encryptor.finalize()
        buffer[at : at + len(rest)] = rest

    def bare_open() -> None:
        decryptor = Cobblestone256Decryptor(key, context)
        at = decryptor.update_into(bare, buffer)
        rest = decryptor.finalize()
        buffer[at : at + len(rest)] = rest

    times = best_of(
        {
            "seal": lambda: CIPHER.encode(data, TAG, PLACE),
            "bare seal": bare_seal,
            "open": lambda: CIPHER.decode(sealed, TAG, PLACE),
            "bare open": bare_open,
        },
        rounds=25,
    )
    held = True
    for what in ("seal", "open"):
        ratio = times[f"bare {what}"] / times[what]
        held &= row(f"{what} 64 KiB", ratio, ">= 0.65", ratio >= 0.65, f"{65536 / times[what] / 1e6:8.0f} MB/s")
    return held


_MEMORY = """
import json, secrets, sys
from sealpoint import AesGcm, Context, Keyring, sealed_serializer
def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
size = 64 << 20
ring, place = Keyring.generate(), Context.unbound()
cipher, serde = AesGcm(ring), sealed_serializer(ring)
calls = {"cipher": lambda v: cipher.encode(v, "t", place), "open": lambda v: cipher.decode(v, "t", place), "chain": serde.dumps_typed}
call = calls[sys.argv[1]]
call(b"x" * 100 if sys.argv[1] != "open" else cipher.encode(b"x", "t", place))
value = secrets.token_bytes(size)
if sys.argv[1] == "open":
    value = cipher.encode(value, "t", place)
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS") - size
kept = call(value)
print(json.dumps((status("VmHWM") - before) / size))
"""


def memory() -> bool:
    """Peak resident memory while a 64 MiB value is handled, the value itself included."""
    print("\npeak memory / value, 64 MiB, the value included")
    held = True
    for what, target in (("cipher", 2.2), ("open", 2.2), ("chain", 3.3)):
        done = subprocess.run([sys.executable, "-c", _MEMORY, what], capture_output=True, text=True, check=True)
        ratio = json.loads(done.stdout)
        label = {"cipher": "seal", "open": "open", "chain": "whole chain, dumps_typed (no target)"}[what]
        ok = row(label, ratio, f"<= {target}" if what != "chain" else "-", ratio <= target)
        held &= ok or what == "chain"
    return held


def gil() -> bool:
    """The longest time for which another thread could not run while 128 MiB are sealed."""
    print("\nlongest time in ms that sealing 128 MiB kept another thread from running (best of 5 runs)")
    held = True
    value = secrets.token_bytes(128 * MiB)
    serde = sealed_serializer(RING)
    for label, call in (
        ("cipher", lambda: CIPHER.encode(value, TAG, PLACE)),
        ("whole chain, bytes value", lambda: serde.dumps_typed(value)),
    ):
        stretch = min(_longest_stall(call) for _ in range(5)) * 1000
        held &= row(label, stretch, "<= 20", stretch <= 20)
    return held


def _longest_stall(call: Callable[[], object]) -> float:
    stop, longest = threading.Event(), [0.0]

    def tick() -> None:
        last = time.perf_counter()
        while not stop.is_set():
            now = time.perf_counter()
            longest[0] = max(longest[0], now - last)
            last = now

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.02)
    longest[0] = 0.0
    call()
    stop.set()
    thread.join()
    return longest[0]


def overhead() -> bool:
    """Bytes that sealing adds to a small value."""
    print("\nbytes added to a small value")
    added = len(CIPHER.encode(b"x", TAG, PLACE)) - 1
    return row("under an environment key with a 7-character id", added, "<= 120", added <= 120)


def main() -> bool:
    """Everything; True when every target held."""
    return all([ratios(), throughput(), memory(), gil(), overhead()])


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
