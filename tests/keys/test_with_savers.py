"""Thread keys under the savers and under a real graph: budgets, erasure and rotation as a user meets them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from sealpoint import Keyring
from sealpoint.ciphers import KeySource
from sealpoint.errors import ThreadErasedError, ThreadFencedError
from sealpoint.keys import Erased, KmsKeys, Roots, ThreadKeys, erase, or_erased, rotate_roots
from sealpoint.savers import ObjectSaver, SealedSaver
from sealpoint.stores import MemoryStore
from tests.keys.helpers import FlakyRoot, World
from tests.keys.services import Kms


def config_of(thread: str, checkpoint_id: str | None = None) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}}


Saver = BaseCheckpointSaver[Any]
Make = Callable[[KeySource], Saver]


@pytest.fixture(params=["object saver", "sealed memory", "sealed SQLite"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Savers over one store of data: each call is another process."""
    if request.param == "object saver":
        data = MemoryStore()
        yield lambda keys: ObjectSaver(data, keys)
    elif request.param == "sealed memory":
        memory = InMemorySaver()
        yield lambda keys: SealedSaver(memory, keys)
    else:
        with SqliteSaver.from_conn_string(":memory:") as inner:
            yield lambda keys: SealedSaver(inner, keys)


def put(saver: Saver, thread: str, parent: str | None = None) -> RunnableConfig:
    checkpoint: Checkpoint = {**empty_checkpoint(), "id": str(uuid6()), "channel_values": {"a": "secret"}, "channel_versions": {"a": "1"}}
    return saver.put(config_of(thread, parent), checkpoint, {"source": "input", "step": 1, "parents": {}}, {"a": "1"})


def test_an_erased_thread_is_gone_from_the_saver_and_its_neighbour_is_not(world: World, make: Make) -> None:
    keys = world.keys()
    saver = make(keys)
    for thread in ("one", "two"):
        put(saver, thread)
    receipt = erase(keys, "one")
    for reader in (saver, make(world.keys())):
        with pytest.raises(ThreadErasedError, match=receipt.erasure_id):
            reader.get_tuple(config_of("one"))
        marker = or_erased(reader.get_tuple, config_of("one"))
        assert marker == Erased(receipt.erasure_id, receipt.ended_at)
        found = reader.get_tuple(config_of("two"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": "secret"}
    with pytest.raises(ThreadFencedError):
        put(saver, "one")
    with pytest.raises(ThreadErasedError):
        put(saver, "one", parent=str(uuid6()))


async def test_it_is_gone_for_async_readers_and_writers_too(world: World) -> None:
    memory, keys = InMemorySaver(), world.keys()
    put(SealedSaver(memory, keys), "one")
    put(ObjectSaver(world.store, keys), "one")
    erase(keys, "one")
    for saver in (SealedSaver(memory, world.keys()), ObjectSaver(world.store, world.keys())):
        with pytest.raises(ThreadErasedError):
            await saver.aget_tuple(config_of("one"))
        with pytest.raises(ThreadErasedError):
            await saver.aput(config_of("one", str(uuid6())), empty_checkpoint(), {"source": "input", "step": 1, "parents": {}}, {})


@pytest.mark.services
def test_a_thousand_puts_cost_ten_generated_keys_and_a_cold_reader_ten_decrypts(kms: Kms, make: Make) -> None:
    store, root = MemoryStore(), kms.root()
    saver = make(ThreadKeys(store, root))
    for number in range(1_000):
        put(saver, f"t{number % 10}")
    assert kms.wire == {"GenerateDataKey": 10}
    kms.wire.clear()
    reader = make(ThreadKeys(store, root))
    assert sum(1 for thread in range(10) for _ in reader.list(config_of(f"t{thread}"))) == 1_000
    assert kms.wire == {"Decrypt": 10}


@pytest.mark.services
def test_inline_keys_serve_a_saver_as_well(kms: Kms, make: Make) -> None:
    arn = kms.new_key()
    saver = make(KmsKeys(arn, client=kms.client))
    for number in range(20):
        put(saver, f"t{number % 10}")
    assert kms.wire == {"GenerateDataKey": 1}
    kms.wire.clear()
    reader = make(KmsKeys(arn, client=kms.client))
    assert sum(1 for thread in range(10) for _ in reader.list(config_of(f"t{thread}"))) == 20
    assert kms.wire == {"Decrypt": 1}


def test_a_root_rotation_leaves_every_object_of_the_saver_as_it_was() -> None:
    data, store = MemoryStore(), MemoryStore()
    old, new = FlakyRoot(), FlakyRoot()
    saver = ObjectSaver(data, ThreadKeys(store, {"old": old}))
    for number in range(50):
        put(saver, f"t{number % 10}")
    etags = {listed.key: data.get(listed.key).etag for listed in data.list()}
    report = rotate_roots(ThreadKeys(store, Roots({"old": old, "new": new}, active=["new"])))
    assert (report.rewritten, report.complete) == (10, True)
    assert {listed.key: data.get(listed.key).etag for listed in data.list()} == etags
    reader = ObjectSaver(data, ThreadKeys(store, {"new": new}))
    assert sum(1 for thread in range(10) for _ in reader.list(config_of(f"t{thread}"))) == 50


def test_key_objects_may_lie_beside_the_data(world: World) -> None:
    saver = ObjectSaver(world.store, world.keys())
    put(saver, "one")
    assert list(saver.threads()) == ["one"]


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def _graph(saver: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"said": [f"answer to {state['said'][-1]}"]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def test_a_conversation_is_erased_and_its_id_is_used_again(world: World) -> None:
    data, keys = MemoryStore(), world.keys(hash_threads=Keyring.generate("threads"))
    chat = _graph(ObjectSaver(data, keys))
    config = config_of("ada@example.org")
    assert chat.invoke({"said": ["hello"]}, config)["said"][-1] == "answer to hello"
    assert len(chat.invoke({"said": ["again"]}, config)["said"]) == 4
    erase(keys, "ada@example.org")
    with pytest.raises(ThreadErasedError):
        chat.invoke({"said": ["still there?"]}, config)
    saver = ObjectSaver(data, keys)
    saver.delete_thread("ada@example.org")
    world.clock.sleep(300)
    keys.reopen("ada@example.org")
    assert _graph(saver).invoke({"said": ["new"]}, config)["said"] == ["new", "answer to new"]
