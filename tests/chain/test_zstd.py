"""The compression layer: ceilings that hold, frames that stand alone, and no work on what does not shrink."""

import contextlib
import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from sealpoint import Context, Zstd
from sealpoint.errors import CompressionError, ConfigurationError, ValueTooLargeError
from sealpoint.serde import zstd as room

PLACE = Context.unbound()
ZSTD = Zstd()
TEXT = b"the same words again and again, " * 100


def encode(data, layer=ZSTD, tag="t"):
    return layer.encode(data, tag, PLACE)


def decode(data, layer=ZSTD):
    return layer.decode(data, "t", PLACE)


@given(st.one_of(st.binary(max_size=300), st.binary(min_size=1, max_size=9).map(lambda piece: piece * 400)))
def test_it_gives_back_what_it_was_given_or_leaves_it_alone(data):
    packed = encode(data)
    if packed is None:
        forced = encode(data, tag="t+zstd")
        assert decode(forced) == data
    else:
        assert len(packed) < len(data)
        assert decode(packed) == data


def test_it_leaves_alone_what_does_not_get_smaller():
    assert encode(b"short") is None
    assert encode(secrets.token_bytes(5_000)) is None
    assert encode(TEXT) is not None


def test_large_random_data_is_only_sampled(monkeypatch):
    seen = []
    real = room._compressor

    def spy(level):
        class Counting:
            def compress(self, data):
                seen.append(len(data))
                return real(level).compress(data)

        return Counting()

    monkeypatch.setattr(room, "_compressor", spy)
    assert encode(secrets.token_bytes(8 << 20)) is None
    assert sum(seen) <= 32 * 1024
    seen.clear()
    assert encode(secrets.token_bytes(100_000) + TEXT * 200) is not None


def test_the_ceiling_holds_on_both_ways_even_when_the_frame_states_its_size():
    small = Zstd(max_bytes=1000)
    with pytest.raises(ValueTooLargeError, match="1000"):
        encode(bytes(1001), small)
    with pytest.raises(CompressionError, match="1000"):
        decode(encode(bytes(1001)), small)
    assert decode(encode(bytes(1000)), small) == bytes(1000)


def test_a_size_that_the_frame_cannot_hold_is_refused_without_allocating_it(monkeypatch):
    frame = bytearray(zstandard.ZstdCompressor().compress(bytes(300_000_000)))
    at = frame.index((300_000_000).to_bytes(4, "little"))
    frame[at : at + 4] = (1 << 30).to_bytes(4, "little")
    monkeypatch.setattr(room, "_decompressor", lambda: pytest.fail("it tried to decompress"))
    with pytest.raises(CompressionError, match="cannot hold"):
        decode(bytes(frame[:40]))


FRAME = zstandard.ZstdCompressor().compress(TEXT)
HOSTILE = {
    "empty": b"",
    "not a frame": b"plain text that is long enough",
    "magic only": FRAME[:4],
    "cut": FRAME[:-1],
    "trailing": FRAME + b"\x00",
    "joined": FRAME + FRAME,
    "skippable in front": b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + FRAME,
    "skippable behind": FRAME + b"\x50\x2a\x4d\x18\x00\x00\x00\x00",
    "no stated size": zstandard.ZstdCompressor(write_content_size=False).compress(TEXT),
    "empty frame, then more": zstandard.ZstdCompressor().compress(b"") + FRAME,
    "size too small": FRAME.replace((3200 - 256).to_bytes(2, "little"), (3100 - 256).to_bytes(2, "little"), 1),
    "size too large": FRAME.replace((3200 - 256).to_bytes(2, "little"), (3300 - 256).to_bytes(2, "little"), 1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_frames_are_refused(data):
    assert data != FRAME
    with pytest.raises(CompressionError):
        decode(data)


@given(st.integers(0, len(FRAME) - 1), st.integers(1, 255))
def test_a_changed_frame_never_does_worse_than_an_error(position, flip):
    changed = bytearray(FRAME)
    changed[position] ^= flip
    with contextlib.suppress(CompressionError):
        decode(bytes(changed))


def test_an_empty_value_survives_when_it_must_be_named():
    packed = encode(b"", tag="t+zstd")
    assert decode(packed) == b""
    with pytest.raises(CompressionError):
        decode(packed + b"\x00")


def test_no_compressor_is_shared_between_threads():
    def mine(_):
        return id(room._compressor(3)), id(room._decompressor()), decode(encode(TEXT)) == TEXT

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(mine, range(64)))
    assert all(intact for *_, intact in results)
    threads = {result[0] for result in results}
    assert id(room._compressor(3)) not in threads
    assert len(threads) == len({result[1] for result in results})


def test_settings_are_checked():
    for wrong in ({"level": 0}, {"level": 23}, {"level": "3"}, {"max_bytes": 0}, {"max_bytes": None}):
        with pytest.raises(ConfigurationError):
            Zstd(**wrong)
