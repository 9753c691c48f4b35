"""The stages that decide: on text and paths, then with changed lines where asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ingest.classify import classify, ruleset
from ingest.diffs import bring_blobs, list_needed, read_patches
from ingest.job import BATCH, Job, batches, paged
from ingest.workers import computed
from kwdb.db import read_transaction, write_transaction
from kwdb.errors import IngestError
from kwdb.records import Change, Verdict
from kwdb.store.verdicts import (
    WITH_DIFFS,
    RepositoryRow,
    due_for_classification,
    due_for_diffs,
    store_verdicts,
    tag_keys,
)

_DECIDED = 500
_DIFFS = 500  # patches in memory at a time


def classify_new(job: Job) -> dict[str, Any]:
    """Decide on every pull request that the present rules have not seen."""
    rules = ruleset()
    counts: dict[str, Any] = {"include": 0, "exclude": 0, "defer": 0, "rows_written": 0}
    with read_transaction(job.engine) as connection:
        keys = tag_keys(connection)
    done = 0
    for due, verdicts in computed(partial(_judge, job.repository), _due(job, rules)):
        judged = list(zip(due, verdicts, strict=True))
        with write_transaction(job.engine) as connection:
            counts["rows_written"] += store_verdicts(
                connection, job.repository, judged, rules, keys
            )
        for verdict in verdicts:
            counts[verdict.decision] += 1
        done += len(due)
        job.report("classify", done, None)
    return counts


def _due(job: Job, rules: str) -> Iterator[list[dict[str, Any]]]:
    def read(connection: sa.Connection, after: int) -> list[dict[str, Any]]:
        return due_for_classification(connection, job.repository.id, rules, _DECIDED, after)

    return paged(job.engine, read)


def _judge(repository: RepositoryRow, row: dict[str, Any]) -> Verdict:
    return classify(change_of(repository, row))


def classify_with_diffs(job: Job) -> dict[str, Any]:
    """Decide again, with changed lines, on what these rules kept or deferred without them.

    What the remote or the mirror lacks does not undo what the stages before stored: the counts
    then hold `failed`, a message, and what was read until then stays.
    """
    try:
        return _judge_all_diffs(job)
    except IngestError as exc:
        return {"failed": f"changed lines not read: {exc}; run it again to read them"}


def _judge_all_diffs(job: Job) -> dict[str, Any]:
    with read_transaction(job.engine) as connection:
        keys = tag_keys(connection)
    shas = [row["shas"] for batch in _due_for_diffs(job) for row in batch]
    needed = list_needed(job.mirror, (sha for one in shas for sha in one))
    count = len(needed.missing)
    job.say(f"{job.repository.slug}: {count} blobs to download for {len(shas)} pull requests")
    counts: dict[str, Any] = {"pull_requests": len(shas), "blobs": count}
    counts |= {"fetches": bring_blobs(job.mirror, needed.missing), "rows_written": 0}
    done = 0
    for batch in (part for due in _due_for_diffs(job) for part in batches(due, _DIFFS)):
        judged = list(_judge_diffs(job, batch, needed.parents))
        with write_transaction(job.engine) as connection:
            counts["rows_written"] += store_verdicts(
                connection, job.repository, judged, ruleset() + WITH_DIFFS, keys
            )
        done += len(batch)
        job.report("diffs", done, len(shas))
    return counts


def _due_for_diffs(job: Job) -> Iterator[list[dict[str, Any]]]:
    def read(connection: sa.Connection, after: int) -> list[dict[str, Any]]:
        return due_for_diffs(connection, job.repository.id, ruleset(), BATCH, after)

    return paged(job.engine, read)


def _judge_diffs(
    job: Job, batch: Sequence[dict[str, Any]], parents: dict[str, str]
) -> Iterator[tuple[dict[str, Any], Verdict]]:
    shas = [sha for row in batch for sha in row["shas"]]
    patches = read_patches(job.mirror, shas, parents)
    for row in batch:
        texts = [text for _, text in islice(patches, len(row["shas"]))]
        yield row, classify(replace(change_of(job.repository, row), diff="".join(texts)))


def change_of(repository: RepositoryRow, row: dict[str, Any]) -> Change:
    """Return a row of `due_for_classification` as the classifier reads it, without a diff."""
    return Change(
        repo=repository.full_name,
        number=row["number"],
        title=row["title"] or "",
        body=row["body"] or "",
        paths=tuple(row["paths"]),
        labels=tuple(row["labels"]),
    )
