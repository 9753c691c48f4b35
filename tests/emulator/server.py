"""The socket: limits per token, ETags, faults, and what happens between two requests."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from emulator.faults import Fault, Reply, spoil
from emulator.graphql import answer_graphql, count_of
from emulator.rest import answer_rest, etag_of
from emulator.world import World

WITH_TOKEN, WITHOUT_TOKEN = 5_000, 60


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    token: str | None
    status: int
    headers: dict[str, str] = field(repr=False)


class Emulator:
    """A GitHub that a test scripts: `faults` to come, `between` two requests, `requests` seen.

    `between` is called with the number of requests answered so far, before the next one.
    """

    def __init__(self, world: World | None = None, *, per_page_limit: int = 100) -> None:
        self.world = world or World()
        self.per_page_limit = per_page_limit
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.between: Callable[[int], None] = lambda _count: None
        self.largest_query = 10**6
        self.budget: int | None = None
        self.on_exit: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator["Emulator"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            for end in self.on_exit:
                end()
            self._server.shutdown()
            self._server.server_close()

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def forget(self) -> None:
        """Begin to count anew."""
        self.requests.clear()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        with self._lock:
            self.between(len(self.requests))
            token = headers.get("authorization", "").removeprefix("Bearer ") or None
            reply = self._reply(method, path, headers, token, body)
            for fault in self.faults:
                if fault.strikes(path):
                    reply = spoil(fault.kind, reply, int(self.clock()))
                    break
            self.requests.append(Request(method, path, token, reply.status, headers))
            return replace(reply, headers=self._limits(token, reply) | reply.headers)

    def clock(self) -> float:
        return time.time()

    def _reply(
        self, method: str, path: str, headers: dict[str, str], token: str | None, body: bytes
    ) -> Reply:
        if method == "POST" and path == "/graphql":
            return self._graphql(token, json.loads(body))
        reply = answer_rest(self.world, path, self.url, per_page_limit=self.per_page_limit)
        if reply.status != 200:
            return reply
        etag = etag_of(reply.body, token)
        if headers.get("if-none-match") == etag:
            return Reply(304, b"", {"etag": etag})
        return replace(reply, headers=reply.headers | {"etag": etag})

    def _graphql(self, token: str | None, request: dict[str, Any]) -> Reply:
        if token is None:
            return Reply(401, b'{"message": "This endpoint requires you to be authenticated."}')
        reply = answer_graphql(self.world, request)
        if count_of(request) > self.largest_query:
            return spoil("null_nodes", reply, int(self.clock()))
        return reply

    def _limits(self, token: str | None, reply: Reply) -> dict[str, str]:
        limit = WITH_TOKEN if token else WITHOUT_TOKEN
        if self.budget is not None and reply.status != 304:
            self.budget -= 1
        left = max(0, self.budget) if self.budget is not None else limit - 1
        return {
            "x-ratelimit-limit": str(limit),
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-reset": str(int(self.clock()) + 1_800),
        }

    def _handler(emulator) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._serve("GET", b"")

            def do_POST(self) -> None:
                self._serve("POST", self.rfile.read(int(self.headers["content-length"])))

            def _serve(self, method: str, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = emulator.answer(method, self.path, headers, body)
                time.sleep(reply.delay_s)
                lines = {"content-type": "application/json", "content-length": len(reply.body)}
                lines |= {"date": formatdate(emulator.clock(), usegmt=True)}
                head = "".join(f"{n}: {v}\r\n" for n, v in (lines | reply.headers).items())
                whole = f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + reply.body
                if reply.break_after is None:
                    self.wfile.write(whole)
                else:
                    self._break(whole[: len(whole) - len(reply.body) + reply.break_after])

            def _break(self, part: bytes) -> None:
                self.wfile.write(part)
                # Linger 0: close() sends a reset instead of an orderly end.
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                self.connection.close()

            def log_message(self, *_: object) -> None:
                pass

        return Handler
