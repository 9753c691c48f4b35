"""Store a tree as a corpus, in one transaction, and say what became of every file."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ingest.kernelwiki import vocabulary
from ingest.kernelwiki.claims import READER, claims_of
from ingest.kernelwiki.describe import (
    LINKS,
    aliases_of,
    describe,
    field_terms,
    links_of,
    terms_of,
)
from ingest.kernelwiki.ledgers import is_full_name
from ingest.kernelwiki.pages import Page, id_prefix
from ingest.kernelwiki.reading import Corpus, Report, read_corpus
from ingest.kernelwiki.registries import submissions
from ingest.kernelwiki.tree import Remark, head_revision, read, walk
from kwdb.db import write_transaction
from kwdb.models import (
    bundle_files,
    corpora,
    corpus_files,
    page_versions,
    repositories,
    tool_releases,
)
from kwdb.models import version_claims as version_claims_table
from kwdb.store import corpora as store
from kwdb.store import corpus_parts as parts
from kwdb.store.claims import read_claim_names
from kwdb.store.index import refresh_index
from kwdb.store.page_claims import store_page_claims
from kwdb.text import fold

Row = dict[str, Any]


@dataclass(slots=True)
class Summary:
    """What an import did: files by kind, pages by what became of them, rows by table."""

    corpus: str
    files: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    page_types: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    rows_written: int = 0
    is_complete: bool = True
    remarks: list[Remark] = field(default_factory=list)


def import_tree(engine: sa.Engine, directory: Path, name: str | None, report: Report) -> Summary:
    """Read the KernelWiki in `directory` and make it the corpus `name`, else of its own name.

    Doing it again with nothing changed writes nothing. A page that differs replaces the version the
    corpus had, one that is gone is retired.

    Raises:
        UserError: the directory is none, is no KernelWiki, or its name belongs to another corpus.
    """
    tree = walk(directory)
    with write_transaction(engine) as connection:
        corpus = read_corpus(tree, _slugs(connection).get, report)
        chosen = name or tree.root.name
        return _Import(connection, corpus, chosen, is_named=name is not None).run(report)


def _slugs(connection: sa.Connection) -> dict[str, str]:
    query = sa.select(repositories.c.slug, repositories.c.full_name)
    return dict(connection.execute(query).all())


class _Import:
    """One import: what was read, and where it goes."""

    def __init__(
        self, connection: sa.Connection, corpus: Corpus, name: str, *, is_named: bool
    ) -> None:
        self.connection = connection
        self.read = corpus
        self.name = name
        self.location = str(corpus.tree.root)
        self.revision = head_revision(corpus.tree.root)
        self.key = store.open_corpus(
            connection, name, self.location, self.revision, is_named=is_named
        )
        self.summary = Summary(name)
        self.rows: Counter[str] = Counter()

    def run(self, report: Report) -> Summary:
        """Store everything; the report's rows are those written."""
        pages = list(self.read.pages.values())
        self._open_sets(pages)
        report("store", 0, len(pages))
        versions = store.store_versions(self.connection, self.key, [_version(p) for p in pages])
        self.rows["page_versions"] = len(versions.touched)
        self.rows["corpora"] = store.note_import(
            self.connection, self.key, self.location, self.revision, changed=bool(versions.touched)
        )
        held = store.page_ids(self.connection, self.key)
        served = store.serve(self.connection, held, _describe_version)
        self.rows["pages"] += len(served)
        self._store_parts(held, pages)
        report("store", len(pages), len(pages))
        self._store_files()
        self._store_claims(pages, versions.retired)
        refresh_index(self.connection, {*versions.touched, *served})
        self._sum_up(versions)
        return self.summary

    def _open_sets(self, pages: list[Page]) -> None:
        """Extend the open value sets, types and facets by what the corpus uses."""
        described = [describe(page) for page in pages]
        said = f"As the corpus {self.name} has it."
        for column, table in (
            ("confidence", "confidence_levels"),
            ("reproducibility", "reproducibility_levels"),
            ("source_category", "source_categories"),
        ):
            names = {row[column] for row in described if row[column]}
            self.rows[table] = store.ensure_values(self.connection, table, names, said)
        kinds = store.ensure_values(self.connection, "link_kinds", LINKS, "A field of KernelWiki.")
        self.rows["link_kinds"] = kinds
        types = [_type_row(page.type, said) for page in pages]
        self.rows["page_types"] = store.ensure_page_types(self.connection, types)
        self.rows["pages"] = store.ensure_pages(self.connection, self.key, described)

    def _store_parts(self, held: list[str], pages: list[Page]) -> None:
        connection, key, rows = self.connection, self.key, self.rows
        known = self._facets_of_names(pages)
        terms = [
            (page.id, term)
            for page in pages
            for term in terms_of(page, self.read.vocabulary, known)
        ]
        used: dict[tuple[str, str], str | None] = dict.fromkeys(term for _, term in terms)
        rows["tags"] = parts.ensure_tags(connection, used | self._described_terms())
        rows["page_tags"] = parts.store_page_terms(connection, key, held, terms)
        links = [(page.id, *link) for page in pages for link in links_of(page)]
        rows["page_links"] = parts.store_links(connection, key, links)
        own = [(page.id, *alias) for page in pages for alias in aliases_of(page)]
        rows["page_aliases"] = parts.store_page_aliases(connection, key, own)
        rows["aliases"] = self._store_aliases()
        entered = [row for page in pages for row in submissions(page, self.name)]
        rows["contest_submissions"] = parts.store_submissions(connection, self.name, entered)
        rows["version_claims"] = parts.store_registry(
            connection, version_claims_table, key, ("key",), self.read.version_claims
        )
        rows["tool_releases"] = parts.store_registry(
            connection, tool_releases, key, ("tool", "version", "channel"), self.read.tool_releases
        )
        self._store_ledgers(pages)
        self.summary.read |= {
            "page_tags": len(terms),
            "page_links": len(links),
            "page_aliases": len(own),
            "contest_submissions": len(entered),
            "version_claims": len(self.read.version_claims),
            "tool_releases": len(self.read.tool_releases),
        }

    def _facets_of_names(self, pages: list[Page]) -> dict[str, list[str]]:
        """Facets of a word under `tags`: those of our own terms, else of the corpus's fields.

        What other corpora call it is no matter, so that a corpus reads the same beside any other.
        """
        found = dict(parts.own_facets(self.connection))
        fields = dict.fromkeys(term for page in pages for term in field_terms(page))
        theirs: dict[str, list[str]] = {}
        for facet, name in fields:
            theirs.setdefault(name, []).append(facet)
        return theirs | found

    def _described_terms(self) -> dict[tuple[str, str], str | None]:
        return {
            term: text and f"{parts.OF_CORPUS} {self.name}: {text}"
            for term, text in self.read.vocabulary.terms.items()
        }

    def _store_aliases(self) -> int:
        offered = list(_alias_rows(self.connection, self.read.vocabulary))
        terms = {(row["facet"], row["tag"]): None for row in offered}
        self.rows["tags"] += parts.ensure_tags(self.connection, terms)
        source = f"corpus {self.name}"
        written, conflicts = parts.store_aliases(self.connection, source, offered)
        for display, term, other in conflicts:
            reason = f"{display!r} for {term}: it stands for {other} here; kept in the file only"
            self.read.remark("data/aliases.yaml", "alias", reason)
        self.summary.read |= {"terms": len(self.read.vocabulary.terms), "aliases": len(offered)}
        return written

    def _store_ledgers(self, pages: list[Page]) -> None:
        named = [*(row.repo for row in self.read.ledger), *(row.repo for row in self.read.skips)]
        given = [(page.front_matter or {}).get("repo") for page in pages]
        wanted = {*named, *(name for name in given if is_full_name(name))}
        known = len(_slugs(self.connection))
        keys = parts.ensure_repositories(self.connection, wanted)
        self.rows["repositories"] = len(_slugs(self.connection)) - known
        ledger, skips = self.read.ledger, self.read.skips
        self.rows["ledger_entries"] = parts.append_ledger(
            self.connection,
            self.key,
            [
                {
                    "repository_id": keys[row.repo.lower()],
                    "number": row.number,
                    "decision": row.decision,
                    "reason": row.reason,
                    "decided_on": row.decided_on,
                    "decided_by": row.decided_by,
                    "details": row.details or None,
                }
                for row in ledger
            ],
        )
        self.rows["ledger_skips"] = parts.store_skips(
            self.connection,
            self.key,
            [
                {
                    "repository_id": keys[row.repo.lower()],
                    "number": row.number,
                    "stage": row.stage,
                    "reason": row.reason,
                    "recorded_on": row.recorded_on,
                }
                for row in skips
            ],
        )
        self.summary.read |= {"ledger_rows": len(ledger), "ledger_skips": len(skips)}

    def _store_files(self) -> None:
        offered = [
            {
                "path": bundle.path,
                "page_id": bundle.page_id,
                "asset_mode": _word(bundle.manifest.get("asset_mode")),
                "license": _word(bundle.manifest.get("license")),
                "upstream": _upstream(bundle.manifest),
                "provenance": bundle.manifest or None,
            }
            for bundle in self.read.bundles
        ]
        self.rows["bundles"], keys = parts.store_bundles(self.connection, self.key, offered)
        self.rows["bundle_files"] = parts.store_contents(
            self.connection,
            bundle_files,
            ("bundle_id", "path"),
            self._bundle_files(keys),
            parts.bundle_files_of(self.key),
        )
        self.rows["corpus_files"] = parts.store_contents(
            self.connection,
            corpus_files,
            ("corpus_id", "path"),
            self._plain_files(),
            parts.files_of(self.key),
        )
        files = sum(len(bundle.files) for bundle in self.read.bundles)
        self.summary.read |= {"bundles": len(offered), "bundle_files": files}

    def _bundle_files(self, keys: dict[str, int]) -> Iterator[Row]:
        for bundle in self.read.bundles:
            for name, entry in bundle.files.items():
                content = self._content(f"{bundle.path}/{name}")
                yield self._bundle_file(bundle.path, keys, name, entry) | content
            for name, entry in bundle.missing.items():
                reason = "named in PROVENANCE.yaml, but no such file in the bundle"
                self.read.remark(f"{bundle.path}/{name}", "missing file", reason)
                empty = {"sha256": None, "size_bytes": None, "content": None}
                yield self._bundle_file(bundle.path, keys, name, entry) | empty

    def _bundle_file(self, path: str, keys: dict[str, int], name: str, entry: Any) -> Row:
        return {
            "bundle_id": keys[path],
            "path": name,
            "role": _word(entry.get("role")),
            "declared_sha256": _word(entry.get("sha256")),
        }

    def _plain_files(self) -> Iterator[Row]:
        for path, (kind, reason) in self.read.files.items():
            content = self._content(path)
            yield {"corpus_id": self.key, "path": path, "kind": kind, "reason": reason} | content
        for remark in self.read.tree.refused:
            empty = {"sha256": None, "size_bytes": None, "content": None}
            row = {"corpus_id": self.key, "path": remark.path, "kind": remark.kind}
            yield row | {"reason": remark.reason} | empty

    def _content(self, path: str) -> Row:
        file = self.read.tree.files[path]
        data = read(file)
        if isinstance(data, Remark):
            if self.read.files.get(path, ("", None))[1] is None:
                self.read.remarks.append(data)
            self.summary.is_complete = False
            return {"size_bytes": file.size, "sha256": None, "content": None}
        digest = hashlib.sha256(data).hexdigest()
        return {"size_bytes": len(data), "sha256": digest, "content": data}

    def _store_claims(self, pages: list[Page], retired: list[str]) -> None:
        """Make the claims of these pages those of all their live versions, ours and others'."""
        ids = sorted({*(page.id for page in pages if _has_claims(page)), *retired})
        ids += _ids_with_claims(self.connection, self.key, {*ids})
        found = []
        for page in (self.read.pages[id_] for id_ in ids if id_ in self.read.pages):
            claims, left = claims_of(page, self.read.pages)
            found += claims
            for place, reason in left:
                self.read.remark(page.path, "claim", f"{place}: {reason}")
        self.summary.read["claims"] = len(found)
        for others in _versions_elsewhere(self.connection, self.key, ids).values():
            cited = _cited_pages(self.connection, others)
            found += [claim for _, page in others for claim in claims_of(page, cited)[0]]
        written, disputed = store_page_claims(
            self.connection, ids, found, READER, read_claim_names(self.connection)
        )
        self.rows["performance_claims"] = written
        self.summary.read["claims_disputed"] = disputed

    def _sum_up(self, versions: store.Versions) -> None:
        summary, corpus = self.summary, self.read
        summary.files = len(corpus.tree.files) + len(corpus.tree.refused)
        summary.kinds = {kind: count for kind, count in sorted(corpus.kinds.items()) if count}
        touched = {name: len(getattr(versions, name)) for name in ("added", "changed", "retired")}
        unchanged = len(corpus.pages) - touched["added"] - touched["changed"]
        summary.pages = touched | {"unchanged": unchanged, "in_all": len(corpus.pages)}
        types = Counter(page.type for page in corpus.pages.values())
        summary.page_types = dict(sorted(types.items()))
        summary.rows = {name: count for name, count in sorted(self.rows.items()) if count}
        summary.rows_written = sum(summary.rows.values())
        summary.remarks = sorted(corpus.remarks, key=lambda r: (r.path, r.kind, r.reason))


def _version(page: Page) -> Row:
    names = ("path", "fences", "front_matter_text", "front_matter", "body")
    return {"page_id": page.id} | {name: getattr(page, name) for name in names}


def page_of(version: Row) -> Page:
    """Return a stored version as the page that was read."""
    from ingest.kernelwiki.pages import page_type

    head = version["front_matter"]
    declared = (head or {}).get("type")
    return Page(
        id=version["page_id"],
        type=page_type(version["path"], declared if isinstance(declared, str) else None),
        path=version["path"],
        fences=version["fences"],
        front_matter_text=version["front_matter_text"],
        front_matter=head,
        body=version["body"],
        problem=None,
    )


def _describe_version(version: Row) -> Row:
    return describe(page_of(version))


def _type_row(name: str, said: str) -> Row:
    layer = name.partition("-")[0] if name.startswith(("source-", "wiki-")) else "wiki"
    row = {"name": name, "layer": layer, "id_prefix": id_prefix(name), "description": said}
    return row | {"min_reproducibility": None}


def _alias_rows(connection: sa.Connection, words: vocabulary.Vocabulary) -> Iterator[Row]:
    known = parts.own_facets(connection)
    for alias in words.aliases:
        facets = words.facets_of(alias.term) or known.get(alias.term) or [alias.facet or "topic"]
        facet = alias.facet if alias.facet in facets else facets[0]
        if fold(alias.display) and facet:
            yield {
                "alias": fold(alias.display),
                "display": alias.display,
                "facet": facet,
                "tag": alias.term,
                "basis": vocabulary.basis_of(alias, facet),
            }


def _word(value: Any) -> str | None:
    return None if value is None or isinstance(value, (dict, list)) else str(value)


def _upstream(manifest: Row) -> str | None:
    named = (_word(manifest.get(name)) for name in ("upstream_repo", "upstream_sha"))
    return "@".join(part for part in named if part) or None


def _has_claims(page: Page) -> bool:
    return bool((page.front_matter or {}).get("performance_claims"))


def _ids_with_claims(connection: sa.Connection, corpus: int, known: set[str]) -> list[str]:
    """Pages of the corpus that have stored claims of a front matter, but offer none now."""
    from kwdb.models import performance_claims as c

    v = page_versions.c
    query = (
        sa.select(c.c.page_id)
        .distinct()
        .join(page_versions, v.page_id == c.c.page_id)
        .where(v.corpus_id == corpus, c.c.extractor == READER, c.c.retired_at.is_(None))
    )
    return sorted(id_ for id_ in connection.execute(query).scalars() if id_ not in known)


_VERSION = ("page_id", "path", "fences", "front_matter_text", "front_matter", "body")


def _versions_elsewhere(
    connection: sa.Connection, corpus: int, ids: list[str]
) -> dict[int, list[tuple[int, Page]]]:
    """Return corpus -> (its key, page) of the live versions of pages in other imported corpora."""
    v, c = page_versions.c, corpora.c
    query = (
        sa.select(v.corpus_id, *(v[name] for name in _VERSION))
        .join(corpora, c.id == v.corpus_id)
        .where(
            v.page_id.in_(ids), v.corpus_id != corpus, v.retired_at.is_(None), c.kind == "import"
        )
        .order_by(v.corpus_id, v.page_id)
    )
    found: dict[int, list[tuple[int, Page]]] = {}
    for row in connection.execute(query).mappings():
        found.setdefault(row["corpus_id"], []).append((row["corpus_id"], page_of(dict(row))))
    return found


def _cited_pages(connection: sa.Connection, versions: list[tuple[int, Page]]) -> dict[str, Page]:
    """Return the pages of their own corpus that the claims of these versions cite."""
    v = page_versions.c
    cited = {
        claim.source_page_id
        for _, page in versions
        for claim in claims_of(page, {})[0]
        if claim.source_page_id
    }
    query = sa.select(*(v[name] for name in _VERSION)).where(
        v.corpus_id == versions[0][0], v.page_id.in_(cited), v.retired_at.is_(None)
    )
    return {row["page_id"]: page_of(dict(row)) for row in connection.execute(query).mappings()}
