"""A bundle measured on an H200, stored on both engines and set against reported claims."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from benchmarks.record import record
from kwdb.db import read_transaction, row_dicts, write_transaction
from kwdb.errors import UserError
from kwdb.models import gpus, performance_claims

FILE = Path(__file__).parent / "data" / "h200_bundle.json"


@pytest.fixture
def bundle() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def seeded(new_engine: Callable[[], sa.Engine]) -> sa.Engine:
    return new_engine()


def rows(engine: sa.Engine, query: str) -> list[dict[str, Any]]:
    with read_transaction(engine) as connection:
        return row_dicts(connection.execute(sa.text(query)))


def add_claim(engine: sa.Engine, gpu: str, value: float, **changed: Any) -> None:
    with write_transaction(engine) as connection:
        query = sa.select(gpus.c.id).where(gpus.c.name == gpu)
        row = {
            "id": 900_000 + int(value), "claim_key": f"test-{gpu}-{value}", "origin": "reported",
            "status": "unreviewed", "source_page_id": "somewhere", "metric": "latency",
            "gpu_id": connection.execute(query).scalar_one(), "dtype": "nvfp4", "op": "gemv",
            "shape": "7168x2048x4", "value": value, "value_normalized": value,
            "cache_state": "cold", "timing_scope": "amortized_graph", "statistic": "median",
        }  # fmt: skip
        connection.execute(sa.insert(performance_claims), row | changed)


def test_a_run_is_stored_with_all_its_evidence(seeded: sa.Engine, bundle: dict[str, Any]) -> None:
    assert record(seeded, bundle).claims == 3
    (environment,) = rows(
        seeded, "SELECT e.*, g.name FROM environments e JOIN gpus g ON g.id = e.gpu_id"
    )
    assert (environment["name"], environment["sm_count"]) == ("H200", 132)
    cases = rows(seeded, "SELECT * FROM bench_cases ORDER BY kernel")
    assert [case["status"] for case in cases] == ["passed"] * 3
    assert all(4000 < case["roof_gb_s"] < 4800 for case in cases)
    samples = rows(seeded, "SELECT * FROM bench_samples")
    assert {(s["method"], s["cache_state"]) for s in samples} == {
        ("amortized_graph", "cold"),
        ("single_launch", "cold"),
    }
    for one in samples:
        values = np.frombuffer(one["samples"], "<f8")
        assert len(values) == one["n"]
        assert np.median(values) == pytest.approx(one["median_us"], abs=1e-3)
    checks = rows(
        seeded, "SELECT count(*) AS n, count(DISTINCT seed) AS seeds FROM correctness_checks"
    )
    assert checks == [{"n": 9, "seeds": 3}]


def test_measured_claims_carry_their_conditions(seeded: sa.Engine, bundle: dict[str, Any]) -> None:
    record(seeded, bundle)
    claims = rows(
        seeded,
        "SELECT c.*, g.name FROM performance_claims c JOIN gpus g ON g.id = c.gpu_id "
        "WHERE origin = 'measured' AND variant = 'nvfp4_gemv_sm90a'",
    )
    (claim,) = claims
    assert claim["name"] == "H200"
    assert (claim["shape"], claim["statistic"], claim["metric"]) == (
        "7168x2048x4",
        "median",
        "latency",
    )
    assert (claim["cache_state"], claim["timing_scope"]) == ("cold", "amortized_graph")
    assert (claim["confidence"], claim["reproducibility"]) == ("verified", "benchmarked")
    assert 10 < claim["value"] < 14
    assert len(claim["comparable_key"]) == 64
    sizes = rows(
        seeded, f"SELECT name, value_number FROM claim_dimensions WHERE claim_id = {claim['id']}"
    )
    assert {s["name"]: s["value_number"] for s in sizes} == {"M": 7168, "K": 2048, "L": 4}


def test_twice_equals_once(seeded: sa.Engine, bundle: dict[str, Any]) -> None:
    record(seeded, bundle)
    again = record(seeded, bundle)
    assert (again.claims, again.relations) == (0, [])
    assert rows(seeded, "SELECT count(*) AS n FROM bench_runs") == [{"n": 1}]


def test_another_run_on_the_same_machine_shares_environment_and_artifacts(
    seeded: sa.Engine, bundle: dict[str, Any]
) -> None:
    record(seeded, bundle)
    second = copy.deepcopy(bundle)
    second["run"]["run_key"] = "another"
    assert record(seeded, second).claims == 3
    counts = "(SELECT count(*) FROM {0}) AS {0}"
    tables = ("environments", "kernel_artifacts", "bench_runs", "bench_cases")
    query = "SELECT " + ", ".join(counts.format(table) for table in tables)
    assert list(rows(seeded, query)[0].values()) == [1, 3, 2, 6]


def test_claims_of_that_gpu_are_judged_and_others_are_not_comparable(
    seeded: sa.Engine, bundle: dict[str, Any]
) -> None:
    add_claim(seeded, "H200", 12.0)
    add_claim(seeded, "H200", 90.0)
    add_claim(seeded, "B200", 13.0)
    add_claim(seeded, "H200", 14.0, status="invalidated")
    found = record(seeded, bundle, settles=True)
    ours = [r for r in found.relations if r["reported"]["claim_key"].startswith("test-")]
    assert len(ours) == 9
    stored = rows(
        seeded,
        "SELECT o.value, r.relation, r.differing_fields FROM claim_relations r "
        "JOIN performance_claims c ON c.id = r.claim_id AND c.variant = 'nvfp4_gemv_sm90a' "
        "JOIN performance_claims o ON o.id = r.other_claim_id "
        "WHERE o.claim_key LIKE 'test-%' ORDER BY o.value",
    )
    assert [tuple(row.values()) for row in stored] == [
        (12.0, "reproduces", None),
        (13.0, "not_comparable", "gpu"),
        (90.0, "contradicts", None),
    ]
    statuses = rows(
        seeded, "SELECT value, status FROM performance_claims WHERE claim_key LIKE 'test-%'"
    )
    assert {row["value"]: row["status"] for row in statuses} == {
        12.0: "reproduced", 13.0: "unreviewed", 14.0: "invalidated", 90.0: "contradicted"
    }  # fmt: skip


def test_a_persons_status_stays(seeded: sa.Engine, bundle: dict[str, Any]) -> None:
    add_claim(seeded, "H200", 90.0, status="supported", status_by="person:ann")
    assert record(seeded, bundle, settles=True).settled == 0


def test_cases_that_did_not_pass_are_rows_but_no_claims(
    seeded: sa.Engine, bundle: dict[str, Any]
) -> None:
    bundle["cases"][0]["status"] = "implausible"
    del bundle["cases"][1]["samples"]
    assert record(seeded, bundle).claims == 1
    found = rows(seeded, "SELECT status FROM bench_cases ORDER BY id")
    assert [row["status"] for row in found] == ["implausible", "passed", "passed"]


def test_a_damaged_bundle_is_one_message_and_no_rows(
    seeded: sa.Engine, bundle: dict[str, Any]
) -> None:
    del bundle["cases"][2]["shape"]
    with pytest.raises(UserError, match=r"damaged.*shape"):
        record(seeded, bundle)
    assert rows(seeded, "SELECT count(*) AS n FROM bench_runs") == [{"n": 0}]
