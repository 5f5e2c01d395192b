"""A second implementation of envelope v1, written from docs/spec/envelope-v1.md; it does not import the package and is not fast.

AES comes from pycryptodome, HKDF from `hmac`; the salt is an argument, so sealing is deterministic here. `RefusedError.error` is
the name of the class that the specification gives to the refusal.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from Crypto.Cipher import AES

MAGIC = bytes.fromhex("c1534c50")
CHUNK = 16384
KEYRING, WRAPPED, STORED = 1, 2, 3
FORMS = {"serializer": 1, "cipher": 2, "wrapped saver": 3, "object": 4, "key wrap": 5}
KINDS = {"unbound": 0, "checkpoint": 1, "channel value": 2, "delta snapshot": 3, "write": 4}
FIELDS: dict[str, tuple[str, ...]] = {
    "unbound": (),
    "checkpoint": ("thread", "ns", "checkpoint"),
    "channel value": ("thread", "ns", "channel", "version", "origin"),
    "delta snapshot": ("thread", "ns", "channel", "version", "origin"),
    "write": ("thread", "ns", "checkpoint", "task", "channel"),
}
Place = dict[str, int | float | str]

_NAME = re.compile(rb"[A-Za-z0-9._-]{1,32}")


class RefusedError(Exception):
    """The value does not open; `error` names the class that the specification asks for."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


# --- keys -----------------------------------------------------------------------------------------------------------


def hkdf_expand(prk: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand with SHA-512 (RFC 5869, 2.3)."""
    out = block = b""
    for counter in range(1, -(-length // 64) + 1):
        block = hmac.digest(prk, block + info + bytes((counter,)), "sha512")
        out += block
    return out[:length]


def subkey(material: bytes, label: str, length: int = 32) -> bytes:
    """HKDF with SHA-512, an empty salt and the label as info."""
    return hkdf_expand(hmac.digest(bytes(64), material, "sha512"), label.encode(), length)


def seal_key(material: bytes) -> bytes:
    """The key that bodies are sealed under."""
    return subkey(material, "sealpoint/v1/seal")


def check_value(material: bytes) -> bytes:
    """The 4 bytes that a header carries."""
    return subkey(material, "sealpoint/v1/check", 4)


def stretched(typed: bytes) -> bytes:
    """The key material of a typed LANGGRAPH_AES_KEY."""
    label = b"sealpoint/v1/langgraph-aes-key"
    return hashlib.scrypt(typed, salt=label, n=2**15, r=8, p=1, maxmem=64 * 1024 * 1024, dklen=32)


# --- context --------------------------------------------------------------------------------------------------------


def text(value: str) -> bytes:
    """UTF-8; a lone surrogate becomes the three bytes that UTF-8 would give its number."""
    return value.encode("utf-8", "surrogatepass")


def version(value: float | str) -> bytes:
    """A letter, then the value."""
    if isinstance(value, str):
        return b"s" + text(value)
    if isinstance(value, float):
        return b"f" + struct.pack(">d", value)
    return b"i%d" % value


def context(place: Place) -> bytes:
    """Canonical bytes of a place, given by field name."""
    kind = str(place["kind"])
    fields = [text(str(place["scope"])), bytes((KINDS[kind],))]
    for name in FIELDS[kind]:
        value = place[name]
        fields.append(version(value) if name == "version" else text(str(value)))
    return b"".join(struct.pack(">I", len(field)) + field for field in fields)


# --- header ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """A header: `roots` holds (root, wrapped key) pairs for kind 2."""

    kind: int
    key_id: str
    check: bytes
    roots: tuple[tuple[str, bytes], ...] = ()

    def core(self) -> bytes:
        """What the body authenticates."""
        return MAGIC + bytes((1, 1, self.kind, len(self.key_id))) + self.key_id.encode() + self.check

    def block(self) -> bytes:
        """What may be rewritten without touching the body."""
        entries = [bytes((len(root),)) + root.encode() + struct.pack(">H", len(wrapped)) + wrapped for root, wrapped in self.roots]
        return bytes((len(entries),)) + b"".join(entries) if self.kind == WRAPPED else b""


def parse(envelope: bytes) -> tuple[Header, bytes]:
    """The header, and the body behind it."""
    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        at += count
        if at > len(envelope):
            raise RefusedError("EnvelopeError")
        return envelope[at - count : at]

    def name() -> str:
        found = take(take(1)[0])
        if not _NAME.fullmatch(found):
            raise RefusedError("EnvelopeError")
        return found.decode()

    if take(4) != MAGIC or take(1) != b"\1" or take(1) != b"\1":
        raise RefusedError("EnvelopeError")
    kind = take(1)[0]
    if kind not in (KEYRING, WRAPPED, STORED):
        raise RefusedError("EnvelopeError")
    key_id, check = name(), take(4)
    roots: dict[str, bytes] = {}
    if kind == WRAPPED:
        count = take(1)[0]
        for _ in range(count):
            root, (length,) = name(), struct.unpack(">H", take(2))
            if root in roots or not 1 <= length <= 6144:
                raise RefusedError("EnvelopeError")
            roots[root] = take(length)
        if not 1 <= count <= 8:
            raise RefusedError("EnvelopeError")
    return Header(kind, key_id, check, tuple(roots.items())), envelope[at:]


# --- body: Cobblestone-256 ------------------------------------------------------------------------------------------


def _derived(key: bytes, salt: bytes, bound: bytes) -> tuple[bytes, bytes, bytes]:
    info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_256_GCM\0" + salt + bound
    out = hkdf_expand(key, info, 32 + 12 + 32)
    return out[:32], out[32:44], out[44:]


def _aes(key: bytes, base_nonce: bytes, number: int) -> AES.GcmMode:  # type: ignore[name-defined]  # pycryptodome's stubs do not name it
    nonce = int.from_bytes(base_nonce, "big") ^ number
    return AES.new(key, AES.MODE_GCM, nonce=nonce.to_bytes(12, "big"), mac_len=16)


def seal_body(key: bytes, bound: bytes, plain: bytes, salt: bytes) -> bytes:
    """Salt, commitment and chunks."""
    aead_key, base_nonce, commitment = _derived(key, salt, bound)
    out = [salt, commitment]
    for number in range(len(plain) // CHUNK + 1):
        out += _aes(aead_key, base_nonce, number).encrypt_and_digest(plain[number * CHUNK : (number + 1) * CHUNK])
    return b"".join(out)


def open_body(key: bytes, bound: bytes, body: bytes) -> bytes:
    """The message, whole, or a refusal."""
    if len(body) < 56 + 16:
        raise RefusedError("AuthenticationError")
    aead_key, base_nonce, commitment = _derived(key, body[:24], bound)
    if not hmac.compare_digest(commitment, body[24:56]):
        raise RefusedError("AuthenticationError")
    out = []
    for number, at in enumerate(range(56, len(body) + 1, CHUNK + 16)):
        chunk = body[at : at + CHUNK + 16]
        try:
            out.append(_aes(aead_key, base_nonce, number).decrypt_and_verify(chunk[:-16], chunk[-16:]))
        except ValueError:
            raise RefusedError("AuthenticationError") from None
    if len(out[-1]) == CHUNK:
        raise RefusedError("AuthenticationError")
    return b"".join(out)


# --- the whole ------------------------------------------------------------------------------------------------------


def bind(form: int, core: bytes, tag: str, place: bytes) -> bytes:
    """The application context of a body."""
    return (
        bytes((form,))
        + struct.pack(">H", len(core))
        + core
        + struct.pack(">H", len(tag.encode()))
        + tag.encode()
        + struct.pack(">I", len(place))
        + place
    )


def seal(header: Header, material: bytes, form: int, tag: str, place: bytes, plain: bytes, salt: bytes) -> bytes:
    """An envelope."""
    bound = bind(form, header.core(), tag, place)
    return header.core() + header.block() + seal_body(seal_key(material), bound, plain, salt)


Resolver = Callable[[Header], bytes | None]
"""The key material that a header names, or None."""


def open_(envelope: bytes, resolve: Resolver, form: int, tag: str, place: bytes) -> bytes:
    """What was sealed, or a refusal."""
    try:
        if len(tag.encode()) > 255:
            raise RefusedError("TagError")
    except UnicodeEncodeError:
        raise RefusedError("TagError") from None
    header, body = parse(envelope)
    material = resolve(header)
    if material is None:
        raise RefusedError("UnknownKeyError")
    if check_value(material) != header.check:
        raise RefusedError("WrongKeyError")
    return open_body(seal_key(material), bind(form, header.core(), tag, place), body)


# --- tags -----------------------------------------------------------------------------------------------------------

Layers = list[tuple[str, bool]]
"""(name, may be skipped), innermost first."""


def extend(tag: str, layers: Layers, willing: set[int]) -> str:
    """The tag after sealing, when the layers at the positions in `willing` would like to be applied."""
    for position, (name, may_skip) in enumerate(layers):
        if position in willing or not may_skip or tag.endswith(f"+{name}"):
            tag += f"+{name}"
    return tag


def peel(tag: str, layers: Layers) -> tuple[str, list[int]]:
    """The base's tag, and the positions of the layers to undo, outermost first."""
    undone = []
    for position in reversed(range(len(layers))):
        name, may_skip = layers[position]
        if tag.endswith(f"+{name}"):
            tag = tag.removesuffix(f"+{name}")
            undone.append(position)
        elif not may_skip:
            raise RefusedError("NotSealedError" if position == len(layers) - 1 else "TagError")
    if not tag:
        raise RefusedError("TagError")
    return tag, undone


def split_cell(plain: bytes) -> tuple[str, bytes]:
    """The tag and the data of an opened cell."""
    end = 1 + plain[0] if plain else 1
    try:
        tag = plain[1:end].decode()
    except UnicodeDecodeError:
        raise RefusedError("TagError") from None
    if not tag or end > len(plain):
        raise RefusedError("TagError")
    return tag, plain[end:]


# --- test data ------------------------------------------------------------------------------------------------------


def stream(seed: str, length: int) -> bytes:
    """`length` bytes that look random: SHA-256 over seed and a 4-byte block number, block after block."""
    blocks = (hashlib.sha256(seed.encode() + struct.pack(">I", number)).digest() for number in range(-(-length // 32)))
    return b"".join(blocks)[:length]
