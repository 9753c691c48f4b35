"""Lists of dictionaries into tables, on either engine; nothing is written that already stands.

Keys are handed out as `max + 1`: every caller holds the write lock of its transaction.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

Row = dict[str, Any]
T = TypeVar("T")

# SQLite's default limit of bound values is 32,766; PostgreSQL's is 65,535.
_IN_LIST = 10_000


def chunks(items: Collection[T], size: int = _IN_LIST) -> Iterator[list[T]]:
    """Cut `items` into lists of at most `size`."""
    ordered = list(items)
    return (ordered[start : start + size] for start in range(0, len(ordered), size))


def upsert(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[Row],
    key: Sequence[str],
    keep: Collection[str] = (),
) -> int:
    """Insert `rows`, or update the row with the same `key` where a value differs.

    All rows have the same columns; primary keys and the columns of `keep` are set on insert only.
    Returns how many rows were written; 0 means that all stood there already.
    """
    if not rows:
        return 0
    statement = _upsert_statement(
        connection.dialect.name, table, tuple(rows[0]), tuple(key), frozenset(keep)
    )
    result = connection.execute(statement, rows, execution_options={"preserve_rowcount": True})
    return int(result.rowcount)


@lru_cache(maxsize=256)
def _upsert_statement(
    engine: str,
    table: sa.Table,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    keep: frozenset[str],
) -> sa.Executable:
    insert = postgresql.insert if engine == "postgresql" else sqlite.insert
    # Named values keep the statement the same for every batch, whatever the first row holds.
    statement = insert(table).values({name: sa.bindparam(name) for name in columns})
    fixed = {*key, *keep, *(column.name for column in table.primary_key)}
    changing = [name for name in columns if name not in fixed]
    if not changing:
        return statement.on_conflict_do_nothing(index_elements=list(key))
    return statement.on_conflict_do_update(
        index_elements=list(key),
        set_={name: statement.excluded[name] for name in changing},
        where=sa.or_(*(_differs(table.c[n], statement.excluded[n]) for n in changing)),
    )


def _differs(
    stored: sa.ColumnElement[Any], offered: sa.ColumnElement[Any]
) -> sa.ColumnElement[Any]:
    if isinstance(stored.type, sa.JSON):  # PostgreSQL's json has no equality of its own
        return sa.cast(stored, sa.Text).is_distinct_from(sa.cast(offered, sa.Text))
    return stored.is_distinct_from(offered)


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> int:
    """Insert rows that are known to be new; returns their number."""
    if rows and connection.dialect.name == "sqlite":
        _insert_plainly(connection, table, rows)
    elif rows:
        connection.execute(sa.insert(table), rows)
    return len(rows)


def _insert_plainly(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert with parameters of our own making, which SQLAlchemy's take as long as SQLite for."""
    names = list(rows[0])
    places = ", ".join("?" * len(names))
    quoted = ", ".join(f'"{name}"' for name in names)
    statement = f'INSERT INTO "{table.name}" ({quoted}) VALUES ({places})'  # noqa: S608 - our names
    dialect = connection.dialect
    makers = [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
    made = [(name, maker) for name, maker in zip(names, makers, strict=True) if maker]
    if made:
        rows = [row | {name: maker(row[name]) for name, maker in made} for row in rows]
    values = map(itemgetter(*names), rows) if len(names) > 1 else ((r[names[0]],) for r in rows)
    connection.exec_driver_sql(statement, list(values))


def update_rows(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Row], key: str = "id"
) -> int:
    """Set the other columns of each row where its `key` matches; returns the number of rows."""
    if not rows:
        return 0
    values: dict[str, Any] = {n: sa.bindparam(f"new_{n}") for n in rows[0] if n != key}
    statement = sa.update(table).where(table.c[key] == sa.bindparam("wanted")).values(values)
    connection.execute(statement, [_as_parameters(row, key) for row in rows])
    return len(rows)


def _as_parameters(row: Row, key: str) -> Row:
    named = {f"new_{name}": value for name, value in row.items() if name != key}
    return named | {"wanted": row[key]}


def next_key(connection: sa.Connection, table: sa.Table) -> int:
    """Return the first free surrogate key; the caller holds the write lock."""
    (column,) = table.primary_key
    return (connection.execute(sa.select(sa.func.max(column))).scalar() or 0) + 1


def find_keys(
    connection: sa.Connection, table: sa.Table, column: str, values: Collection[T]
) -> dict[T, int]:
    """Return value -> surrogate key for those `values` of a unique `column` that exist."""
    (key,) = table.primary_key
    found: dict[T, int] = {}
    for part in chunks(values):
        query = sa.select(table.c[column], key).where(table.c[column].in_(part))
        found.update((value, number) for value, number in connection.execute(query))
    return found


def replace_owned(
    connection: sa.Connection,
    table: sa.Table,
    owner: str,
    owners: Collection[Any],
    rows: Iterable[Row],
    scope: Mapping[str, Any] | None = None,
) -> int:
    """Make `rows` the only rows of their `owners`; returns how many were written or deleted.

    Rows are compared by all their columns; `scope` narrows what is replaced to rows with these
    values, e.g. one corpus.
    """
    wanted = list(rows)
    names = [column.name for column in table.columns]
    limits = [table.c[name] == value for name, value in (scope or {}).items()]
    stored: dict[tuple[Any, ...], Row] = {}
    for part in chunks(owners):
        query = sa.select(table).where(table.c[owner].in_(part), *limits)
        for row in connection.execute(query).mappings():
            stored[tuple(row[name] for name in names)] = dict(row)
    offered = {tuple(row.get(name) for name in names): row for row in wanted}
    gone = [row for values, row in stored.items() if values not in offered]
    new = [row for values, row in offered.items() if values not in stored]
    _delete(connection, table, gone)
    return len(gone) + insert_rows(connection, table, new)


def _delete(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    if not rows:
        return
    key = [column.name for column in table.primary_key]
    matches = [table.c[name] == sa.bindparam(f"old_{name}") for name in key]
    connection.execute(
        sa.delete(table).where(*matches),
        [{f"old_{name}": row[name] for name in key} for row in rows],
    )
