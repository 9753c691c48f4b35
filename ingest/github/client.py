"""One exchange with GitHub: conditional, governed, retried, and checked before it is believed.

Links of answers are followed, never built, and only on the host that was asked first: the token
goes nowhere else. Pages of a list are lists of objects; anything else is a failure, never an
empty page. The version of the API is pinned, because the next one drops `merge_commit_sha`.

Source: docs.github.com, "Best practices for using the REST API", "API versions".
"""

import json
import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import stamina
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

from ingest.github.errors import PassingError, PayloadError, RefusedError
from ingest.github.governor import Governor
from ingest.github.token import token_id
from kwdb import __version__
from kwdb.errors import ConfigError, IngestError

API_VERSION = "2022-11-28"

_log = logging.getLogger("kwdb.github")
_LINK = re.compile(r'<([^<>]*)>\s*;\s*rel="(\w+)"')
_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_LONGEST_ANSWER_S = 300.0
_LARGEST_ANSWER = 64 << 20
_HOPS = 5
_PASSING = frozenset({408, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 307, 308})
_MEANINGS = {
    401: "the token is not accepted: renew GITHUB_TOKEN, or unset it",
    403: "that is not allowed with this token",
    404: "there is no such thing, or this token may not see it",
    410: "it is gone",
    422: "it does not serve that page",
    451: "it is withheld for legal reasons",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub said: `data` is None when nothing has changed (304).

    `next` is the path of the next page, `last_page` the number of the last one where GitHub tells;
    `has_moved` is true when the answer came from another path than was asked.
    """

    data: Any
    etag: str | None = None
    next: str | None = None
    last_page: int | None = None
    has_moved: bool = False


class GitHub:
    """A client for one API, with or without a token; counts its `requests`."""

    def __init__(
        self, base_url: str, token: str | None = None, governor: Governor | None = None
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("KWDB_GITHUB_API_URL must be of the form https://HOST[/PATH]")
        self._origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._prefix = parts.path.rstrip("/")
        self.governor = governor or Governor()
        self.has_token = token is not None
        self.token_id = token_id(token)
        self.requests = 0
        self._token = token
        self._http = httpx.Client(headers=_headers(token), timeout=_TIMEOUT, verify=_certificates())

    def __repr__(self) -> str:
        return f"GitHub({self._origin}{self._prefix})"

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, etag: str | None = None) -> Answer:
        """Return one object; `path` begins with a slash, below the API's address.

        Raises:
            IngestError: one of ingest.github.errors, after all that patience allows.
        """
        return self._retried(partial(self._get, path, etag, dict))

    def get_list(self, path: str, etag: str | None = None) -> Answer:
        """Return one page of a list of objects; raises as `get`."""
        return self._retried(partial(self._get, path, etag, list))

    def graphql(
        self, query: str, variables: Mapping[str, Any], *, attempts: int | None = None
    ) -> dict[str, Any]:
        """Return the data of a query; an answer with errors or without data is a failure.

        Raises:
            IngestError: as `get`; a PassingError also for errors in a document of status 200.
        """
        return self._retried(partial(self._graphql, query, dict(variables)), attempts)

    def _retried(self, call: Callable[[], T], attempts: int | None = None) -> T:
        patience = self.governor.patience
        retries = stamina.retry_context(
            on=PassingError,
            attempts=attempts or patience.attempts,
            timeout=patience.deadline_s,
            wait_initial=patience.first_wait_s,
            wait_max=30 * patience.first_wait_s,
            wait_jitter=patience.first_wait_s,
        )
        try:
            for attempt in retries:
                with attempt:
                    return call()
        except UnreachableError as exc:
            self.governor.close(IngestError(str(exc)))
            raise
        raise AssertionError("unreachable")

    def _get(self, path: str, etag: str | None, shape: type) -> Answer:
        asked, has_moved = path, False
        for _ in range(_HOPS):
            answer = self._send("core", "GET", asked, {"if-none-match": etag} if etag else {})
            if answer.status_code not in _REDIRECTS:
                break
            asked, has_moved = self._path_of(answer.headers.get("location", ""), asked), True
        else:
            raise PayloadError(f"GitHub redirects {_shown(path)} more than {_HOPS} times")
        if answer.status_code == 304 and etag:
            return Answer(None, etag, has_moved=has_moved)
        data = self._checked(answer, asked)
        if not isinstance(data, shape) or _has_holes(data):
            raise PassingError(f"GitHub answered {_shown(asked)} with {_described(data)}")
        links = {rel: url for url, rel in _LINK.findall(answer.headers.get("link", ""))}
        following = self._path_of(links["next"], asked) if "next" in links else None
        if following == asked:
            raise PayloadError(f"GitHub names {_shown(asked)} as the page after itself")
        return Answer(
            data, answer.headers.get("etag"), following, _page_of(links.get("last")), has_moved
        )

    def _graphql(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        body = {"query": query, "variables": variables}
        data = self._checked(self._send("graphql", "POST", "/graphql", {}, body), "/graphql")
        if not isinstance(data, dict):
            raise PassingError(f"GraphQL answered with {_described(data)}")
        if data.get("errors") or not isinstance(data.get("data"), dict):
            raise PassingError(f"GraphQL answered with {self._first_error(data)}")
        return cast(dict[str, Any], data["data"])

    def _send(
        self, resource: str, method: str, path: str, headers: dict[str, str], body: Any = None
    ) -> httpx.Response:
        return self.governor.send(resource, partial(self._once, method, path, headers, body))

    def _once(self, method: str, path: str, headers: dict[str, str], body: Any) -> httpx.Response:
        self.requests += 1
        url = f"{self._origin}{self._prefix}{path}"
        try:
            with self._http.stream(method, url, headers=headers, json=body) as answer:
                return _read(answer)
        except httpx.ConnectError as exc:
            said = f"GitHub's API cannot be reached at {self._origin}: {exc}"
            raise UnreachableError(said) from exc
        except httpx.RequestError as exc:
            said = str(exc) or type(exc).__name__
            raise PassingError(f"GitHub broke off {_shown(path)}: {said}") from exc

    def _checked(self, answer: httpx.Response, path: str) -> Any:
        """Return the document of an answer of status 200."""
        status = answer.status_code
        if status in _PASSING:
            raise PassingError(f"GitHub answered {_shown(path)} with status {status}")
        if status != 200:
            meaning = _MEANINGS.get(status, "that is no answer we know")
            said = self._message(answer)
            raise RefusedError(
                status, f"GitHub refuses {_shown(path)} with status {status}{said}: {meaning}"
            )
        try:
            return json.loads(answer.content)
        except ValueError as exc:
            raise PassingError(f"GitHub answered {_shown(path)} with no whole document") from exc

    def _message(self, answer: httpx.Response) -> str:
        try:
            said = json.loads(answer.content).get("message")
        except (ValueError, AttributeError):
            return ""
        return f" ({self._without_token(str(said))[:200]})" if said else ""

    def _first_error(self, document: Mapping[str, Any]) -> str:
        errors = document.get("errors")
        first = errors[0] if isinstance(errors, list) and errors else {}
        said = first.get("message") if isinstance(first, dict) else None
        return f"an error ({self._without_token(str(said))[:200]})" if said else "no data"

    def _without_token(self, text: str) -> str:
        return text.replace(self._token, "…") if self._token else text

    def _path_of(self, url: str, asked: str) -> str:
        """Return the path of a link below the API's address; no other link is followed."""
        found = urlsplit(urljoin(f"{self._origin}{self._prefix}{asked}", url))
        path = f"{found.path}?{found.query}" if found.query else found.path
        is_ours = f"{found.scheme}://{found.netloc}" == self._origin
        if not (is_ours and path.startswith(f"{self._prefix}/")):
            raise PayloadError(
                f"GitHub's answer to {_shown(asked)} leads to {found.netloc or url!r}, another "
                f"place than {self._origin}{self._prefix}: not followed, it would see the token"
            )
        return path.removeprefix(self._prefix)


class UnreachableError(PassingError):
    """The host does not answer at all."""


@cache
def _certificates() -> ssl.SSLContext:
    """Return what servers are trusted by; it takes longer to read than to use."""
    return httpx.create_ssl_context()


def _headers(token: str | None) -> dict[str, str]:
    headers = {
        "accept": "application/vnd.github+json",
        "user-agent": f"kwdb/{__version__}",
        "x-github-api-version": API_VERSION,
    }
    return headers | {"authorization": f"Bearer {token}"} if token else headers


def _read(answer: httpx.Response) -> httpx.Response:
    """Read an answer to its end, but neither for ever nor without bound."""
    started, parts, size = time.monotonic(), [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > _LARGEST_ANSWER or time.monotonic() - started > _LONGEST_ANSWER_S:
            raise httpx.ReadError(f"the answer is too large or too slow ({size} bytes so far)")
    whole = {n: v for n, v in answer.headers.items() if n not in ("content-encoding",)}
    return httpx.Response(answer.status_code, headers=whole, content=b"".join(parts))


def _has_holes(data: Any) -> bool:
    return isinstance(data, list) and not all(isinstance(item, dict) for item in data)


def _described(data: Any) -> str:
    if isinstance(data, list):
        return f"a list of which {sum(not isinstance(item, dict) for item in data)} items are null"
    return {dict: "one object", type(None): "null"}.get(type(data), "no document of that kind")


def _shown(path: str) -> str:
    return path.partition("?")[0] + (f" (page {page})" if (page := _page_of(path)) else "")


def _page_of(url: str | None) -> int | None:
    """Return the number of the page that a link names; None where it names none."""
    said = parse_qs(urlsplit(url or "").query).get("page", [""])[0]
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _log_retry(details: RetryDetails) -> None:
    _log.warning("%s; trying again in %.0f s", details.caused_by, details.wait_for)


set_on_retry_hooks([_log_retry])
