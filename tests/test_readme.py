"""The README tells the truth: its help text is the real one, its links lead somewhere, its Python runs."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sealpoint.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_help_shown_is_the_help_given():
    shown = re.search(r"<!-- help: sealpoint --help -->\n```\n(.*?)```", README, re.DOTALL)
    given = CliRunner().invoke(main, ["--help"], prog_name="sealpoint", terminal_width=100).output
    assert shown is not None
    assert shown[1] == given, f"put this into the README:\n{given}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_python_shown_runs(monkeypatch, tmp_path):
    graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra: demo)")
    pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    pytest.importorskip("boto3", reason="boto3 is not installed (extra: s3)")
    from sealpoint.cli.keygen import keygen

    monkeypatch.setenv("SEALPOINT_KEYS", CliRunner().invoke(keygen).stdout.strip())
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 5
    assert any("async def main" in block for block in blocks)
    start, *others = (block.replace("file:///var/lib/agents", tmp_path.as_uri() + "/agents") for block in blocks)
    names: dict[str, Any] = {}
    exec(start, names)  # noqa: S102 - our own README
    builder = graph.StateGraph(dict)
    builder.add_node("a", lambda _: {"x": 1})
    builder.add_edge(graph.START, "a")
    config = {"configurable": {"thread_id": "1"}}
    builder.compile(checkpointer=names["saver"]).invoke({}, config)
    assert names["connection"].execute("select count(*) from checkpoints where type like '%+aesgcm'").fetchone()[0] > 0
    for block in others:
        exec(block, names)  # noqa: S102 - our own README
        if "async def main" in block:
            asyncio.run(names["main"]())
        if "register" in block:
            context = names["decimal"].Context(prec=7)
            assert names["serde"].loads_typed(names["serde"].dumps_typed(context)).prec == 7
    assert names["serde"].dumps_typed({"messages": []})[0] == "msgpack1+aesgcm"
    names["connection"].close()
