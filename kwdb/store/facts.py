"""Rows of a table of facts that somebody keeps in files: added, changed, retired, revived."""

from collections.abc import Sequence

import sqlalchemy as sa

from kwdb.store.harvest import now
from kwdb.store.rows import Row, next_key, update_rows, upsert


def store_facts(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[Row],
    key: Sequence[str],
    owned: sa.ColumnElement[bool],
) -> int:
    """Make `rows` the current rows of a table among those `owned`; returns rows written.

    A row is known by the columns of `key`. One that is not offered any more gets `retired_at`;
    when it is offered again it keeps its id. Does not commit.
    """
    query = sa.select(table.c.id, table.c.retired_at, *(table.c[name] for name in key))
    stored = {tuple(row[2:]): row for row in connection.execute(query.where(owned))}
    offered = {tuple(row[name] for name in key): row for row in rows}
    fresh = iter(range(next_key(connection, table), 1 << 31))
    current = [
        {"id": stored[names].id if names in stored else next(fresh), **row, "retired_at": None}
        for names, row in offered.items()
    ]
    gone = [
        {"id": row.id, "retired_at": now()}
        for names, row in stored.items()
        if names not in offered and row.retired_at is None
    ]
    return upsert(connection, table, current, key) + update_rows(connection, table, gone)
