"""Store the ledgers of a corpus as history, its skip audit, and the repositories it names."""

import sqlalchemy as sa

from ingest.kernelwiki.job import Job
from ingest.kernelwiki.ledgers import is_full_name
from ingest.kernelwiki.pages import Page
from kwdb.models import repositories
from kwdb.store import corpus_parts as parts


def store_ledgers(job: Job, pages: list[Page]) -> None:
    """Append what ledgers say anew; repositories that were not known stay unfollowed."""
    named = [*(row.repo for row in job.read.ledger), *(row.repo for row in job.read.skips)]
    given = [(page.front_matter or {}).get("repo") for page in pages]
    wanted = {*named, *(name for name in given if is_full_name(name))}
    known = len(slugs(job.connection))
    keys = parts.ensure_repositories(job.connection, wanted)
    job.rows["repositories"] = len(slugs(job.connection)) - known
    ledger, skips = job.read.ledger, job.read.skips
    job.rows["ledger_entries"] = parts.append_ledger(
        job.connection,
        job.key,
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
    job.rows["ledger_skips"] = parts.store_skips(
        job.connection,
        job.key,
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
    job.summary.read |= {"ledger_rows": len(ledger), "ledger_skips": len(skips)}


def slugs(connection: sa.Connection) -> dict[str, str]:
    """Return slug -> full name of all repositories."""
    query = sa.select(repositories.c.slug, repositories.c.full_name)
    return dict(connection.execute(query).all())
