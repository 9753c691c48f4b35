"""The stage of a harvest that reads claims; parsing and storing stay apart, batch by batch."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import sqlalchemy as sa

from ingest.claims.extract import EXTRACTOR
from ingest.claims.plausible import read_pull_request
from ingest.job import paged
from ingest.workers import computed
from kwdb.db import read_transaction, write_transaction
from kwdb.store.citations import check_citations
from kwdb.store.claims import Reading, due_for_extraction, read_claim_names, store_claims
from kwdb.store.verdicts import RepositoryRow

_BATCH: Final = 300
_COUNTS: Final = ("claims", "retired", "disputed", "rows_written")


def extract_stage(
    engine: sa.Engine, repository: RepositoryRow, report: Callable[[str, int, int | None], None]
) -> dict[str, Any]:
    """Read the claims of every pull request that the present extractor has not read.

    Each batch is one transaction, so that a stage that was killed goes on after the last one. Then
    reported claims are held against the sources that they cite, which may just have come. Returns
    how many claims were read, retired and disputed, and rows written; twice, all are 0.
    """
    counts: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
    with read_transaction(engine) as connection:
        names = read_claim_names(connection)
    done = 0
    for due, claims in computed(read_pull_request, _due(engine, repository)):
        read = [Reading(*pair) for pair in zip(due, claims, strict=True)]
        with write_transaction(engine) as connection:
            stored = store_claims(connection, repository, read, EXTRACTOR, names)
        for name in counts:
            counts[name] += getattr(stored, name)
        done += len(due)
        report("extract", done, None)
    with write_transaction(engine) as connection:
        doubted = check_citations(connection)
    return counts | {name: counts[name] + doubted for name in ("disputed", "rows_written")}


def _due(engine: sa.Engine, repository: RepositoryRow) -> Iterator[list[dict[str, Any]]]:
    def read(connection: sa.Connection, after: int) -> list[dict[str, Any]]:
        return due_for_extraction(connection, repository.id, EXTRACTOR, _BATCH, after)

    return paged(engine, read)
