"""One page as a reader sees it: the version asked for, its tags and links, sources and code."""

from typing import Any, Final

import sqlalchemy as sa

from kwdb.db import row_dicts
from kwdb.errors import NotFoundError
from kwdb.models import (
    bundle_files,
    bundles,
    corpora,
    page_aliases,
    page_links,
    page_tags,
    page_versions,
    pages,
    tags,
)
from kwdb.text import scrub

Found = dict[str, Any]

EXCERPT: Final = 500
"""So many signs of each cited page are shown."""

CODE_BYTES: Final = 256 << 10
"""So many bytes of code are shown in all; what is beyond is named, with its size and digest."""

_CITED: Final = ("sources", "source_refs")
_SHOWN: Final = ("id", "type", "title", "url", "published_on", "summary")


def page_parts(
    connection: sa.Connection,
    page: Found,
    *,
    corpus: str | None = None,
    follow_sources: bool = False,
    include_code: bool = False,
) -> Found:
    """Return a row of pages with versions, tags, links, aliases and body.

    The body is that of the corpus named, else of the one that serves the page; home directories in
    it are scrubbed. With `follow_sources` comes an excerpt of each page cited, title None for one
    that does not exist; with `include_code` the files of its bundles.

    Raises:
        NotFoundError: the corpus has no such page; the message names those that have.
    """
    versions = _versions(connection, page)
    chosen = _choose(page["id"], versions, corpus)
    key = chosen["corpus_id"] if chosen else page["served_from"]
    found = {name: value for name, value in page.items() if name not in ("pk", "served_from")}
    found["versions"] = [
        {n: row[n] for n in ("corpus", "kind", "path", "captured_at", "retired_at", "is_served")}
        for row in versions
    ]
    found["tags"] = tags_of_page(connection, page["id"], key)
    found["links"] = _links(connection, page["id"], key)
    if aliases := _aliases(connection, page["id"], key):
        found["aliases"] = aliases
    if chosen:
        found |= _text(connection, chosen, is_asked=corpus is not None)
    if follow_sources:
        cited = [link["target"] for link in found["links"] if link["kind"] in _CITED]
        found["sources"] = _sources(connection, cited)
    if include_code:
        found["code"] = _code(connection, page["id"])
    return found


def _versions(connection: sa.Connection, page: Found) -> list[Found]:
    v, c = page_versions.c, corpora.c
    is_served = (v.corpus_id == page["served_from"]).label("is_served")
    query = (
        sa.select(v.id, v.corpus_id, c.name.label("corpus"), c.kind, v.path, v.captured_at)
        .add_columns(v.retired_at, is_served)
        .join(corpora, c.id == v.corpus_id)
        .where(v.page_id == page["id"])
        .order_by(is_served.desc(), v.retired_at.is_not(None), c.imported_at.desc(), c.id)
    )
    return [
        row | {"is_served": bool(row["is_served"])} for row in row_dicts(connection.execute(query))
    ]


def _choose(id_: str, versions: list[Found], corpus: str | None) -> Found | None:
    if corpus is None:
        return versions[0] if versions else None
    found = next((row for row in versions if row["corpus"] == corpus), None)
    if found is None:
        having = ", ".join(sorted(row["corpus"] for row in versions)) or "none"
        raise NotFoundError(
            f"corpus {corpus!r} has no page {id_!r}; corpora that have it: {having}"
        )
    return found


def _text(connection: sa.Connection, version: Found, *, is_asked: bool) -> Found:
    v = page_versions.c
    row = connection.execute(sa.select(v.front_matter, v.body).where(v.id == version["id"])).one()
    found: Found = {"body": scrub(row.body.decode("utf-8", "backslashreplace"))}
    if is_asked:
        head = row.front_matter or {}
        found |= {"corpus": version["corpus"], "front_matter": row.front_matter}
        found |= {"title": scrub(str(head["title"]))} if head.get("title") else {}
    return found


def tags_of_page(connection: sa.Connection, id_: str, corpus: int | None) -> list[Found]:
    """Return the tags of a page: those of rules, and those that the corpus itself gives."""
    t = page_tags.c
    said = sa.or_(t.corpus_id == corpus, t.origin == "rule")
    query = (
        sa.select(tags.c.facet, tags.c.name, t.origin, t.basis, t.rule, t.evidence, t.locator)
        .join(tags, tags.c.id == t.tag_id)
        .where(t.page_id == id_, said)
        .order_by(tags.c.facet, tags.c.name, t.origin)
    )
    return row_dicts(connection.execute(query))


def _links(connection: sa.Connection, id_: str, corpus: int | None) -> list[Found]:
    link = page_links.c
    query = (
        sa.select(link.kind, link.target, pages.c.title, pages.c.url)
        .outerjoin(pages, pages.c.id == link.target)
        .where(link.page_id == id_, link.corpus_id == corpus)
        .order_by(link.kind, link.position)
    )
    return row_dicts(connection.execute(query))


def _aliases(connection: sa.Connection, id_: str, corpus: int | None) -> list[str]:
    a = page_aliases.c
    query = sa.select(a.display).where(a.page_id == id_, a.corpus_id == corpus)
    return list(connection.execute(query.order_by(a.display)).scalars())


def _sources(connection: sa.Connection, ids: list[str]) -> list[Found]:
    v = page_versions.c
    served = (v.page_id == pages.c.id) & (v.corpus_id == pages.c.served_from)
    query = (
        sa.select(*(pages.c[name] for name in _SHOWN), v.body)
        .outerjoin(page_versions, served)
        .where(pages.c.id.in_(ids))
    )
    known = {row["id"]: row for row in row_dicts(connection.execute(query))}
    empty: Found = dict.fromkeys((*_SHOWN, "body"))
    return [_source(known.get(id_, empty | {"id": id_})) for id_ in dict.fromkeys(ids)]


def _source(row: Found) -> Found:
    body = row.pop("body", None)
    text = scrub(body.decode("utf-8", "replace")).strip() if body else None
    return row | {"excerpt": text[:EXCERPT] if text else None}


def _code(connection: sa.Connection, id_: str) -> list[Found]:
    b, f = bundles.c, bundle_files.c
    query = (
        sa.select(corpora.c.name.label("corpus"), b.path.label("bundle"), b.asset_mode, b.license)
        .add_columns(b.upstream, f.path, f.role, f.declared_sha256, f.sha256, f.size_bytes)
        .add_columns(f.content)
        .join(bundles, b.id == f.bundle_id)
        .join(corpora, corpora.c.id == b.corpus_id)
        .where(b.page_id == id_, b.retired_at.is_(None))
        .order_by(corpora.c.name, b.path, f.path)
    )
    left = CODE_BYTES
    found = []
    for row in row_dicts(connection.execute(query)):
        content = row.pop("content")
        row["text"] = _shown(content, left)
        row["is_cut"] = content is not None and row["text"] is None
        left -= len(content) if row["text"] is not None else 0
        found.append(row)
    return found


def _shown(content: bytes | None, left: int) -> str | None:
    if content is None or len(content) > left or b"\0" in content:
        return None
    return scrub(content.decode("utf-8", "replace"))
