"""Regular expressions over what is stored, line by line, within a time limit.

The `regex` library is used because it can give up: `(a+)+$` on a long line would run for ever.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

import regex
import sqlalchemy as sa

from kwdb.errors import QueryError, UnknownValueError
from kwdb.models import (
    bundle_files,
    bundles,
    corpora,
    page_types,
    page_versions,
    pages,
    pull_requests,
)
from kwdb.text import scrub

PLACES: Final = ("wiki", "sources", "artifacts")
_FETCHED_AT_ONCE: Final = 200
_LONGEST_LINE: Final = 2_000
_LAYERS: Final = {"wiki": "wiki", "sources": "source"}

Text = tuple[str, str, str]
"""Id, corpus or `harvest`, and the text; files of bundles have PAGE:PATH as id."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that matches; lines count from 1."""

    id: str
    corpus: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(slots=True)
class Matches:
    """Matching lines in order of id; `is_complete` is false when limit or time ended the search."""

    lines: list[Line] = field(default_factory=list)
    texts_searched: int = 0
    is_complete: bool = True
    stopped_by: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for and where; a line must match all patterns, or with `any_` one."""

    patterns: Sequence[str]
    any_: bool = False
    ignore_case: bool = False
    only: str | None = None
    corpus: str | None = None
    context: int = 0
    limit: int = 50
    timeout_s: float = 10.0


def grep(connection: sa.Connection, question: Question) -> Matches:
    """Search the served pages, or those of one corpus, and the files of bundles.

    Raises:
        QueryError: a pattern is no regular expression.
        UnknownValueError: there is no such corpus or place.
    """
    compiled = [_compile(pattern, question) for pattern in question.patterns]
    corpus = _corpus(connection, question.corpus)
    found = Matches()
    end = time.monotonic() + question.timeout_s
    try:
        with closing(_texts(connection, question.only, corpus)) as texts:
            for text in texts:
                found.texts_searched += 1
                for line in _lines(text, compiled, question, end):
                    if len(found.lines) == question.limit:
                        return _stop(found, f"the limit of {question.limit} lines")
                    found.lines.append(line)
    except TimeoutError:
        return _stop(found, f"the time limit of {question.timeout_s:g} s")
    return found


def _stop(found: Matches, by: str) -> Matches:
    found.is_complete, found.stopped_by = False, by
    return found


def _compile(pattern: str, question: Question) -> "regex.Pattern[str]":
    flags = regex.IGNORECASE if question.ignore_case else 0
    try:
        return regex.compile(pattern, flags)
    except (regex.error, OverflowError, RecursionError) as exc:
        raise QueryError(f"{pattern!r} is no regular expression: {exc}") from exc


def _corpus(connection: sa.Connection, name: str | None) -> int | None:
    if name is None:
        return None
    query = sa.select(corpora.c.name, corpora.c.id)
    found = {row.name: row.id for row in connection.execute(query)}
    if name not in found:
        raise UnknownValueError("corpus", name, found)
    return int(found[name])


def _texts(
    connection: sa.Connection, only: str | None, corpus: int | None
) -> Generator[Text, None, None]:
    if only is not None and only not in PLACES:
        raise UnknownValueError("place", only, PLACES)
    if only != "artifacts":
        yield from _pages(connection, _LAYERS.get(only or ""), corpus)
    if only in (None, "artifacts"):
        yield from _files(connection, corpus)


def _pages(connection: sa.Connection, layer: str | None, corpus: int | None) -> Iterator[Text]:
    p, v = pages.c, page_versions.c
    of_layer = page_types.c.layer == layer if layer else sa.true()
    wanted = v.corpus_id == corpus if corpus else v.corpus_id == p.served_from
    versions = (
        sa.select(p.id, corpora.c.name, v.body)
        .join(page_versions, v.page_id == p.id)
        .join(corpora, corpora.c.id == v.corpus_id)
        .join(page_types, page_types.c.name == p.type)
        .where(wanted, v.retired_at.is_(None), of_layer)
        .order_by(p.id)
    )
    for id_, name, body in _rows(connection, versions):
        yield id_, name, body.decode("utf-8", "replace")
    if corpus is None and layer != "wiki":
        bodies = (
            sa.select(p.id, pull_requests.c.body)
            .join(corpora, (corpora.c.id == p.served_from) & (corpora.c.kind == "harvest"))
            .join(pull_requests, pull_requests.c.page_id == p.id)
            .where(~p.is_retired, pull_requests.c.body.is_not(None))
            .order_by(p.id)
        )
        for id_, body in _rows(connection, bodies):
            yield id_, "harvest", body


def _rows(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Any]:
    """Rows of a query, not all at once; a search that ends early leaves no cursor open."""
    streamed = query.execution_options(yield_per=_FETCHED_AT_ONCE)
    with closing(connection.execute(streamed)) as rows:
        yield from rows


def _files(connection: sa.Connection, corpus: int | None) -> Iterator[Text]:
    b, f = bundles.c, bundle_files.c
    query = (
        sa.select(b.page_id, b.path, f.path, corpora.c.name, f.content)
        .join(bundles, b.id == f.bundle_id)
        .join(corpora, corpora.c.id == b.corpus_id)
        .where(b.retired_at.is_(None), f.content.is_not(None))
        .where(b.corpus_id == corpus if corpus else sa.true())
        .order_by(b.path, f.path, b.corpus_id)
    )
    for owner, bundle, path, name, content in _rows(connection, query):
        if b"\0" not in content:
            yield f"{owner or bundle}:{path}", name, content.decode("utf-8", "replace")


def _lines(
    text: Text, compiled: "Sequence[regex.Pattern[str]]", question: Question, end: float
) -> Iterator[Line]:
    id_, corpus, whole = text
    enough = any if question.any_ else all
    lines = whole.splitlines()
    for place, line in enumerate(lines):
        if enough(_matches(pattern, line, end) for pattern in compiled):
            before = lines[max(0, place - question.context) : place]
            after = lines[place + 1 : place + 1 + question.context]
            shown = (_shown(line), tuple(map(_shown, before)), tuple(map(_shown, after)))
            yield Line(id_, corpus, place + 1, *shown)


def _matches(pattern: "regex.Pattern[str]", line: str, end: float) -> bool:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return pattern.search(line, timeout=left) is not None


def _shown(line: str) -> str:
    return scrub(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…")
