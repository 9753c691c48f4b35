"""Load the pages of the seeds: topic pages, one file each, and lists of source pages."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kwdb.documents import read_documents
from kwdb.errors import nearest
from kwdb.models import page_links, page_tags, page_versions, pages
from kwdb.seed.files import (
    DAY,
    NAMES,
    OPTIONAL_TEXT,
    TEXT,
    Field,
    SeedRow,
    as_day,
    check_row,
    check_unique,
    choice,
    read_page,
    read_rows,
)
from kwdb.store.harvest import now
from kwdb.store.pages import corpus_key, index_pages, retire_vanished
from kwdb.store.rows import Row, find_keys, next_key, replace_owned, upsert

SEED = "seed"

_LINKS = ("sources", "related", "prerequisites", "candidate_techniques")
_COLUMNS = ("url", "vendor", "confidence", "reproducibility", "source_category", "summary")
_FIELDS: dict[str, Field] = {
    "id": TEXT,
    "key": OPTIONAL_TEXT,
    "type": choice("page_types"),
    "title": TEXT,
    "source": TEXT,
    "date": DAY,
    "published_on": DAY,
    "url": OPTIONAL_TEXT,
    "vendor": OPTIONAL_TEXT,
    "summary": OPTIONAL_TEXT,
    "body": OPTIONAL_TEXT,
    "confidence": choice("confidence_levels", required=False),
    "reproducibility": choice("reproducibility_levels", required=False),
    "source_category": choice("source_categories", required=False),
    "tags": NAMES,
    "symptoms": NAMES,
    **dict.fromkeys(_LINKS, NAMES),
}


def load_pages(
    connection: sa.Connection, directory: Path, known: Mapping[str, Any], tags: Mapping[str, int]
) -> int:
    """Load all page files below `directory`; returns the rows written, 0 when nothing changed.

    Raises:
        InvalidRecordError: a page lacks a field or names something that is not known.
    """
    found = _read_all(directory)
    for row in found:
        check_row(row, _FIELDS, known)
        _check_tags(row, tags)
    check_unique(found, "id")
    corpus = corpus_key(connection, SEED)
    written = _store_rows(connection, found, corpus)
    changed = _store_versions(connection, found, directory, corpus)
    ids = [row.values["id"] for row in found]
    tag_rows = [tag for row in found for tag in _tag_rows(row, tags, corpus)]
    scope = {"origin": "manual", "corpus_id": corpus}
    retagged = replace_owned(connection, page_tags, "page_id", ids, tag_rows, scope=scope)
    written += retagged + len(changed) + _store_links(connection, found, corpus)
    index_pages(connection, read_documents(connection, ids) if written else [])
    return written + retire_vanished(connection, corpus, ids)


def _read_all(directory: Path) -> list[SeedRow]:
    rows = [row for path in sorted(directory.glob("sources/*.yaml")) for row in read_rows(path)]
    rows += [read_page(path) for path in sorted(directory.glob("pages/*.yaml"))]
    return rows


def _check_tags(row: SeedRow, tags: Mapping[str, int]) -> None:
    for tag in row.values.get("tags") or ():
        if tag not in tags:
            near = ", ".join(nearest(tag, tags))
            raise row.fail("tags", f"unknown tag {tag!r}; nearest allowed: {near}")


def _store_rows(connection: sa.Connection, found: list[SeedRow], corpus: int) -> int:
    ids = [row.values["id"] for row in found]
    keys = find_keys(connection, pages, "id", ids)
    fresh = iter(range(next_key(connection, pages), 1 << 31))
    rows: list[Row] = [
        {
            "pk": keys.get(row.values["id"]) or next(fresh),
            "id": row.values["id"],
            "type": row.values["type"],
            "title": row.values["title"],
            "published_on": as_day(row.values.get("published_on")),
            "served_from": corpus,
            "is_retired": False,
            **{name: row.values.get(name) for name in _COLUMNS},
        }
        for row in found
    ]
    return upsert(connection, pages, rows, ("id",))


def _front_matter(row: SeedRow) -> dict[str, Any]:
    """The fields of a page but its body, with days as text, so that they are JSON."""
    fields = {name: value for name, value in row.values.items() if name != "body"}
    return {n: v.isoformat() if isinstance(v, date) else v for n, v in fields.items()}


def _store_versions(
    connection: sa.Connection, found: list[SeedRow], directory: Path, corpus: int
) -> set[str]:
    """Store the pages whose text differs from what the corpus has; returns their ids."""
    v = page_versions.c
    query = sa.select(v.page_id, v.id, v.body_sha256, v.front_matter_text, v.retired_at)
    stored = {row[0]: row[1:] for row in connection.execute(query.where(v.corpus_id == corpus))}
    fresh = iter(range(next_key(connection, page_versions), 1 << 31))
    rows = []
    for row in found:
        key, *old = stored.get(row.values["id"], (None, None, None, None))
        version = _version(row, directory, corpus)
        if [version["body_sha256"], version["front_matter_text"], None] != old:
            rows.append({"id": key or next(fresh), **version})
    upsert(connection, page_versions, rows, ("corpus_id", "page_id"))
    return {row["page_id"] for row in rows}


def _version(row: SeedRow, directory: Path, corpus: int) -> Row:
    body = str(row.values.get("body") or "").encode()
    fields = _front_matter(row)
    name = row.path.relative_to(directory).as_posix()
    return {
        "page_id": row.values["id"],
        "corpus_id": corpus,
        "path": name if row.path.parent.name == "pages" else f"{name}#{row.values['id']}",
        "front_matter_text": json.dumps(fields, ensure_ascii=False, sort_keys=True),
        "front_matter": fields,
        "body": body,
        "body_sha256": hashlib.sha256(body).hexdigest(),
        "captured_at": now(),
        "retired_at": None,
    }


def _tag_rows(row: SeedRow, tags: Mapping[str, int], corpus: int) -> list[Row]:
    given = dict.fromkeys(row.values.get("tags") or ())
    return [
        {
            "page_id": row.values["id"],
            "tag_id": tags[name],
            "origin": "manual",
            "corpus_id": corpus,
            "basis": None,
            "rule": None,
            "evidence": None,
            "locator": None,
        }
        for name in given
    ]


def _store_links(connection: sa.Connection, found: list[SeedRow], corpus: int) -> int:
    wanted = {
        (row.values["id"], kind, position): target
        for row in found
        for kind in _LINKS
        for position, target in enumerate(row.values.get(kind) or ())
    }
    link = page_links.c
    query = sa.select(link.page_id, link.kind, link.position, link.id, link.target).where(
        link.corpus_id == corpus
    )
    stored = {(r[0], r[1], r[2]): (r[3], r[4]) for r in connection.execute(query)}
    gone = [{"old": stored[key][0]} for key in stored.keys() - wanted.keys()]
    if gone:
        connection.execute(sa.delete(page_links).where(link.id == sa.bindparam("old")), gone)
    fresh = iter(range(next_key(connection, page_links), 1 << 31))
    rows = [
        {
            "id": stored[key][0] if key in stored else next(fresh),
            "page_id": key[0],
            "corpus_id": corpus,
            "kind": key[1],
            "position": key[2],
            "target": target,
        }
        for key, target in wanted.items()
        if stored.get(key, (None, None))[1] != target
    ]
    return len(gone) + upsert(
        connection, page_links, rows, ("page_id", "corpus_id", "kind", "position")
    )
