"""Bytes to sealed bytes, and the seams for layers and key sources; pure, without I/O, clock or LangGraph."""

from .aesgcm import AesGcm, tag_bytes
from .header import Header, KeyKind, KeyReference, WrappedKey, looks_sealed, parse, peek_key_id
from .protocols import AsyncLayer, KeySource, Layer, SizedKeySource
from .secret import SecretKey

__all__ = [
    "AesGcm",
    "AsyncLayer",
    "Header",
    "KeyKind",
    "KeyReference",
    "KeySource",
    "Layer",
    "SecretKey",
    "SizedKeySource",
    "WrappedKey",
    "looks_sealed",
    "parse",
    "peek_key_id",
    "tag_bytes",
]
