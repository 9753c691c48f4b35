import pytest
import sqlalchemy as sa

from kwdb.search import postings
from kwdb.search.postings import Fts5Postings

pytestmark = pytest.mark.parametrize("world_url", ["sqlite"], indirect=True)


@pytest.fixture
def crowded(world: sa.Connection, monkeypatch: pytest.MonkeyPatch) -> Fts5Postings:
    """The index over a budget of three pages; a word on more than five is counted on part."""
    monkeypatch.setattr(Fts5Postings, "budget", 3)
    monkeypatch.setattr(postings, "_COUNTED_POSTINGS", 5)
    monkeypatch.setattr(postings, "_SMALL", 3)
    return Fts5Postings(world)


def pages_with(connection: sa.Connection, query: str) -> set[int]:
    found = sa.text("SELECT rowid FROM page_index WHERE page_index MATCH :query")
    return set(connection.execute(found, {"query": query}).scalars())


@pytest.mark.parametrize("word", ["zebrawood", "quagga", "gemm", "kernel", "sourdough"])
def test_a_frequent_word_is_counted_on_part_of_the_pages(
    world: sa.Connection, crowded: Fts5Postings, word: str
) -> None:
    held, counted = len(pages_with(world, word)), crowded.count(word)
    assert counted == held if held < 5 else counted >= 5
    assert counted <= crowded.total


def test_a_word_on_too_many_pages_is_looked_for_on_top(
    world: sa.Connection, crowded: Fts5Postings
) -> None:
    on_top = pages_with(world, "{id title tags headings} : gemm")
    found = crowded.scores("gemm")
    assert found.keys() <= on_top < pages_with(world, "gemm")
    assert set(found.values()) == {crowded.rarity(crowded.count("gemm"))}


def test_a_word_that_is_never_on_top_is_taken_where_it_is(
    world: sa.Connection, crowded: Fts5Postings
) -> None:
    assert not pages_with(world, "{id title tags headings} : shown")
    assert crowded.scores("shown").keys() <= pages_with(world, "shown")


def test_a_small_index_is_read_once_for_count_and_score(
    world: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Fts5Postings(world)
    held = index.count("zebrawood")
    monkeypatch.setattr(index, "_rows", None)
    assert len(index.scores("zebrawood")) == held == len(pages_with(world, "zebrawood"))


def test_a_small_index_knows_the_full_score_of_a_word_beside_others(world: sa.Connection) -> None:
    index = Fts5Postings(world)
    rare, common = index.scores("quagga"), index.scores("zebrawood")
    beside = index.scores_among("zebrawood", {"quagga": rare})
    assert beside == {pk: common[pk] for pk in rare.keys() & common.keys()}


def test_a_word_beside_others_adds_its_rarity(world: sa.Connection, crowded: Fts5Postings) -> None:
    rare = crowded.scores("quagga")
    beside = crowded.scores_among("zebrawood", {"quagga": rare})
    assert beside.keys() == rare.keys() & pages_with(world, "zebrawood")
    assert set(beside.values()) == {crowded.rarity(crowded.count("zebrawood"))}
