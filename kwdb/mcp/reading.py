"""The database as agents see it: one engine, short readings, and what refuses them politely."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from kwdb.db import open_reader, read_transaction, shown_url, time_limit
from kwdb.errors import SchemaVersionError, UserError
from kwdb.freshness import read_freshness
from kwdb.mcp.answers import Document, show
from kwdb.mcp.query import Queries
from kwdb.sqlite import SCHEMA_REVISION


class Reader:
    """Answers questions to one database, each in a transaction of its own and in `seconds`.

    Raises:
        SchemaVersionError: there is no database of this program's revision.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._url, self._seconds = url, seconds
        self._engine = open_reader(url)
        self.queries = Queries(url, seconds)

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """Open one consistent view of the data, for `seconds` at most.

        Raises:
            UserError: the database cannot be read, was upgraded meanwhile, or took too long.
        """
        with read_transaction(self._engine) as connection, time_limit(connection, self._seconds):
            found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            if found != SCHEMA_REVISION:
                raise SchemaVersionError(str(found), SCHEMA_REVISION, shown_url(self._url))
            yield connection

    def ask(self, question: Callable[[sa.Connection], Document]) -> CallToolResult:
        """Return the answer with the freshness of the data.

        Raises:
            ToolError: the question cannot be answered; one plain message.
        """
        with refusing(), self.connection() as connection:
            answer = question(connection) | {"freshness": read_freshness(connection)}
        return show(answer)

    def close(self) -> None:
        """Close connections and processes that are kept for the next question."""
        self.queries.close()
        self._engine.dispose()

    def freshness(self) -> dict[str, Any]:
        """Return how fresh the data is."""
        with self.connection() as connection:
            return read_freshness(connection)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what a person would be told into what an agent is told."""
    try:
        yield
    except UserError as exc:
        raise ToolError(str(exc)) from exc
