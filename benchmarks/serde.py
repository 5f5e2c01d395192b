"""JsonPlus against LangGraph's JsonPlusSerializer, and the whole chain against its EncryptedSerializer: time, size, memory, GIL.

`make bench ARGS=serde`, or `python -m benchmarks.serde [--quick]`. Prints ratios of interleaved runs: ours / theirs, smaller is better.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import secrets
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from benchmarks.measure import Calls, row
from sealpoint import Keyring, sealed_serializer
from sealpoint.serde import JsonPlus

QUICK = "--quick" in sys.argv
ROUNDS = 30 if QUICK else 120
SECONDS = 0.002  # of one call's turn in a round
MiB = 1 << 20
WORDS = [
    "the",
    "agent",
    "looked",
    "up",
    "tomorrow's",
    "weather",
    "in",
    "Lisbon",
    "and",
    "found",
    "that",
    "rain",
    "is",
    "likely",
    "after",
    "noon,",
    "so",
    "the",
    "picnic",
    "moves",
    "indoors;",
    "bring",
    "plates,",
    "a",
    "dozen",
    "lemons,",
    "two",
    "kinds",
    "of",
    "bread,",
    "and",
    "the",
    "blue",
    "folder",
    "with",
    "last",
    "year's",
    "receipts",
    "because",
    "accounting",
    "asked",
    "for",
    "it",
    "twice",
    "already",
]

ours = JsonPlus()
theirs = JsonPlusSerializer()


# --- values ----------------------------------------------------------------------------------------------------------


def text(draw: random.Random, words: int) -> str:
    """Some words."""
    return " ".join(draw.choices(WORDS, k=words))


def history(count: int, seed: int = 7) -> list[AnyMessage]:
    """A conversation: question, tool call with usage metadata, tool result, answer, and so on."""
    draw = random.Random(seed)  # noqa: S311 - the same values on every run

    def unique(prefix: str = "") -> str:
        return f"{prefix}{draw.getrandbits(128):032x}"

    def usage() -> Any:
        read, written = draw.randint(200, 9000), draw.randint(5, 800)
        return {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            "input_token_details": {"audio": 0, "cache_read": draw.randint(0, read)},
            "output_token_details": {"audio": 0, "reasoning": draw.randint(0, written)},
        }

    def response(reason: str) -> dict[str, Any]:
        return {"model_name": "gpt-4o-2024-08-06", "system_fingerprint": unique("fp_")[:13], "finish_reason": reason, "logprobs": None}

    messages: list[AnyMessage] = [SystemMessage(text(draw, 40), id=unique())]
    while len(messages) < count:
        call = unique("call_")[:29]
        arguments = {"query": text(draw, 6), "limit": draw.randint(1, 9)}
        messages.append(HumanMessage(text(draw, 25), id=unique()))
        messages.append(
            AIMessage(
                "",
                id=unique("run--"),
                tool_calls=[{"name": "search", "args": arguments, "id": call, "type": "tool_call"}],
                usage_metadata=usage(),
                response_metadata=response("tool_calls"),
            )
        )
        messages.append(ToolMessage(text(draw, 60), tool_call_id=call, name="search", id=unique()))
        messages.append(AIMessage(text(draw, 40), id=unique("run--"), usage_metadata=usage(), response_metadata=response("stop")))
    return messages[:count]


def small_states() -> dict[str, Any]:
    """States of about 2 KB: plain data, and a short conversation."""
    draw = random.Random(3)  # noqa: S311 - the same values on every run
    plain = {
        "user": {"id": 4711, "name": "Ada", "plan": "team", "locale": "pt-PT"},
        "documents": [{"id": n, "title": text(draw, 5), "score": n / 7, "tags": ["a", "b"]} for n in range(12)],
        "summary": text(draw, 120),
        "steps": 12,
        "done": False,
    }
    return {"plain state": plain, "short conversation": {"messages": history(4), "steps": 3, "done": False}}


# --- ratios ----------------------------------------------------------------------------------------------------------


def best_of(calls: Calls) -> dict[str, float]:
    """The best processor time of each call, in seconds: A B A B … in short turns, so that other processes disturb both alike."""
    repeats = {}
    for name, call in calls.items():
        call()
        start = time.process_time()
        call()
        repeats[name] = max(1, int(SECONDS / max(time.process_time() - start, 1e-7)))
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (time.process_time() - start) / repeats[name])
    return best


def compare(what: str, value: Any, dump_target: float, load_target: float, dump_detail: str = "") -> bool:
    """Prints both ratios for one value, JsonPlus against JsonPlusSerializer."""
    mine, other = ours.dumps_typed(value), theirs.dumps_typed(value)
    times = best_of(
        {
            "dumps": partial(ours.dumps_typed, value),
            "their dumps": partial(theirs.dumps_typed, value),
            "loads": partial(ours.load, *mine, authenticated=True),
            "their loads": partial(theirs.loads_typed, other),
        },
    )
    held = True
    for verb, target in (("dumps", dump_target), ("loads", load_target)):
        ratio = times[verb] / times[f"their {verb}"]
        detail = f"{times[verb] * 1e6:9.1f} us against {times[f'their {verb}'] * 1e6:9.1f}; {len(mine[1]):,} B against {len(other[1]):,}"
        held &= row(f"{verb} {what}", ratio, f"<= {target}", ratio <= target, detail + (dump_detail if verb == "dumps" else ""))
    return held


def ratios() -> bool:
    """Every pair of times that has a target."""
    print("\nJsonPlus / JsonPlusSerializer")
    held = compare("100 messages", {"messages": history(100)}, 0.55, 0.40)
    held &= compare("1,000 messages", {"messages": history(1000)}, 0.70, 0.40)
    for name, state in small_states().items():
        held &= compare(f"2 KB, {name}", state, 1.5, 1.5)
    vectors = np.random.default_rng(5).standard_normal((2500, 1024)).astype("f4")
    held &= compare("10 MB with a float32 array", {"vectors": vectors, "note": "x"}, 0.50, 1.0)
    return held


def chain() -> bool:
    """The same with zstd and AES-256-GCM."""
    print("\nthe whole chain / EncryptedSerializer.from_pycryptodome_aes(), 1,000 messages")
    value = {"messages": history(1000)}
    sealed = sealed_serializer(Keyring.generate())
    encrypted = EncryptedSerializer.from_pycryptodome_aes(key=secrets.token_bytes(32))
    mine, other = sealed.dumps_typed(value), encrypted.dumps_typed(value)
    times = best_of(
        {
            "dumps": partial(sealed.dumps_typed, value),
            "their dumps": partial(encrypted.dumps_typed, value),
            "loads": partial(sealed.loads_typed, mine),
            "their loads": partial(encrypted.loads_typed, other),
        },
    )
    held = True
    for verb, target in (("dumps", 0.75), ("loads", 0.45)):
        ratio = times[verb] / times[f"their {verb}"]
        held &= row(
            verb, ratio, f"<= {target}", ratio <= target, f"{times[verb] * 1e6:9.1f} us against {times[f'their {verb}'] * 1e6:9.1f}"
        )
    ratio = len(mine[1]) / len(other[1])
    return held & row("stored bytes", ratio, "<= 0.3", ratio <= 0.3, f"{len(mine[1]):,} against {len(other[1]):,}")


# --- memory and GIL --------------------------------------------------------------------------------------------------


def _growth(verb: str, size: int, answer: Any) -> None:
    """In a process of its own: how far resident memory grew during one call, in bytes."""
    value = {"vectors": np.random.default_rng(5).standard_normal(size // 4).astype("f4")}
    call: Callable[[], Any] = partial(ours.dumps_typed, value)
    if verb == "loads":
        data = ours.dumps_typed(value)
        value = {}
        call = partial(ours.load, *data, authenticated=True)
    ours.load(*ours.dumps_typed({"warm": np.zeros(20_000)}), authenticated=True)
    before = _resident()
    peak = _Peak()
    with peak:
        kept = call()
    answer.put((max(peak.seen, _resident()) - before, len(kept)))


def _resident() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123 - one read of a kernel file
        return int(file.read().split()[1]) * resource.getpagesize()


class _Peak:
    """Samples resident memory every half millisecond."""

    def __init__(self) -> None:
        self.seen = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._done.is_set():
            self.seen = max(self.seen, _resident())
            time.sleep(0.0005)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def memory() -> bool:
    """Growth of resident memory during a call, the result counted, the input not."""
    print("\ngrowth of resident memory during the call / size of the value")
    held = True
    size = 10 * MiB
    for verb in ("dumps", "loads"):
        context = multiprocessing.get_context("spawn")
        answer = context.Queue()
        process = context.Process(target=_growth, args=(verb, size, answer))
        process.start()
        grown, _ = answer.get(timeout=120)
        process.join(60)
        held &= row(f"{verb} 10 MiB float32", grown / size, "<= 1.5", grown / size <= 1.5, f"{grown / MiB:.1f} MiB")
    return held


def gil() -> bool:
    """The longest pause of another thread while 128 MiB are assembled and taken apart."""
    print("\nlongest pause of another thread, 128 MiB (ms; larger than 20 is a miss)")
    size = (32 if QUICK else 128) * MiB
    held = True
    for what, value in (("float32 array", np.ones(size // 4, "f4")), ("bytes", bytes(size))):
        data = ours.dumps_typed({"v": value})
        for verb, call in (("dumps", partial(ours.dumps_typed, {"v": value})), ("loads", partial(ours.load, *data, authenticated=True))):
            pause = min(_longest_pause(call) for _ in range(3)) * 1e3
            held &= row(f"{verb} {what}", pause, "<= 20", pause <= 20)
    return held


def _longest_pause(call: Callable[[], Any]) -> float:
    done = threading.Event()
    longest = 0.0

    def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    thread = threading.Thread(target=watch)
    thread.start()
    kept = call()
    done.set()
    thread.join()
    del kept
    return longest


def main() -> int:
    """Runs everything and returns the exit status."""
    held = [part() for part in (ratios, chain, memory, gil)]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
