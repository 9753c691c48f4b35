import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from gitrepo import FIRST_SECOND, GitRepository, git

import ingest.decisions
import ingest.harvest
from ingest.harvest import harvest
from ingest.job import Job, Options
from kwdb.config import Settings
from kwdb.db import read_transaction, write_transaction
from kwdb.dump import canonical_dump
from kwdb.errors import IngestError, UserError
from kwdb.locks import exclusive
from kwdb.models import (
    actors,
    commit_paths,
    commits,
    harvest_cursors,
    harvest_runs,
    ledger_entries,
    pages,
    paths,
    pull_request_commits,
    pull_requests,
    repositories,
)
from kwdb.store import harvest as store
from kwdb.store.rows import update_rows
from kwdb.store.verdicts import RepositoryRow

HISTORIES = Path(__file__).parents[2].parent / "shared" / "data" / "histories"
HARVESTED = {
    *("actors", "commits", "commit_paths", "paths", "pull_requests", "pull_request_commits"),
    *("pull_request_tags", "ledger_entries", "pages", "page_tags"),
}
GEMM = "Add tcgen05 GEMM for sm100"


def time_of(number: int) -> datetime:
    """The time of a repository's commit, counted from 0."""
    return datetime.fromtimestamp(FIRST_SECOND, UTC) + timedelta(hours=number)


@dataclass(frozen=True, slots=True)
class Harvester:
    """Harvests acme/kernels, or another repository, from a directory of remotes."""

    remotes: Path
    cache: Path
    full_name: str = "acme/kernels"
    landing: str = "squash"

    @property
    def mirror(self) -> Path:
        return self.cache / "mirrors" / f"{self.full_name}.git"

    def __call__(
        self,
        engine: sa.Engine,
        report: Callable[[str, int, int | None], None] = lambda *_: None,
        **options: Any,
    ) -> dict[str, Any]:
        settings = Settings("", f"file://{self.remotes}", "", self.cache)
        names = frozenset({self.full_name.lower()})
        return harvest(Job(engine, settings, self.row(engine), names, Options(**options), report))

    def row(self, engine: sa.Engine) -> RepositoryRow:
        r = repositories.c
        query = sa.select(r.id, r.slug, r.full_name, r.landing, r.default_branch)
        query = query.where(r.full_name == self.full_name)
        with write_transaction(engine) as connection:
            if connection.execute(query).first() is None:
                store.add_repository(connection, "acme", self.full_name, self.landing)
            return RepositoryRow(*connection.execute(query).one())


@pytest.fixture
def run(tmp_path: Path) -> Harvester:
    return Harvester(tmp_path / "remotes", tmp_path / "cache")


@pytest.fixture
def story(git_repository: GitRepository) -> GitRepository:
    """A push, two squashes, a merge, a revert; pull request 9 is open."""
    repository = git_repository
    repository.commit("Start", {"README.md": "0"})
    repository.commit(f"{GEMM} (#1)\n\nIt uses UMMA.", {"csrc/gemm/umma_gemm.cu": "1"})
    repository.pull(1)
    repository.commit("Fix typo in the readme (#2)", {"README.md": "1"})
    repository.pull(2)
    repository.reset(repository.tip(), "refs/heads/side")
    side = repository.commit("wip", {"csrc/attention.cu": "1"}, ref="refs/heads/side")
    repository.pull(3, side)
    repository.commit(
        "Merge pull request #3 from jane/side\n\nAdd FlashAttention kernel for sm90\n\nFast.",
        {"csrc/attention.cu": "1"},
        merge=side,
    )
    repository.commit(f'Revert "{GEMM} (#1)" (#4)', {"csrc/gemm/umma_gemm.cu": "2"})
    repository.pull(4)
    repository.pull(9, side)
    return repository


def select(engine: sa.Engine, *columns: sa.ColumnElement[Any]) -> list[tuple[Any, ...]]:
    with read_transaction(engine) as connection:
        return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(*columns))]


def states(engine: sa.Engine) -> dict[int, str | None]:
    return dict(select(engine, pull_requests.c.number, pull_requests.c.landed_state))


def served(engine: sa.Engine) -> dict[str, bool]:
    """Return page id -> whether it can be found, for the pages of our pull requests."""
    found = select(engine, pages.c.id, pages.c.is_retired)
    return {id_: not gone for id_, gone in found if re.fullmatch(r"pr-acme-[0-9]+", id_)}


def _is_indexed(engine: sa.Engine) -> sa.ColumnElement[Any]:
    key = "rowid" if engine.dialect.name == "sqlite" else "pk"
    return sa.literal_column(f"(SELECT 1 FROM page_index i WHERE i.{key} = pages.pk)")


def index_of(engine: sa.Engine) -> set[str]:
    """Return the ids of our pages that the search index holds."""
    found = select(engine, pages.c.id, _is_indexed(engine).label("is_indexed"))
    return {id_ for id_, is_indexed in found if is_indexed and re.fullmatch(r"pr-acme-[0-9]+", id_)}


def dumped(engine: sa.Engine, *left_out: str) -> list[dict[str, Any]]:
    """Return the harvested rows with natural keys, in an order that depends on them alone."""
    with read_transaction(engine) as connection:
        rows = [json.loads(line) for line in canonical_dump(connection)]
    return [row for row in rows if row["table"] in HARVESTED - set(left_out)]


def counts(engine: sa.Engine) -> dict[str, int]:
    tables = (actors, commit_paths, commits, paths, pull_requests, pull_request_commits, pages)
    with read_transaction(engine) as connection:
        return {
            table.name: connection.execute(
                sa.select(sa.func.count()).select_from(table)
            ).scalar_one()
            for table in tables
        }


def test_the_pull_requests_of_a_history(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    p = pull_requests.c
    found = select(engine, p.number, p.title, p.body, p.landed_state, p.landed_at, p.decision)
    attention = "Add FlashAttention kernel for sm90"
    assert found == [
        (1, GEMM, "It uses UMMA.", "reverted", time_of(1), "include"),
        (2, "Fix typo in the readme", "", "landed", time_of(2), "exclude"),
        (3, attention, "Fast.", "landed", time_of(4), "include"),
        (4, f'Revert "{GEMM} (#1)"', "", "landed", time_of(5), found[3][-1]),
        (9, None, None, None, None, None),
    ]


def test_the_commits_and_links_of_a_history(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    c = commits.c
    assert [row[1:] for row in select(engine, c.id, c.subject, c.committed_at, c.is_reachable)] == [
        ("Start", time_of(0), True),
        (f"{GEMM} (#1)", time_of(1), True),
        ("Fix typo in the readme (#2)", time_of(2), True),
        ("Merge pull request #3 from jane/side", time_of(4), True),
        (f'Revert "{GEMM} (#1)" (#4)', time_of(5), True),
    ]
    links = [row for row in dumped(engine) if row["table"] == "pull_request_commits"]
    assert sorted((row["role"], row["rule"]) for row in links) == [
        ("landed", "merge"),
        ("landed", "suffix"),
        ("landed", "suffix"),
        ("landed", "suffix"),
        ("reverts", "reverts_quoted"),
    ]
    assert select(engine, actors.c.login, actors.c.github_id) == [("jane", 1234)]


def test_the_paths_and_heads_of_a_history(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    with read_transaction(engine) as connection:
        query = (
            sa.select(commits.c.subject, paths.c.path, commit_paths.c.status)
            .join_from(commit_paths, commits, commits.c.id == commit_paths.c.commit_id)
            .join(paths, paths.c.id == commit_paths.c.path_id)
            .order_by(commits.c.id)
        )
        found = [tuple(row)[1:] for row in connection.execute(query)]
    gemm = "csrc/gemm/umma_gemm.cu"
    assert found == [
        ("README.md", "A"),
        (gemm, "A"),
        ("README.md", "M"),
        ("csrc/attention.cu", "A"),
        (gemm, "M"),
    ]
    heads = dict(select(engine, pull_requests.c.number, pull_requests.c.head_sha))
    assert heads == {number: story.tip(f"refs/pull/{number}/head") for number in (1, 2, 3, 4, 9)}


def test_the_books_of_a_harvest(engine: sa.Engine, run: Harvester, story: GitRepository) -> None:
    summary = run(engine, command="ingest")
    h = harvest_runs.c
    with read_transaction(engine) as connection:
        found = connection.execute(sa.select(h.command, h.status, h.message, h.summary)).one()
    assert tuple(found) == ("ingest", "done", None, summary)
    cursors = dict(select(engine, harvest_cursors.c.stage, harvest_cursors.c.cursor))
    assert cursors == {
        "refs": "5",
        "commits": story.tip(),
        "link": story.tip(),
        "reconcile": "",
    }
    assert run.row(engine).default_branch == "main"


def test_pages_are_made_of_what_is_landed_and_included(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    assert served(engine) == {"pr-acme-3": True, "pr-acme-4": True}
    assert index_of(engine) == {"pr-acme-3", "pr-acme-4"}


def test_again_with_nothing_new_writes_nothing(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    assert run(engine)["rows_written"] > 0
    before = dumped(engine)
    again = run(engine)
    assert again["rows_written"] == 0
    assert again["stages"]["mirror"] == {"updated": False, "tip": story.tip()}
    assert dumped(engine) == before


def test_again_in_full_writes_nothing(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    before = dumped(engine)
    assert run(engine, full=True)["rows_written"] == 0
    assert dumped(engine) == before


def test_both_engines_hold_the_same(
    new_engine: Callable[[], sa.Engine], run: Harvester, story: GitRepository
) -> None:
    """A second database, harvested from the mirror of the first, differs in nothing."""
    one, two = new_engine(), new_engine()
    run(one)
    assert run(two)["rows_written"] > 0
    assert dumped(two) == dumped(one)


def test_new_commits_are_picked_up(engine: sa.Engine, run: Harvester, story: GitRepository) -> None:
    run(engine)
    story.commit(f'Revert "Revert "{GEMM} (#1)" (#4)" (#5)', {"csrc/gemm/umma_gemm.cu": "3"})
    story.pull(5)
    stages = run(engine)["stages"]
    assert (stages["commits"]["commits"], stages["link"]["commits"]) == (1, 1)
    assert states(engine) == {
        1: "landed",
        2: "landed",
        3: "landed",
        4: "reverted",
        5: "landed",
        9: None,
    }
    assert served(engine)["pr-acme-1"]


def test_a_moved_head_is_noted(engine: sa.Engine, run: Harvester, story: GitRepository) -> None:
    run(engine)
    story.pull(9, story.tip())
    assert run(engine)["stages"]["refs"] == {"pull_requests": 5, "rows_written": 1}
    heads = dict(select(engine, pull_requests.c.number, pull_requests.c.head_sha))
    assert heads[9] == story.tip()


def test_an_open_pull_request_lands_later(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    story.commit("Add grouped GEMM kernel for sm90 (#9)", {"csrc/grouped_gemm.cu": "1"})
    run(engine)
    assert states(engine)[9] == "landed"


def test_a_reverted_pull_request_loses_its_page(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    story.reset(git("rev-parse", "main~3", directory=story.directory))
    run(engine)
    assert (served(engine), index_of(engine)) == ({"pr-acme-1": True}, {"pr-acme-1"})
    story.commit(f'Revert "{GEMM} (#1)"', {"csrc/gemm/umma_gemm.cu": "2"})
    run(engine)
    assert (served(engine), index_of(engine)) == ({"pr-acme-1": False}, set())
    assert states(engine)[1] == "reverted"


def force_push(story: GitRepository) -> str:
    """Drop all but the first commit and push another; return the tip before."""
    tip = story.tip()
    story.reset(git("rev-parse", "main~4", directory=story.directory))
    story.commit("Another way (#4)")
    return tip


def test_a_force_push_marks_and_deletes_nothing(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    before = counts(engine)
    force_push(story)
    stages = run(engine)["stages"]
    assert (stages["commits"]["commits"], stages["commits"]["vanished"]) == (1, 4)
    assert states(engine) == {1: None, 2: None, 3: None, 4: "landed", 9: None}
    reachable = [row[1] for row in select(engine, commits.c.id, commits.c.is_reachable)]
    assert reachable == [True, False, False, False, False, True]
    after = counts(engine)
    assert {name: after[name] - before[name] for name in before if after[name] < before[name]} == {}


def test_a_force_push_retires_the_pages_of_what_it_dropped(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    force_push(story)
    run(engine)
    assert {id_ for id_, is_served in served(engine).items() if is_served} <= {"pr-acme-4"}
    assert index_of(engine) <= {"pr-acme-4"}


def test_the_way_back_of_a_force_push(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    state, pages_before = states(engine), served(engine)
    tip = force_push(story)
    run(engine)
    story.reset(tip)
    stages = run(engine)["stages"]
    assert (stages["commits"]["commits"], stages["commits"]["vanished"]) == (0, 1)
    assert states(engine) == state
    assert {id_: ok for id_, ok in served(engine).items() if ok} == pages_before
    assert run(engine)["rows_written"] == 0


def test_a_force_push_that_only_drops_commits(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine)
    story.reset(git("rev-parse", "main~1", directory=story.directory))
    stages = run(engine)["stages"]
    assert (stages["commits"]["commits"], stages["commits"]["vanished"]) == (0, 1)
    assert states(engine) == {1: "landed", 2: "landed", 3: "landed", 4: None, 9: None}
    assert served(engine) == {"pr-acme-1": True, "pr-acme-3": True, "pr-acme-4": False}


class Killed(BaseException):
    """Stands for Ctrl-C and kill -9: nothing catches it."""


def kill_at(stage: str, count: int = 1) -> Callable[[str, int, int | None], None]:
    seen: list[str] = []

    def report(name: str, done: int, total: int | None) -> None:
        seen.append(name)
        if seen.count(stage) == count:
            raise Killed

    return report


@pytest.mark.parametrize("stage", ["commits", "link", "classify"])
@pytest.mark.parametrize("batch", [1, 2])
def test_killed_and_run_again_equals_never_killed(
    new_engine: Callable[[], sa.Engine],
    run: Harvester,
    story: GitRepository,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    batch: int,
) -> None:
    one, two = new_engine(), new_engine()
    run(one)
    monkeypatch.setattr(ingest.harvest, "BATCH", batch)
    monkeypatch.setattr(ingest.decisions, "_DECIDED", batch)
    with pytest.raises(Killed):
        run(two, kill_at(stage))
    if batch == 1:
        with pytest.raises(Killed):
            run(two, kill_at(stage))
    run(two)
    assert dumped(two) == dumped(one)
    assert run(two)["rows_written"] == 0


def test_a_killed_run_stays_in_the_books(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    with pytest.raises(Killed):
        run(engine, kill_at("commits"))
    run(engine)
    h = harvest_runs.c
    assert select(engine, h.id, h.status) == [(1, "running"), (2, "done")]


def test_killed_after_a_force_push(
    new_engine: Callable[[], sa.Engine],
    run: Harvester,
    story: GitRepository,
) -> None:
    one, two = new_engine(), new_engine()
    run(one), run(two)
    force_push(story)
    run(one)
    with pytest.raises(Killed):
        run(two, kill_at("commits"))
    run(two)
    assert dumped(two) == dumped(one)


@pytest.mark.parametrize(
    "wreck",
    [
        pytest.param(lambda mirror: (mirror.parent / f"{mirror.name}.part").mkdir(), id="part"),
        pytest.param(lambda mirror: shutil.rmtree(mirror / "objects"), id="no-objects"),
        pytest.param(lambda mirror: (mirror / "HEAD").write_text("?"), id="damaged-head"),
        pytest.param(lambda mirror: (mirror / "packed-refs.lock").write_text(""), id="lock"),
        pytest.param(lambda mirror: shutil.rmtree(mirror), id="gone"),
        pytest.param(
            lambda mirror: (mirror / "refs" / "heads" / "main.lock").write_text(""), id="ref-lock"
        ),
    ],
)
@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_a_mirror_left_by_an_interrupted_run(
    engine: sa.Engine, run: Harvester, story: GitRepository, wreck: Callable[[Path], object]
) -> None:
    run(engine)
    wreck(run.mirror)
    story.commit("One more", {"x.cu": "1"})
    assert run(engine)["stages"]["commits"]["commits"] == 1


def test_new_rules_of_the_linker_run_that_stage_alone(
    engine: sa.Engine, run: Harvester, story: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine)
    before = dumped(engine)
    monkeypatch.setattr(ingest.harvest, "LINKER", "new")
    stages = run(engine)["stages"]
    assert stages["commits"]["commits"] == stages["classify"]["rows_written"] == 0
    assert stages["link"] == {"commits": 5, "rows_written": 0}
    assert dumped(engine) == before
    assert run(engine)["stages"]["link"] == {"commits": 0, "rows_written": 0}


def test_links_that_new_rules_no_longer_see(
    engine: sa.Engine, run: Harvester, story: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine)
    before = dumped(engine, "ledger_entries", "pages")
    with monkeypatch.context() as patch:
        patch.setattr(ingest.harvest, "LINKER", "blind")
        patch.setattr(ingest.harvest, "link", lambda commit, history: [])
        assert run(engine)["stages"]["link"]["rows_written"] == 5
        assert set(states(engine).values()) == {None}
        assert not any(served(engine).values())
    run(engine)
    assert dumped(engine, "ledger_entries", "pages") == before
    assert served(engine) == {"pr-acme-3": True, "pr-acme-4": True}


def test_new_rules_of_the_classifier_run_that_stage_alone(
    engine: sa.Engine, run: Harvester, story: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine)
    ledger = select(engine, ledger_entries.c.number, ledger_entries.c.decision)
    monkeypatch.setattr(ingest.decisions, "ruleset", lambda: "new")
    stages = run(engine)["stages"]
    assert stages["commits"]["commits"] == stages["link"]["commits"] == 0
    assert sum(stages["classify"][name] for name in ("include", "exclude", "defer")) == 4
    rulesets = dict(select(engine, pull_requests.c.number, pull_requests.c.ruleset))
    assert rulesets == {1: "new", 2: "new", 3: "new", 4: "new", 9: None}
    assert select(engine, ledger_entries.c.number, ledger_entries.c.decision) == ledger
    assert run(engine)["rows_written"] == 0


def decide(engine: sa.Engine, number: int, decision: str) -> None:
    row = {"number": number, "decision": decision, "decided_by": "person:ana"}
    with write_transaction(engine) as connection:
        update_rows(connection, pull_requests, [row | {"decision_reason": "seen"}], key="number")


def test_a_persons_decision_survives_new_rules(
    engine: sa.Engine, run: Harvester, story: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine)
    decide(engine, 2, "include")
    decide(engine, 3, "exclude")
    monkeypatch.setattr(ingest.decisions, "ruleset", lambda: "new")
    run(engine)
    p = pull_requests.c
    assert select(engine, p.number, p.decision, p.decided_by, p.decision_reason)[1:3] == [
        (2, "include", "person:ana", "seen"),
        (3, "exclude", "person:ana", "seen"),
    ]
    assert served(engine) == {"pr-acme-2": True, "pr-acme-3": False, "pr-acme-4": True}
    assert index_of(engine) == {"pr-acme-2", "pr-acme-4"}


def test_since_reads_no_earlier_commit_and_keeps_the_cursor(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    run(engine, since=time_of(2).date())
    assert [row[1] for row in select(engine, commits.c.id, commits.c.committed_at)] == [
        time_of(2),
        time_of(4),
        time_of(5),
    ]
    assert "commits" not in dict(select(engine, harvest_cursors.c.stage, harvest_cursors.c.cursor))


def test_since_and_then_all_equals_all_at_once(
    run: Harvester, new_engine: Callable[[], sa.Engine], story: GitRepository
) -> None:
    at_once, in_parts = new_engine(), new_engine()
    run(at_once)
    for number in (4, 2, 3):
        run(in_parts, since=time_of(number).date())
    run(in_parts)
    assert dumped(in_parts, "ledger_entries") == dumped(at_once, "ledger_entries")
    assert run(in_parts)["rows_written"] == 0


def test_since_in_the_future_reads_nothing(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    assert run(engine, since=date(2100, 1, 1))["stages"]["commits"]["commits"] == 0


def remove(run: Harvester) -> None:
    shutil.rmtree(run.remotes)


def rename_branch(run: Harvester) -> None:
    git("branch", "-m", "main", "trunk", directory=run.remotes / "acme" / "kernels.git")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(remove, "git ls-remote failed: "), (rename_branch, "has no branch main")],
    ids=["missing-remote", "missing-branch"],
)
def test_a_remote_that_fails_later_changes_no_row(
    engine: sa.Engine,
    run: Harvester,
    story: GitRepository,
    spoil: Callable[[Harvester], None],
    says: str,
) -> None:
    run(engine)
    before = dumped(engine)
    spoil(run)
    with pytest.raises(IngestError, match=says) as caught:
        run(engine)
    assert "\n" not in str(caught.value)
    assert dumped(engine) == before
    h = harvest_runs.c
    assert select(engine, h.id, h.status, h.message)[-1] == (2, "failed", str(caught.value))


def test_an_empty_repository(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository
) -> None:
    with pytest.raises(IngestError, match="is empty"):
        run(engine)
    assert not run.mirror.exists()
    git_repository.commit("Start")
    assert run(engine)["stages"]["commits"]["commits"] == 1


def test_two_harvests_of_one_repository_at_a_time(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    with (
        exclusive(run.mirror.with_suffix(".lock"), "x"),
        pytest.raises(UserError, match="another kwdb is at work on acme/kernels"),
    ):
        run(engine)
    assert select(engine, harvest_runs.c.id) == []


def test_the_branch_that_head_names(
    engine: sa.Engine, run: Harvester, story: GitRepository
) -> None:
    rename_branch(run)
    git("symbolic-ref", "HEAD", "refs/heads/trunk", directory=story.directory)
    assert run(engine)["stages"]["commits"]["commits"] == 5
    assert run.row(engine).default_branch == "trunk"


def test_a_remote_without_pull_refs(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository
) -> None:
    git_repository.commit("Add (#12345)")
    run(engine)
    assert states(engine) == {12345: "landed"}
    assert select(engine, pull_request_commits.c.rule) == [("suffix_unchecked",)]


def words(count: int) -> str:
    """Return different words that look like nothing in particular, always the same."""
    source = random.Random(7)
    return " ".join(f"{source.randrange(16**7):x}" for _ in range(count))


ODD: dict[str, str | bytes] = {
    "empty": "",
    "line-feeds": "\n\n\n",
    "control": b"\x01\x02\x1b[31m\x7f (#1)\n\nBody\x00".replace(b"\x00", b""),
    "no-utf8": b"\xff\xfe\xed\xa0\x80 (#1)\n\n\x80",
    "megabyte-body": f"{GEMM} (#1)\n\n" + words(140_000),
    "megabyte-title": f"{GEMM} {words(140_000)} (#1)",
    "one-long-word": f"{GEMM} {'x' * 1_100_000} (#1)",
    "carriage-returns": f"{GEMM} (#1)\r\n\r\nBody",
    "huge-number": "Add (#99999999999999999999)",
    "number-over-32-bits": "Add (#2147483648)",
    "blanks": "Revert" + " " * 5_000 + "x (#1)",
}


@pytest.mark.parametrize("message", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("has_pulls", [True, False], ids=["pulls", "no-pulls"])
def test_odd_messages_are_stored(
    engine: sa.Engine,
    run: Harvester,
    git_repository: GitRepository,
    message: str | bytes,
    has_pulls: bool,
) -> None:
    git_repository.commit(message, {"csrc/gemm/umma_gemm.cu": "1"})
    if has_pulls:
        git_repository.pull(1)
    run(engine)
    raw = message.encode() if isinstance(message, str) else message
    expected = raw.decode("utf-8", "backslashreplace").rstrip("\n")
    assert select(engine, commits.c.message) == [(expected,)]
    assert run(engine)["rows_written"] == 0


ODD_MAILS = {
    "huge-id": "99999999999999999999+eve@users.noreply.github.com",
    "long-login": f"{words(2_000).replace(' ', '')}@users.noreply.github.com",
    "empty": "",
}


@pytest.mark.parametrize("mail", ODD_MAILS.values(), ids=ODD_MAILS.keys())
def test_odd_authors_stop_no_harvest(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository, mail: str
) -> None:
    git_repository.commit("Add (#1)", mail=mail)
    assert run(engine)["stages"]["commits"]["commits"] == 1


def test_odd_paths_are_stored(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository
) -> None:
    names: dict[str | bytes, str] = {
        "a\nb.cu": "1",
        'it\'s "quoted".cu': "1",
        "tab\there": "1",
        b"bytes-\xff.cu": "1",
        "ünï/核.cu": "1",
        " blank ": "1",
        ":colon": "1",
        "back\\slash": "1",
    }
    git_repository.commit("Add (#1)", names)
    run(engine)
    found = {path for (path,) in select(engine, paths.c.path)}
    assert found == {n if isinstance(n, str) else "bytes-\\xff.cu" for n in names}


def test_two_paths_that_differ_in_odd_bytes_alone(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository
) -> None:
    """The backslash escape of one path may be the real name of another."""
    git_repository.commit("Add (#1)", {b"x\xff.cu": "1", "x\\xff.cu": "1"})
    assert run(engine)["stages"]["commits"]["commits"] == 1
    assert select(engine, paths.c.path) == [("x\\xff.cu",)]


def test_a_commit_without_files(
    engine: sa.Engine, run: Harvester, git_repository: GitRepository
) -> None:
    git_repository.commit("Start", {})
    git_repository.commit("Add (#1)", {})
    assert run(engine)["stages"]["commits"]["commits"] == 2


def test_two_repositories_keep_apart(
    engine: sa.Engine, run: Harvester, story: GitRepository, tmp_path: Path
) -> None:
    other = GitRepository(tmp_path / "remotes" / "umbrella" / "kernels.git")
    other.commit("Add tcgen05 GEMM for sm100 (#1)", {"csrc/gemm/umma_gemm.cu": "1"})
    run(engine)
    replace(run, full_name="umbrella/kernels")(engine)
    p = pull_requests.c
    found = select(engine, p.number, p.repository_id, p.landed_state)
    assert [row[::2] for row in found if row[0] == 1] == [(1, "reverted"), (1, "landed")]
    assert index_of(engine) == {"pr-acme-3", "pr-acme-4"}
    assert run(engine)["rows_written"] == 0


@pytest.mark.histories
@pytest.mark.skipif(not HISTORIES.is_dir(), reason="the real histories are not here")
def test_the_history_of_deepgemm(engine: sa.Engine, tmp_path: Path) -> None:
    tool = HISTORIES.parent.parent / "tools" / "unpack-histories"
    subprocess.run([tool, tmp_path / "real", "deepgemm"], check=True, capture_output=True)
    run = Harvester(tmp_path / "real", tmp_path / "cache", "deepseek-ai/DeepGEMM")
    run(engine)
    landed = select(engine, pull_requests.c.number, pull_requests.c.landed_at)
    links = select(engine, pull_request_commits.c.commit_id, pull_request_commits.c.role)
    landings = {key for key, role in links if role == "landed"}
    assert sum(when is not None for _, when in landed) == 76
    assert len(select(engine, commits.c.id)) - len(landings) == 58
    assert run(engine)["rows_written"] == 0
