"""The search index from what is stored, for a database whose rows came in bulk."""

from collections.abc import Collection

import sqlalchemy as sa

from kwdb.documents import read_documents
from kwdb.models import pages
from kwdb.store.pages import drop_from_index, index_pages
from kwdb.store.rows import chunks

_PAGES = 2_000


def reindex(connection: sa.Connection) -> int:
    """Fill the index anew from all pages that are not retired; returns their number."""
    connection.execute(sa.text("DELETE FROM page_index"))
    query = sa.select(pages.c.id).where(~pages.c.is_retired).order_by(pages.c.pk)
    found = list(connection.execute(query).scalars())
    for start in range(0, len(found), _PAGES):
        index_pages(connection, read_documents(connection, found[start : start + _PAGES]))
    return len(found)


def refresh_index(connection: sa.Connection, ids: Collection[str]) -> int:
    """Put the pages `ids` into the index as they stand now, or out of it; returns their number."""
    p = pages.c
    for part in chunks(sorted(ids), _PAGES):
        query = sa.select(p.pk, p.id, p.is_retired).where(p.id.in_(part)).order_by(p.pk)
        found = connection.execute(query).all()
        drop_from_index(connection, [row.pk for row in found if row.is_retired])
        live = [row.id for row in found if not row.is_retired]
        index_pages(connection, read_documents(connection, live))
    return len(ids)
