"""The padding layer: sealed lengths say less about what is inside; it compresses and authenticates nothing.

Lengths follow Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", PoPETs 2019-4): at
most 12 % longer, less for large values, and O(log log n) bits of the length remain. Below 256 bytes all values are one length.
Layout: the data | 80 | zeros (ISO/IEC 7816-4). It stands after compression and inside the cipher, so it is read only once authenticated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..context import Context
from ..errors import DecodeError

FLOOR: Final = 256  # bytes
_MARK: Final = b"\x80"


def padme(length: int) -> int:
    """The length that a value of `length` bytes is padded to, at least 256.

    >>> padme(1), padme(257), padme(1000), padme(1_000_000)
    (256, 272, 1024, 1015808)
    """
    if length <= FLOOR:
        return FLOOR
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


@dataclass(frozen=True, slots=True)
class Padme:
    """Pads every value; stands between the compression and the cipher."""

    @property
    def name(self) -> str:
        """The layer's name in tags."""
        return "padme"

    @property
    def authenticates_tag(self) -> bool:
        """False: padding proves nothing."""
        return False

    @property
    def may_skip(self) -> bool:
        """False: a value without padding would tell its length."""
        return False

    def encode(self, data: bytes, tag: str, context: Context) -> bytes:
        """The data, a mark and zeros, together with the tag of a Padmé length.

        Counting the tag keeps a cell that carries it inside from showing whether the value was compressed.
        """
        used = len(data) + len(_MARK) + len(tag.encode("utf-8"))
        return b"".join((data, _MARK, bytes(padme(used) - used)))

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        """The data without its padding.

        Raises:
            DecodeError: it has none.
        """
        plain = data.rstrip(b"\0")
        if not plain.endswith(_MARK):
            raise DecodeError("a padded value has no end mark: it was not written by this chain")
        return plain[:-1]
