"""How old the knowledge is: when it was last harvested and imported, and what it last saw."""

from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import corpora, harvest_runs, pull_requests

_FINISHED: Final = ("done", "incomplete")


def read_freshness(connection: sa.Connection, today: datetime | None = None) -> dict[str, Any]:
    """Return when harvests and imports last ended, the newest change they saw, and the age in days.

    `oldest_harvest` is that of the repository that has waited longest among those ever harvested.
    All are None where nothing was harvested or imported: the seeds have no time of their own.
    """
    h = harvest_runs.c
    last = sa.func.max(h.finished_at).label("last")
    runs = sa.select(last).where(h.status.in_(_FINISHED)).group_by(h.repository_id).subquery()
    imported = sa.select(sa.func.max(corpora.c.imported_at))
    newest = sa.select(sa.func.max(pull_requests.c.landed_at))
    harvests = sa.select(sa.func.max(runs.c.last), sa.func.min(runs.c.last))
    latest, oldest = connection.execute(harvests).one()
    found = {
        "last_harvest": latest,
        "oldest_harvest": oldest,
        "last_import": connection.execute(imported).scalar(),
        "newest_change": connection.execute(newest).scalar(),
    }
    return found | {"age_days": _age(found, today or datetime.now(UTC))}


def _age(found: dict[str, datetime | None], today: datetime) -> int | None:
    times = [time for time in (found["last_harvest"], found["last_import"]) if time]
    return (today - max(times)).days if times else None
