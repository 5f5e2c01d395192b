"""Legacy vectors: cells in the formats of LangGraph's serializers, plain and encrypted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from Crypto.Cipher import AES

from . import reference as ref

PAYLOADS = {"null": b"", "bytes": b"\x00\xffraw", "bytearray": b"\x00\xffraw", "json": b'{"a": 1}', "msgpack": bytes.fromhex("81a16101")}
TYPED = {length: ref.stream("typed", length) for length in (16, 24, 32)}


def legacy() -> Iterator[dict[str, Any]]:
    """Plain cells, cells in EAX and GCM, and what must be refused."""
    for tag, payload in PAYLOADS.items():
        yield _old(f"opens: plain {tag}", tag, payload, tag, payload)
        for mode in ("EAX", "GCM"):
            yield _old(f"opens: {tag} in {mode}", f"{tag}+aes", _aes(mode, payload, f"{tag}{mode}"), tag, payload)
    for length in (16, 24):
        sealed = _aes("EAX", b"x", f"aes{length}", length)
        yield _old(f"opens: a key of {length} bytes", "bytes+aes", sealed, "bytes", b"x", aes_keys=[TYPED[length].hex()])
    sealed = _aes("GCM", b"x", "second")
    yield _old("opens: the second of two keys", "bytes+aes", sealed, "bytes", b"x", aes_keys=[TYPED[16].hex(), TYPED[32].hex()])
    relabelled = _aes("EAX", PAYLOADS["msgpack"], "relabelled")
    yield _old(
        "opens, for these cells are not authenticated: bytes relabelled msgpack", "msgpack+aes", relabelled, "msgpack", PAYLOADS["msgpack"]
    )
    for mode in ("EAX", "GCM"):
        yield from _bad_cells(mode)
    yield _refused("a pickle", "pickle", b"\x80\x04N.", "NotSealedError")
    yield _refused("a pickle, encrypted", "pickle+aes", _aes("EAX", b"\x80\x04N.", "pickle"), "NotSealedError")
    for tag in ("", "foo", "foo+aes", "msgpack+aes+aes", "msgpack+AES", "+aes", "msgpack+des"):
        yield _refused(f"the tag {tag!r}", tag, _aes("EAX", b"x", "tag"), "TagError")
    yield _refused("no key of LangGraph's", "msgpack+aes", sealed, "NoKeyError", aes_keys=[])


def _bad_cells(mode: str) -> Iterator[dict[str, Any]]:
    sealed = _aes(mode, PAYLOADS["msgpack"], f"bad {mode}")
    for name, at in [("nonce", 0), ("tag", 16), ("last byte of the tag", 31), ("ciphertext", 32)]:
        changed = sealed[:at] + bytes((sealed[at] ^ 1,)) + sealed[at + 1 :]
        yield _refused(f"{mode}, {name} changed", "msgpack+aes", changed, "AuthenticationError")
    for length in (0, 15, 16, 31, 32, len(sealed) - 1):
        yield _refused(f"{mode}, cut to {length} bytes", "msgpack+aes", sealed[:length], "AuthenticationError")
    yield _refused(f"{mode}, one byte behind it", "msgpack+aes", sealed + b"\0", "AuthenticationError")
    yield _refused(f"{mode}, another key", "msgpack+aes", sealed, "AuthenticationError", aes_keys=[TYPED[16].hex()])


def _aes(mode: str, payload: bytes, name: str, length: int = 32) -> bytes:
    nonce = ref.stream(f"nonce/{name}", 16)
    cipher = AES.new(TYPED[length], AES.MODE_EAX if mode == "EAX" else AES.MODE_GCM, nonce=nonce)
    sealed, mac = cipher.encrypt_and_digest(payload)
    return nonce + mac + sealed


def _old(name: str, tag: str, data: bytes, inner: str, payload: bytes, aes_keys: list[str] | None = None) -> dict[str, Any]:
    held = [TYPED[32].hex()] if aes_keys is None else aes_keys
    return {"name": name, "tag": tag, "data": data.hex(), "aes_keys": held, "expect": {"tag": inner, "payload": payload.hex()}}


def _refused(name: str, tag: str, data: bytes, error: str, aes_keys: list[str] | None = None) -> dict[str, Any]:
    held = [TYPED[32].hex()] if aes_keys is None else aes_keys
    return {"name": name, "tag": tag, "data": data.hex(), "aes_keys": held, "expect": {"error": error}}
