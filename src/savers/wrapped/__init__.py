"""SealedSaver and its parts."""

from .saver import SealedSaver

__all__ = ["SealedSaver"]
