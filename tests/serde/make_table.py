"""Writes docs/serde-table.md: what is kept, what is refused and why, with LangGraph's serializer beside ours.

``python -m tests.serde.make_table``. Every value is tried in a forked process of its own, because some kill the process that reads them
back.
"""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import sealpoint
from sealpoint.errors import ValueNotStorableError
from sealpoint.serde import BaseSerializer
from tests.corpus.values import CASES, Case, diff

TABLE = Path(__file__).parents[2] / "docs" / "serde-table.md"
KEPT = "kept"
_SECONDS = 20

HEAD = """# What is kept, what is refused, and why

Made by `python -m tests.serde.make_table` from the corpus in `tests/corpus/values.py`: values that public bug reports say break
checkpoint serializers. A test fails when this page is not current. Every value goes through `dumps_typed` and `loads_typed` once; "kept"
means that type and value are the same, in every nested part. Sealpoint: `sealed_serializer(keys)`, pickle off. LangGraph:
`JsonPlusSerializer()` of langgraph-checkpoint {version}, pickle off; where it answered something else, with a line of log or without, that
is *changed*.

| | kept | refused on dumps | changed silently | raises or crashes on loads |
|---|---:|---:|---:|---:|
{summary}

Refused means `ValueNotStorableError`, with the path of the part, before anything is stored. What Sealpoint refuses can be stored by
registering a pair of functions for the type (`JsonPlus().register`), or with `pickle_fallback=True` where pickle keeps it.

| value | Sealpoint | LangGraph | reported in |
|---|---|---|---|
{rows}
"""


def ours() -> BaseSerializer:
    """The usual chain under a key made for this."""
    return sealpoint.sealed_serializer(sealpoint.Keyring.generate())


def theirs() -> BaseSerializer:
    """LangGraph's serializer as it comes."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return JsonPlusSerializer()


def outcome(case: Case, make: Callable[[], BaseSerializer]) -> str:
    """How one value fares: "kept", "refused: …", "changed: …" or "lost: …", found out in a process that may die."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(_SECONDS)
        os.write(writer, tried(case, make()).encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read().decode()
    _, status = os.waitpid(child, 0)
    return answer if status == 0 else f"lost: the process died ({signal.Signals(os.WTERMSIG(status)).name})"


def tried(case: Case, serde: BaseSerializer) -> str:
    """How one value fares in this process."""
    before = case.make()
    try:
        tag, data = serde.dumps_typed(before)
    except ValueNotStorableError as exc:
        return f"refused: {str(exc).partition('cannot be stored: ')[2] or 'it contains itself'}"
    except Exception as exc:  # noqa: BLE001 - whatever it raises is the answer
        return f"refused: {type(exc).__name__}"
    if case.before_load:
        case.before_load()
    try:
        after = serde.loads_typed((str(tag), bytes(data)))
    except Exception as exc:  # noqa: BLE001 - whatever it raises is the answer
        return f"lost: loads raises {type(exc).__name__}"
    found = [entry for entry in diff(before, after) if not entry.startswith("~")]
    if not found:
        return KEPT
    what = re.sub(r" \(.*", "", found[0].removeprefix("$").lstrip(":. "))
    return f"changed: {what[:60] if '0x' not in what else 'another value'}"


def cell(text: str) -> str:
    """Text that stands in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _summary(name: str, outcomes: list[str]) -> str:
    counts = Counter(entry.partition(":")[0] for entry in outcomes)
    return f"| {name} | {counts[KEPT]} | {counts['refused']} | {counts['changed']} | {counts['lost']} |"


def page() -> str:
    """The page as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [(case, outcome(case, ours), outcome(case, theirs)) for case in CASES]
    rows = [f"| {case.name} | {cell(mine)} | {cell(other)} | {cell(case.ref)} |" for case, mine, other in results]
    total = len(results)
    summary = [
        _summary(f"Sealpoint, of {total}", [mine for _, mine, _ in results]),
        _summary(f"LangGraph, of {total}", [other for *_, other in results]),
    ]
    return HEAD.format(version=version("langgraph-checkpoint"), summary="\n".join(summary), rows="\n".join(rows))


if __name__ == "__main__":
    TABLE.write_text(page(), encoding="utf-8")
