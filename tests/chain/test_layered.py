"""The composed serializer: what its tags mean, what it refuses before anything is parsed, and what plugs in."""

import asyncio
import copy
import enum
import multiprocessing
import os
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sealpoint import UNENCRYPTED, AesGcm, Context, JsonPlus, Keyring, LayeredSerializer, Zstd, sealed_serializer
from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    EnvelopeError,
    NoKeyError,
    NotSealedError,
    SealpointError,
    TagError,
    UnknownKeyError,
    WrongKeyError,
)
from sealpoint.serde import CipherLayer, LegacyReader

RING = Keyring.generate("now")
PLACE = Context.checkpoint("", "thread", "", "1")
STATE = {"messages": ["hello " * 200], "n": 7}


class Raw:
    """A base whose payload is the value itself, and which remembers what it was asked to parse."""

    def __init__(self, tag="raw"):
        self.tag = tag
        self.parsed = []

    def dumps_typed(self, obj):
        return self.tag, obj

    def loads_typed(self, data):
        self.parsed.append(data)
        return data[1]


class Reverse:
    """A user's own layer."""

    name = "rev"
    authenticates_tag = False
    may_skip = False

    def encode(self, data, tag, context):
        return data[::-1]

    def decode(self, data, tag, context):
        return data[::-1]


def test_the_tag_says_how_to_read_the_value():
    serde = sealed_serializer(RING)
    assert serde.dumps_typed(STATE)[0].endswith("+zstd+aesgcm")
    assert serde.dumps_typed(1)[0].endswith("+aesgcm")
    assert "zstd" not in serde.dumps_typed(1)[0]
    assert "zstd" not in sealed_serializer(RING, compression=None).dumps_typed(STATE)[0]
    assert serde.loads_typed(serde.dumps_typed(STATE)) == STATE


@pytest.mark.parametrize("value", [None, b"", b"bytes", "text", 0, [], STATE])
def test_no_value_escapes_the_cipher(value):
    serde = sealed_serializer(RING)
    tag, data = serde.dumps_typed(value)
    assert tag.endswith("+aesgcm")
    assert data.startswith(b"\xc1SLP")
    assert serde.loads_typed((tag, data)) == value


layers = st.lists(st.sampled_from(["zstd", "aesgcm", "aesgcm2", "rev", "cipher"]), max_size=5)
bases = st.sampled_from(["raw", "raw+x", "raw+zstd", "raw+aesgcm", "raw+zstd+rev", "raw+rev+zstd+zstd", "+", "zstd"])
payloads = st.one_of(st.binary(max_size=60), st.binary(min_size=1, max_size=8).map(lambda piece: piece * 200))
OTHER_RING = Keyring.generate("other")


def build(names):
    made = {
        "zstd": Zstd(),
        "aesgcm": AesGcm(RING),
        "aesgcm2": AesGcm(OTHER_RING),
        "rev": Reverse(),
        "cipher": CipherLayer(AesGcm(RING), name="aesgcm", authenticates=True),
    }
    return [made[name] for name in names]


@given(layers, bases, payloads)
def test_any_legal_chain_gives_back_what_it_was_given(names, base_tag, payload):
    chain = build(names)
    if any(layer.authenticates_tag for layer in chain) and not chain[-1].authenticates_tag:
        with pytest.raises(ConfigurationError, match="outside the cipher"):
            LayeredSerializer(Raw(base_tag), *chain)
        return
    base = Raw(base_tag)
    serde = LayeredSerializer(base, *chain)
    assert serde.open(*serde.seal(payload, PLACE), PLACE) == payload
    assert base.parsed == [(base_tag, payload)]
    assert serde.loads_typed(serde.dumps_typed(payload)) == payload
    assert serde.open_cell(serde.seal_cell(payload, PLACE), PLACE) == payload


def test_the_same_layer_twice_is_applied_twice():
    serde = LayeredSerializer(Raw(), Zstd(), Zstd(), AesGcm(RING), AesGcm(OTHER_RING))
    tag, data = serde.dumps_typed(b"a" * 5000)
    assert tag == "raw+zstd+zstd+aesgcm+aesgcm"
    assert serde.loads_typed((tag, data)) == b"a" * 5000


RELABELLED = {
    "another format": "pickle+zstd+aesgcm",
    "a layer dropped": "raw+aesgcm",
    "a layer added": "raw+zstd+zstd+aesgcm",
    "an unknown layer": "raw+lz4+aesgcm",
    "the cipher twice": "raw+zstd+aesgcm+aesgcm",
    "only the cipher": "aesgcm",
    "the cipher dropped": "raw+zstd",
    "plain": "raw",
    "out of order": "raw+aesgcm+zstd",
    "empty": "",
    "another cipher": "raw+zstd+aes",
    "case": "raw+zstd+AESGCM",
}


@pytest.mark.parametrize("tag", RELABELLED.values(), ids=RELABELLED.keys())
def test_a_relabelled_value_is_refused_before_anything_is_parsed(tag):
    base = Raw()
    serde = LayeredSerializer(base, Zstd(), AesGcm(RING))
    _, data = serde.dumps_typed(b"a" * 5000)
    with pytest.raises((AuthenticationError, NotSealedError, TagError)):
        serde.loads_typed((tag, data))
    assert base.parsed == []


def test_the_error_for_a_foreign_tag_names_the_missing_layer():
    serde = sealed_serializer(RING)
    with pytest.raises(NotSealedError, match=r"'aesgcm'.*migrate=True"):
        serde.loads_typed(("msgpack", b"\x80"))
    with pytest.raises(NotSealedError, match="'aesgcm'"):
        serde.loads_typed(("msgpack1+lz4", b"\x80"))
    inner = LayeredSerializer(Raw(), Reverse(), AesGcm(RING))
    with pytest.raises(TagError, match="'rev'"):
        inner.loads_typed(("raw+aesgcm", inner.dumps_typed(b"x")[1]))


@pytest.mark.parametrize("tag", ["msgpack", "json", "null", "bytes", "bytearray", "pickle", "msgpack+aes", "msgpack1", "msgpack1+zstd"])
def test_plaintext_where_a_sealed_value_belongs_is_refused(tag):
    with pytest.raises(NotSealedError):
        sealed_serializer(RING).loads_typed((tag, b"\x80"))
    with pytest.raises(EnvelopeError):
        sealed_serializer(RING).loads_typed((f"{tag}+aesgcm", b"\x80"))


def test_a_bare_value_and_a_bound_one_and_a_cell_are_three_things():
    serde = sealed_serializer(RING)
    bare, bound = serde.dumps_typed(STATE), serde.seal(STATE, PLACE)
    cell = serde.seal_cell(STATE, PLACE)
    assert serde.open_cell(cell, PLACE) == STATE
    for attempt in (
        lambda: serde.loads_typed(bound),
        lambda: serde.open(*bare, PLACE),
        lambda: serde.open(*bound, Context.checkpoint("", "thread", "", "2")),
        lambda: serde.open_cell(cell, Context.checkpoint("", "thread", "", "2")),
        lambda: serde.open_cell(bound[1], PLACE),
        lambda: serde.open(bound[0], cell, PLACE),
    ):
        with pytest.raises(AuthenticationError):
            attempt()


def test_a_scope_separates_applications_under_one_key():
    one, two = sealed_serializer(RING, scope="one"), sealed_serializer(RING, scope="two")
    with pytest.raises(AuthenticationError):
        two.loads_typed(one.dumps_typed(1))


@pytest.mark.parametrize("cell", [b"", b"\x00", b"\x05raw", b"\x02\xff\xfe..", b"\x03raw"])
def test_cells_that_do_not_start_with_a_whole_tag_are_refused(cell):
    serde = LayeredSerializer(Raw())
    if cell == b"\x03raw":
        assert serde.open_cell(cell, PLACE) == b""
    else:
        with pytest.raises(TagError):
            serde.open_cell(cell, PLACE)


def test_saver_types_of_bytes_are_taken_and_others_refused():
    serde = sealed_serializer(RING)
    tag, data = serde.dumps_typed(STATE)
    for held in (bytearray(data), memoryview(data)):
        assert serde.loads_typed((tag, held)) == STATE
    for odd in ("text", None, 7):
        with pytest.raises(NotSealedError, match=type(odd).__name__):
            serde.loads_typed((tag, odd))
    for odd in (None, 7, b"msgpack1+aesgcm"):
        with pytest.raises(NotSealedError, match=type(odd).__name__):
            serde.loads_typed((odd, data))


def test_it_is_a_jsonplus_serializer_by_class_and_hands_the_allow_list_down():
    serde = sealed_serializer(RING, allowed_types=[])
    assert isinstance(serde, JsonPlusSerializer)
    clone = serde.with_msgpack_allowlist([("some.module", "Thing")])
    assert type(clone) is LayeredSerializer
    assert clone._base is not serde._base
    tag, data = clone.dumps_typed(STATE)
    assert tag.endswith("+aesgcm")
    assert serde.loads_typed((tag, data)) == STATE


def test_a_base_without_an_allow_list_keeps_its_chain():
    serde = LayeredSerializer(Raw(), AesGcm(RING))
    assert serde.with_msgpack_allowlist([("m", "T")]) is serde


def test_a_trust_aware_base_hears_whether_the_payload_was_authenticated():
    heard = []

    class Trusting(Raw):
        def load(self, tag, data, *, authenticated):
            heard.append(authenticated)
            return data

    for chain in ((), (Zstd(),), (Zstd(), AesGcm(RING)), (CipherLayer(AesGcm(RING), name="aesgcm"),), (AesGcm(RING), AesGcm(RING))):
        serde = LayeredSerializer(Trusting(), *chain)
        serde.loads_typed(serde.dumps_typed(b"v" * 999))
        serde.open_cell(serde.seal_cell(b"v" * 999, PLACE), PLACE)
    assert heard == [False, False, False, False, True, True, False, False, True, True]


def test_misuse_is_refused_at_construction():
    for wrong, hint in (
        (lambda: LayeredSerializer(object()), "dumps_typed"),
        (lambda: LayeredSerializer(Raw(), object()), "is not a layer"),
        (lambda: LayeredSerializer(Raw(), EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16).cipher), "CipherLayer"),
        (lambda: LayeredSerializer(Raw(), AesGcm(RING), Zstd()), "outside the cipher"),
        (lambda: LayeredSerializer(Raw(), AesGcm(RING), legacy=LegacyReader()), "vouches"),
        (lambda: sealed_serializer(RING.current(PLACE)[1]), "Keyring"),
        (lambda: sealed_serializer("2026-11:AAAA"), "Keyring"),
        (lambda: sealed_serializer(Keyring), "Keyring"),
        (lambda: sealed_serializer(RING, scope=5), "scope"),
        (lambda: sealed_serializer(RING, on_event=5), "on_event"),
        (lambda: sealed_serializer(RING, compression="gzip"), "compression"),
        (lambda: sealed_serializer(RING, compression=Zstd), "compression"),
        (lambda: LayeredSerializer(Raw(), Zstd), "not a layer"),
    ):
        with pytest.raises(ConfigurationError, match=hint):
            wrong()

    class Odd(Reverse):
        name = "Has+Plus"

    with pytest.raises(ConfigurationError, match="name"):
        LayeredSerializer(Raw(), Odd())


def test_no_key_anywhere_fails_at_construction(monkeypatch):
    for variable in ("SEALPOINT_KEYS", "LANGGRAPH_AES_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(NoKeyError, match="keygen"):
        sealed_serializer()


def test_unencrypted_storage_is_only_had_by_name():
    serde = sealed_serializer(UNENCRYPTED)
    tag, data = serde.dumps_typed("visible")
    assert "aesgcm" not in tag
    assert b"visible" in data
    assert serde.loads_typed((tag, data)) == "visible"


@pytest.mark.parametrize("authenticates", [False, True])
def test_a_langgraph_cipher_plugs_in_and_binds_tag_and_place(authenticates):
    cipher = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32).cipher
    serde = LayeredSerializer(JsonPlus(), Zstd(), CipherLayer(cipher, name="aes", authenticates=authenticates))
    tag, data = serde.seal(STATE, PLACE)
    assert tag.endswith("+zstd+aes")
    assert serde.open(tag, data, PLACE) == STATE
    for wrong_tag, context in ((tag, Context.unbound()), (tag.replace("+zstd", ""), PLACE)):
        with pytest.raises(AuthenticationError):
            serde.open(wrong_tag, data, context)
    with pytest.raises(AuthenticationError):
        serde.open(tag, data[:-1], PLACE)
    with pytest.raises(ConfigurationError, match="'aes'"):
        LayeredSerializer(Raw(), CipherLayer(cipher, name="mine")).dumps_typed(b"")


def test_aesgcm_serves_as_a_cipher_inside_langgraphs_encrypted_serializer():
    serde = EncryptedSerializer(AesGcm(RING))
    tag, data = serde.dumps_typed(STATE)
    assert tag == "msgpack+aesgcm"
    assert serde.loads_typed((tag, data)) == STATE
    with pytest.raises(ConfigurationError, match="aes"):
        serde.loads_typed(("msgpack+aes", data))
    with pytest.raises(AuthenticationError):
        sealed_serializer(RING).loads_typed((tag, data))
    with pytest.raises(UnknownKeyError):
        EncryptedSerializer(AesGcm(OTHER_RING)).loads_typed((tag, data))


def test_stats_and_events_tell_what_happened_and_never_a_value():
    events = []
    serde = sealed_serializer(RING, on_event=events.append)
    tag, data = serde.dumps_typed("s3cret-value")
    serde.loads_typed((tag, data))
    for bad, error in (((tag, data[:-1]), AuthenticationError), (("msgpack", b"\x80"), NotSealedError), ((tag, b"junk"), EnvelopeError)):
        with pytest.raises(error):
            serde.loads_typed(bad)
    stranger = sealed_serializer(Keyring.generate("now"))
    with pytest.raises(WrongKeyError):
        stranger.loads_typed((tag, data))
    assert serde.stats() == {
        "seal": {"now": 1},
        "open": {"now": 1},
        "refuse": {"now: AuthenticationError": 1, "NotSealedError": 1, "EnvelopeError": 1},
        "legacy": {},
    }
    assert [event.action for event in events] == ["seal", "open", "refuse", "refuse", "refuse"]
    assert stranger.stats()["refuse"] == {"now: WrongKeyError": 1}
    assert "s3cret" not in repr(events)


def test_a_hook_that_raises_cannot_stop_an_agent(caplog):
    def broken(_event):
        raise RuntimeError("monitoring is down: s3cret")

    serde = sealed_serializer(RING, on_event=broken)
    assert serde.loads_typed(serde.dumps_typed(1)) == 1
    assert "RuntimeError" in caplog.text
    assert "s3cret" not in caplog.text


def test_counts_stay_bounded_under_hostile_key_ids():
    serde = sealed_serializer(RING)
    tag, data = serde.dumps_typed(1)
    for i in range(1500):
        with pytest.raises(UnknownKeyError):
            serde.loads_typed((tag, data[:7] + b"\x05" + b"%05d" % i + data[11:]))
    counted = serde.stats()["refuse"]
    assert len(counted) <= 1001
    assert sum(counted.values()) == 1500
    assert serde.loads_typed((tag, data)) == 1
    assert serde.stats()["open"] == {"now": 1}  # real ids are not crowded out


def test_what_is_compressed_opens_where_compression_is_off():
    off = sealed_serializer(RING, compression=None)
    assert off.loads_typed(sealed_serializer(RING).dumps_typed(STATE)) == STATE
    assert "zstd" not in off.dumps_typed(STATE)[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_not_held_up_by_a_lock_that_a_thread_of_its_parent_held():
    serde = sealed_serializer(RING)
    with serde._recorder._lock:
        child = multiprocessing.get_context("fork").Process(
            target=lambda: sys.exit(0 if serde.loads_typed(serde.dumps_typed(7)) == 7 else 1)
        )
        child.start()
        child.join(20)
        alive = child.is_alive()
        if alive:
            child.kill()
    assert not alive
    assert child.exitcode == 0


def test_an_id_that_equals_a_text_is_the_same_place():
    class Id(str, enum.Enum):  # noqa: UP042 - a StrEnum's str() is its text; this older way's is not
        A = "thread"

    assert Context.checkpoint("", Id.A, "", "1").encoded == PLACE.encoded


def test_a_copy_shares_the_keys_and_a_pickle_is_refused():
    serde = sealed_serializer(RING)
    assert copy.copy(serde).loads_typed(serde.dumps_typed(1)) == 1
    assert "now" not in repr(serde)


def test_32_threads_share_one_serializer():
    serde = sealed_serializer(RING)

    def work(seed):
        kind = seed % 3
        value = [{"t": "chat " * (seed * 50)}, {"r": secrets.token_bytes(seed * 3000)}, list(range(seed * 10))][kind]
        return all(serde.loads_typed(serde.dumps_typed(value)) == value for _ in range(12))

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(96)))
    assert serde.stats()["refuse"] == {}


class Slow(Keyring):
    """A key source whose key has to be waited for; blocking the loop for it would be a mistake."""

    async def acurrent(self, context):
        await asyncio.sleep(0)
        return super().current(context)

    def current(self, context):
        raise AssertionError("the loop was blocked")

    def resolve(self, reference, context):
        raise AssertionError("the loop was blocked")

    async def aresolve(self, reference, context):
        await asyncio.sleep(0)
        return super().resolve(reference, context)


@pytest.mark.parametrize("chain", [(), (Zstd(),), (Zstd(), AesGcm(RING)), (Zstd(), AesGcm(Slow({"k": b"k" * 32}, active="k")))])
async def test_the_async_twins_give_the_same(chain):
    serde = LayeredSerializer(JsonPlus(), *chain)
    tag, data = await serde.aseal(STATE, PLACE)
    assert await serde.aopen(tag, data, PLACE) == STATE
    assert serde.stats()["seal"] == serde.stats()["open"]
    if len(chain) == 2:
        with pytest.raises(AuthenticationError):
            await serde.aopen(tag, data, Context.unbound())
        with pytest.raises(NotSealedError):
            await serde.aopen("msgpack", b"\x80", PLACE)
        with pytest.raises(NotSealedError):
            await serde.aopen(tag, None, PLACE)
        assert sum(serde.stats()["refuse"].values()) == 3


async def test_migration_mode_works_async():
    serde = sealed_serializer(RING, migrate=True)
    assert await serde.aopen(*JsonPlusSerializer().dumps_typed(STATE), PLACE) == STATE
    assert serde.stats()["legacy"] == {"msgpack": 1}
    assert serde.stats()["open"] == {}


def test_every_error_is_of_one_root_and_branch():
    codes = {cls: cls.exit_code for cls in _subclasses(SealpointError)}
    assert set(codes.values()) == {2, 3, 4, 5, 6, 7}


def _subclasses(cls):
    return {sub for direct in cls.__subclasses__() for sub in {direct, *_subclasses(direct)}}
