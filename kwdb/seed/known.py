"""The names that rows of the seeds may refer to, as the database has them."""

from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import gpus, metadata, metrics, pages, tags

DIRECTIONS: Final = ("higher_better", "lower_better")


def value_set_names() -> set[str]:
    """The tables of kwdb.models.values: a name, what it means, and perhaps a rank."""
    columns = {table.name: {*table.c.keys()} for table in metadata.tables.values()}
    return {n for n, found in columns.items() if found - {"rank"} == {"name", "description"}}


def tag_keys(connection: sa.Connection) -> dict[str, int]:
    """Return facet:name -> surrogate key of every tag."""
    query = sa.select(tags.c.facet, tags.c.name, tags.c.id)
    return {f"{facet}:{name}": key for facet, name, key in connection.execute(query)}


def architectures(names: dict[str, int]) -> set[str]:
    """The architectures among names of tags."""
    return {name.partition(":")[2] for name in names if name.startswith("architecture:")}


def known_names(connection: sa.Connection) -> dict[str, Any]:
    """Return set -> its members once vocabulary and pages are stored; GPUs and tags with keys."""
    found: dict[str, Any] = {
        name: set(connection.execute(sa.select(metadata.tables[name].c.name)).scalars())
        for name in value_set_names()
    }
    served = sa.select(pages.c.id).where(~pages.c.is_retired)
    keys = tag_keys(connection)
    return found | {
        "directions": DIRECTIONS,
        "tags": keys,
        "architectures": architectures(keys),
        "metrics": set(connection.execute(sa.select(metrics.c.name)).scalars()),
        "gpus": {row.name: row.id for row in connection.execute(sa.select(gpus.c.name, gpus.c.id))},
        "pages": set(connection.execute(served).scalars()),
    }
