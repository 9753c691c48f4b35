"""Corpora: the pages that each holds, byte for byte, and which of them is served.

A page is served from the seeds where they have it, else from the import that changed last, else
from the harvest. What a corpus no longer holds is retired, and the next corpus takes its place.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from kwdb.errors import UserError
from kwdb.models import corpora, metadata, page_types, page_versions, pages, pull_requests
from kwdb.models import repositories as repos
from kwdb.store.harvest import now
from kwdb.store.rows import Row, chunks, find_keys, insert_rows, next_key, update_rows, upsert

IMPORT: Final = "import"
_RANKS: Final = {"seed": 3, IMPORT: 2, "harvest": 1}
_UNKNOWN_RANK: Final = 0


@dataclass(frozen=True, slots=True)
class Versions:
    """Ids of the pages whose version in a corpus came, changed or went."""

    added: list[str]
    changed: list[str]
    retired: list[str]

    @property
    def touched(self) -> list[str]:
        """All of them."""
        return [*self.added, *self.changed, *self.retired]


def open_corpus(
    connection: sa.Connection, name: str, location: str, revision: str | None, *, is_named: bool
) -> int:
    """Return the key of an import corpus, made where it is new.

    Raises:
        UserError: the name belongs to the seeds or the harvest, or, unless the person chose it
            (`is_named`), to a corpus that was read from another place.
    """
    c = corpora.c
    row = connection.execute(sa.select(corpora).where(c.name == name)).mappings().first()
    if row is None:
        key = next_key(connection, corpora)
        new = {"id": key, "name": name, "kind": IMPORT, "imported_at": now()}
        insert_rows(connection, corpora, [new | {"location": location, "revision": revision}])
        return key
    if row["kind"] != IMPORT:
        raise UserError(f"corpus {name!r} is kwdb's own: choose another name with --name")
    if row["location"] != location and not is_named:
        raise UserError(
            f"corpus {name!r} was read from {row['location']}: give --name {name} if {location} "
            "is the same corpus, or --name OTHER"
        )
    return int(row["id"])


def note_import(
    connection: sa.Connection, corpus: int, location: str, revision: str | None, *, changed: bool
) -> int:
    """Note where and at which commit a corpus was read; returns rows written.

    Only what `changed` moves the time, so that reading a corpus again changes nothing.
    """
    row: Row = {"id": corpus, "location": location, "revision": revision}
    if changed:
        row["imported_at"] = now()
    return upsert(connection, corpora, [row | _fixed(connection, corpus)], ("id",))


def _fixed(connection: sa.Connection, corpus: int) -> Row:
    query = sa.select(corpora.c.name, corpora.c.kind).where(corpora.c.id == corpus)
    return dict(connection.execute(query).mappings().one())


def ensure_values(
    connection: sa.Connection, table: str, names: Iterable[str], description: str
) -> int:
    """Add names to an open value set, below all ranks where it has them; returns rows written."""
    columns = metadata.tables[table].c
    extra = {"rank": _UNKNOWN_RANK} if "rank" in columns else {}
    known = set(connection.execute(sa.select(columns.name)).scalars())
    rows = [
        {"name": name, "description": description, **extra} for name in sorted({*names} - known)
    ]
    return insert_rows(connection, metadata.tables[table], rows)


def ensure_page_types(connection: sa.Connection, rows: Iterable[Row]) -> int:
    """Add page types that are not known yet; returns rows written."""
    known = set(connection.execute(sa.select(page_types.c.name)).scalars())
    new = {row["name"]: row for row in rows if row["name"] not in known}
    return insert_rows(connection, page_types, list(new.values()))


def ensure_pages(connection: sa.Connection, corpus: int, rows: Sequence[Row]) -> int:
    """Add pages of ids that are not known yet, as rows of `pages` without pk; returns rows."""
    known = find_keys(connection, pages, "id", [row["id"] for row in rows])
    new = [row for row in rows if row["id"] not in known]
    start = next_key(connection, pages)
    full = [
        {"pk": pk, **row, "served_from": corpus, "is_retired": False}
        for pk, row in enumerate(new, start)
    ]
    return insert_rows(connection, pages, full)


def store_versions(connection: sa.Connection, corpus: int, offered: Sequence[Row]) -> Versions:
    """Make `offered` the live pages of a corpus; their ids must be known.

    Each row has page_id, path, fences, front_matter_text, front_matter and body. A version that is
    as it was is not written; one that is not offered any more is retired.
    """
    v = page_versions.c
    names = ("page_id", "id", "path", "fences", "front_matter_text", "body_sha256", "retired_at")
    query = sa.select(*(v[name] for name in names)).where(v.corpus_id == corpus)
    stored = {row["page_id"]: row for row in connection.execute(query).mappings()}
    rows = {row["page_id"]: _version(row, corpus) for row in offered}
    compared = names[2:]
    changed = [
        id_ for id_, row in rows.items()
        if id_ in stored and any(stored[id_][name] != row[name] for name in compared)
    ]  # fmt: skip
    added = [id_ for id_ in rows if id_ not in stored]
    gone = [id_ for id_, row in stored.items() if id_ not in rows and row["retired_at"] is None]
    taken = {rows[id_]["path"] for id_ in (*added, *changed)}
    _free_paths(connection, [row for row in stored.values() if row["path"] in taken], rows)
    update_rows(
        connection,
        page_versions,
        [{"id": stored[id_]["id"], "retired_at": now()} for id_ in gone],
    )
    update_rows(connection, page_versions, [{"id": stored[i]["id"], **rows[i]} for i in changed])
    start = next_key(connection, page_versions)
    new = [{"id": key, **rows[id_]} for key, id_ in enumerate(added, start)]
    for part in chunks(new, 500):
        insert_rows(connection, page_versions, part)
    return Versions(added, changed, gone)


def _version(row: Row, corpus: int) -> Row:
    digest = hashlib.sha256(row["body"]).hexdigest()
    return {
        **{name: row[name] for name in _VERSION_COLUMNS},
        "corpus_id": corpus,
        "body_sha256": digest,
        "captured_at": now(),
        "retired_at": None,
    }


_VERSION_COLUMNS: Final = ("page_id path fences front_matter_text front_matter body").split()


def _free_paths(
    connection: sa.Connection, holders: Sequence[sa.RowMapping], rows: Mapping[str, Row]
) -> None:
    """Move versions away from paths that other pages take now; two pages may swap theirs."""
    moving = [
        {"id": row["id"], "path": f"{row['path']}#{row['page_id']}"}
        for row in holders
        if rows.get(row["page_id"], {}).get("path") != row["path"]
    ]
    update_rows(connection, page_versions, moving)


def serve(
    connection: sa.Connection,
    ids: Collection[str],
    corpus: int,
    described: Mapping[str, Row],
    describe: Callable[[Row], Row],
) -> dict[str, bool]:
    """Choose for each page the corpus that serves it; returns changed page id -> is_retired.

    `described` has the columns of pages that the live versions of `corpus` give; `describe` makes
    them of another corpus's version (page_id, path, front_matter, body).
    """
    held = _holders(connection, ids)
    served = _served(connection, ids)
    winners = {id_: max(found) for id_, found in held.items()}
    kept = {id_ for id_, (_, _, corpus) in winners.items() if _is_seed(winners[id_])}
    chosen = {id_: key for id_, (_, _, key) in winners.items() if id_ not in kept}
    ours = {id_ for id_, key in chosen.items() if key == corpus}
    offered = {id_: described[id_] | {"served_from": corpus} for id_ in ours}
    others = {id_: key for id_, key in chosen.items() if id_ not in ours}
    offered |= _described(connection, others, describe)
    orphans = [id_ for id_ in served if id_ not in held]
    offered |= _from_harvest(connection, orphans)
    rows = [
        {"pk": served[id_]["pk"], **row, "is_retired": False}
        for id_, row in sorted(offered.items())
    ]
    changed = {row["id"]: False for row in rows if _differs(served[row["id"]], row)}
    upsert(connection, pages, [row for row in rows if row["id"] in changed], ("id",))
    retired = [id_ for id_ in orphans if id_ not in offered and not served[id_]["is_retired"]]
    update_rows(connection, pages, [{"id": id_, "is_retired": True} for id_ in retired], key="id")
    return changed | dict.fromkeys(retired, True)


def _is_seed(place: tuple[int, datetime, int]) -> bool:
    return place[0] == _RANKS["seed"]


def _holders(
    connection: sa.Connection, ids: Collection[str]
) -> dict[str, list[tuple[int, datetime, int]]]:
    """Return page id -> (rank of the corpus, when it changed last, its key) of live versions."""
    v, c = page_versions.c, corpora.c
    found: dict[str, list[tuple[int, datetime, int]]] = {}
    for part in chunks(ids):
        query = (
            sa.select(v.page_id, c.kind, c.imported_at, c.id)
            .join(corpora, c.id == v.corpus_id)
            .where(v.page_id.in_(part), v.retired_at.is_(None))
        )
        for id_, kind, at, key in connection.execute(query):
            place = (_RANKS[kind], at or datetime.min.replace(tzinfo=now().tzinfo), key)
            found.setdefault(id_, []).append(place)
    return found


def _served(connection: sa.Connection, ids: Collection[str]) -> dict[str, sa.RowMapping]:
    found = {}
    for part in chunks(ids):
        query = sa.select(pages).where(pages.c.id.in_(part))
        found.update({row["id"]: row for row in connection.execute(query).mappings()})
    return found


def _differs(stored: sa.RowMapping, row: Row) -> bool:
    return any(stored[name] != value for name, value in row.items())


def _described(
    connection: sa.Connection, chosen: Mapping[str, int], describe: Callable[[Row], Row]
) -> dict[str, Row]:
    v = page_versions.c
    columns = (
        "page_id",
        "corpus_id",
        "path",
        "fences",
        "front_matter_text",
        "front_matter",
        "body",
    )
    found = {}
    for part in chunks(chosen, 500):
        query = sa.select(*(v[name] for name in columns)).where(v.page_id.in_(part))
        for version in connection.execute(query).mappings():
            id_ = version["page_id"]
            if chosen[id_] == version["corpus_id"]:
                found[id_] = describe(dict(version)) | {"served_from": chosen[id_]}
    return found


def _from_harvest(connection: sa.Connection, ids: Collection[str]) -> dict[str, Row]:
    """Return the rows of pages that the harvest alone still has."""
    p, r = pull_requests.c, repos.c
    harvest = find_keys(connection, corpora, "name", ["harvest"]).get("harvest")
    found: dict[str, Row] = {}
    empty = dict.fromkeys("vendor confidence reproducibility captured_at summary".split())
    for part in chunks(ids):
        query = (
            sa.select(p.page_id, p.title, p.number, p.landed_at, r.full_name)
            .join(repos, r.id == p.repository_id)
            .where(p.page_id.in_(part), p.landed_state == "landed", p.decision == "include")
        )
        for row in connection.execute(query):
            found[row.page_id] = {
                "id": row.page_id,
                "type": "source-pr",
                "title": row.title,
                "url": f"https://github.com/{row.full_name}/pull/{row.number}",
                "source_category": "upstream-code",
                "published_on": row.landed_at.date() if row.landed_at else None,
                "served_from": harvest,
                **empty,
            }
    return found


def page_ids(connection: sa.Connection, corpus: int) -> list[str]:
    """Return the ids of all pages that a corpus ever held, in order."""
    v = page_versions.c
    query = sa.select(v.page_id).where(v.corpus_id == corpus).order_by(v.page_id)
    return list(connection.execute(query).scalars())
