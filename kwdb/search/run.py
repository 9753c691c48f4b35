"""Run a search: match, filter, rank, count, and cut a snippet from the text of each hit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from kwdb.models import (
    commit_paths,
    page_versions,
    pages,
    paths,
    pull_request_commits,
    pull_requests,
)
from kwdb.search.filters import (
    Condition,
    Filters,
    build_conditions,
    family_only,
    without_architecture,
)
from kwdb.search.snippet import cut_snippet
from kwdb.search.terms import Term, parse_terms, to_fts5, to_tsquery

# Columns of page_index: id, title, tags, headings, body. A word in a title says most.
_FTS5_WEIGHTS = "8.0, 8.0, 4.0, 2.0, 1.0"
# PostgreSQL's order of weights is D, C, B, A: body, headings, tags, id and title.
_TS_WEIGHTS = "{0.1, 0.2, 0.4, 1.0}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A page found; the higher `score` the better, comparable within one answer only."""

    id: str
    type: str
    title: str
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits and how many there are in all.

    `excluded` says how many pages a filter left out although they might belong, by reason.
    """

    total: int
    total_is_exact: bool
    results: list[Hit]
    corrected: str | None = None
    excluded: dict[str, int] = field(default_factory=dict)


def search_pages(
    connection: sa.Connection, text: str, filters: Filters | None = None, *, limit: int = 10
) -> SearchResult:
    """Find pages by words; with filters alone, all that they let through, newest first.

    Nothing found is a result with total 0.

    Raises:
        UnknownValueError: a filter names something that is not known.
    """
    filters = filters or Filters()
    terms = parse_terms(connection, text)
    if text.strip() and not terms:
        return SearchResult(0, True, [])
    conditions = build_conditions(connection, filters)
    source, score = _matching(connection, terms)
    total = _count(connection, source, conditions)
    rows = connection.execute(
        sa.select(pages.c.id, pages.c.type, pages.c.title, pages.c.summary, score.label("score"))
        .select_from(source)
        .where(*conditions)
        .order_by(sa.desc("score"), pages.c.published_on.desc(), pages.c.id)
        .limit(limit)
    ).all()
    texts = _texts(connection, [row.id for row in rows])
    hits = [
        Hit(r.id, r.type, r.title, round(r.score, 4), cut_snippet(text, terms))
        for r in rows
        for text in [texts.get(r.id) or r.summary or ""]
    ]
    return SearchResult(total, True, hits, None, _excluded(connection, source, filters))


def _matching(
    connection: sa.Connection, terms: Sequence[Term]
) -> tuple[sa.FromClause, sa.ColumnElement[float]]:
    """Return pages joined with the matching rows of the index, and the score of a row."""
    if not terms:
        return pages, sa.literal(0.0)
    if connection.dialect.name == "sqlite":
        found = (
            sa.text(
                f"SELECT rowid AS pk, -bm25(page_index, {_FTS5_WEIGHTS}) AS score "  # noqa: S608
                "FROM page_index WHERE page_index MATCH :terms"
            )
            .bindparams(terms=to_fts5(list(terms)))
            .columns(sa.column("pk", sa.Integer), sa.column("score", sa.Float))
            .subquery("found")
        )
    else:
        found = (
            sa.text(
                f"SELECT pk, ts_rank_cd('{_TS_WEIGHTS}', document, query) AS score "  # noqa: S608
                "FROM page_index, to_tsquery('english', :terms) query WHERE document @@ query"
            )
            .bindparams(terms=to_tsquery(list(terms)))
            .columns(sa.column("pk", sa.Integer), sa.column("score", sa.Float))
            .subquery("found")
        )
    return pages.join(found, found.c.pk == pages.c.pk), found.c.score


def _count(
    connection: sa.Connection, source: sa.FromClause, conditions: Sequence[Condition]
) -> int:
    query = sa.select(sa.func.count()).select_from(source).where(*conditions)
    return int(connection.execute(query).scalar_one())


def _excluded(connection: sa.Connection, source: sa.FromClause, filters: Filters) -> dict[str, int]:
    if not filters.architecture:
        return {}
    rest = build_conditions(connection, replace(filters, architecture=None))
    counts = {"unknown": _count(connection, source, [*rest, without_architecture()])}
    left_out = family_only(connection, filters)
    if left_out is not None:
        counts["family"] = _count(connection, source, [*rest, left_out])
    return dict(sorted(counts.items()))


def _texts(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return page id -> the text a snippet is cut from: body, else the paths touched."""
    p, v = pull_requests.c, page_versions.c
    bodies = connection.execute(
        sa.select(p.page_id, p.body).where(p.page_id.in_(ids), p.body.is_not(None))
    )
    texts = {id_: body for id_, body in bodies if body}
    versions = connection.execute(
        sa.select(v.page_id, v.body).where(v.page_id.in_(ids), v.retired_at.is_(None))
    )
    texts |= {id_: body.decode("utf-8", "replace") for id_, body in versions if body}
    missing = [id_ for id_ in ids if id_ not in texts]
    return texts | _path_lists(connection, missing)


def _path_lists(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    links, touched = pull_request_commits.c, commit_paths.c
    rows = connection.execute(
        sa.select(pull_requests.c.page_id, paths.c.path)
        .join(pull_request_commits, links.pull_request_id == pull_requests.c.id)
        .join(commit_paths, touched.commit_id == links.commit_id)
        .join(paths, paths.c.id == touched.path_id)
        .where(pull_requests.c.page_id.in_(ids), links.role == "landed")
        .order_by(paths.c.path)
    )
    lists: dict[str, str] = {}
    for id_, path in rows:
        lists[id_] = f"{lists[id_]}\n{path}" if id_ in lists else path
    return lists
