"""Whole databases to another place: into another engine, or into a backup file."""

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kwdb import migrate
from kwdb.db import open_engine, open_reader, read_transaction, write_transaction
from kwdb.errors import ConfigError, UserError
from kwdb.models import metadata, pages
from kwdb.sqlite import open_read_only, url_path
from kwdb.store.index import reindex

_ROWS = 5_000


def copy_database(source_url: str, target_url: str) -> int:
    """Copy all rows into an empty database, which is created where it is missing.

    One transaction: a copy that fails leaves nothing. Returns the number of rows.

    Raises:
        UserError: the target holds rows already.
        DatabaseError: either cannot be opened.
    """
    source = open_reader(source_url)
    migrate.upgrade(target_url)
    target = open_engine(target_url)
    try:
        with read_transaction(source) as reader, write_transaction(target) as writer:
            _refuse_filled(writer)
            copied = sum(_copy_table(reader, writer, table) for table in metadata.sorted_tables)
            reindex(writer)
    finally:
        source.dispose()
        target.dispose()
    return copied


def _refuse_filled(connection: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            raise UserError(f"the target holds rows in {table.name}: give an empty database")


def _copy_table(reader: sa.Connection, writer: sa.Connection, table: sa.Table) -> int:
    query = sa.select(table).execution_options(yield_per=_ROWS)
    if table is pages:
        query = query.order_by(pages.c.pk)
    copied = 0
    for part in reader.execute(query).mappings().partitions():
        rows: list[dict[str, Any]] = [dict(row) for row in part]
        writer.execute(sa.insert(table), rows)
        copied += len(rows)
    return copied


def backup_sqlite(url: str, file: Path) -> None:
    """Write a consistent copy of a SQLite database to `file`.

    Raises:
        ConfigError: the database is no SQLite file, or `file` cannot be written.
    """
    if not url.startswith("sqlite") or url_path(url) is None:
        raise ConfigError("only a SQLite file is backed up here: use pg_dump for PostgreSQL")
    source = open_read_only(url)
    try:
        with sqlite3.connect(file) as target:
            source.backup(target)
        target.close()
    except sqlite3.Error as exc:
        raise ConfigError(f"cannot write {file}: {exc}") from exc
    finally:
        source.close()
