"""What could not be read, kept until it can; and the ETags that save reading it again."""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from kwdb.models import harvest_cursors, harvest_gaps
from kwdb.store.harvest import now
from kwdb.store.rows import chunks, upsert

WALK = "list"
"""Key of the gap that a list leaves which could not be read to its end."""


def open_gaps(connection: sa.Connection, repository_id: int, stage: str | None = None) -> list[str]:
    """Return the keys of what a stage, or any, still misses."""
    query = sa.select(harvest_gaps.c.key).where(harvest_gaps.c.repository_id == repository_id)
    if stage is not None:
        query = query.where(harvest_gaps.c.stage == stage)
    return sorted(connection.execute(query).scalars())


def gap_reasons(connection: sa.Connection, repository_id: int) -> list[str]:
    """Return what is missing of a repository and why, unread lists before single numbers."""
    g = harvest_gaps.c
    query = sa.select(g.stage, g.key, g.reason).where(g.repository_id == repository_id)
    found = connection.execute(query.order_by(g.key.desc(), g.stage))
    return [f"{stage} {key}: {reason}" for stage, key, reason in found]


def note_gaps(
    connection: sa.Connection, repository_id: int, stage: str, reasons: Mapping[str, str]
) -> None:
    """Note what a stage could not read (key -> reason), counting the tries."""
    for key, reason in reasons.items():
        tries = harvest_gaps.c.tries + 1
        of_it = _of(repository_id, stage, [key])
        known = sa.update(harvest_gaps).where(of_it).values(reason=reason, tries=tries)
        if connection.execute(known).rowcount == 0:
            row = {"repository_id": repository_id, "stage": stage, "key": key, "reason": reason}
            connection.execute(
                sa.insert(harvest_gaps), [row | {"tries": 1, "first_seen_at": now()}]
            )


def close_gaps(
    connection: sa.Connection, repository_id: int, stage: str, keys: Iterable[str]
) -> None:
    """Forget what a stage could read at last."""
    for part in chunks(list(keys)):
        connection.execute(sa.delete(harvest_gaps).where(_of(repository_id, stage, part)))


def _of(repository_id: int, stage: str, keys: list[str]) -> sa.ColumnElement[bool]:
    g = harvest_gaps.c
    return sa.and_(g.repository_id == repository_id, g.stage == stage, g.key.in_(keys))


def get_etag(
    connection: sa.Connection, repository_id: int, stage: str, token_id: str
) -> str | None:
    """Return the ETag of a stage's first page for one token; None where it has none."""
    c = harvest_cursors.c
    query = sa.select(c.etag).where(
        c.repository_id == repository_id, c.stage == stage, c.token_id == token_id
    )
    return connection.execute(query).scalar()


def set_etag(
    connection: sa.Connection, repository_id: int, stage: str, token_id: str, etag: str | None
) -> None:
    """Keep the ETag of a stage's first page, once all that it stands for is stored."""
    row = {"repository_id": repository_id, "stage": stage, "token_id": token_id, "etag": etag}
    upsert(connection, harvest_cursors, [row], ("repository_id", "stage", "token_id"))
