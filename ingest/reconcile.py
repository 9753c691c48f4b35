"""Bring together what commits and the API say: links, landed_state, and how well they agree."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ingest.landing import LANDING, Word, settle
from kwdb.db import read_transaction, write_transaction
from kwdb.store import harvest as store
from kwdb.store.agreement import read_agreement
from kwdb.store.pulls import read_words, renew_api_links
from kwdb.store.rows import chunks

if TYPE_CHECKING:
    from ingest.job import Job

_BATCH = 2_000
_CLOSED_BY_COMMIT = frozenset({"pytorch"})
"""Landing styles in which a merge bot's commit closes a pull request that it lands."""


def lands_by_closing(landing: str) -> bool:
    """Whether, in this landing style, the commit that closed a pull request has landed it."""
    return landing in _CLOSED_BY_COMMIT


def settle_pull_requests(connection: sa.Connection, keys: Iterable[int], landing: str) -> int:
    """Renew links from the API and landed_state of pull requests; returns the rows changed."""
    wanted = sorted(keys)
    written = renew_api_links(connection, wanted, closers=lands_by_closing(landing))
    events = store.landing_events(connection, wanted)
    words = read_words(connection, wanted)
    rows = [
        settle(key, found, Word(**words[key]) if key in words else None)
        for key, found in events.items()
    ]
    return written + store.store_landings(connection, rows)


def reconcile(job: "Job") -> dict[str, Any]:
    """Settle all pull requests again where the rules changed, and report how well things agree."""
    repository = job.repository.id
    with read_transaction(job.engine) as connection:
        version = store.get_cursor(connection, repository, "reconcile")["version"]
        keys = sorted(store.pull_request_keys(connection, repository).values())
    # Without a version nothing was settled by other rules than these.
    is_due = job.options.full or version not in (None, LANDING)
    written = sum(_settle_batch(job, part) for part in chunks(keys if is_due else [], _BATCH))
    with write_transaction(job.engine) as connection:
        store.set_cursor(connection, repository, "reconcile", "", LANDING)
    with read_transaction(job.engine) as connection:
        return read_agreement(connection, repository) | {"rows_written": written}


def _settle_batch(job: "Job", keys: Collection[int]) -> int:
    with write_transaction(job.engine) as connection:
        return settle_pull_requests(connection, keys, job.repository.landing)
