"""One governor for a host: one request in flight, its limits kept, its waits obeyed.

| GitHub says                                 | we do                                          |
|---------------------------------------------|------------------------------------------------|
| `x-ratelimit-remaining: 0` with any answer  | no further request before `x-ratelimit-reset`  |
| 403 or 429 with `Retry-After`               | wait that long                                 |
| 403 or 429 that speaks of a rate limit      | wait 60 s, then 120 s, …                       |
| any of these for longer than our patience   | stop: nothing more is asked in this process    |

A harvest has more to do than to sleep for an hour: it stops, and goes on another day. Requests
are made one after the other, as GitHub asks for; its answers take so long that 900 points a
minute are out of reach. Source: docs.github.com, "Rate limits for the REST API" and "Best
practices for using the REST API".
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count

import httpx

from ingest.github.errors import RateLimitError
from kwdb.errors import IngestError

_log = logging.getLogger("kwdb.github")
_NOTABLE_S = 5
_LIMIT_WORDS = (b"rate limit", b"abuse detection", b"RATE_LIMITED")
_LATEST_SECOND = 253402300799  # 9999-12-31T23:59:59Z, where datetime ends


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try, for one request.

    The first three are for answers that may be better next time, the last two for limits.
    """

    attempts: int = 5
    first_wait_s: float = 1.0
    deadline_s: float = 120.0
    secondary_wait_s: float = 60.0
    limit_deadline_s: float = 300.0


class Governor:
    """Lets requests to one host pass, one at a time, as its limits allow."""

    def __init__(
        self,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.patience = patience or Patience()
        self._sleep, self._clock = sleep, clock
        self._in_flight = threading.Lock()
        self._opens_at: dict[str, float] = {}
        self._why = ""
        self._closed: IngestError | None = None

    def send(self, resource: str, call: Callable[[], httpx.Response]) -> httpx.Response:
        """Return the answer of `call`, made when `resource` (core, graphql) has room.

        Raises:
            RateLimitError: GitHub asks to wait for longer than our patience, now or before.
            IngestError: the host was given up earlier in this process.
        """
        left = self.patience.limit_deadline_s
        with self._in_flight:
            for turn in count():
                left -= self._wait(resource, left)
                answer = call()
                self._note_budget(resource, answer)
                if not is_limited(answer):
                    return answer
                if resource not in self._opens_at:
                    wait = _asked_wait(answer, self.patience.secondary_wait_s * 2**turn)
                    self._opens_at[resource] = self._clock() + wait
                    self._why = "GitHub asks to slow down"
        raise AssertionError("unreachable")

    def close(self, error: IngestError) -> None:
        """Let nothing more pass in this process; `error` is what each caller gets."""
        self._closed = self._closed or error

    def _wait(self, resource: str, left: float) -> float:
        """Sleep until `resource` opens and return for how long; give up where `left` is less."""
        if self._closed:
            raise self._closed
        wait = max(0.0, self._opens_at.pop(resource, 0.0) - self._clock())
        if wait > left:
            self.close(self._limit_error(wait))
            return self._wait(resource, left)
        if wait > _NOTABLE_S:
            _log.warning("GitHub asks to wait: going on in %.0f s", wait)
        if wait:
            self._sleep(wait)
        return wait

    def _limit_error(self, wait: float) -> RateLimitError:
        opens = min(self._clock() + wait, _LATEST_SECOND)
        return RateLimitError(self._why, datetime.fromtimestamp(opens, UTC))

    def _note_budget(self, resource: str, answer: httpx.Response) -> None:
        """Remember when a spent budget opens again, by the server's own clock."""
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and _is_number(reset):
            # Clocks tick at different moments; one more second avoids asking too early.
            wait = int(reset) - self._server_time(answer) + 1
            self._opens_at[resource] = self._clock() + wait
            self._why = _spent(answer.headers.get("x-ratelimit-limit"))

    def _server_time(self, answer: httpx.Response) -> float:
        date = _parse_date(answer.headers.get("date", ""))
        return date.timestamp() if date else self._clock()


def _spent(limit: str | None) -> str:
    hint = " (GITHUB_TOKEN raises it to 5000)" if limit == "60" else ""
    return f"GitHub's limit of {limit or 'so many'} requests an hour is reached{hint}"


def is_limited(answer: httpx.Response) -> bool:
    """Whether an answer says "not now": a limit, not a refusal for good."""
    if answer.status_code == 429:
        return True
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status_code == 403 and (spent or "retry-after" in answer.headers):
        return True
    # GraphQL tells of its limit in a document of status 200.
    said = answer.content[:2_000]
    is_suspect = answer.status_code == 403 or (answer.status_code == 200 and spent)
    words = _LIMIT_WORDS if answer.status_code == 403 else _LIMIT_WORDS[-1:]
    return is_suspect and any(word in said for word in words)


def _asked_wait(answer: httpx.Response, otherwise: float) -> float:
    """Return the seconds of Retry-After, which may be a number or a date, or `otherwise`."""
    said = answer.headers.get("retry-after", "")
    if _is_number(said):
        return float(said)
    until = _parse_date(said)
    now = _parse_date(answer.headers.get("date", ""))
    return (until - now).total_seconds() if until and now else otherwise


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 15


def _parse_date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
