from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.landing import Word, describe, settle

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
ONE = datetime(2026, 8, 1, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("subject", "message", "described"),
    [
        pytest.param(
            "Fuse (#7)",
            "Fuse (#7)\n\nBecause.\n\nMore.",
            ("Fuse", "Because.\n\nMore."),
            id="squash",
        ),
        pytest.param("Fuse (#7)", "Fuse (#7)", ("Fuse", ""), id="no-body"),
        pytest.param("Fuse", "\n\nFuse\n\n\n\nBody", ("Fuse", "Body"), id="line-feeds"),
        pytest.param(
            "Fuse the (#7)", "Fuse\nthe (#7)\n\nBody", ("Fuse the", "Body"), id="two-line-subject"
        ),
        pytest.param(
            "Merge pull request #7 from jane/x",
            "Merge pull request #7 from jane/x\n\nFuse\n\nBecause.",
            ("Fuse", "Because."),
            id="merge",
        ),
        pytest.param(
            "Merge pull request #7 from jane/x",
            "Merge pull request #7 from jane/x",
            ("Merge pull request #7 from jane/x", ""),
            id="merge-without-title",
        ),
        pytest.param("", "", ("", ""), id="empty"),
        pytest.param("(#7)", "(#7)", ("", ""), id="number-alone"),
        pytest.param(
            "Fuse (#7)", "Fuse (#7)\r\n\r\nBecause.", ("Fuse", "Because."), id="carriage-returns"
        ),
        pytest.param("Fuse (#7)", "Fuse (#7)\n \t\nBecause.", ("Fuse", "Because."), id="blanks"),
    ],
)
def test_describe(subject: str, message: str, described: tuple[str, str]) -> None:
    assert describe(subject, message) == described


def event(role: str, sha: str, when: datetime = NOON, **over: Any) -> dict[str, Any]:
    row = {"role": role, "rule": "suffix", "sha": sha, "committed_at": when, "author_id": 3}
    return row | {"subject": "Fuse (#7)", "message": "Fuse (#7)\n\nBody"} | over


def row(state: str | None, reason: str | None = None, **over: Any) -> dict[str, Any]:
    names = ("landed_at", "merge_sha", "author_id", "title", "body")
    return {"id": 1, "landed_state": state, "landed_reason": reason, **dict.fromkeys(names)} | over


def does(sha: str, what: str) -> str:
    return f"commit {sha} {what} it, by rule suffix"


LANDED = {
    "landed_at": NOON,
    "merge_sha": "a",
    "author_id": 3,
    "title": "Fuse",
    "body": "Body",
}
SECOND = {"landed_at": ONE, "merge_sha": "b", "author_id": 4, "title": "Again", "body": ""}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], row(None), id="nothing"),
        pytest.param(
            [event("landed", "a")], row("landed", does("a", "lands"), **LANDED), id="landed"
        ),
        pytest.param(
            [event("landed", "a"), event("reverts", "b", ONE)],
            row("reverted", does("b", "reverts"), **LANDED),
            id="reverted",
        ),
        pytest.param(
            [event("landed", "a"), event("reverts", "b", ONE), event("relands", "c", ONE)],
            row("landed", does("c", "relands"), **LANDED),
            id="brought-back",
        ),
        pytest.param(
            [
                event("landed", "a"),
                event("landed", "b", ONE, subject="Again", message="Again", author_id=4),
            ],
            row("landed", does("b", "lands"), **SECOND),
            id="landed-twice",
        ),
        pytest.param(
            [event("reverts", "b")], row("reverted", does("b", "reverts")), id="landing-not-seen"
        ),
        pytest.param([event("original", "b")], row(None), id="original-alone"),
        pytest.param(
            [event("landed", "a"), event("cherry_pick", "b", ONE)],
            row("landed", does("a", "lands"), **LANDED),
            id="cherry-picked",
        ),
    ],
)
def test_settle(events: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    assert settle(1, events) == expected


def merged(**over: Any) -> Word:
    said = {"state": "closed", "merged_at": ONE, "merge_sha": "m", "base_ref": "main"}
    return Word(**said | {"default_branch": "main"} | over)


@pytest.mark.parametrize(
    ("word", "state", "reason"),
    [
        (Word(), None, None),
        (Word("open", base_ref="main"), "open", "GitHub shows it as open"),
        (
            Word("closed"),
            "closed",
            "GitHub shows it as closed; no commit of the branch lands it",
        ),
        (
            merged(base_ref="release/2.1"),
            "closed",
            "GitHub merged it into release/2.1, not into main",
        ),
        (
            merged(is_on_branch=False),
            "closed",
            "GitHub merged it as m, which has left the branch",
        ),
    ],
    ids=["not-asked", "open", "closed", "another-branch", "left-the-branch"],
)
def test_githubs_word_where_no_commit_names_it(
    word: Word, state: str | None, reason: str | None
) -> None:
    assert settle(1, [], word) == row(state, reason)


@pytest.mark.parametrize("branch", ["main", None])
def test_merged_by_github_and_named_by_no_commit(branch: str | None) -> None:
    reason = "GitHub merged it as m; no commit of the branch names it"
    expected = row("landed", reason, landed_at=ONE, merge_sha="m")
    assert settle(1, [], merged(default_branch=branch)) == expected


@pytest.mark.parametrize("word", [Word("open"), Word("closed"), merged(base_ref="other")])
def test_a_commit_of_the_branch_says_more_than_github(word: Word) -> None:
    assert settle(1, [event("landed", "a")], word) == settle(1, [event("landed", "a")])
