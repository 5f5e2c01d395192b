"""The AES-256-GCM layer: header, key and body put together; keys come from a key source, bytes go in and out, no I/O."""

from __future__ import annotations

import asyncio
import functools
from typing import Final

from ..context import Context, Form
from ..errors import AuthenticationError, ConfigurationError, SealpointError, TagError, WrongKeyError
from . import body
from .header import Header, KeyReference, parse, peek_key_id
from .protocols import KeySource, SizedKeySource
from .secret import SecretKey

NAME: Final = "aesgcm"
MAX_TAG: Final = 255  # bytes
_INLINE: Final = 256 * 1024  # bytes; below it the work (about 0.2 ms) is shorter than a hop to a thread is worth
_CIPHER_CONTEXT: Final = Context.unbound(form=Form.CIPHER)


def bind(form: Form, core: bytes, tag: bytes, context: bytes) -> bytes:
    """The application context of a body: what must be repeated, to the byte, to open it (docs/spec/envelope-v1.md, "Binding")."""
    return b"".join((_bound_head(form, core, tag), len(context).to_bytes(4, "big"), context))


@functools.lru_cache(maxsize=256)
def _bound_head(form: Form, core: bytes, tag: bytes) -> bytes:
    """All but the context; remembered, because most values of a process share it."""
    return b"".join((bytes((form,)), len(core).to_bytes(2, "big"), core, len(tag).to_bytes(2, "big"), tag))


def tag_bytes(tag: str, wrong: type[SealpointError]) -> bytes:
    """The tag as it is bound; raises `wrong` for what is no tag: whose fault that is depends on the direction."""
    try:
        raw = tag.encode("utf-8")
    except UnicodeEncodeError:
        raise wrong("a type tag is UTF-8 text; this one has a lone surrogate") from None
    if len(raw) > MAX_TAG:
        raise wrong(f"a type tag is at most {MAX_TAG} bytes; this one has {len(raw)}")
    return raw


class AesGcm:
    """Seals bytes under a key source's current key: confidential, authenticated, bound to tag and place, committed to one key.

    Also a LangGraph `CipherProtocol` (`encrypt`, `decrypt`), for use inside its `EncryptedSerializer`; that interface passes neither the
    type tag nor the place, so there neither can be bound (docs/limitations.md).

    Args:
        keys: a `sealpoint.keys.Keyring`, or any `KeySource`.

    Raises:
        ConfigurationError: `keys` is not a key source (raw bytes, say).
    """

    name: Final = NAME
    authenticates_tag: Final = True
    may_skip: Final = False

    def __init__(self, keys: KeySource) -> None:
        if isinstance(keys, type) or not isinstance(keys, KeySource):
            raise ConfigurationError(
                "AesGcm takes a key source such as sealpoint.keys.Keyring.from_env() or "
                f'Keyring({{"2026-11": key32}}, active="2026-11"), not {type(keys).__name__}'
            )
        self._keys = keys
        self._sized = keys if isinstance(keys, SizedKeySource) else None
        self._latest = (b"no header", "")  # the core of a header, and its key id

    @property
    def keys(self) -> KeySource:
        """The key source, for savers that tell it when a thread begins and ends."""
        return self._keys

    def encode(self, data: bytes, tag: str, context: Context) -> bytes:
        """`data` as an envelope that opens only with the same tag and context.

        Raises:
            ConfigurationError: the tag is longer than 255 bytes, or is no UTF-8 text.
            KeyAccessError, RetryableError: from the key source; nothing was sealed.
        """
        raw_tag = tag_bytes(tag, ConfigurationError)
        sized = self._sized
        reference, key = self._keys.current(context) if sized is None else sized.current_sized(context, len(data))
        return self._sealed(reference, key, data, raw_tag, context)

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        """What was sealed.

        Raises:
            EnvelopeError: no well-formed header.
            UnknownKeyError, WrongKeyError: supply the key that the message names.
            TagError: the tag is one that nothing can have been sealed with.
            AuthenticationError: damaged, forged, relabelled or moved.
        """
        raw_tag = tag_bytes(tag, TagError)
        header, at = parse(data)
        return _open(header, self._keys.resolve(header.reference, context), memoryview(data)[at:], raw_tag, context)

    async def aencode(self, data: bytes, tag: str, context: Context) -> bytes:
        """As `encode`, without blocking the event loop."""
        raw_tag = tag_bytes(tag, ConfigurationError)
        sized = self._sized
        reference, key = await (self._keys.acurrent(context) if sized is None else sized.acurrent_sized(context, len(data)))
        if len(data) < _INLINE:
            return self._sealed(reference, key, data, raw_tag, context)
        return await asyncio.to_thread(self._sealed, reference, key, data, raw_tag, context)

    async def adecode(self, data: bytes, tag: str, context: Context) -> bytes:
        """As `decode`, without blocking the event loop."""
        raw_tag = tag_bytes(tag, TagError)
        header, at = parse(data)
        key = await self._keys.aresolve(header.reference, context)
        body_view = memoryview(data)[at:]
        if len(data) < _INLINE:
            return _open(header, key, body_view, raw_tag, context)
        return await asyncio.to_thread(_open, header, key, body_view, raw_tag, context)

    def _sealed(self, reference: KeyReference, key: SecretKey, data: bytes, tag: bytes, context: Context) -> bytes:
        core = reference.lead + key.check
        if core != self._latest[0]:
            self._latest = core, reference.key_id
        bound = bind(context.form, core, tag, context.encoded)
        return body.seal(key.reveal_seal_key(), bound, core + reference.block, data)

    def key_id(self, data: bytes | bytearray | memoryview) -> str:
        """The key id that the header of `data` claims, or "": answered without a key."""
        core, key_id = self._latest
        return key_id if data[: len(core)] == core else peek_key_id(data)

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """LangGraph's `CipherProtocol`: the cipher's name and the envelope. Binds neither tag nor place."""
        return NAME, self.encode(plaintext, "", _CIPHER_CONTEXT)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """LangGraph's `CipherProtocol`: the plaintext.

        Raises:
            ConfigurationError: the value was encrypted by another cipher.
            EnvelopeError, KeyAccessError, AuthenticationError: as `decode`.
        """
        if ciphername != NAME:
            raise ConfigurationError(f"this cipher opens values tagged {NAME!r}; the tag says {ciphername[:40]!r}")
        return self.decode(ciphertext, "", _CIPHER_CONTEXT)

    def __repr__(self) -> str:
        return f"AesGcm({type(self._keys).__name__})"


def _open(header: Header, key: SecretKey, sealed: memoryview, tag: bytes, context: Context) -> bytes:
    if key.check != header.check:
        raise WrongKeyError(
            f"the key configured under id {header.reference.key_id!r} is not the key this value was sealed with: "
            "two keys were given one id, or the value's header was changed"
        )
    bound = bind(context.form, header.core(), tag, context.encoded)
    try:
        return body.open_(key.reveal_seal_key(), bound, sealed)
    except AuthenticationError as exc:
        raise AuthenticationError(f"{exc} (key id {header.reference.key_id!r}; {context.place})") from None
