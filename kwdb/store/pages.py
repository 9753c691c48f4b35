"""Pages of pull requests, their tags, and every page's place in the search index."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from kwdb.models import corpora, page_tags, page_versions, pages, pull_requests
from kwdb.store.harvest import now
from kwdb.store.rows import (
    Row,
    chunks,
    find_keys,
    next_key,
    replace_owned,
    update_rows,
    upsert,
)
from kwdb.text import fold, headings

HARVEST = "harvest"

# PostgreSQL refuses a tsvector over 1 MiB; what stands this far down says little about a page.
_INDEXED_SIGNS = 60_000
_INDEX_COLUMNS = ("id", "title", "tags", "headings", "body")
_FTS5 = sa.text(
    "INSERT OR REPLACE INTO page_index (rowid, id, title, tags, headings, body) "
    "VALUES (:pk, :id, :title, :tags, :headings, :body)"
)
_TSVECTOR = sa.text(
    "INSERT INTO page_index (pk, document) VALUES (:pk,"
    " setweight(to_tsvector('english', :id || ' ' || :title), 'A') ||"
    " setweight(to_tsvector('english', :tags), 'B') ||"
    " setweight(to_tsvector('english', :headings), 'C') ||"
    " setweight(to_tsvector('english', :body), 'D')) "
    "ON CONFLICT (pk) DO UPDATE SET document = excluded.document"
)


def corpus_key(connection: sa.Connection, name: str) -> int:
    """Return the key of a corpus that the seeds made."""
    return find_keys(connection, corpora, "name", [name])[name]


def store_pull_request_pages(connection: sa.Connection, rows: Sequence[Row]) -> dict[str, int]:
    """Add or update pages of pull requests; returns page id -> pk.

    Each row has id, title, url, published_on, and pull_request_id. A page that another corpus
    serves keeps its row; tags and index entry of the harvest come beside it.
    """
    harvest = corpus_key(connection, HARVEST)
    stored = _stored_pages(connection, [row["id"] for row in rows])
    start = next_key(connection, pages)
    new = [row["id"] for row in rows if row["id"] not in stored]
    keys = {id_: pk for id_, (pk, _) in stored.items()}
    keys |= {id_: pk for pk, id_ in enumerate(new, start)}
    ours = [row for row in rows if stored.get(row["id"], (0, harvest))[1] == harvest]
    upsert(
        connection, pages, [_page_row(row, keys[row["id"]], harvest) for row in ours], key=("id",)
    )
    update_rows(
        connection,
        pull_requests,
        [{"id": row["pull_request_id"], "page_id": row["id"]} for row in rows],
    )
    return {row["id"]: keys[row["id"]] for row in rows}


def _stored_pages(connection: sa.Connection, ids: Collection[str]) -> dict[str, tuple[int, Any]]:
    found = {}
    for part in chunks(ids):
        query = sa.select(pages.c.id, pages.c.pk, pages.c.served_from).where(pages.c.id.in_(part))
        found.update({id_: (pk, served) for id_, pk, served in connection.execute(query)})
    return found


def _page_row(row: Row, pk: int, corpus: int) -> Row:
    return {
        "pk": pk,
        "id": row["id"],
        "type": "source-pr",
        "title": row["title"],
        "url": row["url"],
        "source_category": "upstream-code",
        "published_on": row["published_on"],
        "served_from": corpus,
        "is_retired": False,
    }


def store_page_tags(
    connection: sa.Connection, ids: Collection[str], rows: Sequence[Row], corpus: str = HARVEST
) -> int:
    """Make `rows` the only tags by rule of pages `ids` in a corpus; returns rows changed."""
    key = corpus_key(connection, corpus)
    scope = {"origin": "rule", "corpus_id": key}
    return replace_owned(
        connection, page_tags, "page_id", ids, [row | scope for row in rows], scope=scope
    )


def retire_pages(connection: sa.Connection, ids: Collection[str]) -> int:
    """Retire harvested pages whose pull request is no longer landed and included."""
    harvest = corpus_key(connection, HARVEST)
    count = 0
    for part in chunks(ids):
        query = sa.select(pages.c.pk).where(
            pages.c.id.in_(part), pages.c.served_from == harvest, ~pages.c.is_retired
        )
        keys = list(connection.execute(query).scalars())
        count += update_rows(
            connection, pages, [{"pk": pk, "is_retired": True} for pk in keys], key="pk"
        )
        _drop_from_index(connection, keys)
    return count


def retire_vanished(connection: sa.Connection, corpus: int, ids: Collection[str]) -> int:
    """Retire what a corpus has beside pages `ids`: its versions, and the pages that it serves."""
    v, p = page_versions.c, pages.c
    owned = sa.select(v.id, v.page_id).where(v.corpus_id == corpus, v.retired_at.is_(None))
    gone = {row.page_id: row.id for row in connection.execute(owned) if row.page_id not in ids}
    retired = [{"id": key, "retired_at": now()} for key in gone.values()]
    count = update_rows(connection, page_versions, retired)
    for part in chunks(gone):
        query = sa.select(p.pk).where(p.id.in_(part), p.served_from == corpus, ~p.is_retired)
        keys = list(connection.execute(query).scalars())
        rows = [{"pk": pk, "is_retired": True} for pk in keys]
        count += update_rows(connection, pages, rows, key="pk")
        _drop_from_index(connection, keys)
    return count


def _drop_from_index(connection: sa.Connection, keys: Sequence[int]) -> None:
    column = "rowid" if connection.dialect.name == "sqlite" else "pk"
    if keys:
        statement = sa.text(f"DELETE FROM page_index WHERE {column} = :pk")  # noqa: S608 - two names
        connection.execute(statement, [{"pk": pk} for pk in keys])


def index_pages(connection: sa.Connection, documents: Sequence[Row]) -> None:
    """Put pages into the search index, in the place of what it held of them.

    Each document has pk, id, title, tags (names), text (Markdown) and paths.
    """
    if documents:
        statement = _FTS5 if connection.dialect.name == "sqlite" else _TSVECTOR
        connection.execute(statement, [_index_row(document) for document in documents])


def _index_row(document: Row) -> Row:
    text = document["text"][:_INDEXED_SIGNS]
    values = {
        "id": document["id"],
        "title": document["title"],
        "tags": " ".join(document["tags"]),
        "headings": headings(text),
        "body": "\n".join((text, *document["paths"]))[:_INDEXED_SIGNS],
    }
    limits = {"body": _INDEXED_SIGNS}
    folded = {n: fold(v)[: limits.get(n, _INDEXED_SIGNS // 4)] for n, v in values.items()}
    return folded | {"pk": document["pk"]}
