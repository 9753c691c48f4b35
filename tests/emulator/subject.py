"""A repository of the emulator and what a database holds of it, side by side."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from emulator.server import Emulator
from emulator.world import Repository, stamp
from ingest.github.client import GitHub
from ingest.github.governor import Governor, Patience
from ingest.harvest import harvest
from ingest.job import Job, Options
from ingest.pulls import read_pulls
from kwdb.config import Settings
from kwdb.db import read_transaction, write_transaction
from kwdb.models import actors, harvest_gaps, pull_request_labels, pull_requests, repositories
from kwdb.store.harvest import add_repository
from kwdb.store.verdicts import RepositoryRow

TOKEN = "ghp_" + "s3cr3t" * 6
_numbers = itertools.count(1)


class FakeClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = time.time(), list[float]()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def make_client(
    emulator: Emulator, token: str | None = None, clock: FakeClock | None = None, **patience: float
) -> GitHub:
    """Return a client that waits for limits in no time and retries at once."""
    clock = clock or FakeClock()
    emulator.clock = clock  # type: ignore[method-assign]
    quick = Patience(**{"first_wait_s": 0.0001} | patience)  # type: ignore[arg-type]
    client = GitHub(emulator.url, token, Governor(quick, clock.sleep, clock))
    emulator.on_exit.append(client.close)
    return client


@dataclass
class Subject:
    """One repository: `expected` is what the emulator has, `stored` what the database has.

    Without `key` the repository is added to the database.
    """

    engine: sa.Engine
    emulator: Emulator
    repository: Repository
    cache: Path
    clone_base: str = "file:///nowhere"
    landing: str = "squash"
    key: int = 0
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.key:
            return
        name = self.repository.full_name
        with write_transaction(self.engine) as connection:
            slug = f"subject{next(_numbers)}"
            self.key = add_repository(connection, slug, name, self.landing)

    def job(self, client: GitHub | None, **options: Any) -> Job:
        r = repositories.c
        query = sa.select(r.id, r.slug, r.full_name, r.landing, r.default_branch)
        with read_transaction(self.engine) as connection:
            row = RepositoryRow(*connection.execute(query.where(r.id == self.key)).one())
        settings = Settings("", self.clone_base, self.emulator.url, self.cache)
        names = frozenset({row.full_name.lower(), self.repository.full_name.lower()})
        chosen = Options(**{"git": False} | options)
        return Job(
            self.engine, settings, row, names, chosen, lambda *_: None, self.said.append, client
        )

    def read(self, client: GitHub, **options: Any) -> dict[str, Any]:
        """Run the stage pulls alone."""
        return read_pulls(self.job(client, **options), client)

    def harvest(self, client: GitHub | None, **options: Any) -> dict[str, Any]:
        return harvest(self.job(client, **options))

    def expected(self) -> dict[int, dict[str, Any]]:
        return {number: self._expected(number) for number in sorted(self.repository.pulls)}

    def _expected(self, number: int) -> dict[str, Any]:
        pull = self.repository.pulls[number]
        times = ("created", "updated", "closed", "merged")
        return {
            "title": pull.title,
            "body": pull.body,
            "author": pull.author and pull.author.login,
            "api_state": pull.state,
            "is_draft": pull.is_draft,
            "base_ref": pull.base,
            "head_sha": pull.head_sha,
            "api_merge_sha": pull.merge_sha,
            "labels": sorted(pull.labels),
            **{f"{name}_at": stamp(getattr(pull, name)) for name in times},
        }

    def stored(self) -> dict[int, dict[str, Any]]:
        p = pull_requests.c
        names = "title body api_state is_draft base_ref head_sha api_merge_sha".split()
        times = "created_at updated_at closed_at merged_at".split()
        columns = [p.id, p.number, actors.c.login.label("author"), *(p[n] for n in names + times)]
        query = sa.select(*columns).outerjoin(actors, actors.c.id == p.author_id)
        with read_transaction(self.engine) as connection:
            rows = connection.execute(
                query.where(p.repository_id == self.key).order_by(p.number)
            ).mappings()
            return {row["number"]: self._stored(connection, dict(row), times) for row in rows}

    def _stored(
        self, connection: sa.Connection, row: dict[str, Any], times: list[str]
    ) -> dict[str, Any]:
        label = pull_request_labels.c
        query = sa.select(label.label).where(label.pull_request_id == row.pop("id"))
        row["labels"] = sorted(connection.execute(query).scalars())
        row |= {n: row[n] and row[n].strftime("%Y-%m-%dT%H:%M:%SZ") for n in times}
        del row["number"]
        return row

    def gaps(self) -> dict[str, str]:
        g = harvest_gaps.c
        query = sa.select(g.key, g.reason).where(g.repository_id == self.key)
        with read_transaction(self.engine) as connection:
            return dict(map(tuple, connection.execute(query)))


def until_quiet(run: Callable[[], dict[str, Any]], most: int = 6) -> int:
    """Run until nothing is written and nothing is missing; return how often that took."""
    for count in range(1, most + 1):
        counts = run()
        if counts["rows_written"] == counts["gaps"] == 0:
            return count
    raise AssertionError(f"not quiet after {most} runs: {counts}")
