"""One key a thread in an object store: budgets, latency, generations, fence, attacks on key objects, bounded memory."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sealpoint import Context
from sealpoint.ciphers import AesGcm, KeyKind, KeyReference, parse
from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    EnvelopeError,
    IntegrityError,
    KeyAccessError,
    KeyServiceUnavailableError,
    RevokedKeyError,
    StoreUnavailableError,
    ThreadErasedError,
    ThreadFencedError,
    UnknownKeyError,
)
from sealpoint.keys import AnyOf, CacheLimits, Keyring, KmsKeys, LocalRoot, Revoking, ThreadKeys, erase, thread_keys
from sealpoint.stores import Fault, FolderStore, MemoryStore
from tests.keys.helpers import FlakyRoot, World, open_, place, seal
from tests.keys.services import Kms, Transit

# --- the usual ----------------------------------------------------------------------------------------------------


def test_every_thread_has_a_key_of_its_own_which_every_process_finds(world: World) -> None:
    keys = world.keys()
    one, two = seal(keys, context=place("one")), seal(keys, context=place("two"))
    references = [parse(value)[0].reference for value in (one, two)]
    assert {reference.kind for reference in references} == {KeyKind.KEY_STORE}
    assert references[0].key_id != references[1].key_id
    assert [open_(world.keys(), value, place(name)) for value, name in ((one, "one"), (two, "two"))] == [b"secret"] * 2
    assert len(list(world.store.list("sealpoint/keys/"))) == 2


async def test_it_works_on_a_loop(world: World) -> None:
    sealed = await AesGcm(world.keys()).aencode(b"secret", "msgpack1", place())
    reader = AesGcm(world.keys())
    assert set(await asyncio.gather(*(reader.adecode(sealed, "msgpack1", place()) for _ in range(32)))) == {b"secret"}
    assert world.root.calls == ["wrap", "unwrap"]


def test_the_header_is_short(world: World) -> None:
    sealed = seal(world.keys(), b"")
    assert len(parse(sealed)[0].marshal()) <= 40
    assert len(sealed) <= 120


def test_a_value_without_a_place_is_refused(world: World) -> None:
    with pytest.raises(ConfigurationError, match="SealedSaver"):
        seal(world.keys(), context=Context.unbound())
    sealed = seal(world.keys())
    with pytest.raises(ConfigurationError, match="SealedSaver"):
        open_(world.keys(), sealed, Context.unbound())


def test_scopes_and_keyed_hashes_separate_threads(world: World) -> None:
    sealed = seal(world.keys(), context=place(scope="a"))
    with pytest.raises(UnknownKeyError):
        open_(world.keys(), sealed, place(scope="b"))
    rings = [Keyring.generate("threads") for _ in range(2)]
    with pytest.raises(UnknownKeyError):
        open_(world.keys(hash_threads=rings[0]), sealed, place(scope="a"))
    names = {world.keys(hash_threads=ring).shelf.thread("a", "t1").name for ring in (None, *rings)}
    assert len(names) == 3


@pytest.mark.parametrize("thread", ["", "x" * 5000, "../../etc", "a/b", "Ünïcödé", "\udc80", "\x00"])
def test_any_thread_id_has_a_key_object(world: World, thread: str) -> None:
    sealed = seal(world.keys(), context=place(thread))
    assert open_(world.keys(), sealed, place(thread)) == b"secret"


def test_it_works_over_files(tmp_path: Path) -> None:
    root = FlakyRoot()
    sealed = seal(ThreadKeys(FolderStore(tmp_path), root))
    assert open_(ThreadKeys(FolderStore(tmp_path), root), sealed) == b"secret"


@pytest.mark.services
def test_it_works_under_transit_and_under_several_roots(transit: Transit, kms: Kms) -> None:
    store = MemoryStore()
    aws, bao = kms.root(), transit.root()
    sealed = seal(ThreadKeys(store, {"aws": aws, "bao": bao}))
    for roots in ({"aws": aws}, {"bao": bao}):
        assert open_(ThreadKeys(store, roots), sealed) == b"secret"


def test_the_thread_keys_in_a_composition_are_found(world: World) -> None:
    keys = world.keys()
    assert thread_keys(Revoking(AnyOf(keys, Keyring.generate()), [])) is keys
    assert thread_keys(AnyOf(Keyring.generate(), keys)) is None


# --- call budgets, counted at the wire ----------------------------------------------------------------------------


@pytest.mark.services
def test_a_thousand_puts_on_ten_threads_cost_ten_generated_keys(kms: Kms) -> None:
    store = MemoryStore()
    keys = ThreadKeys(store, KmsKeys(kms.new_key(), client=kms.client))
    for number in range(1_000):
        seal(keys, context=place(f"t{number % 10}", number))
    assert kms.wire == {"GenerateDataKey": 10}
    assert keys.stats().made == 10
    assert keys.stats().served == 990
    assert store.faults.requests == {"get": 10, "put": 10}


@pytest.mark.services
def test_a_cold_start_reading_ten_threads_costs_ten_decrypts(kms: Kms) -> None:
    store, root = MemoryStore(), kms.root()
    writer = ThreadKeys(store, root)
    sealed = {(t, c): seal(writer, context=place(f"t{t}", c)) for t in range(10) for c in range(100)}
    kms.wire.clear()
    reader = ThreadKeys(store, root)
    for (t, c), value in sealed.items():
        assert open_(reader, value, place(f"t{t}", c)) == b"secret"
    assert kms.wire == {"Decrypt": 10}


@pytest.mark.services
def test_32_concurrent_first_reads_of_a_thread_cost_one_decrypt(kms: Kms) -> None:
    store, root = MemoryStore(), kms.root()
    sealed = seal(ThreadKeys(store, root))
    kms.wire.clear()
    reader = ThreadKeys(store, root)
    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(lambda _: open_(reader, sealed), range(32))) == {b"secret"}
    assert kms.wire == {"Decrypt": 1}


def test_nothing_grows_over_many_threads() -> None:
    """`benchmarks/keys.py` does it with 100,000."""

    class Plain:
        """A root that costs nothing, so that the test is about memory."""

        def wrap(self, key: bytes, context: object) -> bytes:
            return key

        def unwrap(self, wrapped: bytes, context: object) -> bytes:
            return wrapped

    keys = ThreadKeys(_Amnesia(), Plain(), cache=CacheLimits(max_keys=100))
    for number in range(10_000):
        keys.current(place(f"t{number}"))
    assert keys.cached_threads <= 100
    assert len(keys._flights) == 0


class _Amnesia(MemoryStore):
    """Takes everything and keeps nothing."""

    def _put(self, key: str, data: bytes, if_absent: bool, if_match: str | None, fault: Fault | None) -> str:
        return "etag"


# --- caching and latency ------------------------------------------------------------------------------------------


def test_a_cached_key_is_checked_again_after_a_minute_without_a_decrypt(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    world.store.faults.clear()
    world.clock.sleep(59)
    open_(keys, sealed)
    assert not world.store.faults.requests
    world.clock.sleep(1)
    open_(keys, sealed)
    assert world.store.faults.requests == {"get": 1}
    assert world.root.calls == ["wrap"]


def test_an_unwrapped_key_expires_although_its_object_is_unchanged(world: World) -> None:
    keys = world.keys(cache=CacheLimits(max_age_s=900))
    sealed = seal(keys)
    for _ in range(31):
        world.clock.sleep(30)
        open_(keys, sealed)
    assert world.root.calls == ["wrap", "unwrap"]


def test_a_store_that_is_down_stops_a_process_after_the_recheck_time_and_no_sooner(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    world.store.faults.plan(Fault("get", "refuse", times=10))
    world.clock.sleep(59)
    assert open_(keys, sealed) == b"secret"
    world.clock.sleep(1)
    for attempt in (lambda: open_(keys, sealed), lambda: seal(keys)):
        with pytest.raises(StoreUnavailableError):
            attempt()


def test_a_root_that_is_down_stops_new_threads_and_cold_readers_only(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    world.root.failing = KeyServiceUnavailableError("down")
    world.clock.sleep(100)
    assert open_(keys, seal(keys)) == b"secret"
    for attempt in (lambda: open_(world.keys(), sealed), lambda: seal(keys, context=place("new"))):
        with pytest.raises(KeyServiceUnavailableError):
            attempt()
    assert len(list(world.store.list("sealpoint/keys/"))) == 1  # nothing on record that could not be wrapped


@pytest.mark.parametrize("options", [{"recheck_s": 61}, {"recheck_s": 0}, {"fence_s": 60}, {"recheck_s": 10, "fence_s": 9}])
def test_bounds_that_break_the_promise_are_refused(world: World, options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="recheck_s"):
        world.keys(**options)


# --- races --------------------------------------------------------------------------------------------------------


def test_two_processes_that_make_a_key_at_once_agree_on_one(world: World) -> None:
    slow, fast = world.keys(), world.keys()
    done: list[bytes] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "put" and not done:
            done.append(b"")
            done[0] = seal(fast)

    world.store.faults.watch = overtake
    sealed = seal(slow)
    assert parse(sealed)[0].reference == parse(done[0])[0].reference
    assert open_(world.keys(), sealed) == open_(world.keys(), done[0]) == b"secret"


def test_a_lost_answer_while_making_a_key_loses_nothing(world: World) -> None:
    keys = world.keys()
    world.store.faults.plan(Fault("put", "lost_reply"))
    with pytest.raises(StoreUnavailableError):
        seal(keys)
    assert open_(world.keys(), seal(keys)) == b"secret"


def test_threads_of_one_process_make_one_key(world: World) -> None:
    keys = world.keys()
    with ThreadPoolExecutor(16) as pool:
        sealed = list(pool.map(lambda number: seal(keys, context=place("t1", number)), range(64)))
    assert len({parse(value)[0].reference.key_id for value in sealed}) == 1
    assert world.root.calls == ["wrap"]


def test_a_first_write_beside_a_first_read_makes_the_key(world: World) -> None:
    keys = world.keys()
    elsewhere = seal(ThreadKeys(MemoryStore(), world.root))
    gate, reading = threading.Event(), threading.Event()

    def hold(operation: str, key: str) -> None:
        if not reading.is_set():
            reading.set()
            assert gate.wait(10)

    world.store.faults.watch = hold
    with ThreadPoolExecutor(2) as pool:
        read = pool.submit(open_, keys, elsewhere)
        assert reading.wait(10)
        sealed = pool.submit(seal, keys).result(10)
        gate.set()
        with pytest.raises((UnknownKeyError, AuthenticationError)):
            read.result(10)
    assert open_(keys, sealed) == b"secret"


# --- attacks on key objects ---------------------------------------------------------------------------------------


def test_a_key_object_copied_over_anothers_is_refused(world: World) -> None:
    mine, _ = seal(world.keys(), context=place("mine")), seal(world.keys(), context=place("other"))
    world.store.put(world.path("mine"), world.store.get(world.path("other")).data)
    for attempt in (lambda: open_(world.keys(), mine, place("mine")), lambda: seal(world.keys(), context=place("mine"))):
        with pytest.raises(IntegrityError):
            attempt()


def test_a_value_moved_to_another_thread_is_refused(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys, context=place("one"))
    seal(keys, context=place("two"))
    with pytest.raises(AuthenticationError, match="moved"):
        open_(keys, sealed, place("two"))
    with pytest.raises(UnknownKeyError):
        open_(keys, sealed, place("three"))
    with pytest.raises(AuthenticationError):
        open_(keys, sealed, place("one", number=2))


def test_a_key_object_of_another_scope_is_refused(world: World) -> None:
    seal(world.keys(), context=place(scope="a"))
    world.store.put(world.path(scope="b"), world.store.get(world.path(scope="a")).data)
    with pytest.raises(AuthenticationError, match="scope"):
        seal(world.keys(), context=place(scope="b"))


def test_every_changed_byte_of_a_key_object_is_refused_or_harmless(world: World) -> None:
    """A change that is not refused may only touch what is a hint: when, and the field that makes writes unique."""
    sealed = seal(world.keys())
    path = world.path()
    good = world.store.get(path).data
    hints = set(range(6, 22)) | set(range(26, 34))
    for at in range(len(good)):
        changed = bytearray(good)
        changed[at] ^= 1
        world.store.put(path, bytes(changed))
        if at in hints:
            assert open_(world.keys(), sealed) == b"secret"
        else:
            with pytest.raises((IntegrityError, KeyAccessError)):
                open_(world.keys(), sealed)
    for end in range(len(good)):
        world.store.put(path, good[:end])
        with pytest.raises((EnvelopeError, AuthenticationError)):
            open_(world.keys(), sealed)


def test_a_lost_key_object_is_told_and_a_restored_one_opens(world: World) -> None:
    sealed = seal(world.keys())
    backup = world.store.get(world.path()).data
    world.store.delete_many([world.path()])
    with pytest.raises(UnknownKeyError, match="backup"):
        open_(world.keys(), sealed)
    world.store.put(world.path(), backup)
    assert open_(world.keys(), sealed) == b"secret"


# --- roles, revocation, secrets -----------------------------------------------------------------------------------


def test_a_read_only_source_opens_and_writes_nothing(world: World) -> None:
    sealed = seal(world.keys())
    reader = world.keys(read_only=True)
    world.store.faults.clear()
    assert open_(reader, sealed) == b"secret"
    for attempt in (
        lambda: seal(reader),
        lambda: reader.begin(place()),
        lambda: reader.reopen("t1"),
        lambda: reader.record_copy("t1", "t2"),
        lambda: erase(reader, "t1"),
    ):
        with pytest.raises(KeyAccessError, match="read-only"):
            attempt()
    assert world.store.faults.requests == {"get": 1}


def test_a_revoked_thread_key_opens_nothing(world: World) -> None:
    keys = world.keys()
    sealed = seal(keys)
    key_id = parse(sealed)[0].reference.key_id
    with pytest.raises(RevokedKeyError):
        open_(Revoking(keys, [key_id]), sealed)
    assert open_(Revoking(keys, [key_id], opens=True), sealed) == b"secret"


def test_values_under_keys_of_another_kind_are_told_apart(world: World) -> None:
    ring = Keyring.generate()
    with pytest.raises(UnknownKeyError, match="AnyOf"):
        open_(world.keys(), seal(ring))
    assert open_(AnyOf(world.keys(), ring), seal(ring)) == b"secret"


def test_no_key_object_shows_the_thread_or_the_key(world: World) -> None:
    seal(world.keys(), context=place("ada@example.org"))
    (listed,) = world.store.list("")
    assert "ada" not in listed.key
    assert b"ada" not in world.store.get(listed.key).data


def test_thread_keys_cannot_leave_the_process(world: World) -> None:
    keys = world.keys()
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(keys)
    assert copy.deepcopy(keys) is keys
    assert repr(keys) == "ThreadKeys(Roots(root; active: root))"


# --- lives of a thread --------------------------------------------------------------------------------------------


def test_begin_makes_no_difference_to_a_live_or_new_thread(world: World) -> None:
    keys = world.keys()
    keys.begin(place())
    assert list(world.store.list("")) == []
    sealed = seal(keys)
    keys.begin(place())
    assert parse(seal(keys))[0].reference == parse(sealed)[0].reference


@pytest.mark.parametrize("how", ["begin", "reopen"])
def test_an_erased_thread_begins_anew_after_the_fence_only(world: World, how: str) -> None:
    keys, other = world.keys(), world.keys()
    first = seal(keys)
    erase(keys, "t1")

    def again() -> None:
        keys.begin(place()) if how == "begin" else keys.reopen("t1")

    with pytest.raises(ThreadFencedError, match="300 s"):
        again()
    with pytest.raises(ThreadErasedError):
        seal(keys)
    world.clock.sleep(300)
    with pytest.raises(ThreadErasedError):  # a late writer, however late
        seal(other)
    again()
    second = seal(keys)
    assert parse(second)[0].reference.key_id.startswith("g2-")
    for process in (keys, other, world.keys()):
        assert open_(process, second) == b"secret"
        with pytest.raises(ThreadErasedError):
            open_(process, first)


def test_two_processes_that_reopen_at_once_agree_on_one_generation(world: World) -> None:
    one, two = world.keys(), world.keys()
    seal(one)
    erase(one, "t1")
    world.clock.sleep(300)
    raced: list[None] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "put" and not raced:
            raced.append(None)
            two.begin(place())

    world.store.faults.watch = overtake
    one.begin(place())
    assert parse(seal(one))[0].reference == parse(seal(two))[0].reference
    assert parse(seal(one))[0].reference.key_id.startswith("g2-")


def test_a_local_root_is_enough_for_offline_work() -> None:
    store = MemoryStore()
    root = LocalRoot(Keyring.generate("master"))
    assert open_(ThreadKeys(store, root), seal(ThreadKeys(store, root))) == b"secret"


def test_the_key_that_sealed_last_is_given_for_no_other_place(world: World) -> None:
    """It is remembered by the first bytes of a context: an id or scope that begins like another must not meet it."""
    keys = world.keys()
    places = [place(thread, scope=scope) for thread in ("t", "t1", "t11", "") for scope in ("", "s", "st")]
    first = [keys.current(context)[0].key_id for context in places]
    assert len(set(first)) == len(places)
    for context, key_id in [*zip(places, first, strict=True), *reversed(list(zip(places, first, strict=True)))]:
        assert [keys.current(context)[0].key_id for _ in range(3)] == [key_id] * 3


def test_the_key_that_sealed_last_is_forgotten_with_all_others(world: World) -> None:
    keys = world.keys()
    for _ in range(3):
        keys.current(place())
    keys.forget()
    world.root.calls.clear()
    keys.current(place())
    assert world.root.calls == ["unwrap"]
    world.store.faults.requests.clear()
    for second in range(120):
        world.clock.sleep(1)
        keys.current(place(number=second))
    assert world.store.faults.requests["get"] == 2  # every 60 s


def test_what_a_reader_learns_of_an_erasure_stops_the_writer_beside_it(world: World) -> None:
    keys = world.keys()
    for _ in range(3):
        keys.current(place())
    erase(world.keys(), "t1")
    with pytest.raises(UnknownKeyError):  # a key that this process does not know: the store is asked
        keys.resolve(KeyReference(KeyKind.KEY_STORE, f"g9-{'0' * 20}"), place())
    with pytest.raises(ThreadErasedError):
        keys.current(place())
