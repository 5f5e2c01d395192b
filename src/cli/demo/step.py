"""One step of the demo's agent in a process of its own: `python -m sealpoint.cli.demo.step start|resume FILE|URI [THREAD]`."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import ExitStack

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ...savers import ObjectSaver
from ...serde import sealed_serializer
from . import agent


def main(step: str, where: str, thread: str = agent.THREAD) -> None:
    """Runs `step` with keys from the environment, and prints what a person would read of it."""
    with ExitStack() as cleanup:
        saver: BaseCheckpointSaver[str]
        if "://" in where:
            saver = ObjectSaver.from_uri(where)
            cleanup.callback(saver.store.close)
        else:
            connection = sqlite3.connect(where, check_same_thread=False)
            cleanup.callback(connection.close)
            saver = SqliteSaver(connection, serde=sealed_serializer())
        if step == "start":
            print(agent.start(saver, thread))  # noqa: T201 - the parent process reads it
        else:
            print(agent.resume(saver, thread)["messages"][-1].content)  # noqa: T201 - as above


if __name__ == "__main__":
    main(*sys.argv[1:])
