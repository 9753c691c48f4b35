"""The stage extras: what only GraphQL knows, of the pull requests that are kept."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from emulator import Fault
from emulator.subject import TOKEN, Subject, make_client, until_quiet
from emulator.world import BOT
from gitrepo import GitRepository

from ingest.extras import read_extras
from kwdb.db import read_transaction, write_transaction
from kwdb.models import pull_requests
from kwdb.queries import explain

NewSubject = Callable[..., Subject]
SQLITE_ALONE = pytest.mark.parametrize("engine_name", ["sqlite"])
COLUMNS = ("review_decision", "merged_by", "changed_files", "closed_by_sha")


def include(subject: Subject, *numbers: int) -> None:
    """List what GitHub has and decide to keep `numbers`, or all."""
    subject.read(make_client(subject.emulator, TOKEN))
    p = pull_requests.c
    chosen = p.number.in_(numbers) if numbers else sa.true()
    with write_transaction(subject.engine) as connection:
        connection.execute(
            sa.update(pull_requests)
            .where(p.repository_id == subject.key, chosen)
            .values(decision="include", decided_by="person:ana")
        )


def ask(subject: Subject, **options: Any) -> dict[str, Any]:
    client = make_client(subject.emulator, TOKEN)
    subject.emulator.forget()
    return read_extras(subject.job(client, **options), client)


def extras(subject: Subject) -> dict[int, tuple[Any, ...]]:
    p = pull_requests.c
    query = sa.select(p.number, *(p[name] for name in COLUMNS)).where(
        p.repository_id == subject.key
    )
    with read_transaction(subject.engine) as connection:
        return {row[0]: tuple(row)[1:] for row in connection.execute(query.order_by(p.number))}


def test_what_graphql_says_of_what_is_kept(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    subject.repository.edit(1, review="APPROVED", changed_files=7)
    subject.repository.merge(1)
    include(subject, 1, 2)
    assert ask(subject) | {"rows_written": 2} == {
        "pull_requests": 2,
        "requests": 1,
        "gaps": 0,
        "rows_written": 2,
    }
    nothing = (None, None, None, None)
    assert extras(subject) == {
        1: ("APPROVED", BOT.login, 7, None),
        2: (None, None, 1, None),
        3: nothing,
    }


def test_again_only_what_has_changed(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    include(subject)
    ask(subject)
    assert ask(subject)["requests"] == 0
    subject.repository.edit(2, review="CHANGES_REQUESTED")
    include(subject)
    assert ask(subject)["pull_requests"] == 1
    assert extras(subject)[2][0] == "CHANGES_REQUESTED"
    assert ask(subject, full=True) == {
        "pull_requests": 3,
        "requests": 1,
        "gaps": 0,
        "rows_written": 0,
    }


@SQLITE_ALONE
def test_hidden_files_are_not_counted_as_none(new_subject: NewSubject) -> None:
    """GitHub says 0 changed files where there are too many to show."""
    subject = new_subject(1)
    subject.repository.edit(1, files_are_hidden=True)
    include(subject)
    ask(subject)
    assert extras(subject)[1][2] is None


@SQLITE_ALONE
def test_the_size_of_queries_adapts(new_subject: NewSubject) -> None:
    subject = new_subject(40)
    subject.emulator.largest_query = 5
    include(subject)
    counts = ask(subject)
    assert (counts["pull_requests"], counts["gaps"]) == (40, 0)
    assert {row[2] for row in extras(subject).values()} == {1}


@SQLITE_ALONE
@pytest.mark.parametrize("kind", ["errors", "null_nodes", "bad_gateway", "truncated", "reset"])
def test_faults_that_pass(new_subject: NewSubject, kind: str) -> None:
    subject = new_subject(30)
    include(subject)
    subject.emulator.faults = [Fault(kind, 4, skip=1)]
    assert ask(subject)["gaps"] == 0
    assert {row[2] for row in extras(subject).values()} == {1}


@SQLITE_ALONE
def test_one_that_always_fails_is_a_gap_and_stops_no_other(new_subject: NewSubject) -> None:
    subject = new_subject(6)
    include(subject)
    hidden = subject.repository.pulls.pop(4)
    assert ask(subject)["gaps"] == 1
    assert list(subject.gaps()) == ["#4"]
    assert [number for number, row in extras(subject).items() if row[2] is None] == [4]
    subject.repository.pulls[4] = hidden
    until_quiet(lambda: ask(subject))
    assert subject.gaps() == {}


@SQLITE_ALONE
def test_a_service_that_is_down_is_not_asked_for_each(new_subject: NewSubject) -> None:
    subject = new_subject(60)
    include(subject)
    subject.emulator.faults = [Fault("bad_gateway", 10**6)]
    counts = ask(subject)
    assert counts["requests"] < 40
    assert "list" in subject.gaps()
    subject.emulator.faults = []
    until_quiet(lambda: ask(subject))


@SQLITE_ALONE
def test_a_repository_that_graphql_does_not_show(new_subject: NewSubject) -> None:
    subject = new_subject(3)
    include(subject)
    subject.repository.full_name = "acme/hidden"
    assert ask(subject)["gaps"] >= 1


@pytest.mark.parametrize(
    ("landing", "state", "by"),
    [("pytorch", "landed", "commit {} lands it, by rule api_closing_commit"), ("squash", "closed",
     "GitHub shows it as closed; no commit of the branch lands it")],
)  # fmt: skip
def test_the_commit_that_closed_it_has_landed_it(
    new_subject: NewSubject,
    git_repository: GitRepository,
    engine: sa.Engine,
    landing: str,
    state: str,
    by: str,
) -> None:
    """Where a merge bot lands pull requests; elsewhere a commit closes what it makes needless."""
    git_repository.commit("Start")
    sha = git_repository.commit("A landing that names no number", {"csrc/gemm.cu": "1"})
    base = git_repository.directory.parents[1].as_uri()
    subject = new_subject(1, landing=landing, clone_base=base)
    subject.repository.close(1, by_commit=sha)
    client = make_client(subject.emulator, TOKEN)
    assert subject.harvest(client, git=True)["status"] == "done"
    with read_transaction(engine) as connection:
        found = explain(connection, "acme/kernels#1")
    assert (found["landed_state"], found["landed_reason"]) == (state, by.format(sha))
    assert subject.harvest(client, git=True)["rows_written"] == 0


@SQLITE_ALONE
def test_without_a_token_graphql_is_not_asked(new_subject: NewSubject) -> None:
    subject = new_subject(2)
    stages = subject.harvest(make_client(subject.emulator))["stages"]
    assert "extras" not in stages
