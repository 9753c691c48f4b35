"""Run a search: match, filter, rank, count, and cut a snippet from the text of each hit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from kwdb.documents import read_documents
from kwdb.models import pages
from kwdb.search.filters import (
    Condition,
    Filters,
    build_conditions,
    family_only,
    without_architecture,
)
from kwdb.search.snippet import cut_snippet
from kwdb.search.terms import Term, parse_terms, to_fts5, to_tsqueries

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
        sa.select(pages.c.id, pages.c.type, pages.c.title, score.label("score"))
        .select_from(source)
        .where(*conditions)
        .order_by(sa.desc("score"), pages.c.published_on.desc(), pages.c.id)
        .limit(limit)
    ).all()
    texts = {
        found["id"]: found["text"] or "\n".join(found["paths"])
        for found in read_documents(connection, [row.id for row in rows])
    }
    hits = [
        Hit(r.id, r.type, r.title, round(r.score, 4), cut_snippet(texts[r.id], terms)) for r in rows
    ]
    return SearchResult(total, True, hits, None, _excluded(connection, source, filters))


def _matching(
    connection: sa.Connection, terms: Sequence[Term]
) -> tuple[sa.FromClause, sa.ColumnElement[float]]:
    """Return pages joined with the matching rows of the index, and the score of a row."""
    if not terms:
        return pages, sa.literal(0.0)
    is_sqlite = connection.dialect.name == "sqlite"
    ranked = _ranked_by_fts5(terms) if is_sqlite else _ranked_by_tsquery(connection, terms)
    found = ranked.columns(sa.column("pk", sa.Integer), sa.column("score", sa.Float))
    matches = found.subquery("found")
    return pages.join(matches, matches.c.pk == pages.c.pk), matches.c.score


def _ranked_by_fts5(terms: Sequence[Term]) -> sa.TextClause:
    return sa.text(
        f"SELECT rowid AS pk, -bm25(page_index, {_FTS5_WEIGHTS}) AS score "  # noqa: S608
        "FROM page_index WHERE page_index MATCH :terms"
    ).bindparams(terms=to_fts5(terms))


def _ranked_by_tsquery(connection: sa.Connection, terms: Sequence[Term]) -> sa.TextClause:
    """Add up ts_rank of each phrase times its rarity, as bm25 does; ts_rank knows no rarity.

    Rarity is ln(1 + (N - n + 0.5) / (n + 0.5)) of n pages in N (Robertson, the idf of BM25).
    """
    phrases = to_tsqueries(terms)
    rarities = _rarities(connection, phrases)
    ranks = " + ".join(
        f"{rarity:.4f} * ts_rank('{_TS_WEIGHTS}', document, to_tsquery('english', :t{place}), 1)"
        for place, rarity in enumerate(rarities)
    )
    return sa.text(
        f"SELECT pk, {ranks} AS score FROM page_index "  # noqa: S608 - numbers and bound texts
        "WHERE document @@ to_tsquery('english', :terms)"
    ).bindparams(
        terms=" | ".join(phrases), **{f"t{place}": phrase for place, phrase in enumerate(phrases)}
    )


def _rarities(connection: sa.Connection, phrases: Sequence[str]) -> list[float]:
    index = sa.table("page_index", sa.column("document"))
    holders = (
        sa.select(sa.func.count())
        .where(index.c.document.op("@@")(sa.func.to_tsquery("english", phrase)))
        .scalar_subquery()
        for phrase in phrases
    )
    everything = sa.select(sa.func.count()).select_from(index).scalar_subquery()
    total, *found = connection.execute(sa.select(everything, *holders)).one()
    return [math.log(1 + (total - n + 0.5) / (n + 0.5)) for n in found]


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
