"""Decide again on stored pull requests with the rules in force; git is not asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ingest.classify import classify, ruleset
from ingest.decisions import change_of
from ingest.job import BATCH
from kwdb.config import Settings
from kwdb.db import read_transaction, write_transaction
from kwdb.locks import exclusive
from kwdb.records import Verdict
from kwdb.store.verdicts import (
    PERSON,
    WITH_DIFFS,
    RepositoryRow,
    due_for_classification,
    store_verdicts,
    stored_tags,
    tag_keys,
)

_EXAMPLES = 20


@dataclass(slots=True)
class Changes:
    """What new rules change; `examples` are the first 20 pull requests that they touch.

    `without_diffs` counts those that older rules had decided with changed lines and that are now
    decided without: `kwdb ingest --diffs` reads these again.
    """

    seen: int = 0
    without_diffs: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    tags_added: Counter[str] = field(default_factory=Counter)
    tags_removed: Counter[str] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)
    rows_written: int = 0


def reclassify(
    engine: sa.Engine, settings: Settings, repositories: Sequence[RepositoryRow], *, dry_run: bool
) -> Changes:
    """Decide again on all pull requests of `repositories`; people's decisions stand.

    Those that the present rules decided with their changed lines stay as they are.

    Raises:
        UserError: a harvest of one of them is at work.
    """
    changes = Changes()
    for repository in repositories:
        lock = settings.cache_dir / "mirrors" / f"{repository.full_name}.lock"
        with exclusive(lock, repository.full_name):
            _reclassify_one(engine, repository, changes, dry_run=dry_run)
    return changes


def _reclassify_one(
    engine: sa.Engine, repository: RepositoryRow, changes: Changes, *, dry_run: bool
) -> None:
    rules, after = ruleset(), 0
    while True:
        with read_transaction(engine) as connection:
            keys = tag_keys(connection)
            due = due_for_classification(connection, repository.id, rules, BATCH, after, every=True)
            before = stored_tags(connection, [row["id"] for row in due])
        if not due:
            return
        judged = [(row, classify(change_of(repository, row))) for row in due]
        touched = [
            (row, verdict)
            for row, verdict in judged
            if _compare(changes, repository, row, {t.name for t in before[row["id"]]}, verdict)
            or row["ruleset"] != rules
        ]
        if touched and not dry_run:
            with write_transaction(engine) as connection:
                changes.rows_written += store_verdicts(connection, repository, touched, rules, keys)
        after = due[-1]["id"]


def _compare(
    changes: Changes, repository: RepositoryRow, row: dict[str, Any], old: set[str], new: Verdict
) -> bool:
    """Count what differs and tell whether anything does."""
    changes.seen += 1
    changes.without_diffs += (row["ruleset"] or "").endswith(WITH_DIFFS)
    is_persons = (row["decided_by"] or "").startswith(PERSON)
    names = {tag.name for tag in new.tags}
    decision = row["decision"] if is_persons else new.decision
    if decision == row["decision"] and names == old:
        return False
    if decision != row["decision"]:
        changes.decisions[f"{row['decision'] or 'none'} -> {decision}"] += 1
    changes.tags_added.update(names - old)
    changes.tags_removed.update(old - names)
    if len(changes.examples) < _EXAMPLES:
        changes.examples.append(
            {
                "id": f"{repository.slug}#{row['number']}",
                "title": row["title"],
                "decision": [row["decision"], decision],
                "reason": new.reason,
                "added": sorted(names - old),
                "removed": sorted(old - names),
            }
        )
    return True


def undo_decision(engine: sa.Engine, repository: RepositoryRow, key: int) -> str:
    """Give a pull request back to the rules and return what they decide.

    Raises:
        UserError: no person decided on it.
    """
    from kwdb.store.verdicts import forget_persons_decision

    with write_transaction(engine) as connection:
        row = forget_persons_decision(connection, key)
        if row["title"] is None:
            return "nothing yet"
        verdict = classify(change_of(repository, row))
        keys = tag_keys(connection)
        store_verdicts(connection, repository, [(row, verdict)], ruleset(), keys)
        return verdict.decision
