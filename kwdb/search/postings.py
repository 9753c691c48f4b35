"""Which pages hold a phrase, and how well: each engine's index behind the same three questions.

A phrase is folded words, e.g. `tensor memory`. Scores of one engine compare with each other only.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
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


class Postings(ABC):
    """The index of one engine."""

    budget: int
    """So many postings are scored for one query; what is more frequent only adds to those."""

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
    def scores(self, phrase: str, among: Collection[int] | None = None) -> Scores:
        """Score the pages that hold `phrase`, at most `budget`, or those of `among` only."""

    def rarity(self, count: int) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), the idf of BM25 (Robertson), for n pages."""
        return log(1 + (max(self.total - count, 0) + 0.5) / (count + 0.5))


class Fts5Postings(Postings):
    """SQLite's FTS5."""

    budget = 60_000

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

    def scores(self, phrase: str, among: Collection[int] | None = None) -> Scores:
        """Score by bm25 over the weighted columns."""
        wanted = "" if among is None else " AND rowid IN (SELECT value FROM json_each(:among))"
        query = sa.text(
            f"SELECT rowid, -bm25(page_index, {_FTS5_WEIGHTS}) FROM page_index "  # noqa: S608
            f"WHERE page_index MATCH :phrase{wanted} LIMIT :limit"
        )
        bound: dict[str, object] = {"phrase": f'"{phrase}"', "limit": self.budget}
        if among is not None:
            bound["among"] = str(sorted(among))
        return {row[0]: row[1] for row in self.connection.execute(query, bound).all()}


class TsvectorPostings(Postings):
    """PostgreSQL's tsvector; ts_rank knows no rarity, so each score is multiplied by it."""

    budget = 5_000

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

    def scores(self, phrase: str, among: Collection[int] | None = None) -> Scores:
        """Score by ts_rank, flattened to rank / (rank + 1), times rarity."""
        wanted = "" if among is None else " AND pk = ANY(:among)"
        query = sa.text(
            f"SELECT pk, ts_rank('{_TS_WEIGHTS}', document, query, 32) "  # noqa: S608 - constants
            "FROM page_index, to_tsquery('english', :phrase) query "
            f"WHERE document @@ query{wanted} LIMIT :limit"
        )
        bound: dict[str, object] = {"phrase": as_tsquery(phrase), "limit": self.budget}
        if among is not None:
            bound["among"] = sorted(among)
        rows = self.connection.execute(query, bound).all()
        rarity = self.rarity(len(rows) if among is None else self.count(phrase))
        return {pk: rarity * score for pk, score in rows}


def as_tsquery(phrase: str) -> str:
    """Write a phrase as a tsquery: `'tensor' <-> 'memory'`."""
    return " <-> ".join(f"'{word}'" for word in phrase.split())


def open_postings(connection: sa.Connection) -> Postings:
    """Return the index of the connection's engine."""
    is_sqlite = connection.dialect.name == "sqlite"
    return Fts5Postings(connection) if is_sqlite else TsvectorPostings(connection)
