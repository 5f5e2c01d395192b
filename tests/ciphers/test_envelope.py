"""What an envelope refuses: every changed, missing, added or moved byte, by the documented error."""

import contextlib
import copy
import pickle
import secrets
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealpoint import Context, Keyring
from sealpoint.ciphers import AesGcm, Header, KeyKind, KeyReference, SecretKey, WrappedKey, body, parse
from sealpoint.context import Form, Kind
from sealpoint.errors import (
    AuthenticationError,
    ConfigurationError,
    EnvelopeError,
    IntegrityError,
    KeyAccessError,
    KeyFormatError,
    UnknownKeyError,
    WrongKeyError,
)

KEY = secrets.token_bytes(32)
RING = Keyring({"2026-11": KEY}, active="2026-11")
CIPHER = AesGcm(RING)
PLACE = Context.channel_value("app", "thread", "ns", "messages", 3, "origin")
SIZES = [
    0,
    1,
    100,
    body.CHUNK - 1,
    body.CHUNK,
    body.CHUNK + 1,
    2 * body.CHUNK,
    131_071,
    131_072,
    9 * body.CHUNK,
    body.SLICE,
    body.SLICE + 1,
]


@pytest.mark.parametrize("size", SIZES)
def test_what_is_sealed_opens(size):
    data = secrets.token_bytes(size)
    sealed = CIPHER.encode(data, "msgpack1", PLACE)
    assert type(sealed) is bytes
    opened = CIPHER.decode(sealed, "msgpack1", PLACE)
    assert type(opened) is bytes
    assert opened == data
    _, at = parse(sealed)
    assert len(sealed) == at + body.sealed_length(size)
    assert body.plain_length(len(sealed) - at) == size


def test_two_seals_of_one_value_share_nothing_but_the_header():
    first, second = (CIPHER.encode(b"value", "t", PLACE) for _ in range(2))
    _, at = parse(first)
    assert first[:at] == second[:at]
    assert first[at : at + 24] != second[at : at + 24]


def test_every_flipped_bit_is_refused():
    sealed = CIPHER.encode(b"attack at dawn" * 3, "msgpack1", PLACE)
    for position in range(len(sealed)):
        for bit in range(8):
            changed = bytearray(sealed)
            changed[position] ^= 1 << bit
            with pytest.raises((IntegrityError, KeyAccessError)):
                CIPHER.decode(bytes(changed), "msgpack1", PLACE)


@pytest.mark.parametrize("size", [0, 33, body.CHUNK, body.CHUNK + 40])
def test_every_truncation_and_extension_is_refused(size):
    sealed = CIPHER.encode(bytes(size), "msgpack1", PLACE)
    ends = range(len(sealed)) if size < 100 else [*range(130), *range(len(sealed) - 80, len(sealed))]
    for end in ends:
        with pytest.raises((EnvelopeError, AuthenticationError)):
            CIPHER.decode(sealed[:end], "msgpack1", PLACE)
    for extra in (b"\x00", b"\xff" * 16, bytes(body.CHUNK + 16), sealed):
        with pytest.raises(AuthenticationError):
            CIPHER.decode(sealed + extra, "msgpack1", PLACE)


def test_chunks_cannot_be_reordered_dropped_or_repeated():
    sealed = CIPHER.encode(secrets.token_bytes(4 * body.CHUNK + 5), "t", PLACE)
    _, at = parse(sealed)
    step = body.CHUNK + body.TAG
    head, rest = sealed[: at + body.PREFIX], sealed[at + body.PREFIX :]
    chunks = [rest[i : i + step] for i in range(0, len(rest), step)]
    for order in ([1, 0, 2, 3, 4], [0, 1, 2, 4], [0, 1, 1, 2, 3, 4], [4], [0, 1, 2, 3]):
        with pytest.raises(AuthenticationError):
            CIPHER.decode(head + b"".join(chunks[i] for i in order), "t", PLACE)


def test_headers_cannot_be_swapped_between_values():
    other_ring = Keyring({"other": secrets.token_bytes(32), "2026-11": KEY}, active="other")
    ours = CIPHER.encode(b"ours", "t", PLACE)
    theirs = AesGcm(other_ring).encode(b"theirs", "t", PLACE)
    (_, at), (_, other_at) = parse(ours), parse(theirs)
    both = AesGcm(other_ring)
    for mixed in (theirs[:other_at] + ours[at:], ours[:at] + theirs[other_at:]):
        with pytest.raises(AuthenticationError):
            both.decode(mixed, "t", PLACE)


def test_header_fields_cannot_be_swapped_between_values():
    second = secrets.token_bytes(32)
    ring = Keyring({"aaaa": KEY, "bbbb": second}, active="aaaa")
    first = AesGcm(ring).encode(b"1", "t", PLACE)
    header, at = parse(first)
    other, _ = parse(AesGcm(Keyring({"bbbb": second}, active="bbbb")).encode(b"2", "t", PLACE))
    renamed = Header(KeyReference(KeyKind.KEYRING, "bbbb"), header.check)
    recheck = Header(header.reference, other.check)
    restored = Header(KeyReference(KeyKind.KEY_STORE, "aaaa"), header.check)
    with pytest.raises(WrongKeyError):
        AesGcm(ring).decode(renamed.marshal() + first[at:], "t", PLACE)
    with pytest.raises(WrongKeyError):
        AesGcm(ring).decode(recheck.marshal() + first[at:], "t", PLACE)
    with pytest.raises(AuthenticationError):
        AesGcm(ring).decode(other.marshal() + first[at:], "t", PLACE)
    with pytest.raises(UnknownKeyError):
        AesGcm(ring).decode(restored.marshal() + first[at:], "t", PLACE)


PLACES = [
    PLACE,
    Context.channel_value("app2", "thread", "ns", "messages", 3, "origin"),
    Context.channel_value("app", "thread2", "ns", "messages", 3, "origin"),
    Context.channel_value("app", "thread", "ns2", "messages", 3, "origin"),
    Context.channel_value("app", "thread", "ns", "message", 3, "origin"),
    Context.channel_value("app", "thread", "ns", "messages", 4, "origin"),
    Context.channel_value("app", "thread", "ns", "messages", 3.0, "origin"),
    Context.channel_value("app", "thread", "ns", "messages", "3", "origin"),
    Context.channel_value("app", "thread", "ns", "messages", 3, "origin2"),
    Context.channel_value("app", "thread", "ns", "messages", 3, "origin", form=Form.OBJECT),
    Context.channel_value("appt", "hread", "ns", "messages", 3, "origin"),
    Context.channel_value("app", "threadn", "s", "messages", 3, "origin"),
    Context.delta_snapshot("app", "thread", "ns", "messages", 3, "origin"),
    Context.checkpoint("app", "thread", "ns", "origin"),
    Context.checkpoint("app", "thread", "ns", "messages"),
    Context.write("app", "thread", "ns", "origin", "task", "messages"),
    Context.write("app", "thread", "ns", "origin", "task2", "messages"),
    Context.write("app", "thread", "ns", "origin", "task", "message"),
    Context.write("app", "thread", "ns", "origin2", "task", "messages"),
    Context.unbound("app"),
    Context.unbound(""),
    Context.unbound("app", form=Form.CIPHER),
]


def test_no_place_opens_what_was_sealed_for_another():
    sealed = [CIPHER.encode(b"value", "t", place) for place in PLACES]
    for i, place in enumerate(PLACES):
        for j, value in enumerate(sealed):
            if i == j:
                assert CIPHER.decode(value, "t", place) == b"value"
            else:
                with pytest.raises(AuthenticationError):
                    CIPHER.decode(value, "t", place)


def test_all_places_encode_differently():
    assert len({(place.form, place.encoded) for place in PLACES}) == len(PLACES)


def test_a_relabelled_tag_is_refused():
    sealed = CIPHER.encode(b"value", "bytes", PLACE)
    for tag in ("pickle", "byte", "bytes+", "bytes+zstd", "", "Bytes"):
        with pytest.raises(AuthenticationError):
            CIPHER.decode(sealed, tag, PLACE)


def test_errors_tell_an_unknown_id_from_a_wrong_key_from_damage():
    sealed = CIPHER.encode(b"value", "t", PLACE)
    with pytest.raises(UnknownKeyError, match="2026-11"):
        AesGcm(Keyring.generate("other")).decode(sealed, "t", PLACE)
    with pytest.raises(WrongKeyError, match="2026-11"):
        AesGcm(Keyring.generate("2026-11")).decode(sealed, "t", PLACE)
    with pytest.raises(AuthenticationError, match="2026-11"):
        CIPHER.decode(sealed[:-1] + bytes((sealed[-1] ^ 1,)), "t", PLACE)


def test_a_small_value_costs_at_most_120_bytes_under_the_longest_key_id():
    ring = Keyring({"k" * 32: KEY}, active="k" * 32)
    assert len(AesGcm(ring).encode(b"x", "msgpack1+zstd", PLACE)) - 1 <= 120


def test_an_old_key_opens_while_the_new_one_seals():
    old = CIPHER.encode(b"old", "t", PLACE)
    rotated = AesGcm(Keyring({"2026-12": secrets.token_bytes(32), "2026-11": KEY}, active="2026-12"))
    assert rotated.decode(old, "t", PLACE) == b"old"
    assert rotated.key_id(rotated.encode(b"new", "t", PLACE)) == "2026-12"
    assert rotated.key_id(old) == "2026-11"
    assert rotated.key_id(b"plaintext") == ""


names = st.text("ABCXYZabcxyz0189._-", min_size=1, max_size=32)
wrapped = st.lists(
    st.builds(WrappedKey, names, st.binary(min_size=1, max_size=300)), min_size=1, max_size=8, unique_by=lambda entry: entry.root
)
references = st.one_of(
    st.builds(KeyReference, st.sampled_from([KeyKind.KEYRING, KeyKind.KEY_STORE]), names),
    st.builds(lambda name, keys: KeyReference(KeyKind.WRAPPED_INLINE, name, tuple(keys)), names, wrapped),
)
headers = st.builds(Header, references, st.binary(min_size=4, max_size=4))


@given(headers, st.binary(max_size=40))
def test_parse_undoes_marshal(header, rest):
    assert parse(header.marshal() + rest) == (header, len(header.marshal()))


@given(headers, st.data())
def test_marshal_undoes_parse_of_whatever_parses(header, data):
    raw = bytearray(header.marshal())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        parsed, at = parse(bytes(raw))
    except EnvelopeError:
        return
    assert parsed.marshal() == raw[:at]


@given(st.binary(max_size=200))
def test_hostile_headers_only_ever_raise_envelope_errors(data):
    for candidate in (data, b"\xc1SLP" + data, b"\xc1SLP\x01\x01" + data):
        with contextlib.suppress(EnvelopeError):
            assert parse(candidate)[1] <= len(candidate)


def test_headers_refuse_what_they_could_not_parse():
    with pytest.raises(KeyFormatError):
        KeyReference(KeyKind.KEYRING, "bad id")
    with pytest.raises(KeyFormatError):
        KeyReference(KeyKind.WRAPPED_INLINE, "a")
    with pytest.raises(KeyFormatError):
        KeyReference(KeyKind.KEYRING, "a", (WrappedKey("r", b"w"),))
    with pytest.raises(KeyFormatError):
        KeyReference(KeyKind.WRAPPED_INLINE, "a", (WrappedKey("r", b"w"), WrappedKey("r", b"v")))
    with pytest.raises(KeyFormatError):
        KeyReference(KeyKind.WRAPPED_INLINE, "a", tuple(WrappedKey(f"r{i}", b"w") for i in range(9)))
    with pytest.raises(KeyFormatError):
        WrappedKey("r", bytes(6145))


def test_a_future_version_fails_closed_and_says_so():
    sealed = bytearray(CIPHER.encode(b"v", "t", PLACE))
    sealed[4] = 2
    with pytest.raises(EnvelopeError, match="version 2"):
        CIPHER.decode(bytes(sealed), "t", PLACE)


def test_secrets_stay_inside():
    key = SecretKey(KEY)
    for shown in (repr(key), str(key), repr(RING), repr(CIPHER), f"{RING}"):
        assert KEY.hex() not in shown
        assert repr(KEY)[2:-1] not in shown
    for held in (key, RING):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(held)
        assert copy.deepcopy(held) is held
    with pytest.raises(KeyFormatError) as caught:
        SecretKey(KEY[:31])
    assert "31" in str(caught.value)
    assert KEY[:31].hex() not in str(caught.value)


def test_a_key_used_for_another_purpose_is_another_key():
    key = SecretKey(KEY)
    assert key.reveal_seal_key() not in (KEY, key.derive(b"sealpoint/v1/wrap"))
    with pytest.raises(KeyFormatError):
        key.derive(b"sealpoint/v1/seal")


def test_raw_bytes_are_not_a_key_source():
    with pytest.raises(ConfigurationError, match="Keyring") as caught:
        AesGcm(KEY)
    assert KEY.hex() not in str(caught.value)


def test_a_context_refuses_a_version_it_cannot_bind():
    with pytest.raises(ConfigurationError, match="version"):
        Context.channel_value("", "t", "", "c", True, "o")
    with pytest.raises(ConfigurationError, match="8192 bits"):
        Context.channel_value("", "t", "", "c", 1 << 20_000, "o")
    assert Context.channel_value("", "t", "", "c", -(1 << 8191), "o").encoded
    assert Context.checkpoint("", 7, None, "id").encoded == Context.checkpoint("", "7", "", "id").encoded


def test_a_context_takes_any_id_and_shows_no_value():
    odd = Context.write("s", "\ud800", "", "c", "t", "ch")
    assert odd.kind is Kind.WRITE
    assert "ch" not in repr(odd)
    assert CIPHER.decode(CIPHER.encode(b"x", "t", odd), "t", odd) == b"x"


def test_32_threads_share_one_cipher():
    def work(seed):
        data = secrets.token_bytes([7, 900, 70_000, 1_000_000][seed % 4])
        place = Context.checkpoint("", str(seed), "", "c")
        return all(CIPHER.decode(CIPHER.encode(data, "t", place), "t", place) == data for _ in range(8))

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(work, range(64)))


@pytest.mark.parametrize("size", [3 * body.SLICE + 17])
def test_large_values_reach_the_cipher_in_slices(monkeypatch, size):
    """`update_into` holds the GIL while it runs, so no call may be given more than one slice."""
    fed = []

    class Spy:
        def __init__(self, key, context):
            self._real = self.real(key, context)

        def update_into(self, data, out):
            fed.append(len(data))
            return self._real.update_into(data, out)

        def finalize(self):
            return self._real.finalize()

    for name in ("Cobblestone256Encryptor", "Cobblestone256Decryptor"):
        monkeypatch.setattr(body, name, type(name, (Spy,), {"real": getattr(body, name)}))
    data = bytes(size)
    assert CIPHER.decode(CIPHER.encode(data, "t", PLACE), "t", PLACE) == data
    assert max(fed) <= body.SLICE
    assert sum(fed) > 2 * size


async def test_the_async_twins_give_the_same():
    for size in (10, 1_000_000):
        data = secrets.token_bytes(size)
        sealed = await CIPHER.aencode(data, "t", PLACE)
        assert CIPHER.decode(sealed, "t", PLACE) == await CIPHER.adecode(sealed, "t", PLACE) == data
    with pytest.raises(AuthenticationError):
        await CIPHER.adecode(sealed, "u", PLACE)


def test_sealed_lengths_invert():
    lengths = [body.sealed_length(n) for n in range(3 * body.CHUNK)]
    assert all(a < b for a, b in pairwise(lengths))
    assert [body.plain_length(n) for n in lengths] == list(range(3 * body.CHUNK))
    legal = set(lengths)
    for impossible in set(range(lengths[-1])) - legal:
        with pytest.raises(AuthenticationError):
            body.plain_length(impossible)
