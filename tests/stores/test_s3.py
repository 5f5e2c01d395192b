"""The S3 store keeps the contract on two servers that were not written by one hand, and says what to do when a server refuses."""

from __future__ import annotations

import asyncio
import multiprocessing
import secrets
import threading
import traceback
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from urllib3 import HTTPResponse

from sealpoint.errors import ConfigurationError, StoreAccessError, StoreUnavailableError, StoreUnsupportedError
from sealpoint.stores import S3Versions
from sealpoint.stores.s3 import S3Store, make_client
from tests.s3 import credentials, new_bucket
from tests.services import Service
from tests.stores.contract import StoreContract

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

Server = tuple["S3Client", str]


def _served(service: Service) -> Server:
    """A client, made once since that takes longer than most tests, and a bucket for all of a run's tests."""
    with pytest.MonkeyPatch.context() as patch:
        credentials(patch)
        client = make_client(service.url)
        return client, new_bucket(service, client)


@pytest.fixture(scope="module")
def weed(s3_seaweedfs: Service) -> Server:
    return _served(s3_seaweedfs)


@pytest.fixture(scope="module")
def mock_aws(s3_moto: Service) -> Server:
    return _served(s3_moto)


@pytest.mark.services
class TestOnSeaweedFS(StoreContract):
    keeps_folders = True
    many = 40  # past a page: see the stubbed client below; a thousand small objects take ten seconds here

    @pytest.fixture
    def store(self, weed: Server) -> Iterator[S3Store]:
        client, bucket = weed
        store = S3Store(bucket, f"agents/Prod-{secrets.token_hex(4)}", client=client)
        yield store
        store.close()


@pytest.mark.services
class TestOnMoto(StoreContract):
    many = 40

    @pytest.fixture
    def store(self, mock_aws: Server) -> Iterator[S3Store]:
        client, bucket = mock_aws
        store = S3Store(bucket, secrets.token_hex(4), client=client)
        yield store
        store.close()


class Stub:
    """A client that answers like S3 from a dictionary, and refuses what AWS refuses: batches over 1,000 and keys over 1,024 bytes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.exceptions = type("Exceptions", (), {"NoSuchKey": KeyError})
        self.refuse: tuple[str, int] | None = None
        self.errors: list[dict[str, str]] = []

    def _called(self, name: str, arguments: dict[str, Any]) -> None:
        self.calls.append((name, arguments))
        if len(str(arguments.get("Key", "")).encode()) > 1024:
            raise _client_error("KeyTooLongError", 400)
        if self.refuse is not None:
            raise _client_error(*self.refuse)

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        self._called("put", arguments)
        self.objects[arguments["Key"]] = arguments["Body"]
        return {"ETag": '"e"'}

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self._called("list", arguments)
        start = arguments.get("ContinuationToken", arguments.get("StartAfter", ""))
        keys = sorted(key for key in self.objects if key.startswith(arguments["Prefix"]) and key > start)
        page = keys[: arguments["MaxKeys"]]
        now = datetime.now(UTC)
        return {
            "Contents": [{"Key": key, "Size": 0, "LastModified": now} for key in page],
            "KeyCount": len(page),
            "IsTruncated": len(page) < len(keys),
            "NextContinuationToken": page[-1] if page else "",
        }

    def delete_objects(self, **arguments: Any) -> dict[str, Any]:
        self._called("delete", arguments)
        keys = [item["Key"] for item in arguments["Delete"]["Objects"]]
        if len(keys) > 1000:
            raise _client_error("MalformedXML", 400)
        for key in keys:
            self.objects.pop(key, None)
        return {"Errors": self.errors}


def _client_error(code: str, status: int) -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": "the-secret"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Operation")


def _stubbed(stub: Stub, prefix: str = "", **options: Any) -> S3Store:
    return S3Store("bucket", prefix, client=cast("Any", stub), **options)


def test_listing_and_deleting_take_one_request_for_each_thousand() -> None:
    stub = Stub()
    stub.objects = {f"p/k/{number:04d}": b"" for number in range(2000)}
    store = _stubbed(stub, "p")
    keys = [entry.key for entry in store.list("k/")]
    assert keys == [f"k/{number:04d}" for number in range(2000)]
    store.delete_many(keys)
    assert [name for name, _ in stub.calls] == ["list", "list", "delete", "delete"]
    assert stub.objects == {}


def test_a_limit_is_what_the_server_is_asked_for() -> None:
    stub = Stub()
    stub.objects = {f"k/{number:04d}": b"" for number in range(1500)}
    assert len(list(_stubbed(stub).list("k/", limit=64))) == 64
    assert len(list(_stubbed(stub).list("k/", limit=1200))) == 1200
    assert [arguments["MaxKeys"] for _, arguments in stub.calls] == [64, 1000, 200]


def test_a_key_that_is_too_long_with_its_prefix_is_refused_before_it_is_sent() -> None:
    stub = Stub()
    with pytest.raises(ConfigurationError, match="shorten the prefix"):
        _stubbed(stub, "p" * 200).put("/".join(["s" * 250] * 4), b"")
    assert stub.calls == []


def test_put_args_reach_every_put_and_the_owner_every_call() -> None:
    stub = Stub()
    store = _stubbed(stub, put_args={"ServerSideEncryption": "aws:kms", "Tagging": "a=b", "ExpectedBucketOwner": "123456789012"})
    store.put("k", b"1")
    assert len(list(store.list())) == 1
    store.delete_many(["k"])
    (_, put), (_, listing), (_, delete) = stub.calls
    assert (put["ServerSideEncryption"], put["Tagging"], put["ExpectedBucketOwner"]) == ("aws:kms", "a=b", "123456789012")
    assert listing["ExpectedBucketOwner"] == delete["ExpectedBucketOwner"] == "123456789012"
    assert "Tagging" not in listing
    with pytest.raises(ConfigurationError, match="Body"):
        _stubbed(stub, put_args={"Body": b""})


@pytest.mark.parametrize(
    ("code", "status", "error", "hint"),
    [
        ("NoSuchBucket", 404, StoreAccessError, "make the bucket"),
        ("AccessDenied", 403, StoreAccessError, "grant the permission"),
        ("ExpiredToken", 400, StoreAccessError, "renew"),
        ("SlowDown", 503, StoreUnavailableError, "try later"),
        ("InternalError", 500, StoreUnavailableError, "try later"),
        ("NotImplemented", 501, StoreUnsupportedError, "lacks"),
        ("Unheard", 418, StoreAccessError, "Unheard"),
    ],
)
def test_a_refusal_says_what_to_do_and_nothing_secret(code: str, status: int, error: type[Exception], hint: str) -> None:
    stub = Stub()
    stub.refuse = (code, status)
    with pytest.raises(error) as caught:
        _stubbed(stub).put("k", b"the-secret")
    assert hint in str(caught.value)
    assert "the-secret" not in str(caught.value)


def test_a_batch_that_fails_in_part_is_an_error() -> None:
    stub = Stub()
    stub.errors = [{"Key": "p/k", "Code": "AccessDenied", "Message": "locked"}]
    with pytest.raises(StoreAccessError, match=r"'k'.*Object Lock"):
        _stubbed(stub, "p").delete_many(["k"])
    stub.errors = [{"Key": "p/k", "Code": "SlowDown"}]
    with pytest.raises(StoreUnavailableError):
        _stubbed(stub, "p").delete_many(["k"])


def test_a_store_that_ignores_conditions_is_refused_for_conditional_writes_only() -> None:
    store = _stubbed(Stub())  # its put_object looks at no condition
    store.put("k", b"1")
    for _ in range(2):
        with pytest.raises(StoreUnsupportedError, match="ignores if_absent"):
            store.put("k", b"2", if_absent=True)
    assert [entry.key for entry in store.list()] == ["k"]


def test_the_client_made_here_asks_for_no_permission_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    client = make_client("http://127.0.0.1:9")
    seen: dict[str, str] = {}

    def look(request: Any, **_: Any) -> Any:
        seen.update({name.lower(): str(value) for name, value in request.headers.items()})
        headers: Any = {"ETag": '"e"'}
        return AWSResponse(request.url, 200, headers, HTTPResponse(BytesIO(b""), preload_content=False))

    client.meta.events.register("before-send.s3.PutObject", look)
    store = S3Store("bucket", client=client)
    store.put("k", b"1")
    assert "expect" not in seen
    assert not any("checksum" in name for name in seen)


@pytest.mark.services
def test_a_child_made_by_fork_has_connections_of_its_own(s3_seaweedfs: Service, weed: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    store = S3Store(weed[1], f"fork-{secrets.token_hex(4)}", endpoint_url=s3_seaweedfs.url)
    asyncio.run(store.aput("parent", b"1"))
    unused = S3Store(weed[1], store.prefix.rstrip("/"), endpoint_url=s3_seaweedfs.url)
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking with threads: that is what is tried here
        child = context.Process(target=_in_child, args=(store, unused))
        child.start()
    for number in range(5):
        store.put(f"p{number}", b"%d" % number)
        assert store.get(f"p{number}").data == b"%d" % number
    child.join(30)
    assert child.exitcode == 0
    assert store.get("child").data == b"2"


def _in_child(store: S3Store, unused: S3Store) -> None:
    assert unused.get("parent").data == store.get("parent").data == b"1"
    asyncio.run(store.aput("child", b"2"))
    for _ in range(5):
        assert asyncio.run(store.aget("child")).data == b"2"


def test_a_child_forked_while_conditions_are_tried_tries_them_itself() -> None:
    class Slow(Stub):
        begun, go_on = threading.Event(), threading.Event()

        def put_object(self, **arguments: Any) -> dict[str, Any]:
            if threading.current_thread() is trying:
                self.begun.set()
                assert self.go_on.wait(20)
            return super().put_object(**arguments)

    def refused() -> None:
        with pytest.raises(StoreUnsupportedError, match="ignores if_absent"):
            store.put("k", b"2", if_absent=True)

    slow = Slow()
    store = _stubbed(slow)
    trying = threading.Thread(target=refused)
    trying.start()
    assert slow.begun.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # as above
        child = multiprocessing.get_context("fork").Process(target=refused)
        child.start()
    child.join(20)
    code = child.exitcode
    child.kill()
    slow.go_on.set()
    trying.join(20)
    assert code == 0


@pytest.mark.parametrize("uri", ["s3:///x", "s3://b/p?x=1", "s3://b/p#f", "http://b/p"])
def test_what_is_no_s3_uri_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="not an S3 URI"):
        S3Store.from_uri(uri)


@pytest.mark.parametrize("uri", ["s3://b/p?nonsense=the-secret", "s3://b/p?nonsense", "s3://b/p?endpoint_url=http://h&nonsense=1"])
def test_an_option_that_no_s3_uri_has_is_named(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="no option 'nonsense', only") as caught:
        S3Store.from_uri(uri)
    assert "the-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("put_args", "told"),
    [
        ({"Nonsense": "the-secret"}, "there is no parameter Nonsense"),
        ({"StorageClass": ("the-secret",)}, "not a value for StorageClass"),
        ({"CacheControl": ["the-secret"], "Nonsense": 1}, "there is no parameter Nonsense; not a value for CacheControl"),
    ],
)
def test_arguments_that_s3_does_not_take_are_named_without_their_values(
    put_args: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials(monkeypatch)
    store = S3Store("bucket", endpoint_url="http://127.0.0.1:9", put_args=put_args)
    with pytest.raises(ConfigurationError) as caught:
        store.put("a", b"1")
    assert told in str(caught.value)
    assert "was not sent" in str(caught.value)
    assert "the-secret" not in "".join(traceback.format_exception(caught.value))


def test_old_versions_are_looked_for_on_the_server_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    found = S3Versions(S3Store("bucket", endpoint_url="http://127.0.0.1:9"))
    assert found._client.meta.endpoint_url == "http://127.0.0.1:9"


def test_a_bucket_that_cannot_be_one_is_a_mistake_too(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials(monkeypatch)
    store = S3Store("not a bucket", endpoint_url="http://127.0.0.1:9", engine="boto3")
    with pytest.raises(ConfigurationError, match="refuses the bucket"):
        store.get("a")


def test_the_stores_of_the_extra_are_where_the_others_are() -> None:
    from sealpoint import stores
    from sealpoint.stores.s3versions import S3Versions as Same

    assert (stores.S3Store, S3Versions) == (S3Store, Same)
    with pytest.raises(ImportError, match="S4Store"):
        from sealpoint.stores import S4Store  # type: ignore[attr-defined] # noqa: F401 - it is not there


@pytest.mark.parametrize("prefix", ["a//b", "a/../b", "./a"])
def test_a_prefix_that_servers_would_change_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match="no empty or dot segments"):
        S3Store("b", prefix)
