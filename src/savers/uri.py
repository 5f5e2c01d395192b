"""A store for a URI; it opens stores and nothing else."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..errors import ConfigurationError
from ..stores import FolderStore, MemoryStore, ObjectStore


def open_store(uri: str) -> ObjectStore:
    """The store that a URI names: ``file:///absolute/folder``, ``file:relative/folder``, ``s3://bucket/prefix``, ``memory://``.

    Raises:
        ConfigurationError: none of these.
        MissingExtraError: ``s3://`` without the extra ``s3``.
    """
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        from ..stores.s3 import S3Store

        return S3Store.from_uri(uri)
    if parts.query or parts.fragment:
        raise ConfigurationError("a store's URI has no '?' or '#'; escape them as %3F and %23")
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return FolderStore(Path(unquote(parts.path)))
    if parts.scheme == "memory" and not parts.netloc and not parts.path:
        return MemoryStore()
    # Not shown: a URI can hold credentials.
    raise ConfigurationError(
        f"not a store's URI (scheme {parts.scheme[:20]!r}); write file:///folder, s3://bucket/prefix or memory://, credentials elsewhere"
    )
