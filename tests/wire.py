"""An HTTP proxy on 127.0.0.1 that counts the requests to a real server, and loses, refuses or doubles some of them."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Mischief = Literal["slow_down", "lost_reply", "lost_request", "duplicate", "cut"]


class Wire:
    """What went over the wire, and what goes wrong next.

    Args:
        upstream: the server's port.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.url = ""
        self.seen: list[str] = []
        self.planned: deque[tuple[str, Mischief]] = deque()
        self._lock = threading.Lock()

    def plan(self, *mischief: tuple[str, Mischief]) -> None:
        """Each is for the next request of its method."""
        self.planned.extend(mischief)

    def counts(self) -> dict[str, int]:
        """Requests by kind since the last call: get, put, list, delete."""
        with self._lock:
            seen, self.seen = self.seen, []
        return {kind: seen.count(kind) for kind in dict.fromkeys(seen)}

    def _note(self, method: str, path: str) -> Mischief | None:
        kind = "list" if method == "GET" and "list-type=2" in path else "delete" if method in ("DELETE", "POST") else method.lower()
        with self._lock:
            self.seen.append(kind)
            if self.planned and self.planned[0][0] == kind:
                return self.planned.popleft()[1]
        return None

    def _forward(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=20)
        try:
            connection.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


def _handler(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            mischief = wire._note(self.command, self.path)
            if mischief == "slow_down":
                self._answer(503, [], b"<Error><Code>SlowDown</Code><Message>less often</Message></Error>")
                return
            if mischief == "lost_request":
                self._reset()
                return
            status, headers, data = wire._forward(self, body)
            if mischief == "duplicate":
                status, headers, data = wire._forward(self, body)
            if mischief == "lost_reply":
                self._reset()
                return
            self._answer(status, headers, data, cut=mischief == "cut")

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815 - names of the standard library

        def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, cut: bool = False) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            if cut:
                self._reset()

        def _reset(self) -> None:
            self.wfile.flush()
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def finish(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().finish()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
            """Quiet."""

    return Handler


@contextmanager
def counting(upstream: int) -> Iterator[Wire]:
    """A proxy before a local server."""
    wire = Wire(upstream)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(wire))
    server.daemon_threads = True
    wire.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
