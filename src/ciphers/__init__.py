"""Bytes to sealed bytes, and the seams for layers and key sources; pure, without I/O, clock or LangGraph."""

from .aesgcm import MAX_TAG, AesGcm
from .header import Header, KeyKind, KeyReference, WrappedKey, looks_sealed, parse, peek_key_id
from .protocols import KeySource, Layer, SizedKeySource
from .secret import SecretKey

__all__ = [
    "MAX_TAG",
    "AesGcm",
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
]
