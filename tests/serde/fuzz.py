"""A seeded mutator for stored payloads: hostile bytes never crash, hang, import, run or open anything, or take much memory.

``python -m tests.serde.fuzz --inputs 1000000 --seed 1`` prints one line and exits with 0, or stops at the first input that breaks a
rule and prints how to make it again. Half of the mutations know the frame, so that they reach what is inside. It runs in a process of its
own, because an audit hook cannot be removed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import resource
import signal
import struct
import sys
import time
import warnings
from typing import Any, NoReturn

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint.errors import SealpointError
from sealpoint.serde import JsonPlus
from sealpoint.serde.codec.frame import copy_into, marshal, parse
from sealpoint.serde.codec.kind import BufferSource
from tests.corpus.values import CASES
from tests.serde.compare import bare
from tests.serde.extra import VALUES

Payload = tuple[str, bytes]
SECONDS_EACH = 5
MAX_GROWTH = 192 << 20  # bytes of resident memory over the whole run
MAX_PAYLOAD = 20_000  # bytes; larger seeds only make it slow
# What loading may never do. Time zone data is the exception: zoneinfo looks for an unknown key in the files and packages of tzdata.
FORBIDDEN = (
    "os.",
    "subprocess.",
    "socket.",
    "shutil.",
    "ctypes.",
    "exec",
    "compile",
    "pickle.find_class",
    "webbrowser.",
    "urllib.",
    "sqlite3.",
)
TELLING = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xc0",
    b"\xc1",
    b"\xd7\x01",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\x00\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xcb\x7f\xf8",
)
NAMES = (
    b"os",
    b"system",
    b"builtins",
    b"eval",
    b"subprocess",
    b"Popen",
    b"uuid",
    b"UUID",
    b"__class__",
    b"__del__",
    b"|O",
    b"<f8",
    b"type",
)


class BrokenRuleError(BaseException):
    """What was loaded did something that it may not."""


def seeds() -> list[Payload]:
    """Payloads of ours and of LangGraph's, for every value that has one."""
    ours, theirs = bare(), JsonPlusSerializer()
    found: list[Payload] = [("json", b'{"a": {"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "kwargs": {"hex": "%032d"}}}' % 7)]
    makers = [case.make for case in CASES if case.expected == "roundtrip"] + list(VALUES.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in makers:
            for serde in (ours, theirs):
                try:
                    tag, data = serde.dumps_typed(make())
                except Exception:  # noqa: BLE001, S112 - LangGraph's does not take them all
                    continue
                if len(data) <= MAX_PAYLOAD and tag in ("msgpack1", "msgpack"):
                    found.append((tag, bytes(data)))
    return found


# --- mutations --------------------------------------------------------------------------------------------------------


def mutated(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """A few changes at random places."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(changed) + 1)
        step = draw.randrange(9)
        if step == 0 and at < len(changed):
            changed[at] ^= 1 << draw.randrange(8)
        elif step == 1 and at < len(changed):
            changed[at] = draw.randrange(256)
        elif step == 2:
            changed[at:at] = draw.choice(TELLING)
        elif step == 3:
            del changed[at : at + draw.randrange(1, 9)]
        elif step == 4:
            changed[at:at] = changed[at : at + draw.randrange(1, 33)]
        elif step == 5:
            start = draw.randrange(len(other) + 1)
            piece = other[start : start + draw.randrange(1, 65)]
            changed[at : at + len(piece)] = piece
        elif step == 6:
            name = draw.choice(NAMES)
            changed[at : at + len(name) + 1] = bytes((0xA0 + len(name),)) + name
        elif step == 7:
            changed[at : at + 4] = struct.pack(">I", draw.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, draw.getrandbits(32))))
        else:
            del changed[at:]
    return bytes(changed)


def mutated_inside(draw: random.Random, data: bytes, other: bytes) -> bytes:
    """The same within one document or buffer, or whole documents exchanged, in a frame that is sound."""
    marker, documents, buffers = parse(data)
    parts = [bytes(part) for part in (*documents, *buffers)]
    if draw.randrange(12) == 0:
        parts.insert(draw.randrange(len(documents) + 1), bytes(draw.choice(parse(other)[1])).replace(parse(other)[0], marker))
        return framed(marker, parts, len(documents) + 1)
    place = draw.randrange(len(parts))
    parts[place] = mutated(draw, parts[place], other)
    return framed(marker, parts, len(documents))


def framed(marker: bytes, parts: list[bytes], documents: int) -> bytes:
    """A frame around the parts."""

    def source(part: bytes) -> BufferSource:
        return BufferSource(len(part), lambda room: copy_into(room, memoryview(part)))

    return marshal(marker, parts[:documents], list(map(source, parts[documents:])))


# --- rules ------------------------------------------------------------------------------------------------------------


class Watch:
    """Raises when anything forbidden happens while it is on."""

    def __init__(self) -> None:
        self.on = False
        sys.addaudithook(self._hook)
        signal.signal(signal.SIGALRM, self._late)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "import":
            if not str(args[0]).startswith("tzdata"):
                self._broken(f"import of {args[0]}")
        elif event == "open":
            if "zoneinfo" not in str(args[0]) and "tzdata" not in str(args[0]):
                self._broken(f"open of {args[0]}")
        elif event in ("exec", "compile") and "tzdata" in str(args):
            return
        elif event.startswith(FORBIDDEN) and not event.startswith(("os.listdir", "os.scandir")):
            self._broken(f"audit event {event}")

    def _broken(self, what: str) -> NoReturn:
        self.on = False
        raise BrokenRuleError(what)

    def _late(self, _number: int, _frame: Any) -> None:
        self._broken(f"it took more than {SECONDS_EACH} s")

    def load(self, serde: JsonPlus, payload: Payload) -> str:
        """How loading ended: the name of our error, or "loaded"."""
        signal.setitimer(signal.ITIMER_REAL, SECONDS_EACH)
        self.on = True
        try:
            serde.loads_typed(payload)
        except SealpointError as exc:
            return type(exc).__name__
        finally:
            self.on = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return "loaded"


def resident() -> int:
    """The peak of resident memory so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(inputs: int, seed: int) -> dict[str, int]:
    """Loads so many mutated payloads and returns how each kind of ending was met how often.

    Raises:
        SystemExit: a rule was broken; the message says by which input.
    """
    draw = random.Random(seed)  # noqa: S311 - the same inputs for the same seed
    known = seeds()
    own = [payload for payload in known if payload[0] == "msgpack1"]
    serializers = [JsonPlus(on_drift="ignore"), bare(on_drift="ignore")]
    watch = Watch()
    for payload in known:
        for serde in serializers:
            _warm(serde, payload)
    endings: collections.Counter[str] = collections.Counter()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = resident()
    for number in range(inputs):
        tag, data = draw.choice(known)
        if tag == "msgpack1" and draw.randrange(2):
            payload = tag, mutated_inside(draw, data, draw.choice(own)[1])
        else:
            payload = tag, mutated(draw, data, draw.choice(known)[1])
        try:
            endings[watch.load(serializers[number % 2], payload)] += 1
        except BaseException as exc:
            raise SystemExit(f"input {number} of seed {seed} broke a rule: {type(exc).__name__}: {exc}\n{payload!r}") from exc
    grown = resident() - before
    if grown > MAX_GROWTH:
        raise SystemExit(f"{inputs} inputs of seed {seed} took {grown >> 20} MiB")
    endings["MiB of growth"] = grown >> 20
    return dict(endings)


def _warm(serde: JsonPlus, payload: Payload) -> None:
    """Imports whatever sound payloads need, before it is forbidden."""
    with contextlib.suppress(SealpointError):
        serde.loads_typed(payload)


def main() -> None:
    """Reads the arguments, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    endings = run(arguments.inputs, arguments.seed)
    sys.stdout.write(f"{arguments.inputs} inputs, seed {arguments.seed}, {time.monotonic() - start:.0f} s: {endings}\n")


if __name__ == "__main__":
    main()
