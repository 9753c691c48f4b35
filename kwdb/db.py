"""Engines, transactions and what an engine's complaint means; SQLite and PostgreSQL alike.

Writers take the one write lock of the database at the start of their transaction (`BEGIN
IMMEDIATE`, or a transaction-level advisory lock), so that keys may be handed out by `max + 1`.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from kwdb.errors import (
    ConfigError,
    DatabaseError,
    QueryError,
    SchemaVersionError,
    UserError,
)
from kwdb.locks import exclusive
from kwdb.sqlite import SCHEMA_REVISION, read_only_uri, url_path
from kwdb.sqlite import complaint as known_complaint

_BUSY_TIMEOUT_MS = 30_000
_STEPS_BETWEEN_CHECKS = 10_000  # of SQLite's machine, about a millisecond
_WRITE_LOCK = 0x6B776462  # "kwdb"; any constant that no other program uses will do
_WRITER_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON")


def shown_url(url: str) -> str:
    """Return `url` without its password, for messages."""
    return sa.make_url(url).render_as_string(hide_password=True)


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite URL, or None for another engine or a database in memory."""
    return url_path(url) if _is_sqlite(url) else None


def open_engine(url: str, *, read_only: bool = False) -> sa.Engine:
    """Make an engine; a SQLite file is only created by a writer.

    Raises:
        ConfigError: the driver of the engine is not installed.
    """
    try:
        engine = _sqlite_engine(url, read_only) if _is_sqlite(url) else _other_engine(url)
    except ModuleNotFoundError as exc:
        raise ConfigError(f'{shown_url(url)} needs psycopg: pip install "kwdb[postgres]"') from exc
    event.listen(engine, "begin", _begin)
    return engine


def _other_engine(url: str) -> sa.Engine:
    return sa.create_engine(url, pool_pre_ping=True, execution_options={"kwdb_url": url})


def _is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def _sqlite_engine(url: str, read_only: bool) -> sa.Engine:
    path = sqlite_path(url)
    if path and read_only:
        # Opened anew each time: a server outlives the file, which a copy may replace.
        return sa.create_engine(
            "sqlite://",
            creator=lambda: _connect_sqlite(read_only_uri(path), read_only=True),
            poolclass=sa.NullPool,
            execution_options={"kwdb_url": url},
        )
    target = str(path) if path else ":memory:"
    pool = None if path else sa.StaticPool
    return sa.create_engine(
        "sqlite://",
        creator=lambda: _connect_sqlite(target, read_only=False),
        poolclass=pool,
        execution_options={"kwdb_url": url},
    )


def _connect_sqlite(target: str, *, read_only: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target,
        uri=target.startswith("file:"),
        timeout=_BUSY_TIMEOUT_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in ("query_only = ON",) if read_only else _WRITER_PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _begin(connection: sa.Connection) -> None:
    """Open the transaction by hand: sqlite3's own opening comes too late for a write lock."""
    is_writer = connection.get_execution_options().get("kwdb_writer", False)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")
    elif is_writer:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")
    else:
        # Several statements of a reader see one state, as they do on SQLite.
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


@contextmanager
def write_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Hold the write lock; commit at the end, roll back when anything is raised.

    Raises:
        DatabaseError: the engine could not open, lock or write the database.
    """
    with explained(engine), engine.connect() as plain:
        connection = plain.execution_options(kwdb_writer=True)
        with connection.begin():
            yield connection


@contextmanager
def sole_process(engine: sa.Engine, lock_file: Path, what: str) -> Iterator[None]:
    """Hold what only one process may do with a database at a time; `what` names it in messages.

    A file beside a SQLite database is locked, else `lock_file`, and on PostgreSQL the server's own
    lock as well, because others may come from other machines. A holder's death releases both.

    Raises:
        UserError: another process is at it; nothing is waited for.
    """
    path = sqlite_path(engine.get_execution_options()["kwdb_url"])
    beside = path.with_name(f"{path.name}.{what}.lock") if path else lock_file
    with exclusive(beside, what), explained(engine), engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            query = f"SELECT pg_try_advisory_lock({_WRITE_LOCK}, hashtext('{what}'))"
            if not connection.exec_driver_sql(query).scalar():
                raise UserError(f"another kwdb is at work on {what}: wait until it ends")
            connection.rollback()  # the lock belongs to the session, not to a transaction,
            connection.detach()  # which ends with it instead of going back to the pool
        yield


@contextmanager
def read_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One consistent view of the data, for reading.

    Raises:
        DatabaseError: the engine could not open or read the database.
    """
    with explained(engine), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def time_limit(connection: sa.Connection, seconds: float) -> Iterator[None]:
    """End the statements of a reading transaction after so many seconds.

    Raises:
        QueryError: the time was over.
    """
    if connection.dialect.name == "sqlite":
        raw: Any = connection.connection.driver_connection
        end = time.monotonic() + seconds
        raw.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_CHECKS)
    else:
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
    try:
        yield
    except sa.exc.DBAPIError as exc:
        if not any(said in str(exc.orig) for said in ("interrupted", "statement timeout")):
            raise
        raise QueryError(f"the answer took over {seconds:g} s: narrow the question") from exc


@contextmanager
def explained(engine: sa.Engine) -> Iterator[None]:
    """Turn what an engine says of its file, disk or server into a DatabaseError."""
    try:
        yield
    except sa.exc.DBAPIError as exc:
        if (meaning := complaint(exc.orig)) is None:
            raise
        place = shown_url(engine.get_execution_options()["kwdb_url"])
        raise DatabaseError(f"cannot use the database {place}: {meaning}") from exc


def complaint(error: BaseException | None) -> str | None:
    """Say what an engine's error means to a person, or None when it is no matter of theirs."""
    said = str(error)
    operational = said.splitlines()[0] if said and _is_operational(error) else None
    return known_complaint(said) or operational


def _is_operational(error: BaseException | None) -> bool:
    return type(error).__name__ in {"OperationalError", "DatabaseError", "AdminShutdown"}


def found_revision(connection: sa.Connection) -> str | None:
    """Return the revision of the database, or None when no migration ever ran."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if revision is None else str(revision)


def open_reader(url: str) -> sa.Engine:
    """Open an existing database of this program's revision for reading.

    Raises:
        SchemaVersionError: there is none, or another version of kwdb made it.
        DatabaseError: it cannot be read.
    """
    return _checked(url, read_only=True)


def open_writer(url: str) -> sa.Engine:
    """Open an existing database of this program's revision for writing; raises as open_reader."""
    return _checked(url, read_only=False)


def _checked(url: str, *, read_only: bool) -> sa.Engine:
    path = sqlite_path(url)
    if path is not None and not path.exists():
        raise SchemaVersionError(None, SCHEMA_REVISION, shown_url(url))
    engine = open_engine(url, read_only=read_only)
    with explained(engine), engine.connect() as connection:
        revision = found_revision(connection)
    if revision != SCHEMA_REVISION:
        engine.dispose()
        raise SchemaVersionError(revision, SCHEMA_REVISION, shown_url(url))
    return engine


def row_dicts(result: sa.CursorResult[Any]) -> list[dict[str, Any]]:
    """Return the rows of `result` as dictionaries, in order."""
    return [dict(row) for row in result.mappings()]


def driver_rows(result: sa.CursorResult[Any]) -> list[tuple[Any, ...]]:
    """Return all rows as the driver makes them, in half the time: numbers and text alone."""
    return [] if result.cursor is None else list(result.cursor.fetchall())
