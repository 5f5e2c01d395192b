"""What the package seals, a second implementation opens, and the other way round, at every size and place."""

from __future__ import annotations

import hashlib
import secrets

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealpoint import AesGcm, Context, Keyring
from sealpoint.ciphers import KeyKind, KeyReference, SecretKey, WrappedKey
from sealpoint.context import Form

from .vectors import fixtures
from .vectors import reference as ref
from .vectors.loading import FakeKeys, context_of

PLACES = [fixtures.UNBOUND, fixtures.CHECKPOINT, fixtures.CHANNEL, fixtures.DELTA, fixtures.WRITE]
SIZES = [0, 1, 16, 1000, 16383, 16384, 16385, 32767, 32768, 32769, 49152, 100_000, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1]


def sealed_by_package(plain: bytes, key_id: str, material: bytes, tag: str, context: Context) -> bytes:
    return AesGcm(Keyring({key_id: material}, active=key_id)).encode(plain, tag, context)


@pytest.mark.parametrize("size", SIZES)
def test_the_second_implementation_opens_what_the_package_seals_at_every_size(size: int) -> None:
    plain, material = secrets.token_bytes(size), secrets.token_bytes(32)
    envelope = sealed_by_package(plain, "2026-11", material, "msgpack1+zstd", context_of(fixtures.UNBOUND, 1))
    assert ref.open_(envelope, lambda _: material, 1, "msgpack1+zstd", ref.context(fixtures.UNBOUND)) == plain
    assert len(envelope) == 12 + 7 + 56 + size + 16 * (size // 16384 + 1)


@pytest.mark.parametrize("form", list(Form), ids=lambda form: form.name.lower())
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place["kind"])
def test_the_second_implementation_opens_what_the_package_seals_at_every_place(place: ref.Place, form: Form) -> None:
    shown = {**place, "version": {"str": place["version"]}} if "version" in place else place
    envelope = sealed_by_package(b"data", "k", fixtures.KEY, "t", context_of(shown, form))
    assert ref.open_(envelope, lambda _: fixtures.KEY, int(form), "t", ref.context(place)) == b"data"


IDS = st.text(st.characters(), max_size=20)


@given(
    plain=st.binary(max_size=300),
    key_id=st.from_regex(r"[A-Za-z0-9._-]{1,32}", fullmatch=True),
    tag=st.text(max_size=60),
    ids=st.tuples(IDS, IDS, IDS, IDS, IDS),
    version=st.integers() | st.floats() | IDS,
)
@settings(max_examples=200, deadline=None)
def test_both_implementations_seal_for_each_other(
    plain: bytes, key_id: str, tag: str, ids: tuple[str, str, str, str, str], version: float | str
) -> None:
    scope, thread, ns, channel, origin = ids
    context = Context.channel_value(scope, thread, ns, channel, version, origin)
    place: ref.Place = {
        "kind": "channel value",
        "scope": scope,
        "thread": thread,
        "ns": ns,
        "channel": channel,
        "version": version,
        "origin": origin,
    }
    assert ref.context(place) == context.encoded
    material = hashlib.sha256(plain).digest()
    envelope = sealed_by_package(plain, key_id, material, tag, context)
    assert ref.open_(envelope, lambda _: material, 3, tag, ref.context(place)) == plain
    header = ref.Header(ref.KEYRING, key_id, ref.check_value(material))
    theirs = ref.seal(header, material, 3, tag, ref.context(place), plain, secrets.token_bytes(24))
    assert AesGcm(Keyring({key_id: material}, active=key_id)).decode(theirs, tag, context) == plain
    assert len(theirs) == len(envelope)
    assert theirs != envelope


def test_a_data_key_under_two_roots_is_written_as_the_second_implementation_reads_it() -> None:
    wrapped = tuple(WrappedKey(root, blob) for root, blob in fixtures.KMS_HEADER.roots)

    class Kms(FakeKeys):
        def current(self, context: Context) -> tuple[KeyReference, SecretKey]:
            return KeyReference(KeyKind.WRAPPED_INLINE, "dk-1", wrapped), SecretKey(fixtures.DATA_KEY)

    envelope = AesGcm(Kms(fixtures.KMS)).encode(b"data", "t", Context.unbound())
    assert ref.parse(envelope)[0] == fixtures.KMS_HEADER
    assert ref.open_(envelope, fixtures.resolver(fixtures.KMS), 1, "t", ref.context(fixtures.UNBOUND)) == b"data"
