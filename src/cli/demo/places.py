"""Where the demo works, tried before anything of it runs; it tells no story."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from ...errors import ConfigurationError, MissingExtraError
from ...savers.uri import open_store

KEYS_FILE = "keys.env"


def check_uri(uri: str) -> None:
    """Returns if the object saver's half can work at `uri`.

    Raises:
        ConfigurationError: it is no store's URI, holds something already, or would not outlive one process of the demo.
        MissingExtraError: it is a bucket, and boto3 is not installed.
        StoreAccessError, RetryableError: the store refuses or is out of reach.
    """
    if urlsplit(uri).scheme == "memory":
        raise ConfigurationError(
            "the demo's agent is resumed by another process, which sees nothing of a store in memory; give file:///folder or s3://bucket/prefix"
        )
    try:
        store = open_store(uri)
    except MissingExtraError as exc:
        raise MissingExtraError(
            "the demo on S3 needs boto3, which `make demo` does not install: pip install 'sealpoint[demo,s3]', then run "
            "sealpoint demo --uri s3://…"
        ) from exc
    try:
        if next(iter(store.list(limit=1)), None) is not None:
            raise ConfigurationError("there are objects under the demo's --uri already; name an empty folder or a new prefix")
    finally:
        store.close()


@contextmanager
def folder(keep: str | None) -> Iterator[Path]:
    """A folder that nobody else reads: `keep`, which stays, or a temporary one.

    Raises:
        ConfigurationError: `keep` is not empty.
    """
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="sealpoint-demo-") as made:
            yield Path(made)
        return
    kept = Path(keep)
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(kept.iterdir()):
        raise ConfigurationError(f"{keep} is not empty; name a new folder")
    yield kept


def write_keys(path: Path, line: str) -> None:
    """Writes `line` into a new file that only its owner reads."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{line}\n")
