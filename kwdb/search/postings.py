"""Which pages hold a phrase, and how well: each engine's index behind the same three questions.

A phrase is folded words, e.g. `tensor memory`. Scores of one engine compare with each other only.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from math import log

import sqlalchemy as sa

Scores = dict[int, float]
"""pages.pk -> score of a phrase on that page, over 0."""

# A word in an id or a title says most, then tags, headings, body. bm25 is FTS5's own, with
# k1 = 1.2 and b = 0.75 (https://sqlite.org/fts5.html#the_bm25_function).
_FTS5_WEIGHTS = "8.0, 8.0, 4.0, 2.0, 1.0"
# PostgreSQL's order of weights is D, C, B, A: body, headings, tags, id and title.
_TS_WEIGHTS = "{0.25, 0.4, 0.6, 1.0}"
# Over so many pages PostgreSQL's own estimate of a count is taken, since a count reads them all.
_COUNTED_PAGES = 50_000
# So many pages found by the rare words are asked for a frequent one on PostgreSQL.
_RESCORED = 500


class Postings(ABC):
    """The index of one engine."""

    budget: int
    """So many postings are scored for a query whatever its words."""
    rare_budget: int
    """So many for the rare words of a query that is over the budget."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    @cached_property
    @abstractmethod
    def total(self) -> int:
        """How many pages the index holds; on a large PostgreSQL table an estimate."""

    @abstractmethod
    def count(self, phrase: str) -> int:
        """Return how many pages hold `phrase`; over the budget any number over it."""

    @abstractmethod
    def scores(self, phrase: str) -> Scores:
        """Score the pages that hold `phrase`; of a phrase over the budget, some of them."""

    @abstractmethod
    def scores_among(self, phrase: str, found: Mapping[str, Scores]) -> Scores:
        """Score a frequent phrase on pages that are `found` already (phrase -> its scores)."""

    def rarity(self, count: int) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), the idf of BM25 (Robertson), for n pages."""
        return log(1 + (max(self.total - count, 0) + 0.5) / (count + 0.5))


class Fts5Postings(Postings):
    """SQLite's FTS5."""

    budget = 30_000
    rare_budget = 8_000

    @cached_property
    def total(self) -> int:
        """Count the rows of the document sizes, the smallest of FTS5's tables."""
        query = sa.text("SELECT count(*) FROM page_index_docsize")
        return int(self.connection.execute(query).scalar_one())

    def count(self, phrase: str) -> int:
        """Return how many pages hold `phrase`, counting one over the budget at most."""
        query = sa.text(
            "SELECT count(*) FROM (SELECT 1 FROM page_index WHERE page_index MATCH :phrase"
            " LIMIT :limit)"
        )
        bound = {"phrase": f'"{phrase}"', "limit": self.budget + 1}
        return int(self.connection.execute(query, bound).scalar_one())

    def scores(self, phrase: str) -> Scores:
        """Score by bm25 over the weighted columns; over the budget, pages that have it on top."""
        found = self._score(f'"{phrase}"')
        if len(found) < self.budget:
            return found
        return self._score(f'{{id title tags headings}} : "{phrase}"') or found

    def scores_among(self, phrase: str, found: Mapping[str, Scores]) -> Scores:
        """Ask for the phrase beside any of those found, which FTS5 does by leaps.

        bm25 adds up over the phrases of a query, so what the others gave is taken off again.
        """
        others = " OR ".join(f'"{one}"' for one in found)
        scores = self._score(f'({others}) AND "{phrase}"')
        for known in found.values():
            for pk in known.keys() & scores.keys():
                scores[pk] -= known[pk]
        return scores

    def _score(self, query: str) -> Scores:
        statement = sa.text(
            f"SELECT rowid, -bm25(page_index, {_FTS5_WEIGHTS}) FROM page_index "  # noqa: S608
            "WHERE page_index MATCH :query LIMIT :limit"
        )
        rows = self.connection.execute(statement, {"query": query, "limit": self.budget}).all()
        return {row[0]: row[1] for row in rows}


class TsvectorPostings(Postings):
    """PostgreSQL's tsvector; ts_rank knows no rarity, so each score is multiplied by it."""

    budget = 5_000
    rare_budget = 5_000

    @cached_property
    def total(self) -> int:
        """Count the pages, or take the planner's estimate where there are many."""
        estimate = "SELECT reltuples FROM pg_class WHERE oid = 'page_index'::regclass"
        rows = int(self.connection.execute(sa.text(estimate)).scalar_one())
        if rows > _COUNTED_PAGES:
            return rows
        return int(self.connection.execute(sa.text("SELECT count(*) FROM page_index")).scalar_one())

    def count(self, phrase: str) -> int:
        """Return how many pages hold `phrase`, estimated where there are many pages."""
        explain = "EXPLAIN (FORMAT JSON) " if self.total > _COUNTED_PAGES else ""
        column = "1" if explain else "count(*)"
        query = sa.text(
            f"{explain}SELECT {column} FROM page_index "  # noqa: S608 - constants
            "WHERE document @@ to_tsquery('english', :phrase)"
        )
        found = self.connection.execute(query, {"phrase": as_tsquery(phrase)}).scalar_one()
        return int(found[0]["Plan"]["Plan Rows"]) if explain else int(found)

    def scores(self, phrase: str) -> Scores:
        """Score by ts_rank, flattened to rank / (rank + 1), times rarity."""
        rows = self.connection.execute(_ts_rank(""), {"phrase": as_tsquery(phrase)} | self._limit)
        found = [(row[0], row[1]) for row in rows.all()]
        rarity = self.rarity(len(found) if len(found) < self.budget else self.count(phrase))
        return {pk: rarity * score for pk, score in found}

    def scores_among(self, phrase: str, found: Mapping[str, Scores]) -> Scores:
        """Score the phrase on the pages that have most of what was found."""
        sums: Scores = {}
        for known in found.values():
            for pk, score in known.items():
                sums[pk] = sums.get(pk, 0.0) + score
        among = heapq.nlargest(_RESCORED, sums, key=lambda pk: (sums[pk], -pk))
        bound = {"phrase": as_tsquery(phrase), "among": among} | self._limit
        rows = self.connection.execute(_ts_rank(" AND pk = ANY(:among)"), bound).all()
        rarity = self.rarity(self.count(phrase))
        return {row[0]: rarity * row[1] for row in rows}

    @property
    def _limit(self) -> dict[str, object]:
        return {"limit": self.budget}


def _ts_rank(condition: str) -> sa.TextClause:
    return sa.text(
        f"SELECT pk, ts_rank('{_TS_WEIGHTS}', document, query, 32) "  # noqa: S608 - constants
        "FROM page_index, to_tsquery('english', :phrase) query "
        f"WHERE document @@ query{condition} LIMIT :limit"
    )


def as_tsquery(phrase: str) -> str:
    """Write a phrase as a tsquery: `'tensor' <-> 'memory'`."""
    return " <-> ".join(f"'{word}'" for word in phrase.split())


def open_postings(connection: sa.Connection) -> Postings:
    """Return the index of the connection's engine."""
    is_sqlite = connection.dialect.name == "sqlite"
    return Fts5Postings(connection) if is_sqlite else TsvectorPostings(connection)
