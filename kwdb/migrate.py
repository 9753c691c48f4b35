"""Drive alembic from code: the migrations travel with the package, no alembic.ini is needed."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from kwdb.db import (
    explained,
    found_revision,
    open_engine,
    shown_url,
    sqlite_path,
    write_transaction,
)
from kwdb.errors import ConfigError, SchemaVersionError
from kwdb.resources import data_dir
from kwdb.sqlite import SCHEMA_REVISION

if TYPE_CHECKING:
    from alembic.config import Config

READER_ROLE = "kwdb_reader"


def upgrade(url: str) -> str | None:
    """Bring the database to this program's revision, in one transaction; made where it is missing.

    Returns the revision found before, None for a new database. Doing it again changes nothing.

    Raises:
        SchemaVersionError: the database is newer than this program.
        ConfigError: the directory of a SQLite file cannot be made.
        DatabaseError: the database cannot be opened or written.
    """
    _make_directory(sqlite_path(url))
    engine = open_engine(url)
    try:
        with write_transaction(engine) as connection:
            found = found_revision(connection)
            _refuse_newer(found, url)
            if found != SCHEMA_REVISION:
                _run_alembic(connection)
    finally:
        engine.dispose()
    return found


def current(url: str) -> str | None:
    """Return the revision of the database, None where no migration ever ran."""
    path = sqlite_path(url)
    if path is not None and not path.exists():
        return None
    engine = open_engine(url, read_only=True)
    try:
        with explained(engine), engine.connect() as connection:
            return found_revision(connection)
    finally:
        engine.dispose()


def alembic_config(connection: sa.Connection | None = None) -> "Config":
    """Build alembic's configuration for this installation, bound to `connection` where given."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(data_dir("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _run_alembic(connection: sa.Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")
    if connection.dialect.name == "postgresql":
        _grant_reader(connection)


def _refuse_newer(found: str | None, url: str) -> None:
    if found is not None and found > SCHEMA_REVISION:
        raise SchemaVersionError(found, SCHEMA_REVISION, shown_url(url))


def _make_directory(path: Path | None) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(f"cannot make the directory of {path}: {exc.strerror}") from exc


def _grant_reader(connection: sa.Connection) -> None:
    """Give the read-only door its role, where this login may make roles."""
    may = connection.exec_driver_sql(
        "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    ).scalar()
    known = connection.exec_driver_sql(
        f"SELECT 1 FROM pg_roles WHERE rolname = '{READER_ROLE}'"  # noqa: S608 - a constant
    ).scalar()
    if not may and not known:
        return
    if not known:
        connection.exec_driver_sql(f"CREATE ROLE {READER_ROLE} NOLOGIN")
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar()
    for grant in (
        f"GRANT USAGE ON SCHEMA {schema} TO {READER_ROLE}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER_ROLE}",
    ):
        connection.exec_driver_sql(grant)
