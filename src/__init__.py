"""Sealpoint: LangGraph persistence that is safe to hand to an auditor. The names here are the ones a user needs."""

from .ciphers import AesGcm
from .context import Context
from .errors import SealpointError
from .events import Event
from .keys import UNENCRYPTED, Keyring
from .savers import ObjectSaver, S3Saver, SealedSaver
from .serde import JsonPlus, LayeredSerializer, Zstd, sealed_serializer

__all__ = [
    "UNENCRYPTED",
    "AesGcm",
    "Context",
    "Event",
    "JsonPlus",
    "Keyring",
    "LayeredSerializer",
    "ObjectSaver",
    "S3Saver",
    "SealedSaver",
    "SealpointError",
    "Zstd",
    "sealed_serializer",
]
