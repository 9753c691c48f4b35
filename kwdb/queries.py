"""Named questions to the database; each returns plain data and prints nothing."""

import re
from typing import Any

import sqlalchemy as sa

from kwdb.db import row_dicts
from kwdb.errors import NotFoundError, nearest
from kwdb.models import (
    aliases,
    commit_paths,
    commits,
    gpu_aliases,
    gpus,
    harvest_gaps,
    page_links,
    page_tags,
    page_versions,
    pages,
    paths,
    performance_claims,
    pull_request_commits,
    pull_request_labels,
    pull_request_tags,
    pull_requests,
    repositories,
    repository_aliases,
    tags,
)
from kwdb.text import fold

Found = dict[str, Any]

_PULL_REQUEST = re.compile(r"(?P<repo>[\w.-]+(?:/[\w.-]+)?)#(?P<number>\d{1,9})")
_PAGE_OF_PULL_REQUEST = re.compile(r"pr-(?P<repo>.+)-(?P<number>\d{1,9})")
_BASIS_ORDER = {"exact": 1, "product": 2, "family": 3}
_SHOWN_PATHS = 200


def resolve_term(connection: sa.Connection, term: str) -> list[Found]:
    """Return what a word or phrase stands for, best first; empty when nothing is known.

    A tag's own name comes before aliases, an exact alias before a product, a family last. Each
    match has tag, facet, basis, alias and note.
    """
    key = fold(term)
    named = sa.select(tags.c.name, tags.c.facet)
    own = [
        {"tag": name, "facet": facet, "basis": "exact", "alias": name, "note": None}
        for name, facet in connection.execute(named)
        if fold(name) == key
    ]
    query = (
        sa.select(
            tags.c.name.label("tag"),
            tags.c.facet,
            aliases.c.basis,
            aliases.c.display.label("alias"),
            aliases.c.note,
        )
        .join(tags, tags.c.id == aliases.c.tag_id)
        .where(aliases.c.alias == key)
        .order_by(aliases.c.id)
    )
    others = sorted(row_dicts(connection.execute(query)), key=lambda r: _BASIS_ORDER[r["basis"]])
    return _merged(own, others)


def _merged(own: list[Found], others: list[Found]) -> list[Found]:
    """A tag's own name wins over an alias of the same spelling, but keeps the alias's note."""
    matches = {(row["facet"], row["tag"]): row for row in own}
    for row in others:
        kept = matches.setdefault((row["facet"], row["tag"]), row)
        kept["note"] = kept["note"] or row["note"]
    return list(matches.values())


def find_repository(connection: sa.Connection, name: str) -> Found | None:
    """Return a repository by slug, full name or former name; None when it is not known."""
    r = repositories.c
    former = sa.select(repository_aliases.c.repository_id).where(
        sa.func.lower(repository_aliases.c.full_name) == name.lower()
    )
    query = sa.select(repositories).where(
        sa.or_(r.slug == name.lower(), sa.func.lower(r.full_name) == name.lower(), r.id.in_(former))
    )
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def repository_names(connection: sa.Connection, repository_id: int) -> frozenset[str]:
    """Return a repository's present and former full names, in lower case."""
    r, a = repositories.c, repository_aliases.c
    names = sa.select(r.full_name).where(r.id == repository_id)
    former = sa.select(a.full_name).where(a.repository_id == repository_id)
    found = (connection.execute(query).scalars() for query in (names, former))
    return frozenset(name.lower() for part in found for name in part)


def list_repositories(connection: sa.Connection) -> list[Found]:
    """Return all repositories in order of their keys."""
    return row_dicts(connection.execute(sa.select(repositories).order_by(repositories.c.id)))


def show(connection: sa.Connection, name: str, *, follow_sources: bool = False) -> Found:
    """Return all that is known of a page or pull request.

    `name` is a page id, `OWNER/NAME#N` or `SLUG#N`. A pull request without a page is shown too.

    Raises:
        NotFoundError: neither exists; the message names the nearest ids.
    """
    page = _find_page(connection, name)
    pull_request = _find_pull_request(connection, page["id"] if page else name)
    if page is None and pull_request is None:
        raise NotFoundError(_not_found(connection, name))
    if page is None and pull_request and pull_request["page_id"]:
        page = _find_page(connection, pull_request["page_id"])
    found: Found = {"id": page["id"] if page else _label(pull_request)}
    if page:
        found |= _page_parts(connection, page, follow_sources)
    if pull_request:
        found |= _pull_request_parts(connection, pull_request)
    found["claims"] = _claims(connection, page, pull_request)
    return found


def _label(pull_request: Found | None) -> str:
    return f"{pull_request['full_name']}#{pull_request['number']}" if pull_request else ""


def _find_page(connection: sa.Connection, id_: str) -> Found | None:
    for condition in (pages.c.id == id_, sa.func.lower(pages.c.id) == id_.lower()):
        row = connection.execute(sa.select(pages).where(condition)).mappings().first()
        if row:
            return dict(row)
    return None


def _find_pull_request(connection: sa.Connection, name: str) -> Found | None:
    match = _PULL_REQUEST.fullmatch(name) or _PAGE_OF_PULL_REQUEST.fullmatch(name.lower())
    if match is None:
        return None
    repository = find_repository(connection, match["repo"])
    if repository is None:
        return None
    query = sa.select(pull_requests).where(
        pull_requests.c.repository_id == repository["id"],
        pull_requests.c.number == int(match["number"]),
    )
    row = connection.execute(query).mappings().first()
    names = {"full_name": repository["full_name"], "slug": repository["slug"]}
    return {**row, **names} if row else None


def get_pull_request(connection: sa.Connection, name: str) -> Found:
    """Return the row of a pull request, with full_name and slug, by any name that `show` takes.

    Raises:
        NotFoundError: there is none.
    """
    found = _find_pull_request(connection, name)
    if found is None:
        raise NotFoundError(_not_found(connection, name))
    return found


def _not_found(connection: sa.Connection, name: str) -> str:
    known = connection.execute(
        sa.select(pages.c.id).where(pages.c.id.startswith(name[:4], autoescape=True)).limit(5_000)
    ).scalars()
    near = nearest(name, list(known))
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f'no page or pull request {name!r}{hint}; "kwdb search" finds ids'


def _page_parts(connection: sa.Connection, page: Found, follow_sources: bool) -> Found:
    id_ = page["id"]
    versions = connection.execute(
        sa.select(page_versions.c.body, page_versions.c.path)
        .where(page_versions.c.page_id == id_)
        .order_by((page_versions.c.corpus_id == page["served_from"]).desc())
    ).first()
    links = row_dicts(
        connection.execute(
            sa.select(page_links.c.kind, page_links.c.target, pages.c.title, pages.c.url)
            .outerjoin(pages, pages.c.id == page_links.c.target)
            .where(page_links.c.page_id == id_)
            .order_by(page_links.c.kind, page_links.c.position)
        )
    )
    found = {name: value for name, value in page.items() if name not in ("pk", "served_from")}
    found["tags"] = _tags_of_page(connection, id_)
    found["links"] = links
    if versions:
        found["body"] = versions.body.decode("utf-8", "backslashreplace")
    if follow_sources:
        sources = [link["target"] for link in links if link["kind"] == "sources"]
        found["sources"] = [dict(row) for row in _pages_by_id(connection, sources)]
    return found


def _pages_by_id(connection: sa.Connection, ids: list[str]) -> list[Found]:
    columns = [pages.c[name] for name in ("id", "type", "title", "url", "published_on", "summary")]
    return row_dicts(connection.execute(sa.select(*columns).where(pages.c.id.in_(ids))))


def _tags_of_page(connection: sa.Connection, id_: str) -> list[Found]:
    t = page_tags.c
    query = (
        sa.select(tags.c.facet, tags.c.name, t.origin, t.basis, t.rule, t.evidence, t.locator)
        .join(tags, tags.c.id == t.tag_id)
        .where(t.page_id == id_)
        .order_by(tags.c.facet, tags.c.name)
    )
    return row_dicts(connection.execute(query))


_PULL_REQUEST_COLUMNS = (
    "number title body landed_state landed_at merged_at api_state merge_sha head_sha base_ref "
    "created_at closed_at decision decision_reason decision_evidence decided_by ruleset"
).split()


def _pull_request_parts(connection: sa.Connection, row: Found) -> Found:
    key = row["id"]
    touched = list(
        connection.execute(
            sa.select(paths.c.path)
            .distinct()
            .join(commit_paths, commit_paths.c.path_id == paths.c.id)
            .join(
                pull_request_commits, pull_request_commits.c.commit_id == commit_paths.c.commit_id
            )
            .where(
                pull_request_commits.c.pull_request_id == key,
                pull_request_commits.c.role == "landed",
            )
            .order_by(paths.c.path)
        ).scalars()
    )
    labels = sa.select(pull_request_labels.c.label).where(
        pull_request_labels.c.pull_request_id == key
    )
    return {
        "repo": row["slug"],
        "url": f"https://github.com/{row['full_name']}/pull/{row['number']}",
        **{name: row[name] for name in _PULL_REQUEST_COLUMNS},
        "tags": _tags_of_pull_request(connection, key),
        "commits": _commits_of(connection, key),
        "labels": sorted(connection.execute(labels).scalars()),
        "paths": touched[:_SHOWN_PATHS],
        "paths_total": len(touched),
    }


def _tags_of_pull_request(connection: sa.Connection, key: int) -> list[Found]:
    t, implying = pull_request_tags.c, tags.alias("implying")
    query = (
        sa.select(
            tags.c.facet,
            tags.c.name,
            t.basis,
            t.rule,
            t.evidence,
            t.locator,
            implying.c.name.label("implied_by"),
        )
        .join(tags, tags.c.id == t.tag_id)
        .outerjoin(implying, implying.c.id == t.implied_by)
        .where(t.pull_request_id == key)
        .order_by(tags.c.facet, tags.c.name)
    )
    return row_dicts(connection.execute(query))


def _commits_of(connection: sa.Connection, key: int) -> list[Found]:
    link, c = pull_request_commits.c, commits.c
    query = (
        sa.select(link.role, link.rule, c.sha, c.committed_at, c.subject, c.is_reachable)
        .join(commits, c.id == link.commit_id)
        .where(link.pull_request_id == key)
        .order_by(c.id)
    )
    return row_dicts(connection.execute(query))


_CLAIM_COLUMNS = (
    "id metric value value_max unit_as_written value_normalized baseline_value role direction "
    "dtype op variant shape origin status status_reason evidence evidence_line"
).split()


def _claims(
    connection: sa.Connection, page: Found | None, pull_request: Found | None
) -> list[Found]:
    c = performance_claims.c
    owners = [
        *([c.page_id == page["id"], c.source_page_id == page["id"]] if page else []),
        *([c.pull_request_id == pull_request["id"]] if pull_request else []),
    ]
    query = (
        sa.select(*(c[name] for name in _CLAIM_COLUMNS), gpus.c.name.label("gpu"))
        .outerjoin(gpus, gpus.c.id == c.gpu_id)
        .where(sa.or_(*owners), c.retired_at.is_(None))
        .order_by(c.evidence_line, c.id)
    )
    return row_dicts(connection.execute(query))


def explain(connection: sa.Connection, name: str) -> Found:
    """Return why kwdb says what it says of a page or pull request: rule, evidence, place.

    Raises:
        NotFoundError: neither exists.
    """
    found = show(connection, name)
    wanted = ("id", "title", "url", "landed_state", "landed_at", "tags", "commits", "claims")
    answer = {key: found[key] for key in wanted if key in found}
    if "decision" in found:
        parts = {"decision": "decision", "reason": "decision_reason", "rule": "decided_by"}
        parts |= {"evidence": "decision_evidence", "ruleset": "ruleset"}
        answer["decision"] = {new: found[old] for new, old in parts.items()}
    return answer


def read_status(connection: sa.Connection) -> Found:
    """Return coverage per repository, gaps, and how many rows the main tables hold."""
    coverage = sa.text("SELECT * FROM repository_coverage ORDER BY repo")
    gaps = sa.select(
        repositories.c.slug.label("repo"),
        harvest_gaps.c.stage,
        harvest_gaps.c.key,
        harvest_gaps.c.reason,
        harvest_gaps.c.tries,
    ).join(repositories, repositories.c.id == harvest_gaps.c.repository_id)
    counted = (pages, pull_requests, commits, tags, aliases, performance_claims)
    return {
        "repositories": row_dicts(connection.execute(coverage)),
        "gaps": row_dicts(connection.execute(gaps)),
        "rows": {
            table.name: connection.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar_one()
            for table in counted
        },
    }


def find_gpu(connection: sa.Connection, name: str) -> Found | None:
    """Return a GPU by any spelling of its name; None when it is not known."""
    query = (
        sa.select(gpus)
        .join(gpu_aliases, gpu_aliases.c.gpu_id == gpus.c.id)
        .where(gpu_aliases.c.alias == fold(name))
    )
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None
