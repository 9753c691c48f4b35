"""The stage pulls, case by case; that it loses nothing is proved in test_pulls_properties.py."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from emulator import Fault
from emulator.subject import TOKEN, Subject, make_client
from emulator.world import BOT, Person

from ingest.github.client import GitHub
from ingest.github.pulls import parse_page
from ingest.harvest import harvest
from kwdb.db import read_transaction, write_transaction
from kwdb.models import actors, harvest_runs, pull_requests
from kwdb.queries import explain, find_repository, read_status
from kwdb.store.pulls import former_names, store_pull_requests
from kwdb.store.rows import update_rows
from tests.gitrepo import GitRepository

NewSubject = Callable[..., Subject]
SQLITE_ALONE = pytest.mark.parametrize("engine_name", ["sqlite"])


def read(subject: Subject, token: str | None = None, **options: Any) -> dict[str, Any]:
    subject.emulator.forget()
    return subject.read(make_client(subject.emulator, token), **options)


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (7, 1), (100, 1), (101, 3), (1_000, 11)])
@SQLITE_ALONE
def test_requests_of_a_backfill(new_subject: NewSubject, count: int, requests: int) -> None:
    subject = new_subject(count)
    assert read(subject)["requests"] == len(subject.emulator.requests) == requests
    assert len(subject.stored()) == count


def test_a_night_with_nothing_new(new_subject: NewSubject) -> None:
    subject = new_subject(150)
    read(subject)
    assert read(subject) == {"pull_requests": 0, "requests": 1, "gaps": 0, "rows_written": 0}
    assert [request.status for request in subject.emulator.requests] == [304]


def test_a_night_with_something_new(new_subject: NewSubject) -> None:
    subject = new_subject(150)
    read(subject)
    subject.repository.label(7, ["perf"])
    subject.repository.open("Another")
    assert read(subject)["requests"] == 2  # within the overlap lie more than 100 rows
    assert subject.stored() == subject.expected()


@SQLITE_ALONE
def test_each_token_has_an_etag_of_its_own(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    statuses = []
    for token in ("one", "two", None, "one", "two", None):
        read(subject, token)
        statuses += [request.status for request in subject.emulator.requests]
    assert statuses == [200, 200, 200, 304, 304, 304]


def test_all_that_is_read_again_is_written_once(new_subject: NewSubject) -> None:
    subject = new_subject(5)
    assert read(subject)["rows_written"] > 0
    assert read(subject, full=True)["rows_written"] == 0


def test_odd_text_is_stored(new_subject: NewSubject) -> None:
    subject = new_subject(1)
    subject.repository.edit(1, title="Nul \0 and \ud800", body="\r\n\0" + "x" * 70_000)
    subject.repository.label(1, ["ünï", "a\0b"])
    read(subject)
    row = subject.stored()[1]
    assert (row["title"], row["body"]) == ("Nul \ufffd and \\ud800", "\r\n\ufffd" + "x" * 70_000)
    assert row["labels"] == ["a\ufffdb", "ünï"]


@SQLITE_ALONE
@pytest.mark.parametrize("ghost", [None, Person("ghost", 10137)], ids=["null", "ghost"])
def test_a_deleted_author_is_null(new_subject: NewSubject, ghost: Person | None) -> None:
    subject = new_subject(1)
    read(subject)
    subject.repository.edit(1, author=ghost)
    read(subject)
    assert subject.stored()[1]["author"] is None


def test_authors_keep_their_kind_and_number(new_subject: NewSubject, engine: sa.Engine) -> None:
    subject = new_subject(2)
    subject.repository.edit(2, author=BOT)
    read(subject)
    with read_transaction(engine) as connection:
        query = sa.select(actors.c.login, actors.c.github_id, actors.c.kind)
        found = [tuple(row) for row in connection.execute(query.order_by(actors.c.login))]
    assert found == [("dependabot[bot]", 4321, "bot"), ("jane", 1234, "user")]


def items(subject: Subject) -> list[dict[str, Any]]:
    client = make_client(subject.emulator)
    path = f"/repos/{subject.repository.full_name}/pulls?state=all"
    return list(client.get_list(path).data)


def store(subject: Subject, old: list[dict[str, Any]]) -> int:
    with write_transaction(subject.engine) as connection:
        records = parse_page(old).records
        return store_pull_requests(connection, subject.key, records, heads_are_gits=False).written


def test_an_older_page_does_not_overwrite_a_newer_row(new_subject: NewSubject) -> None:
    subject = new_subject(2)
    old = items(subject)
    subject.repository.edit(1, title="New")
    subject.repository.label(1, ["new"])
    read(subject)
    assert store(subject, old) == 0
    assert subject.stored() == subject.expected()


@SQLITE_ALONE
def test_a_page_that_shows_a_row_twice(new_subject: NewSubject) -> None:
    subject = new_subject(1)
    old = items(subject)
    subject.repository.edit(1, title="New")
    store(subject, items(subject) + old)
    assert subject.stored() == subject.expected()


MARKS = (pull_requests.c.ruleset, pull_requests.c.extractor)


@SQLITE_ALONE
@pytest.mark.parametrize(
    ("fields", "is_due"),
    [
        ({"title": "New"}, True),
        ({"body": "New"}, True),
        ({"labels": ["new"]}, True),
        ({"is_draft": True}, False),
        ({"author": BOT}, False),
    ],
    ids=lambda value: str(value),
)
def test_what_is_read_by_rules_is_due_when_it_changes(
    new_subject: NewSubject, engine: sa.Engine, fields: dict[str, Any], is_due: bool
) -> None:
    subject = new_subject(1)
    read(subject)
    with write_transaction(engine) as connection:
        (key,) = connection.execute(sa.select(pull_requests.c.id)).scalars()
        update_rows(connection, pull_requests, [{"id": key, "ruleset": "r", "extractor": "e"}])
    subject.repository.edit(1, **fields)
    read(subject)
    with read_transaction(engine) as connection:
        found = tuple(connection.execute(sa.select(*MARKS)).one())
    assert found == ((None, None) if is_due else ("r", "e"))


def test_an_item_that_cannot_be_read_is_a_gap_until_it_can(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    subject.repository.edit(2, title=None)
    assert read(subject)["gaps"] == 1
    assert list(subject.gaps()) == ["#2"]
    assert sorted(subject.stored()) == [1, 3]
    assert read(subject)["gaps"] == 1
    assert [request.status for request in subject.emulator.requests] == [200, 304]
    subject.repository.pulls[2].title = "Readable"
    assert read(subject)["gaps"] == 0
    assert subject.stored() == subject.expected()


@SQLITE_ALONE
def test_a_limit_in_mid_backlog_and_the_way_on(new_subject: NewSubject) -> None:
    subject = new_subject(20)
    subject.emulator.per_page_limit = 2
    subject.emulator.budget = 5
    counts = read(subject)
    assert (counts["requests"], counts["gaps"]) == (5, 1)
    (reason,) = subject.gaps().values()
    assert "requests an hour is reached" in reason
    subject.emulator.budget = None
    # What is left of the 10 pages of the backlog, behind one of updates or more.
    seen = [request.path for request in subject.emulator.requests]
    read(subject)
    backlog = [r.path for r in subject.emulator.requests if "sort=created" in r.path]
    assert len(backlog) == 10 - sum("sort=created" in path for path in seen)
    assert subject.gaps() == {}
    assert subject.stored() == subject.expected()


@SQLITE_ALONE
def test_a_checkpoint_that_is_no_longer_served(new_subject: NewSubject) -> None:
    subject = new_subject(6)
    subject.emulator.per_page_limit = 2
    subject.emulator.budget = 3
    read(subject)
    subject.emulator.budget = None
    subject.emulator.faults = [Fault("gone", where="sort=created")]
    assert read(subject)["gaps"] == 0
    assert subject.stored() == subject.expected()


@SQLITE_ALONE
def test_without_a_token_it_says_what_that_means(new_subject: NewSubject) -> None:
    subject = new_subject(124)
    subject.emulator.per_page_limit = 2
    read(subject)
    (said,) = subject.said
    assert "60 requests an hour; 62 pages of pull requests: 2 hours, a run in each" in said
    with_token = new_subject(3, "acme/other")
    read(with_token, TOKEN)
    assert with_token.said == []


def test_a_new_name_becomes_the_name_and_the_old_one_an_alias(
    new_subject: NewSubject, engine: sa.Engine
) -> None:
    subject = new_subject(3)
    read(subject)
    subject.repository.rename("acme/new")
    subject.repository.edit(1, title="After the move")
    read(subject)
    assert subject.stored() == subject.expected()
    with read_transaction(engine) as connection:
        row = find_repository(connection, "acme/kernels") or {}
        assert former_names(connection, subject.key) == ("acme/kernels",)
    assert (row["full_name"], row["github_id"]) == ("acme/new", subject.repository.id)
    assert read(subject)["requests"] == 1


@SQLITE_ALONE
def test_a_new_name_of_a_repository_in_which_nothing_changed(new_subject: NewSubject) -> None:
    subject = new_subject()
    read(subject)
    subject.repository.rename("acme/new")
    read(subject)
    assert subject.job(None).repository.full_name == "acme/new"


def test_a_name_that_another_repository_has_taken(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    read(subject)
    before = subject.stored()
    subject.repository.rename("acme/moved")
    other = subject.emulator.world.add("acme/kernels")
    other.open("Something else")
    assert read(subject)["gaps"] == 1
    (reason,) = subject.gaps().values()
    assert "is another repository now" in reason
    assert subject.stored() == before


@SQLITE_ALONE
def test_since_reads_what_changed_since_and_moves_nothing(new_subject: NewSubject) -> None:
    subject = new_subject(0)
    subject.emulator.world.pace = 86_400
    for _ in range(6):
        subject.repository.open()
    subject.emulator.per_page_limit = 1
    day = datetime.fromtimestamp(subject.repository.pulls[5].updated, UTC).date()
    read(subject, since=day)
    assert sorted(subject.stored()) == [4, 5, 6]  # the page on which an older row ends the walk
    read(subject)
    assert sorted(subject.stored()) == [1, 2, 3, 4, 5, 6]


def test_an_unreachable_api_leaves_a_gap_and_an_incomplete_run(
    new_subject: NewSubject, engine: sa.Engine
) -> None:
    subject = new_subject(2)
    client = make_client(subject.emulator)
    client._origin = "http://127.0.0.1:9"
    summary = subject.harvest(client)
    assert summary["status"] == "incomplete"
    assert "cannot be reached" in summary["message"]
    with read_transaction(engine) as connection:
        assert [gap["stage"] for gap in read_status(connection)["gaps"]] == ["pulls"]
        query = sa.select(harvest_runs.c.status, harvest_runs.c.message)
        assert tuple(connection.execute(query).one()) == ("incomplete", summary["message"])
    assert subject.harvest(make_client(subject.emulator))["status"] == "done"
    assert subject.gaps() == {}


@pytest.fixture
def live(new_subject: NewSubject, tmp_path: Path, git_repository: GitRepository) -> Subject:
    git_repository.commit("Start")
    return new_subject(clone_base=(tmp_path / "remotes").as_uri())


class Life:
    """Acts on GitHub and on its git side alike."""

    def __init__(self, subject: Subject, git: GitRepository) -> None:
        self.subject, self.git, self.repository = subject, git, subject.repository

    def open(self, title: str) -> int:
        number = self.repository.open(title).number
        head = self.git.commit("wip", ref=f"refs/pull/{number}/head")
        self.repository.edit(number, head_sha=head)
        return number

    def merge(self, number: int, title: str | None = None) -> str:
        pull = self.repository.pulls[number]
        sha = self.git.commit(f"{title or pull.title} (#{number})", {"csrc/gemm.cu": str(number)})
        self.repository.merge(number, sha)
        return sha

    def harvest(self) -> None:
        client: GitHub = make_client(self.subject.emulator, TOKEN)
        assert self.subject.harvest(client, git=True)["status"] == "done"
        assert self.subject.stored() == self.subject.expected()

    def landing(self, number: int) -> tuple[str, str]:
        with read_transaction(self.subject.engine) as connection:
            found = explain(connection, f"acme/kernels#{number}")
        return found["landed_state"], found["landed_reason"]


def test_the_life_of_a_pull_request(live: Subject, git_repository: GitRepository) -> None:
    life, title = Life(live, git_repository), "Add tcgen05 GEMM kernel"
    one = life.open("Add GEMM")
    life.harvest()
    assert life.landing(one) == ("open", "GitHub shows it as open")

    live.repository.edit(one, title=title, body="UMMA")
    live.repository.label(one, ["perf", "wip"])
    live.repository.close(one)
    life.harvest()
    closed = "GitHub shows it as closed; no commit of the branch lands it"
    assert life.landing(one) == ("closed", closed)

    live.repository.reopen(one)
    live.repository.label(one, ["perf"])
    landed = life.merge(one)
    life.harvest()
    assert life.landing(one) == ("landed", f"commit {landed} lands it, by rule suffix")

    two = life.open(f'Revert "{title} (#{one})"')
    reverted = life.merge(two)
    life.harvest()
    assert life.landing(one) == (
        "reverted",
        f"commit {reverted} reverts it, by rule reverts_quoted",
    )

    three = life.open(f'Revert "Revert "{title} (#{one})" (#{two})"')
    relanded = life.merge(three)
    life.harvest()
    assert life.landing(one)[0] == "landed"
    assert f"commit {relanded} relands it" in life.landing(one)[1]

    live.repository.label(one, [])
    life.harvest()
    assert life.landing(one)[0] == "landed"
    assert life.landing(two)[0] == "reverted"


@SQLITE_ALONE
def test_githubs_text_stands_where_the_commit_says_another(
    live: Subject, git_repository: GitRepository
) -> None:
    life = Life(live, git_repository)
    number = life.open("Title on GitHub")
    life.merge(number, title="Title of the commit")
    life.harvest()
    life.harvest()


def test_a_merge_commit_that_names_no_number_is_linked(
    live: Subject, git_repository: GitRepository
) -> None:
    life = Life(live, git_repository)
    number = live.repository.open("Add kernel").number
    sha = git_repository.commit("Squashed with another subject", {"csrc/gemm.cu": "1"})
    live.repository.merge(number, sha)
    life.harvest()
    rule = "api_merge_commit"
    assert life.landing(number) == ("landed", f"commit {sha} lands it, by rule {rule}")


@SQLITE_ALONE
def test_merged_into_a_release_branch_is_not_landed(
    live: Subject, git_repository: GitRepository
) -> None:
    life = Life(live, git_repository)
    number = live.repository.open("Cherry-pick", base="release/2.1").number
    live.repository.merge(number)
    life.harvest()
    reason = "GitHub merged it into release/2.1, not into main"
    assert life.landing(number) == ("closed", reason)


def test_the_report_of_a_harvest(live: Subject, git_repository: GitRepository) -> None:
    life = Life(live, git_repository)
    life.merge(life.open("Add kernel"))
    live.repository.merge(live.repository.open("Merged, never seen").number)
    git_repository.commit("Not listed (#77)")
    git_repository.commit("wip", ref="refs/pull/77/head")
    report = harvest(live.job(make_client(live.emulator), git=True))["stages"]["reconcile"]
    assert report == {
        "pull_requests": 3,
        "unknown_to_api": 1,
        "merged_without_commit": 1,
        "landed_but_not_merged": 0,
        "commits": 3,
        "commits_without_pull_request": 1,
        "linked_share": 0.6667,
        "rows_written": 0,
    }


@SQLITE_ALONE
def test_the_mirror_follows_a_new_name(live: Subject, git_repository: GitRepository) -> None:
    """The git side is still served under the old name, as a local copy would be."""
    life = Life(live, git_repository)
    life.merge(life.open("Add kernel"))
    life.harvest()
    live.repository.rename("acme/new")
    for _ in range(2):
        job = live.job(make_client(live.emulator), git=True)
        former = () if job.repository.full_name == "acme/kernels" else ("acme/kernels",)
        summary = harvest(replace(job, former_names=former))
        assert summary["status"] == "done"
    mirrors = {path.name for path in (live.cache / "mirrors" / "acme").glob("*.git")}
    assert mirrors == {"new.git"}
