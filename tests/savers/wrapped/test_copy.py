"""Copying a thread opens it at its place and seals it anew at the other; the copy is whole, and goes on by itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver

from sealpoint.errors import IntegrityError
from sealpoint.savers import SealedSaver
from sealpoint.savers.wrapped.cells import Write
from sealpoint.savers.wrapped.copying import in_positions
from tests.savers.wrapped import agent
from tests.savers.wrapped.test_graphs import _plain, _told
from tests.savers.wrapped.test_habits import at

Wrap = Callable[..., SealedSaver]


class Copying(InMemorySaver):
    """A saver that offers copying, as none of LangGraph's own does today: rows as they are, which under seals would not open."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        for space, found in list(self.storage[source_thread_id].items()):
            self.storage[target_thread_id][space].update(found)
        stores: tuple[Any, ...] = (self.writes, self.blobs)
        for store in stores:
            for key, value in [item for item in store.items() if item[0][0] == source_thread_id]:
                store[(target_thread_id, *key[1:])] = value

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)


async def test_the_conformance_suite_passes(seal: Wrap) -> None:
    async def fresh() -> AsyncGenerator[Any, None]:
        yield seal(Copying())

    report = await validate(checkpointer_test(name="copying")(fresh), capabilities={"copy_thread"})
    result = report.results["copy_thread"]
    assert (result.tests_failed, result.tests_passed > 5) == (0, True), result.failures


@pytest.mark.parametrize("options", [{}, {"hash_thread_ids": True, "hide_names": True}], ids=["plain", "hidden"])
def test_a_copied_run_resumes_and_its_source_is_left_alone(seal: Wrap, options: dict[str, Any], index_keys: Any) -> None:
    saver = seal(Copying(), index_keys=index_keys, **options)
    graph = agent.build().compile(checkpointer=saver)
    graph.invoke(agent.first(), agent.config("source"))
    before = _plain(_told(graph.get_state_history(agent.config("source"))))
    saver.copy_thread("source", "target")
    assert _plain(_told(graph.get_state_history(agent.config("target")))) == before
    done = graph.invoke(agent.resume(), agent.config("target"))
    assert done["messages"][-1].content == agent.ANSWER
    assert _plain(_told(graph.get_state_history(agent.config("source")))) == before
    saver.delete_thread("source")
    assert graph.get_state(agent.config("target")).values["messages"][-1].content == agent.ANSWER


def test_rows_copied_as_they_are_do_not_open(seal: Wrap) -> None:
    inner = Copying()
    agent.build().compile(checkpointer=seal(inner)).invoke(agent.first(), agent.config("source"))
    inner.copy_thread("source", "target")
    with pytest.raises(IntegrityError):
        seal(inner).get_tuple(at(thread="target"))


def test_writes_go_back_to_their_positions() -> None:
    stored = [("b", Write(2, "", "second")), ("a", Write(0, "", "first")), ("__interrupt__", Write(-3, "", "asked"))]
    assert in_positions(stored) == [("a", "first"), ("__interrupt__", "asked"), ("b", "second")]
    assert in_positions([("__error__", Write(-1, "", "e"))]) == [("__error__", "e")]
    assert in_positions([("a", Write(0, "", 1)), ("__error__", Write(-1, "", 2))]) == [("a", 1), ("__error__", 2)]
