"""What a page says, as the search index and the snippets read it, from what is stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from kwdb.text import scrub

PATHS_A_PAGE = 50
"""So many paths of a pull request are indexed, the first by name."""

Document = dict[str, Any]
"""pk, id, title, tags (names, aliases of the page, symptoms), text (Markdown), paths."""


def read_documents(connection: sa.Connection, ids: Sequence[str]) -> list[Document]:
    """Return a document for each page of `ids` that exists; seven queries, whatever their
    number.

    A page that a corpus serves has the summary and body of that version; where it has no body,
    that of the newest other version, else of the pull request.
    """
    query = sa.select(pages.c.pk, pages.c.id, pages.c.title).where(pages.c.id.in_(ids))
    found = {
        row["id"]: dict(row) | {"tags": [], "text": "", "paths": []}
        for row in connection.execute(query.order_by(pages.c.pk)).mappings()
    }
    _add_texts(connection, found)
    for id_, name in connection.execute(_named(list(found))):
        found[id_]["tags"].append(name)
    for id_, name in connection.execute(_own_aliases(list(found))):
        found[id_]["tags"].append(name)
    for id_, symptoms in _symptoms(connection, list(found)):
        found[id_]["tags"].extend(symptoms)
    for id_, path in connection.execute(_touched(list(found))):
        if len(found[id_]["paths"]) < PATHS_A_PAGE:
            found[id_]["paths"].append(path)
    return list(found.values())


def read_texts(connection: sa.Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return page id -> its text as `read_documents` gives it, else its paths, one a line."""
    found: dict[str, Document] = {id_: {"text": "", "paths": []} for id_ in ids}
    _add_texts(connection, found)
    bare = [id_ for id_ in ids if not found[id_]["text"]]
    for id_, path in connection.execute(_touched(bare)) if bare else ():
        found[id_]["paths"].append(path)
    return {id_: one["text"] or "\n".join(one["paths"]) for id_, one in found.items()}


def joined_text(fields: Mapping[str, Any]) -> str:
    """Return summary and body of a page as one text."""
    return "\n\n".join(str(fields.get(name) or "") for name in ("summary", "body")).strip()


def _add_texts(connection: sa.Connection, found: Mapping[str, Document]) -> None:
    ids, p = list(found), pull_requests.c
    bodies = sa.select(p.page_id, p.body).where(p.page_id.in_(ids), p.body.is_not(None))
    for id_, body in connection.execute(bodies):
        found[id_]["text"] = body
    served = connection.execute(_served(ids, page_versions.c.body)).all()
    texts = {id_: (summary, _decoded(body)) for id_, summary, body in served}
    bare = [id_ for id_ in ids if not texts.get(id_, ("", ""))[1]]
    for id_, body in connection.execute(_unserved(bare)) if bare else ():
        found[id_]["text"] = _decoded(body) or found[id_]["text"]
    for id_, (summary, own) in texts.items():
        body = own or found[id_]["text"]
        found[id_]["text"] = joined_text({"summary": summary, "body": body})


def _decoded(body: bytes) -> str:
    return scrub(body.decode("utf-8", "backslashreplace")).strip()


def _unserved(ids: Sequence[str]) -> sa.Select[Any]:
    """Bodies that stand in for an empty one of the served version, the newest last."""
    v = page_versions.c
    beside = (pages.c.id == v.page_id) & (pages.c.served_from != v.corpus_id)
    return (
        sa.select(v.page_id, v.body)
        .join(pages, beside)
        .where(v.page_id.in_(ids), v.retired_at.is_(None))
        .order_by(v.captured_at, v.corpus_id)
    )


def _symptoms(connection: sa.Connection, ids: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for id_, _, fields in connection.execute(_served(ids, page_versions.c.front_matter)):
        symptoms = (fields or {}).get("symptoms") or []
        yield id_, [str(one) for one in symptoms] if isinstance(symptoms, list) else []


def _served(ids: Sequence[str], column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    of_corpus = (pages.c.id == page_versions.c.page_id) & (
        pages.c.served_from == page_versions.c.corpus_id
    )
    return (
        sa.select(pages.c.id, pages.c.summary, column)
        .join(page_versions, of_corpus)
        .where(pages.c.id.in_(ids), page_versions.c.retired_at.is_(None))
    )


def _own_aliases(ids: Sequence[str]) -> sa.Select[Any]:
    a = page_aliases.c
    of_corpus = (pages.c.id == a.page_id) & (pages.c.served_from == a.corpus_id)
    query = sa.select(a.page_id, a.display).join(pages, of_corpus).where(a.page_id.in_(ids))
    return query.order_by(a.page_id, a.display)


def _named(ids: Sequence[str]) -> sa.Select[Any]:
    t = page_tags.c
    return (
        sa.select(t.page_id, tags.c.name)
        .distinct()
        .join(tags)
        .where(t.page_id.in_(ids))
        .order_by(t.page_id, tags.c.name)
    )


def _touched(ids: Sequence[str]) -> sa.Select[Any]:
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
