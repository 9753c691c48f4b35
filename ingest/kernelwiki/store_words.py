"""Store the terms, links, aliases and registries of a corpus."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ingest.kernelwiki import vocabulary
from ingest.kernelwiki.describe import aliases_of, field_terms, links_of, terms_of
from ingest.kernelwiki.job import Job
from ingest.kernelwiki.pages import Page
from ingest.kernelwiki.registries import submissions
from kwdb.models import tool_releases
from kwdb.models import version_claims as version_claims_table
from kwdb.store import corpus_parts as parts
from kwdb.text import fold

Row = dict[str, Any]


def store_words(job: Job, held: list[str], pages: list[Page]) -> None:
    """Store what front matters and registries say; `held` are all pages the corpus ever had."""
    connection, key, rows = job.connection, job.key, job.rows
    known = _facets_of_names(job, pages)
    terms = [
        (page.id, term) for page in pages for term in terms_of(page, job.read.vocabulary, known)
    ]
    used: dict[tuple[str, str], str | None] = dict.fromkeys(term for _, term in terms)
    rows["tags"] = parts.ensure_tags(connection, used | _described_terms(job))
    rows["page_tags"] = parts.store_page_terms(connection, key, held, terms)
    links = [(page.id, *link) for page in pages for link in links_of(page)]
    rows["page_links"] = parts.store_links(connection, key, links)
    own = [(page.id, *alias) for page in pages for alias in aliases_of(page)]
    rows["page_aliases"] = parts.store_page_aliases(connection, key, own)
    rows["aliases"] = _store_aliases(job)
    entered = [row for page in pages for row in submissions(page, job.name)]
    rows["contest_submissions"] = parts.store_submissions(connection, job.name, entered)
    rows["version_claims"] = parts.store_registry(
        connection, version_claims_table, key, ("key",), job.read.version_claims
    )
    rows["tool_releases"] = parts.store_registry(
        connection, tool_releases, key, ("tool", "version", "channel"), job.read.tool_releases
    )
    job.summary.read |= {
        "page_tags": len(terms),
        "page_links": len(links),
        "page_aliases": len(own),
        "contest_submissions": len(entered),
        "version_claims": len(job.read.version_claims),
        "tool_releases": len(job.read.tool_releases),
    }


def _facets_of_names(job: Job, pages: list[Page]) -> dict[str, list[str]]:
    """Facets of a word under `tags`: those of our own terms, else of the corpus's fields.

    What other corpora call it is no matter, so that a corpus reads the same beside any other.
    """
    found = dict(parts.own_facets(job.connection))
    fields = dict.fromkeys(term for page in pages for term in field_terms(page))
    theirs: dict[str, list[str]] = {}
    for facet, name in fields:
        theirs.setdefault(name, []).append(facet)
    return theirs | found


def _described_terms(job: Job) -> dict[tuple[str, str], str | None]:
    return {
        term: text and f"{parts.OF_CORPUS} {job.name}: {text}"
        for term, text in job.read.vocabulary.terms.items()
    }


def _store_aliases(job: Job) -> int:
    offered = list(_alias_rows(job.connection, job.read.vocabulary))
    terms = {(row["facet"], row["tag"]): None for row in offered}
    job.rows["tags"] += parts.ensure_tags(job.connection, terms)
    source = f"corpus {job.name}"
    written, conflicts = parts.store_aliases(job.connection, source, offered)
    for display, term, other in conflicts:
        reason = f"{display!r} for {term}: it stands for {other} here; kept in the file only"
        job.read.remark("data/aliases.yaml", "alias", reason)
    job.summary.read |= {"terms": len(job.read.vocabulary.terms), "aliases": len(offered)}
    return written


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
