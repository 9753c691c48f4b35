"""The REST side: lists in pages with links, ETags that depend on the token, renames.

Shapes and behaviour: @octokit/openapi 23.0.2 and @octokit/fixtures 23.1.2 (`paginate-issues`,
`rename-repository`). Past page 100 a list goes on by cursor only, and `page=` is refused.
"""

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from emulator.faults import Reply
from emulator.world import Person, Pull, Repository, World, stamp

_LAST_NUMBERED_PAGE = 100
_REPOSITORY = re.compile(r"/(?:repos/([^/]+/[^/]+)|repositories/(\d+))(/.*)?")

Item = dict[str, Any]


def answer_rest(world: World, url: str, origin: str, *, per_page_limit: int = 100) -> Reply:
    """Answer a GET, without ETag and limits, which are the server's."""
    parts = urlsplit(url)
    match = _REPOSITORY.fullmatch(parts.path)
    if match is None:
        return _not_found()
    name, id_, rest = match.groups()
    repository, is_former = world.find(name) if name else (world.repositories.get(int(id_)), False)
    if repository is None:
        return _not_found()
    if is_former:
        query = f"?{parts.query}" if parts.query else ""
        place = f"{origin}/repositories/{repository.id}{rest or ''}{query}"
        return Reply(301, b'{"message": "Moved Permanently"}', {"location": place})
    asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
    if not rest:
        return _ok(_repository(repository))
    if rest == "/pulls":
        return _page(repository, "pulls", render_pull, asked, origin, per_page_limit)
    if rest == "/issues":
        return _page(repository, "issues", render_issue, asked, origin, per_page_limit)
    number = rest.removeprefix("/pulls/")
    if number.isdigit() and int(number) in repository.pulls:
        return _ok(render_pull(repository, repository.pulls[int(number)]))
    return _not_found()


def _ok(document: Any, **headers: str) -> Reply:
    return Reply(200, json.dumps(document).encode(), headers)


def _not_found() -> Reply:
    return Reply(404, b'{"message": "Not Found"}')


def _page(
    repository: Repository,
    kind: str,
    render: Callable[[Repository, Pull], Item],
    asked: dict[str, str],
    origin: str,
    per_page_limit: int,
) -> Reply:
    size = min(int(asked.get("per_page", "30")), per_page_limit, 100)
    rows = _sorted(repository, kind, asked)
    if "page" in asked and "after" not in asked and int(asked["page"]) > _LAST_NUMBERED_PAGE:
        return Reply(
            422,
            b'{"message": "Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)"}',
        )
    page = int(asked.get("page", "1"))
    start = _after(rows, asked, (page - 1) * size)
    part = rows[start : start + size]
    links = {}
    if start + size < len(rows):
        links["next"] = asked | {"page": str(page + 1)}
        if page >= _LAST_NUMBERED_PAGE:
            links["next"] |= {"after": _mark(part[-1], asked)}
        links["last"] = asked | {"page": str(-(-len(rows) // size))}
    place = f"{origin}/repositories/{repository.id}/{kind}"
    header = ", ".join(f'<{place}?{urlencode(q)}>; rel="{rel}"' for rel, q in links.items())
    headers = {"link": header} if header else {}
    return _ok([render(repository, pull) for pull in part], **headers)


def _key(pull: Pull, asked: dict[str, str]) -> tuple[int, int]:
    by_update = asked.get("sort", "created") == "updated"
    return (pull.updated if by_update else pull.created, pull.number)


def _is_descending(kind: str, asked: dict[str, str]) -> bool:
    default = "desc" if kind == "issues" or asked.get("sort", "created") == "created" else "asc"
    return asked.get("direction", default) == "desc"


def _sorted(repository: Repository, kind: str, asked: dict[str, str]) -> list[Pull]:
    """Return the whole list in the order asked for, sorted once while nothing changes."""
    wanted = tuple(asked.get(name) for name in ("sort", "direction", "state", "since"))
    key = (kind, *wanted)
    version, rows = repository.order.get(key, (-1, []))
    if version != repository.version:
        state = asked.get("state", "open")
        rows = [p for p in repository.pulls.values() if state in ("all", p.state)]
        rows = [p for p in rows if _is_since(p, asked.get("since"))] if kind == "issues" else rows
        rows.sort(key=lambda p: _key(p, asked), reverse=_is_descending(kind, asked))
        repository.order[key] = (repository.version, rows)
    return rows


def _is_since(pull: Pull, since: str | None) -> bool:
    """GitHub gives nothing at all for the epoch, whatever it means by that."""
    if since is None:
        return True
    return since != "1970-01-01T00:00:00Z" and str(stamp(pull.updated)) >= since


def _mark(pull: Pull, asked: dict[str, str]) -> str:
    value, number = _key(pull, asked)
    return f"{value}.{number}"


def _after(rows: list[Pull], asked: dict[str, str], otherwise: int) -> int:
    """Return where a page begins: behind the row that its cursor names."""
    if "after" not in asked:
        return otherwise
    value, _, number = asked["after"].partition(".")
    is_descending = len(rows) > 1 and _key(rows[0], asked) > _key(rows[-1], asked)
    sign = -1 if is_descending else 1

    def signed(pull: Pull) -> tuple[int, int]:
        moment, name = _key(pull, asked)
        return sign * moment, sign * name

    return bisect_right(rows, (sign * int(value), sign * int(number)), key=signed)


def _repository(repository: Repository) -> Item:
    name = repository.full_name.partition("/")[2]
    known = {"id": repository.id, "name": name, "full_name": repository.full_name}
    return known | {"default_branch": repository.default_branch, "private": False}


def _user(person: Person | None) -> Item | None:
    return person and {"login": person.login, "id": person.id, "type": person.type}


def render_pull(repository: Repository, pull: Pull) -> Item:
    # Of a pull request that is not merged GitHub names a commit made to try the merge.
    merge_sha = pull.merge_sha or "0" * 40
    return {
        "id": 10**9 + pull.number,
        "number": pull.number,
        "state": pull.state,
        "title": pull.title,
        "body": pull.body,
        "user": _user(pull.author),
        "labels": [{"id": hash(name) % 10**6, "name": name} for name in pull.labels],
        "draft": pull.is_draft,
        "created_at": stamp(pull.created),
        "updated_at": stamp(pull.updated),
        "closed_at": stamp(pull.closed),
        "merged_at": stamp(pull.merged),
        "merge_commit_sha": merge_sha,
        "head": {"ref": f"branch-{pull.number}", "sha": pull.head_sha, "repo": None},
        "base": {"ref": pull.base, "sha": "0" * 40, "repo": _repository(repository)},
        "assignee": None,
        "milestone": None,
    }


def render_issue(repository: Repository, pull: Pull) -> Item:
    names = "number state title body user labels created_at updated_at closed_at".split()
    whole = render_pull(repository, pull)
    return {n: whole[n] for n in names} | {"pull_request": {"merged_at": stamp(pull.merged)}}


def etag_of(body: bytes, token: str | None) -> str:
    return f'W/"{hashlib.sha256(body + (token or "").encode()).hexdigest()}"'
