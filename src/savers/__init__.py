"""LangGraph checkpointers: the object saver, and a wrapper that seals any other."""

from .objectsaver import ObjectSaver
from .s3saver import S3Saver
from .wrapped import SealedSaver

__all__ = ["ObjectSaver", "S3Saver", "SealedSaver"]
