"""A key in memory, and the sub-keys made from it; it cannot be printed, compared by accident, pickled or logged."""

from __future__ import annotations

from typing import Final, NoReturn

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..errors import KeyFormatError

KEY_BYTES: Final = 32
CHECK_BYTES: Final = 4

# RFC 5869 HKDF-SHA-512, empty salt; one label a purpose, so that no sub-key serves two (docs/spec/envelope-v1.md, "Keys").
_LABEL_SEAL: Final = b"sealpoint/v1/seal"
_LABEL_CHECK: Final = b"sealpoint/v1/check"


def _hkdf(material: bytes, label: bytes, length: int) -> bytes:
    return HKDF(SHA512(), length, None, label).derive(material)


class SecretKey:
    """A 32-byte key. `reveal_seal_key` is the only door through which key bytes leave it.

    Args:
        material: 32 uniformly random bytes (from the operating system, a KMS, or scrypt over a typed key).

    Raises:
        KeyFormatError: the length is wrong. The message gives the length, never the bytes.
    """

    __slots__ = ("_material", "_seal", "check")

    check: bytes
    """The 4-byte key check value that headers carry: tells a wrong key under a known id from a damaged value."""

    def __init__(self, material: bytes) -> None:
        if not isinstance(material, bytes) or len(material) != KEY_BYTES:
            got = f"{len(material)} bytes" if isinstance(material, bytes) else type(material).__name__
            raise KeyFormatError(f"a key is {KEY_BYTES} bytes, not {got}; `sealpoint keygen` makes one")
        self._material = material
        self._seal = _hkdf(material, _LABEL_SEAL, KEY_BYTES)
        self.check = _hkdf(material, _LABEL_CHECK, CHECK_BYTES)

    def reveal_seal_key(self) -> bytes:
        """The sub-key that bodies are sealed under. For cipher code only."""
        return self._seal

    def derive(self, label: bytes, length: int = KEY_BYTES) -> bytes:
        """A sub-key for another purpose.

        Args:
            label: the purpose, as ``sealpoint/v1/<purpose>``; the labels of this module are refused.
            length: bytes.
        """
        if label in (_LABEL_SEAL, _LABEL_CHECK):
            raise KeyFormatError(f"the label {label.decode()} is in use; choose one for the purpose")
        return _hkdf(self._material, label, length)

    def __repr__(self) -> str:
        return "<SecretKey>"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a SecretKey cannot be pickled or copied out of the process; rebuild it from its source")

    def __copy__(self) -> SecretKey:
        return self

    def __deepcopy__(self, _memo: object) -> SecretKey:
        return self
