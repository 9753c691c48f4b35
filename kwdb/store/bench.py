"""Measurements: a bundle of the benchmark runner as rows, and its claims beside everybody's.

The bundle's run key is unique wherever it was made, so that importing twice writes once. Only
cases that passed and were timed become claims; what failed stays a case with its reason.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from kwdb.models import (
    bench_cases,
    bench_runs,
    bench_samples,
    claim_dimensions,
    claim_relations,
    correctness_checks,
    environments,
    gpu_aliases,
    gpus,
    kernel_artifacts,
    performance_claims,
)
from kwdb.records import Evidence, ExtractedClaim
from kwdb.store.comparable import comparable_key, digest
from kwdb.store.harvest import now
from kwdb.store.rows import Row, insert_rows, next_key, update_rows
from kwdb.text import fold

RULE: Final = "bench:1"
"""Decides relations of measured claims; `person:NAME` decides over it."""

_ENVIRONMENT: Final = (
    "gpu_name compute_capability sm_count l2_bytes memory_bytes driver_version "
    "cuda_driver_version nvrtc_version context info"
).split()
_ARTIFACT: Final = (
    "cubin_sha256 source_sha256 kernel arch options registers spill_bytes shared_memory_bytes log"
).split()
_SAMPLES: Final = (
    "method cache_state n n_discarded min_us p05_us q1_us median_us q3_us p95_us mean_us std_us "
    "ci_low_us ci_high_us"
).split()
_CHECK: Final = "seed max_abs max_rel matched_ratio rtol atol message".split()

Verdict = Any
Judge = Callable[[Mapping[str, Any], Mapping[str, Any]], Verdict]


def store_run(
    connection: sa.Connection, bundle: Mapping[str, Any], op: str, dtype: str
) -> list[int]:
    """Write a bundle; returns the keys of its claims, none where the run is stored already."""
    run = bundle["run"]
    known = sa.select(bench_runs.c.id).where(bench_runs.c.run_key == run["run_key"])
    if connection.execute(known).first():
        return []
    environment_id, gpu_id = _store_environment(connection, bundle["environment"])
    run_id = next_key(connection, bench_runs)
    times = {name: _time(run[name]) for name in ("started_at", "finished_at")}
    row = {"id": run_id, "environment_id": environment_id, **times}
    row |= {name: run[name] for name in ("run_key", "arguments", "status", "kwdb_version")}
    insert_rows(connection, bench_runs, [row])
    artifacts = _store_artifacts(connection, bundle["artifacts"])
    return _store_cases(connection, bundle, (run_id, gpu_id, artifacts), (op, dtype))


def _time(text: str | None) -> datetime | None:
    return (
        None if text is None else datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    )


def _store_environment(
    connection: sa.Connection, found: Mapping[str, Any]
) -> tuple[int, int | None]:
    fields = {name: found.get(name) for name in _ENVIRONMENT}
    fingerprint = digest([json.dumps(fields, sort_keys=True)])
    gpu_id = connection.execute(
        sa.select(gpu_aliases.c.gpu_id).where(gpu_aliases.c.alias == fold(found["gpu_name"] or ""))
    ).scalar()
    known = sa.select(environments.c.id).where(environments.c.fingerprint == fingerprint)
    key = connection.execute(known).scalar()
    if key is None:
        key = next_key(connection, environments)
        row = fields | {"id": key, "fingerprint": fingerprint, "gpu_id": gpu_id}
        insert_rows(connection, environments, [row])
    return int(key), gpu_id


def _store_artifacts(
    connection: sa.Connection, found: Sequence[Mapping[str, Any]]
) -> dict[str, int]:
    """Return kernel -> key of what was compiled; equal artifacts share a row."""
    keys: dict[str, int] = {}
    for artifact in found:
        identity = [
            kernel_artifacts.c[name].is_not_distinct_from(artifact[name])
            for name in ("source_sha256", "arch", "options", "cubin_sha256")
        ]
        key = connection.execute(sa.select(kernel_artifacts.c.id).where(*identity)).scalar()
        if key is None:
            key = next_key(connection, kernel_artifacts)
            row = {name: artifact[name] for name in _ARTIFACT} | {"id": key}
            insert_rows(connection, kernel_artifacts, [row])
        keys[artifact["kernel"]] = int(key)
    return keys


def _store_cases(
    connection: sa.Connection,
    bundle: Mapping[str, Any],
    owner: tuple[int, int | None, Mapping[str, int]],
    what: tuple[str, str],
) -> list[int]:
    run_id, gpu_id, artifacts = owner
    free = next_key(connection, bench_cases)
    claim_keys = []
    for number, case in enumerate(bundle["cases"]):
        row: Row = {
            "id": free + number, "bench_run_id": run_id, "problem": case["problem"],
            "kernel_artifact_id": artifacts.get(case["kernel"]), "kernel": case["kernel"],
            "shape": " ".join(f"{name}={size}" for name, size in case["shape"].items()),
            "input_recipe": case["recipe"], "status": case["status"], "message": case["message"],
            "sol_us": case.get("sol_us"), "sol_basis": case.get("sol_basis"),
            "roof_gb_s": case.get("roof_gb_s"),
        }  # fmt: skip
        insert_rows(connection, bench_cases, [row])
        _store_evidence(connection, row["id"], case)
        if case["status"] == "passed" and case.get("samples"):
            claim_keys.append(_store_claim(connection, bundle, case, (row["id"], gpu_id), what))
    return claim_keys


def _store_evidence(connection: sa.Connection, case_id: int, case: Mapping[str, Any]) -> None:
    samples = [
        {name: one[name] for name in _SAMPLES}
        | {"bench_case_id": case_id, "samples": np.asarray(one["samples"], "<f8").tobytes()}
        for one in case.get("samples", [])
    ]
    checks = [
        {name: one[name] for name in _CHECK}
        | {"bench_case_id": case_id, "is_passed": one["status"] == "passed"}
        for one in case.get("checks", [])
    ]
    for table, rows in ((bench_samples, samples), (correctness_checks, checks)):
        free = next_key(connection, table)
        insert_rows(connection, table, [row | {"id": free + i} for i, row in enumerate(rows)])


def _store_claim(
    connection: sa.Connection,
    bundle: Mapping[str, Any],
    case: Mapping[str, Any],
    owner: tuple[int, int | None],
    what: tuple[str, str],
) -> int:
    timed = case["samples"][0]
    gpu = connection.execute(sa.select(gpus.c.name).where(gpus.c.id == owner[1])).scalar()
    place = [case["problem"], case["kernel"], case["shape"], case["recipe"]]
    finished = _time(bundle["run"]["finished_at"])
    row: Row = {
        "id": next_key(connection, performance_claims),
        "claim_key": digest(["bench_case", bundle["run"]["run_key"], *place, "latency"]),
        "origin": "measured", "status": "supported", "status_by": RULE,
        "status_reason": f"verified and timed; inputs: {case['recipe']}",
        "gpu_id": owner[1], "gpu_count": 1, "dtype": what[1], "op": what[0],
        "variant": case["kernel"], "shape": "x".join(map(str, case["shape"].values())),
        "metric": "latency", "unit_as_written": "us", "value_text": f"{timed['median_us']:.4f}",
        "value": timed["median_us"], "value_normalized": timed["median_us"],
        "statistic": "median", "direction": "lower_better", "role": "single",
        "utilization": f"{100 * case['sol_us'] / timed['median_us']:.1f}% of the measured roof",
        "cache_state": timed["cache_state"], "timing_scope": timed["method"],
        "comparable_key": _comparable_key(case, gpu, what, timed),
        "confidence": "verified", "reproducibility": "benchmarked", "bench_case_id": owner[0],
        "claimed_on": finished.date() if finished else None,
    }  # fmt: skip
    insert_rows(connection, performance_claims, [row])
    sizes = [
        {"claim_id": row["id"], "name": name, "value_number": float(size), "value_text": str(size)}
        for name, size in case["shape"].items()
    ]
    insert_rows(connection, claim_dimensions, sizes)
    return int(row["id"])


def _comparable_key(
    case: Mapping[str, Any], gpu: str | None, what: tuple[str, str], timed: Mapping[str, Any]
) -> str | None:
    """Return the key that a reported figure under the same conditions has as well."""
    same = ExtractedClaim(
        metric="latency", unit="us", value_text="", value=timed["median_us"],
        direction="lower_better", role="single", evidence=Evidence("body", ""),
        statistic="median", gpu_count=1, op=what[0], dtype=what[1],
        dimensions=tuple((name, float(size), None) for name, size in case["shape"].items()),
        cache_state=timed["cache_state"], timing_scope=timed["method"],
    )  # fmt: skip
    return comparable_key(same, gpu)


_CLAIM: Final = (
    "id origin status op dtype variant shape metric value value_normalized qualifier statistic "
    "gpu_count cache_state timing_scope claim_key"
).split()


def read_claims(connection: sa.Connection, op: str, keys: Sequence[int] | None = None) -> list[Row]:
    """Return claims of an operation as the judge takes them: those of `keys`, or all reported ones.

    `op` also finds operations that end in it, e.g. batched_gemv for gemv. Retired and invalidated
    claims are left out; measured ones have `ci_low_us` and `ci_high_us`.
    """
    c, s = performance_claims.c, bench_samples.c
    query = (
        sa.select(
            *(c[name] for name in _CLAIM), gpus.c.name.label("gpu"), s.ci_low_us, s.ci_high_us
        )
        .outerjoin(gpus, gpus.c.id == c.gpu_id)
        .outerjoin(
            bench_samples,
            sa.and_(s.bench_case_id == c.bench_case_id, s.method == c.timing_scope),
        )
        .where(c.retired_at.is_(None))
        .order_by(c.id)
    )
    if keys is not None:
        query = query.where(c.id.in_(keys))
    else:
        query = query.where(
            c.origin != "measured",
            c.status.not_in(("invalidated", "withdrawn")),
            c.metric == "latency",
            sa.or_(c.op == op, c.op.like(f"%\\_{op}", escape="\\"), c.op.like(f"%-{op}")),
        )
    return [dict(row) for row in connection.execute(query).mappings()]


def relate(connection: sa.Connection, keys: Sequence[int], op: str, judge: Judge) -> list[Row]:
    """Judge every reported claim on `op` by each measured claim of `keys`; returns the relations.

    Each has the columns of claim_relations but `id`, and `reported`, the claim spoken of.
    """
    found = [
        {
            "claim_id": measured["id"],
            "other_claim_id": reported["id"],
            "relation": verdict.relation,
            "ratio": verdict.ratio,
            "differing_fields": ", ".join(verdict.differing) or None,
            "evidence": verdict.evidence,
            "decided_by": RULE,
            "decided_at": now(),
            "reported": reported,
        }
        for measured in read_claims(connection, op, keys)
        for reported in read_claims(connection, op)
        if (verdict := judge(measured, reported))
    ]
    free = next_key(connection, claim_relations)
    rows = [
        {name: value for name, value in row.items() if name != "reported"} | {"id": free + i}
        for i, row in enumerate(found)
    ]
    insert_rows(connection, claim_relations, rows)
    return found


def settle(connection: sa.Connection, relations: Sequence[Row]) -> int:
    """Give reported claims the status that the relations say; people's decisions stay.

    A claim that one measurement reproduces is reproduced, whatever others say. Returns rows.
    """
    words = {"contradicts": "contradicted", "reproduces": "reproduced"}
    wanted = {}
    for relation in sorted(relations, key=lambda one: one["relation"] == "reproduces"):
        if relation["relation"] in words:
            reason = {"status_reason": relation["evidence"], "status_by": RULE}
            key = relation["other_claim_id"]
            wanted[key] = {"id": key, "status": words[relation["relation"]], **reason}
    c = performance_claims.c
    ours = sa.or_(c.status_by.is_(None), c.status_by.not_like("person:%"))
    free = set(connection.execute(sa.select(c.id).where(c.id.in_(wanted), ours)).scalars())
    return update_rows(connection, performance_claims, [wanted[key] for key in sorted(free)])
