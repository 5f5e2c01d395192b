"""Real LangGraph graphs and its conformance suite run the same with the sealed serializer as without it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from sealpoint import Keyring, sealed_serializer
from tests.chain.agent_run import SAVERS, run

EXPECTED = {
    "asked": "Verdict",
    "case": ["Case", 7, ["a"]],
    "verdict": ["Verdict", True],
    "parts": [0, 1, 2, 3],
    "messages": ["hi", "opened"],
    "answer": "yes",
    "serde": "LayeredSerializer",
    "refused": {},
}


@pytest.mark.parametrize("saver", SAVERS)
def test_a_graph_runs_unchanged(saver, tmp_path):
    seen = run(saver, tmp_path, sealed_serializer(Keyring.generate("k")))
    assert seen.pop("sealed")["k"] > 10
    assert seen == EXPECTED


@pytest.mark.parametrize("saver", [SAVERS[0], *(pytest.param(saver, marks=pytest.mark.slow) for saver in SAVERS[1:])])
def test_a_graph_runs_unchanged_in_strict_msgpack_mode(saver, tmp_path):
    """LangGraph narrows the types that may be read, and replaces serializers that it does not know: ours stays, and hears the list."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.chain.agent_run", saver, str(tmp_path)],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["strict"]
    assert seen["ours"].pop("sealed")["k"] > 10
    assert seen["ours"] == EXPECTED
    assert "Blocked" not in done.stderr
    assert "does not support" not in done.stderr


async def _conformance(kind, serde):
    conformance = pytest.importorskip("langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed")

    async def factory():
        if kind == "memory":
            yield InMemorySaver(serde=serde)
        else:
            async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
                if serde is not None:
                    saver.serde = serde
                yield saver

    registered = conformance.initializer.RegisteredCheckpointer(name=kind, factory=factory)
    report = await conformance.validate(registered)
    results = {
        name: (
            result.detected,
            result.passed,
            result.tests_passed,
            result.tests_failed,
            [failure.split(":")[0] for failure in result.failures],
        )
        for name, result in report.results.items()
    }
    assert sum(passed for _, _, passed, _, _ in results.values()) > 20
    return results


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_conformance_suite_gives_the_same_result_as_without(kind):
    bare = await _conformance(kind, None)
    assert await _conformance(kind, sealed_serializer(Keyring.generate())) == bare
