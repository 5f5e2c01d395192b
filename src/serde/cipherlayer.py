"""A LangGraph `CipherProtocol` as a layer; it adds the tag and the place to what the cipher encrypts, and does not judge the cipher."""

from __future__ import annotations

from langgraph.checkpoint.serde.base import CipherProtocol

from ..ciphers import tag_bytes
from ..context import Context
from ..errors import AuthenticationError, ConfigurationError, SealpointError, TagError


class CipherLayer:
    """Any LangGraph cipher in a chain.

    Tag and place travel inside the plaintext and are compared after decryption, so a value that was relabelled or moved is refused, as far
    as the cipher itself is authenticated.

    Args:
        cipher: has `encrypt(plaintext) -> (name, ciphertext)` and `decrypt(name, ciphertext) -> plaintext`.
        name: the cipher's name, as `encrypt` returns it.
        authenticates: say True only for an authenticated cipher (an AEAD) under a key that no one else has: payloads behind it are then
            trusted to name the types they are made of. The default trusts nothing.
    """

    may_skip = False

    def __init__(self, cipher: CipherProtocol, *, name: str, authenticates: bool = False) -> None:
        self._cipher = cipher
        self.name = name
        self.authenticates_tag = authenticates

    def encode(self, data: bytes, tag: str, context: Context) -> bytes:
        """What the cipher makes of tag, place and data.

        Raises:
            ConfigurationError: the cipher calls itself by another name, or the tag is no tag.
        """
        name, sealed = self._cipher.encrypt(_framed(tag, context, ConfigurationError) + data)
        if name != self.name:
            raise ConfigurationError(f"the cipher calls itself {name!r}; give CipherLayer that name, not {self.name!r}")
        return sealed

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        """What `encode` was given.

        Raises:
            AuthenticationError: the cipher refuses the bytes, or they belong to another tag or place.
            TagError: the tag is one that nothing can have been encrypted with.
        """
        frame = _framed(tag, context, TagError)
        try:
            plain = self._cipher.decrypt(self.name, data)
        except SealpointError:  # a cipher that speaks our language has said what to do: supply a key, try again
            raise
        except Exception as exc:  # noqa: BLE001 - a foreign cipher refuses with errors of its own choosing
            raise AuthenticationError(f"the cipher {self.name!r} refused the value with {type(exc).__name__}") from None
        if plain[: len(frame)] != frame:
            raise AuthenticationError("the value does not open: it was damaged, forged, relabelled or moved; nothing of it was read")
        return plain[len(frame) :]


def _framed(tag: str, context: Context, wrong: type[SealpointError]) -> bytes:
    raw = tag_bytes(tag, wrong)
    parts = (bytes((context.form,)), len(raw).to_bytes(2, "big"), raw, len(context.encoded).to_bytes(4, "big"), context.encoded)
    return b"".join(parts)
