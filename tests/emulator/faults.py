"""What goes wrong: kinds of faults, and at which requests they strike."""

import json
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    """What the server sends; `break_after` bytes of it where the connection is to break."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    break_after: int | None = None
    delay_s: float = 0.0


@dataclass
class Fault:
    """Strikes the next `times` requests whose path contains `where`, after `skip` of them."""

    kind: str
    times: int = 1
    skip: int = 0
    where: str = ""

    def strikes(self, path: str) -> bool:
        if self.where not in path or self.times <= 0:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


def _error(status: int, message: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps({"message": message}).encode(), named)


def spoil(kind: str, reply: Reply, now: int) -> Reply:
    """Return what the client gets in the place of `reply`; `now` is the server's time."""
    spent = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(now + 7)}
    hour = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(now + 3_600)}
    secondary = "You have exceeded a secondary rate limit."
    made = {
        "bad_gateway": lambda: Reply(502, b"<html>Bad Gateway</html>"),
        "server_error": lambda: _error(500, "Server Error"),
        "retry_after": lambda: _error(403, secondary, retry_after="3"),
        "secondary": lambda: _error(403, secondary),
        "too_many": lambda: _error(429, "Too many requests", retry_after="2"),
        "exhausted": lambda: _error(403, "API rate limit exceeded for 192.0.2.1.", **spent),
        "exhausted_for_an_hour": lambda: _error(403, "API rate limit exceeded.", **hour),
        "gone": lambda: _error(422, "after is not a valid cursor"),
        "unauthorized": lambda: _error(401, "Bad credentials"),
        "object": lambda: Reply(200, b'{"message": "hello"}'),
        "null": lambda: Reply(200, b"null"),
        "null_items": lambda: Reply(200, _with_holes(reply.body), reply.headers),
        "truncated": lambda: Reply(200, reply.body[: len(reply.body) // 2], reply.headers),
        "reset": lambda: Reply(200, reply.body, reply.headers, len(reply.body) // 2),
        "slow": lambda: Reply(reply.status, reply.body, reply.headers, delay_s=0.05),
        "errors": lambda: Reply(200, b'{"data": null, "errors": [{"message": "Oops"}]}'),
        "null_nodes": lambda: Reply(200, _with_null_nodes(reply.body), reply.headers),
    }
    return made[kind]()


REST_FAULTS = (
    *("bad_gateway", "server_error", "retry_after", "secondary", "too_many", "exhausted"),
    *("object", "null", "null_items", "truncated", "reset", "slow"),
)


def _with_holes(body: bytes) -> bytes:
    items = json.loads(body or b"[]")
    return json.dumps([None, *items[1:]] if isinstance(items, list) else None).encode()


def _with_null_nodes(body: bytes) -> bytes:
    """As GitHub gives it up: every node null, an error for each, status 200."""
    answer = json.loads(body)
    repository = (answer.get("data") or {}).get("repository") or {}
    error = {"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits exceeded."}
    nodes = dict.fromkeys(repository)
    return json.dumps({"data": {"repository": nodes}, "errors": [error] * len(nodes)}).encode()
