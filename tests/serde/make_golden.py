"""Writes golden/langgraph-<version>.json: bytes of LangGraph's own serializer for the tests; it does not import sealpoint.

Run it (`python -m tests.serde.make_golden`) when LangGraph's format changes; files of older versions stay, because old cells do.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import ipaddress
import json
import pathlib
import re
import uuid
from collections import deque
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Send

from tests.corpus.values import Colour, Plain, Simple, V1Simple

FOLDER = pathlib.Path(__file__).parent / "golden"

VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "bytes": lambda: b"\x00\xff",
    "bytearray": lambda: bytearray(b"abc"),
    "plain": lambda: {"a": [1, 2.5, "é", True, None, b"x"], "b": {"1": 1}, 3: "int key"},
    "datetime": lambda: dt.datetime(2026, 3, 7, 9, 1, 2, 3, tzinfo=dt.UTC),
    "date": lambda: dt.date(2024, 2, 29),
    "time": lambda: dt.time(1, 2, 3, 4),
    "timedelta": lambda: dt.timedelta(days=-1, microseconds=5),
    "zone": lambda: ZoneInfo("Europe/Lisbon"),
    "timezone": lambda: dt.timezone(dt.timedelta(hours=2)),
    "uuid": lambda: uuid.UUID(int=7),
    "decimal": lambda: decimal.Decimal("1.10"),
    "set": lambda: {1, 2, 3},
    "frozenset": lambda: frozenset({"a"}),
    "deque": lambda: deque([1, 2]),
    "address": lambda: [ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("fe80::/64")],
    "path": lambda: pathlib.Path("/a/b"),
    "pattern": lambda: re.compile("a.b", re.IGNORECASE),
    "messages": lambda: [
        HumanMessage("hi", id="1"),
        AIMessage("", id="2", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1"}]),
        ToolMessage("ok", tool_call_id="c1", id="3"),
    ],
    "document": lambda: Document("text", metadata={"p": 1}),
    "send": lambda: Send("node", {"x": 1}),
    "command": lambda: Command(update={"a": 1}, resume="yes", goto=["next"]),
    "interrupt": lambda: Interrupt(value={"q": "ok?"}, id="abc"),
    "delta_snapshot": lambda: {"messages": _DeltaSnapshot([1, 2])},
    "array": lambda: np.arange(6, dtype="f4").reshape(2, 3),
    "array_fortran": lambda: np.asfortranarray(np.arange(6).reshape(2, 3)),
    "own_dataclass": lambda: Plain(1, [2]),
    "own_model": lambda: Simple(a=1, b="x"),
    "own_model_v1": lambda: V1Simple(a=1),
    "own_enum": lambda: Colour.RED,
}


def main() -> None:
    """Writes the file for the installed version."""
    serde = JsonPlusSerializer()
    written = {}
    for name, make in VALUES.items():
        tag, data = serde.dumps_typed(make())
        written[name] = {"tag": tag, "data": base64.b64encode(bytes(data)).decode()}
    release = version("langgraph-checkpoint")
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps({"langgraph-checkpoint": release, "values": written}, indent=1)
    (FOLDER / f"langgraph-{release}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
