"""Store the claims of pages: those of all live versions, this corpus's and others'."""

from typing import Any, Final

import sqlalchemy as sa

from ingest.kernelwiki.claims import READER, claims_of
from ingest.kernelwiki.job import Job
from ingest.kernelwiki.pages import Page, page_type
from kwdb.models import corpora, page_versions, performance_claims
from kwdb.store.claims import read_claim_names
from kwdb.store.page_claims import store_page_claims

Row = dict[str, Any]
_VERSION: Final = ("page_id", "path", "fences", "front_matter_text", "front_matter", "body")


def store_claims(job: Job, pages: list[Page], retired: list[str]) -> None:
    """Make the claims of these pages those of all their live versions, ours and others'."""
    ids = sorted({*(page.id for page in pages if _has_claims(page)), *retired})
    ids += _ids_with_claims(job.connection, job.key, {*ids})
    found = []
    for page in (job.read.pages[id_] for id_ in ids if id_ in job.read.pages):
        claims, left = claims_of(page, job.read.pages)
        found += claims
        for place, reason in left:
            job.read.remark(page.path, "claim", f"{place}: {reason}")
    job.summary.read["claims"] = len(found)
    for others in _versions_elsewhere(job.connection, job.key, ids).values():
        cited = _cited_pages(job.connection, others)
        found += [claim for _, page in others for claim in claims_of(page, cited)[0]]
    written, disputed = store_page_claims(
        job.connection, ids, found, READER, read_claim_names(job.connection)
    )
    job.rows["performance_claims"] = written
    job.summary.read["claims_disputed"] = disputed


def _has_claims(page: Page) -> bool:
    return bool((page.front_matter or {}).get("performance_claims"))


def _ids_with_claims(connection: sa.Connection, corpus: int, known: set[str]) -> list[str]:
    """Pages of the corpus that have stored claims of a front matter, but offer none now."""
    v, c = page_versions.c, performance_claims.c
    query = (
        sa.select(c.page_id)
        .distinct()
        .join(page_versions, v.page_id == c.page_id)
        .where(v.corpus_id == corpus, c.extractor == READER, c.retired_at.is_(None))
    )
    return sorted(id_ for id_ in connection.execute(query).scalars() if id_ not in known)


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


def page_of(version: Row) -> Page:
    """Return a stored version as the page that was read."""
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
