"""Rows that belong to one owner, such as a corpus: what it no longer offers goes, keys stay."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from kwdb.store.rows import Row, insert_rows, next_key

Condition = sa.ColumnElement[bool]


def sync(
    connection: sa.Connection,
    table: sa.Table,
    key: Sequence[str],
    rows: Sequence[Row],
    owned: Condition,
) -> int:
    """Make `rows` the only rows of `table` where `owned` holds; returns rows written or deleted.

    Rows are matched by `key` and have the same columns; a surrogate key `id` is kept where the row
    stood already and given where it did not.
    """
    names = list(rows[0]) if rows else list(key)
    surrogate = ["id"] if "id" in table.c else []
    query = sa.select(*(table.c[name] for name in (*surrogate, *names))).where(owned)
    stored = {tuple(row[n] for n in key): row for row in connection.execute(query).mappings()}
    offered = {tuple(row[n] for n in key): row for row in rows}
    new = [row for place, row in offered.items() if place not in stored]
    changed = [
        dict(row) | {n: stored[place][n] for n in surrogate}
        for place, row in offered.items()
        if place in stored and any(stored[place][n] != row[n] for n in names)
    ]
    gone = [row for place, row in stored.items() if place not in offered]
    match = surrogate or list(key)
    this = sa.and_(owned, *(table.c[name] == sa.bindparam(f"old_{name}") for name in match))
    if gone:
        places = [_as_old(row, match) for row in gone]
        connection.execute(sa.delete(table).where(this), places)
    if changed:
        columns = [name for name in names if name not in match]
        new_values = {n: sa.bindparam(f"new_{n}", type_=table.c[n].type) for n in columns}
        values = [_as_old(row, match) | {f"new_{n}": row[n] for n in columns} for row in changed]
        connection.execute(sa.update(table).where(this).values(new_values), values)
    start = next_key(connection, table) if surrogate and new else 0
    full = [{**dict.fromkeys(surrogate, n), **row} for n, row in enumerate(new, start)]
    return len(changed) + len(gone) + insert_rows(connection, table, full)


def _as_old(row: Any, names: Sequence[str]) -> Row:
    return {f"old_{name}": row[name] for name in names}
