import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwdb.text import fold, headings, storable, without_credentials


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("cta_group::2", "cta group 2"),
        ("CTA group 2", "cta group 2"),
        ("  tcgen05.mma ", "tcgen05 mma"),
        ("split-K", "split k"),
        ("Größe", "grösse"),
        ("_", ""),
        ("", ""),
        ("2×SM", "2 sm"),
        ("核", "核"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_fold_again_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_fold_leaves_letters_digits_and_single_blanks(text: str) -> None:
    folded = fold(text)
    assert all(sign == " " or sign.isalnum() for sign in folded)
    assert folded.split(" ") == folded.split() or folded == ""


@given(st.text(alphabet="aB9", min_size=1), st.text(alphabet="_-.: /\n", min_size=1))
def test_fold_knows_no_difference_between_separators(word: str, between: str) -> None:
    assert fold(f"{word}{between}{word}") == fold(f"{word} {word}")


@pytest.mark.parametrize(
    ("markdown", "found"),
    [
        pytest.param("# One\ntext\n## Two ##\n", "One\nTwo", id="levels"),
        pytest.param("   ### indented", "indented", id="three-blanks"),
        pytest.param("    # code", "", id="four-blanks"),
        pytest.param("#tag\n####### seven", "", id="no-heading"),
        pytest.param("# C# kernels", "C# kernels", id="sign-inside"),
        pytest.param("text", "", id="none"),
        pytest.param("", "", id="empty"),
        pytest.param("#\n\ntext below", "", id="empty-heading"),
    ],
)
def test_headings(markdown: str, found: str) -> None:
    assert headings(markdown) == found


@given(st.text(alphabet="# a\n\t"))
def test_headings_are_parts_of_their_lines(markdown: str) -> None:
    for heading in filter(None, headings(markdown).split("\n")):
        assert any(heading in line for line in markdown.split("\n"))


def test_headings_take_time_in_proportion() -> None:
    """Bodies come from strangers: a run of blanks must not make the search cubic."""
    began = time.perf_counter()
    headings("# a" + " " * 2_000 + "b")
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("text", "stored"),
    [("", ""), ("a\0b", "a\ufffdb"), ("x\ud800y", "x\\ud800y"), ("\r\nß核", "\r\nß核")],
    ids=["empty", "nul", "surrogate", "as-it-is"],
)
def test_storable(text: str, stored: str) -> None:
    assert storable(text) == stored


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at https://jane:secret@git.example/x: refused", "at https://git.example/x: refused"),
        ("'http://token@host'", "'http://host'"),
        ("mail a@b, path //x/y@z", "mail a@b, path //x/y@z"),
    ],
    ids=["password", "token", "no-credentials"],
)
def test_without_credentials(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
