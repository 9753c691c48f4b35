import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.linker import History, link, title_of
from kwdb.records import CommitRecord, LinkRecord

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
NAMES = frozenset({"acme/kernels", "acme/old-kernels"})
HEADS = {number: f"{number:040x}" for number in (1, 2, 5, 7, 9, 30, 31, 3595, 3644)}
SHA_A, SHA_B = "a" * 40, "b" * 40
TRAILER = "Pull Request resolved: https://github.com/acme/kernels/pull/"


def commit(
    subject: str, body: str = "", *, sha: str = "f" * 40, committer: str = "GitHub"
) -> CommitRecord:
    message = f"{subject}\n\n{body}" if body else subject
    return CommitRecord(sha, None, committer, NOON, NOON, subject, message)


def links(found: list[LinkRecord]) -> list[tuple[int, str, str]]:
    return [(one.number, one.role, one.rule) for one in found]


def linked(history: History, *earlier: CommitRecord) -> list[tuple[int, str, str]]:
    """Link commits one after the other as a harvest does; return the links of the last."""
    found: list[LinkRecord] = []
    for one in earlier:
        found = link(one, history)
        history.remember(one.sha, one.subject, one.message, found)
    return links(found)


def squash() -> History:
    return History(NAMES, "squash", HEADS)


def pytorch() -> History:
    return History(NAMES, "pytorch", HEADS)


LANDS = {
    "suffix": ("Fuse the epilogue (#7)", [(7, "landed", "suffix")]),
    "suffix-and-blanks": ("Fuse the epilogue (#7)  ", [(7, "landed", "suffix")]),
    "last-of-several": ("Pick the fix (#3595) (#3644)", [(3644, "landed", "suffix")]),
    "issue-inside": ("Fix #5 in the scheduler (#7)", [(7, "landed", "suffix")]),
    "foreign-number": ("Sync from upstream (#12345)", []),
    "known-then-foreign": ("Sync (#7) (#12345)", []),
    "number-not-at-the-end": ("Fuse (#7) the epilogue", []),
    "bare-number": ("Fuse the epilogue #7", []),
    "no-number": ("Fuse the epilogue", []),
    "empty": ("", []),
    "merge": ("Merge pull request #9 from jane/tma-store", [(9, "landed", "merge")]),
    "merge-of-foreign": ("Merge pull request #99 from jane/tma-store", []),
    "merge-of-branch": ("Merge branch 'main' into dev", []),
    "suffix-before-merge": (
        "Merge pull request #9 from jane/x (#7)",
        [(7, "landed", "suffix")],
    ),
    "reland": (
        'Reland "Fuse the epilogue (#5)" (#7)',
        [(7, "landed", "suffix"), (5, "relands", "relands_subject")],
    ),
    "re-land": (
        "Re-land #5: fuse the epilogue (#7)",
        [(7, "landed", "suffix"), (5, "relands", "relands_subject")],
    ),
    "cherry-pick": (
        "[Cherry-pick] Fuse the epilogue (#5) (#7)",
        [(7, "landed", "suffix"), (5, "cherry_pick", "cherry_pick_subject")],
    ),
    "cherry-pick-of-foreign": ("cherry pick of #12345 (#7)", [(7, "landed", "suffix")]),
}


@pytest.mark.parametrize(("subject", "expected"), LANDS.values(), ids=LANDS.keys())
def test_what_a_subject_lands(subject: str, expected: list[tuple[int, str, str]]) -> None:
    assert linked(squash(), commit(subject)) == expected


def test_a_remote_without_pull_refs_leaves_numbers_unchecked() -> None:
    history = History(NAMES, "squash", {})
    assert linked(history, commit("Fuse (#12345)")) == [(12345, "landed", "suffix_unchecked")]


def test_merge_style_believes_the_merge_first() -> None:
    history = History(NAMES, "merge", HEADS)
    found = linked(history, commit("Merge pull request #9 from jane/x (#7)"))
    assert found == [(9, "landed", "merge")]


@pytest.mark.parametrize("landing", ["squash", "merge", "pytorch"])
def test_a_head_that_stands_on_the_branch(landing: str) -> None:
    history = History(NAMES, landing, HEADS)
    found = linked(history, commit("Rebase and push", sha=HEADS[31]))
    assert found == [(31, "landed", "head_on_branch")]


def test_the_first_of_two_pull_requests_with_one_head() -> None:
    history = History(NAMES, "squash", {9: SHA_A, 7: SHA_A, 30: SHA_A})
    assert linked(history, commit("x", sha=SHA_A)) == [(7, "landed", "head_on_branch")]


def test_a_bot_names_the_original() -> None:
    found = linked(squash(), commit("Fuse (#7)", f"ghstack-source-id: 1\n{TRAILER}5"))
    assert found == [(7, "landed", "suffix"), (5, "original", "trailer")]


TRAILERS = {
    "one": ("Fuse", f"{TRAILER}5", "pytorchmergebot", [(5, "landed", "trailer")]),
    "former-name": (
        "Fuse",
        "Pull Request resolved: https://github.com/Acme/Old-Kernels/pull/5",
        "pytorchmergebot",
        [(5, "landed", "trailer")],
    ),
    "foreign": (
        "Fuse",
        "Pull Request resolved: https://github.com/acme/docs/pull/5",
        "pytorchmergebot",
        [],
    ),
    "mergebot-last": (
        "Fuse",
        f"as before:\n{TRAILER}5\n\n{TRAILER}7",
        "pytorchmergebot",
        [(7, "landed", "trailer")],
    ),
    "shipit-first": (
        "Fuse",
        f"{TRAILER}5\n\nquoted:\n{TRAILER}7",
        "Facebook GitHub Bot",
        [(5, "landed", "trailer")],
    ),
    "suffix-among-trailers": (
        "Fuse (#5)",
        f"{TRAILER}5\n{TRAILER}7",
        "pytorchmergebot",
        [(5, "landed", "suffix_and_trailer")],
    ),
    "trailer-over-suffix": (
        "Fuse (#30)",
        f"{TRAILER}7",
        "pytorchmergebot",
        [(7, "landed", "trailer")],
    ),
    "within-a-line": ("Fuse", f"see {TRAILER}5", "pytorchmergebot", []),
    "none": ("Fuse (#7)", "text", "GitHub", [(7, "landed", "suffix")]),
}


@pytest.mark.parametrize(
    ("subject", "body", "committer", "expected"), TRAILERS.values(), ids=TRAILERS.keys()
)
def test_trailers(
    subject: str, body: str, committer: str, expected: list[tuple[int, str, str]]
) -> None:
    assert linked(pytorch(), commit(subject, body, committer=committer)) == expected


FUSED = commit("Fuse the epilogue (#5)", sha=SHA_A)
BARE = commit("Tune the tile order", TRAILER + "5", sha=SHA_A)
REVERTS = {
    "own-number": (
        'Revert "Fuse the epilogue (#5)" (#7)',
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_quoted")],
    ),
    "no-own-number": ('Revert "Fuse the epilogue (#5)"', "", [(5, "reverts", "reverts_quoted")]),
    "prefix": (
        '[Bugfix][Core] Revert "Fuse the epilogue (#5)" (#7)',
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_quoted")],
    ),
    "back-out": ('Back out "Fuse the epilogue (#5)"', "", [(5, "reverts", "reverts_quoted")]),
    "truncated": (
        'Revert "Fuse the epilogue (#5) (#7)',
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_quoted")],
    ),
    "title": (
        'Revert "Fuse the epilogue" (#7)',
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_title")],
    ),
    "unknown-title": ('Revert "Never seen" (#7)', "", [(7, "landed", "suffix")]),
    "sha": (
        "Revert the fusion (#7)",
        f"This reverts commit {SHA_A}.",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_commit")],
    ),
    "short-sha": (
        "Revert the fusion",
        f"This reverts commit {SHA_A[:9]}.",
        [(5, "reverts", "reverts_commit")],
    ),
    "sha-of-13": (
        "Revert the fusion",
        f"This reverts commit {SHA_A[:13]}",
        [(5, "reverts", "reverts_commit")],
    ),
    "unknown-sha": ("Revert the fusion", f"This reverts commit {SHA_B}.", []),
    "number-in-subject": (
        "Revert #5 (#7)",
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_subject")],
    ),
    "pr-in-subject": (
        "Revert PR 5 (#7)",
        "",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_subject")],
    ),
    "number-in-body": (
        "Revert the fusion (#7)",
        "Reverts #5",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_number")],
    ),
    "slug-in-body": (
        "Revert the fusion (#7)",
        "Reverts acme/kernels#5",
        [(7, "landed", "suffix"), (5, "reverts", "reverts_number")],
    ),
    "foreign-slug-in-body": (
        "Revert the fusion (#7)",
        "Reverts acme/docs#5",
        [(7, "landed", "suffix")],
    ),
    "foreign-number": ('Revert "Sync (#12345)" (#7)', "", [(7, "landed", "suffix")]),
    "not-a-revert": (
        "Explain why we had to fuse (#7)",
        f"This reverts commit {SHA_A}.\nReverts #5",
        [(7, "landed", "suffix")],
    ),
}


@pytest.mark.parametrize(("subject", "body", "expected"), REVERTS.values(), ids=REVERTS.keys())
def test_reverts(subject: str, body: str, expected: list[tuple[int, str, str]]) -> None:
    assert linked(squash(), FUSED, commit(subject, body)) == expected


def test_the_revert_of_a_revert_brings_the_first_back() -> None:
    undone = commit('Revert "Fuse the epilogue (#5)" (#7)', sha=SHA_B)
    again = commit('Revert "Revert "Fuse the epilogue (#5)" (#7)" (#9)')
    assert linked(squash(), FUSED, undone, again) == [
        (9, "landed", "suffix"),
        (7, "reverts", "reverts_quoted"),
        (5, "relands", "reverts_quoted"),
    ]


def test_the_revert_of_a_revert_without_numbers_of_their_own() -> None:
    undone = commit('Revert "Tune the tile order"', f"This reverts commit {SHA_A}.", sha=SHA_B)
    again = commit("Revert the revert", f"This reverts commit {SHA_B}.")
    assert linked(pytorch(), BARE, undone) == [(5, "reverts", "reverts_title")]
    assert linked(pytorch(), BARE, undone, again) == [(5, "relands", "reverts_commit")]


def test_what_came_back_can_be_reverted_once_more() -> None:
    undone = commit("Revert it", f"This reverts commit {SHA_A}.", sha=SHA_B)
    again = commit("Revert the revert", f"This reverts commit {SHA_B}.", sha="c" * 40)
    last = commit("Revert it for good", f"This reverts commit {'c' * 40}.")
    assert linked(squash(), FUSED, undone, again, last) == [(5, "reverts", "reverts_commit")]


DIFF = commit(
    "Tune the tile order",
    f"fbshipit-source-id: {'0123456789ab'}\n\nDifferential Revision: D777\n{TRAILER}5",
    sha=SHA_A,
    committer="Facebook GitHub Bot",
)
DIFFS = {
    "revert-diff": ("Revert D777: Tune the tile order", "", "reverts_diff"),
    "back-out-diff": ("Back out D777", "", "reverts_diff"),
    "changeset": (
        'Back out "something else"',
        "Original commit changeset: 0123456789ab",
        "reverts_changeset",
    ),
    "url": (
        "Revert the tile order",
        f"D777 (https://github.com/acme/kernels/commit/{SHA_A})",
        "reverts_url",
    ),
}


@pytest.mark.parametrize(("subject", "body", "rule"), DIFFS.values(), ids=DIFFS.keys())
def test_reverts_of_phabricator(subject: str, body: str, rule: str) -> None:
    assert linked(pytorch(), DIFF, commit(subject, body)) == [(5, "reverts", rule)]


def test_a_quoted_phabricator_revert_has_landed_nothing() -> None:
    undone = commit("Revert D777: Tune the tile order", sha=SHA_B)
    again = commit('Revert "Revert D777: Tune the tile order (#5)" (#9)')
    found = linked(pytorch(), DIFF, undone, again)
    assert (5, "reverts", "reverts_quoted") not in found
    assert found[0] == (9, "landed", "suffix")


def test_one_commit_says_one_thing_of_a_number() -> None:
    found = linked(squash(), FUSED, commit('Revert "Fuse the epilogue (#5)"', "Reverts #5"))
    assert found == [(5, "reverts", "reverts_quoted")]


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("Fuse the epilogue (#7)", "Fuse the epilogue"),
        ("Pick the fix (#3595) (#3644)", "Pick the fix (#3595)"),
        ("No number", "No number"),
        ("(#7)", ""),
        ("", ""),
    ],
)
def test_title_of(subject: str, title: str) -> None:
    assert title_of(subject) == title


TOO_LARGE = {
    "subject": ("Fuse (#99999999999999999999)", ""),
    "merge": ("Merge pull request #99999999999999999999 from a/b", ""),
    "trailer": ("Fuse", f"{TRAILER}99999999999999999999"),
    "revert": ("Revert #99999999999999999999", "Reverts #99999999999999999999"),
    "thousands-of-digits": (f"Fuse (#{'9' * 5000})", f"{TRAILER}{'9' * 5000}"),
    "quoted": (f'Revert "x (#{"9" * 5000})"', ""),
}


@pytest.mark.parametrize("landing", ["squash", "pytorch"])
@pytest.mark.parametrize(("subject", "body"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_numbers_that_no_column_holds_are_no_numbers(subject: str, body: str, landing: str) -> None:
    assert linked(History(NAMES, landing, {}), commit(subject, body)) == []


def test_digits_of_other_scripts_are_no_numbers() -> None:
    assert linked(History(NAMES, "squash", {}), commit("Fuse (#١٢)")) == []


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        pytest.param("Revert" + " " * 20_000 + "x", "", id="blanks-in-revert"),
        pytest.param('Revert "' * 20_000, "", id="quotes"),
        pytest.param("[a] " * 50_000 + "Revert", "", id="prefixes"),
        pytest.param("(#7) " * 50_000 + "x", "", id="numbers"),
        pytest.param("Revert x", "reverts " + "a" * 200_000 + "/", id="long-slug"),
        pytest.param("Revert x", "Pull Request resolved:" + "\n" * 200_000, id="line-feeds"),
    ],
)
def test_long_texts_take_no_long_time(subject: str, body: str) -> None:
    began = time.perf_counter()
    linked(squash(), commit(subject, body))
    assert time.perf_counter() - began < 1


PARTS = st.sampled_from(
    [
        "Revert ",
        '"',
        "(#5)",
        "(#7)",
        "#9",
        " ",
        "Back out ",
        "D777",
        ": ",
        "Reland ",
        "cherry-pick ",
        "Merge pull request #9 from a/b",
        f"This reverts commit {SHA_A}",
        f"\n{TRAILER}5",
        "\nReverts #5",
        "[x] ",
        "(#",
        "fuse",
    ]
)
TEXTS = st.lists(PARTS | st.text(max_size=5), max_size=12).map("".join)


@settings(deadline=None)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=4),
    st.sampled_from(["squash", "merge", "pytorch"]),
    st.booleans(),
)
def test_any_text_is_linked_the_same_each_time(
    texts: list[tuple[str, str]], landing: str, has_heads: bool
) -> None:
    commits = [commit(s, b, sha=f"{n:040x}") for n, (s, b) in enumerate(texts)]
    heads = HEADS if has_heads else {}
    first = linked(History(NAMES, landing, heads), *commits)
    assert linked(History(NAMES, landing, heads), *commits) == first
    numbers = [number for number, _, _ in first]
    assert len(numbers) == len(set(numbers))
    assert not has_heads or landing == "pytorch" or set(numbers) <= HEADS.keys()


def test_a_trailer_names_its_repository_and_needs_no_pull_ref() -> None:
    assert linked(pytorch(), commit("Fuse", f"{TRAILER}12345")) == [(12345, "landed", "trailer")]
