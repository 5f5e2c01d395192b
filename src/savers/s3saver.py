"""`S3Saver`: the object saver over a bucket, in one call; it adds nothing to what `ObjectSaver` and `S3Store` do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..ciphers import KeySource
from ..keys import Unencrypted
from .objectsaver import ObjectSaver

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class S3Saver(ObjectSaver):
    """An `ObjectSaver` over Amazon S3 or a server that speaks its API.

    Args:
        uri: ``s3://bucket/prefix``.
        keys: as for `ObjectSaver`.
        client: a boto3 S3 client, used as it is; without one, see `sealpoint.stores.s3.S3Store`.
        endpoint_url: for S3-compatible servers.
        put_args: added to every PutObject, as bucket policies demand: ``ServerSideEncryption``, ``SSEKMSKeyId``, ``StorageClass``,
            ``Tagging``, ``ExpectedBucketOwner``, …
        options: `ObjectSaver`'s other arguments.

    Raises:
        MissingExtraError: boto3 is not installed: ``pip install 'sealpoint[s3]'``.
        ConfigurationError: the URI or a combination of arguments cannot work.
        NoKeyError: no key is given and the environment has none.
    """

    def __init__(
        self,
        uri: str,
        keys: KeySource | Unencrypted | None = None,
        *,
        client: S3Client | None = None,
        endpoint_url: str | None = None,
        put_args: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        from ..stores.s3 import S3Store

        given = {"client": client, "endpoint_url": endpoint_url, "put_args": put_args}
        super().__init__(S3Store.from_uri(uri, **{name: value for name, value in given.items() if value is not None}), keys, **options)
