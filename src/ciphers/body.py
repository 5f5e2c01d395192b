"""The sealed body: Cobblestone-256 over one message in memory; it knows nothing of headers, tags or places.

Cobblestone-256 is the C2SP chunked-encryption scheme with HKDF-Expand-SHA-512 and AES-256-GCM: salt (24) | commitment (32) | chunks of
16 KiB, each with a 16-byte tag, the last one shorter than 16 KiB and possibly empty. Source: c2sp.org/chunked-encryption, v1.
"""

from __future__ import annotations

from typing import Final

from cryptography.cobblestone import Cobblestone256Decryptor, Cobblestone256Encryptor
from cryptography.exceptions import InvalidTag

from ..errors import AuthenticationError
from .buffers import OutputBuffer

CHUNK: Final = 16 * 1024  # bytes of plaintext a chunk
TAG: Final = 16  # bytes
PREFIX: Final = 24 + 32  # salt, commitment
# `update` holds the GIL for as long as it runs; 4 MiB take about 2 ms, so that other threads wait no longer than that.
SLICE: Final = 4 * 1024 * 1024

_SMALL: Final = 128 * 1024  # bytes; below it one join is cheaper than a prepared buffer (measured: equal at 131,000 bytes)


def sealed_length(plain_length: int) -> int:
    """Bytes of a body over `plain_length` bytes of plaintext."""
    return PREFIX + plain_length + TAG * (plain_length // CHUNK + 1)


def plain_length(body_length: int) -> int:
    """Bytes of plaintext in a body of `body_length` bytes.

    Raises:
        AuthenticationError: no plaintext gives a body of that length: it was cut or extended.
    """
    chunks, last = divmod(body_length - PREFIX, CHUNK + TAG)
    if body_length < PREFIX or last < TAG:
        raise refused()
    return chunks * CHUNK + last - TAG


def refused() -> AuthenticationError:
    """The one answer to every body that does not open; vague on purpose (see `errors`)."""
    return AuthenticationError("the sealed value does not open: it was damaged, forged, relabelled or moved; nothing of it was read")


def seal(key: bytes, context: bytes, prefix: bytes, data: bytes | bytearray | memoryview) -> bytes:
    """`prefix`, then `data` sealed under `key` and bound to `context`.

    Args:
        key: 32 bytes; the salt is drawn from the operating system for every call.
        context: what opening must repeat.
        prefix: bytes to stand before the body (the header), so that the whole is built in one buffer.
        data: any length up to 4 PiB.
    """
    encryptor = Cobblestone256Encryptor(key, context)
    length = len(data) if type(data) is bytes else memoryview(data).nbytes
    if length < _SMALL:
        return b"".join((prefix, encryptor.update(data), encryptor.finalize()))
    out = OutputBuffer(len(prefix) + sealed_length(length))
    with out.view() as view, memoryview(data).cast("B") as source:
        at = len(prefix)
        view[:at] = prefix
        for start in range(0, length, SLICE):
            at += encryptor.update_into(source[start : start + SLICE], view[at:])
        view[at:] = encryptor.finalize()
    return out.getvalue()


def open_(key: bytes, context: bytes, body: memoryview) -> bytes:
    """The plaintext of `body`, complete and authenticated, or nothing.

    Raises:
        AuthenticationError: wrong key, wrong context, or any changed, missing or added byte. Treat the value as hostile.
    """
    length = plain_length(len(body))
    decryptor = Cobblestone256Decryptor(key, context)
    try:
        if length < _SMALL:
            return decryptor.update(body) + decryptor.finalize()
        out = OutputBuffer(length)
        with out.view() as view:
            at = 0
            for start in range(0, len(body), SLICE):
                at += decryptor.update_into(body[start : start + SLICE], view[at:])
            view[at:] = decryptor.finalize()
        return out.getvalue()
    except InvalidTag:
        raise refused() from None
