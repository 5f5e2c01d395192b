"""LangGraph checkpointers: the object saver."""

from .objectsaver import ObjectSaver
from .s3saver import S3Saver

__all__ = ["ObjectSaver", "S3Saver"]
