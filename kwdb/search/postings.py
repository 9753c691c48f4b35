"""Which pages hold a phrase, and how well: each engine's index behind the same three questions.

A phrase is folded words, e.g. `tensor memory`. Scores of one engine compare with each other only.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from math import log
from typing import Any

import sqlalchemy as sa

from kwdb.db import driver_rows

Scores = dict[int, float]
"""pages.pk -> score of a phrase on that page, over 0."""

# A word in an id, title, tag or heading says twice what one in the body does. bm25 is FTS5's own,
# with k1 = 1.2 and b = 0.75 (https://sqlite.org/fts5.html#the_bm25_function).
_BM25 = (
    "SELECT rowid, -bm25(page_index, 2.0, 2.0, 2.0, 2.0, 1.0) FROM page_index "
    "WHERE page_index MATCH ? LIMIT ?"
)
_ON_TOP = "{id title tags headings}"
# The newest first: where not all are read, they are worth most.
_KEYS = "SELECT rowid FROM page_index WHERE page_index MATCH ? ORDER BY rowid DESC LIMIT ?"
_COUNT = (
    "SELECT count(*), max(rowid) FROM "
    "(SELECT rowid FROM page_index WHERE page_index MATCH ? LIMIT ?)"
)
_COUNTED_POSTINGS = 10_000
# An index of so few pages is read for the scores at once, which count as well.
_SMALL = 10_000
# PostgreSQL's order of weights is D, C, B, A: body, headings, tags, id and title.
_TS_WEIGHTS = "{0.4, 0.7, 0.7, 1.0}"
# How soon more of a word says no more, how much length counts, and the mean number of different
# words on a page: k1, b and avgdl of BM25, for ts_rank in place of the number of occurrences.
_TS_K1, _TS_B, _TS_MEAN_LENGTH = 0.25, 0.5, 54.0
# Over so many pages counts are estimated, since a count reads them all.
_COUNTED_PAGES = 50_000
# Of the pages that hold the words of a phrase so many are read on PostgreSQL, to see whether they
# stand side by side there; its index does not know.
_READ_FOR_PHRASE = 20_000
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
    """SQLite's FTS5; bm25 reads all postings of each phrase of its query, so rare ones only."""

    budget = 30_000
    rare_budget = 8_000

    def __init__(self, connection: sa.Connection) -> None:
        super().__init__(connection)
        self._scored: dict[str, Scores] = {}
        self._counted: dict[str, int] = {}

    @cached_property
    def total(self) -> int:
        """Count the pages; where there are many, take the newest key, as keys have few gaps."""
        newest = self._rows("SELECT max(id) FROM page_index_docsize")[0][0] or 0
        if newest > _COUNTED_PAGES:
            return int(newest)
        return int(self._rows("SELECT count(*) FROM page_index_docsize")[0][0])

    def count(self, phrase: str) -> int:
        """Return how many pages hold `phrase`; a frequent one is counted on the oldest pages."""
        if self.total <= _SMALL:
            return len(self.scores(phrase))
        if phrase not in self._counted:
            self._counted[phrase] = self._count(phrase)
        return self._counted[phrase]

    def _count(self, phrase: str) -> int:
        counted, last = self._rows(_COUNT, f'"{phrase}"', _COUNTED_POSTINGS)[0]
        is_all = counted < _COUNTED_POSTINGS
        return int(counted if is_all else max(counted, counted * self.total / last))

    def scores(self, phrase: str) -> Scores:
        """Score by bm25 over the weighted columns; over the budget, pages that have it on top."""
        if phrase not in self._scored:
            self._scored[phrase] = self._score(phrase)
        return self._scored[phrase]

    def _score(self, phrase: str) -> Scores:
        if self.total <= _SMALL or self.count(phrase) <= self.budget:
            return dict(self._rows(_BM25, f'"{phrase}"', self.budget))
        queries = (f'{_ON_TOP} : "{phrase}"', f'"{phrase}"')
        return next(filter(None, (self._flat(phrase, query) for query in queries)), {})

    def scores_among(self, phrase: str, found: Mapping[str, Scores]) -> Scores:
        """Ask for the phrase beside any of those found, which FTS5 does by leaps."""
        if self.total <= _SMALL:
            keys = set().union(*found.values())
            return {pk: score for pk, score in self.scores(phrase).items() if pk in keys}
        others = " OR ".join(f'"{one}"' for one in found)
        return self._flat(phrase, f'({others}) AND "{phrase}"')

    def _flat(self, phrase: str, query: str) -> Scores:
        """Score each page by rarity alone: what bm25 makes of one word in a text of mean length."""
        rarity = self.rarity(self.count(phrase))
        rows = self._rows(_KEYS, query, self.rare_budget)
        return dict.fromkeys((row[0] for row in rows), rarity)

    def _rows(self, statement: str, *values: str | int) -> list[tuple[Any, ...]]:
        return driver_rows(self.connection.exec_driver_sql(statement, values))


class TsvectorPostings(Postings):
    """PostgreSQL's tsvector; ts_rank knows neither rarity nor length, so both are added."""

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
        """Score by BM25 with ts_rank in place of the number of occurrences."""
        rows = self.connection.execute(_ts_rank(""), self._asked(phrase))
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
        bound = self._asked(phrase) | {"among": among}
        rows = self.connection.execute(_ts_rank(" AND pk = ANY(:among)"), bound).all()
        rarity = self.rarity(self.count(phrase))
        return {row[0]: rarity * row[1] for row in rows}

    def _asked(self, phrase: str) -> dict[str, object]:
        words = as_tsquery(phrase).replace("<->", "&")
        bound = {"phrase": as_tsquery(phrase), "words": words}
        return bound | {"read": _READ_FOR_PHRASE, "limit": self.budget}


def _ts_rank(condition: str) -> sa.TextClause:
    """BM25's rank (k1 + 1) / (rank + k1 (1 - b + b length / mean length)), without the rarity."""
    return sa.text(
        f"SELECT pk, {_TS_K1 + 1} * rank / (rank + {_TS_K1} * "  # noqa: S608 - constants
        f"({1 - _TS_B} + {_TS_B / _TS_MEAN_LENGTH} * length)) FROM ("
        f"SELECT pk, ts_rank('{_TS_WEIGHTS}', document, query) AS rank,"
        " length(document) AS length"
        " FROM (SELECT pk, document FROM page_index"
        f" WHERE document @@ to_tsquery('english', :words){condition} LIMIT :read) AS near,"
        " to_tsquery('english', :phrase) query WHERE document @@ query LIMIT :limit) AS found"
    )


def as_tsquery(phrase: str) -> str:
    """Write a phrase as a tsquery: `'tensor' <-> 'memory'`."""
    return " <-> ".join(f"'{word}'" for word in phrase.split())


def open_postings(connection: sa.Connection) -> Postings:
    """Return the index of the connection's engine."""
    is_sqlite = connection.dialect.name == "sqlite"
    return Fts5Postings(connection) if is_sqlite else TsvectorPostings(connection)
