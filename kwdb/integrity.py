"""Whether a database is whole: the engine's own checks, and the index against the pages."""

import sqlalchemy as sa

from kwdb.models import pages


def find_damage(connection: sa.Connection) -> list[str]:
    """Return one sentence for each damage found; empty for a whole database."""
    damage = _sqlite_damage(connection) if connection.dialect.name == "sqlite" else []
    served = sa.select(sa.func.count()).select_from(pages).where(~pages.c.is_retired)
    expected = connection.execute(served).scalar_one()
    indexed = connection.execute(sa.text("SELECT count(*) FROM page_index")).scalar_one()
    if expected != indexed:
        damage.append(f"the search index holds {indexed} of {expected} pages")
    return damage


def _sqlite_damage(connection: sa.Connection) -> list[str]:
    said = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check(20)")]
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20)
    return [f"file: {line}" for line in said if line != "ok"] + [
        f"row {row[1]} of {row[0]} points at a row of {row[2]} that does not exist"
        for row in broken
    ]
