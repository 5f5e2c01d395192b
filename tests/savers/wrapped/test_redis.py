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
from tests.savers.wrapped.redisstack import ASYNC_REDIS, ASYNC_SHALLOW_REDIS, REDIS, SHALLOW_REDIS, documents, needs_redis, server
from tests.savers.wrapped.targets import Saver
from tests.savers.wrapped.test_canaries import found_in
from tests.savers.wrapped.test_graphs import _plain, _told
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


def test_a_graph_runs_on_the_shallow_saver_as_on_the_bare_one(seal: Wrap, tmp_path: Path) -> None:
    def run(reopened: Callable[[], Saver], thread: str) -> Any:
        agent.build().compile(checkpointer=reopened()).invoke(agent.first(), agent.config(thread))
        done = agent.build().compile(checkpointer=reopened()).invoke(agent.resume(), agent.config(thread))
        # Not the delta channel's state: it is put together from ancestors, and a shallow saver has none.
        state = agent.build().compile(checkpointer=reopened()).get_state(agent.config(thread))
        values, following, _, *rest = _told([state])[0]
        return _plain([done["text"], done["parts"], done["log"], {**values, "log": None}, following, *rest])

    # The saver's register of writes has no prefix: each store needs threads of its own.
    with SHALLOW_REDIS.make(tmp_path / "bare") as bare, SHALLOW_REDIS.make(tmp_path / "sealed") as inner:
        assert run(lambda: seal(inner), "shallow-sealed") == run(lambda: bare, "shallow-bare")
        assert set(found_in(SHALLOW_REDIS.dump(tmp_path / "bare", bare))) >= {agent.TEXT, agent.MESSAGE, agent.NESTED}
        assert found_in(SHALLOW_REDIS.dump(tmp_path / "sealed", inner)) == []
        listed = list(agent.build().compile(checkpointer=seal(inner)).get_state_history(agent.config("shallow-sealed")))
        assert listed[0].values["text"] == agent.TEXT


async def test_a_graph_runs_on_the_async_shallow_saver(seal: Wrap, tmp_path: Path) -> None:
    async with ASYNC_SHALLOW_REDIS.make(tmp_path / "store") as inner:
        await agent.build().compile(checkpointer=seal(inner)).ainvoke(agent.first(), agent.config("shallow-async"))
        done = await agent.build().compile(checkpointer=seal(inner)).ainvoke(agent.resume(), agent.config("shallow-async"))
        assert done["parts"][-1] == "done"
        assert found_in(SHALLOW_REDIS.dump(tmp_path / "store", inner)) == []
        graph = agent.build().compile(checkpointer=seal(inner))
        listed = [snapshot async for snapshot in graph.aget_state_history(agent.config("shallow-async"))]
        assert listed[0].values["text"] == agent.TEXT
        # Alone, it takes a write that it cannot read for none at all.
        await seal(inner).aput(at(None, "shallow-forged"), checkpoint("1", {}), {"source": "loop"}, {})
        await seal(inner).aput_writes(at("1", "shallow-forged"), [("a", 1)], "task-forged")
        key = next(key for key, document in documents(tmp_path / "store").items() if document.get("task_id") == "task-forged")
        with _edited(key, lambda write: write.update(type="json", blob="e30=")), pytest.raises(IntegrityError):
            await seal(inner).aget_tuple(at(None, "shallow-forged"))


def test_the_shallow_saver_gives_a_checkpoint_its_own_writes_and_refuses_others(seal: Wrap, tmp_path: Path) -> None:
    with SHALLOW_REDIS.make(tmp_path / "store") as inner:
        saver, thread = seal(inner), "shallow-writes"
        for number in ("1", "2"):
            saver.put(at(None, thread), checkpoint(number, {"a": number}), {"source": "loop"}, {"a": number})
            saver.put_writes(at(number, thread), [("a", number)], f"task-{number}")
        bare, found = inner.get_tuple(at(None, thread)), seal(inner).get_tuple(at(None, thread))
        assert bare is not None
        assert found is not None
        assert [item[0] for item in bare.pending_writes or ()] == ["task-1", "task-2"]
        assert found.pending_writes == [("task-2", "a", "2")]
        keys = {document["task_id"]: key for key, document in documents(tmp_path / "store").items() if "blob" in document}
        with _edited(keys["task-1"], lambda write: write.update(checkpoint_id="2")), pytest.raises(IntegrityError):
            seal(inner).get_tuple(at(None, thread))
        revived = {"lc": 2, "type": "constructor", "id": ["os", "getcwd"], "args": [], "kwargs": {}}
        for key, document in documents(tmp_path / "store").items():
            if "checkpoint" in document:
                for value in (revived, {"__bytes__": revived}, [revived]):
                    edit = functools.partial(_plant_in, channel="a", value=value)
                    with _edited(key, edit), pytest.raises(IntegrityError):
                        seal(inner).get_tuple(at(None, thread))
        assert seal(inner).get_tuple(at(None, thread)) == found


def _plant_in(found: dict[str, Any], channel: str, value: Any) -> None:
    stored = found["checkpoint"]
    if isinstance(stored, str):
        whole = json.loads(stored)
        whole["channel_values"][channel] = value
        found["checkpoint"] = json.dumps(whole)
    else:
        stored["channel_values"][channel] = value
