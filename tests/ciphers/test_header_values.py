"""Headers are values: one that could be marshalled but not parsed back cannot be built."""

from __future__ import annotations

import pytest

from sealpoint.ciphers import Header, KeyKind, KeyReference, WrappedKey
from sealpoint.errors import KeyFormatError

REFERENCE = KeyReference(KeyKind.KEYRING, "2026-11")


@pytest.mark.parametrize("length", [0, 3, 5])
def test_a_header_has_a_check_value_of_four_bytes(length: int) -> None:
    with pytest.raises(KeyFormatError, match=str(length)):
        Header(REFERENCE, bytes(length))


@pytest.mark.parametrize("kind", [0, 4, 255])
def test_a_key_kind_is_one_of_the_three(kind: int) -> None:
    with pytest.raises(KeyFormatError, match=str(kind)):
        KeyReference(kind, "2026-11")  # type: ignore[arg-type]  # the check at run time is what is being tested


def test_only_kind_2_carries_wrapped_keys_and_each_root_once() -> None:
    entry = WrappedKey("kms", b"blob")
    for kind, wrapped in [(KeyKind.KEYRING, (entry,)), (KeyKind.WRAPPED_INLINE, ()), (KeyKind.KEY_STORE, (entry,))]:
        with pytest.raises(KeyFormatError):
            KeyReference(kind, "dk", wrapped)
    with pytest.raises(KeyFormatError, match="twice"):
        KeyReference(KeyKind.WRAPPED_INLINE, "dk", (entry, WrappedKey("kms", b"other")))
