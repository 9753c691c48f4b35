"""Store a tree as a corpus, in one transaction, and say what became of every file."""

from collections import Counter
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ingest.kernelwiki.describe import LINKS, describe
from ingest.kernelwiki.job import Job, Summary
from ingest.kernelwiki.pages import Page, id_prefix
from ingest.kernelwiki.reading import Report, read_corpus
from ingest.kernelwiki.store_claims import page_of, store_claims
from ingest.kernelwiki.store_files import store_files
from ingest.kernelwiki.store_ledgers import slugs, store_ledgers
from ingest.kernelwiki.store_words import store_words
from ingest.kernelwiki.tree import head_revision, walk
from kwdb.db import write_transaction
from kwdb.store import corpora as store
from kwdb.store.index import refresh_index

Row = dict[str, Any]


def import_tree(engine: sa.Engine, directory: Path, name: str | None, report: Report) -> Summary:
    """Read the KernelWiki in `directory` and make it the corpus `name`, else of its own name.

    Doing it again with nothing changed writes nothing. A page that differs replaces the version the
    corpus had, one that is gone is retired.

    Raises:
        UserError: the directory is none, is no KernelWiki, or its name belongs to another corpus.
    """
    tree = walk(directory)
    root, revision = str(tree.root), head_revision(tree.root)
    with write_transaction(engine) as connection:
        corpus = read_corpus(tree, slugs(connection).get, report)
        chosen = name or tree.root.name
        key = store.open_corpus(connection, chosen, root, revision, is_named=name is not None)
        job = Job(connection, corpus, chosen, key, Summary(chosen))
        _store(job, revision, report)
    return job.summary


def _store(job: Job, revision: str | None, report: Report) -> None:
    connection, pages = job.connection, list(job.read.pages.values())
    described = [describe(page) for page in pages]
    _open_sets(job, pages, described)
    report("store", 0, len(pages))
    versions = store.store_versions(connection, job.key, [_version(page) for page in pages])
    job.rows["page_versions"] = len(versions.touched)
    job.rows["corpora"] = store.note_import(
        connection, job.key, str(job.read.tree.root), revision, changed=bool(versions.touched)
    )
    held = store.page_ids(connection, job.key)
    by_id = {row["id"]: row for row in described}
    served = store.serve(connection, held, job.key, by_id, _describe_version)
    job.rows["pages"] += len(served)
    store_words(job, held, pages)
    store_ledgers(job, pages)
    report("store", len(pages), len(pages))
    store_files(job)
    store_claims(job, pages, versions.retired)
    refresh_index(connection, {*versions.touched, *served})
    _sum_up(job, versions)


def _open_sets(job: Job, pages: list[Page], described: list[Row]) -> None:
    """Extend the open value sets, types and facets by what the corpus uses."""
    said = f"As the corpus {job.name} has it."
    for column, table in (
        ("confidence", "confidence_levels"),
        ("reproducibility", "reproducibility_levels"),
        ("source_category", "source_categories"),
    ):
        names = {row[column] for row in described if row[column]}
        job.rows[table] = store.ensure_values(job.connection, table, names, said)
    kinds = store.ensure_values(job.connection, "link_kinds", LINKS, "A field of KernelWiki.")
    job.rows["link_kinds"] = kinds
    types = [_type_row(page.type, said) for page in pages]
    job.rows["page_types"] = store.ensure_page_types(job.connection, types)
    job.rows["pages"] = store.ensure_pages(job.connection, job.key, described)


def _sum_up(job: Job, versions: store.Versions) -> None:
    summary, corpus = job.summary, job.read
    if any(remark.kind == "unreadable" for remark in corpus.tree.refused):
        summary.is_complete = False
    summary.files = len(corpus.tree.files) + len(corpus.tree.refused)
    summary.kinds = {kind: count for kind, count in sorted(corpus.kinds.items()) if count}
    touched = {name: len(getattr(versions, name)) for name in ("added", "changed", "retired")}
    unchanged = len(corpus.pages) - touched["added"] - touched["changed"]
    summary.pages = touched | {"unchanged": unchanged, "in_all": len(corpus.pages)}
    types = Counter(page.type for page in corpus.pages.values())
    summary.page_types = dict(sorted(types.items()))
    summary.rows = {name: count for name, count in sorted(job.rows.items()) if count}
    summary.rows_written = sum(summary.rows.values())
    summary.remarks = sorted(corpus.remarks, key=lambda r: (r.path, r.kind, r.reason))


def _version(page: Page) -> Row:
    names = ("path", "fences", "front_matter_text", "front_matter", "body")
    return {"page_id": page.id} | {name: getattr(page, name) for name in names}


def _describe_version(version: Row) -> Row:
    return describe(page_of(version))


def _type_row(name: str, said: str) -> Row:
    layer = name.partition("-")[0] if name.startswith(("source-", "wiki-")) else "wiki"
    row = {"name": name, "layer": layer, "id_prefix": id_prefix(name), "description": said}
    return row | {"min_reproducibility": None}
