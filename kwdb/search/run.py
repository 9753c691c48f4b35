"""Run a search: terms, matches, filters, rank, links, and a snippet from the text of each hit."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import sqlalchemy as sa

from kwdb.db import driver_rows
from kwdb.documents import read_texts
from kwdb.models import pages
from kwdb.search.candidates import among, read_aliases, read_candidates, read_links
from kwdb.search.filters import (
    Condition,
    Filters,
    build_conditions,
    family_only,
    without_architecture,
)
from kwdb.search.intent import read_intent
from kwdb.search.postings import Postings, Scores, open_postings
from kwdb.search.rank import (
    FLOOR,
    LINKING_PAGES,
    Candidate,
    Intent,
    Matches,
    final_score,
    first_scores,
    link_bonuses,
    match_terms,
    stub_bonus,
)
from kwdb.search.snippet import cut_snippet
from kwdb.search.spelling import correct_word
from kwdb.search.terms import Term, parse_terms
from kwdb.text import fold

# So many of the pages that matched are looked at more closely.
_RANKED = 100
_FLOOR_AMONG = 20
# So many signs of a query are read; it has its say in far fewer.
_READ_SIGNS = 4_000
# So many of the pages that matched go through the filters.
_LOOKED_AT = 10_000
# A word on so few pages may be a slip where a near one is on so many times more.
_FEW = 3
_LIKELIER = 30


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

    `total_is_exact` is False where the words are so frequent that not all pages were looked at.
    `corrected` is the query as it was understood, where a word was put right. `excluded` says how
    many pages a filter left out although they might belong, by reason.
    """

    total: int
    total_is_exact: bool
    results: list[Hit]
    corrected: str | None = None
    excluded: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    terms: list[Term]
    counts: list[int]
    corrected: str | None = None


def search_pages(
    connection: sa.Connection, text: str, filters: Filters | None = None, *, limit: int = 10
) -> SearchResult:
    """Find pages by words; with filters alone, all that they let through, newest first.

    Nothing found, or nothing that covers half of what was asked, is a result with total 0.

    Raises:
        UnknownValueError: a filter names something that is not known.
    """
    filters, text = filters or Filters(), text[:_READ_SIGNS]
    conditions = build_conditions(connection, filters)
    if not text.strip():
        return _list_pages(connection, filters, conditions, limit)
    postings = open_postings(connection)
    query = _read_query(connection, postings, text)
    matches = match_terms(postings, query.terms, query.counts)
    return _answer(connection, query, matches, filters, conditions, limit)


def _list_pages(
    connection: sa.Connection, filters: Filters, conditions: Sequence[Condition], limit: int
) -> SearchResult:
    rows = connection.execute(
        sa.select(pages.c.id, pages.c.type, pages.c.title)
        .where(*conditions)
        .order_by(pages.c.published_on.desc().nulls_last(), pages.c.id)
        .limit(limit)
    )
    found = [(row.id, row.type, row.title, 0.0) for row in rows]
    excluded = _excluded(connection, None, filters)
    total = _count(connection, conditions)
    return SearchResult(total, True, _hits(connection, found, ()), None, excluded)


def _read_query(connection: sa.Connection, postings: Postings, text: str) -> _Query:
    """Parse; where hardly a page has a word, look for the one that was meant.

    A word that no page has is replaced, one that a few have is looked for beside the other.
    """
    terms = parse_terms(connection, text)
    counts = _counts(postings, terms)
    slips = {
        term.phrases[0]: (meant, count)
        for term, count in zip(terms, counts, strict=True)
        if count <= _FEW and (meant := _meant(connection, postings, term.phrases[0], count))
    }
    if not slips:
        return _Query(text, terms, counts)
    words = [slips.get(word, (word, 0))[0] for word in fold(text).split()]
    corrected = " ".join(words)
    typed = {meant: word for word, (meant, count) in slips.items() if count}
    terms = [_beside(term, typed) for term in parse_terms(connection, corrected)]
    return _Query(corrected, terms, _counts(postings, terms), corrected)


def _meant(connection: sa.Connection, postings: Postings, word: str, count: int) -> str | None:
    meant = correct_word(connection, word)
    is_likelier = meant and (not count or postings.count(meant) >= _LIKELIER * count)
    return meant if is_likelier else None


def _beside(term: Term, typed: Mapping[str, str]) -> Term:
    word = typed.get(term.phrases[0])
    return replace(term, phrases=(*term.phrases, word)) if word else term


def _counts(postings: Postings, terms: Sequence[Term]) -> list[int]:
    return [sum(postings.count(phrase) for phrase in term.phrases) for term in terms]


def _answer(
    connection: sa.Connection,
    query: _Query,
    matches: Matches,
    filters: Filters,
    conditions: Sequence[Condition],
    limit: int,
) -> SearchResult:
    if not _is_relevant(matches):
        return SearchResult(0, True, [], query.corrected)
    intent = read_intent(connection, query.text)
    best = heapq.nlargest(_LOOKED_AT, matches.scores, key=matches.scores.__getitem__)
    types = _types(connection, best, conditions)
    scores = first_scores(matches, types, intent)
    chosen = heapq.nlargest(max(_RANKED, limit), scores, key=lambda pk: (scores[pk], -pk))
    ranked = _rank(connection, query, {pk: scores[pk] for pk in chosen}, intent, conditions)
    new = sum(candidate.pk not in types for candidate, _ in ranked)
    found = [(one.id, one.type, one.title, score) for one, score in ranked[:limit]]
    hits = _hits(connection, found, query.terms)
    excluded = _excluded(connection, matches.scores, filters)
    is_exact = matches.is_exact and len(best) == len(matches.scores)
    return SearchResult(len(types) + new, is_exact, hits, query.corrected, excluded)


def _is_relevant(matches: Matches) -> bool:
    """Whether one of the best pages covers enough of the query, filters apart."""
    best = heapq.nlargest(_FLOOR_AMONG, matches.scores, key=matches.scores.__getitem__)
    return any(matches.coverage[pk] >= FLOOR for pk in best)


def _rank(
    connection: sa.Connection,
    query: _Query,
    scores: Scores,
    intent: Intent,
    conditions: Sequence[Condition],
) -> list[tuple[Candidate, float]]:
    """Order the pages chosen, with those that the best of them link with."""
    today = datetime.now(UTC).date()
    named = read_aliases(connection, query.text, query.terms)
    found = read_candidates(connection, [among(connection, scores)], named)
    final = {
        one.id: final_score(one, scores[one.pk], query.text, query.terms, intent, today)
        for one in found.values()
    }
    best = {id_: final[id_] for id_ in heapq.nlargest(LINKING_PAGES, final, key=final.__getitem__)}
    gains = link_bonuses(best, read_links(connection, best))
    linked = [id_ for id_ in gains if id_ not in found]
    if linked:
        found |= read_candidates(connection, [pages.c.id.in_(linked), *conditions], named)
    for id_, candidate in found.items():
        gain = stub_bonus(gains.get(id_, 0.0), is_stub=candidate.is_stub)
        final[id_] = final.get(id_, 0.0) + gain
    order = sorted(found.values(), key=lambda one: (-final[one.id], one.id))
    return [(one, final[one.id]) for one in order]


def _types(
    connection: sa.Connection, keys: Sequence[int], conditions: Sequence[Condition]
) -> dict[int, str]:
    query = sa.select(pages.c.pk, pages.c.type).where(among(connection, keys), *conditions)
    return dict(driver_rows(connection.execute(query)))


def _hits(
    connection: sa.Connection,
    found: Sequence[tuple[str, str, str, float]],
    terms: Sequence[Term],
) -> list[Hit]:
    texts = read_texts(connection, [row[0] for row in found])
    return [
        Hit(id_, type_, title, round(score, 4), cut_snippet(texts[id_], terms))
        for id_, type_, title, score in found
    ]


def _count(connection: sa.Connection, conditions: Sequence[Condition]) -> int:
    query = sa.select(sa.func.count()).select_from(pages).where(*conditions)
    return int(connection.execute(query).scalar_one())


def _excluded(
    connection: sa.Connection, scores: Mapping[int, float] | None, filters: Filters
) -> dict[str, int]:
    if not filters.architecture:
        return {}
    rest = build_conditions(connection, replace(filters, architecture=None))
    rest += [] if scores is None else [among(connection, scores)]
    counts = {"unknown": _count(connection, [*rest, without_architecture()])}
    left_out = family_only(connection, filters)
    if left_out is not None:
        counts["family"] = _count(connection, [*rest, left_out])
    return dict(sorted(counts.items()))
