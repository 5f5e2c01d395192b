"""Amazon S3 and what speaks its API, through boto3; where it can, gets and puts go through obstore, which docs/decisions explain."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from ..errors import ConfigurationError, MissingExtraError, StoreUnavailableError, StoreUnsupportedError
from .base import BATCH, MAX_KEY_BYTES, Listed, Stored, check_condition, check_key
from .blocking import DEFAULT_THREADS, BlockingStore
from .probe import require_conditional_writes

try:
    import boto3
    import botocore.config
    import botocore.handlers
    import botocore.session
except ImportError as exc:
    raise MissingExtraError("S3 needs boto3: pip install 'sealpoint[s3]'") from exc

from ..locks import ForkSafeLock
from . import s3fast
from .s3errors import etag_of, of_code, translated
from .s3fast import FastObjects

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_ATTEMPTS: Final = 8  # botocore waits a random time up to 2^n s, 20 s at most, between them when throttled, 50 ms x 2^n otherwise
_READ_ATTEMPTS: Final = 3  # an answer that breaks off in its body is no longer botocore's to retry
_EVERY_CALL: Final = ("ExpectedBucketOwner", "RequestPayer")
_CUSTOMER_KEY: Final = ("SSECustomerAlgorithm", "SSECustomerKey", "SSECustomerKeyMD5")


class S3Store(BlockingStore):
    """An `ObjectStore` in a bucket. Safe in threads; without a client of the caller's, also after fork.

    Permissions: `s3:GetObject`, `s3:PutObject`, `s3:ListBucket`, `s3:DeleteObject` (docs/object-store.md has policies for each role).

    Args:
        bucket: its name.
        prefix: put before every key; "" or segments joined by ``/``.
        client: a boto3 S3 client, used as it is. Without one, a client is made that does not wait for ``100 Continue``, sends and checks
            only the checksums that are required (S3-compatible servers lack others), and retries throttling and passing faults with
            jitter.
        endpoint_url: for S3-compatible servers; only without `client`.
        put_args: added to every PutObject: ``ServerSideEncryption``, ``SSEKMSKeyId``, ``StorageClass``, ``Tagging``,
            ``ExpectedBucketOwner``, … ``ExpectedBucketOwner``, ``RequestPayer`` and ``SSECustomer…`` are added to the other calls as
            well.
        threads: how many requests may be in flight.
        engine: ``auto`` sends gets, and puts without `put_args`, through obstore where it is installed and `client` is not given; ``boto3``
            sends everything through boto3.

    Raises:
        ConfigurationError: a name or combination that cannot work.
        MissingExtraError: boto3 is not installed.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        client: S3Client | None = None,
        endpoint_url: str | None = None,
        put_args: Mapping[str, Any] | None = None,
        threads: int = DEFAULT_THREADS,
        engine: Literal["auto", "boto3"] = "auto",
    ) -> None:
        super().__init__(threads)
        if not bucket or "/" in bucket:
            raise ConfigurationError(f"not a bucket's name: {bucket!r}")
        if client is not None and endpoint_url is not None:
            raise ConfigurationError("endpoint_url is for the client that is made here; a client of yours has its own")
        if refused := {"Bucket", "Key", "Body", "IfMatch", "IfNoneMatch"} & set(put_args or {}):
            raise ConfigurationError(f"put_args cannot contain {', '.join(sorted(refused))}: the store sets them")
        self.bucket = bucket
        self.prefix = _checked_prefix(prefix)
        self._given = client
        self.endpoint_url = endpoint_url
        self._put_args = dict(put_args or {})
        self._common = {name: self._put_args[name] for name in _EVERY_CALL if name in self._put_args}
        self._get_args = {name: self._put_args[name] for name in (*_EVERY_CALL, *_CUSTOMER_KEY) if name in self._put_args}
        self._lock = ForkSafeLock()
        self._probe_lock = ForkSafeLock()
        self._probing = (0, 0)
        self._own: S3Client | None = None
        self._own_pid = 0
        self._engine = engine
        self._fast_objects: FastObjects | None = None
        self._started = False
        self._conditions: Literal["unknown", "kept"] | StoreUnsupportedError = "unknown"

    @classmethod
    def from_uri(cls, uri: str, **options: Any) -> S3Store:
        """The store of ``s3://bucket/prefix``; ``?endpoint_url=http://…`` for an S3-compatible server.

        Raises:
            ConfigurationError: the URI is of another form, or has an option that is not known.
        """
        parts = urlsplit(uri)
        query = parse_qs(parts.query, keep_blank_values=True)
        endpoint = query.pop("endpoint_url", [None])[-1]
        if parts.scheme == "s3" and query:
            raise ConfigurationError(
                f"not an S3 URI: it has no option {', '.join(sorted(map(repr, query)))}, only ?endpoint_url=…; give the rest as arguments, "
                "such as put_args="
            )
        if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc or endpoint == "" or parts.fragment:
            # Not shown: somebody may have put credentials there.
            raise ConfigurationError(
                "not an S3 URI; write s3://bucket/prefix, with ?endpoint_url=… for an S3-compatible server, and leave credentials to boto3"
            )
        if endpoint is not None:
            options.setdefault("endpoint_url", endpoint)
        return cls(parts.netloc, unquote(parts.path), **options)

    # --- the seam -------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Stored:
        """See `sealpoint.stores.Gets.get`."""
        full = self._full(key)
        if (fast := self._fast()) is not None:
            return fast.get(full)
        for attempt in range(1, _READ_ATTEMPTS + 1):
            try:
                with translated("s3:GetObject", key):
                    response = self._client().get_object(Bucket=self.bucket, Key=full, **self._get_args)
                    return Stored(response["Body"].read(), etag_of(response))
            except StoreUnavailableError:
                if attempt == _READ_ATTEMPTS:
                    raise
        raise AssertionError  # unreachable: the loop returns or raises

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """See `sealpoint.stores.Puts.put`. The first conditional write tries out whether the bucket keeps conditions."""
        check_condition(if_absent, if_match)
        full = self._full(key)
        condition: dict[str, Any] = {}
        if if_absent:
            condition = {"IfNoneMatch": "*"}
        elif if_match is not None:
            condition = {"IfMatch": if_match}
        if condition:
            self._require_conditions()
        if not self._put_args and (fast := self._fast()) is not None:
            return fast.put(full, data, if_absent, if_match)
        with translated("s3:PutObject", key, matching=if_match is not None):
            return etag_of(self._client().put_object(Bucket=self.bucket, Key=full, Body=data, **self._put_args, **condition))

    async def aget(self, key: str) -> Stored:
        """As `get`, without blocking the event loop: on obstore's threads where it is there, else on this store's."""
        full = self._full(key)
        fast = self._fast() if self._started else await self._in_thread(self._fast)
        return await super().aget(key) if fast is None else await fast.aget(full)

    async def aput(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        """As `put`, without blocking the event loop; see `aget`."""
        full = self._full(key)
        fast = self._fast() if self._started else await self._in_thread(self._fast)
        if fast is None or self._put_args or if_absent or if_match is not None:  # conditions are rare, and may have to be tried first
            return await super().aput(key, data, if_absent=if_absent, if_match=if_match)
        return await fast.aput(full, data, False, None)

    def list(self, prefix: str = "", *, start_after: str = "", limit: int | None = None) -> Iterator[Listed]:
        """See `sealpoint.stores.Lists.list`."""
        yield from self._listed(prefix, start_after, limit)

    def folders(self, prefix: str = "", *, start_after: str = "") -> Iterator[str]:
        """See `sealpoint.stores.Lists.folders`."""
        token: dict[str, Any] = {}
        while True:
            with translated("s3:ListBucket", prefix):
                page = self._client().list_objects_v2(
                    Bucket=self.bucket, Prefix=self.prefix + prefix, Delimiter="/", **token, **self._common
                )
            names = [common["Prefix"][len(self.prefix) + len(prefix) : -1] for common in page.get("CommonPrefixes", ())]
            names = [name for name in names if name > start_after]
            if page["ResponseMetadata"]["HTTPHeaders"].get("server") == "AmazonS3":
                yield from names
            else:
                yield from self._not_empty(prefix, names)
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def delete_many(self, keys: Iterable[str]) -> None:
        """See `sealpoint.stores.Deletes.delete_many`."""
        every = iter([(key, self._full(key)) for key in keys])
        while batch := tuple(islice(every, BATCH)):
            with translated("s3:DeleteObject", batch[0][0]):
                answer = self._client().delete_objects(
                    Bucket=self.bucket, Delete={"Objects": [{"Key": full} for _, full in batch], "Quiet": True}, **self._common
                )
            for error in answer.get("Errors", ()):
                if (code := error.get("Code", "")) not in ("NoSuchKey", "NotFound"):
                    raise of_code("s3:DeleteObject", error.get("Key", "")[len(self.prefix) :], code)

    def close(self) -> None:
        """Gives back threads and connections; a later call makes new ones."""
        super().close()
        with self._lock:
            own, self._own = self._own, None
        if own is not None and self._own_pid == os.getpid():
            own.close()

    def __repr__(self) -> str:
        return f"S3Store({self.bucket!r}, {self.prefix.rstrip('/')!r})"

    # --- inside ---------------------------------------------------------------------------------------------------

    def _listed(self, prefix: str, start_after: str, limit: int | None) -> Iterator[Listed]:
        at: dict[str, Any] = {"StartAfter": self.prefix + start_after} if start_after else {}
        while limit is None or limit > 0:
            want = BATCH if limit is None else min(BATCH, limit)
            with translated("s3:ListBucket", prefix):
                page = self._client().list_objects_v2(Bucket=self.bucket, Prefix=self.prefix + prefix, MaxKeys=want, **at, **self._common)
            for found in page.get("Contents", ()):
                yield Listed(found["Key"][len(self.prefix) :], found["Size"], _seconds(found["LastModified"]))
            if not page.get("IsTruncated"):
                return
            limit = None if limit is None else limit - page.get("KeyCount", want)
            at = {"ContinuationToken": page["NextContinuationToken"]}

    def _not_empty(self, prefix: str, names: Sequence[str]) -> Iterator[str]:
        """Those folders that hold an object: some S3-compatible servers go on listing one after its last object was removed."""

        def holds_something(name: str) -> bool:
            return next(self._listed(f"{prefix}{name}/", "", 1), None) is not None

        with ThreadPoolExecutor(min(self._threads, len(names) or 1)) as pool:  # not the callers' own: this may run in one of its threads
            for name, holds in zip(names, pool.map(holds_something, names), strict=True):
                if holds:
                    yield name

    def _full(self, key: str) -> str:
        full = self.prefix + check_key(key)
        if len(full.encode()) > MAX_KEY_BYTES:
            raise ConfigurationError(
                f"a key is {len(full.encode())} bytes with the store's prefix; S3 takes {MAX_KEY_BYTES}: shorten the prefix"
            )
        return full

    def _require_conditions(self) -> None:
        """Tries conditional writes once for this bucket; a store that ignores them is refused for what needs them."""
        this_thread = (os.getpid(), threading.get_ident())
        if self._probing == this_thread:
            return  # the trial's own writes come through here as well
        with self._probe_lock:
            if self._conditions == "unknown":
                self._probing = this_thread
                try:
                    require_conditional_writes(self)
                except StoreUnsupportedError as exc:
                    self._conditions = exc
                else:
                    self._conditions = "kept"
                finally:
                    self._probing = (0, 0)
        if isinstance(self._conditions, StoreUnsupportedError):
            raise StoreUnsupportedError(str(self._conditions)) from self._conditions

    def _fast(self) -> FastObjects | None:
        """What gets and puts go through, or None for boto3: with the caller's client, with settings obstore lacks, and after a fork."""
        if not self._started:
            client = self._client()
            with self._lock:
                if (
                    not self._started
                    and self._given is None
                    and self._engine == "auto"
                    and s3fast.available(client, self.endpoint_url)
                    and not self._get_args
                ):
                    self._fast_objects = FastObjects(client, self.bucket, self.endpoint_url)
                self._started = True
        return self._fast_objects if self._fast_objects is not None and self._fast_objects.usable else None

    def _client(self) -> S3Client:
        """The caller's client, or one of this process's own: a child made by fork must not share its parent's connections."""
        if self._given is not None:
            return self._given
        if self._own is None or self._own_pid != os.getpid():
            with self._lock:
                if self._own is None or self._own_pid != os.getpid():
                    self._own = make_client(self.endpoint_url, self._threads)
                    self._own_pid = os.getpid()
        return self._own


def make_client(endpoint_url: str | None = None, threads: int = DEFAULT_THREADS) -> S3Client:
    """The S3 client that is used when none is given.

    Args:
        endpoint_url: for S3-compatible servers.
        threads: connections that are kept open.
    """
    config = botocore.config.Config(
        max_pool_connections=threads,
        connect_timeout=10,
        read_timeout=60,
        tcp_keepalive=True,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"} if endpoint_url else None,
    )
    core = botocore.session.Session()
    # A listing has a timestamp in every line; botocore's own parser takes two thirds of the time of a listing for them.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    client: S3Client = boto3.session.Session(botocore_session=core).client("s3", endpoint_url=endpoint_url, config=config)
    # Otherwise every PUT waits one more round trip for the server to say that it may go on.
    client.meta.events.unregister("before-call.s3", botocore.handlers.add_expect_header)
    return client


def _seconds(timestamp: datetime | str) -> float:
    """Seconds since 1970; our own client hands timestamps on as they came, in the form of ISO 8601."""
    return (datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp).timestamp()


def _checked_prefix(prefix: str) -> str:
    bare = prefix.strip("/")
    if any(segment in ("", ".", "..") for segment in bare.split("/")) and bare:
        raise ConfigurationError(f"a prefix has no empty or dot segments: {prefix!r}")
    return f"{bare}/" if bare else ""
