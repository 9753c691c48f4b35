"""What the rank of a page depends on besides words, read for a hundred pages at once."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from kwdb.models import page_aliases, page_links, page_versions, pages
from kwdb.search.filters import Condition
from kwdb.search.rank import STUB_SIGNS, Candidate
from kwdb.search.terms import Term
from kwdb.text import fold

_CITING_TYPES = ("source-doc", "source-blog", "source-contest")


def among(connection: sa.Connection, keys: Iterable[int]) -> Condition:
    """The condition that a page is one of `keys`, of which there may be tens of thousands."""
    if connection.dialect.name == "postgresql":
        return pages.c.pk == sa.any_(sa.cast(list(keys), ARRAY(sa.Integer)))
    listed = sa.text("SELECT value FROM json_each(:keys)").bindparams(keys=json.dumps(sorted(keys)))
    return pages.c.pk.in_(listed.columns(sa.column("value", sa.Integer)).scalar_subquery())


def read_candidates(
    connection: sa.Connection, conditions: Sequence[Condition], named: Mapping[str, set[str]]
) -> dict[str, Candidate]:
    """Return id -> page for those that the conditions let through; `named` gives their aliases."""
    p = pages.c
    query = sa.select(p.pk, p.id, p.type, p.title, p.published_on).where(*conditions)
    rows = connection.execute(query).all()
    full = _full_pages(connection, [row.id for row in rows if row.type in _CITING_TYPES])
    return {
        row.id: Candidate(
            *row,
            is_stub=row.type in _CITING_TYPES and row.id not in full,
            aliases=frozenset(named.get(row.id, ())),
        )
        for row in rows
    }


def read_aliases(
    connection: sa.Connection, text: str, terms: Sequence[Term]
) -> dict[str, set[str]]:
    """Return page id -> those of its aliases that the query is or has as a term."""
    a, found = page_aliases.c, dict[str, set[str]]()
    asked = {fold(text), *(phrase for term in terms for phrase in term.phrases)}
    rows = connection.execute(sa.select(a.page_id, a.alias).where(a.alias.in_(asked)))
    for id_, alias in rows:
        found.setdefault(id_, set()).add(alias)
    return found


def _full_pages(connection: sa.Connection, ids: Sequence[str]) -> set[str]:
    v = page_versions.c
    query = (
        sa.select(v.page_id)
        .distinct()
        .where(v.page_id.in_(ids), v.retired_at.is_(None), sa.func.length(v.body) >= STUB_SIGNS)
    )
    return set(connection.execute(query).scalars())


def read_links(connection: sa.Connection, ids: Collection[str]) -> list[tuple[str, str]]:
    """Return the links from and to pages of `ids`, each once, as (page, target)."""
    link = page_links.c
    query = (
        sa.select(link.page_id, link.target)
        .distinct()
        .where(sa.or_(link.page_id.in_(ids), link.target.in_(ids)))
    )
    return [(page, target) for page, target in connection.execute(query) if page != target]
