"""Gets and puts through obstore, a tenth of boto3's work for each; it lists and deletes nothing, and it serves one process.

obstore runs its requests on threads of its own in Rust, which all stores of a process share. They do not survive a fork: a child of a
process that has used obstore would hang (tried), whatever store it is, so there `usable` and `available` are False and boto3 takes over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..errors import StoreAccessError, StoreUnavailableError
from .base import Stored
from .s3errors import of_code

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
    from obstore.store import S3Store as Obstore
except ImportError:  # the extra brings it; boto3 alone does
    obstore = None  # type: ignore[assignment] # `available` tells

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from mypy_boto3_s3.client import S3Client
    from obstore.store import S3Credential

_MAX_RETRIES: Final = 8
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_REDIRECT: Final = "redirect without LOCATION"  # obstore's words for a bucket in another region
_OF_THE_BUCKET: Final = frozenset({"NoSuchBucket", "OperationAborted"})  # they say nothing of the object
_STATUS: Final = re.compile(r"status code: (\d{3})")
_CREDENTIALS_LIVE: Final = timedelta(minutes=5)  # then boto3 is asked again: it renews them by itself


_threads: Final = {"started": False, "lost": False}  # obstore's: in this process, and by a fork


def _note_fork() -> None:
    _threads["lost"] = _threads["lost"] or _threads["started"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def available(client: S3Client, endpoint_url: str | None) -> bool:
    """Whether gets and puts can go through obstore: it knows nothing of boto3's CA bundle, FIPS and dual-stack settings."""
    config = client.meta.config
    special = getattr(config, "use_fips_endpoint", None) or getattr(config, "use_dualstack_endpoint", None)
    own_authority = bool(os.environ.get("AWS_CA_BUNDLE")) and not (endpoint_url or "").startswith("http://")
    return obstore is not None and not _threads["lost"] and not special and not own_authority and _credentials(client) is not None


class FastObjects:
    """Objects of one bucket.

    Args:
        client: a boto3 client whose credentials, region and endpoint are used.
        bucket: its name.
        endpoint_url: as it was given for the client, or None for Amazon's own.
    """

    def __init__(self, client: S3Client, bucket: str, endpoint_url: str | None) -> None:
        self._pid = os.getpid()
        _threads["started"] = True
        credentials = _credentials(client)
        if credentials is None:
            raise StoreAccessError("there are no credentials for S3")
        options: dict[str, Any] = {"endpoint": endpoint_url} if endpoint_url else {}
        self._store = Obstore(
            bucket,
            region=client.meta.region_name,
            virtual_hosted_style_request=endpoint_url is None and "." not in bucket,
            credential_provider=_Provider(credentials),
            client_options={
                "allow_http": bool(endpoint_url and endpoint_url.startswith("http://")),
                "timeout": "60s",
                "connect_timeout": "10s",
            },
            retry_config={"max_retries": _MAX_RETRIES, "retry_timeout": timedelta(seconds=60)},
            **options,
        )

    @property
    def usable(self) -> bool:
        """False in a child made by fork."""
        return self._pid == os.getpid()

    def get(self, key: str) -> Stored:
        """See `sealpoint.stores.Gets.get`."""
        with _translated("s3:GetObject", key):
            answer = obstore.get(self._store, key)
            return Stored(bytes(answer.bytes()), str(answer.meta["e_tag"]))

    async def aget(self, key: str) -> Stored:
        """As `get`, without blocking the event loop."""
        with _translated("s3:GetObject", key):
            answer = await obstore.get_async(self._store, key)
            return Stored(bytes(await answer.bytes_async()), str(answer.meta["e_tag"]))

    def put(self, key: str, data: bytes, if_absent: bool, if_match: str | None) -> str:
        """See `sealpoint.stores.Puts.put`."""
        with _translated("s3:PutObject", key, conditional=if_absent or if_match is not None, matching=if_match is not None):
            return str(obstore.put(self._store, key, data, mode=_mode(if_absent, if_match), use_multipart=False)["e_tag"])

    async def aput(self, key: str, data: bytes, if_absent: bool, if_match: str | None) -> str:
        """As `put`, without blocking the event loop."""
        with _translated("s3:PutObject", key, conditional=if_absent or if_match is not None, matching=if_match is not None):
            answer = await obstore.put_async(self._store, key, data, mode=_mode(if_absent, if_match), use_multipart=False)
            return str(answer["e_tag"])


class _Provider:
    """boto3's credentials, renewed by boto3."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def __call__(self) -> S3Credential:
        frozen = self._credentials.get_frozen_credentials()
        return {
            "access_key_id": str(frozen.access_key),
            "secret_access_key": str(frozen.secret_key),
            "token": frozen.token,
            "expires_at": datetime.now(UTC) + _CREDENTIALS_LIVE,
        }

    def __repr__(self) -> str:
        return "<credentials>"


def _credentials(client: S3Client) -> Credentials | None:
    signer = getattr(client, "_request_signer", None)  # boto3 has no public way from a client to its credentials
    return getattr(signer, "_credentials", None)


def _mode(if_absent: bool, if_match: str | None) -> Any:
    if if_absent:
        return "create"
    return "overwrite" if if_match is None else {"e_tag": if_match}


@contextmanager
def _translated(operation: str, key: str, *, conditional: bool = False, matching: bool = False) -> Iterator[None]:
    """Obstore's errors as ours: the server's answer is in their text only, so the code is read out of it; the text is not passed on.

    Their classes go by the status alone: 409 is "already exists" also where nothing had to be absent, 404 with a condition is "changed"
    also where the bucket is missing.
    """
    try:
        yield
    except (BaseError, FileNotFoundError, OSError) as exc:
        text = str(exc)
        code, status = _CODE.search(text), _STATUS.search(text)
        number = int(status[1]) if status else 0
        found = code[1] if code else ""
        if conditional and found not in _OF_THE_BUCKET and isinstance(exc, (AlreadyExistsError, PreconditionError)):
            raise of_code(operation, key, "PreconditionFailed", number) from None
        if found or number:
            raise of_code(operation, key, found or str(number), number, matching=matching) from None
        if _REDIRECT in text:
            raise of_code(operation, key, "PermanentRedirect", 301) from None
        raise StoreUnavailableError(f"{operation} of {key!r} had no answer; it may or may not have happened") from None
