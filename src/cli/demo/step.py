"""One step of the demo's agent in a process of its own: `python -m sealpoint.cli.demo.step start|resume KIND FILE|URI [THREAD]`."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import ExitStack
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ...savers import ObjectSaver, SealedSaver
from ...serde import sealed_serializer
from . import agent


def open_saver(kind: str, where: str, cleanup: ExitStack) -> BaseCheckpointSaver[Any]:
    """The saver of one part of the demo, with keys from the environment.

    Args:
        kind: ``serde`` and ``sealed`` are SQLite by the first and the second way in; ``objects`` is the object saver.
        where: a file, or a URI.
        cleanup: closes it.
    """
    if kind == "objects":
        saver = ObjectSaver.from_uri(where)
        cleanup.callback(saver.store.close)
        return saver
    connection = sqlite3.connect(where, check_same_thread=False)
    cleanup.callback(connection.close)
    return SealedSaver(SqliteSaver(connection)) if kind == "sealed" else SqliteSaver(connection, serde=sealed_serializer())


def main(step: str, kind: str, where: str, thread: str = agent.THREAD) -> None:
    """Runs `step`, and prints what a person would read of it."""
    with ExitStack() as cleanup:
        saver = open_saver(kind, where, cleanup)
        if step == "start":
            print(agent.start(saver, thread))  # noqa: T201 - the parent process reads it
        else:
            print(agent.resume(saver, thread)["messages"][-1].content)  # noqa: T201 - as above


if __name__ == "__main__":
    main(*sys.argv[1:])
