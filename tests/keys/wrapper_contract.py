"""What is true of every `KeyWrapper`: one suite, run by each implementation through a `wrapper` and an `other` fixture."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from sealpoint.ciphers.header import MAX_WRAPPED
from sealpoint.errors import IntegrityError, KeyAccessError
from sealpoint.keys import KeyGenerator, KeyWrapper
from sealpoint.keys.wrapping import data_key_context, thread_key_context

CONTEXT = data_key_context("billing", "0123456789abcdef01234567")


class WrapperContract:
    """Subclasses give `wrapper`, and `other`: a wrapper of the same service under another root key."""

    def test_unwrap_gives_back_what_was_wrapped(self, wrapper: KeyWrapper) -> None:
        key = secrets.token_bytes(32)
        wrapped = wrapper.wrap(key, CONTEXT)
        assert wrapper.unwrap(wrapped, CONTEXT) == key
        assert 1 <= len(wrapped) <= MAX_WRAPPED
        assert key not in wrapped

    def test_two_wraps_of_one_key_differ(self, wrapper: KeyWrapper) -> None:
        key = secrets.token_bytes(32)
        assert wrapper.wrap(key, CONTEXT) != wrapper.wrap(key, CONTEXT)

    @pytest.mark.parametrize(
        "other_context",
        [
            data_key_context("billing", "ffffffffffffffffffffffff"),
            data_key_context("other", "0123456789abcdef01234567"),
            data_key_context("", "0123456789abcdef01234567"),
            thread_key_context("billing", "0123456789abcdef01234567", "a" * 64, 1),
            {"key": "0123456789abcdef01234567"},
        ],
        ids=["another key id", "another scope", "no scope", "another kind", "a part"],
    )
    def test_another_context_is_refused(self, wrapper: KeyWrapper, other_context: dict[str, str]) -> None:
        wrapped = wrapper.wrap(secrets.token_bytes(32), CONTEXT)
        with pytest.raises(IntegrityError):
            wrapper.unwrap(wrapped, other_context)

    def test_a_key_wrapped_under_another_root_is_refused(self, wrapper: KeyWrapper, other: KeyWrapper) -> None:
        wrapped = other.wrap(secrets.token_bytes(32), CONTEXT)
        with pytest.raises((IntegrityError, KeyAccessError)):
            wrapper.unwrap(wrapped, CONTEXT)

    def test_a_changed_byte_anywhere_is_refused(self, wrapper: KeyWrapper) -> None:
        key = secrets.token_bytes(32)
        wrapped = wrapper.wrap(key, CONTEXT)
        for at in {0, 1, len(wrapped) // 2, len(wrapped) - 13, len(wrapped) - 5}:
            changed = bytearray(wrapped)
            changed[at] ^= 1
            with pytest.raises((IntegrityError, KeyAccessError)):
                wrapper.unwrap(bytes(changed), CONTEXT)

    @pytest.mark.parametrize(
        "garbage", [b"x", b"\x00" * 200, b"vault:v1:AAAA", b"\xff" * MAX_WRAPPED], ids=["short", "zeros", "text", "long"]
    )
    def test_garbage_is_refused(self, wrapper: KeyWrapper, garbage: bytes) -> None:
        with pytest.raises((IntegrityError, KeyAccessError)):
            wrapper.unwrap(garbage, CONTEXT)

    def test_it_is_safe_in_threads(self, wrapper: KeyWrapper) -> None:
        keys = [secrets.token_bytes(32) for _ in range(16)]
        with ThreadPoolExecutor(8) as pool:
            wrapped = list(pool.map(lambda key: wrapper.wrap(key, CONTEXT), keys))
            assert list(pool.map(lambda blob: wrapper.unwrap(blob, CONTEXT), wrapped)) == keys

    def test_no_repr_shows_a_key(self, wrapper: KeyWrapper) -> None:
        key = secrets.token_bytes(32)
        wrapper.wrap(key, CONTEXT)
        assert key.hex() not in repr(wrapper).lower()


class GeneratorContract(WrapperContract):
    """For a wrapper that is also a `KeyGenerator`."""

    def test_a_generated_key_unwraps(self, wrapper: KeyWrapper) -> None:
        assert isinstance(wrapper, KeyGenerator)
        (key, wrapped), (another, _) = (wrapper.generate(CONTEXT) for _ in range(2))
        assert len(key) == 32
        assert key != another
        assert wrapper.unwrap(wrapped, CONTEXT) == key
