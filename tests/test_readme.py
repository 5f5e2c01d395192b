"""The README tells the truth: its help text is the real one, its links lead somewhere, its Python runs."""

import re
import sqlite3
from pathlib import Path

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
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_python_shown_runs(monkeypatch, tmp_path):
    graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed (extra: demo)")
    pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph-checkpoint-sqlite is not installed (extra: demo)")
    from sealpoint.cli.keygen import keygen

    monkeypatch.setenv("SEALPOINT_KEYS", CliRunner().invoke(keygen).stdout.strip())
    builder = graph.StateGraph(dict)
    builder.add_node("a", lambda _: {"x": 1})
    builder.add_edge(graph.START, "a")
    connection = sqlite3.connect(tmp_path / "chat.db", check_same_thread=False)
    names = {"connection": connection, "builder": builder}
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 3
    exec("from sealpoint import sealed_serializer\n" + "\n".join(blocks), names)  # noqa: S102  (our own README)
    names["graph"].invoke({}, {"configurable": {"thread_id": "1"}})
    assert connection.execute("select count(*) from checkpoints where type like '%+aesgcm'").fetchone()[0] > 0
    connection.close()
