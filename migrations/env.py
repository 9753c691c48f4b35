"""Alembic's environment, for `kwdb db upgrade` and for `alembic …` in a checkout.

The caller may hand over a connection in `config.attributes["connection"]`; otherwise the database
of the settings is used, through the same engine factory as everything else.
"""

from alembic import context
from sqlalchemy import Connection

from kwdb.config import load_settings
from kwdb.db import open_engine, write_transaction
from kwdb.models import UTCTime, metadata

# Derived per engine by a migration, unknown to the models: FTS5 makes shadow tables of its own.
_INDEX_TABLES = ("page_index", "alembic_version")


def _include_name(name: str | None, type_: str, _parents: object) -> bool:
    return not (type_ == "table" and (name or "").startswith(_INDEX_TABLES))


def _render_item(type_: str, item: object, _context: object) -> str | bool:
    return "utc_time" if type_ == "type" and isinstance(item, UTCTime) else False


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_name=_include_name,
        render_item=_render_item,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("kwdb migrates a database it can reach: run without --sql")
if (given := context.config.attributes.get("connection")) is not None:
    _run(given)
else:
    with write_transaction(open_engine(load_settings().database_url)) as own:
        _run(own)
