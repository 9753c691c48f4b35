import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from kwdb.search import search_pages
from kwdb.search.spelling import correct_word, edit_distance, nearest_word
from kwdb.text import trigrams

WORDS = st.text("abcdeé", max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("swizzle", "swizzle", 0),
        ("swizle", "swizzle", 1),
        ("swizzel", "swizzle", 1),
        ("persistant", "persistent", 1),
        ("alocatoin", "allocation", 2),
        ("", "tma", 3),
        ("ca", "abc", 3),
    ],
)
def test_edit_distance(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == distance


@given(one=WORDS, other=WORDS, third=WORDS)
def test_distance_is_one(one: str, other: str, third: str) -> None:
    between = edit_distance(one, other)
    assert between == edit_distance(other, one)
    assert (between == 0) == (one == other)
    assert abs(len(one) - len(other)) <= between <= max(len(one), len(other))


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("tensr", ["tensor", "sensor"], "tensor"),
        ("swizzeling", ["swizzling", "sizzling"], "swizzling"),
        ("tema", ["tensor"], None),
        ("autovacuum", ["automatic", "vacuum"], None),
        ("swizzle", ["swizzle"], None),
        ("anything", [], None),
    ],
)
def test_the_nearest_word(word: str, known: list[str], meant: str | None) -> None:
    assert nearest_word(word, known) == meant


@given(word=st.text(min_size=1, max_size=20))
def test_trigrams_hold_the_word(word: str) -> None:
    found = trigrams(word)
    assert all(len(part) == 3 for part in found)
    assert f"  {word[0]}" in found


@pytest.mark.parametrize("word", ["swizling", "swizzlng", "swizzilng", "swwizzling"])
def test_a_slip_is_put_right(world: sa.Connection, word: str) -> None:
    assert correct_word(world, word) == "swizzling"


@pytest.mark.parametrize("word", ["tm", "sm1000", "9475", "sourdough", "%", "' OR 1=1"])
def test_what_is_no_slip_stays(world: sa.Connection, word: str) -> None:
    assert correct_word(world, word) is None


def test_the_answer_says_what_was_put_right(world: sa.Connection) -> None:
    found = search_pages(world, "Zebrawod swizlling")
    assert found.corrected == "zebrawood swizzling"
    assert found.results[0].id == search_pages(world, "zebrawood swizzling").results[0].id


def test_a_known_word_is_left_alone(world: sa.Connection) -> None:
    assert search_pages(world, "zebrawood swizzling").corrected is None
