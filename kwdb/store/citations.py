"""Claims held against the sources that they cite, where the text of these is held here."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from kwdb.models import corpora, page_versions, performance_claims, pull_requests, repositories
from kwdb.plausibility import missing_from_source
from kwdb.store.rows import Row, update_rows

_PERSON: Final = "person:"

_c = performance_claims.c


def check_citations(connection: sa.Connection) -> int:
    """Dispute reported claims whose number is not in the source held; returns rows written.

    Asked are claims still `unreviewed`, unless a person said so. A page of the seeds only describes
    its source, and a message in git only repeats a part of its pull request, so neither counts as
    the text of the source. Does not commit; twice equals once.
    """
    held: dict[int, list[str]] = defaultdict(list)
    claims: dict[int, Row] = {}
    for row, text in _cited(connection):
        claims[row["id"]] = row
        held[row["id"]].append(text)
    changed = []
    for key, row in claims.items():
        doubt = missing_from_source(row["value"], row["value_text"], "\n".join(held[key]))
        if doubt is not None:
            status = {"status": "disputed", "status_by": doubt[0], "status_reason": doubt[1]}
            changed.append({"id": key, **status, "comparable_key": None})
    return update_rows(connection, performance_claims, changed)


def _cited(connection: sa.Connection) -> Iterator[tuple[Row, str]]:
    """Each claim in question with each text of its source, in a fixed order."""
    columns = (_c.id, _c.value, _c.value_text)
    v, p, r = page_versions.c, pull_requests.c, repositories.c
    pages = (
        sa.select(*columns, v.body.label("text"))
        .join(page_versions, v.page_id == _c.source_page_id)
        .join(corpora, corpora.c.id == v.corpus_id)
        .where(corpora.c.kind != "seed", v.retired_at.is_(None), v.body.is_not(None))
    )
    page = sa.literal("pr-") + r.slug + "-" + sa.cast(p.number, sa.Text)
    pulls = (
        sa.select(*columns, (p.title + "\n" + p.body).label("text"))
        .select_from(performance_claims)
        .join(repositories, _c.source_page_id.startswith(sa.literal("pr-") + r.slug + "-"))
        .join(pull_requests, (p.repository_id == r.id) & (page == _c.source_page_id))
        .where(p.fetched_at.is_not(None), p.body.is_not(None))
    )
    for query in (pages, pulls):
        found = connection.execute(query.where(*_questions()).order_by(_c.id)).mappings()
        for row in found:
            text = row["text"]
            shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
            yield dict(row), shown


def _questions() -> tuple[sa.ColumnElement[bool], ...]:
    by_person = sa.func.coalesce(_c.status_by, "").startswith(_PERSON)
    return (
        _c.origin == "reported",
        _c.status == "unreviewed",
        ~by_person,
        _c.value.is_not(None),
        _c.metric.not_in(("count", "statement")),
        _c.retired_at.is_(None),
    )
