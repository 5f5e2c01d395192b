"""Objects to tagged bytes and back: the base serializer, the compression layer, and the chain that composes them."""

from .base import AllowlistBase, BaseSerializer, TrustAwareBase
from .cipherlayer import CipherLayer
from .factory import sealed_serializer
from .jsonplus import JsonPlus
from .layered import LayeredSerializer, Packed
from .legacy import LegacyReader
from .zstd import Zstd

__all__ = [
    "AllowlistBase",
    "BaseSerializer",
    "CipherLayer",
    "JsonPlus",
    "LayeredSerializer",
    "LegacyReader",
    "Packed",
    "TrustAwareBase",
    "Zstd",
    "sealed_serializer",
]
