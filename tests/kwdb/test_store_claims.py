from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from kwdb.db import read_transaction, write_transaction
from kwdb.models import page_versions, pages, performance_claims, pull_requests
from kwdb.plausibility import beyond_hardware, missing_from_source
from kwdb.records import Evidence, ExtractedClaim
from kwdb.store.citations import check_citations
from kwdb.store.claims import (
    Reading,
    Stored,
    comparable_key,
    read_claim_names,
    store_claims,
)
from kwdb.store.harvest import add_repository, ensure_pull_requests
from kwdb.store.pages import corpus_key
from kwdb.store.verdicts import RepositoryRow

pytestmark = pytest.mark.usefixtures("no_seed_claims")
LANDED = datetime(2026, 3, 4, 12, tzinfo=UTC)
CLAIM = ExtractedClaim(
    metric="throughput_tflops",
    unit="TFLOPS",
    value_text="900",
    value=900.0,
    value_normalized=900.0,
    direction="higher_better",
    role="single",
    evidence=Evidence("body", "| 128 | 900 |", 3),
    gpu="B200",
    dtype="bf16",
    op="gemm",
    variant="cutlass",
    shape="M=128",
    dimensions=(("M", 128.0, None),),
    fields=(("gpu", "stated", "header"), ("gpu", "derived", "title"), ("op", "derived", "title")),
)
B200 = {
    "name": "B200",
    "peak_fp16_tflops": 2250.0,
    "peak_fp8_tflops": 4500.0,
    "peak_fp4_tflops": 9000.0,
    "bandwidth_gb_s": 8000.0,
}


@pytest.fixture
def put(engine: sa.Engine):
    with write_transaction(engine) as connection:
        key = add_repository(connection, "toy", "acme/toy", "squash")
        known: dict[int, int] = {}
        ensure_pull_requests(connection, key, [7], known)
    repository = RepositoryRow(key, "toy", "acme/toy", "squash", "main")
    row = {"id": known[7], "number": 7, "title": "t", "body": "b", "landed_at": LANDED}

    def store(*claims: ExtractedClaim) -> Stored:
        with write_transaction(engine) as connection:
            names = read_claim_names(connection)
            reading = Reading(row, [(claim, None) for claim in claims])
            return store_claims(connection, repository, [reading], "test-1", names)

    return store


def _rows(engine: sa.Engine) -> list[dict[str, object]]:
    with read_transaction(engine) as connection:
        query = sa.select(performance_claims).order_by(performance_claims.c.id)
        return [dict(row) for row in connection.execute(query).mappings()]


def _leaders(engine: sa.Engine) -> list[tuple[object, ...]]:
    with read_transaction(engine) as connection:
        query = sa.text("SELECT claim_id, value, claims_compared FROM leaderboard ORDER BY value")
        return [tuple(row) for row in connection.execute(query)]


def test_a_claim_keeps_its_id_through_vanishing_and_return(engine, put) -> None:
    other = replace(CLAIM, value=800.0, value_normalized=800.0, value_text="800")
    assert put(CLAIM, other) == Stored(rows_written=9, claims=2, retired=0, disputed=0)
    before = [(row["id"], row["claim_key"]) for row in _rows(engine)]
    assert put(CLAIM).retired == 1
    assert [row["retired_at"] is None for row in _rows(engine)] == [True, False]
    put(CLAIM, other)
    after = _rows(engine)
    assert [(row["id"], row["claim_key"]) for row in after] == before
    assert all(row["retired_at"] is None for row in after)


def test_reading_again_writes_only_the_mark(engine, put) -> None:
    put(CLAIM)
    assert put(CLAIM).rows_written == 1
    with read_transaction(engine) as connection:
        marks = connection.execute(sa.select(pull_requests.c.extractor)).scalars().all()
    assert marks == ["test-1"]


@pytest.mark.parametrize("by", ["person:ana", "bench:judge"])
def test_a_status_that_others_gave_is_kept(engine, put, by: str) -> None:
    put(CLAIM)
    with write_transaction(engine) as connection:
        given = {"status": "invalidated", "status_by": by, "status_reason": "skipped its work"}
        connection.execute(sa.update(performance_claims).values(given))
    put(replace(CLAIM, dtype="fp16"))
    (row,) = _rows(engine)
    assert (row["status"], row["status_by"], row["dtype"]) == ("invalidated", by, "fp16")
    assert _leaders(engine) == []


def test_what_no_gpu_can_do_is_disputed_and_leads_nothing(engine, put) -> None:
    put(replace(CLAIM, value=9e4, value_normalized=9e4, value_text="90000"), CLAIM)
    wild, sane = _rows(engine)
    assert (wild["status"], wild["status_by"]) == ("disputed", "plausible:peak")
    assert "2250" in str(wild["status_reason"])
    assert (sane["status"], sane["status_reason"]) == ("unreviewed", None)
    assert [leader[0] for leader in _leaders(engine)] == [sane["id"]]


def test_leaders_are_the_best_of_figures_that_may_be_compared(engine, put) -> None:
    better = replace(CLAIM, value=950.0, value_normalized=950.0, value_text="950", variant="triton")
    mean = replace(
        CLAIM, value=990.0, value_normalized=990.0, value_text="990", qualifier="geomean"
    )
    put(CLAIM, better, mean)
    assert [(value, count) for _, value, count in _leaders(engine)] == [(950.0, 2), (990.0, 1)]


@pytest.mark.parametrize(
    "change",
    [
        {"op": "attention"},
        {"dimensions": (("M", 256.0, None),)},
        {"dtype": "fp8"},
        {"gpu_count": 8},
        {"metric": "bandwidth"},
        {"cache_state": "hot"},
        {"statistic": "median"},
        {"qualifier": "geomean"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_figures_under_other_conditions_are_not_compared(change) -> None:
    assert comparable_key(replace(CLAIM, **change), "B200") != comparable_key(CLAIM, "B200")
    assert comparable_key(CLAIM, "B200") != comparable_key(CLAIM, "H100")


def test_what_is_not_stated_is_comparable_with_nothing() -> None:
    ratio = replace(CLAIM, metric="speedup", unit="x", role="ratio")
    assert comparable_key(CLAIM, None) is None
    assert comparable_key(replace(CLAIM, dimensions=()), "B200") is None
    assert comparable_key(replace(CLAIM, op=None), "B200") is None
    assert comparable_key(ratio, "B200") is None
    old = replace(ratio, baseline_label="main")
    assert comparable_key(old, "B200") != comparable_key(
        replace(old, baseline_label="cuBLAS"), "B200"
    )


def test_the_order_of_dimensions_and_their_kinds_do_not_matter() -> None:
    one = replace(CLAIM, dimensions=(("M", 1.0, None), ("M", None, "x"), ("n", 2.0, None)))
    two = replace(CLAIM, dimensions=(("N", 2.0, None), ("m", None, "X"), ("M", 1.0, None)))
    assert comparable_key(one, "B200") == comparable_key(two, "B200")


@pytest.mark.parametrize(
    ("change", "text", "rule"),
    [
        ({"value_normalized": 4600.0}, "", "plausible:peak"),
        ({"value_normalized": 4400.0}, "", None),
        ({"value_normalized": 4600.0, "dtype": "nvfp4"}, "", None),
        ({"value_normalized": 4600.0, "dtype": None}, "", None),
        ({"value_normalized": 4600.0, "gpu_count": 8}, "", None),
        ({"metric": "bandwidth", "value_normalized": 8500.0}, "copy", "plausible:bandwidth"),
        ({"metric": "bandwidth", "value_normalized": 8300.0}, "copy", None),
        ({"metric": "bandwidth", "value_normalized": 8500.0}, "from L2", None),
        ({"metric": "percent_of_peak", "value": 140.0}, "", "plausible:percent"),
        ({"metric": "percent_of_peak", "value": 101.0}, "", None),
        ({"metric": "latency", "value_normalized": 1e9}, "", None),
    ],
)
def test_figures_are_held_against_the_hardware(change, text, rule) -> None:
    doubt = beyond_hardware(replace(CLAIM, **change), B200, text)
    assert (doubt[0] if doubt else None) == rule


def test_a_gpu_that_is_not_named_raises_no_doubt() -> None:
    assert beyond_hardware(replace(CLAIM, value_normalized=1e9), None, "") is None


@pytest.mark.parametrize(
    ("value", "source", "is_missing"),
    [(1234.5, "took 1,234.50 us", False), (3.0, "3x faster", False), (7.0, "77 and 0.7", True)],
)
def test_a_number_must_occur_in_the_source_cited(value, source, is_missing) -> None:
    assert (missing_from_source(value, None, source) is not None) is is_missing


def test_several_figures_of_one_variant_share_no_key(engine, put) -> None:
    put(CLAIM, replace(CLAIM, value=910.0, value_normalized=910.0, value_text="910"))
    assert _leaders(engine) == []


WHOLE = replace(
    CLAIM,
    dimensions=(("M", 8.0, None), ("N", 16.0, None), ("K", 32.0, None)),
    cache_state="cold",
)


def test_another_source_is_compared_only_where_the_shape_pins_the_problem_down() -> None:
    assert comparable_key(WHOLE, "B200", "a#1") == comparable_key(WHOLE, "B200", "a#2")
    for vague in (
        CLAIM,
        replace(WHOLE, op="attention"),
        replace(WHOLE, dtype=None),
        replace(WHOLE, dimensions=WHOLE.dimensions[:2]),
    ):
        assert comparable_key(vague, "B200", "a#1") == comparable_key(vague, "B200", "a#1")
        assert comparable_key(vague, "B200", "a#1") != comparable_key(vague, "B200", "a#2")


@pytest.mark.parametrize("metric", ["count", "statement"])
def test_counts_and_statements_lead_nothing(metric: str) -> None:
    assert comparable_key(replace(CLAIM, metric=metric), "B200") is None


@pytest.mark.parametrize(
    ("unit", "baseline_unit", "stored"),
    [("ns", "us", 1200.0), ("us", "us", 1.2), ("us", None, 1.2), ("ms", "us", 0.0012)],
)
def test_a_baseline_stands_in_the_unit_of_its_value(
    engine, put, unit, baseline_unit, stored
) -> None:
    figures = {"metric": "latency", "unit": unit, "direction": "lower_better", "value": 100.0}
    put(replace(CLAIM, **figures, baseline_value=1.2, baseline_unit=baseline_unit))
    (row,) = _rows(engine)
    assert (row["baseline_value"], row["unit_as_written"]) == (stored, unit)


def test_what_a_person_disputes_leads_no_more(engine, put) -> None:
    put(CLAIM)
    assert len(_leaders(engine)) == 1
    with write_transaction(engine) as connection:
        given = {"status": "disputed", "status_by": "person:ana", "status_reason": "no warm-up"}
        connection.execute(sa.update(performance_claims).values(given))
    put(replace(CLAIM, dtype="fp16"))
    assert _leaders(engine) == []


@pytest.fixture
def cite(engine: sa.Engine):
    """Return a function that stores a source's text and claims that cite it, and checks them."""

    def run(kind: str, text: str, **claims: dict[str, object]) -> dict[str, tuple[object, ...]]:
        with write_transaction(engine) as connection:
            corpus = corpus_key(connection, kind)
            page = {"pk": 9_001, "id": "blog-a", "type": "source-blog", "title": "A"}
            connection.execute(
                sa.insert(pages), page | {"served_from": corpus, "is_retired": False}
            )
            version = {"id": 9_001, "page_id": "blog-a", "corpus_id": corpus, "path": "a.md"}
            version |= {"body": text.encode(), "body_sha256": "", "captured_at": LANDED}
            connection.execute(sa.insert(page_versions), version)
            common = {"origin": "reported", "source_page_id": "blog-a", "metric": "latency"}
            for number, (key, row) in enumerate(claims.items(), 9_000):
                full = {"id": number, "claim_key": key, "status": "unreviewed", **common, **row}
                connection.execute(sa.insert(performance_claims), full)
            written = check_citations(connection)
            assert check_citations(connection) == 0
        c = performance_claims.c
        query = sa.select(c.claim_key, c.status, c.status_by).where(c.claim_key.in_(claims))
        with read_transaction(engine) as connection:
            found = {key: (status, by) for key, status, by in connection.execute(query)}
        assert written == sum(by == "plausible:citation" for _, by in found.values())
        return found

    return run


def test_a_number_that_its_source_does_not_hold_is_disputed(cite) -> None:
    found = cite(
        "harvest",
        "The kernel takes 22.392 us and, over three shapes, 1,024.5 us.",
        held={"value": 22.392},
        comma={"value": 1024.5},
        missing={"value": 18.5, "comparable_key": "k"},
        seeded={"value": 11.2, "status_by": "seed:claim-x"},
        supported={"value": 11.2, "status": "supported"},
        person={"value": 11.2, "status_by": "person:ana"},
        statement={"value": 4.0, "metric": "statement"},
    )
    assert found == {
        "held": ("unreviewed", None),
        "comma": ("unreviewed", None),
        "missing": ("disputed", "plausible:citation"),
        "seeded": ("disputed", "plausible:citation"),
        "supported": ("supported", None),
        "person": ("unreviewed", "person:ana"),
        "statement": ("unreviewed", None),
    }


def test_what_the_seeds_say_of_a_source_is_not_the_source(cite) -> None:
    found = cite("seed", "A post about a kernel.", other={"value": 18.5})
    assert found == {"other": ("unreviewed", None)}


@pytest.mark.parametrize(
    ("fetched_at", "status"), [(LANDED, "disputed"), (None, "unreviewed")], ids=["api", "git"]
)
def test_a_pull_request_is_a_source_once_its_description_was_fetched(
    engine, put, fetched_at, status
) -> None:
    put(CLAIM)
    claim = {"id": 9_000, "claim_key": "r", "origin": "reported", "status": "unreviewed"}
    with write_transaction(engine) as connection:
        text = {"title": "Faster", "body": "Takes 3.5 us.", "fetched_at": fetched_at}
        connection.execute(sa.update(pull_requests).values(text))
        cited = {"source_page_id": "pr-toy-7", "metric": "latency", "value": 4.5}
        connection.execute(sa.insert(performance_claims), claim | cited)
        check_citations(connection)
    assert [row["status"] for row in _rows(engine) if row["claim_key"] == "r"] == [status]
