"""Whatever changes and breaks while it is read: in the end the database holds what GitHub has.

The examples of `make test` are few; KWDB_TEST_EXAMPLES=2000 runs them long (`make test-long`).
"""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from emulator import Emulator, Fault, Repository, World
from emulator.faults import REST_FAULTS
from emulator.subject import Subject, make_client, until_quiet
from emulator.world import BOT, JANE
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from ingest.github.client import GitHub
from kwdb.errors import IngestError

EXAMPLES = int(os.environ.get("KWDB_TEST_EXAMPLES", "25"))
PAGE = 3
FEW = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

Act = Callable[[Repository, int], object]
ACTS: dict[str, Act] = {
    "open": lambda r, _: r.open("Another"),
    "title": lambda r, n: r.edit(n, title=f"Title {r.version}"),
    "body": lambda r, n: r.edit(n, body=f"Body\r\n{r.version}"),
    "label": lambda r, n: r.label(n, [f"L{r.version % 3}", "perf"]),
    "unlabel": lambda r, n: r.label(n, []),
    "push": lambda r, n: r.push(n),
    "close": lambda r, n: r.close(n),
    "reopen": lambda r, n: r.reopen(n),
    "merge": lambda r, n: r.merge(n),
    "ghost": lambda r, n: r.edit(n, author=None),
    "author": lambda r, n: r.edit(n, author=BOT if r.version % 2 else JANE),
}


@dataclass(frozen=True)
class Round:
    """One harvest: acts by the number of requests after which they happen, and faults."""

    acts: tuple[tuple[int, str, int], ...] = ()
    faults: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Script:
    count: int
    pace: int
    rounds: tuple[Round, ...] = field(default_factory=tuple)


requests = st.integers(0, 7)
rounds = st.builds(
    Round,
    st.lists(st.tuples(requests, st.sampled_from(sorted(ACTS)), st.integers(1, 20)), max_size=8)
    .map(tuple),
    st.lists(st.tuples(st.sampled_from(REST_FAULTS), requests, st.integers(1, 6)), max_size=3)
    .map(tuple),
)  # fmt: skip
scripts = st.builds(
    Script,
    st.integers(0, 13),
    st.sampled_from([1, 50, 400]),
    st.lists(rounds, min_size=1, max_size=4).map(tuple),
)


def play(
    script: Script, emulator: Emulator, repository: Repository, run: Callable[[], Any]
) -> None:
    """Run once for each round, with what happens in it."""
    for part in script.rounds:
        start = len(emulator.requests)
        left = list(part.acts)

        def act(count: int, left: list[Any] = left, start: int = start) -> None:
            for item in [item for item in left if item[0] <= count - start]:
                left.remove(item)
                number = 1 + item[2] % max(len(repository.pulls), 1)
                if repository.pulls or item[1] == "open":
                    ACTS[item[1]](repository, number)

        emulator.between = act
        emulator.faults = [Fault(kind, times, skip) for kind, skip, times in part.faults]
        run()
        act(10**6)
    emulator.between, emulator.faults = (lambda _count: None), []


names = itertools.count()


def begin(script: Script, emulator: Emulator) -> Repository:
    emulator.world = World(script.pace)
    emulator.per_page_limit = PAGE
    emulator.requests.clear()
    repository = emulator.world.add(f"acme/kernels{next(names)}")
    for _ in range(script.count):
        repository.open()
    return repository


@FEW
@given(script=scripts)
def test_in_the_end_the_database_holds_what_github_has(
    github: Emulator, engine: sa.Engine, tmp_path: Path, script: Script
) -> None:
    repository = begin(script, github)
    subject = Subject(engine, github, repository, tmp_path)
    play(script, github, repository, partial(read, subject))
    until_quiet(partial(read, subject))
    assert subject.stored() == subject.expected()
    before = len(github.requests)
    assert read(subject)["rows_written"] == 0
    assert len(github.requests) - before == 1


def read(subject: Subject, **patience: float) -> dict[str, Any]:
    """Run once, with connections of its own: thousands of examples leave none open."""
    with closing(make_client(subject.emulator, **patience)) as client:
        return subject.read(client)


class Naive:
    """What many harvesters do: oldest change first, page by page, on from the newest seen."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.since = "2000-01-01T00:00:00Z"
        self.rows: dict[int, tuple[str, str]] = {}

    def read(self, client: GitHub) -> None:
        query = f"state=all&sort=updated&direction=asc&per_page=100&since={self.since}"
        path: str | None = f"/repos/{self.repository.full_name}/issues?{query}"
        while path:
            answer = client.get_list(path)
            for item in answer.data:
                self.rows[item["number"]] = (item["title"], item["updated_at"])
                self.since = max(self.since, item["updated_at"])
            path = answer.next


def loses_rows(script: Script, emulator: Emulator) -> bool:
    """Whether the naive walk has other rows than GitHub when all is quiet."""
    repository = begin(script, emulator)
    naive = Naive(repository)
    with closing(make_client(emulator)) as client:
        play(script, emulator, repository, partial(naive.read, client))
        naive.read(client), naive.read(client)
    shown = {number: pull.title for number, pull in repository.pulls.items()}
    return {number: title for number, (title, _) in naive.rows.items()} != shown


without_faults = scripts.map(
    lambda s: Script(s.count, s.pace, tuple(Round(part.acts) for part in s.rounds))
)


@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_the_walk_that_others_do_loses_rows(
    github: Emulator, engine: sa.Engine, tmp_path: Path
) -> None:
    """The test of the test: it finds a script, and with that very script ours loses nothing."""
    search = settings(max_examples=2_000, deadline=None, derandomize=True, phases=[Phase.generate])
    script = find(without_faults, lambda s: loses_rows(s, github), settings=search)
    repository = begin(script, github)
    subject = Subject(engine, github, repository, tmp_path)
    play(script, github, repository, partial(read, subject))
    until_quiet(partial(read, subject))
    assert subject.stored() == subject.expected()


class Killed(BaseException):
    """Stands for kill -9: nothing catches it."""


@contextmanager
def killed_at(engine: sa.Engine, statement: int) -> Iterator[None]:
    """Let the process die before the given statement."""
    seen = [0]

    def count(*_: object) -> None:
        seen[0] += 1
        if seen[0] == statement:
            raise Killed

    sa.event.listen(engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        sa.event.remove(engine, "before_cursor_execute", count)


STORY = Script(7, 400, (Round(((0, "merge", 2), (1, "title", 4), (2, "label", 1))),))


def test_killed_at_any_statement_and_run_again(
    github: Emulator, engine: sa.Engine, tmp_path: Path, engine_name: str
) -> None:
    """Nothing is half stored, and the next run goes on; tried at statements all over a run."""
    step = 1 if EXAMPLES > 100 else {"sqlite": 3, "postgres": 17}[engine_name]
    for statement in itertools.count(1, step):
        subject = Subject(engine, github, begin(STORY, github), tmp_path)
        was_killed = run_until_killed(subject, statement)
        until_quiet(partial(read, subject))
        assert subject.stored() == subject.expected(), f"killed at statement {statement}"
        if not was_killed:
            break
    assert statement > 50


def run_until_killed(subject: Subject, statement: int) -> bool:
    """Play the story; return whether it had so many statements."""
    with killed_at(subject.engine, statement):
        try:
            play(STORY, subject.emulator, subject.repository, partial(read, subject))
        except Killed:
            subject.repository.edit(3, title="Changed while nobody looked")
            subject.emulator.between = lambda _count: None
            return True
    return False


@FEW
@given(script=scripts)
def test_a_run_raises_nothing_for_what_github_does(
    github: Emulator, engine: sa.Engine, tmp_path: Path, script: Script
) -> None:
    """Faults become gaps with a reason; a gap is never without one, and status shows it."""
    repository = begin(script, github)
    subject = Subject(engine, github, repository, tmp_path)

    def run() -> None:
        try:
            counts = read(subject, attempts=2)
        except IngestError as exc:
            raise AssertionError("raised") from exc
        gaps = subject.gaps()
        assert counts["gaps"] == len(gaps)
        assert all(gaps.values())

    play(script, github, repository, run)
