"""What the classifier says of pull requests: decisions, tags, the ledger and the pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kwdb.errors import UserError
from kwdb.models import (
    commit_paths,
    commits,
    ledger_entries,
    paths,
    pull_request_commits,
    pull_request_labels,
    pull_request_tags,
    pull_requests,
    tags,
)
from kwdb.records import Evidence, TagVerdict, Verdict
from kwdb.store.harvest import now
from kwdb.store.pages import (
    index_pages,
    retire_pages,
    store_page_tags,
    store_pull_request_pages,
)
from kwdb.store.rows import Row, insert_rows, next_key, replace_owned, update_rows

PERSON = "person:"
WITH_DIFFS = "+diffs"
"""Ends the ruleset of pull requests that were decided with their changed lines."""

_INDEXED_PATHS = 50


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """A repository as the pipeline passes it around."""

    id: int
    slug: str
    full_name: str
    landing: str
    default_branch: str | None


def due_for_classification(
    connection: sa.Connection,
    repository_id: int,
    ruleset: str,
    limit: int,
    after: int = 0,
    *,
    every: bool = False,
) -> list[Row]:
    """Return up to `limit` pull requests with key over `after` that these rules have not seen.

    Each row has what the classifier reads, with `paths` of its landing commits and `labels`, and
    the stored decision. Pull requests of which nothing but the number is known are left out, and
    so are those that these rules decided with their changed lines. With `every`, pull requests
    come again that these rules have seen without changed lines.
    """
    p = pull_requests.c
    unseen = [p.ruleset.is_distinct_from(ruleset + WITH_DIFFS)]
    unseen += [] if every else [p.ruleset.is_distinct_from(ruleset)]
    return _rows(
        connection,
        _of(repository_id, after, limit).where(p.title.is_not(None), *unseen),
    )


def due_for_diffs(
    connection: sa.Connection, repository_id: int, ruleset: str, limit: int, after: int = 0
) -> list[Row]:
    """Return pull requests that these rules kept or deferred without their changed lines.

    Rows as of `due_for_classification`, and `shas`, the reachable commits by which each landed.
    """
    p = pull_requests.c
    query = _of(repository_id, after, limit).where(
        p.landed_state == "landed",
        p.decision.in_(("include", "defer")),
        p.title.is_not(None),
        p.ruleset == ruleset,
    )
    rows = _rows(connection, query)
    shas = _landing_shas(connection, [row["id"] for row in rows])
    return [row | {"shas": shas.get(row["id"], [])} for row in rows]


def _landing_shas(connection: sa.Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    links, found = pull_request_commits.c, dict[int, list[str]]()
    query = (
        sa.select(links.pull_request_id, commits.c.sha)
        .join(commits, commits.c.id == links.commit_id)
        .where(links.role == "landed", links.pull_request_id.in_(keys), commits.c.is_reachable)
        .order_by(commits.c.id)
    )
    for key, sha in connection.execute(query):
        found.setdefault(key, []).append(sha)
    return found


_COLUMNS = (
    "id number title body landed_state landed_at decision decided_by decision_reason page_id "
    "ruleset"
).split()


def _of(repository_id: int, after: int, limit: int) -> sa.Select[Any]:
    p = pull_requests.c
    query = sa.select(*(p[name] for name in _COLUMNS))
    wanted = query.where(p.repository_id == repository_id, p.id > after)
    return wanted.order_by(p.id).limit(limit)


def _rows(connection: sa.Connection, query: sa.Select[Any]) -> list[Row]:
    rows = [dict(row) for row in connection.execute(query).mappings()]
    _add_lists(connection, rows)
    return rows


def find_pull_request(connection: sa.Connection, key: int) -> Row:
    """Return the row of one pull request as the functions of this module take it."""
    query = sa.select(*(pull_requests.c[name] for name in _COLUMNS))
    (row,) = _rows(connection, query.where(pull_requests.c.id == key))
    return row


def stored_tags(connection: sa.Connection, keys: Sequence[int]) -> dict[int, list[TagVerdict]]:
    """Return pull-request key -> the tags it has at present."""
    t, implying = pull_request_tags.c, tags.alias("implying")
    query = (
        sa.select(t.pull_request_id, tags.c.name, tags.c.facet, t.basis, t.rule, t.evidence,
                  t.locator, implying.c.name)
        .join(tags, tags.c.id == t.tag_id)
        .outerjoin(implying, implying.c.id == t.implied_by)
        .where(t.pull_request_id.in_(keys))
        .order_by(tags.c.facet, tags.c.name)
    )  # fmt: skip
    found: dict[int, list[TagVerdict]] = {key: [] for key in keys}
    for key, name, facet, basis, rule, text, locator, by in connection.execute(query):
        evidence = parse_locator(locator, text) if locator else None
        found[key].append(TagVerdict(name, facet, basis, rule, evidence, by))
    return found


def parse_locator(locator: str, text: str) -> Evidence:
    """Read a place back from its one-string form; see `Evidence.locator`."""
    where, _, rest = locator.partition(":")
    if where == "diff":
        path, _, line = rest.rpartition(":")
        return Evidence(where, text, line=int(line), path=path)
    if where == "path":
        return Evidence(where, text, path=rest)
    return Evidence(where, text, line=int(rest) if rest else None)


def store_persons_decision(
    connection: sa.Connection,
    repository: RepositoryRow,
    key: int,
    decision: str,
    reason: str,
    by: str,
) -> Row:
    """Record what a person decided; ledger, page and index follow at once, tags stay.

    Returns the row as it was. No rule overrides it until `forget_persons_decision`. What the same
    person decided for the same reason before is not written again.
    """
    row = find_pull_request(connection, key)
    ours = {"decision": decision, "decision_reason": reason, "decided_by": f"{PERSON}{by}"}
    if all(row[name] == value for name, value in ours.items()):
        return row
    update_rows(connection, pull_requests, [ours | {"id": key, "decision_evidence": None}])
    verdict = Verdict(
        decision, reason, ours["decided_by"], None, tuple(stored_tags(connection, [key])[key])
    )
    _append_ledger(
        connection, repository, [(row | {"decided_by": None, "decision": None}, verdict)], None
    )
    _store_pages(connection, repository, [(row | ours, verdict)], tag_keys(connection))
    return row


def forget_persons_decision(connection: sa.Connection, key: int) -> Row:
    """Return the row of a pull request as nobody's, due for the rules.

    Raises:
        UserError: no person decided on it.
    """
    row = find_pull_request(connection, key)
    if not _is_persons(row):
        raise UserError(f"#{row['number']} was decided by rules: there is nothing to undo")
    none = {"decision": None, "decision_reason": None, "decided_by": None, "ruleset": None}
    update_rows(connection, pull_requests, [none | {"id": key, "decision_evidence": None}])
    return row | none


def _add_lists(connection: sa.Connection, rows: Sequence[Row]) -> None:
    by_key = {row["id"]: row | {"paths": [], "labels": []} for row in rows}
    links, keys = pull_request_commits.c, list(by_key)
    query = (
        sa.select(links.pull_request_id, paths.c.path)
        .distinct()
        .join_from(pull_request_commits, commits, commits.c.id == links.commit_id)
        .join(commit_paths, commit_paths.c.commit_id == links.commit_id)
        .join(paths, paths.c.id == commit_paths.c.path_id)
        .where(links.role == "landed", links.pull_request_id.in_(keys), commits.c.is_reachable)
    )
    for key, path in connection.execute(query):
        by_key[key]["paths"].append(path)
    label = pull_request_labels.c
    found = sa.select(label.pull_request_id, label.label).where(label.pull_request_id.in_(keys))
    for key, name in connection.execute(found):
        by_key[key]["labels"].append(name)
    for row in rows:
        row["paths"] = sorted(by_key[row["id"]]["paths"])
        row["labels"] = sorted(by_key[row["id"]]["labels"])


def tag_keys(connection: sa.Connection) -> dict[tuple[str, str], int]:
    """Return (facet, name) -> key of the whole vocabulary."""
    query = sa.select(tags.c.facet, tags.c.name, tags.c.id)
    return {(facet, name): key for facet, name, key in connection.execute(query)}


def store_verdicts(
    connection: sa.Connection,
    repository: RepositoryRow,
    judged: Sequence[tuple[Row, Verdict]],
    ruleset: str,
    keys: Mapping[tuple[str, str], int],
) -> int:
    """Write decisions, tags, ledger, pages and index for rows of `due_for_classification`.

    A person's decision stands; the tags are renewed all the same. Returns the rows written.
    """
    written = update_rows(
        connection, pull_requests, [_decision_row(row, v, ruleset) for row, v in judged]
    )
    written += _append_ledger(connection, repository, judged, ruleset)
    tag_rows = [row for pr, v in judged for row in _tag_rows(pr["id"], v.tags, keys)]
    owners = [row["id"] for row, _ in judged]
    written += replace_owned(connection, pull_request_tags, "pull_request_id", owners, tag_rows)
    return written + _store_pages(connection, repository, judged, keys)


def _is_persons(row: Row) -> bool:
    return (row["decided_by"] or "").startswith(PERSON)


def _decision(row: Row, verdict: Verdict) -> str:
    return str(row["decision"]) if _is_persons(row) else verdict.decision


def _decision_row(row: Row, verdict: Verdict, ruleset: str) -> Row:
    evidence = verdict.evidence.as_json() if verdict.evidence else None
    ours: Row = {
        "decision": verdict.decision,
        "decision_reason": verdict.reason,
        "decision_evidence": evidence,
        "decided_by": verdict.rule,
    }
    if _is_persons(row):
        names = ("decision", "decision_reason", "decided_by")
        ours = {name: row[name] for name in names} | {"decision_evidence": None}
    return ours | {"id": row["id"], "ruleset": ruleset}


def _append_ledger(
    connection: sa.Connection,
    repository: RepositoryRow,
    judged: Sequence[tuple[Row, Verdict]],
    ruleset: str | None,
) -> int:
    changed = [(row, v) for row, v in judged if _decision(row, v) != row["decision"]]
    start = next_key(connection, ledger_entries) if changed else 0
    rows = [
        {
            "id": key,
            "repository_id": repository.id,
            "number": row["number"],
            "decision": v.decision,
            "reason": v.reason,
            "decided_on": now().date(),
            "decided_by": v.rule,
            "ruleset": ruleset,
        }
        for key, (row, v) in enumerate(changed, start)
    ]
    return insert_rows(connection, ledger_entries, rows)


def _tag_rows(
    key: int, found: Sequence[TagVerdict], keys: Mapping[tuple[str, str], int]
) -> list[Row]:
    by_name = {tag.name: keys[tag.facet, tag.name] for tag in found}
    return [
        {
            "pull_request_id": key,
            "tag_id": keys[tag.facet, tag.name],
            "basis": tag.basis,
            "rule": tag.rule,
            "evidence": tag.evidence.text if tag.evidence else None,
            "locator": tag.evidence.locator if tag.evidence else None,
            "implied_by": by_name[tag.implied_by] if tag.implied_by else None,
        }
        for tag in found
    ]


def _store_pages(
    connection: sa.Connection,
    repository: RepositoryRow,
    judged: Sequence[tuple[Row, Verdict]],
    keys: Mapping[tuple[str, str], int],
) -> int:
    served = [(row, v) for row, v in judged if _has_page(row, v)]
    gone = [row["page_id"] for row, v in judged if row["page_id"] and not _has_page(row, v)]
    pks = store_pull_request_pages(connection, [_page(repository, row) for row, _ in served])
    ids = {row["id"]: page_id(repository, row["number"]) for row, _ in served}
    tag_rows = [tag for row, v in served for tag in _page_tags(ids[row["id"]], v.tags, keys)]
    written = len(pks) + store_page_tags(connection, list(pks), tag_rows)
    index_pages(
        connection, [_document(row, v, ids[row["id"]], pks[ids[row["id"]]]) for row, v in served]
    )
    return written + retire_pages(connection, gone)


def _has_page(row: Row, verdict: Verdict) -> bool:
    return row["landed_state"] == "landed" and _decision(row, verdict) == "include"


def page_id(repository: RepositoryRow, number: int) -> str:
    """Return the id of a pull request's page, e.g. pr-vllm-20646."""
    return f"pr-{repository.slug}-{number}"


def _page(repository: RepositoryRow, row: Row) -> Row:
    return {
        "pull_request_id": row["id"],
        "id": page_id(repository, row["number"]),
        "title": row["title"],
        "url": f"https://github.com/{repository.full_name}/pull/{row['number']}",
        "published_on": row["landed_at"].date() if row["landed_at"] else None,
    }


def _page_tags(
    id_: str, found: Sequence[TagVerdict], keys: Mapping[tuple[str, str], int]
) -> list[Row]:
    return [
        {
            "page_id": id_,
            "tag_id": keys[tag.facet, tag.name],
            "basis": tag.basis,
            "rule": tag.rule,
            "evidence": tag.evidence.text if tag.evidence else tag.implied_by,
            "locator": tag.evidence.locator if tag.evidence else "tag",
        }
        for tag in found
    ]


def _document(row: Row, verdict: Verdict, id_: str, pk: int) -> dict[str, Any]:
    return {
        "pk": pk,
        "id": id_,
        "title": row["title"],
        "tags": [tag.name for tag in verdict.tags],
        "text": row["body"] or "",
        "paths": row["paths"][:_INDEXED_PATHS],
    }
