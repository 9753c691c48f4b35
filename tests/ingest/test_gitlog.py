import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from gitrepo import GitRepository, git
from hypothesis import given
from hypothesis import strategies as st

from ingest.gitlog import parse_log, parse_noreply, read_commits, subject_of
from kwdb.records import CommitRecord, PersonRecord

SHA = "a" * 40
BLOB = b":100644 100644 " + b"1" * 40 + b" " + b"2" * 40 + b" "
JANE = PersonRecord("jane", 1234)


def header(message: bytes, sha: str = SHA, mail: bytes = b"jane@example.org") -> bytes:
    times = b"1756086190\n1756086191\n"
    return sha.encode() + b"\n" + mail + b"\nGitHub\n" + times + message


def record(message: str, subject: str, *paths: tuple[str, str], sha: str = SHA) -> CommitRecord:
    return CommitRecord(
        sha=sha,
        author=None,
        committer="GitHub",
        authored_at=datetime(2025, 8, 25, 1, 43, 10, tzinfo=UTC),
        committed_at=datetime(2025, 8, 25, 1, 43, 11, tzinfo=UTC),
        subject=subject,
        message=message,
        paths=paths,
    )


SAMPLES = {
    "message-alone": ([header(b"Fix\n\nBody\n")], [record("Fix\n\nBody", "Fix")]),
    "empty-message": ([header(b"")], [record("", "")]),
    "root-commit": (
        [header(b"Start\n"), b"\n" + BLOB + b"A", b"a.cu"],
        [record("Start", "Start", ("a.cu", "A"))],
    ),
    "two-files": (
        [header(b"Fix\n"), b"\n" + BLOB + b"M", b"a.cu", BLOB + b"D", b"b/c.cu"],
        [record("Fix", "Fix", ("a.cu", "M"), ("b/c.cu", "D"))],
    ),
    "odd-paths": (
        [
            header(b"Fix\n"),
            *(b"\n" + BLOB + b"M", b"a\nb\"'.cu"),
            *(BLOB + b"M", b":colon"),
            *(BLOB + b"M", b"\nleads.cu"),
        ],
        [record("Fix", "Fix", ("a\nb\"'.cu", "M"), (":colon", "M"), ("\nleads.cu", "M"))],
    ),
    "bytes": (
        [header(b"Fix \xff\xed\xa0\x80\n"), b"\n" + BLOB + b"M", b"\xfe.cu"],
        [record("Fix \\xff\\xed\\xa0\\x80", "Fix \\xff\\xed\\xa0\\x80", ("\\xfe.cu", "M"))],
    ),
    "control": (
        [header(b"Fix\x01\x1b[0m\x7f\n")],
        [record("Fix\x01\x1b[0m\x7f", "Fix\x01\x1b[0m\x7f")],
    ),
    "two-commits": (
        [header(b"One\n"), b"\n" + BLOB + b"M", b"a", header(b"Two\n", "b" * 40)],
        [record("One", "One", ("a", "M")), record("Two", "Two", sha="b" * 40)],
    ),
    "no-commit": ([], []),
    "colon-in-message": ([header(b":100644\n\n:x\n")], [record(":100644\n\n:x", ":100644")]),
}


@pytest.mark.parametrize(("fields", "expected"), SAMPLES.values(), ids=SAMPLES.keys())
def test_parse_log(fields: list[bytes], expected: list[CommitRecord]) -> None:
    assert list(parse_log(fields)) == expected


@pytest.mark.parametrize(
    ("seconds", "time"),
    [
        (b"-5", datetime(1970, 1, 1, tzinfo=UTC)),
        (b"99999999999999", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (b"", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
    ids=["before-1970", "after-9999", "none"],
)
def test_times_that_no_calendar_has(seconds: bytes, time: datetime) -> None:
    field = SHA.encode() + b"\na@b\nGitHub\n" + seconds + b"\n" + seconds + b"\nFix\n"
    (found,) = parse_log([field])
    assert (found.authored_at, found.committed_at) == (time, time)


@pytest.mark.parametrize(
    ("mail", "person"),
    [
        ("1234+jane@users.noreply.github.com", JANE),
        ("jane@users.noreply.github.com", PersonRecord("jane", None)),
        ("1234+Jane@Users.NoReply.GitHub.com", PersonRecord("Jane", 1234)),
        (
            "49699333+dependabot[bot]@users.noreply.github.com",
            PersonRecord("dependabot[bot]", 49699333, "bot"),
        ),
        ("jane@example.org", None),
        ("1234+jane@users.noreply.github.com.evil.org", None),
        ("noreply@github.com", None),
        ("a b@users.noreply.github.com", None),
        ("", None),
    ],
)
def test_parse_noreply(mail: str, person: PersonRecord | None) -> None:
    assert parse_noreply(mail) == person


MESSAGES = {
    "one-line": "Fix the tile order",
    "body": "Fix the tile order\n\nBecause.",
    "two-lines": "Fix the\ntile order\n\nBecause.",
    "leading-line-feeds": "\n\nFix\n\nBody",
    "trailing-blanks": "Fix the  \ntile\t\n\nBody",
    "leading-blanks": "  Fix\n   the tile",
    "leading-blank-line": " \t\nFix\n\nBody",
    "blank-line-of-blanks": "Fix\n \t\nBody",
    "carriage-returns": "Fix (#7)\r\n\r\nBody\r\n",
    "carriage-return-lines": "Fix\r\nthe tile\r\n\r\nBody",
    "form-feed": "Fix\n\f\nBody",
    "vertical-tab": "Fix\x0bthe\n\x0b\nBody",
    "inner-blanks": "Fix   the  tile",
    "no-break-space": "Fix\u00a0\nthe\u2003\n\nBody",
    "line-separator": "Fix\u2028the\x85tile\n\nBody",
    "control": "Fix\x01\x1b[1m\n\nBody",
    "only-blanks": "  \n\t\n",
    "empty": "",
}


def subject_by_git(repository: GitRepository, message: str) -> str:
    sha = repository.commit(message)
    command = ["git", "-C", str(repository.directory), "log", "-1", "--format=%s", sha]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()[:-1]


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES.keys())
def test_the_subject_is_that_of_git(git_repository: GitRepository, message: str) -> None:
    """But for runs of blanks, which say nothing."""
    expected = subject_by_git(git_repository, message)
    (found,) = read_commits(git_repository.directory, [git_repository.tip()])
    assert found.subject.split() == expected.split()


@given(st.text(alphabet="ab \n\r\t#"))
def test_a_subject_is_one_line_of_its_message(message: str) -> None:
    subject = subject_of(message)
    assert "\n" not in subject
    assert subject.split() == message.split()[: len(subject.split())]
    assert subject == subject.strip()
    assert bool(subject) == bool(message.strip())


def test_commits_come_in_the_order_asked_for(git_repository: GitRepository) -> None:
    first = git_repository.commit("One", {"a.cu": "1", "b.cu": "1"})
    second = git_repository.commit("Two", {"a.cu": "2"})
    found = [
        (c.sha, c.author, c.paths) for c in read_commits(git_repository.directory, [second, first])
    ]
    assert found == [
        (second, JANE, (("a.cu", "M"),)),
        (first, JANE, (("a.cu", "A"), ("b.cu", "A"))),
    ]


def test_no_commit_asked_for_gives_none(git_repository: GitRepository) -> None:
    git_repository.commit("One")
    assert list(read_commits(git_repository.directory, [])) == []


def test_a_merge_shows_what_it_brings(git_repository: GitRepository) -> None:
    git_repository.commit("One", {"a.cu": "1"})
    git_repository.reset(git_repository.tip(), "refs/heads/side")
    side = git_repository.commit("Side", {"side.cu": "1"}, ref="refs/heads/side")
    merge = git_repository.commit("Merge pull request #7 from jane/x", {"side.cu": "1"}, merge=side)
    (found,) = read_commits(git_repository.directory, [merge])
    assert found.paths == (("side.cu", "A"),)


def test_a_move_is_a_removal_and_an_addition(git_repository: GitRepository) -> None:
    git_repository.commit("One", {"a.cu": "1\n2\n3\n"})
    moved = git_repository.commit("Move", {"b.cu": "1\n2\n3\n"})
    assert [c.paths for c in read_commits(git_repository.directory, [moved])] == [(("b.cu", "A"),)]


RAW = {
    "no-date": b"author Jane <jane@example.org>\ncommitter C <c@example.org>\n\nFix\n",
    "no-mail": b"author Jane 1700000000 +0000\ncommitter C <c@e> 1700000000 +0000\n\nFix\n",
    "no-name": b"author <> 1700000000 +0000\ncommitter <> 1700000000 +0000\n\nFix\n",
    "no-message": b"author J <j@e> 1700000000 +0000\ncommitter C <c@e> 1700000000 +0000\n\n",
    "odd-zone": b"author J <j@e> 1700000000 +9999\ncommitter C <c@e> 1700000000 -9\n\nFix\n",
    "latin-1": b"author J <j@e> 1700000000 +0000\ncommitter C <c@e> 1700000000 +0000\n"
    b"encoding ISO-8859-1\n\nF\xfcnf\n",
    "unknown-encoding": b"author J <j@e> 1700000000 +0000\ncommitter C <c@e> 1700000000 +0000\n"
    b"encoding x-nothing\n\nF\xfcnf\n",
}
SUBJECTS = {"no-message": "", "latin-1": "Fünf", "unknown-encoding": "F\\xfcnf"}


@pytest.mark.parametrize("name", RAW)
def test_commits_that_git_itself_would_not_write(git_repository: GitRepository, name: str) -> None:
    directory: Path = git_repository.directory
    tree = git("mktree", directory=directory)
    raw = f"tree {tree}\n".encode() + RAW[name]
    arguments = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    sha = git(*arguments, directory=directory, data=raw)
    (found,) = read_commits(directory, [sha])
    assert (found.sha, found.subject) == (sha, SUBJECTS.get(name, "Fix"))
