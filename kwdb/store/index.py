"""The search index from what is stored, for a database whose rows came in bulk."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from kwdb.models import (
    commit_paths,
    page_aliases,
    page_tags,
    page_versions,
    pages,
    paths,
    pull_request_commits,
    pull_requests,
    tags,
)
from kwdb.store.pages import drop_from_index, index_pages
from kwdb.store.rows import Row, chunks
from kwdb.text import scrub

_PAGES = 2_000
_PATHS_A_PAGE = 50


def reindex(connection: sa.Connection) -> int:
    """Fill the index anew from all pages that are not retired; returns their number."""
    connection.execute(sa.text("DELETE FROM page_index"))
    query = sa.select(pages.c.pk, pages.c.id, pages.c.title).where(~pages.c.is_retired)
    found = [dict(row) for row in connection.execute(query.order_by(pages.c.pk)).mappings()]
    for start in range(0, len(found), _PAGES):
        index_pages(connection, _documents(connection, found[start : start + _PAGES]))
    return len(found)


def refresh_index(connection: sa.Connection, ids: Collection[str]) -> int:
    """Put the pages `ids` into the index as they stand now, or out of it; returns their number."""
    p = pages.c
    for part in chunks(sorted(ids), _PAGES):
        query = sa.select(p.pk, p.id, p.title, p.is_retired).where(p.id.in_(part)).order_by(p.pk)
        found = [dict(row) for row in connection.execute(query).mappings()]
        drop_from_index(connection, [row["pk"] for row in found if row["is_retired"]])
        live = [row for row in found if not row["is_retired"]]
        index_pages(connection, _documents(connection, live))
    return len(ids)


def _documents(connection: sa.Connection, rows: Sequence[Row]) -> list[Row]:
    ids = [row["id"] for row in rows]
    documents = {row["id"]: row | {"tags": [], "text": "", "paths": []} for row in rows}
    p, v, t = pull_requests.c, page_versions.c, page_tags.c
    bodies = sa.select(p.page_id, p.body).where(p.page_id.in_(ids), p.body.is_not(None))
    for id_, body in connection.execute(bodies):
        documents[id_]["text"] = body
    versions = (
        sa.select(v.page_id, v.body)
        .join(pages, (pages.c.id == v.page_id) & (pages.c.served_from == v.corpus_id))
        .where(v.page_id.in_(ids))
    )
    for id_, raw in connection.execute(versions):
        documents[id_]["text"] = scrub(raw.decode("utf-8", "backslashreplace"))
    own = sa.select(page_aliases.c.page_id, page_aliases.c.display)
    for id_, name in connection.execute(own.where(page_aliases.c.page_id.in_(ids)).distinct()):
        documents[id_]["tags"].append(name)
    named = sa.select(t.page_id, tags.c.name).distinct().join(tags).where(t.page_id.in_(ids))
    for id_, name in connection.execute(named):
        documents[id_]["tags"].append(name)
    for id_, path in connection.execute(_touched(ids)).tuples():
        if len(documents[id_]["paths"]) < _PATHS_A_PAGE:
            documents[id_]["paths"].append(path)
    return list(documents.values())


def _touched(ids: Sequence[str]) -> sa.Select[str, str]:
    link, touched = pull_request_commits.c, commit_paths.c
    return (
        sa.select(pull_requests.c.page_id, paths.c.path)
        .distinct()
        .join(pull_request_commits, link.pull_request_id == pull_requests.c.id)
        .join(commit_paths, touched.commit_id == link.commit_id)
        .join(paths, paths.c.id == touched.path_id)
        .where(pull_requests.c.page_id.in_(ids), link.role == "landed")
        .order_by(pull_requests.c.page_id, paths.c.path)
    )
