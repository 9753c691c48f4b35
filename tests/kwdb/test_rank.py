from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from kwdb.search import Filters, postings, search_pages
from kwdb.search.intent import read_intent
from kwdb.search.postings import Postings, Scores, open_postings
from kwdb.search.rank import (
    Candidate,
    Intent,
    Matches,
    final_score,
    first_scores,
    link_bonuses,
    match_terms,
    stems,
)
from kwdb.search.terms import Term, parse_terms

DAY = date(2026, 8, 1)
PAGE = Candidate(1, "technique-swizzling", "wiki-technique", "Swizzling of tiles", None, False)


class FakePostings(Postings):
    """An index of a hundred pages that is given by hand."""

    budget = rare_budget = 10

    def __init__(self, index: Mapping[str, Scores]) -> None:
        self.index = index
        self.among: list[str] = []

    total = 100

    def count(self, phrase: str) -> int:
        return len(self.scores(phrase))

    def scores(self, phrase: str) -> Scores:
        return dict(self.index.get(phrase, {}))

    def scores_among(self, phrase: str, found: Mapping[str, Scores]) -> Scores:
        self.among.append(phrase)
        keys = {pk for known in found.values() for pk in known}
        return {pk: score for pk, score in self.scores(phrase).items() if pk in keys}


def matched(index: Mapping[str, Scores], *terms: Term) -> Matches:
    fake = FakePostings(index)
    counts = [sum(fake.count(phrase) for phrase in term.phrases) for term in terms]
    return match_terms(fake, terms, counts)


def test_scores_of_terms_add_up_and_the_best_phrase_of_a_term_counts() -> None:
    index = {"umma": {1: 2.0}, "tcgen05": {1: 9.0, 2: 5.0}, "gemm": {2: 1.0}}
    found = matched(index, Term(("umma", "tcgen05")), Term(("gemm",)))
    assert found.scores == {1: pytest.approx(5.4), 2: pytest.approx(4.0)}
    assert found.is_exact


def test_coverage_is_the_share_of_the_query_by_rarity() -> None:
    index = {"rare": {1: 1.0}, "common": dict.fromkeys(range(1, 9), 1.0)}
    found = matched(index, Term(("rare",)), Term(("common",)))
    assert found.coverage[1] == pytest.approx(1.0)
    assert 0 < found.coverage[2] < 0.5
    unknown = matched(index, Term(("common",)), Term(("unheard",)))
    assert unknown.coverage[1] < 0.5


def test_words_side_by_side_count_more() -> None:
    index = {"stream": {1: 1.0, 2: 1.0}, "k": {1: 1.0, 2: 1.0}, "stream k": {2: 1.0}}
    apart = matched(index, Term(("stream",), 0, 1), Term(("k",), 2, 3))
    assert apart.scores[1] == apart.scores[2]
    beside = matched(index, Term(("stream",), 0, 1), Term(("k",), 1, 2))
    joined = matched(index, Term(("stream",), 0, 1), Term(("k",), 1, 2, is_joined=True))
    assert apart.scores[2] < beside.scores[2] < joined.scores[2]


def test_over_the_budget_frequent_words_only_add() -> None:
    index = {"rare": {1: 1.0, 2: 1.0}, "common": dict.fromkeys(range(2, 60), 1.0)}
    found = matched(index, Term(("common",)), Term(("rare",)))
    assert (found.is_exact, found.scores) == (False, {1: 1.0, 2: 2.0})


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.dictionaries(st.integers(1, 9), st.floats(0.1, 9), max_size=9),
        max_size=4,
    )
)
def test_coverage_is_a_share(index: dict[str, Scores]) -> None:
    found = matched(index, *(Term((word,)) for word in "abcd"))
    assert found.scores.keys() == found.coverage.keys()
    assert all(0 < share <= 1 + 1e-9 for share in found.coverage.values())


def test_synthesis_stands_before_pull_requests_unless_they_are_asked_for() -> None:
    matches = Matches({1: 1.0, 2: 1.0}, {1: 1.0, 2: 1.0}, True)
    types = {1: "source-pr", 2: "wiki-technique"}
    plain = first_scores(matches, types, Intent())
    named = first_scores(matches, types, Intent(repository=True))
    asked = first_scores(matches, types, Intent(pull_requests=True, repository=True))
    assert plain[1] < named[1] < named[2] < asked[1]


def scored(page: Candidate, query: str, *terms: Term, recent: bool = False) -> float:
    return final_score(page, 1.0, query, terms, Intent(recent=recent), DAY)


def test_title_name_and_fullness_count() -> None:
    plain = scored(PAGE, "bank conflicts")
    assert plain < scored(PAGE, "swizzled conflicts") < scored(PAGE, "Swizzling")
    assert plain < scored(PAGE, "xor layout", Term(("xor layout", "swizzling")))
    assert scored(replace(PAGE, is_stub=True), "bank conflicts") < plain


def test_a_page_is_found_by_its_own_names() -> None:
    page = replace(PAGE, aliases=frozenset({"xor layout"}))
    assert scored(page, "XOR layout") == 3 * scored(PAGE, "XOR layout")
    term = Term(("xor layout",))
    assert scored(page, "how the xor layout works", term) == pytest.approx(
        2 * scored(PAGE, "how the xor layout works", term)
    )


def test_a_page_is_found_by_what_an_alias_stands_for() -> None:
    page = replace(PAGE, id="hw-tcgen05-mma", title="The instruction")
    umma, typed = Term(("umma", "tcgen05")), Term(("tcgen05",))
    assert scored(page, "umma", umma) == 2 * scored(page, "umma")
    assert scored(page, "umma", typed) == scored(page, "umma")


def test_what_is_new_counts_only_where_asked_for() -> None:
    new, old = (replace(PAGE, published_on=DAY - timedelta(days=days)) for days in (10, 900))
    assert scored(new, "x") == scored(old, "x") == scored(PAGE, "x")
    recent = [scored(page, "x", recent=True) for page in (new, old, PAGE)]
    assert recent == sorted(recent, reverse=True)
    future = replace(PAGE, published_on=DAY + timedelta(days=99))
    assert scored(future, "x", recent=True) == scored(PAGE, "x")


def test_links_lift_up_to_a_share_of_the_best() -> None:
    links = [("best", "b"), ("c", "best"), ("d", "e"), *(("best", "f"),) * 9]
    gains = link_bonuses({"best": 10.0}, links)
    assert gains["b"] > gains["c"] > 0
    assert gains["f"] == pytest.approx(4.0)
    assert "d" not in gains
    assert link_bonuses({}, links) == {}


def test_stems_meet() -> None:
    assert stems("Swizzling swizzles kernels") == stems("swizzl swizzled kernel")
    assert stems("as is") == {"as", "is"}


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("tensor memory", Intent()),
        ("which PR added stream-K", Intent(pull_requests=True)),
        ("cutlass 2472", Intent(pull_requests=True, repository=True)),
        ("vllm#20646", Intent(pull_requests=True, repository=True)),
        ("2472", Intent(pull_requests=True)),
        ("fixed in #2472", Intent(pull_requests=True)),
        ("128 bit loads", Intent()),
        ("vllm moe kernel", Intent(repository=True)),
        ("DeepGEMM", Intent()),
        ("latest flash attention", Intent(recent=True)),
        ("approximate prefix", Intent()),
        ("", Intent()),
    ],
)
def test_intents(world: sa.Connection, text: str, intent: Intent) -> None:
    assert read_intent(world, text) == intent


@pytest.mark.parametrize(
    "text", ["sourdough hydration", "zebrawood sourdough hydration schedule", "autovacuum settings"]
)
def test_what_no_page_covers_is_refused(world: sa.Connection, text: str) -> None:
    found = search_pages(world, text)
    assert (found.total, found.results) == (0, [])


def test_linked_pages_keep_to_the_filter(world: sa.Connection) -> None:
    found = search_pages(world, "tensor memory", Filters(type="technique"), limit=50)
    assert found.results
    assert {hit.type for hit in found.results} == {"wiki-technique"}


def test_an_identifier_is_one_thing(world: sa.Connection) -> None:
    terms = parse_terms(world, "csrc/umma_gemm.cu zebrawood")
    assert [term.is_joined for term in terms] == [False, True, True, True, False]


@pytest.mark.parametrize("budgets", [(1, 1), (5, 3), (40, 20)])
def test_a_small_budget_finds_the_same_best_page(
    world: sa.Connection, monkeypatch: pytest.MonkeyPatch, budgets: tuple[int, int]
) -> None:
    wanted = search_pages(world, "quagga epilogue zebrawood gemm").results[0].id
    kind = type(open_postings(world))
    monkeypatch.setattr(kind, "budget", budgets[0])
    monkeypatch.setattr(kind, "rare_budget", budgets[1])
    found = search_pages(world, "quagga epilogue zebrawood gemm")
    assert (found.results[0].id, found.total_is_exact) == (wanted, False)


def test_pages_found_beside_rare_words_score_as_if_alone(
    world: sa.Connection, scores_of: Callable[[str], Scores]
) -> None:
    index = open_postings(world)
    rare, common = scores_of("quagga"), scores_of("zebrawood")
    beside = index.scores_among("zebrawood", {"quagga": rare})
    assert beside.keys() == rare.keys() & common.keys()
    assert all(score == pytest.approx(common[pk], rel=1e-4) for pk, score in beside.items())


@pytest.mark.parametrize(
    "world_url", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
def test_of_the_pages_with_the_words_of_a_phrase_so_many_are_read(
    world: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = open_postings(world).scores("tensor memory")
    monkeypatch.setattr(postings, "_READ_FOR_PHRASE", 5)
    part = open_postings(world).scores("tensor memory")
    assert len(whole) > 5 >= len(part)
    assert part.keys() < whole.keys()


@pytest.fixture
def scores_of(world: sa.Connection) -> Callable[[str], Scores]:
    return open_postings(world).scores
