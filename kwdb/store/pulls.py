"""What GitHub's API says of pull requests, beside what git says; a newer row is never lost."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kwdb.models import (
    commits,
    pull_request_commits,
    pull_request_labels,
    pull_requests,
    repositories,
    repository_aliases,
)
from kwdb.records import ExtrasRecord, PullRequestRecord
from kwdb.store.harvest import ensure_actors, now
from kwdb.store.rows import (
    Row,
    chunks,
    insert_rows,
    next_key,
    replace_owned,
    update_rows,
    upsert,
)

BY_MERGE, BY_CLOSER = "api_merge_commit", "api_closing_commit"

_FACTS = (
    *("title", "body", "author_id", "api_state", "is_draft", "base_ref", "head_sha"),
    *("api_merge_sha", "created_at", "updated_at", "closed_at", "merged_at"),
)
_CLASSIFIED = ("title", "body")
_MARKS = ("ruleset", "extractor")


@dataclass(frozen=True, slots=True)
class Stored:
    """How many rows were written, and the keys of the pull requests that were read."""

    written: int
    keys: list[int]


def store_pull_requests(
    connection: sa.Connection,
    repository_id: int,
    records: Sequence[PullRequestRecord],
    *,
    heads_are_gits: bool,
    first_landing: Callable[[PullRequestRecord], Row] = lambda _record: {},
) -> Stored:
    """Store the records of a page with their labels, replacing what stood there.

    A record older than the stored row is passed over. With `heads_are_gits` a head that git has
    shown stays. A changed title, body or label makes the pull request due for classification.
    `first_landing` gives what new rows begin with, as most of them are to stay.
    """
    newest = {record.number: record for record in sorted(records, key=lambda r: r.updated_at)}
    stored = _stored(connection, repository_id, newest)
    fresh = [r for r in newest.values() if _is_news(r, stored.get(r.number))]
    people = ensure_actors(connection, (r.author for r in fresh if r.author))
    start = next_key(connection, pull_requests) if fresh else 0
    new_numbers = [r.number for r in fresh if r.number not in stored]
    keys = dict(zip(new_numbers, range(start, start + len(new_numbers)), strict=True))
    keys |= {r.number: stored[r.number]["id"] for r in fresh if r.number in stored}
    labels = _stored_labels(connection, [keys[number] for number in keys if number in stored])
    new, changed = [], []
    for record in fresh:
        key, old = keys[record.number], stored.get(record.number)
        row = _row(record, people)
        if old is None:
            name = {"id": key, "repository_id": repository_id, "number": record.number}
            new.append(row | name | {"fetched_at": now()} | first_landing(record))
            continue
        if heads_are_gits and old["head_sha"]:
            row["head_sha"] = old["head_sha"]
        is_relabelled = labels.get(key, set()) != set(record.labels)
        if old["fetched_at"] is None or is_relabelled or any(row[n] != old[n] for n in _FACTS):
            is_due = is_relabelled or any(row[n] != old[n] for n in _CLASSIFIED)
            marks = dict.fromkeys(_MARKS) if is_due else {n: old[n] for n in _MARKS}
            changed.append(row | marks | {"id": key, "fetched_at": now()})
    written = insert_rows(connection, pull_requests, new)
    written += update_rows(connection, pull_requests, changed)
    unknown = [r for r in fresh if r.number not in stored]
    written += insert_rows(connection, pull_request_labels, _label_rows(unknown, keys))
    known = [r for r in fresh if r.number in stored]
    written += replace_owned(
        connection,
        pull_request_labels,
        "pull_request_id",
        [keys[r.number] for r in known],
        _label_rows(known, keys),
    )
    return Stored(written, sorted(keys.values()))


def _label_rows(records: Sequence[PullRequestRecord], keys: Mapping[int, int]) -> list[Row]:
    return [
        {"pull_request_id": keys[r.number], "label": label} for r in records for label in r.labels
    ]


def _is_news(record: PullRequestRecord, old: Row | None) -> bool:
    return old is None or old["updated_at"] is None or record.updated_at >= old["updated_at"]


def _row(record: PullRequestRecord, people: Mapping[str, int]) -> Row:
    return {
        "title": record.title,
        "body": record.body,
        "author_id": people[record.author.login] if record.author else None,
        "api_state": record.state,
        "is_draft": record.is_draft,
        "base_ref": record.base_ref,
        "head_sha": record.head_sha,
        "api_merge_sha": record.merge_sha,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "closed_at": record.closed_at,
        "merged_at": record.merged_at,
    }


def _stored(
    connection: sa.Connection, repository_id: int, numbers: Collection[int]
) -> dict[int, Row]:
    p, found = pull_requests.c, dict[int, Row]()
    columns = [p[name] for name in ("id", "number", "fetched_at", *_FACTS, *_MARKS)]
    for part in chunks(numbers):
        query = sa.select(*columns).where(p.repository_id == repository_id, p.number.in_(part))
        found.update((row["number"], dict(row)) for row in connection.execute(query).mappings())
    return found


def _stored_labels(connection: sa.Connection, keys: Collection[int]) -> dict[int, set[str]]:
    label, found = pull_request_labels.c, dict[int, set[str]]()
    for part in chunks(keys):
        query = sa.select(label.pull_request_id, label.label)
        for key, name in connection.execute(query.where(label.pull_request_id.in_(part))):
            found.setdefault(key, set()).add(name)
    return found


def read_words(connection: sa.Connection, keys: Collection[int]) -> dict[int, Row]:
    """Return pull-request key -> GitHub's word on it, for those that the API was asked for.

    Each has state, merged_at, merge_sha, base_ref, default_branch and is_on_branch: whether its
    merge commit is on the branch; None where no commit of that id is stored.
    """
    p, found = pull_requests.c, dict[int, Row]()
    query = (
        sa.select(
            p.id,
            p.api_state.label("state"),
            p.merged_at,
            p.api_merge_sha.label("merge_sha"),
            p.base_ref,
            repositories.c.default_branch,
            commits.c.is_reachable.label("is_on_branch"),
        )
        .join(repositories, repositories.c.id == p.repository_id)
        .outerjoin(commits, _is_commit(p.api_merge_sha))
        .where(p.fetched_at.is_not(None))
    )
    for part in chunks(keys):
        for row in connection.execute(query.where(p.id.in_(part))).mappings():
            found[row["id"]] = {name: value for name, value in row.items() if name != "id"}
    return found


def _is_commit(sha: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    same_repository = commits.c.repository_id == pull_requests.c.repository_id
    return sa.and_(same_repository, commits.c.sha == sha)


def renew_api_links(connection: sa.Connection, keys: Collection[int], *, closers: bool) -> int:
    """Link pull requests to the stored commits that the API says landed them; returns changes.

    That is the merge commit and, with `closers`, the commit that closed it. Links that the linker
    found itself stay as they are; links of this kind that the API no longer supports go.
    """
    links, p, written = pull_request_commits.c, pull_requests.c, 0
    sources = [(BY_MERGE, p.api_merge_sha), *([(BY_CLOSER, p.closed_by_sha)] if closers else [])]
    for part in chunks(keys):
        own = sa.select(links.pull_request_id, links.commit_id).where(
            links.pull_request_id.in_(part), links.role == "landed", ~links.rule.in_(_API_RULES)
        )
        taken = {tuple(row) for row in connection.execute(own)}
        wanted: dict[tuple[int, int], Row] = {}
        for rule, sha in sources:
            query = sa.select(p.id, commits.c.id).join(commits, _is_commit(sha))
            for pair in map(tuple, connection.execute(query.where(p.id.in_(part)))):
                row = {"pull_request_id": pair[0], "commit_id": pair[1], "role": "landed"}
                wanted.setdefault(pair, row | {"rule": rule})
        rows = [row for pair, row in wanted.items() if pair not in taken]
        written += _replace_api_links(connection, part, rows)
    return written


_API_RULES = (BY_MERGE, BY_CLOSER)


def _replace_api_links(
    connection: sa.Connection, keys: Collection[int], rows: Sequence[Row]
) -> int:
    links = pull_request_commits.c
    query = sa.select(pull_request_commits).where(
        links.pull_request_id.in_(keys), links.rule.in_(_API_RULES)
    )
    stored = [dict(row) for row in connection.execute(query).mappings()]
    gone = [row for row in stored if row not in rows]
    for row in gone:
        matches = [links[name] == value for name, value in row.items()]
        connection.execute(sa.delete(pull_request_commits).where(*matches))
    new = [row for row in rows if row not in stored]
    return len(gone) + insert_rows(connection, pull_request_commits, new)


def due_for_extras(
    connection: sa.Connection,
    repository_id: int,
    limit: int,
    after: int = 0,
    *,
    closers: bool,
    every: bool = False,
) -> dict[int, Row]:
    """Return number -> {id, updated_at} of up to `limit` pull requests to ask GraphQL about.

    They have changed since it was asked, and are included; with `closers` also those that ended
    closed and that no commit lands. Ordered by key, over `after`; with `every` unchanged ones too.
    """
    p, links = pull_requests.c, pull_request_commits.c
    landing = sa.select(links.commit_id).where(
        links.pull_request_id == p.id, links.role == "landed"
    )
    is_open_question = sa.and_(
        p.api_state == "closed", p.merged_at.is_(None), ~landing.exists(), sa.literal(closers)
    )
    query = (
        sa.select(p.number, p.id, p.updated_at)
        .where(p.repository_id == repository_id, p.id > after, p.updated_at.is_not(None))
        .where(sa.or_(p.decision == "include", is_open_question))
        .order_by(p.id)
        .limit(limit)
    )
    if not every:
        query = query.where(p.extras_updated_at.is_distinct_from(p.updated_at))
    return {row["number"]: dict(row) for row in connection.execute(query).mappings()}


_EXTRAS = ("review_decision", "merged_by", "changed_files", "closed_by_sha", "extras_updated_at")


def store_extras(
    connection: sa.Connection, due: Mapping[int, Row], records: Sequence[ExtrasRecord]
) -> Stored:
    """Store what GraphQL said of rows of `due_for_extras`; they are not due any more."""
    rows = [
        {
            "id": due[record.number]["id"],
            "review_decision": record.review_decision,
            "merged_by": record.merged_by,
            "changed_files": record.changed_files,
            "closed_by_sha": record.closed_by_sha,
            "extras_updated_at": due[record.number]["updated_at"],
        }
        for record in records
    ]
    p = pull_requests.c
    query = sa.select(p.id, *(p[name] for name in _EXTRAS)).where(
        p.id.in_([row["id"] for row in rows])
    )
    stored = [dict(row) for row in connection.execute(query).mappings()]
    changed = [row for row in rows if row not in stored]
    return Stored(update_rows(connection, pull_requests, changed), [row["id"] for row in rows])


def identify_repository(
    connection: sa.Connection, repository_id: int, github_id: int, full_name: str
) -> None:
    """Note GitHub's id and present name of a repository; a former name becomes an alias.

    A name under which another repository is stored is left to that one.
    """
    r, a = repositories.c, repository_aliases.c
    names: dict[str, int] = dict(map(tuple, connection.execute(sa.select(r.full_name, r.id))))
    known = next(name for name, key in names.items() if key == repository_id)
    name = full_name if names.get(full_name, repository_id) == repository_id else known
    row = {"id": repository_id, "github_id": github_id, "full_name": name}
    update_rows(connection, repositories, [row])
    connection.execute(sa.delete(repository_aliases).where(a.full_name == name))
    if known != name:
        alias = {"full_name": known, "repository_id": repository_id}
        upsert(connection, repository_aliases, [alias], ("full_name",))


def former_names(connection: sa.Connection, repository_id: int) -> tuple[str, ...]:
    """Return a repository's former full names as GitHub spelt them."""
    a = repository_aliases.c
    query = sa.select(a.full_name).where(a.repository_id == repository_id).order_by(a.full_name)
    return tuple(connection.execute(query).scalars())
