"""Open a SQLite file for reading with the standard library alone, for commands that must be quick.

Everything here also answers to `kwdb.db`; it stands apart so that `kwdb sql` need not load
SQLAlchemy.
"""

import os
import sqlite3
from pathlib import Path
from urllib.parse import unquote

from kwdb.errors import DatabaseError, SchemaVersionError

SCHEMA_REVISION = "0009"  # the head of migrations/, held to it by a test

COMPLAINTS = {
    "file is not a database": "the file is damaged or no SQLite database: move it away",
    "malformed": 'the file is damaged: restore a copy or move it away and run "kwdb init"',
    "disk is full": "the disk is full: make room and run the command again",
    "disk I/O error": "the disk cannot be read or written: check it, then run the command again",
    "readonly database": "it may not be written: check the permissions of file and directory",
    "unable to open database file": "it cannot be opened: check that the directory exists and"
    " may be written",
    "database is locked": "another program has been writing to it for 30 s: try again later",
    "no such table": 'it is no kwdb database: run "kwdb init"',
    "connection failed": "the server cannot be reached: check KWDB_DATABASE_URL",
}


def url_path(url: str) -> Path | None:
    """Return the file of a `sqlite:///FILE` URL; None for a database in memory."""
    name = unquote(url.partition(":///")[2].partition("?")[0])
    return Path(name) if name and name != ":memory:" else None


def read_only_uri(path: Path) -> str:
    """Return SQLite's URI for reading `path` without ever creating or changing it.

    A database in a directory that may not be written has no log to consult: it is `immutable`.
    """
    uri = path.absolute().as_uri() + "?mode=ro"
    frozen = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
    return uri + "&immutable=1" if frozen else uri


def open_read_only(url: str) -> sqlite3.Connection:
    """Open an existing database of this program's revision.

    Raises:
        SchemaVersionError: there is none, or another version of kwdb made it.
        DatabaseError: the file cannot be read.
    """
    path = url_path(url)
    if path is None or not path.exists():
        raise SchemaVersionError(None, SCHEMA_REVISION, url)
    try:
        connection = sqlite3.connect(read_only_uri(path), uri=True, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        found = _revision(connection)
    except sqlite3.Error as exc:
        meaning = complaint(str(exc)) or str(exc)
        raise DatabaseError(f"cannot use the database {url}: {meaning}") from exc
    if found != SCHEMA_REVISION:
        connection.close()
        raise SchemaVersionError(found, SCHEMA_REVISION, url)
    return connection


def complaint(said: str) -> str | None:
    """Say what an engine's error text means to a person; None when it is not among the known."""
    return next((meaning for part, meaning in COMPLAINTS.items() if part in said), None)


def _revision(connection: sqlite3.Connection) -> str | None:
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
    if known.fetchone() is None:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])
