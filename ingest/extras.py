"""Stage `extras`: what only GraphQL knows, for pull requests that are kept.

Of the others nobody reads it, and a question for each would cost more requests than all the rest.
Where a merge bot lands pull requests, it is also asked which commit closed those that no commit
names. A query that fails is asked again for half as many; one that fails for a single pull
request leaves a gap.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ingest.github.client import GitHub
from ingest.github.errors import PassingError
from ingest.github.extras import LARGEST_QUERY, fetch_extras
from ingest.reconcile import lands_by_closing, settle_pull_requests
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import IngestError
from kwdb.records import ExtrasRecord
from kwdb.store import gaps as gap_store
from kwdb.store.pulls import due_for_extras, store_extras
from kwdb.store.rows import Row

if TYPE_CHECKING:
    from ingest.job import Job

STAGE = "extras"
_BATCH = 1_000
_MOST_FAILURES = 5
"""So many single pull requests that fail in a row are no matter of these pull requests."""


def read_extras(job: "Job", client: GitHub) -> dict[str, Any]:
    """Ask GraphQL for what is due; returns counts, with nothing raised for what cannot be read."""
    asked_before = client.requests
    reader = _Reader(job, client)
    try:
        after = 0
        while due := reader.find_due(after):
            reader.read(due)
            after = max(row["id"] for row in due.values())
    except IngestError as exc:
        reader.note_gap(gap_store.WALK, str(exc))
    else:
        reader.close_gaps({gap_store.WALK})
    return {
        "pull_requests": reader.read_count,
        "requests": client.requests - asked_before,
        "gaps": len(reader.gaps),
        "rows_written": reader.rows_written,
    }


class _Reader:
    """Asks for the extras of one repository in queries of a size that adapts."""

    def __init__(self, job: "Job", client: GitHub) -> None:
        self.job, self.client = job, client
        self.closers = lands_by_closing(job.repository.landing)
        self.size, self.failures = LARGEST_QUERY, 0
        self.read_count = self.rows_written = 0
        with read_transaction(job.engine) as connection:
            self.gaps = set(gap_store.open_gaps(connection, job.repository.id, STAGE))

    def find_due(self, after: int) -> dict[int, Row]:
        with read_transaction(self.job.engine) as connection:
            return due_for_extras(
                connection,
                self.job.repository.id,
                _BATCH,
                after,
                closers=self.closers,
                every=self.job.options.full,
            )

    def read(self, due: Mapping[int, Row]) -> None:
        left = list(due)
        while left:
            numbers = left[: self.size]
            try:
                records = fetch_extras(self.client, self.job.repository.full_name, numbers)
            except PassingError as exc:
                if len(numbers) > 1:
                    self.size = max(1, len(numbers) // 2)
                    continue
                self._give_up(numbers[0], exc)
            else:
                self._store(due, records)
            left = left[len(numbers) :]

    def _give_up(self, number: int, error: PassingError) -> None:
        self.failures += 1
        if self.failures >= _MOST_FAILURES:
            raise error
        self.note_gap(f"#{number}", str(error))

    def _store(self, due: Mapping[int, Row], records: list[ExtrasRecord]) -> None:
        self.size, self.failures = min(LARGEST_QUERY, 2 * self.size), 0
        read = self.gaps & {f"#{record.number}" for record in records}
        repository = self.job.repository
        with write_transaction(self.job.engine) as connection:
            stored = store_extras(connection, due, records)
            settled = settle_pull_requests(connection, stored.keys, repository.landing)
            gap_store.close_gaps(connection, repository.id, STAGE, read)
        self.gaps -= read
        self.read_count += len(records)
        self.rows_written += stored.written + settled
        self.job.report(STAGE, self.read_count, None)

    def note_gap(self, key: str, reason: str) -> None:
        with write_transaction(self.job.engine) as connection:
            gap_store.note_gaps(connection, self.job.repository.id, STAGE, {key: reason})
        self.gaps.add(key)

    def close_gaps(self, keys: set[str]) -> None:
        if found := self.gaps & keys:
            with write_transaction(self.job.engine) as connection:
                gap_store.close_gaps(connection, self.job.repository.id, STAGE, found)
            self.gaps -= found
