"""RedisSaver on a real Redis Stack: it keeps JSON and revives objects by itself, which under a sealed saver it must not."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from sealpoint import Keyring
from sealpoint.errors import ConfigurationError, IntegrityError, SealpointError
from sealpoint.savers import SealedSaver
from tests.savers.wrapped import agent
from tests.savers.wrapped.redisstack import ASYNC_REDIS, REDIS, documents, needs_redis, server
from tests.savers.wrapped.test_canaries import found_in
from tests.savers.wrapped.test_habits import at, checkpoint

pytestmark = needs_redis
Wrap = Callable[..., SealedSaver]

# langgraph-checkpoint-redis 0.5.2: "" as a namespace is any, `before` needs ULIDs, filters take four keys, prune refuses an empty list.
BARE_FAILURES = {
    "test_list_by_namespace", "test_list_metadata_custom_keys", "test_list_before", "test_list_limit_plus_before",
    "test_list_multiple_namespaces", "test_prune_keep_latest_across_namespaces", "test_prune_empty_list_noop",
}  # fmt: skip
PASSED_SEALED = {"test_list_metadata_custom_keys"}  # filters on sealed metadata take any key


async def test_conformance_fails_no_test_that_the_bare_saver_passes(seal: Wrap, tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in count())

    async def failures(wrap: Callable[[Any], Any]) -> tuple[set[str], int]:
        async def fresh() -> AsyncGenerator[Any, None]:
            async with ASYNC_REDIS.make(next(folders)) as saver:
                yield wrap(saver)

        report = await validate(checkpointer_test(name="redis")(fresh))
        found = {failure.split(":")[0] for result in report.results.values() for failure in result.failures or ()}
        return found, sum(result.tests_passed for result in report.results.values())

    assert await failures(lambda saver: saver) == (BARE_FAILURES, 59)
    assert await failures(seal) == (BARE_FAILURES - PASSED_SEALED, 60)


@pytest.fixture
def raw(tmp_path: Path, keyring: Keyring) -> Iterator[tuple[SealedSaver, Path]]:
    """A reader of a store with an interrupted run in each of two threads."""
    with REDIS.make(tmp_path / "store") as inner:
        saver = SealedSaver(inner, keyring)
        for thread in ("thread-1", "thread-2"):
            agent.build().compile(checkpointer=saver).invoke(agent.first(), agent.config(thread))
        yield SealedSaver(inner, keyring), tmp_path / "store"


def _read_all(saver: SealedSaver) -> int:
    found = [item for thread in ("thread-1", "thread-2") for item in saver.list({"configurable": {"thread_id": thread}})]
    for item in found:
        saver.get_tuple(item.config)
    return len(found)


@contextmanager
def _edited(key: bytes, edit: Callable[[dict[str, Any]], Any]) -> Iterator[None]:
    import redis

    client = redis.Redis.from_url(server())
    before = client.json().get(key.decode())
    changed = copy.deepcopy(before)
    edit(changed)
    assert changed != before
    client.json().set(key.decode(), "$", changed)
    try:
        yield
    finally:
        client.json().set(key.decode(), "$", before)


def test_a_graph_runs_and_no_canary_is_readable(seal: Wrap, tmp_path: Path) -> None:
    with REDIS.make(tmp_path / "store") as inner:
        graph = agent.build().compile(checkpointer=seal(inner))
        graph.invoke(agent.first(), agent.config("thread"))
        graph = agent.build().compile(checkpointer=seal(inner))
        done = graph.invoke(agent.resume(), agent.config("thread"))
        assert [message.content for message in done["messages"]][-2:] == [agent.RESUMED, agent.ANSWER]
        assert [item.split()[-1] for item in done["log"]] == ["begin", "0", "1", "asked", "answered"]
        past = next(snapshot for snapshot in graph.get_state_history(agent.config("thread")) if snapshot.next == ("ask",))
        graph.invoke(None, graph.update_state(past.config, {"text": "forked"}, as_node="worker"))
        assert graph.get_state(agent.config("thread")).values["text"] == "forked"
        with pytest.raises(RuntimeError):
            agent.failing().compile(checkpointer=seal(inner)).invoke(agent.first(), agent.config("failed"))
        assert found_in(REDIS.dump(tmp_path / "store", inner)) == []


async def test_an_async_graph_runs(seal: Wrap, tmp_path: Path) -> None:
    async with ASYNC_REDIS.make(tmp_path / "store") as inner:
        graph = agent.build().compile(checkpointer=seal(inner))
        await graph.ainvoke(agent.first(), agent.config("thread"))
        done = await graph.ainvoke(agent.resume(), agent.config("thread"))
        assert done["parts"][-1] == "done"


def test_what_would_be_revived_is_refused_and_nothing_runs(raw: tuple[SealedSaver, Path], tmp_path: Path) -> None:
    reader, where = raw
    marker = tmp_path / "ran"
    revived = {"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [str(marker)], "kwargs": {"path": str(marker)}}
    planted = [revived, {"__send__": True, "node": "x", "arg": revived}, [revived], {"__bytes__": revived}, "plain", None, 7]
    for key, document in _newest(where):
        for value in planted:
            edit = functools.partial(_plant, value=value)
            with _edited(key, edit), pytest.raises(IntegrityError):
                _read_all(reader)
        assert document["checkpoint"]["channel_values"]["text"].keys() == {"__bytes__"}
    for key in _writes(where)[:3]:
        for tag, blob in (("json", json.dumps(revived)), ("pickle", "gASVIQ=="), ("msgpack", "gA=="), ("bytes", "Zm9yZ2Vk")):
            with _edited(key, lambda found, tag=tag, blob=blob: found.update(type=tag, blob=blob)), pytest.raises(IntegrityError):  # type: ignore[misc]  # bound
                _read_all(reader)
    assert not marker.exists()
    assert _read_all(reader) > 8


def _newest(where: Path) -> list[tuple[bytes, dict[str, Any]]]:
    """The newest checkpoint of each thread."""
    found = [
        (key, document)
        for key, document in documents(where).items()
        if "text" in (document.get("checkpoint") or {}).get("channel_values", {})
    ]
    newest = {document["thread_id"]: (key, document) for key, document in sorted(found, key=lambda item: str(item[1]["checkpoint_id"]))}
    return list(newest.values())


def _plant(found: dict[str, Any], value: Any) -> None:
    found["checkpoint"]["channel_values"]["text"] = value


def _writes(where: Path) -> list[bytes]:
    return [key for key, document in documents(where).items() if "blob" in document]


def test_moved_edited_and_damaged_values_are_refused(raw: tuple[SealedSaver, Path]) -> None:
    reader, where = raw
    (one, first), (_, second) = _newest(where)
    values, others = first["checkpoint"]["channel_values"], second["checkpoint"]["channel_values"]
    edits: list[Callable[[dict[str, Any]], Any]] = [
        lambda found: found["checkpoint"]["channel_values"].update(text=others["text"]),
        lambda found: found["checkpoint"]["channel_values"].update(text=values["messages"]),
        lambda found: found["checkpoint"]["channel_values"].pop("number"),
        lambda found: found["checkpoint"]["channel_values"].update(added=values["text"]),
        lambda found: found["checkpoint"]["channel_versions"].update(text="9"),
        lambda found: found["checkpoint"].update(ts="2020"),
        lambda found: found["checkpoint"].update(channel_values=others),
        lambda found: found.update(metadata=second["metadata"]),
        lambda found: found.update(metadata=_with(found["metadata"], step=99)),
        lambda found: found.update(metadata=_with(found["metadata"], source="input")),
        lambda found: found.update(metadata=_with(found["metadata"], sealpoint="AAAA")),
        lambda found: found.update(metadata="{}"),
        lambda found: found.update(parent_checkpoint_id=found["checkpoint_id"]),
        lambda found: found.update(checkpoint=second["checkpoint"], metadata=second["metadata"]),
        lambda found: found["checkpoint"]["channel_values"].update(text=_flipped(values["text"])),
    ]
    for number, edit in enumerate(edits):
        with _edited(one, edit), pytest.raises(SealpointError):
            pytest.fail(f"edit {number} was read, {_read_all(reader)} checkpoints")
    for key in _writes(where)[:4]:
        for edit in (lambda found: found.update(channel="elsewhere"), lambda found: found.update(task_id="elsewhere")):
            with _edited(key, edit), pytest.raises(IntegrityError):
                _read_all(reader)
        with _edited(key, lambda found: found.update(idx=found["idx"] + 50)):
            _read_all(reader)


def _with(metadata: str, **changes: Any) -> str:
    return json.dumps({**json.loads(metadata), **changes})


def _flipped(value: dict[str, str]) -> dict[str, str]:
    text = value["__bytes__"]
    return {"__bytes__": text[:40] + ("A" if text[40] != "A" else "B") + text[41:]}


def test_filters_limits_and_migration(seal: Wrap, tmp_path: Path, index_keys: Keyring) -> None:
    with REDIS.make(tmp_path / "store") as inner:
        saver = seal(inner, index_keys=index_keys, search_fields=["customer"])
        for number in range(4):
            metadata: Any = {"source": "loop", "step": number, "customer": f"c{number % 2}"}
            saver.put(at(), checkpoint(f"{number}", {"a": number}), metadata, {"a": 1})
        assert [item.metadata["step"] for item in saver.list(at(), filter={"customer": "c1"}, limit=1)] == [3]
        assert [item.metadata["step"] for item in saver.list(at(), filter={"source": "loop", "step": 2})] == [2]
        with pytest.raises(ConfigurationError, match="migration"):
            seal(inner, migrate=True)
