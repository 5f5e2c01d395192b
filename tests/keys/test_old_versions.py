"""Erasure in a versioned bucket: old versions of the key object are purged, those that a lock holds are named, others are left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")

from sealpoint.errors import ThreadErasedError
from sealpoint.keys import ThreadKeys, erase, rotate_roots
from sealpoint.keys.roots import Roots
from sealpoint.stores.s3 import S3Store, make_client
from sealpoint.stores.s3versions import S3Versions
from tests.keys.helpers import FlakyRoot, open_, place, seal
from tests.s3 import credentials
from tests.services import Service

pytestmark = pytest.mark.services


@pytest.fixture(params=["s3_moto", "s3_seaweedfs"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    service: Service = request.getfixturevalue(request.param)
    credentials(monkeypatch)
    return make_client(service.url)


def _versioned(client: Any, bucket: str, **options: Any) -> S3Store:
    client.create_bucket(Bucket=bucket, **options)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return S3Store(bucket, "prod", client=client)


def _versions(client: Any, bucket: str, key: str) -> list[str]:
    found = client.list_object_versions(Bucket=bucket, Prefix=key).get("Versions", ())
    return [version["VersionId"] for version in found if version["Key"] == key]


def test_every_old_version_of_the_key_object_is_purged(client: Any) -> None:
    store = _versioned(client, f"purge-{id(client)}")
    old, new = FlakyRoot(), FlakyRoot()
    keys = ThreadKeys(store, Roots({"old": old}))
    sealed, neighbour = seal(keys), seal(keys, context=place("t2"))
    rotate_roots(ThreadKeys(store, Roots({"old": old, "new": new}, active=["new"])))
    path = "prod/" + keys.shelf.path(keys.shelf.thread("", "t1").name)
    assert len(_versions(client, store.bucket, path)) == 2
    receipt = erase(keys, "t1", old_versions=S3Versions(store, client=client))
    assert (receipt.old_versions_purged, receipt.old_versions_left) == (2, ())
    assert len(_versions(client, store.bucket, path)) == 1  # the tombstone
    after = ThreadKeys(store, {"old": old, "new": new})
    with pytest.raises(ThreadErasedError):
        open_(after, sealed)
    assert open_(after, neighbour, place("t2")) == b"secret"
    again = erase(after, "t1", old_versions=S3Versions(store, client=client))
    assert (again.erasure_id, again.old_versions_purged) == (receipt.erasure_id, 0)


def test_an_old_version_that_was_not_purged_brings_the_thread_back(client: Any) -> None:
    """Why the receipt says when nobody asked: documented in docs/erasure.md."""
    store = _versioned(client, f"kept-{id(client)}")
    root = FlakyRoot()
    keys = ThreadKeys(store, root)
    sealed = seal(keys)
    receipt = erase(keys, "t1")
    assert receipt.old_versions_purged is None
    path = "prod/" + receipt.key_object
    oldest = _versions(client, store.bucket, path)[-1]
    kept = client.get_object(Bucket=store.bucket, Key=path, VersionId=oldest)["Body"].read()
    store.put(receipt.key_object, kept)
    assert open_(ThreadKeys(store, root), sealed) == b"secret"


def test_a_version_that_an_object_lock_holds_is_named(s3_moto: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    client = make_client(s3_moto.url)
    store = _versioned(client, f"lock-{id(client)}", ObjectLockEnabledForBucket=True)
    keys = ThreadKeys(store, FlakyRoot())
    seal(keys)
    path = "prod/" + keys.shelf.path(keys.shelf.thread("", "t1").name)
    (version,) = _versions(client, store.bucket, path)
    until = datetime.now(UTC) + timedelta(days=1)
    client.put_object_retention(
        Bucket=store.bucket, Key=path, VersionId=version, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": until}
    )
    receipt = erase(keys, "t1", old_versions=S3Versions(store, client=client))
    assert (receipt.old_versions_purged, receipt.old_versions_left) == (0, (version,))
