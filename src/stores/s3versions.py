"""What a versioned bucket keeps of an object besides its present bytes: found and removed; current versions are never touched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .base import BATCH
from .s3 import S3Store, make_client
from .s3errors import of_code, translated

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class S3Versions:
    """Old versions of objects in a bucket, for an erasure to purge (`sealpoint.keys.erase(…, old_versions=S3Versions(store))`).

    Permissions: `s3:ListBucketVersions`, `s3:DeleteObjectVersion`; without `s3:BypassGovernanceRetention`, an Object Lock holds what it
        holds, and so
    does a legal hold. Replicas in other buckets are not reached.

    Args:
        store: where the objects are.
        client: a boto3 S3 client with these permissions; None makes one as `S3Store` does, for the same server.
    """

    def __init__(self, store: S3Store, *, client: S3Client | None = None) -> None:
        self._bucket = store.bucket
        self._prefix = store.prefix
        self._client: Any = make_client(store.endpoint_url) if client is None else client

    def purge(self, key: str) -> tuple[int, tuple[str, ...]]:
        """Removes every version of the object but the current one.

        Returns:
            How many were removed, and the version ids of those that are still there.

        Raises:
            StoreAccessError: versions may not be listed.
            StoreUnavailableError: some may be gone, others not; the same call may be made again.
        """
        found = 0
        versions = self._old(key)
        while batch := tuple(islice(versions, BATCH)):
            found += len(batch)
            with translated("s3:DeleteObjectVersion", key):
                answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True})
            for error in answer.get("Errors", ()):
                if error.get("Code") not in ("AccessDenied", "NoSuchVersion"):
                    raise of_code("s3:DeleteObjectVersion", key, error.get("Code", ""))
        # Looked up again, because some servers do not say which version they refused to remove.
        left = tuple(sorted(version["VersionId"] for version in self._old(key))) if found else ()
        return found - len(left), left

    def _old(self, key: str) -> Iterator[dict[str, str]]:
        full = self._prefix + key
        at: dict[str, str] = {}
        while True:
            with translated("s3:ListBucketVersions", key):
                page = self._client.list_object_versions(Bucket=self._bucket, Prefix=full, **at)
            for found in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                if found["Key"] == full and not found["IsLatest"]:
                    yield {"Key": full, "VersionId": found["VersionId"]}
            if not page.get("IsTruncated"):
                return
            at = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}
