"""With a key store, deleting a thread ends its life: no copy of its data opens, late writers are fenced, and its id begins anew."""

from __future__ import annotations

import asyncio
import operator
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, StateGraph

from sealpoint import Keyring
from sealpoint.errors import ConfigurationError, KeyAccessError, RetryableError, ThreadErasedError, ThreadFencedError
from sealpoint.keys import AnyOf, Erased, Revoking, aor_erased, or_erased
from sealpoint.savers import threads
from sealpoint.savers.lives import Lives
from sealpoint.stores import Fault, Stopped
from tests.keys.helpers import World
from tests.savers.chains import checkpoint, config, put
from tests.savers.shelves import KINDS, Saver, Shelf, shelf

FENCE_S, RECHECK_S = 300.0, 60.0
BIG = "secret " * 2_000  # a value object of its own under ObjectSaver


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(params=KINDS)
def data(request: pytest.FixtureRequest) -> Iterator[Shelf]:
    with shelf(request.param) as made:
        yield made


@pytest.fixture(params=[kind for kind in KINDS if kind != "sealed SQLite"])  # SqliteSaver neither copies nor serves coroutines
def copying(request: pytest.FixtureRequest) -> Iterator[Shelf]:
    with shelf(request.param) as made:
        yield made


def fill(saver: Saver, thread: str, values: int = 2) -> list[str]:
    """A chain of checkpoints with a subgraph's and with writes; the ids of the root's."""
    made: list[str] = []
    for number in range(values):
        at = put(saver, config(thread, checkpoint_id=made[-1] if made else None), {"small": number, "big": BIG})
        saver.put_writes(at, [("small", f"secret {number}")], "task-1")
        made.append(at["configurable"]["checkpoint_id"])
    put(saver, config(thread, "child:1"), {"small": "secret"})
    return made


def reads(saver: Saver, thread: str, checkpoint_id: str) -> dict[str, Callable[[], Any]]:
    """Every way to get at a thread's data."""
    return {
        "latest": lambda: saver.get_tuple(config(thread)),
        "by id": lambda: saver.get_tuple(config(thread, checkpoint_id=checkpoint_id)),
        "of a subgraph": lambda: saver.get_tuple(config(thread, "child:1")),
        "listed": lambda: list(saver.list(config(thread))),
    }


def test_deleting_a_thread_makes_every_copy_of_it_unreadable_and_leaves_its_neighbour(world: World, data: Shelf) -> None:
    keys = world.keys()
    saver = data.saver(keys)
    ids = fill(saver, "one")
    fill(saver, "two")
    restore = data.backup()
    saver.delete_thread("one")
    assert saver.get_tuple(config("one")) is None
    assert list(saver.list(config("one"))) == []
    restore()
    for reader in (saver, data.saver(world.keys())):
        for what, read in reads(reader, "one", ids[-1]).items():
            with pytest.raises(ThreadErasedError):
                pytest.fail(f"{what}: {read()}")
        found = reader.get_tuple(config("two"))
        assert found.checkpoint["channel_values"] == {"small": 1, "big": BIG}
        assert len(list(reader.list(config("two")))) == 2


def test_the_ids_that_a_saver_hides_go_with_the_thread(world: World, data: Shelf) -> None:
    """The cells that hold the real id have a key of their own, and it ends too."""
    saver = data.saver(world.keys())
    fill(saver, "one")
    restore = data.backup()
    names = set(world.keys().shelf.names())
    saver.delete_thread("one")
    restore()
    after = {name: world.keys().shelf.read(name) for name in names}
    assert [name for name, found in after.items() if found is None or type(found.object).__name__ != "Ended"] == []
    if hasattr(saver, "threads"):
        hashed = "tk-" in next(iter(data.store.list())).key  # type: ignore[attr-defined]  # only the object saver lists threads
        assert list(data.saver(world.keys()).threads()) == ([] if hashed else ["one"])


def test_a_thread_that_is_named_like_another_in_the_store_is_another_thread(world: World, data: Shelf) -> None:
    """The object saver's segment for thread "one" is "t-one", which is a thread id too."""
    saver = data.saver(world.keys())
    fill(saver, "one")
    fill(saver, "t-one")
    saver.delete_thread("one")
    assert data.saver(world.keys()).get_tuple(config("t-one")).checkpoint["channel_values"]["big"] == BIG


def test_the_receipt_is_given_and_given_again(world: World, data: Shelf) -> None:
    keys = world.keys()
    saver = data.saver(keys)
    fill(saver, "one")
    receipt = saver.erase_thread("one")
    assert receipt.generation == 1
    assert receipt.ended_at == world.clock()
    assert receipt.key_object == world.path("one")
    world.clock.sleep(10)
    saver.delete_thread("one")
    assert data.saver(world.keys()).erase_thread("one") == receipt
    assert saver.get_tuple(config("one")) is None


def test_a_reader_can_ask_for_a_marker(world: World, data: Shelf) -> None:
    saver = data.saver(world.keys())
    fill(saver, "one")
    restore = data.backup()
    receipt = saver.erase_thread("one")
    restore()
    assert or_erased(saver.get_tuple, config("one")) == Erased(receipt.erasure_id, receipt.ended_at)


async def test_a_coroutine_can_ask_for_a_marker(world: World, copying: Shelf) -> None:
    saver = copying.saver(world.keys())
    fill(saver, "one")
    restore = copying.backup()
    receipt = await saver.aerase_thread("one")
    assert await aor_erased(saver.aget_tuple, config("one")) is None
    restore()
    assert await aor_erased(saver.aget_tuple, config("one")) == Erased(receipt.erasure_id, receipt.ended_at)


def test_a_late_writer_is_fenced_and_what_it_wrote_before_does_not_open(world: World, data: Shelf) -> None:
    late = data.saver(world.keys())
    (head,) = fill(late, "one", 1)
    data.saver(world.keys()).delete_thread("one")
    world.clock.sleep(RECHECK_S - 1)
    put(late, config("one", checkpoint_id=head), {"small": "late"})  # under the key that it still has, and nobody else
    with pytest.raises(ThreadErasedError):
        data.saver(world.keys()).get_tuple(config("one"))
    world.clock.sleep(1)
    for parent in (head, str(uuid6())):
        with pytest.raises(ThreadErasedError):
            put(late, config("one", checkpoint_id=parent), {"small": "later"})
    with pytest.raises(ThreadErasedError):
        late.put_writes(config("one", checkpoint_id=head), [("small", "later")], "task-2")
    with pytest.raises(ThreadFencedError):
        put(late, config("one"), {"small": "later"})


def test_what_a_late_writer_left_goes_with_a_second_deletion(world: World, data: Shelf) -> None:
    late, saver = data.saver(world.keys()), data.saver(world.keys())
    (head,) = fill(late, "one", 1)
    receipt = saver.erase_thread("one")
    put(late, config("one", checkpoint_id=head), {"small": "late"})
    assert saver.erase_thread("one") == receipt
    assert saver.get_tuple(config("one")) is None


def test_the_id_is_used_again_after_the_fence_and_what_was_erased_stays_erased(world: World, data: Shelf) -> None:
    saver = data.saver(world.keys())
    ids = fill(saver, "one")
    restore = data.backup()
    saver.delete_thread("one")
    world.clock.sleep(FENCE_S - 1)
    with pytest.raises(ThreadFencedError):
        fill(saver, "one")
    world.clock.sleep(1)
    new = fill(saver, "one")
    restore()
    for reader in (saver, data.saver(world.keys())):
        assert reader.get_tuple(config("one", checkpoint_id=new[-1])).checkpoint["channel_values"] == {"small": 1, "big": BIG}
        with pytest.raises(ThreadErasedError):
            reader.get_tuple(config("one", checkpoint_id=ids[-1]))
    assert data.saver(world.keys()).erase_thread("one").generation == 2


def test_neither_a_subgraph_nor_a_checkpoint_with_a_parent_brings_a_thread_back(world: World, data: Shelf) -> None:
    """A run that outlives the fence: its subgraph's first checkpoint has no parent."""
    saver = data.saver(world.keys())
    (head,) = fill(saver, "one", 1)
    saver.delete_thread("one")
    world.clock.sleep(FENCE_S)
    for at in (config("one", "child:2"), config("one", checkpoint_id=head)):
        with pytest.raises(ThreadErasedError):
            put(saver, at, {"small": "late"})
    assert saver.get_tuple(config("one")) is None


def test_the_first_writes_of_a_new_life_wait_for_its_beginning(world: World, data: Shelf) -> None:
    """LangGraph stores a task's writes beside the checkpoint before them: they may overtake it while a root makes the key."""
    saver = data.saver(world.keys())
    fill(saver, "one")
    saver.delete_thread("one")
    world.clock.sleep(FENCE_S)
    world.root.gate = threading.Event()
    first = config("one", checkpoint_id=str(uuid6()))
    failed: list[BaseException] = []

    def begins() -> None:
        put(saver, config("one"), {"small": 1}, checkpoint_id=first["configurable"]["checkpoint_id"])

    def writes() -> None:
        try:
            saver.put_writes(first, [("small", 2)], "task-1")
        except BaseException as exc:  # noqa: BLE001  # told to the test's own thread
            failed.append(exc)

    called = len(world.root.calls)
    threads = [threading.Thread(target=begins)]
    threads[0].start()
    while len(world.root.calls) == called:  # it waits at the gate, or is on its way there
        threads[0].join(0.001)
    threads.append(threading.Thread(target=writes))
    threads[1].start()
    threads[1].join(0.05)
    world.root.gate.set()
    for thread in threads:
        thread.join(10)
    assert not failed
    found = saver.get_tuple(first)
    assert [write[1:] for write in found.pending_writes] == [("small", 2)]


@pytest.mark.parametrize("at", ["before the key ends", "between the keys", "before the data goes"])
def test_a_deletion_cut_off_anywhere_is_ended_by_the_next(world: World, data: Shelf, at: str) -> None:
    keys = world.keys()
    saver = data.saver(keys)
    ids = fill(saver, "one")
    if at == "before the data goes":
        data.stop_removal(saver)
    else:
        world.store.faults.plan(Fault("put", "stop", key_contains="/keys/", skip=int(at == "between the keys")))
    try:
        saver.delete_thread("one")
    except Stopped:
        ended = world.keys().shelf.read(world.keys().shelf.thread("", "one").name)
        assert ended is not None
        for what, read in reads(data.saver(world.keys()), "one", ids[-1]).items():
            if type(ended.object).__name__ == "Ended":
                with pytest.raises(ThreadErasedError):
                    pytest.fail(f"{what}: {read()}")
            else:
                assert read()
    else:
        assert at == "between the keys"  # a saver that hides no id has one key alone for a thread
    world.store.faults.clear()
    again = data.saver(world.keys())
    receipt = again.erase_thread("one")
    assert again.get_tuple(config("one")) is None
    assert list(again.list(config("one"))) == []
    assert receipt == again.erase_thread("one")


def test_copying_seals_anew_and_erasing_the_source_names_the_copy(world: World, copying: Shelf) -> None:
    saver = copying.saver(world.keys())
    ids = fill(saver, "one")
    saver.copy_thread("one", "two")
    receipt = saver.erase_thread("one")
    assert receipt.surviving_copies == (world.path("two"),)
    found: CheckpointTuple = copying.saver(world.keys()).get_tuple(config("two", checkpoint_id=ids[-1]))
    assert found.checkpoint["channel_values"] == {"small": 1, "big": BIG}
    assert saver.erase_thread("two").surviving_copies == ()
    assert saver.erase_thread("one").surviving_copies == ()


def test_a_copy_is_on_record_before_anything_of_it_is_stored(world: World, copying: Shelf) -> None:
    saver = copying.saver(world.keys())
    fill(saver, "one")
    world.store.faults.plan(Fault("put", "stop", key_contains="/copies/"))
    with pytest.raises(Stopped):
        saver.copy_thread("one", "two")
    assert saver.get_tuple(config("two")) is None
    saver.copy_thread("one", "two")
    assert saver.erase_thread("one").surviving_copies == (world.path("two"),)


def test_a_thread_that_is_erased_while_its_copy_is_put_on_record_is_not_copied(world: World, copying: Shelf) -> None:
    """The erasure looked for copies before there was a record; the copier, whose cache still has the key, sees the tombstone."""
    saver, eraser = copying.saver(world.keys()), copying.saver(world.keys(), erase_keys=False)
    fill(saver, "one")
    lists: list[tuple[str, ...]] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "put" and "/copies/" in key and not lists:
            lists.append(())
            lists[0] = eraser.erase_thread("one").surviving_copies

    restore = copying.backup()
    world.store.faults.watch = overtake
    with pytest.raises(ThreadErasedError):
        saver.copy_thread("one", "two")
    restore()
    assert lists == [()]
    assert saver.get_tuple(config("two")) is None


def test_a_copy_begins_a_new_life_of_an_erased_target(world: World, copying: Shelf) -> None:
    saver = copying.saver(world.keys())
    fill(saver, "one")
    fill(saver, "two")
    saver.delete_thread("two")
    with pytest.raises(ThreadFencedError):
        saver.copy_thread("one", "two")
    world.clock.sleep(FENCE_S)
    saver.copy_thread("one", "two")
    assert saver.get_tuple(config("two")).checkpoint["channel_values"]["big"] == BIG


def test_the_key_is_kept_where_that_is_asked_for(world: World, data: Shelf) -> None:
    saver = data.saver(world.keys(), erase_keys=False)
    fill(saver, "one")
    restore = data.backup()
    saver.delete_thread("one")
    assert saver.get_tuple(config("one")) is None
    restore()
    assert data.saver(world.keys()).get_tuple(config("one")).checkpoint["channel_values"]["big"] == BIG
    saver.erase_thread("one")
    restore()
    with pytest.raises(ThreadErasedError):
        saver.get_tuple(config("one"))


def test_a_failed_erasure_removes_nothing(world: World, data: Shelf) -> None:
    fill(data.saver(world.keys()), "one")
    with pytest.raises(KeyAccessError):
        data.saver(world.keys(read_only=True)).delete_thread("one")
    world.store.faults.plan(Fault("put", key_contains="/keys/"))
    saver = data.saver(world.keys())
    with pytest.raises(RetryableError):
        saver.delete_thread("one")
    assert saver.get_tuple(config("one")).checkpoint["channel_values"]["big"] == BIG


def test_every_key_store_that_can_open_is_told(world: World, data: Shelf) -> None:
    """After a change of keys, what lies in backups is still under the old ones."""
    old, ring = world.keys(), Keyring.generate("now")
    fill(data.saver(old), "one")
    restore = data.backup()
    saver = data.saver(Revoking(AnyOf(ring, old), ["leaked"]))
    fill(saver, "two")
    saver.delete_thread("one")
    restore()
    with pytest.raises(ThreadErasedError):
        data.saver(world.keys()).get_tuple(config("one"))
    fill(saver, "one", 1)  # sealed under a key that no erasure ended: no fence


def test_without_a_key_store_deleting_is_what_it_was_and_erasing_says_what_it_needs(keyring: Keyring, data: Shelf) -> None:
    saver = data.saver(keyring)
    fill(saver, "one")
    with pytest.raises(ConfigurationError, match="ThreadKeys"):
        saver.erase_thread("one")
    assert saver.get_tuple(config("one")) is not None
    saver.delete_thread("one")
    assert saver.get_tuple(config("one")) is None
    fill(saver, "one")


def test_scopes_are_erased_apart(world: World, data: Shelf) -> None:
    ids = fill(data.saver(world.keys(), scope="a"), "one")
    restore = data.backup()
    data.saver(world.keys(), scope="b").delete_thread("one")
    restore()
    found = data.saver(world.keys(), scope="a").get_tuple(config("one", checkpoint_id=ids[-1]))
    assert found.checkpoint["channel_values"]["big"] == BIG


async def test_no_request_to_the_key_store_is_made_on_the_event_loop(world: World, copying: Shelf) -> None:
    """And each async method does what its twin does."""
    on_loop: list[str] = []
    loop = threading.get_ident()

    def look(operation: str, key: str) -> None:
        if threading.get_ident() == loop:
            on_loop.append(f"{operation} {key}")

    def cold() -> Saver:
        saver = copying.saver(world.keys())
        world.store.faults.watch = look
        return saver

    world.store.faults.watch = None
    saver = cold()
    at = await saver.aput(config("one"), _checkpoint(), {"source": "input", "step": 1, "parents": {}}, {"big": 1})
    await cold().aput_writes(at, [("small", 1)], "task-1")
    assert (await cold().aget_tuple(config("one"))).checkpoint["channel_values"] == {"big": BIG}
    assert len([item async for item in cold().alist(config("one"))]) == 1
    if hasattr(saver, "athreads"):
        assert [thread async for thread in cold().athreads()] == ["one"]
    await cold().acopy_thread("one", "two")
    assert (await cold().aerase_thread("one")).surviving_copies == (world.path("two"),)
    await cold().adelete_thread("two")
    world.clock.sleep(FENCE_S)
    await cold().aput(config("one"), _checkpoint(), {"source": "input", "step": 1, "parents": {}}, {"big": 1})
    assert (await cold().aget_tuple(config("one"))).checkpoint["channel_values"] == {"big": BIG}
    assert on_loop == []


def _checkpoint() -> Any:
    return checkpoint({"big": BIG})


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def _graph(saver: Any) -> Any:
    inner = StateGraph(State)
    inner.add_node("think", lambda state: {"said": [f"thought of {state['said'][-1]}"]})
    inner.add_edge(START, "think")
    inner.add_edge("think", END)
    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"said": [f"answer to {state['said'][-1]}"]})
    graph.add_node("child", inner.compile())
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "child")
    graph.add_edge("child", END)
    return graph.compile(checkpointer=saver)


async def test_an_async_conversation_is_deleted_and_cannot_be_brought_back(world: World, copying: Shelf) -> None:
    chat = _graph(copying.saver(world.keys()))
    at = {"configurable": {"thread_id": "ada@example.org"}}
    assert (await chat.ainvoke({"said": ["hello"]}, at))["said"]
    restore = copying.backup()
    await chat.checkpointer.adelete_thread("ada@example.org")
    restore()
    with pytest.raises(ThreadErasedError):
        await chat.ainvoke({"said": ["still there?"]}, at)


async def test_an_async_conversation_begins_anew_after_the_fence(world: World, copying: Shelf) -> None:
    chat = _graph(copying.saver(world.keys()))
    at = {"configurable": {"thread_id": "ada@example.org"}}
    first = len((await chat.ainvoke({"said": ["hello"]}, at))["said"])
    await chat.checkpointer.adelete_thread("ada@example.org")
    world.clock.sleep(FENCE_S)
    assert len((await chat.ainvoke({"said": ["new"]}, at))["said"]) == first
    assert (await chat.aget_state(at)).values["said"][0] == "new"


async def _erased(saver: Any, world: World) -> Any:
    """The saver, after its thread `one` was erased and the fence has passed."""
    await saver.aput(config("one"), checkpoint({"small": 1}), {"source": "input", "step": 1, "parents": {}}, {"small": 1})
    await saver.adelete_thread("one")
    world.clock.sleep(FENCE_S)
    return saver


async def test_the_first_writes_of_a_new_life_wait_for_the_put_that_begins_it(world: World, copying: Shelf) -> None:
    keys = world.keys()
    saver = await _erased(copying.saver(keys), world)
    waiting = threading.Event()
    reopen, wait = keys._reopen, keys._flights.wait

    def slow_reopen(thread: Any) -> None:
        assert waiting.wait(30), "the write did not wait"
        reopen(thread)

    def seen_wait(key: Any) -> None:
        waiting.set()
        wait(key)

    keys._reopen, keys._flights.wait = slow_reopen, seen_wait  # type: ignore[method-assign]
    first = checkpoint({"small": 2})
    at = config("one", checkpoint_id=first["id"])
    await asyncio.gather(
        saver.aput(config("one"), first, {"source": "input", "step": 1, "parents": {}}, {"small": 1}),
        saver.aput_writes(at, [("small", 3)], "task-1"),
    )
    found = await saver.aget_tuple(config("one"))
    assert found.checkpoint["channel_values"] == {"small": 2}
    assert found.pending_writes == [("task-1", "small", 3)]


async def test_writes_that_fill_the_worker_threads_do_not_keep_the_put_from_beginning(
    world: World, copying: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = await _erased(copying.saver(world.keys()), world)
    monkeypatch.setattr(threads, "WORKERS", threads.WorkerThreads(2))
    first = checkpoint({"small": 2})
    at = config("one", checkpoint_id=first["id"])
    late, again = ([saver.aput_writes(at, [("small", number)], f"{kind}-{number}") for number in range(12)] for kind in ("late", "again"))
    begins = saver.aput(config("one"), first, {"source": "input", "step": 1, "parents": {}}, {"small": 1})
    outcomes = await asyncio.wait_for(asyncio.gather(*late, begins, *again, return_exceptions=True), 60)
    assert {type(outcome) for outcome in outcomes} <= {type(None), dict, ThreadErasedError}
    assert (await saver.aget_tuple(config("one"))).checkpoint["channel_values"] == {"small": 2}


async def test_writes_do_not_wait_for_a_put_that_was_given_up(world: World, copying: Shelf) -> None:
    keys = world.keys()
    saver = await _erased(copying.saver(keys), world)
    begun = threading.Event()

    def refuse(thread: Any) -> None:
        begun.set()
        raise RetryableError("the store is away")

    keys._reopen = refuse  # type: ignore[method-assign]
    at = config("one", checkpoint_id=str(uuid6()))
    outcomes = await asyncio.gather(
        saver.aput(config("one"), checkpoint({"small": 2}), {"source": "input", "step": 1, "parents": {}}, {"small": 1}),
        saver.aput_writes(at, [("small", 3)], "task-1"),
        return_exceptions=True,
    )
    assert begun.is_set()
    assert list(map(type, outcomes)) == [RetryableError, ThreadErasedError]
    assert len(keys._flights) == 0


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_conversation_is_deleted_cannot_be_brought_back_and_begins_anew(world: World, data: Shelf, durability: Any) -> None:
    keys = world.keys(hash_threads=Keyring.generate("threads"))
    chat = _graph(data.saver(keys))
    at = {"configurable": {"thread_id": "ada@example.org"}}
    first = len(chat.invoke({"said": ["hello"]}, at, durability=durability)["said"])
    assert len(chat.invoke({"said": ["again"]}, at, durability=durability)["said"]) > first
    restore = data.backup()
    receipt = chat.checkpointer.erase_thread("ada@example.org")
    assert "example.org" not in receipt.to_json()
    with pytest.raises((ThreadFencedError, ThreadErasedError)):  # the latter from a task's own put that came first (async)
        chat.invoke({"said": ["too soon"]}, at, durability=durability)
    restore()
    with pytest.raises(ThreadErasedError):
        chat.invoke({"said": ["still there?"]}, at, durability=durability)
    with pytest.raises(ThreadErasedError):
        list(chat.get_state_history(at))
    chat.checkpointer.delete_thread("ada@example.org")
    world.clock.sleep(FENCE_S)
    assert len(chat.invoke({"said": ["new"]}, at, durability=durability)["said"]) == first
    assert chat.get_state(at).values["said"][0] == "new"
    assert all("hello" not in state.values.get("said", []) for state in chat.get_state_history(at))


# --- runs that outlive the fence --------------------------------------------------------------------------------------


def _made_at(seconds: float) -> str:
    """A checkpoint id of that time, as LangGraph makes them."""
    ticks = int(seconds * 10_000_000) + 0x01B21DD213814000
    return (
        f"{ticks >> 28:08x}-{ticks >> 12 & 0xFFFF:04x}-6{ticks & 0xFFF:03x}-{0x8000 | secrets.randbits(14):04x}-{secrets.randbits(48):012x}"
    )


def _step(saver: Saver, world: World, at: Any, said: list[str], ns: str = "", **metadata: Any) -> Any:
    """A checkpoint made now, after `at`."""
    made = checkpoint({"said": said}, checkpoint_id=_made_at(world.clock()))
    return saver.put(at, made, {"source": "loop", "step": 1, "parents": {}, **metadata}, {"said": 1})


@pytest.fixture
def born(world: World, data: Shelf) -> tuple[Saver, Saver, Any]:
    """A thread in its second life as two processes see it, and where a run of its first life stands in the second process."""
    world.clock.sleep(1_700_000_000)
    one, other = data.saver(world.keys()), data.saver(world.keys())
    first = _step(one, world, config("one"), ["diagnosis"])
    run = other.get_tuple(config("one")).config
    one.delete_thread("one")
    world.clock.sleep(FENCE_S + 1)
    _step(one, world, config("one"), ["new life"])
    assert run["configurable"]["checkpoint_id"] == first["configurable"]["checkpoint_id"]
    return one, other, run


def test_a_run_of_an_earlier_life_cannot_go_on_in_the_next(world: World, born: tuple[Saver, Saver, Any]) -> None:
    one, other, run = born
    for late in (other, one):
        with pytest.raises(ThreadErasedError, match="earlier life"):
            _step(late, world, run, ["diagnosis", "answer"])
        with pytest.raises(ThreadErasedError, match="earlier life"):
            late.put_writes(run, [("said", ["answer"])], "task-1")
        with pytest.raises(ThreadErasedError, match="earlier life"):  # a subgraph's first checkpoint has no parent of its own
            _step(late, world, config("one", "child:1"), ["answer"], parents={"": run["configurable"]["checkpoint_id"]})
    assert one.get_tuple(config("one")).checkpoint["channel_values"] == {"said": ["new life"]}
    assert one.get_tuple(config("one", "child:1")) is None


def test_the_next_life_goes_on_in_every_process(world: World, born: tuple[Saver, Saver, Any]) -> None:
    one, other, _ = born
    for saver, said in ((other, "more"), (one, "and more")):
        world.clock.sleep(1)
        at = saver.get_tuple(config("one")).config
        saver.put_writes(at, [("said", [said])], "task-1")
        _step(saver, world, at, [said])
        _step(saver, world, config("one", "child:1"), [said], parents={"": at["configurable"]["checkpoint_id"]})
    assert one.get_tuple(config("one")).checkpoint["channel_values"] == {"said": ["and more"]}


def test_a_copy_in_a_later_life_goes_on_although_its_ids_are_old(world: World, copying: Shelf) -> None:
    world.clock.sleep(1_700_000_000)
    saver = copying.saver(world.keys())
    _step(saver, world, config("source"), ["old"])
    _step(saver, world, config("target"), ["older"])
    saver.delete_thread("target")
    world.clock.sleep(10 * FENCE_S)
    saver.copy_thread("source", "target")
    cold = copying.saver(world.keys())
    at = cold.get_tuple(config("target")).config
    cold.put_writes(at, [("said", ["new"])], "task-1")
    _step(cold, world, at, ["old", "new"])
    assert cold.get_tuple(config("target")).checkpoint["channel_values"] == {"said": ["old", "new"]}


def test_a_copy_that_outlives_its_targets_erasure_is_on_record_in_the_life_that_it_ends_in(
    world: World, copying: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, other = copying.saver(world.keys()), copying.saver(world.keys())
    fill(saver, "source")
    put(saver, config("target"), {"small": "old"})
    ended = Lives.copied

    def erased_meanwhile(lives: Lives, source: str, target: str, generation: int) -> None:
        other.delete_thread("target")
        world.clock.sleep(FENCE_S)
        put(other, config("target"), {"small": "new"})
        ended(lives, source, target, generation)

    monkeypatch.setattr(Lives, "copied", erased_meanwhile)
    saver.copy_thread("source", "target")
    assert copying.saver(world.keys()).erase_thread("source").surviving_copies == (world.path("target"),)


def test_a_damaged_key_object_of_a_copy_does_not_stop_the_erasure_of_its_source(world: World, copying: Shelf) -> None:
    saver = copying.saver(world.keys())
    fill(saver, "source")
    saver.copy_thread("source", "target")
    world.store.put(world.path("target"), b"damaged")
    receipt = copying.saver(world.keys()).erase_thread("source")
    assert receipt.surviving_copies == (world.path("target"),)
    assert saver.get_tuple(config("source")) is None
