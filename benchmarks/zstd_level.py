"""Measures zstd levels 1 to 9 on checkpoint payloads: size against time; it is what the default level of `Zstd` is chosen by.

Run ``python -m benchmarks.zstd_level [--rounds N]``. The prose is Python's own documentation, each paragraph used once until all are,
so that the run needs no network; the messages, tool results and embeddings are drawn from a fixed seed.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint import Context, Zstd

LEVELS = range(1, 10)
UNBOUND = Context.unbound()
SECONDS = 0.02  # a measurement repeats a call for at least as long as this

_random = random.Random(20261130)  # noqa: S311 - test data, not keys


def _paragraphs() -> Iterator[str]:
    """Prose without end: the language reference and the docstrings of the standard library."""
    texts = list(topics.values())
    for path in sorted(Path(ast.__file__).parent.glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_bytes()))
        texts += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    found = sorted({part for text in texts for part in text.split("\n\n") if 80 < len(part) < 1500})
    while True:
        _random.shuffle(found)
        yield from found


_prose = _paragraphs()


def _id() -> str:
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))


def _turn() -> Iterator[BaseMessage]:
    """A question, a tool call with its result, an answer with the metadata that a model service returns."""
    yield HumanMessage(next(_prose)[:200], id=_id())
    call = {"name": "search", "args": {"query": next(_prose)[:60], "limit": _random.randrange(20)}, "id": f"call_{_id()}"}
    usage = {"input_tokens": _random.randrange(4000), "output_tokens": _random.randrange(900), "total_tokens": _random.randrange(5000)}
    metadata = {"model_name": "model-large-2026-08", "finish_reason": "tool_calls", "system_fingerprint": f"fp_{_random.getrandbits(40):x}"}
    yield AIMessage("", tool_calls=[call], id=f"run--{_id()}", usage_metadata=usage, response_metadata=metadata)
    rows = [{"title": next(_prose)[:40], "score": _random.random(), "url": f"https://example.com/{_id()}"} for _ in range(5)]
    yield ToolMessage(json.dumps(rows), tool_call_id=call["id"], id=_id())
    answer = "\n\n".join(islice(_prose, 2))
    yield AIMessage(answer, id=f"run--{_id()}", usage_metadata=usage, response_metadata={**metadata, "finish_reason": "stop"})


def _chat(turns: int) -> list[BaseMessage]:
    return [message for _ in range(turns) for message in _turn()]


def _documents(count: int) -> list[Document]:
    return [Document("\n\n".join(islice(_prose, 3)), metadata={"source": f"doc-{n}", "page": n}) for n in range(count)]


def payloads() -> dict[str, bytes]:
    """Name → bytes as LangGraph's serializer writes them."""
    generator = np.random.default_rng(20261130)
    vectors = generator.standard_normal((32, 1536)).astype(np.float32)
    values: dict[str, Any] = {
        "chat, 1 turn": _chat(1),
        "chat, 10 turns": _chat(10),
        "chat, 100 turns": _chat(100),
        "chat, 500 turns": _chat(500),
        "state with counters": {"step": 7, "route": "answer", "retries": 0, "scores": [0.25, 0.5], "user": _id(), "done": False},
        "10 documents": _documents(10),
        "200 documents": _documents(200),
        "1 embedding, floats": vectors[0].tolist(),
        "32 embeddings, array": vectors,
        "random bytes, 1 MiB": _random.randbytes(1 << 20),
    }
    serde = JsonPlusSerializer()
    return {name: serde.dumps_typed(value)[1] for name, value in values.items()}


def _seconds(call: Callable[[], object]) -> float:
    """CPU seconds a call, over as many calls as `SECONDS` takes; CPU time, since other work on the machine does not count into it."""
    calls, start = 0, time.thread_time()
    while (elapsed := time.thread_time() - start) < SECONDS:
        call()
        calls += 1
    return elapsed / calls


def measured(data: bytes, rounds: int) -> dict[int, tuple[float, float, float]]:
    """Level → (stored size over plain size, MB/s in, MB/s out); the levels take turns, and the best of the rounds counts."""
    layers = {level: Zstd(level=level) for level in LEVELS}
    packed = {level: layer.encode(data, "msgpack", UNBOUND) for level, layer in layers.items()}
    best_in, best_out = dict.fromkeys(LEVELS, math.inf), dict.fromkeys(LEVELS, math.inf)
    for _ in range(rounds):
        for level, layer in layers.items():
            best_in[level] = min(best_in[level], _seconds(partial(layer.encode, data, "msgpack", UNBOUND)))
            frame = packed[level]
            if frame is not None:
                best_out[level] = min(best_out[level], _seconds(partial(layer.decode, frame, "msgpack", UNBOUND)))
    sizes = {level: len(data if frame is None else frame) for level, frame in packed.items()}
    return {level: (sizes[level] / len(data), len(data) / 1e6 / best_in[level], len(data) / 1e6 / best_out[level]) for level in LEVELS}


def main() -> None:
    """Prints a table for each payload, and one over all that compress."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of interleaved measurements (default 3)")
    rounds = parser.parse_args().rounds
    overall: dict[int, list[tuple[float, float, float]]] = {level: [] for level in LEVELS}
    for name, data in payloads().items():
        results = measured(data, rounds)
        print(f"\n{name}: {len(data):,} bytes")
        print("  level   size    MB/s in   MB/s out")
        for level, (ratio, speed_in, speed_out) in results.items():
            shown = f"{speed_out:8.0f}" if speed_out else "  (left alone)"
            print(f"  {level:5}  {ratio:6.3f}  {speed_in:8.0f}  {shown}")
            if ratio < 1:
                overall[level].append((ratio, speed_in, speed_out))
    print("\ngeometric means over the payloads that compress, and the same relative to level 1")
    print("  level   size    MB/s in   MB/s out   size/1   time in/1")
    means = {level: [statistics.geometric_mean(column) for column in zip(*rows, strict=True)] for level, rows in overall.items()}
    for level, (ratio, speed_in, speed_out) in means.items():
        print(f"  {level:5}  {ratio:6.3f}  {speed_in:8.0f}  {speed_out:8.0f}   {ratio / means[1][0]:6.3f}   {means[1][1] / speed_in:6.2f}")


if __name__ == "__main__":
    main()
