"""Data keys carried by the values they seal: call budgets, limits, roles, several roots, outages, attacks on the header."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import multiprocessing
import pickle
import threading
import warnings
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from types import SimpleNamespace

import pytest

from sealpoint.ciphers import AesGcm, Header, KeyKind, KeyReference, KeySource, SizedKeySource, WrappedKey, parse
from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    IntegrityError,
    KeyAccessError,
    KeyRefusedError,
    KeyServiceUnavailableError,
    RetryableError,
    RevokedKeyError,
    UnknownKeyError,
)
from sealpoint.keys import (
    AnyOf,
    CacheLimits,
    DataKeyLimits,
    EnvelopeKeys,
    Keyring,
    KmsKeys,
    KmsRoot,
    Revoking,
    Roots,
    TransitKeys,
)
from tests.keys.helpers import Clock, FlakyRoot, open_, place, seal
from tests.keys.services import Kms, Transit, kms_client
from tests.s3 import credentials

# --- call budgets, counted at the wire ----------------------------------------------------------------------------


@pytest.mark.services
def test_a_thousand_puts_on_ten_threads_cost_at_most_ten_calls(kms: Kms) -> None:
    keys = KmsKeys(kms.new_key(), client=kms.client)
    for number in range(1_000):
        seal(keys, context=place(f"t{number % 10}", number))
    assert kms.wire["GenerateDataKey"] <= 10
    assert kms.wire["Decrypt"] == 0
    assert sum(kms.wire.values()) == keys.stats().made == 1
    assert keys.stats().served == 1_000


@pytest.mark.services
def test_a_cold_start_reading_a_thousand_checkpoints_costs_at_most_ten_decrypts(kms: Kms) -> None:
    arn = kms.new_key()
    writer = KmsKeys(arn, client=kms.client, limits=DataKeyLimits(max_messages=100))
    sealed = {(t, c): seal(writer, context=place(f"t{t}", c)) for t in range(10) for c in range(100)}
    kms.wire.clear()
    reader = KmsKeys(arn, client=kms.client)
    for (t, c), value in sealed.items():
        assert open_(reader, value, place(f"t{t}", c)) == b"secret"
    assert kms.wire == {"Decrypt": 10}


@pytest.mark.services
def test_32_concurrent_first_reads_cost_one_decrypt(kms: Kms) -> None:
    arn = kms.new_key()
    sealed = seal(KmsKeys(arn, client=kms.client))
    kms.wire.clear()
    reader = KmsKeys(arn, client=kms.client)
    with ThreadPoolExecutor(32) as pool:
        assert set(pool.map(lambda _: open_(reader, sealed), range(32))) == {b"secret"}
    assert kms.wire == {"Decrypt": 1}


@pytest.mark.services
async def test_32_concurrent_first_reads_on_a_loop_cost_one_decrypt(kms: Kms) -> None:
    arn = kms.new_key()
    sealed = await AesGcm(KmsKeys(arn, client=kms.client)).aencode(b"secret", "msgpack1", place())
    kms.wire.clear()
    reader = AesGcm(KmsKeys(arn, client=kms.client))
    opened = await asyncio.gather(*(reader.adecode(sealed, "msgpack1", place()) for _ in range(32)))
    assert set(opened) == {b"secret"}
    assert kms.wire == {"Decrypt": 1}


@pytest.mark.services
def test_throttled_calls_are_retried_and_then_told(kms: Kms, kms_endpoint: str) -> None:
    client = kms_client(kms_endpoint, attempts=3)
    refusals = iter([True, True, False] + [True] * 3)
    sent = []

    def throttle(request: object, **_: object) -> object:
        from botocore.awsrequest import AWSResponse
        from botocore.compat import HTTPHeaders

        sent.append(request)
        if not next(refusals):
            return None
        body = b'{"__type": "ThrottlingException", "message": "slow down"}'
        raw = SimpleNamespace(stream=lambda: iter([body]))
        return AWSResponse("http://127.0.0.1/", 400, HTTPHeaders(), raw)

    client.meta.events.register("before-send.kms", throttle)
    keys = KmsKeys(kms.new_key(), client=client)
    sealed = seal(keys)
    assert len(sent) == 3
    keys.forget()
    with pytest.raises(KeyServiceUnavailableError, match="try again"):
        open_(keys, sealed)
    assert len(sent) == 6


# --- one call for many askers -------------------------------------------------------------------------------------


async def test_a_cancelled_reader_does_not_take_the_others_with_it() -> None:
    root = FlakyRoot()
    sealed = seal(EnvelopeKeys(root))
    root.gate = threading.Event()
    reader = AesGcm(EnvelopeKeys(root))
    tasks = [asyncio.create_task(reader.adecode(sealed, "msgpack1", place())) for _ in range(5)]
    await asyncio.sleep(0.05)
    tasks[0].cancel()  # the one that made the call
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    root.gate.set()
    assert await asyncio.gather(*tasks[1:]) == [b"secret"] * 4
    assert root.calls.count("unwrap") == 1


def test_a_failed_call_is_not_remembered() -> None:
    root = FlakyRoot()
    sealed = seal(EnvelopeKeys(root))
    reader = EnvelopeKeys(root)
    root.failing = KeyServiceUnavailableError("down")
    with pytest.raises(KeyServiceUnavailableError):
        open_(reader, sealed)
    root.failing = None
    assert open_(reader, sealed) == b"secret"


def test_concurrent_writers_share_data_keys_and_keep_the_limits() -> None:
    root = FlakyRoot()
    keys = EnvelopeKeys(root, limits=DataKeyLimits(max_messages=10))
    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda number: parse(seal(keys, context=place(number=number)))[0].reference.key_id, range(200)))
    assert all(ids.count(key_id) <= 10 for key_id in ids)
    assert root.calls.count("wrap") == 20


# --- limits -------------------------------------------------------------------------------------------------------


def _ids(keys: KeySource, sizes: list[int]) -> list[str]:
    return [parse(seal(keys, b"x" * size))[0].reference.key_id for size in sizes]


def test_the_message_ceiling_rolls_the_data_key() -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_messages=3))
    ids = _ids(keys, [1] * 7)
    assert [ids.count(key_id) for key_id in dict.fromkeys(ids)] == [3, 3, 1]


def test_the_byte_ceiling_rolls_the_data_key_before_it_is_passed() -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_bytes=100))
    ids = _ids(keys, [40, 40, 40, 100, 1, 500, 1])
    assert [ids.count(key_id) for key_id in dict.fromkeys(ids)] == [2, 1, 1, 1, 1, 1]


async def test_the_byte_ceiling_holds_on_a_loop_too() -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_bytes=100))
    cipher = AesGcm(keys)
    sealed = [await cipher.aencode(b"x" * 60, "", place()) for _ in range(3)]
    assert len({parse(value)[0].reference.key_id for value in sealed}) == 3
    assert isinstance(keys, SizedKeySource)


def test_age_rolls_the_data_key(clock: Clock) -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_age_s=60), clock=clock)
    first = _ids(keys, [1, 1])
    clock.sleep(60)
    assert len({*first, *_ids(keys, [1])}) == 2


def test_scopes_have_data_keys_of_their_own() -> None:
    keys = EnvelopeKeys(FlakyRoot())
    one, two = (seal(keys, context=place(scope=scope)) for scope in ("one", "two"))
    assert parse(one)[0].reference.key_id != parse(two)[0].reference.key_id
    with pytest.raises(AuthenticationError):
        open_(keys, one, place(scope="two"))


@pytest.mark.parametrize("limits", [{"max_age_s": 0}, {"max_messages": 0}, {"max_messages": 2**56}, {"max_bytes": 0}])
def test_limits_that_limit_nothing_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError):
        DataKeyLimits(**limits)


def test_unwrapped_keys_expire_and_are_bounded(clock: Clock) -> None:
    root = FlakyRoot()
    writer = EnvelopeKeys(root, limits=DataKeyLimits(max_messages=1))
    values = [seal(writer) for _ in range(5)]
    reader = EnvelopeKeys(root, cache=CacheLimits(max_keys=3, max_age_s=60), clock=clock)
    for value in values:
        open_(reader, value)
    assert len(reader._opened) == 3
    root.calls.clear()
    open_(reader, values[-1])
    assert root.calls == []
    clock.sleep(60)
    open_(reader, values[-1])
    assert root.calls == ["unwrap"]
    clock.sleep(60)
    open_(reader, values[0])
    assert len(reader._opened) == 1  # what expired unasked is gone too


def test_nothing_grows_over_a_hundred_thousand_threads() -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_messages=1_000), cache=CacheLimits(max_keys=10))
    for number in range(100_000):
        keys.current(place(f"t{number}"))
    assert len(keys._opened) <= 10
    assert len(keys._in_use) == 1
    assert len(keys._generating) == len(keys._opening) == 0


def test_the_data_keys_of_many_scopes_are_bounded() -> None:
    keys = EnvelopeKeys(FlakyRoot())
    for number in range(300):
        keys.current(place(scope=f"s{number}"))
    assert len(keys._in_use) <= 256


# --- roles --------------------------------------------------------------------------------------------------------


def test_an_encrypt_only_source_seals_and_never_opens() -> None:
    root = FlakyRoot()
    keys = EnvelopeKeys(root, mode="encrypt-only")
    sealed = seal(keys)
    with pytest.raises(KeyAccessError, match="encrypt-only"):
        open_(keys, sealed)
    assert "unwrap" not in root.calls
    assert open_(EnvelopeKeys(root), sealed) == b"secret"


def test_a_decrypt_only_source_opens_and_never_seals() -> None:
    root = FlakyRoot()
    sealed = seal(EnvelopeKeys(root))
    keys = EnvelopeKeys(root, mode="decrypt-only")
    root.calls.clear()
    assert open_(keys, sealed) == b"secret"
    with pytest.raises(KeyAccessError, match="decrypt-only"):
        seal(keys)
    assert root.calls == ["unwrap"]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="encrypt-only"):
        EnvelopeKeys(FlakyRoot(), mode="write-only")  # type: ignore[arg-type]  # the mistake under test


# --- several roots ------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_value_under_two_services_opens_with_either(kms: Kms, transit: Transit) -> None:
    aws, bao = kms.root(), transit.root()
    sealed = seal(EnvelopeKeys({"aws": aws, "bao": bao}))
    assert open_(EnvelopeKeys({"aws": aws}), sealed) == b"secret"
    assert open_(EnvelopeKeys({"bao": bao}), sealed) == b"secret"
    assert open_(TransitKeys({"aws": aws, "bao": bao}), sealed) == b"secret"


@pytest.mark.parametrize("failure", [KeyServiceUnavailableError("down"), KeyRefusedError("disabled"), RuntimeError("bug")])
def test_the_second_root_opens_when_the_first_fails(failure: Exception) -> None:
    first, second = FlakyRoot(), FlakyRoot()
    sealed = seal(EnvelopeKeys({"first": first, "second": second}))
    first.failing = failure
    reader = EnvelopeKeys({"first": first, "second": second})
    assert open_(reader, sealed) == b"secret"
    assert reader.stats().failed == 1


def test_nothing_is_sealed_while_an_active_root_fails() -> None:
    first, second = FlakyRoot(), FlakyRoot()
    keys = EnvelopeKeys({"first": first, "second": second})
    second.failing = KeyServiceUnavailableError("down")
    with pytest.raises(KeyServiceUnavailableError):
        seal(keys)
    second.failing = None
    assert {entry.root for entry in parse(seal(keys))[0].reference.wrapped} == {"first", "second"}


def test_of_several_failures_the_most_hopeful_is_told() -> None:
    roots = {name: FlakyRoot() for name in ("a", "b", "c")}
    sealed = seal(EnvelopeKeys(roots))
    roots["a"].failing = AuthenticationError("forged")
    roots["b"].failing = KeyRefusedError("disabled")
    roots["c"].failing = KeyServiceUnavailableError("down")
    with pytest.raises(RetryableError):
        open_(EnvelopeKeys(roots), sealed)
    roots["c"].failing = AuthenticationError("forged")
    with pytest.raises(KeyRefusedError):
        open_(EnvelopeKeys(roots), sealed)
    roots["b"].failing = AuthenticationError("forged")
    with pytest.raises(AuthenticationError):
        open_(EnvelopeKeys(roots), sealed)


def test_roots_that_are_not_active_open_only() -> None:
    old, new = FlakyRoot(), FlakyRoot()
    before = seal(EnvelopeKeys({"old": old}))
    keys = EnvelopeKeys({"old": old, "new": new}, active=["new"])
    assert open_(keys, before) == b"secret"
    assert [entry.root for entry in parse(seal(keys))[0].reference.wrapped] == ["new"]


@pytest.mark.parametrize(
    ("roots", "active"),
    [
        ({}, None),
        ({"a": object()}, None),
        ({"a": FlakyRoot()}, ["b"]),
        ({"a": FlakyRoot()}, []),
        ({"a": FlakyRoot()}, "a"),
        ({"a b": FlakyRoot()}, None),
    ],
    ids=["none", "no wrapper", "unknown", "none active", "a string", "malformed"],
)
def test_roots_that_cannot_work_are_refused(roots: dict[str, FlakyRoot], active: list[str] | None) -> None:
    with pytest.raises(ConfigurationError):
        Roots(roots, active=active)


# --- outages ------------------------------------------------------------------------------------------------------


def test_while_a_service_is_down_keys_at_hand_go_on_until_they_expire(clock: Clock) -> None:
    root = FlakyRoot()
    limits, cache = DataKeyLimits(max_age_s=60), CacheLimits(max_age_s=60)
    keys = EnvelopeKeys(root, limits=limits, cache=cache, clock=clock)
    sealed = seal(keys)
    root.failing = KeyServiceUnavailableError("down")
    assert open_(keys, seal(keys)) == b"secret"
    with pytest.raises(KeyServiceUnavailableError):
        open_(EnvelopeKeys(root), sealed)
    clock.sleep(61)
    with pytest.raises(KeyServiceUnavailableError):
        seal(keys)
    with pytest.raises(KeyServiceUnavailableError):
        open_(keys, sealed)
    root.failing = None
    assert open_(keys, sealed) == b"secret"


def test_a_service_that_makes_a_short_key_is_not_believed() -> None:
    class Short(FlakyRoot):
        def generate(self, context: Mapping[str, str]) -> tuple[bytes, bytes]:
            return b"short", b"wrapped"

    with pytest.raises(KeyRefusedError, match="5 bytes"):
        seal(EnvelopeKeys(Short()))


# --- attacks on the header ----------------------------------------------------------------------------------------


def _with_block(sealed: bytes, wrapped: tuple[WrappedKey, ...], key_id: str | None = None) -> bytes:
    header, at = parse(sealed)
    reference = KeyReference(KeyKind.WRAPPED_INLINE, key_id or header.reference.key_id, wrapped)
    return Header(reference, header.check).marshal() + sealed[at:]


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_changed_wrapped_key_is_refused_whether_the_cache_is_warm_or_not(warm: bool) -> None:
    root = FlakyRoot()
    keys = EnvelopeKeys(root)
    sealed = seal(keys)
    (entry,) = parse(sealed)[0].reference.wrapped
    for at in (0, 20, len(entry.wrapped) - 1):
        changed = bytearray(entry.wrapped)
        changed[at] ^= 1
        forged = _with_block(sealed, (dataclasses.replace(entry, wrapped=bytes(changed)),))
        with pytest.raises((IntegrityError, UnknownKeyError)):
            open_(keys if warm else EnvelopeKeys(root), forged)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_wrapped_key_moved_into_another_values_header_does_not_open_it(warm: bool) -> None:
    root = FlakyRoot()
    keys = EnvelopeKeys(root, limits=DataKeyLimits(max_messages=1))
    mine, other = seal(keys, context=place("mine")), seal(keys, context=place("other"))
    reader = keys if warm else EnvelopeKeys(root)
    theirs = parse(other)[0].reference
    with pytest.raises(IntegrityError):  # their key under my id
        open_(reader, _with_block(mine, theirs.wrapped), place("mine"))
    with pytest.raises((IntegrityError, KeyAccessError)):  # their key under their id
        open_(reader, _with_block(mine, theirs.wrapped, theirs.key_id), place("mine"))
    with pytest.raises(IntegrityError):  # the whole value
        open_(reader, other, place("mine"))


@pytest.mark.services
def test_a_data_key_under_an_attackers_own_kms_key_is_refused(kms: Kms) -> None:
    mine, theirs = kms.new_key(), kms.new_key()
    forged = seal(KmsKeys(theirs, client=kms.client), b"forged")
    kms.wire.clear()
    with pytest.raises((AuthenticationError, KeyRefusedError)):  # AWS says IncorrectKeyException, moto AccessDenied
        open_(KmsKeys(mine, client=kms.client), forged)
    assert kms.wire == {"Decrypt": 1}


def test_an_unknown_root_is_refused_without_a_call() -> None:
    theirs, mine = FlakyRoot(), FlakyRoot()
    forged = seal(EnvelopeKeys({"evil": theirs}))
    with pytest.raises(UnknownKeyError, match="evil"):
        open_(EnvelopeKeys({"root": mine}), forged)
    assert mine.calls == []


def test_values_of_another_key_kind_are_told_apart() -> None:
    with pytest.raises(UnknownKeyError, match="AnyOf"):
        open_(EnvelopeKeys(FlakyRoot()), seal(Keyring.generate()))


# --- composition --------------------------------------------------------------------------------------------------


async def test_any_of_seals_with_the_first_and_opens_with_each() -> None:
    ring, root = Keyring.generate("2026-05"), FlakyRoot()
    keys = AnyOf(EnvelopeKeys(root), ring)
    old, new = seal(ring), seal(keys)
    assert parse(new)[0].reference.kind is KeyKind.WRAPPED_INLINE
    assert [open_(keys, value) for value in (old, new)] == [b"secret"] * 2
    cipher = AesGcm(keys)
    assert [await cipher.adecode(value, "msgpack1", place()) for value in (old, await cipher.aencode(b"x", "msgpack1", place()))] == [
        b"secret",
        b"x",
    ]
    with pytest.raises(UnknownKeyError, match="2026-11"):
        open_(keys, seal(Keyring.generate("2026-11")))


def test_any_of_passes_sizes_on() -> None:
    keys = AnyOf(EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_bytes=100)))
    assert len(set(_ids(keys, [60, 60]))) == 2


async def test_a_revoked_key_seals_nothing_and_opens_only_for_a_rotation_job() -> None:
    ring = Keyring({"new": b"n" * 32, "old": b"o" * 32}, active="new")
    old_ring = Keyring({"old": b"o" * 32}, active="old")
    sealed = seal(old_ring)
    revoking = Revoking(ring, {"old"})
    with pytest.raises(RevokedKeyError, match="old"):
        open_(revoking, sealed)
    with pytest.raises(RevokedKeyError):
        await AesGcm(revoking).adecode(sealed, "msgpack1", place())
    assert open_(revoking, seal(revoking)) == b"secret"
    assert open_(Revoking(ring, {"old"}, opens=True), sealed) == b"secret"
    for opens in (False, True):
        with pytest.raises(RevokedKeyError, match="seals nothing"):
            seal(Revoking(old_ring, {"old"}, opens=opens))
        with pytest.raises(RevokedKeyError, match="seals nothing"):
            await AesGcm(Revoking(old_ring, {"old"}, opens=opens)).aencode(b"", "", place())


def test_a_revoked_data_key_opens_nothing_although_it_is_cached() -> None:
    keys = EnvelopeKeys(FlakyRoot())
    sealed = seal(keys)
    with pytest.raises(RevokedKeyError):
        open_(Revoking(keys, [parse(sealed)[0].reference.key_id]), sealed)


# --- secrets ------------------------------------------------------------------------------------------------------


def test_the_header_of_one_root_is_short(transit_sized_root: FlakyRoot) -> None:
    header = parse(seal(EnvelopeKeys(transit_sized_root)))[0]
    assert len(header.marshal()) <= 320


@pytest.fixture
def transit_sized_root() -> FlakyRoot:
    class Aws(FlakyRoot):
        """Wrapped keys as long as those of AWS KMS for 32 bytes: about 184 bytes."""

        def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
            return super().wrap(key, context).ljust(184, b"\0")

    return Aws()


def test_keys_cannot_leave_the_process_or_be_printed() -> None:
    keys = EnvelopeKeys(FlakyRoot())
    seal(keys)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(keys)
    assert copy.copy(keys) is copy.deepcopy(keys) is keys
    assert repr(keys) == "EnvelopeKeys(Roots(root; active: root), mode='full')"


# --- forks --------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_child_made_by_fork_has_a_client_of_its_own(kms: Kms, kms_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", kms_endpoint)
    keys = KmsKeys(kms.new_key())
    sealed = seal(keys)

    def child(sending: Connection) -> None:
        keys.forget()
        sending.send(open_(keys, sealed) if mine() is not parents else b"shared")

    root = keys.roots._wrappers["root"]
    assert isinstance(root, KmsRoot)
    mine, parents = root._client.get, root._client.get()
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: what is tested
        process = context.Process(target=child, args=(sending,))
        process.start()
    assert receiving.poll(30)
    assert receiving.recv() == b"secret"
    process.join(10)


def test_the_data_key_that_sealed_last_is_given_for_no_other_scope_and_not_after_forget() -> None:
    keys = EnvelopeKeys(FlakyRoot())
    places = [place(scope=scope) for scope in ("", "s", "st", "t")]
    first = [keys.current(context)[0].key_id for context in places]
    assert len(set(first)) == len(places)
    for context, key_id in zip(places, first, strict=True):
        assert [keys.current(context)[0].key_id for _ in range(3)] == [key_id] * 3
    keys.forget()
    assert keys.current(places[-1])[0].key_id != first[-1]


def test_limits_are_exact_when_threads_seal_at_once() -> None:
    keys = EnvelopeKeys(FlakyRoot(), limits=DataKeyLimits(max_messages=100, max_bytes=950))
    with ThreadPoolExecutor(8) as pool:
        used = list(pool.map(lambda _: keys.current_sized(place(), 10)[0].key_id, range(950)))
    assert sorted(Counter(used).values()) == [95] * 10
