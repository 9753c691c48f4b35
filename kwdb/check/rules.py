"""What a rule of `kwdb check` is, what it reads, and what it finds.

A rule is data: a stable id, a severity, what is wrong in one sentence, what to do about it, and a
way to find the cases: an SQL query over the public schema, or a function for what SQL says badly.
The tables of rules stand in the modules of this package by what they look at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import corpora, page_types, page_versions

SEVERITIES: Final = ("error", "warning", "notice")
ALL_CORPORA: Final = 0

Case = tuple[str, str]
"""The id of what is wrong, such as a page id or `claim:12`, and what was seen there."""


@dataclass(frozen=True, slots=True)
class PageText:
    """One page as one corpus has it."""

    id: str
    type: str | None
    layer: str | None
    corpus: str
    path: str
    front_matter: Mapping[str, Any]
    raw: bytes

    @property
    def body(self) -> str:
        """The body as text; bytes that are no UTF-8 stand as escapes."""
        return self.raw.decode("utf-8", "backslashreplace")

    def names(self, field: str) -> list[str]:
        """The members of a list field that are text; empty where there is no list."""
        value = self.front_matter.get(field)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Scope:
    """The database that is checked, and the corpus it is narrowed to; 0 stands for all."""

    connection: sa.Connection
    corpus: int = ALL_CORPORA

    @cached_property
    def pages(self) -> list[PageText]:
        """The page texts that are not retired, read once for all rules."""
        v = page_versions.c
        kind = v.front_matter["type"].as_string()
        query = (
            sa.select(v.page_id, kind, corpora.c.name, v.path, v.front_matter, v.body)
            .join(corpora, corpora.c.id == v.corpus_id)
            .where(v.retired_at.is_(None), self._wanted(v.corpus_id))
            .order_by(v.page_id, v.corpus_id)
        )
        layers = self.layers
        return [
            PageText(id_, _full(type_, layers), layers.get(_full(type_, layers) or ""), *rest)
            for id_, type_, *rest in self.connection.execute(query)
        ]

    @cached_property
    def layers(self) -> dict[str, str]:
        """Type of page -> its layer, source or wiki."""
        query = sa.select(page_types.c.name, page_types.c.layer)
        return {row.name: row.layer for row in self.connection.execute(query)}

    def _wanted(self, column: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
        return sa.true() if self.corpus == ALL_CORPORA else column == self.corpus

    def query(self, text: str) -> Iterator[Case]:
        """Yield the cases of a query; `:corpus IN (0, corpus_id)` in it narrows it to a corpus."""
        given = {"corpus": self.corpus} if ":corpus" in text else {}
        for id_, seen in self.connection.execute(sa.text(text), given):
            yield str(id_), "" if seen is None else str(seen)


def _full(type_: str | None, known: Mapping[str, str]) -> str | None:
    """The type as page_types spells it: KernelWiki writes `kernel` for `wiki-kernel`."""
    return type_ if type_ is None or type_ in known else f"wiki-{type_}"


Find = Callable[[Scope], Iterable[Case]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that may be wrong; `find` selects or yields the ids and what was seen there."""

    id: str
    severity: str
    says: str
    advice: str
    find: str | Find

    def cases(self, scope: Scope) -> Iterable[Case]:
        """Find the cases of this rule."""
        return scope.query(self.find) if isinstance(self.find, str) else self.find(scope)


@dataclass(frozen=True, slots=True)
class Finding:
    """One case of one rule, as a person or a program reads it."""

    rule: str
    severity: str
    id: str
    message: str
    advice: str


def each_page(look: Callable[[PageText], Iterable[str]]) -> Find:
    """Make a rule's function of one that looks at a page and yields what it sees amiss."""

    def find(scope: Scope) -> Iterator[Case]:
        for page in scope.pages:
            yield from ((page.id, f"{seen} ({page.corpus}:{page.path})") for seen in look(page))

    return find
