"""The canonical dump: equal knowledge gives equal bytes, on either engine.

One JSON object a line. Surrogate keys are replaced by natural ones; rows are sorted as bytes
within their table and tables by name. Left out: the bookkeeping of the harvest, the search index,
and the times at which we fetched, imported or decided something.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from kwdb.models import UTCTime, metadata

_LEFT_OUT_TABLES = frozenset({"harvest_cursors", "harvest_gaps", "harvest_runs"})
_LEFT_OUT_COLUMNS = frozenset({"fetched_at", "imported_at", "decided_at", "captured_at"}) | {
    "decided_on",
    "retired_at",
    "location",
}
# How a row of each table is named from outside: columns, where a key stands for the key's row.
_NATURAL_KEYS: Mapping[str, tuple[str, ...]] = {
    "actors": ("login",),
    "bench_cases": ("bench_run_id", "problem", "kernel", "shape", "input_recipe"),
    "bench_runs": ("run_key",),
    "bundles": ("corpus_id", "path"),
    "commits": ("repository_id", "sha"),
    "contest_problems": ("key",),
    "contest_submissions": ("key",),
    "contests": ("key",),
    "corpora": ("name",),
    "environments": ("fingerprint",),
    "gpus": ("name",),
    "kernel_artifacts": ("kernel", "arch", "source_sha256", "options"),
    "paths": ("path",),
    "performance_claims": ("claim_key",),
    "pull_requests": ("repository_id", "number"),
    "repositories": ("full_name",),
    "tags": ("facet", "name"),
}
_FETCHED_AT_ONCE = 5_000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
Names = dict[str, dict[int, str]]


def canonical_dump(connection: sa.Connection) -> Iterator[bytes]:
    """Yield the lines of the dump, each with its line feed."""
    names: Names = {}
    for table in sorted(metadata.tables.values(), key=lambda table: table.name):
        if table.name not in _LEFT_OUT_TABLES:
            yield from sorted(_lines(connection, table, names))


def _lines(connection: sa.Connection, table: sa.Table, names: Names) -> Iterator[bytes]:
    columns = sorted(_kept(table), key=lambda column: column.name)
    readers = [_reader(connection, column, names) for column in columns]
    head = [f'"{column.name}":' for column in columns]
    start = f'{{"table":"{table.name}",'
    plain = [reader is None for reader in readers]
    query = sa.select(*(_raw(connection, column) for column in columns))
    for row in connection.execute(query.execution_options(yield_per=_FETCHED_AT_ONCE)):
        values = [
            _encode(value) if plain[i] or value is None else _encode(readers[i](value))  # type: ignore[misc]
            for i, value in enumerate(row)
        ]
        members = ",".join([name + value for name, value in zip(head, values, strict=True)])
        yield f"{start}{members}}}\n".encode("utf-8", "backslashreplace")


def _kept(table: sa.Table) -> list[sa.Column[Any]]:
    surrogate = {"id", "pk"} if table.name != "pages" else {"pk"}
    return [
        column
        for column in table.columns
        if column.name not in _LEFT_OUT_COLUMNS
        and not (column.primary_key and column.name in surrogate and not column.foreign_keys)
    ]


def _raw(connection: sa.Connection, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Read times and JSON as they are stored: SQLite's text is the form of the dump already."""
    if isinstance(column.type, UTCTime) and connection.dialect.name == "sqlite":
        return sa.type_coerce(column, sa.Text)
    return column


def _reader(
    connection: sa.Connection, column: sa.Column[Any], names: Names
) -> Callable[[Any], Any] | None:
    """Return what turns a stored value into its form in the dump; None where nothing does."""
    target = _surrogate_target(column)
    if target is not None:
        return _names_of(connection, target, names).__getitem__
    if isinstance(column.type, UTCTime):
        return str if connection.dialect.name == "sqlite" else _time
    by_type: tuple[tuple[type, Callable[[Any], Any]], ...] = (
        (sa.LargeBinary, bytes.hex),
        (sa.Date, date.isoformat),
        (sa.Float, _number),
        (sa.JSON, _sorted_json),
    )
    return next((read for kind, read in by_type if isinstance(column.type, kind)), None)


def _surrogate_target(column: sa.Column[Any]) -> sa.Table | None:
    for key in column.foreign_keys:
        if key.column.name == "id" and isinstance(key.column.type, sa.Integer):
            return key.column.table
    return None


def _names_of(connection: sa.Connection, table: sa.Table, names: Names) -> dict[int, str]:
    """Return surrogate key -> natural name of all rows of a table, read once."""
    if table.name not in names:
        columns = [table.c[name] for name in _NATURAL_KEYS[table.name]]
        targets = [_surrogate_target(column) for column in columns]
        maps = [_names_of(connection, t, names) if t is not None else None for t in targets]
        found: dict[int, str] = {}
        for key, *values in connection.execute(sa.select(table.c.id, *columns)):
            parts = [m[v] if m else str(v) for m, v in zip(maps, values, strict=True)]
            found[key] = " ".join(parts)
        names[table.name] = found
    return names[table.name]


def _time(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(value: float) -> float:
    """SQLite loses the sign of zero, so the dump has none."""
    return float(value) + 0.0


def _sorted_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_json(value[key]) for key in sorted(value)}
    return [_sorted_json(item) for item in value] if isinstance(value, list) else value
