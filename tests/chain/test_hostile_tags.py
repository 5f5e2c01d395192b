"""What a hostile or broken tag column can do to a chain: be refused, by an error of ours that says what to do, and nothing else."""

from __future__ import annotations

import pytest

from sealpoint import UNENCRYPTED, AesGcm, Context, Event, Keyring, LayeredSerializer, Zstd, sealed_serializer
from sealpoint.errors import CompressionError, IntegrityError, NotSealedError, RetryableError, TagError
from sealpoint.serde import CipherLayer

RING = Keyring.generate("2026-11")
AES_KEY = b"0123456789abcdef"


@pytest.mark.parametrize("inner", ["\ud800", "m" * 256, "é" * 128], ids=["lone surrogate", "256 bytes", "256 bytes of UTF-8"])
def test_an_impossible_inner_tag_is_an_integrity_error(inner: str) -> None:
    serde = sealed_serializer(RING)
    _, sealed = serde.dumps_typed({"a": 1})
    with pytest.raises(TagError):
        serde.loads_typed((f"{inner}+aesgcm", sealed))


@pytest.mark.parametrize("inner", ["\ud800", "m" * 70_000], ids=["lone surrogate", "70,000 bytes"])
def test_an_impossible_inner_tag_is_an_integrity_error_for_a_foreign_cipher_too(inner: str) -> None:
    layer = CipherLayer(AesGcm(RING), name="aesgcm", authenticates=True)
    sealed = layer.encode(b"data", "msgpack1", Context.unbound())
    with pytest.raises(TagError):
        layer.decode(sealed, inner, Context.unbound())


@pytest.mark.parametrize("tag", [None, 7, b"msgpack1+aesgcm"])
def test_a_tag_that_is_no_text_is_refused_and_counted(tag: object) -> None:
    serde = sealed_serializer(RING)
    _, sealed = serde.dumps_typed({"a": 1})
    with pytest.raises(NotSealedError, match=type(tag).__name__):
        serde.loads_typed((tag, sealed))  # type: ignore[arg-type]  # a NULL type column is what is being tested
    assert serde.stats()["refuse"] == {"2026-11: NotSealedError": 1}


def test_a_refusal_after_decryption_is_counted_under_the_key_id_of_the_header_and_never_looks_into_the_plaintext() -> None:
    events: list[Event] = []
    base = LayeredSerializer(_RawBytes(), AesGcm(RING), on_event=events.append)
    chain = LayeredSerializer(_RawBytes(), Zstd(), AesGcm(RING), on_event=events.append)
    # A plaintext that looks like a header of ours, and is not a zstd frame.
    plain = b"\xc1SLP\x01\x01\x01\x0fa-secret-inside" + bytes(4)
    sealed = AesGcm(RING).encode(plain, "raw+zstd", Context.unbound())
    assert base.dumps_typed(b"x")[0] == "raw+aesgcm"
    with pytest.raises(CompressionError):
        chain.loads_typed(("raw+zstd+aesgcm", sealed))
    assert events[-1] == Event("refuse", "2026-11", "CompressionError")


@pytest.mark.parametrize("compression", ["zstd", None])
def test_migration_mode_opens_langgraphs_encrypted_cells_when_new_values_are_not_encrypted(
    compression: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    old = EncryptedSerializer.from_pycryptodome_aes(key=AES_KEY).dumps_typed({"x": 1})
    monkeypatch.setenv("LANGGRAPH_AES_KEY", AES_KEY.decode())
    serde = sealed_serializer(UNENCRYPTED, compression=compression, migrate=True)
    assert serde.loads_typed(old) == {"x": 1}
    assert serde.stats()["legacy"] == {"msgpack+aes": 1}
    assert serde.loads_typed(serde.dumps_typed({"y": 2})) == {"y": 2}
    with pytest.raises(IntegrityError):
        sealed_serializer(UNENCRYPTED, compression=compression).loads_typed(old)


def test_migration_mode_refuses_a_pickle_without_suggesting_that_a_switch_opens_it() -> None:
    with pytest.raises(NotSealedError) as caught:
        sealed_serializer(RING).loads_typed(("pickle", b"\x80\x04N."))
    assert "migrate=True" not in str(caught.value)
    with pytest.raises(NotSealedError, match="offline"):
        sealed_serializer(RING, migrate=True).loads_typed(("pickle", b"\x80\x04N."))


def test_a_foreign_ciphers_own_errors_keep_their_branch() -> None:
    layer = CipherLayer(_Offline(), name="kms")
    with pytest.raises(RetryableError):
        layer.decode(b"anything", "msgpack1", Context.unbound())


def test_a_cell_relabelled_as_a_value_without_a_format_is_refused_before_the_base_sees_it() -> None:
    chain = LayeredSerializer(_RawBytes(), AesGcm(RING))
    with pytest.raises(TagError):
        chain.loads_typed(("+aesgcm", chain.seal_cell(b"data", Context.unbound())))


def test_a_cell_whose_tag_leaves_out_a_cipher_is_refused_although_the_cipher_does_not_authenticate() -> None:
    chain = LayeredSerializer(_RawBytes(), CipherLayer(AesGcm(RING), name="aesgcm"))
    assert chain.open_cell(chain.seal_cell(b"data", Context.unbound()), Context.unbound()) == b"data"
    with pytest.raises(TagError, match="aesgcm"):
        chain.open_cell(b"\x03rawplaintext", Context.unbound())


class _RawBytes:
    def dumps_typed(self, obj: bytes) -> tuple[str, bytes]:
        return "raw", obj

    def loads_typed(self, data: tuple[str, bytes]) -> bytes:
        return data[1]


class _Offline:
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "kms", plaintext

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        raise RetryableError("the key service does not answer")
