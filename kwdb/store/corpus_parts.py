"""What a corpus holds beside its pages' text: tags, links, aliases, ledgers, registries, files."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import (
    aliases,
    bundle_files,
    bundles,
    contest_problems,
    contest_submissions,
    corpus_files,
    facets,
    ledger_entries,
    ledger_skips,
    page_aliases,
    page_links,
    page_tags,
    repositories,
    repository_aliases,
    tags,
)
from kwdb.store.facts import store_facts
from kwdb.store.harvest import now
from kwdb.store.owned import sync
from kwdb.store.rows import Row, insert_rows, next_key, replace_owned, update_rows, upsert

OF_CORPUS: Final = "Corpus"
"""What the description of an imported term begins with, before the name of its corpus."""

FRONT_MATTER: Final = "front_matter"
_BATCH_BYTES: Final = 8 << 20


def ensure_tags(connection: sa.Connection, terms: Mapping[tuple[str, str], str | None]) -> int:
    """Add (facet, name) -> description where it is not known, and facets; returns rows written."""
    known_facets = set(connection.execute(sa.select(facets.c.name)).scalars())
    new_facets = sorted({facet for facet, _ in terms} - known_facets)
    rows = [{"name": n, "description": "Kind of term of an imported corpus."} for n in new_facets]
    written = insert_rows(connection, facets, rows)
    known = set(connection.execute(sa.select(tags.c.facet, tags.c.name)))
    new = [(term, text) for term, text in terms.items() if term not in known]
    start = next_key(connection, tags)
    return written + insert_rows(
        connection,
        tags,
        [
            {"id": key, "facet": facet, "name": name, "description": text}
            for key, ((facet, name), text) in enumerate(new, start)
        ],
    )


def own_facets(connection: sa.Connection) -> dict[str, list[str]]:
    """Return name -> facets of the terms that are our own: described, and by no corpus."""
    t = tags.c
    ours = sa.and_(t.description.is_not(None), ~t.description.startswith(f"{OF_CORPUS} "))
    found: dict[str, list[str]] = {}
    for name, facet in connection.execute(sa.select(t.name, t.facet).where(ours).order_by(t.id)):
        found.setdefault(name, []).append(facet)
    return found


def store_page_terms(
    connection: sa.Connection,
    corpus: int,
    ids: Sequence[str],
    terms: Iterable[tuple[str, tuple[str, str]]],
) -> int:
    """Make (page id, (facet, name)) the front-matter tags of a corpus; returns rows changed."""
    query = sa.select(tags.c.facet, tags.c.name, tags.c.id)
    keys = {(facet, name): key for facet, name, key in connection.execute(query)}
    scope: Row = {"origin": FRONT_MATTER, "corpus_id": corpus}
    empty = dict.fromkeys(("basis", "rule", "evidence", "locator"))
    rows = ({"page_id": id_, "tag_id": keys[term], **scope, **empty} for id_, term in terms)
    return replace_owned(connection, page_tags, "page_id", ids, rows, scope=scope)


def store_links(
    connection: sa.Connection, corpus: int, links: Iterable[tuple[str, str, int, str]]
) -> int:
    """Make (page id, kind, position, target) the links of a corpus; returns rows changed."""
    names = ("page_id", "kind", "position", "target")
    rows = [{**dict(zip(names, link, strict=True)), "corpus_id": corpus} for link in links]
    owned = page_links.c.corpus_id == corpus
    return sync(connection, page_links, ("page_id", "kind", "position"), rows, owned)


def store_page_aliases(
    connection: sa.Connection, corpus: int, found: Iterable[tuple[str, str, str]]
) -> int:
    """Make (page id, folded alias, alias) the page aliases of a corpus; returns rows changed."""
    names = ("page_id", "alias", "display")
    rows = [{**dict(zip(names, one, strict=True)), "corpus_id": corpus} for one in found]
    owned = page_aliases.c.corpus_id == corpus
    return sync(connection, page_aliases, ("corpus_id", "page_id", "display"), rows, owned)


def store_aliases(
    connection: sa.Connection, source: str, offered: Sequence[Row]
) -> tuple[int, list[tuple[str, str, str]]]:
    """Make `offered` the aliases that come from `source`; returns rows changed and conflicts.

    Each row has alias, display, facet, tag and basis. An alias that others give to another term
    of its facet is left out and returned as (alias, term, the other's term).
    """
    a, t = aliases.c, tags.c
    query = sa.select(a.alias, a.tag_id, t.facet, t.name, a.source).join(tags, t.id == a.tag_id)
    others: dict[tuple[str, str], set[str]] = defaultdict(set)
    for alias, _, facet, name, given in connection.execute(query):
        if given != source:
            others[facet, alias].add(name)
    keys = {
        (facet, name): key
        for facet, name, key in connection.execute(sa.select(t.facet, t.name, t.id))
    }
    rows: dict[tuple[str, int], Row] = {}
    conflicts = []
    for row in offered:
        held = others.get((row["facet"], row["alias"]), set())
        if held and row["tag"] not in held:
            conflicts.append((row["display"], row["tag"], ", ".join(sorted(held))))
        elif not held:
            key = keys[row["facet"], row["tag"]]
            kept = {n: row[n] for n in ("alias", "display", "basis")}
            rows.setdefault((row["alias"], key), kept | {"tag_id": key, "source": source})
    written = sync(
        connection, aliases, ("alias", "tag_id"), list(rows.values()), a.source == source
    )
    return written, conflicts


def ensure_repositories(connection: sa.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return full name in lower case -> key of repositories, adding those not known, unfollowed."""
    r, former = repositories.c, repository_aliases.c
    query = sa.select(former.full_name, former.repository_id)
    known = {name.lower(): key for name, key in connection.execute(query)}
    known |= {name.lower(): key for name, key in connection.execute(sa.select(r.full_name, r.id))}
    taken = set(connection.execute(sa.select(r.slug)).scalars())
    key = next_key(connection, repositories)
    for name in sorted(set(names)):
        if name.lower() not in known:
            slug = name.rpartition("/")[2].lower()
            slug = name.lower().replace("/", "-") if slug in taken else slug
            row = {"id": key, "slug": slug, "full_name": name, "landing": "squash"}
            insert_rows(connection, repositories, [row | {"is_followed": False}])
            taken.add(slug)
            known[name.lower()], key = key, key + 1
    return known


def append_ledger(connection: sa.Connection, corpus: int, offered: Sequence[Row]) -> int:
    """Append the rows of imported ledgers that say something new; returns their number.

    Rows have repository_id, number, decision, reason, decided_on, decided_by and details. What a
    corpus said of a pull request before stays: this is history.
    """
    e = ledger_entries.c
    names = ("decision", "reason", "decided_on", "decided_by", "details")
    columns = (e.repository_id, e.number, *(e[name] for name in names))
    query = sa.select(*columns).where(e.corpus_id == corpus).order_by(e.id)
    stored: dict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
    for repository, number, *said in connection.execute(query):
        stored[repository, number].append(tuple(said))
    wanted: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in offered:
        wanted[row["repository_id"], row["number"]].append(row)
    new = [
        row
        for place, rows in wanted.items()
        if stored[place][-len(rows) :] != [tuple(row[n] for n in names) for row in rows]
        for row in rows
    ]
    start = next_key(connection, ledger_entries)
    full = [{"id": key, **row, "corpus_id": corpus} for key, row in enumerate(new, start)]
    return insert_rows(connection, ledger_entries, full)


def store_skips(connection: sa.Connection, corpus: int, rows: Sequence[Row]) -> int:
    """Make `rows` the skip audit of a corpus; returns rows changed."""
    full = [row | {"corpus_id": corpus} for row in rows]
    owned = ledger_skips.c.corpus_id == corpus
    return sync(connection, ledger_skips, ("corpus_id", "repository_id", "number"), full, owned)


def store_submissions(connection: sa.Connection, corpus: str, rows: Sequence[Row]) -> int:
    """Make `rows` the current submissions of the corpus of that name; returns rows written."""
    p = contest_problems.c
    problems = {page: key for page, key in connection.execute(sa.select(p.page_id, p.id)) if page}
    full = [
        row | {"contest_problem_id": problems.get(row["page_id"]), "corpus": corpus} for row in rows
    ]
    owned = contest_submissions.c.corpus == corpus
    return store_facts(connection, contest_submissions, full, ("key",), owned)


def store_registry(
    connection: sa.Connection,
    table: sa.Table,
    corpus: int,
    key: Sequence[str],
    rows: Sequence[Row],
) -> int:
    """Make `rows` the current ones of a corpus in a table of facts; returns rows written."""
    full = [row | {"corpus_id": corpus} for row in rows]
    return store_facts(connection, table, full, ("corpus_id", *key), table.c.corpus_id == corpus)


def store_bundles(
    connection: sa.Connection, corpus: int, offered: Sequence[Row]
) -> tuple[int, dict[str, int]]:
    """Make `offered` the live bundles of a corpus; returns rows changed and path -> key."""
    b = bundles.c
    query = sa.select(b.path, b.id, b.retired_at).where(b.corpus_id == corpus)
    stored = {path: (key, at) for path, key, at in connection.execute(query)}
    start = next_key(connection, bundles)
    fresh = iter(range(start, start + len(offered)))
    rows = [
        {
            "id": stored[row["path"]][0] if row["path"] in stored else next(fresh),
            **row,
            "corpus_id": corpus,
            "retired_at": None,
        }
        for row in offered
    ]
    kept = {row["path"]: row["id"] for row in rows}
    gone = [key for path, (key, at) in stored.items() if path not in kept and at is None]
    written = upsert(connection, bundles, rows, ("corpus_id", "path"))
    written += update_rows(connection, bundles, [{"id": key, "retired_at": now()} for key in gone])
    return written, kept


def store_contents(
    connection: sa.Connection,
    table: sa.Table,
    key: Sequence[str],
    offered: Iterable[Row],
    owned: sa.ColumnElement[bool],
) -> int:
    """Make `offered` the only files where `owned` holds; returns rows changed.

    Rows are read from `offered` one by one and written in batches, so that their `content` is never
    in memory all at once; what has the same digest and fields as before is not written.
    """
    names = [c.name for c in table.columns if c.name not in ("id", "content")]
    query = sa.select(*(table.c[name] for name in names)).where(owned)
    stored = {tuple(row[n] for n in key): row for row in connection.execute(query).mappings()}
    seen: set[tuple[Any, ...]] = set()
    written = 0
    for batch in _batches(offered):
        seen.update(tuple(row[n] for n in key) for row in batch)
        changed = [row for row in batch if _is_new(stored.get(tuple(row[n] for n in key)), row)]
        written += _write_contents(connection, table, key, changed)
    gone = [row for place, row in stored.items() if place not in seen]
    if gone:
        where = [table.c[n] == sa.bindparam(f"old_{n}") for n in key]
        values = [{f"old_{n}": row[n] for n in key} for row in gone]
        connection.execute(sa.delete(table).where(*where), values)
    return written + len(gone)


def _is_new(stored: sa.RowMapping | None, row: Row) -> bool:
    return stored is None or any(stored[n] != v for n, v in row.items() if n != "content")


def _write_contents(
    connection: sa.Connection, table: sa.Table, key: Sequence[str], rows: Sequence[Row]
) -> int:
    if "id" not in table.c:
        return upsert(connection, table, rows, key)
    start = next_key(connection, table)
    return upsert(connection, table, [{"id": n, **row} for n, row in enumerate(rows, start)], key)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row["content"] or b"") + 200
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def bundle_files_of(corpus: int) -> sa.ColumnElement[bool]:
    """Return the condition for the files of a corpus's live bundles."""
    live = sa.select(bundles.c.id).where(
        bundles.c.corpus_id == corpus, bundles.c.retired_at.is_(None)
    )
    return bundle_files.c.bundle_id.in_(live)


def files_of(corpus: int) -> sa.ColumnElement[bool]:
    """Return the condition for the files of a corpus that are neither pages nor in bundles."""
    return corpus_files.c.corpus_id == corpus
