"""Where sealed bytes live: a wrapper that seals any LangGraph checkpointer."""

from .wrapped import SealedSaver

__all__ = ["SealedSaver"]
