"""Wrapped keys under other roots: inline without touching the body, thread keys by compare-and-swap, killed anywhere, beside writers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping

import pytest

from sealpoint import Context
from sealpoint.ciphers import Header, KeyKind, KeyReference, parse
from sealpoint.errors import (
    AuthenticationError,
    IntegrityError,
    KeyServiceUnavailableError,
    StoreUnavailableError,
    ThreadErasedError,
    UnknownKeyError,
    WrongKeyError,
)
from sealpoint.keys import (
    DataKeyLimits,
    EnvelopeKeys,
    Keyring,
    Rewrapper,
    Roots,
    ThreadKeys,
    TransitRoot,
    erase,
    rotate_roots,
    transit_version_below,
)
from sealpoint.stores import Fault, MemoryStore, Stopped
from tests.keys.helpers import Clock, FlakyRoot, open_, place, seal
from tests.keys.services import Kms, Transit

# --- inline -------------------------------------------------------------------------------------------------------


def test_a_second_root_is_added_without_touching_the_body() -> None:
    old, new = FlakyRoot(), FlakyRoot()
    sealed = seal(EnvelopeKeys({"old": old}))
    rewrapped = Rewrapper({"old": old, "new": new}).rewrap(sealed)
    assert rewrapped is not None
    (before, at), (after, now_at) = parse(sealed), parse(rewrapped)
    assert rewrapped[now_at:] == sealed[at:]
    assert after.core() == before.core()
    assert after.reference.wrapped[0] == before.reference.wrapped[0]
    for roots in ({"old": old}, {"new": new}):
        assert open_(EnvelopeKeys(roots), rewrapped) == b"secret"


def test_a_root_is_exchanged_and_the_old_one_no_longer_opens() -> None:
    old, new = FlakyRoot(), FlakyRoot()
    sealed = seal(EnvelopeKeys({"old": old}))
    both = Roots({"old": old, "new": new}, active=["new"])
    rewrapped = Rewrapper(both).rewrap(sealed)
    assert rewrapped is not None
    assert open_(EnvelopeKeys({"new": new}), rewrapped) == b"secret"
    with pytest.raises(UnknownKeyError):
        open_(EnvelopeKeys({"old": old}), rewrapped)
    assert Rewrapper(both).rewrap(rewrapped) is None


def test_values_that_share_a_data_key_share_the_new_wrapping() -> None:
    old, new = FlakyRoot(), FlakyRoot()
    writer = EnvelopeKeys({"old": old}, limits=DataKeyLimits(max_messages=100))
    values = [seal(writer, context=place(number=number)) for number in range(1_000)]
    old.calls.clear()
    rewrapper = Rewrapper(Roots({"old": old, "new": new}, active=["new"]))
    rewrapped = [rewrapper.rewrap(value) or b"" for value in values]
    assert old.calls == ["unwrap"] * 10
    assert new.calls == ["wrap", "unwrap"] * 10
    new.calls.clear()
    reader = EnvelopeKeys({"new": new})
    assert all(open_(reader, value, place(number=number)) == b"secret" for number, value in enumerate(rewrapped))
    assert new.calls == ["unwrap"] * 10


def test_keys_of_other_kinds_are_left_alone() -> None:
    rewrapper = Rewrapper(FlakyRoot())
    assert rewrapper.rewrap(seal(Keyring.generate())) is None
    assert rewrapper.rewrap(seal(ThreadKeys(MemoryStore(), FlakyRoot()))) is None


def test_an_exchanged_key_block_is_noticed_before_it_is_written_anew() -> None:
    old, new = FlakyRoot(), FlakyRoot()
    one, two = seal(EnvelopeKeys({"old": old})), seal(EnvelopeKeys({"old": old}))
    (header, at), (other, _) = parse(one), parse(two)
    forged = (
        Header(KeyReference(KeyKind.WRAPPED_INLINE, other.reference.key_id, other.reference.wrapped), header.check).marshal() + one[at:]
    )
    with pytest.raises(WrongKeyError, match="exchanged"):
        Rewrapper({"old": old, "new": new}).rewrap(forged)
    moved = (
        Header(KeyReference(KeyKind.WRAPPED_INLINE, header.reference.key_id, other.reference.wrapped), header.check).marshal() + one[at:]
    )
    with pytest.raises(IntegrityError):
        Rewrapper({"old": old, "new": new}).rewrap(moved)


class Liar(FlakyRoot):
    """A root that wraps another key than it was given."""

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        return super().wrap(bytes(32), context)


def test_a_root_that_does_not_give_back_the_key_is_not_trusted_with_it() -> None:
    old = FlakyRoot()
    sealed = seal(EnvelopeKeys({"old": old}))
    with pytest.raises(AuthenticationError, match="does not give back"):
        Rewrapper({"old": old, "new": Liar()}).rewrap(sealed)


@pytest.mark.services
def test_after_a_transit_key_was_rotated_old_versions_are_wrapped_anew(transit: Transit) -> None:
    name = transit.new_key()
    root = TransitRoot(name, client=transit.client)
    sealed = seal(EnvelopeKeys(root))
    transit.admin.secrets.transit.rotate_key(name=name)
    assert Rewrapper(root).rewrap(sealed) is None
    rewrapped = Rewrapper(root, stale=transit_version_below(2)).rewrap(sealed)
    assert rewrapped is not None
    transit.admin.secrets.transit.update_key_configuration(name=name, min_decryption_version=2)
    assert open_(EnvelopeKeys(root), rewrapped) == b"secret"


# --- thread keys --------------------------------------------------------------------------------------------------


class Fleet:
    """Threads with checkpoints in one memory store, and the roots of a rotation."""

    def __init__(self, threads: int, checkpoints: int) -> None:
        self.store = MemoryStore()
        self.old, self.new = FlakyRoot(), FlakyRoot()
        self.before = {"old": self.old}
        self.during = Roots({"old": self.old, "new": self.new}, active=["new"])
        keys = ThreadKeys(self.store, self.before)
        for t in range(threads):
            for c in range(checkpoints):
                self.store.put(f"data/{t}/{c}", seal(keys, context=place(f"t{t}", c)))

    def data(self) -> dict[str, str]:
        return {listed.key: self.store.get(listed.key).etag for listed in self.store.list("data/")}

    def check_all_open(self, keys: ThreadKeys) -> int:
        count = 0
        for listed in self.store.list("data/"):
            _, thread, checkpoint = listed.key.split("/")
            assert open_(keys, self.store.get(listed.key).data, place(f"t{thread}", int(checkpoint))) == b"secret"
            count += 1
        return count


def test_a_rotation_rewrites_one_small_object_a_thread_and_no_data() -> None:
    """Killed half-way and run again, beside a writer; `benchmarks/keys.py` does it with 1,000 threads x 100 checkpoints."""
    fleet = Fleet(100, 10)
    etags = fleet.data()
    fleet.store.faults.clear()
    keys = ThreadKeys(fleet.store, fleet.during)
    fleet.store.faults.plan(Fault("put", "stop", key_contains="/keys/", skip=50))
    stop = threading.Event()
    written: list[tuple[Context, bytes]] = []

    def write() -> None:
        writer = ThreadKeys(fleet.store, fleet.during, recheck_s=0.001)
        while not stop.is_set():
            context = place(f"t{len(written) % 100}", len(written))
            written.append((context, seal(writer, context=context)))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with pytest.raises(Stopped):
            rotate_roots(keys, workers=2)
        half = rotate_roots(keys, dry_run=True)
        assert 0 < half.rewritten < 100
        assert half.rewritten + half.current == 100
        reader = ThreadKeys(fleet.store, fleet.during)
        assert all(open_(reader, fleet.store.get(f"data/{t}/7").data, place(f"t{t}", 7)) == b"secret" for t in range(0, 100, 5))
        report = rotate_roots(keys, workers=2)
    finally:
        stop.set()
        thread.join()
    assert report.complete
    assert report.rewritten == half.rewritten
    assert fleet.store.faults.requests["put"] <= 101  # one a thread, and the one that was stopped
    assert fleet.data() == etags
    after = ThreadKeys(fleet.store, {"new": fleet.new})
    assert fleet.check_all_open(after) == 1_000
    assert written
    assert all(open_(after, value, context) == b"secret" for context, value in written)
    assert rotate_roots(keys).current == 100


@pytest.mark.parametrize("kind", ["stop", "refuse", "lost_reply"])
@pytest.mark.parametrize("operation", ["get", "put", "list"])
def test_a_rotation_cut_off_at_any_request_resumes(kind: str, operation: str) -> None:
    for skip in range(4):
        fleet = Fleet(3, 1)
        keys = ThreadKeys(fleet.store, fleet.during)
        fleet.store.faults.plan(Fault(operation, kind, skip=skip))  # type: ignore[arg-type]  # of the two literals
        with contextlib.suppress(Stopped, StoreUnavailableError):
            rotate_roots(keys, workers=1)
        fleet.store.faults.clear()
        assert fleet.check_all_open(ThreadKeys(fleet.store, fleet.during)) == 3
        assert rotate_roots(keys).complete
        assert fleet.check_all_open(ThreadKeys(fleet.store, {"new": fleet.new})) == 3


def test_a_dry_run_writes_and_unwraps_nothing() -> None:
    fleet = Fleet(3, 1)
    keys = ThreadKeys(fleet.store, fleet.during)
    erase(keys, "t0")
    fleet.store.faults.clear()
    fleet.old.calls.clear()
    report = rotate_roots(keys, dry_run=True)
    assert (report.rewritten, report.ended, report.complete) == (2, 1, False)
    assert fleet.store.faults.requests["put"] == 0
    assert fleet.old.calls == fleet.new.calls == []


def test_what_cannot_be_rotated_is_named_and_left_as_it_was() -> None:
    fleet = Fleet(3, 1)
    keys = ThreadKeys(fleet.store, fleet.during)
    path = keys.shelf.path(keys.shelf.thread("", "t1").name)
    fleet.store.put(path, b"junk")
    seen: list[str] = []
    report = rotate_roots(keys, on_progress=seen.append)
    assert (report.rewritten, report.failed, report.complete) == (2, 1, False)
    assert report.failures == ((path, "EnvelopeError"),)
    assert sorted(seen) == ["failed", "rewritten", "rewritten"]
    assert fleet.store.get(path).data == b"junk"


def test_a_key_that_the_new_root_does_not_give_back_is_not_written() -> None:
    fleet = Fleet(2, 1)
    liar = Roots({"old": fleet.old, "new": Liar()}, active=["new"])
    assert rotate_roots(ThreadKeys(fleet.store, liar)).failed == 2
    assert fleet.check_all_open(ThreadKeys(fleet.store, fleet.before)) == 2


def test_a_new_root_that_is_down_ends_the_run_and_harms_nothing() -> None:
    fleet = Fleet(2, 1)
    fleet.new.failing = KeyServiceUnavailableError("down")
    with pytest.raises(KeyServiceUnavailableError):
        rotate_roots(ThreadKeys(fleet.store, fleet.during))
    assert fleet.check_all_open(ThreadKeys(fleet.store, fleet.before)) == 2


def test_an_erasure_during_a_rotation_wins() -> None:
    fleet = Fleet(1, 1)
    keys = ThreadKeys(fleet.store, fleet.during)
    raced: list[None] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "put" and not raced:
            raced.append(None)
            erase(ThreadKeys(fleet.store, fleet.during), "t0")

    fleet.store.faults.watch = overtake
    assert rotate_roots(keys).ended == 1
    fleet.store.faults.watch = None
    with pytest.raises(ThreadErasedError):
        fleet.check_all_open(ThreadKeys(fleet.store, fleet.during))


def test_a_process_unwraps_again_after_a_rotation_so_that_it_never_seals_under_a_key_that_is_not_on_record(clock: Clock) -> None:
    fleet = Fleet(1, 1)
    running = ThreadKeys(fleet.store, fleet.during, clock=clock)
    seal(running, context=place("t0"))
    rotate_roots(ThreadKeys(fleet.store, fleet.during))
    clock.sleep(60)
    fleet.new.calls.clear()
    value = seal(running, context=place("t0", 5))
    assert fleet.new.calls == ["unwrap"]
    assert open_(ThreadKeys(fleet.store, {"new": fleet.new}), value, place("t0", 5)) == b"secret"


@pytest.mark.services
def test_a_rotation_from_aws_to_transit(kms: Kms, transit: Transit) -> None:
    store = MemoryStore()
    aws, bao = kms.root(), transit.root()
    sealed = [seal(ThreadKeys(store, {"aws": aws}), context=place(f"t{number}")) for number in range(5)]
    report = rotate_roots(ThreadKeys(store, Roots({"aws": aws, "bao": bao}, active=["bao"])))
    assert report.complete
    after = ThreadKeys(store, {"bao": bao})
    assert all(open_(after, value, place(f"t{number}")) == b"secret" for number, value in enumerate(sealed))
