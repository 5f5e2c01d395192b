"""Where sealed bytes live: one small seam, and the stores that come with the package."""

from .base import Deletes, Gets, Listed, Lists, ObjectStore, Puts, Stored
from .blocking import BlockingStore
from .faults import Fault, Faults, Stopped
from .folder import FolderStore
from .memory import MemoryStore
from .probe import require_conditional_writes

__all__ = [
    "BlockingStore",
    "Deletes",
    "Fault",
    "Faults",
    "FolderStore",
    "Gets",
    "Listed",
    "Lists",
    "MemoryStore",
    "ObjectStore",
    "Puts",
    "Stopped",
    "Stored",
    "require_conditional_writes",
]
