"""What a repository's history becomes: commits, paths, people, pull requests and their links."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from kwdb.models import (
    actors,
    commit_paths,
    commits,
    harvest_cursors,
    harvest_runs,
    paths,
    pull_request_commits,
    pull_requests,
    repositories,
)
from kwdb.records import CommitRecord, LinkRecord, PersonRecord
from kwdb.store.rows import (
    Row,
    chunks,
    find_keys,
    insert_rows,
    next_key,
    replace_owned,
    update_rows,
    upsert,
)


def now() -> datetime:
    """The present second, in UTC."""
    return datetime.now(UTC).replace(microsecond=0)


def add_repository(connection: sa.Connection, slug: str, full_name: str, landing: str) -> int:
    """Add a repository and return its key; a slug that is taken becomes owner-name."""
    taken = connection.execute(
        sa.select(repositories.c.id).where(repositories.c.slug == slug)
    ).scalar()
    if taken is not None:
        slug = full_name.lower().replace("/", "-")
    key = next_key(connection, repositories)
    row = {"id": key, "slug": slug, "full_name": full_name, "landing": landing}
    insert_rows(connection, repositories, [row])
    return key


def set_default_branch(connection: sa.Connection, repository_id: int, branch: str) -> None:
    """Note the branch whose history is read."""
    update_rows(connection, repositories, [{"id": repository_id, "default_branch": branch}])


def get_cursor(connection: sa.Connection, repository_id: int, stage: str) -> Row:
    """Return the cursor row of a stage; its members are None where the stage never ended."""
    query = sa.select(harvest_cursors).where(
        harvest_cursors.c.repository_id == repository_id,
        harvest_cursors.c.stage == stage,
        harvest_cursors.c.token_id == "",
    )
    row = connection.execute(query).mappings().first()
    return dict(row) if row else {"cursor": None, "etag": None, "version": None}


def set_cursor(
    connection: sa.Connection, repository_id: int, stage: str, cursor: str | None, version: str
) -> None:
    """Move the cursor of a stage, in the transaction that stores what it stands for.

    None sends the stage back to its start.
    """
    row = {
        "repository_id": repository_id,
        "stage": stage,
        "token_id": "",
        "cursor": cursor,
        "version": version,
    }
    upsert(connection, harvest_cursors, [row], ("repository_id", "stage", "token_id"))


def start_run(connection: sa.Connection, repository_id: int, command: str) -> int:
    """Open a harvest run and return its key."""
    key = next_key(connection, harvest_runs)
    row = {"id": key, "repository_id": repository_id, "command": command}
    insert_rows(connection, harvest_runs, [row | {"started_at": now(), "status": "running"}])
    return key


def finish_run(
    connection: sa.Connection,
    run: int,
    status: str,
    summary: Mapping[str, Any],
    message: str | None,
) -> None:
    """Close a harvest run with its summary."""
    row = {"id": run, "status": status, "summary": summary, "message": message}
    update_rows(connection, harvest_runs, [row | {"finished_at": now()}])


def ensure_actors(connection: sa.Connection, people: Iterable[PersonRecord]) -> dict[str, int]:
    """Return login -> key, adding accounts that are new and ids that were not known."""
    wanted = {person.login: person for person in people}
    known = find_keys(connection, actors, "login", wanted.keys())
    start = next_key(connection, actors)
    new = [person for login, person in wanted.items() if login not in known]
    rows: list[Row] = [
        {"id": key, "login": person.login, "github_id": person.github_id, "kind": person.kind}
        for key, person in enumerate(new, start)
    ]
    insert_rows(connection, actors, rows)
    _fill_github_ids(connection, [p for p in wanted.values() if p.login in known and p.github_id])
    return known | {row["login"]: row["id"] for row in rows}


def _fill_github_ids(connection: sa.Connection, people: Sequence[PersonRecord]) -> None:
    if people:
        statement = (
            sa.update(actors)
            .where(actors.c.login == sa.bindparam("who"), actors.c.github_id.is_(None))
            .values(github_id=sa.bindparam("number"))
        )
        connection.execute(statement, [{"who": p.login, "number": p.github_id} for p in people])


class PathKeys:
    """Path -> key for one repository's harvest, so that each path is looked up once."""

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}

    def ensure(self, connection: sa.Connection, wanted: Collection[str]) -> dict[str, int]:
        """Return path -> key for at least `wanted`, adding the paths that are new."""
        digests = {_digest(path): path for path in wanted if path not in self._keys}
        known = find_keys(connection, paths, "path_sha256", digests.keys())
        start = next_key(connection, paths) if len(known) < len(digests) else 0
        new = [digest for digest in digests if digest not in known]
        rows: list[Row] = [
            {"id": key, "path_sha256": digest, "path": digests[digest]}
            for key, digest in enumerate(new, start)
        ]
        insert_rows(connection, paths, rows)
        self._keys.update((digests[digest], key) for digest, key in known.items())
        self._keys.update((row["path"], row["id"]) for row in rows)
        return self._keys


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()


def known_shas(connection: sa.Connection, repository_id: int) -> dict[str, bool]:
    """Return sha -> is_reachable for every stored commit of a repository."""
    query = sa.select(commits.c.sha, commits.c.is_reachable).where(
        commits.c.repository_id == repository_id
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def store_commits(
    connection: sa.Connection, repository_id: int, batch: Sequence[CommitRecord], keys: PathKeys
) -> int:
    """Add commits that are not stored yet, with their paths; returns the rows written."""
    people = ensure_actors(connection, (c.author for c in batch if c.author))
    path_keys = keys.ensure(connection, {path for c in batch for path, _ in c.paths})
    start = next_key(connection, commits)
    rows = [
        {
            "id": key,
            "repository_id": repository_id,
            "sha": c.sha,
            "author_id": people[c.author.login] if c.author else None,
            "authored_at": c.authored_at,
            "committed_at": c.committed_at,
            "subject": c.subject,
            "message": c.message,
            "committer": c.committer,
            "is_reachable": True,
        }
        for key, c in enumerate(batch, start)
    ]
    touched = [
        {"commit_id": key, "path_id": path_keys[path], "status": status}
        for key, c in enumerate(batch, start)
        for path, status in c.paths
    ]
    return insert_rows(connection, commits, rows) + insert_rows(connection, commit_paths, touched)


def set_reachable(
    connection: sa.Connection, repository_id: int, shas: Collection[str], *, reachable: bool
) -> list[int]:
    """Mark commits as on the branch or not; returns the keys of the pull requests they touch."""
    touched: set[int] = set()
    for part in chunks(shas):
        of_them = sa.and_(commits.c.repository_id == repository_id, commits.c.sha.in_(part))
        connection.execute(sa.update(commits).where(of_them).values(is_reachable=reachable))
        linked = sa.select(pull_request_commits.c.pull_request_id).join(commits).where(of_them)
        touched.update(connection.execute(linked).scalars())
    return sorted(touched)


def pull_request_keys(connection: sa.Connection, repository_id: int) -> dict[int, int]:
    """Return number -> key of a repository's pull requests."""
    query = sa.select(pull_requests.c.number, pull_requests.c.id).where(
        pull_requests.c.repository_id == repository_id
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def ensure_pull_requests(
    connection: sa.Connection, repository_id: int, numbers: Iterable[int], known: dict[int, int]
) -> int:
    """Add the numbers that are new to `known` and to the table; returns the rows written."""
    new = sorted(set(numbers) - known.keys())
    start = next_key(connection, pull_requests) if new else 0
    rows = [
        {"id": key, "repository_id": repository_id, "number": number}
        for key, number in enumerate(new, start)
    ]
    known.update((row["number"], row["id"]) for row in rows)
    return insert_rows(connection, pull_requests, rows)


def store_pull_heads(
    connection: sa.Connection, repository_id: int, heads: Mapping[int, str]
) -> int:
    """Note the head of every pull request that the remote shows; returns the rows written."""
    query = sa.select(pull_requests.c.number, pull_requests.c.id, pull_requests.c.head_sha).where(
        pull_requests.c.repository_id == repository_id
    )
    stored = {number: (key, sha) for number, key, sha in connection.execute(query)}
    start = next_key(connection, pull_requests)
    new = [
        {"id": key, "repository_id": repository_id, "number": number, "head_sha": heads[number]}
        for key, number in enumerate(sorted(heads.keys() - stored.keys()), start)
    ]
    moved = [
        {"id": stored[number][0], "head_sha": sha}
        for number, sha in heads.items()
        if number in stored and stored[number][1] != sha
    ]
    return insert_rows(connection, pull_requests, new) + update_rows(
        connection, pull_requests, moved
    )


def store_links(
    connection: sa.Connection, links: Mapping[int, Sequence[LinkRecord]], keys: Mapping[int, int]
) -> int:
    """Make `links` (commit key -> links) the only links of these commits; returns rows changed."""
    rows = [
        {
            "pull_request_id": keys[link.number],
            "commit_id": commit_id,
            "role": link.role,
            "rule": link.rule,
        }
        for commit_id, found in links.items()
        for link in found
    ]
    return replace_owned(connection, pull_request_commits, "commit_id", links.keys(), rows)


def landing_events(connection: sa.Connection, keys: Collection[int]) -> dict[int, list[Row]]:
    """Return pull-request key -> its reachable link rows in order of landing.

    Each row has role, sha, committed_at, author_id, subject and message of the commit.
    """
    events: dict[int, list[Row]] = {key: [] for key in keys}
    for part in chunks(keys):
        query = (
            sa.select(
                pull_request_commits.c.pull_request_id,
                pull_request_commits.c.role,
                commits.c.sha,
                commits.c.committed_at,
                commits.c.author_id,
                commits.c.subject,
                commits.c.message,
            )
            .join(commits, commits.c.id == pull_request_commits.c.commit_id)
            .where(pull_request_commits.c.pull_request_id.in_(part), commits.c.is_reachable)
            .order_by(commits.c.committed_at, commits.c.id)
        )
        for row in connection.execute(query).mappings():
            events[row["pull_request_id"]].append(dict(row))
    return events


def store_landings(connection: sa.Connection, rows: Sequence[Row]) -> int:
    """Update what git says of pull requests; returns how many rows changed.

    Each row has id, landed_state, landed_at, merge_sha, author_id, title and body. Where the API
    has spoken (`fetched_at`), author, title and body stay as it gave them; so they do where no
    landing is left that could say them (title None). A changed state or text makes the pull
    request due for the stages that read it.
    """
    stored = _stored_landings(connection, [row["id"] for row in rows])
    changed = []
    for row in rows:
        old = stored[row["id"]]
        keeps_text = old["fetched_at"] is not None or row["title"] is None
        new = row | {n: old[n] for n in _API_FIELDS} if keeps_text else row
        if any(new[name] != old[name] for name in _LANDING_FIELDS):
            is_due = any(new[name] != old[name] for name in _CLASSIFIED_FIELDS)
            due = dict.fromkeys(_STAGE_MARKS) if is_due else {n: old[n] for n in _STAGE_MARKS}
            changed.append(new | due)
    return update_rows(connection, pull_requests, changed)


_API_FIELDS = ("author_id", "title", "body")
_LANDING_FIELDS = ("landed_state", "landed_at", "merge_sha", "author_id", "title", "body")
_CLASSIFIED_FIELDS = ("landed_state", "merge_sha", "title", "body")
_STAGE_MARKS = ("ruleset", "extractor")


def _stored_landings(connection: sa.Connection, keys: Collection[int]) -> dict[int, Row]:
    names = ("id", "fetched_at", *_LANDING_FIELDS, *_STAGE_MARKS)
    columns = [pull_requests.c[name] for name in names]
    found: dict[int, Row] = {}
    for part in chunks(keys):
        query = sa.select(*columns).where(pull_requests.c.id.in_(part))
        found.update((row["id"], dict(row)) for row in connection.execute(query).mappings())
    return found


def commit_keys(connection: sa.Connection, repository_id: int) -> dict[str, int]:
    """Return sha -> key of all stored commits of a repository."""
    query = sa.select(commits.c.sha, commits.c.id).where(commits.c.repository_id == repository_id)
    return {row.sha: row.id for row in connection.execute(query)}


def read_commits(connection: sa.Connection, keys: Sequence[int]) -> list[tuple[int, CommitRecord]]:
    """Return (key, record without paths) of the commits `keys`, in that order."""
    found: dict[int, tuple[int, CommitRecord]] = {}
    for part in chunks(keys):
        query = sa.select(commits).where(commits.c.id.in_(part))
        found.update(
            (row["id"], (row["id"], _commit(row))) for row in connection.execute(query).mappings()
        )
    return [found[key] for key in keys]


def _commit(row: sa.RowMapping) -> CommitRecord:
    names = ("sha", "committer", "authored_at", "committed_at", "subject", "message")
    return CommitRecord(author=None, **{name: row[name] for name in names})


def read_links(connection: sa.Connection, keys: Sequence[int]) -> dict[int, list[LinkRecord]]:
    """Return commit key -> what it does to pull requests; without those that do nothing."""
    found: dict[int, list[LinkRecord]] = {}
    for part in chunks(keys):
        query = (
            sa.select(
                pull_request_commits.c.commit_id,
                pull_requests.c.number,
                pull_request_commits.c.role,
                pull_request_commits.c.rule,
            )
            .join(pull_requests, pull_requests.c.id == pull_request_commits.c.pull_request_id)
            .where(pull_request_commits.c.commit_id.in_(part))
        )
        for key, number, role, rule in connection.execute(query):
            found.setdefault(key, []).append(LinkRecord(number, role, rule))
    return found


def linked_pull_requests(connection: sa.Connection, commit_keys: Collection[int]) -> set[int]:
    """Return the keys of the pull requests that these commits are linked to at present."""
    found: set[int] = set()
    for part in chunks(commit_keys):
        query = sa.select(pull_request_commits.c.pull_request_id).where(
            pull_request_commits.c.commit_id.in_(part)
        )
        found.update(connection.execute(query).scalars())
    return found
