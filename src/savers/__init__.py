"""LangGraph checkpointers: the object saver."""

from .objectsaver import ObjectSaver

__all__ = ["ObjectSaver"]
