"""LangGraph's own conformance suite: a sealed saver passes and fails exactly the tests that the bare one does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from tests.savers.wrapped.targets import AsyncTarget

# What the bare savers fail by themselves; ShallowPostgresSaver keeps one checkpoint per namespace and has no checkpoint_id column.
KNOWN_FAILURES = {"memory": 0, "sqlite": 0, "postgres": 0, "shallow-postgres": 16}


async def _results(target: AsyncTarget, wrap: Callable[[Any], Any], folders: Iterator[Path]) -> dict[str, tuple[int, list[str]]]:
    async def fresh() -> AsyncGenerator[Any, None]:
        async with target.make(next(folders)) as saver:
            yield wrap(saver)

    report = await validate(checkpointer_test(name=target.name)(fresh))
    return {
        name: (result.tests_passed, [failure.split(":")[0] for failure in result.failures])
        for name, result in report.results.items()
        if result.detected
    }


async def test_conformance_equals_that_of_the_bare_saver(
    async_target: AsyncTarget, seal: Callable[..., Any], tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    folders = (tmp_path / str(number) for number in count())
    bare = await _results(async_target, lambda saver: saver, folders)
    sealed = await _results(async_target, seal, folders)
    assert sealed == bare
    assert sum(len(failures) for _, failures in bare.values()) == KNOWN_FAILURES[async_target.name]
    assert sum(passed for passed, _ in bare.values()) > 30


async def test_conformance_holds_with_every_option(
    seal: Callable[..., Any], async_target: AsyncTarget, tmp_path: Path, index_keys: Any
) -> None:
    folders = (tmp_path / str(number) for number in count())
    bare = await _results(async_target, lambda saver: saver, folders)
    options = {
        "index_keys": index_keys,
        "hash_thread_ids": True,
        "hide_names": True,
        "pad_lengths": True,
        "search_fields": ["score", "run_id"],
    }
    assert await _results(async_target, lambda saver: seal(saver, **options), folders) == bare
