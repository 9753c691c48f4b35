"""The read-only door: somebody else's SQL runs here, and nothing but reading can happen.

What is allowed is decided by the engine, never by the text. On SQLite the file is opened
read-only and an authorizer permits four actions: SELECT, READ, RECURSIVE and a list of functions
(`mode=ro` alone would let ATTACH and VACUUM INTO write other files). On PostgreSQL the query is
the body of a cursor in a read-only transaction, in the extended protocol, which takes one
statement only, with the reader role where it exists. A superuser's query could take that role off
again with set_config and then read files of the server, so it is answered only where the reader
role may not call set_config; `kwdb db upgrade` sees to that.
"""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from kwdb.errors import QueryError

MAX_BYTES = 16 * 1024 * 1024

_STEPS_BETWEEN_CHECKS = 10_000
# fmt: off
_FUNCTIONS = frozenset((
    "abs", "avg", "bm25", "ceil", "ceiling", "changes", "char", "coalesce", "concat",
    "concat_ws", "count", "cume_dist", "date", "datetime", "dense_rank", "exp", "first_value",
    "floor", "format", "glob", "group_concat", "hex", "highlight", "ifnull", "iif", "instr",
    "json", "json_array", "json_array_length", "json_each", "json_extract",
    "json_group_array", "json_group_object", "json_object", "json_quote", "json_tree",
    "json_type", "json_valid", "julianday", "lag", "last_value", "lead", "length", "like",
    "likelihood", "likely", "ln", "log", "log10", "log2", "lower", "ltrim", "match", "max",
    "min", "mod", "nth_value", "ntile", "nullif", "octet_length", "percent_rank", "pi", "pow",
    "power", "printf", "quote", "rank", "replace", "round", "row_number", "rtrim", "sign",
    "snippet", "sqrt", "strftime", "string_agg", "substr", "substring", "sum", "time",
    "timediff", "total", "trim", "trunc", "typeof", "unicode", "unixepoch", "unlikely",
    "upper", "->", "->>",
))
# fmt: on
# FTS5 asks for the data version of its own tables while it reads them.
_PRAGMAS = frozenset({"data_version"})
# A virtual table declares its columns when it is first touched, which an authorizer would take
# for a change of the schema.
_VIRTUAL_TABLES = ("page_index", "json_each('[]')", "json_tree('[]')")

_ROLES = """
    SELECT u.rolsuper, r.oid IS NOT NULL AND pg_has_role(r.oid, 'MEMBER'),
           r.oid IS NULL
           OR has_function_privilege(r.oid, 'pg_catalog.set_config(text,text,boolean)', 'EXECUTE')
    FROM pg_roles u LEFT JOIN pg_roles r ON r.rolname = 'kwdb_reader'
    WHERE u.rolname = session_user"""


@dataclass(frozen=True, slots=True)
class Answer:
    """Column names and rows; `is_complete` is False where the row limit cut the answer."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_complete: bool

    def records(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Return distinct names of the columns, and each row as a dictionary."""
        names = _distinct(self.columns)
        return names, [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What ends an answer: so many rows, seconds, or bytes of text."""

    limit: int
    timeout_s: float
    max_bytes: int


def read_only_query(
    url: str,
    query: str,
    *,
    limit: int = 10_000,
    timeout_s: float = 30,
    max_bytes: int = MAX_BYTES,
) -> Answer:
    """Run one reading statement and return at most `limit` rows or `max_bytes` of text.

    Raises:
        QueryError: the statement writes, is wrong, holds several statements, or took too long.
        DatabaseError: the database cannot be opened.
    """
    run = _ask_sqlite if url.startswith("sqlite") else _ask_postgres
    return run(url, query, Bounds(limit, timeout_s, max_bytes))


def _ask_sqlite(url: str, query: str, bounds: Bounds) -> Answer:
    connection = _open_sqlite(url)
    try:
        deadline = time.monotonic() + bounds.timeout_s
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)
        connection.set_authorizer(_authorize)
        return _fetch(connection.execute(query), bounds)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as exc:
        raise QueryError(_meaning(exc, bounds.timeout_s)) from exc
    finally:
        connection.close()


def _open_sqlite(url: str) -> sqlite3.Connection:
    from kwdb.sqlite import open_read_only

    connection = open_read_only(url)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for table in _VIRTUAL_TABLES:
        connection.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - names of a constant
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _fetch(cursor: sqlite3.Cursor, bounds: Bounds) -> Answer:
    if cursor.description is None:
        raise QueryError("the statement returns no rows: only queries are answered here")
    return _take(cursor, _names(cursor), bounds)


def _take(found: Iterable[Sequence[Any]], names: tuple[str, ...], bounds: Bounds) -> Answer:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in found:
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(rows) == bounds.limit or size > bounds.max_bytes:
            return Answer(names, rows, False)
        rows.append(tuple(row))
    return Answer(names, rows, True)


def _distinct(names: Sequence[str]) -> list[str]:
    """Number the names that came before, `id` and `id_2`, so that a row loses none."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{place}" for place in count(2))
        found.append(next(one for one in chain([name], numbered) if one not in found))
    return found


def _names(cursor: Any) -> tuple[str, ...]:
    names: Iterable[Any] = (column[0] for column in cursor.description)
    return tuple(str(name) for name in names)


def _meaning(error: Exception, timeout_s: float) -> str:
    said = str(error)
    if "interrupted" in said or "statement timeout" in said:
        return f"the query took over {timeout_s:g} s: narrow it or allow more time"
    if "authoriz" in said or "prohibited" in said or "read-only" in said:
        return f"only reading is allowed here ({said})"
    if "one statement" in said or "multiple commands" in said:
        return "one statement at a time"
    return f"the query failed: {said.splitlines()[0] if said else type(error).__name__}"


def _ask_postgres(url: str, query: str, bounds: Bounds) -> Answer:
    import psycopg

    from kwdb.db import explained, open_engine

    engine = open_engine(url)
    with explained(engine), engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        try:
            _take_role(raw, bounds.timeout_s)
            return _ask_cursor(raw, query, bounds)
        except (psycopg.Error, ValueError) as exc:
            raise QueryError(_meaning(exc, bounds.timeout_s)) from exc
        finally:
            connection.invalidate()
            engine.dispose()


def _take_role(raw: Any, timeout_s: float) -> None:
    raw.execute("BEGIN READ ONLY")
    raw.execute(f"SET LOCAL statement_timeout = {int(timeout_s * 1000)}")
    is_superuser, may_take, can_leave = raw.execute(_ROLES).fetchone()
    if is_superuser and can_leave:
        raise QueryError(
            "this login is a superuser, whose queries could read files of the server: "
            'run "kwdb db upgrade", or log in as a plain user'
        )
    if may_take:
        raw.execute("SET LOCAL ROLE kwdb_reader")


def _ask_cursor(raw: Any, query: str, bounds: Bounds) -> Answer:
    # `prepare` makes psycopg use the extended protocol, which refuses a second statement.
    raw.execute(f"DECLARE answer CURSOR FOR {query}", prepare=True)
    names = _names(raw.execute("FETCH 0 FROM answer"))
    with raw.cursor() as cursor:
        return _take(cursor.stream(f"FETCH {bounds.limit + 1} FROM answer"), names, bounds)
