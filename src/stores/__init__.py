"""Where sealed bytes live: one small seam, and the stores that come with the package.

`S3Store` and `S3Versions` are imported when they are asked for, since they need the extra ``s3``.
"""

from typing import TYPE_CHECKING, Any

from .base import Deletes, Gets, Listed, Lists, ObjectStore, Puts, Stored
from .blocking import BlockingStore
from .faults import Fault, Faults, Stopped
from .folder import FolderStore
from .memory import MemoryStore
from .probe import require_conditional_writes

if TYPE_CHECKING:
    from .s3 import S3Store as S3Store
    from .s3versions import S3Versions as S3Versions

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


if not TYPE_CHECKING:  # to a type checker it would say that every name is here

    def __getattr__(name: str) -> Any:
        """What needs an extra, on first use; it is not in `__all__`, so that ``import *`` needs none.

        Raises:
            MissingExtraError: boto3 is not installed: ``pip install 'sealpoint[s3]'``.
        """
        if name == "S3Store":
            from .s3 import S3Store

            return S3Store
        if name == "S3Versions":
            from .s3versions import S3Versions

            return S3Versions
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
