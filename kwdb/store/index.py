"""The search index from what is stored, for a database whose rows came in bulk."""

import sqlalchemy as sa

from kwdb.documents import read_documents
from kwdb.models import pages
from kwdb.store.pages import index_pages

_PAGES = 2_000


def reindex(connection: sa.Connection) -> int:
    """Fill the index anew from all pages that are not retired; returns their number."""
    connection.execute(sa.text("DELETE FROM page_index"))
    query = sa.select(pages.c.id).where(~pages.c.is_retired).order_by(pages.c.pk)
    found = list(connection.execute(query).scalars())
    for start in range(0, len(found), _PAGES):
        index_pages(connection, read_documents(connection, found[start : start + _PAGES]))
    return len(found)
