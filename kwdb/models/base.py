"""What all tables share: one MetaData with naming rules, the column types, small constructors.

The tables are SQLAlchemy Core tables, not mapped classes: everything that reads or writes them
works on lists of rows, and a command starts in half the time. `doc` is the sentence that the
schema reference shows; units and the meaning of NULL belong there.
"""

from datetime import UTC, datetime
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Bytewise order on both engines, so that ORDER BY and range scans agree.
Text = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")

_STORED_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class UTCTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time of whole seconds: TEXT `2026-08-01T12:00:00Z` on SQLite, else timestamptz.

    A naive time is refused, because nobody could say later which zone it was in.
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """Choose the column type of the engine."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(sa.DateTime(timezone=True))
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        """Turn an aware time into what the engine stores."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive time {value.isoformat()}: give it a zone")
        value = value.astimezone(UTC).replace(microsecond=0)
        return value if dialect.name == "postgresql" else value.strftime(_STORED_FORMAT)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        """Turn what the engine stored into an aware UTC time."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return cast(datetime, value).astimezone(UTC)
        return datetime.fromisoformat(value)


def table(name: str, doc: str, *items: sa.schema.SchemaItem, **options: Any) -> sa.Table:
    """Define a table with the sentence that says what one row is."""
    return sa.Table(name, metadata, *items, info={"doc": doc}, **options)


def column(name: str, type_: Any, doc: str, *args: Any, required: bool = False) -> sa.Column[Any]:
    """Define a column; NULL is allowed, and means "not stated", unless `required`."""
    return sa.Column(name, type_, *args, doc=doc, nullable=not required)


def primary_key(doc: str = "surrogate key, given by the store") -> sa.Column[int]:
    """An integer key without a sequence: the store, the only writer, hands the numbers out."""
    return sa.Column("id", sa.Integer, primary_key=True, autoincrement=False, doc=doc)


def reference(
    name: str, target: str, doc: str, *, required: bool = False, ondelete: str = "RESTRICT"
) -> sa.Column[Any]:
    """A foreign key to `target` ("table.column"); its ON DELETE is always stated.

    Keys named `id` are integers, but for `pages.id`, the text id; all others are names.
    """
    type_ = sa.Integer if target.endswith(".id") and target != "pages.id" else Text
    key = sa.ForeignKey(target, ondelete=ondelete)
    return sa.Column(name, type_, key, doc=doc, nullable=not required)


def value_set(name: str, doc: str, *extra: sa.Column[Any]) -> sa.Table:
    """A closed set of names as a table, so that a new value is a row, not a table rebuild."""
    return table(
        name,
        doc,
        sa.Column("name", Text, primary_key=True, doc="the value as other tables hold it"),
        column("description", Text, "what the value means", required=True),
        *extra,
    )
