"""One repository being harvested: what every stage is told, and how it takes rows in batches."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest.github.client import GitHub
from kwdb.config import Settings
from kwdb.db import read_transaction
from kwdb.store.verdicts import RepositoryRow

T = TypeVar("T")
Report = Callable[[str, int, int | None], None]
"""Called with a stage, what it has done and, where known, the total."""

BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Options:
    """What a person may ask of a harvest; `since` reads nothing before that day, this time.

    Without `git` neither remote nor mirror is touched: the API's half alone.
    """

    since: date | None = None
    full: bool = False
    command: str = "ingest"
    diffs: bool = False
    git: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """One repository being harvested."""

    engine: sa.Engine
    settings: Settings
    repository: RepositoryRow
    names: frozenset[str]
    options: Options
    report: Report
    say: Callable[[str], None] = lambda _message: None
    client: GitHub | None = None
    former_names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where the repository is cloned from."""
        return f"{self.settings.clone_base}/{self.repository.full_name}"

    @property
    def mirror(self) -> Path:
        """Where its mirror lies."""
        return self.settings.cache_dir / "mirrors" / f"{self.repository.full_name}.git"


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `items` in lists of `size`, the last one shorter; nothing for no items."""
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch


def paged(
    engine: sa.Engine, read: Callable[[sa.Connection, int], list[dict[str, Any]]]
) -> Iterator[list[dict[str, Any]]]:
    """Yield what `read` gives after the key 0, then after the last key it gave, until nothing.

    Each page is read in a transaction of its own, so that what it led to may be stored meanwhile.
    """
    after = 0
    while True:
        with read_transaction(engine) as connection:
            rows = read(connection, after)
        if not rows:
            return
        yield rows
        after = rows[-1]["id"]
