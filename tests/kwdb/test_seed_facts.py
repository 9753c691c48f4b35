"""Contests, claims and their relations as seed rows: loaded, changed, retired, revived."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from kwdb.db import read_transaction, write_transaction
from kwdb.errors import InvalidRecordError
from kwdb.models import (
    claim_dimensions,
    claim_fields,
    claim_relations,
    contest_problems,
    contest_submissions,
    page_versions,
    pages,
    performance_claims,
    tool_releases,
)
from kwdb.resources import data_dir
from kwdb.seed import load_seeds
from kwdb.seed.claims import load_claims
from kwdb.seed.contests import load_contests
from kwdb.seed.known import known_names

YUE = "claim-gemv-yue-22392"
ONE_ENGINE = pytest.mark.parametrize("engine_name", ["sqlite"])


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """A copy of the real seeds, to change."""
    return Path(shutil.copytree(data_dir("seeds"), tmp_path / "seeds"))


def edit(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Read the rows of a file, change them in place, write them again."""
    rows = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    change(rows)
    text = yaml.dump(rows, Dumper=yaml.CSafeDumper, sort_keys=False)
    path.write_text(text, encoding="utf-8")


def without(key: str) -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        kept = [row for row in rows if row["key"] != key]
        assert len(kept) == len(rows) - 1
        rows[:] = kept

    return change


def set_fields(key: str, **fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["key"] == key).update(fields)

    return change


def load(engine: sa.Engine, seeds: Path) -> dict[str, int]:
    """Load contests and claims alone: vocabulary and pages stand in the database already."""
    with write_transaction(engine) as connection:
        known = known_names(connection)
        written = load_contests(connection, seeds, known)
        return written | load_claims(connection, seeds, known)


def one(engine: sa.Engine, table: sa.Table, **where: Any) -> dict[str, Any]:
    query = sa.select(table).where(*(table.c[name] == value for name, value in where.items()))
    with read_transaction(engine) as connection:
        return dict(connection.execute(query).mappings().one())


def claim(engine: sa.Engine, key: str) -> dict[str, Any]:
    return one(engine, performance_claims, extractor=f"seed:{key}")


def test_a_claim_is_stored_with_all_that_it_says(engine: sa.Engine) -> None:
    found = claim(engine, YUE)
    said = {
        "metric": "latency",
        "value": 22.392,
        "value_normalized": 22.392,
        "unit_as_written": "us",
        "qualifier": "geomean",
        "op": "gemv",
        "dtype": "nvfp4",
        "page_id": "kernel-nvfp4-gemv",
        "source_page_id": "blog-yue-nvfp4-gemv",
        "origin": "reported",
        "status": "supported",
    }
    assert {name: found[name] for name in said} == said
    assert len(found["claim_key"]) == 64
    dimension = one(engine, claim_dimensions, claim_id=found["id"])
    assert dimension["value_text"] == "7168x16384x1, 4096x7168x8, 7168x2048x4"
    assert one(engine, claim_fields, claim_id=found["id"], field="gpu")["basis"] == "stated"


def test_doubted_claims_counts_and_roofs_are_compared_with_nothing(engine: sa.Engine) -> None:
    assert claim(engine, YUE)["comparable_key"]
    for key in ("gemv-simon-224", "b200-sms-148", "sol-gemv-geomean", "p4-11191"):
        assert claim(engine, f"claim-{key}")["comparable_key"] is None


def test_participants_of_a_problem_stand_on_one_leaderboard(engine: sa.Engine) -> None:
    query = "SELECT variant, value, claims_compared FROM leaderboard WHERE gpu = 'B200' AND op = "
    with read_transaction(engine) as connection:
        gemm = connection.exec_driver_sql(f"{query} 'gemm' AND value = 10.807").one()
        hack = connection.exec_driver_sql(
            "SELECT count(*) FROM leaderboard WHERE metric IN ('count', 'statement')"
            " OR value = 11.191"
        ).scalar_one()
    assert tuple(gemm) == ("entry of simon", 10.807, 3)
    assert hack == 0


def test_a_changed_claim_keeps_its_id_and_takes_its_new_values(
    engine: sa.Engine, seeds: Path
) -> None:
    before = claim(engine, YUE)
    edit(seeds / "claims" / "gemv.yaml", set_fields(YUE, value=22.5, value_text="22.5 us"))
    assert load(engine, seeds)["claims"] == 1
    after = claim(engine, YUE)
    assert (after["id"], after["value"], after["value_normalized"]) == (before["id"], 22.5, 22.5)


def test_a_removed_claim_retires_with_its_relations_and_comes_back(
    engine: sa.Engine, seeds: Path
) -> None:
    before = claim(engine, YUE)
    whole = shutil.copytree(seeds, seeds.with_name("whole"))
    edit(seeds / "claims" / "gemv.yaml", without(YUE))
    edit(
        seeds / "claim_relations.yaml",
        lambda rows: rows.__setitem__(
            slice(None), [r for r in rows if YUE not in (r["claim"], r["other"])]
        ),
    )
    written = load(engine, seeds)
    assert (written["claims"], written["claim_relations"]) == (1, 4)
    assert claim(engine, YUE)["retired_at"] is not None
    assert set(load(engine, seeds).values()) == {0}
    assert load(engine, whole)["claim_relations"] == 4
    assert claim(engine, YUE) == before


def test_what_a_person_decided_is_kept(engine: sa.Engine, seeds: Path) -> None:
    verdict = {"status": "disputed", "status_by": "person:ada", "status_reason": "I was there"}
    c, r = performance_claims.c, claim_relations.c
    with write_transaction(engine) as connection:
        connection.execute(
            sa.update(performance_claims).where(c.extractor == f"seed:{YUE}").values(verdict)
        )
        first = connection.execute(sa.select(sa.func.min(r.id))).scalar_one()
        mine = {"decided_by": "person:ada", "evidence": "mine"}
        connection.execute(sa.update(claim_relations).where(r.id == first).values(mine))
    edit(seeds / "claims" / "gemv.yaml", set_fields(YUE, status="supported", value=22.4))
    load(engine, seeds)
    found = claim(engine, YUE)
    assert {name: found[name] for name in verdict} == verdict
    assert (found["value"], found["comparable_key"]) == (22.4, None)
    assert one(engine, claim_relations, id=first)["evidence"] == "mine"
    assert set(load(engine, seeds).values()) == {0}


def test_a_doubt_by_rule_stays_until_the_seed_says_more(engine: sa.Engine, seeds: Path) -> None:
    key = "claim-nsa-primer-9x"
    doubt = {"status": "disputed", "status_by": "plausible:citation", "status_reason": "absent"}
    c = performance_claims.c
    with write_transaction(engine) as connection:
        connection.execute(
            sa.update(performance_claims).where(c.extractor == f"seed:{key}").values(doubt)
        )
    assert set(load(engine, seeds).values()) == {0}
    reviewed = {"status": "supported", "status_reason": "read"}
    edit(seeds / "claims" / "attention.yaml", set_fields(key, **reviewed))
    load(engine, seeds)
    assert claim(engine, key)["status_by"] == f"seed:{key}"


FACTS = {
    "contest_submissions": (contest_submissions, "sub-p1-yue", {"key": "sub-p1-yue"}),
    "tool_releases": (
        tool_releases,
        "cutlass-4.4.0",
        {"tool": "CUTLASS", "version": "4.4.0", "channel": "stable"},
    ),
}


@pytest.mark.parametrize("file", FACTS)
def test_a_removed_fact_retires_and_comes_back(engine: sa.Engine, seeds: Path, file: str) -> None:
    table, key, where = FACTS[file]
    before = one(engine, table, **where)
    whole = shutil.copytree(seeds, seeds.with_name("whole"))
    edit(seeds / f"{file}.yaml", without(key))
    assert load(engine, seeds)[file] == 1
    assert one(engine, table, **where) == before | {
        "retired_at": one(engine, table, **where)["retired_at"]
    }
    assert one(engine, table, **where)["retired_at"] is not None
    assert load(engine, whole)[file] == 1
    assert one(engine, table, **where) == before


def test_what_another_corpus_has_is_not_retired(engine: sa.Engine) -> None:
    foreign = {"id": 900, "key": "theirs", "corpus": "waterpine", "source": "s"}
    with write_transaction(engine) as connection:
        connection.execute(sa.insert(contest_submissions), foreign | {"is_invalidated": False})
    assert set(load(engine, data_dir("seeds")).values()) == {0}
    assert one(engine, contest_submissions, key="theirs")["retired_at"] is None


def test_a_removed_page_retires_and_is_not_found_any_more(engine: sa.Engine, seeds: Path) -> None:
    name = "technique-double-buffering"
    count = "SELECT count(*) FROM page_index"
    with read_transaction(engine) as connection:
        indexed = connection.exec_driver_sql(count).scalar_one()
    whole = shutil.copytree(seeds, seeds.with_name("whole"))
    (seeds / "pages" / f"{name}.yaml").unlink()
    load_seeds(engine, seeds)
    assert one(engine, pages, id=name)["is_retired"]
    assert one(engine, page_versions, page_id=name)["retired_at"] is not None
    with read_transaction(engine) as connection:
        assert connection.exec_driver_sql(count).scalar_one() == indexed - 1
    assert set(load_seeds(engine, seeds).values()) == {0}
    load_seeds(engine, whole)
    assert not one(engine, pages, id=name)["is_retired"]
    assert one(engine, page_versions, page_id=name)["retired_at"] is None
    with read_transaction(engine) as connection:
        assert connection.exec_driver_sql(count).scalar_one() == indexed


def test_the_contests_hold_every_problem_and_shape(engine: sa.Engine) -> None:
    query = sa.select(contest_problems.c.key, contest_problems.c.shapes)
    with read_transaction(engine) as connection:
        shapes = {row.key: row.shapes for row in connection.execute(query)}
    kinds = {
        key.rpartition("-problem-")[2] or key: [shape["kind"] for shape in found]
        for key, found in shapes.items()
    }
    counts = {key: (k.count("test"), k.count("benchmark")) for key, k in kinds.items()}
    assert {key: found for key, found in counts.items() if key[0].isdigit()} == {
        "1-gemv": (10, 3),
        "2-gemm": (10, 3),
        "3-gated-dual-gemm": (10, 4),
        "4-grouped-gemm": (10, 4),
    }
    assert len(counts) == 7


BAD = {
    "unknown-metric": ("claims/gemv", YUE, {"metric": "latencie"}, "metric", "nearest allowed"),
    "unknown-gpu": ("claims/gemv", YUE, {"gpu": "B20"}, "gpu", "nearest allowed: B200"),
    "unknown-page": ("claims/gemv", YUE, {"source_page_id": "x"}, "source_page_id", "unknown"),
    "unknown-status": ("claims/gemv", YUE, {"status": "sure"}, "status", "nearest allowed"),
    "wrong-unit": ("claims/gemv", YUE, {"unit": "GB/s"}, "unit", "no unit of latency"),
    "no-value": ("claims/gemv", YUE, {"value": None}, "value", "a statement has no value"),
    "bad-basis": ("claims/gemv", YUE, {"fields": {"gpu": "guessed"}}, "fields", "stated"),
    "bad-field": ("claims/gemv", YUE, {"fields": {"gpus": "stated"}}, "fields", "nearest: gpu"),
    "bad-dimension": ("claims/gemv", YUE, {"dimensions": {"M": [1]}}, "dimensions", "neither"),
    "unknown-claim": (
        "claim_relations",
        "rel-sol-gemv-4096-7168-8--contradicts--sol-largest-86",
        {"claim": "claim-nothing"},
        "claim",
        "nearest allowed",
    ),
    "unknown-contest": (
        "contest_problems",
        "gpu-mode-nvfp4-problem-1-gemv",
        {"contest": "x"},
        "contest",
        "nearest allowed",
    ),
    "shape-without-kind": (
        "contest_problems",
        "gpu-mode-nvfp4-problem-1-gemv",
        {"shapes": [{"dims": {}}]},
        "shapes",
        "needs kind",
    ),
    "shapes-of-text": (
        "contest_problems",
        "gpu-mode-nvfp4-problem-1-gemv",
        {"shapes": ["128"]},
        "shapes",
        "no mapping",
    ),
    "unknown-tag": ("contest_submissions", "sub-p1-yue", {"tags": ["x"]}, "tags", "unknown tag"),
    "flag-as-text": (
        "contest_submissions",
        "sub-p1-yue",
        {"is_invalidated": "no"},
        "is_invalidated",
        "not bool",
    ),
    "no-source": ("tool_releases", "cutlass-4.4.0", {"source": ""}, "source", "is missing"),
    "no-such-day": (
        "tool_releases",
        "cutlass-4.4.0",
        {"released_on": "soon"},
        "released_on",
        "day",
    ),
}


@pytest.mark.parametrize(("file", "key", "change", "field", "says"), BAD.values(), ids=BAD)
@ONE_ENGINE
def test_a_bad_row_is_named(
    engine: sa.Engine, seeds: Path, file: str, key: str, change: Any, field: str, says: str
) -> None:
    path = seeds / f"{file}.yaml"
    edit(path, set_fields(key, **change))
    with pytest.raises(InvalidRecordError, match=says) as caught:
        load(engine, seeds)
    assert (caught.value.path, caught.value.field) == (str(path), field)
    assert caught.value.line


@ONE_ENGINE
def test_a_claim_key_stands_once_over_all_files(engine: sa.Engine, seeds: Path) -> None:
    shutil.copy(seeds / "claims" / "serving.yaml", seeds / "claims" / "serving_again.yaml")
    with pytest.raises(InvalidRecordError, match=r"stands at serving\.yaml line"):
        load(engine, seeds)
