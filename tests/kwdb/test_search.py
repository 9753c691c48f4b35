from collections.abc import Callable
from datetime import date

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwdb.db import write_transaction
from kwdb.errors import UnknownValueError
from kwdb.search import Filters, search_pages
from kwdb.search.snippet import cut_snippet
from kwdb.search.terms import Term, parse_terms, to_fts5, to_tsqueries
from kwdb.store.index import reindex
from kwdb.store.pages import retire_pages

C2, C4, C5, C7 = (f"pr-cutlass-{number}" for number in (9472, 9474, 9475, 9477))
K1, K2 = "pr-kernels-1", "pr-kernels-2"
ZORSE = "kernel-zorse"


def ids(connection: sa.Connection, text: str, filters: Filters | None = None) -> list[str]:
    found = search_pages(connection, text, filters, limit=1000)
    assert (found.total, found.total_is_exact) == (len(found.results), True)
    return sorted(hit.id for hit in found.results)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("UMMA", [("umma", "tcgen05")]),
        ("how is the tcgen05.mma", [("tcgen05 mma", "tcgen05")]),
        ("tensor memory", [("tensor memory", "tmem")]),
        ("tensor memory accelerator", [("tensor memory accelerator", "tma")]),
        ("tensor memory loads", [("tensor memory", "tmem"), ("loads",)]),
        ("sparse MLA", [("sparse mla", "mla", "sparse attention")]),
        ("zebrawood Zebrawood", [("zebrawood",)]),
        ("what is the", []),
        ("-- ;'\"() * ^", []),
        ("", []),
    ],
    ids=lambda value: value or "nothing" if isinstance(value, str) else "",
)
def test_words_become_terms(world: sa.Connection, text: str, terms: list[tuple[str, ...]]) -> None:
    assert [term.phrases for term in parse_terms(world, text)] == terms


def test_terms_are_written_for_each_engine() -> None:
    terms = [Term(("tensor memory", "tmem")), Term(("gemm",))]
    assert to_fts5(terms) == '"tensor memory" OR "tmem" OR "gemm"'
    assert to_tsqueries(terms) == ["('tensor' <-> 'memory')", "('tmem')", "('gemm')"]


def test_a_very_long_query_is_cut(world: sa.Connection) -> None:
    assert len(parse_terms(world, " ".join(f"w{number}" for number in range(500)))) == 64


ODD = (
    "NEAR(a b) AND NOT",
    'a"b',
    "col: x*",
    "^title",
    "a & | ! <-> (",
    "\x00zebrawood",
    "\ud800",
    "😀 ß İ ﬁ",
    "'; DROP TABLE pages; --",
    "%s %(terms)s :terms",
    "١٢٣ ² ½",
    "x" * 100_000,
    "a " * 5_000,
)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_are_queries(world: sa.Connection, text: str) -> None:
    assert search_pages(world, text).total >= 0


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(max_size=60))
def test_any_text_is_a_query(world: sa.Connection, text: str) -> None:
    assert search_pages(world, text, limit=3).total_is_exact


ALL = sorted((C2, C4, C5, C7, K1, K2, ZORSE))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        pytest.param(Filters(), ALL, id="none"),
        pytest.param(Filters(type="pr"), [C2, C4, C5, C7, K1, K2], id="type"),
        pytest.param(Filters(type="wiki-kernel"), [ZORSE], id="full-type"),
        pytest.param(Filters(type="kernel"), [ZORSE], id="short-type"),
        pytest.param(Filters(tags=("gemm",)), [C2, C4, C7], id="tag"),
        pytest.param(Filters(tags=("kernel_type:gemm",)), [C2, C4, C7], id="facet-tag"),
        pytest.param(Filters(tags=("UMMA",)), [C2], id="alias"),
        pytest.param(Filters(tags=("gemm", "B200")), [C2, C4], id="both-tags"),
        pytest.param(Filters(repo="kernels"), [K1, K2], id="slug"),
        pytest.param(Filters(repo="nvidia/CUTLASS"), [C2, C4, C5, C7], id="full-name"),
        pytest.param(Filters(architecture="sm100"), [C2, C4, C5], id="architecture"),
        pytest.param(Filters(architecture="B200"), [C2, C4, C5], id="product"),
        pytest.param(Filters(architecture="Hopper"), [C7], id="family"),
        pytest.param(Filters(architecture="sm120"), [ZORSE], id="manual-tag"),
        pytest.param(Filters(architecture="sm121"), [], id="no-leak-from-a-neighbour"),
        pytest.param(Filters(architecture="sm100", exact=True), [C2, C4], id="exact"),
        pytest.param(Filters(architecture="sm90", exact=True), [], id="family-only"),
        pytest.param(Filters(architecture="sm120", exact=True), [ZORSE], id="exact-manual"),
        pytest.param(Filters(exact=True), ALL, id="exact-alone"),
        pytest.param(Filters(language="triton"), [K1], id="language"),
        pytest.param(Filters(language="CUDA C++"), [C2, C4, C5, C7, K2], id="language-alias"),
        pytest.param(Filters(symptom="DRAM bound"), [ZORSE], id="symptom"),
        pytest.param(Filters(confidence="verified"), [ZORSE], id="confidence"),
        pytest.param(Filters(since=date(2023, 11, 15)), [C4, C5, C7], id="since"),
        pytest.param(Filters(has_claims=True, type="kernel"), [ZORSE], id="has-claims"),
        pytest.param(
            Filters(type="pr", repo="cutlass", tags=("gemm",), architecture="sm100"),
            [C2, C4],
            id="four",
        ),
        pytest.param(Filters(repo="kernels", architecture="sm100"), [], id="nothing-holds-both"),
    ],
)
def test_filters(world: sa.Connection, filters: Filters, found: list[str]) -> None:
    assert ids(world, "zebrawood", filters) == found


def test_filters_alone_find_all_that_they_let_through(world: sa.Connection) -> None:
    found = search_pages(world, "", Filters(repo="cutlass"))
    assert (found.total, [hit.id for hit in found.results]) == (4, [C4, C5, C7, C2])


def test_exact_counts_what_it_leaves_out(world: sa.Connection) -> None:
    filters = Filters(architecture="sm100", exact=True)
    assert search_pages(world, "zebrawood", filters).excluded["family"] == 1
    loose = search_pages(world, "zebrawood", Filters(architecture="sm100"))
    assert set(loose.excluded) == {"unknown"}


def test_exact_counts_within_the_other_filters(world: sa.Connection) -> None:
    filters = Filters(repo="kernels", architecture="sm100", exact=True)
    assert search_pages(world, "zebrawood", filters).excluded["family"] == 0


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (Filters(type="kernal"), r"unknown type 'kernal'; nearest known: .*kernel"),
        (Filters(tags=("gemmm",)), r"unknown tag 'gemmm'; nearest known: gemm,"),
        (Filters(tags=("language:gemm",)), r"unknown tag 'gemm'; known: cuda-cpp, "),
        (Filters(repo="kernals"), r"unknown repo 'kernals'; known: .*kernels"),
        (Filters(architecture="sm1000"), r"unknown architecture 'sm1000'; nearest known: sm100"),
        (Filters(architecture="gemm"), r"unknown architecture 'gemm'; "),
        (Filters(language="tritom"), r"unknown language 'tritom'; .*triton"),
        (Filters(symptom="memory-bond"), r"unknown symptom 'memory-bond'; .*memory-bound"),
        (Filters(confidence="verifyed"), r"unknown confidence 'verifyed'; known: .*verified"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
def test_unknown_values_name_the_nearest(
    world: sa.Connection, filters: Filters, message: str
) -> None:
    with pytest.raises(UnknownValueError, match=message):
        search_pages(world, "zebrawood", filters)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cutlass 9472", C2),
        ("9475", C5),
        ("pr-cutlass-9477", C7),
        ("NVIDIA/cutlass#9474", C4),
        ("kernel-zorse", ZORSE),
        ("umma_gemm", C2),
        ("fused_moe_triton.py", K1),
        ("GRÖSSE", K2),
        ("Ωmega", K2),
    ],
)
def test_ids_numbers_and_files_are_found(world: sa.Connection, text: str, wanted: str) -> None:
    assert wanted in ids(world, text)
    assert wanted in [hit.id for hit in search_pages(world, text).results[:2]]


@pytest.mark.parametrize("text", ["quaggas", "QUAGGA", "what about the quagga epilogues"])
def test_words_are_stemmed_and_folded(world: sa.Connection, text: str) -> None:
    assert C2 in ids(world, text)


def test_an_alias_finds_the_pages_of_its_tag(world: sa.Connection) -> None:
    assert C2 in ids(world, "tensor_core_gen05")


def test_total_counts_beyond_the_limit(world: sa.Connection) -> None:
    found = search_pages(world, "zebrawood", limit=2)
    assert (found.total, len(found.results)) == (7, 2)


def test_nothing_found_is_an_answer(world: sa.Connection) -> None:
    found = search_pages(world, "xylophagous")
    assert (found.total, found.results, found.corrected, found.excluded) == (0, [], None, {})


def test_scores_fall(world: sa.Connection) -> None:
    scores = [hit.score for hit in search_pages(world, "gemm zebrawood", limit=50).results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0


def test_both_parts_of_a_hit_are_the_pages(world: sa.Connection) -> None:
    (hit,) = search_pages(world, "quagga").results
    assert (hit.id, hit.type, hit.title) == (C2, "source-pr", "Add tcgen05 GEMM for sm100")
    assert hit.snippet == "The «quagga» epilogue is fused."


@pytest.mark.parametrize(
    ("text", "words", "snippet"),
    [
        ("first\nSwizzled tiles here", ("swizzling",), "«Swizzled» tiles here"),
        ("the tma unit and tmax", ("tma",), "the «tma» unit and tmax"),
        ("one gemm\ngemm on tmem", ("gemm", "tmem"), "«gemm» on «tmem»"),
        ("\n---\n plain line ", (), "plain line"),
        ("nothing here", ("zebra",), "nothing here"),
        ("", ("zebra",), ""),
        ("a" * 300 + " zebra", ("zebra",), "…" + "a" * 52 + " «zebra»"),
    ],
    ids=range(7),
)
def test_snippets(text: str, words: tuple[str, ...], snippet: str) -> None:
    assert cut_snippet(text, [Term((word,)) for word in words]) == snippet


def test_retired_pages_are_not_found(engine: sa.Engine, harvest_into: Callable[..., None]) -> None:
    harvest_into(engine, ["acme/kernels"])
    with write_transaction(engine) as connection:
        assert ids(connection, "zebrawood") == [K1, K2]
        assert retire_pages(connection, [K1]) == 1
        assert ids(connection, "zebrawood") == [K2]
        assert ids(connection, "", Filters(repo="kernels")) == [K2]
        reindex(connection)
        assert ids(connection, "zebrawood") == [K2]


@pytest.mark.parametrize(
    "text",
    ["zebrawood", "quagga umma", "9475", "triton moe kernel", "swizzle", "tmem epilogue"],
)
def test_the_index_made_anew_answers_alike(
    engine: sa.Engine, harvest_into: Callable[..., None], text: str
) -> None:
    harvest_into(engine)
    with write_transaction(engine) as connection:
        before = ids(connection, text)
        reindex(connection)
        assert ids(connection, text) == before
