"""How fast, how small and how complete a backfill is, on a scratch database of either engine.

    PYTHONPATH=tests python tests/bench/harvest_scale.py URL [PULLS]

Serves PULLS pull requests from the GitHub emulator, reads them into the empty database at URL in a
process of its own, and prints, in the order in which they are seen:

    pulls     stage pulls alone: pull requests and table rows per second, requests per 1,000, and
              the largest resident memory of the process so far, which the whole of Python is in
    rest      every later stage of the harvest: seconds, and the memory so far
    again     the same harvest once more: requests and rows written
    compared  every pull request with what the emulator has: missing, doubled, different

Exits 1 where anything is missing, doubled or different.
"""

import multiprocessing
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa
from emulator import Emulator, Repository, World
from emulator.subject import Subject

from ingest.github.client import GitHub
from ingest.github.governor import Governor, Patience
from ingest.harvest import harvest
from ingest.pulls import read_pulls
from kwdb import migrate
from kwdb.db import open_writer, read_transaction
from kwdb.models import pull_requests
from kwdb.seed import load_seeds

NAME = "acme/kernels"


@dataclass(frozen=True)
class Task:
    """What the reading process is told."""

    url: str
    key: int
    api: str
    cache: Path


@dataclass(frozen=True)
class Stage:
    """What one step took; `rows` are rows of any table."""

    seconds: float
    requests: int
    rows: int
    memory_mb: float


def fill(repository: Repository, count: int) -> None:
    """Open `count` pull requests with texts of 200 to 1,500 characters; merge every second one."""
    dice = random.Random(4711)
    for number in range(1, count + 1):
        title = f"Add tcgen05 kernel {number}" if number % 3 else f"Fix docs {number}"
        text = f"{number} " + "Speeds up the GEMM on B200. " * dice.randrange(7, 54)
        labels = ["perf", f"L{number % 7}"] if number % 2 else []
        repository.open(title, body=text, labels=labels)
    for number in range(1, count + 1, 2):
        repository.merge(number)


def read(task: Task) -> list[Stage]:
    """Read everything: stage pulls, the other stages, and all of it again."""
    emulator = Emulator()
    emulator.url = task.api
    engine = open_writer(task.url)
    subject = Subject(engine, emulator, World().add(NAME), task.cache, key=task.key)
    client = GitHub(task.api, None, Governor(Patience()))
    job = subject.job(client)
    steps = (lambda: read_pulls(job, client), lambda: harvest(job), lambda: harvest(job))
    stages = []
    for step in steps:
        started, asked = time.perf_counter(), client.requests
        rows = step()["rows_written"]
        seconds, requests = time.perf_counter() - started, client.requests - asked
        stages.append(Stage(seconds, requests, rows, peak_memory_mb()))
    return stages


def peak_memory_mb() -> float:
    """Return what Linux noted as the peak; ru_maxrss begins with that of the parent process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def show(stages: list[Stage], count: int) -> None:
    """Print what the reading process measured."""
    pulls, rest, again = stages
    print(
        f"pulls     {count / pulls.seconds:,.0f} pull requests/s, {pulls.rows / pulls.seconds:,.0f} "
        f"rows/s, {1_000 * pulls.requests / count:.2f} requests per 1,000, {pulls.memory_mb:.0f} MB"
    )
    print(f"rest      {rest.seconds:.1f} s, {rest.rows} rows, {rest.memory_mb:.0f} MB")
    print(f"again     {again.seconds:.1f} s, {again.requests} requests, {again.rows} rows")


def compare(engine: sa.Engine, subject: Subject) -> bool:
    """Print how the database differs from the emulator; return whether it does not."""
    with read_transaction(engine) as connection:
        held = sa.select(sa.func.count()).select_from(pull_requests)
        rows = connection.execute(held).scalar_one()
    expected, stored = subject.expected(), subject.stored()
    missing = len(expected.keys() - stored.keys())
    different = sum(stored[number] != row for number, row in expected.items() if number in stored)
    doubled = rows - len(stored)
    print(f"compared  {missing} missing, {doubled} doubled, {different} different of {rows}")
    return not (missing or doubled or different)


def main(url: str, count: int = 100_000) -> int:
    """Serve, read, print, compare."""
    migrate.upgrade(url)
    world = World()
    repository = world.add(NAME)
    fill(repository, count)
    with TemporaryDirectory() as directory, Emulator(world).running() as emulator:
        cache, engine = Path(directory), open_writer(url)
        load_seeds(engine)
        subject = Subject(engine, emulator, repository, cache)
        task = Task(url, subject.key, emulator.url, cache)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
            stages = processes.submit(read, task).result()
        show(stages, count)
        return 0 if compare(engine, subject) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
