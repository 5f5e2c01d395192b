"""What a server answers is one error, whichever of both libraries it came through; and it is one that the seam names."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

pytest.importorskip("boto3", reason="boto3 is not installed (extra s3)")
pytest.importorskip("obstore", reason="obstore is not installed (extra s3)")

from sealpoint.errors import ConflictError, NotFoundError, SealpointError, StoreAccessError, StoreUnavailableError
from sealpoint.stores.s3 import S3Store
from tests.s3 import credentials

pytestmark = pytest.mark.services


class Server(http.server.BaseHTTPRequestHandler):
    """Gives one answer to all requests."""

    protocol_version = "HTTP/1.1"
    answer: ClassVar[tuple[int, str]] = (200, "")

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, code = self.answer
        body = f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode() if code else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET  # noqa: N815 - the library's name

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(20)


PUT: dict[str, dict[str, Any]] = {"put": {}, "put if absent": {"if_absent": True}, "put if the same": {"if_match": '"e"'}}
ANSWERS: list[tuple[int, str, str, type[SealpointError]]] = [
    (409, "OperationAborted", "put", StoreUnavailableError),
    (409, "OperationAborted", "put if absent", StoreUnavailableError),
    (409, "", "put", StoreUnavailableError),
    (409, "ConditionalRequestConflict", "put if absent", ConflictError),
    (404, "", "get", NotFoundError),
    (404, "NoSuchKey", "get", NotFoundError),
    (404, "", "put", StoreAccessError),
    (404, "NoSuchKey", "put", StoreAccessError),
    (404, "", "put if absent", StoreAccessError),
    (404, "", "put if the same", ConflictError),
    (404, "NoSuchKey", "put if the same", ConflictError),
    (404, "NoSuchBucket", "get", StoreAccessError),
    (404, "NoSuchBucket", "put if the same", StoreAccessError),
    (412, "PreconditionFailed", "put if absent", ConflictError),
    (412, "", "put if the same", ConflictError),
    (403, "", "put", StoreAccessError),
]


def asked(store: S3Store, operation: str) -> None:
    store._conditions = "kept"  # what is tried elsewhere
    if operation == "get":
        store.get("k")
    else:
        store.put("k", b"1", **PUT[operation])


@pytest.mark.parametrize("engine", ["auto", "boto3"])
@pytest.mark.parametrize(("status", "code", "operation", "error"), ANSWERS)
def test_an_answer_is_the_same_error_through_both(
    url: str, monkeypatch: pytest.MonkeyPatch, engine: Any, status: int, code: str, operation: str, error: type[SealpointError]
) -> None:
    credentials(monkeypatch)
    monkeypatch.setattr(Server, "answer", (status, code))
    store = S3Store("bucket", endpoint_url=url, engine=engine)
    with pytest.raises(error) as caught:
        asked(store, operation)
    assert type(caught.value) is error
    store.close()


@pytest.mark.parametrize("code", ["PermanentRedirect", ""])
@pytest.mark.parametrize("operation", ["get", *PUT])
def test_a_bucket_in_another_region_is_no_passing_fault(url: str, monkeypatch: pytest.MonkeyPatch, code: str, operation: str) -> None:
    """Through obstore; boto3 looks for the region by itself."""
    credentials(monkeypatch)
    monkeypatch.setattr(Server, "answer", (301, code))
    store = S3Store("bucket", endpoint_url=url)
    with pytest.raises(StoreAccessError, match="region"):
        asked(store, operation)
    store.close()
