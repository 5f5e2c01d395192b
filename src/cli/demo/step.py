"""One step of the demo's agent in a process of its own: `python -m sealpoint.cli.demo.step start|resume DATABASE [THREAD]`."""

from __future__ import annotations

import sqlite3
import sys

from langgraph.checkpoint.sqlite import SqliteSaver

from ...serde import sealed_serializer
from . import agent


def main(step: str, database: str, thread: str = agent.THREAD) -> None:
    """Runs `step` with keys from the environment, and prints what a person would read of it."""
    connection = sqlite3.connect(database, check_same_thread=False)
    saver = SqliteSaver(connection, serde=sealed_serializer())
    if step == "start":
        print(agent.start(saver, thread))  # noqa: T201  (the parent process reads it)
    else:
        print(agent.resume(saver, thread)["messages"][-1].content)  # noqa: T201
    connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
