"""The compression layer: zstd frames with a ceiling on both ways; it authenticates nothing.

Facts it works around: a (de)compressor shared between threads corrupts the heap; `max_output_size` is ignored when a frame states its size;
`decompress` by default accepts bytes after the frame (python-zstandard 0.25).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar, Final

import zstandard

from ..context import Context
from ..errors import CompressionError, ConfigurationError, ValueTooLargeError

DEFAULT_LEVEL: Final = 3
DEFAULT_MAX_BYTES: Final = 1 << 30  # 1 GiB

_MIN_BYTES: Final = 64  # a frame costs 9 to 18 bytes, a tag 5: smaller values do not shrink
_SAMPLE_FROM: Final = 256 * 1024  # bytes; from here on, look before compressing
_SAMPLES: Final = 8
_SAMPLE_BYTES: Final = 4 * 1024
_WORTH: Final = 0.98  # of the plain size; a smaller gain does not pay for decompressing at every read
# A zstd block is at most 128 KiB and costs at least 4 bytes (RFC 8878, 3.1.1.2): no honest frame claims more than this.
_MAX_EXPANSION: Final = 128 * 1024 // 4

_contexts = threading.local()


def _compressor(level: int) -> zstandard.ZstdCompressor:
    found: dict[int, zstandard.ZstdCompressor] = _contexts.__dict__.setdefault("compressors", {})
    if level not in found:
        found[level] = zstandard.ZstdCompressor(level=level, write_content_size=True, write_checksum=False, write_dict_id=False)
    return found[level]


def _decompressor() -> zstandard.ZstdDecompressor:
    if "decompressor" not in _contexts.__dict__:
        _contexts.decompressor = zstandard.ZstdDecompressor()
    made: zstandard.ZstdDecompressor = _contexts.decompressor
    return made


@dataclass(frozen=True, slots=True)
class Zstd:
    """Compresses what gets smaller by it; the rest is left alone and the tag does not name the layer.

    Args:
        level: zstd's level, 1 to 19. The default is the measured best for checkpoint values (docs/decisions/0005-zstd-level.md).
        max_bytes: the largest plain size, both ways. A larger value is refused on writing, and a frame that claims more on reading.
        writes: False reads compressed values and writes none, for a store that has some already.

    Raises:
        ConfigurationError: a setting is out of range.
    """

    name: ClassVar[str] = "zstd"
    authenticates_tag: ClassVar[bool] = False  # compression proves nothing
    may_skip: ClassVar[bool] = True  # what does not compress is left alone

    level: int = DEFAULT_LEVEL
    max_bytes: int = DEFAULT_MAX_BYTES
    writes: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.level, int) or not 1 <= self.level <= 19:
            raise ConfigurationError(f"zstd levels are 1 to 19, not {self.level!r}")
        if not isinstance(self.max_bytes, int) or self.max_bytes < 1:
            raise ConfigurationError(f"max_bytes must be a positive number, not {self.max_bytes!r}")

    def encode(self, data: bytes, tag: str, context: Context) -> bytes | None:
        """One frame that states its size, or None when compressing does not help.

        Raises:
            ValueTooLargeError: `data` is larger than `max_bytes`.
        """
        if len(data) > self.max_bytes:
            raise ValueTooLargeError(
                f"the value has {len(data)} bytes serialized; the ceiling is {self.max_bytes} (Zstd(max_bytes=…)): "
                "store it in parts, or raise it"
            )
        # A tag that already ends with our name would be read as compressed if we skipped.
        must = tag.endswith("+zstd")
        if not must and (not self.writes or len(data) < _MIN_BYTES or not self._promising(data)):
            return None
        compressed = _compressor(self.level).compress(data)
        return compressed if must or len(compressed) < len(data) * _WORTH else None

    def decode(self, data: bytes, tag: str, context: Context) -> bytes:
        """The plain bytes of exactly one frame.

        Raises:
            CompressionError: damaged, joined or extended frames, or a size over the ceiling. Nothing large was allocated.
        """
        size = self._stated_size(data)
        if size == 0:
            return self._empty(data)
        try:
            plain = _decompressor().decompress(data, max_output_size=size, allow_extra_data=False)
        except zstandard.ZstdError:
            raise CompressionError("a compressed value is damaged, or has bytes after its end") from None
        if len(plain) != size:
            raise CompressionError("a compressed value does not have the size that it states")
        return plain

    def _stated_size(self, data: bytes) -> int:
        try:
            size = zstandard.get_frame_parameters(data).content_size
        except zstandard.ZstdError:
            raise CompressionError("a compressed value is damaged: it does not start with a zstd frame") from None
        if size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
            raise CompressionError("a compressed value does not state its size")
        if size > self.max_bytes:
            raise CompressionError(f"a compressed value states {size} bytes; the ceiling is {self.max_bytes} (Zstd(max_bytes=…))")
        if size > (len(data) + 1) * _MAX_EXPANSION:
            raise CompressionError("a compressed value states a size that its length cannot hold")
        return size

    def _empty(self, data: bytes) -> bytes:
        # The library answers a stated size of 0 without looking further; only our own frame of nothing is taken.
        if data != _compressor(self.level).compress(b""):
            raise CompressionError("a compressed value is damaged, or has bytes after its end")
        return b""

    def _promising(self, data: bytes) -> bool:
        if len(data) < _SAMPLE_FROM:
            return True
        step = (len(data) - _SAMPLE_BYTES) // (_SAMPLES - 1)
        sample = b"".join([data[i * step : i * step + _SAMPLE_BYTES] for i in range(_SAMPLES)])
        return len(_compressor(1).compress(sample)) < len(sample) * _WORTH
