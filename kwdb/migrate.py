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
_LOGIN = sa.text(
    "SELECT rolsuper AS is_superuser, rolsuper OR rolcreaterole AS may_make,"
    " EXISTS (SELECT 1 FROM pg_roles WHERE rolname = :role) AS is_made"
    " FROM pg_roles WHERE rolname = current_user"
)
_IS_ADMITTED = sa.text(
    "SELECT has_table_privilege(r.oid, 'page_index', 'SELECT') AND NOT (u.rolsuper AND"
    " has_function_privilege(r.oid, 'pg_catalog.set_config(text,text,boolean)', 'EXECUTE'))"
    " FROM pg_roles u, pg_roles r WHERE u.rolname = current_user AND r.rolname = :role"
)
# set_config('role', …) would take the reader role off within a query. The owner of the database
# keeps the function, since pg_dump calls it.
_KEEPS_ROLE = (
    "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) TO pg_database_owner",
)


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
            if connection.dialect.name == "postgresql" and not _reader_is_admitted(connection):
                _admit_reader(connection)
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


def _reader_is_admitted(connection: sa.Connection) -> bool:
    return bool(connection.execute(_IS_ADMITTED, {"role": READER_ROLE}).scalar())


def _admit_reader(connection: sa.Connection) -> None:
    """Give the read-only door its role, as far as this login may."""
    login = connection.execute(_LOGIN, {"role": READER_ROLE}).one()
    if not login.may_make and not login.is_made:
        return
    if not login.is_made:
        connection.exec_driver_sql(f"CREATE ROLE {READER_ROLE} NOLOGIN")
    if not login.is_made and not login.is_superuser:
        connection.exec_driver_sql(f"GRANT {READER_ROLE} TO CURRENT_USER")
    for grant in (*_reads(connection), *(_KEEPS_ROLE if login.is_superuser else ())):
        connection.exec_driver_sql(grant)


def _reads(connection: sa.Connection) -> tuple[str, ...]:
    schema = connection.exec_driver_sql("SELECT quote_ident(current_schema())").scalar()
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {READER_ROLE}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER_ROLE}",
    )
