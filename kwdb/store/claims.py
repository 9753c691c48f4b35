"""Performance claims of pull requests: stored by key, retired when their source drops them.

A claim's id outlives re-extraction: what is read again under the same `claim_key` keeps its row,
its relations and any status that a person or a benchmark gave it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import (
    claim_dimensions,
    claim_fields,
    gpu_aliases,
    gpus,
    performance_claims,
    pull_requests,
    tags,
)
from kwdb.plausibility import RULE, Doubt, beyond_hardware
from kwdb.records import ExtractedClaim
from kwdb.store.comparable import COMPARED, comparable_key, digest, drop_vague_keys
from kwdb.store.harvest import now
from kwdb.store.rows import Row, chunks, insert_rows, next_key, replace_owned, update_rows
from kwdb.store.verdicts import RepositoryRow
from kwdb.text import fold
from kwdb.units import find_unit

_STATUS: Final = ("status", "status_reason", "status_by")
_MOST_GPUS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read out of one pull request: its row, and each claim with a doubt or None."""

    pull_request: Row
    claims: Sequence[tuple[ExtractedClaim, Doubt | None]]


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """What names of GPUs and architectures mean in this database."""

    gpus: Mapping[str, Row]
    architectures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Stored:
    """How many rows a batch wrote, and how its claims stand after it."""

    rows_written: int
    claims: int
    retired: int
    disputed: int


def read_claim_names(connection: sa.Connection) -> ClaimNames:
    """Return folded GPU spelling -> row of gpus, and architecture name -> tag key."""
    query = sa.select(gpu_aliases.c.alias, gpus).join(gpus, gpus.c.id == gpu_aliases.c.gpu_id)
    by_alias = {row["alias"]: dict(row) for row in connection.execute(query).mappings()}
    named = sa.select(tags.c.name, tags.c.id).where(tags.c.facet == "architecture")
    return ClaimNames(by_alias, {row.name: row.id for row in connection.execute(named)})


def due_for_extraction(
    connection: sa.Connection, repository_id: int, extractor: str, limit: int, after: int = 0
) -> list[Row]:
    """Return up to `limit` pull requests with key over `after` that this extractor has not read."""
    p = pull_requests.c
    query = (
        sa.select(p.id, p.number, p.title, p.body, p.landed_at)
        .where(
            p.repository_id == repository_id,
            p.id > after,
            p.title.is_not(None),
            p.extractor.is_distinct_from(extractor),
        )
        .order_by(p.id)
        .limit(limit)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def store_claims(
    connection: sa.Connection,
    repository: RepositoryRow,
    readings: Sequence[Reading],
    extractor: str,
    names: ClaimNames,
) -> Stored:
    """Make these the extracted claims of their pull requests, and mark them as read."""
    offered: dict[str, tuple[Row, ExtractedClaim]] = {}
    for reading in readings:
        for claim, doubt in reading.claims:
            if _is_storable(claim):
                row = _row(repository, reading.pull_request, claim, doubt, names)
                offered.setdefault(row["claim_key"], (row | {"extractor": extractor}, claim))
    rows = [row for row, _ in offered.values()]
    keys = [reading.pull_request["id"] for reading in readings]
    stored = _stored(connection, keys)
    _keep_statuses(rows, stored)
    drop_vague_keys(rows)
    written = _write(connection, rows, stored)
    retired = _retire(connection, [row for key, row in stored.items() if key not in offered])
    ids = {row["id"]: claim for row, claim in offered.values()}
    written += _replace_parts(connection, ids)
    marks = [{"id": key, "extractor": extractor} for key in keys]
    written += update_rows(connection, pull_requests, marks)
    disputed = sum(row["status"] == "disputed" for row, _ in offered.values())
    return Stored(written + retired, len(offered), retired, disputed)


def _is_storable(claim: ExtractedClaim) -> bool:
    numbers = (claim.value, claim.value_max, claim.value_normalized, claim.baseline_value)
    return all(number is None or math.isfinite(number) for number in numbers)


def _row(
    repository: RepositoryRow,
    pull_request: Row,
    claim: ExtractedClaim,
    doubt: Doubt | None,
    names: ClaimNames,
) -> Row:
    gpu = names.gpus.get(fold(claim.gpu)) if claim.gpu else None
    doubt = doubt or beyond_hardware(claim, gpu, claim.evidence.text)
    landed = pull_request["landed_at"]
    source = f"{repository.full_name}#{pull_request['number']}"
    return {
        **{name: getattr(claim, name) for name in _COPIED},
        "claim_key": claim_key(source, claim),
        "pull_request_id": pull_request["id"],
        "origin": "extracted",
        "status": "disputed" if doubt else "unreviewed",
        "status_reason": doubt[1] if doubt else None,
        "status_by": doubt[0] if doubt else None,
        "gpu_id": gpu["id"] if gpu else None,
        "architecture_tag_id": names.architectures.get(claim.architecture or ""),
        "gpu_count": claim.gpu_count if (claim.gpu_count or 0) < _MOST_GPUS else None,
        "unit_as_written": claim.unit,
        "utilization": f"{claim.utilization:g}%" if claim.utilization is not None else None,
        "baseline_value": _baseline(claim),
        "comparable_key": comparable_key(claim, gpu["name"] if gpu else None, source),
        "evidence": claim.evidence.text,
        "evidence_line": claim.evidence.line,
        "claimed_on": landed.date() if landed else None,
        "retired_at": None,
    }


def _baseline(claim: ExtractedClaim) -> float | None:
    """The baseline in the unit of the value: `1.2 us -> 100 ns` gives 1200."""
    old, new = find_unit(claim.baseline_unit or ""), find_unit(claim.unit or "")
    if claim.baseline_value is None or old is None or new is None or old.metric != new.metric:
        return claim.baseline_value
    factor = old.factor / new.factor
    return claim.baseline_value if factor == 1 else float(f"{claim.baseline_value * factor:.12g}")


_COPIED: Final = (
    "dtype op variant shape metric value_text value value_max value_normalized qualifier statistic "
    "direction role baseline_label ratio_of cache_state timing_scope"
).split()


def claim_key(source: str, claim: ExtractedClaim) -> str:
    """Return the key of a claim of the pull request `source`, OWNER/NAME#N."""
    evidence = " ".join(claim.evidence.text.split())
    parts = (evidence, claim.metric, claim.value_text, claim.variant, claim.ordinal)
    return digest(["pull_request", source, *parts])


def _stored(connection: sa.Connection, keys: Sequence[int]) -> dict[str, Row]:
    c = performance_claims.c
    found: dict[str, Row] = {}
    for part in chunks(keys):
        query = sa.select(performance_claims).where(
            c.pull_request_id.in_(part), c.origin == "extracted"
        )
        rows = connection.execute(query).mappings()
        found.update((row["claim_key"], dict(row)) for row in rows)
    return found


def _write(connection: sa.Connection, rows: Sequence[Row], stored: Mapping[str, Row]) -> int:
    """Insert and update; gives each row its `id`."""
    free = next_key(connection, performance_claims)
    new: list[Row] = []
    changed: list[Row] = []
    for row in rows:
        old = stored.get(row["claim_key"])
        if old is None:
            row["id"] = free + len(new)
            new.append(row)
            continue
        row["id"] = old["id"]
        if any(old[name] != value for name, value in row.items()):
            changed.append(row)
    return insert_rows(connection, performance_claims, new) + update_rows(
        connection, performance_claims, changed
    )


def _keep_statuses(rows: Sequence[Row], stored: Mapping[str, Row]) -> None:
    """Give rows the status that a person or a benchmark gave them; what is doubted is no leader."""
    for row in rows:
        old = stored.get(row["claim_key"])
        if old is not None and not _is_ours(old):
            row.update({name: old[name] for name in _STATUS})
        if row["status"] not in COMPARED:
            row["comparable_key"] = None


def _is_ours(row: Row) -> bool:
    """Whether a status comes from these rules, so that they may change it."""
    return row["status_by"] is None or row["status_by"].startswith(RULE)


def _retire(connection: sa.Connection, rows: Sequence[Row]) -> int:
    gone = [{"id": row["id"], "retired_at": now()} for row in rows if row["retired_at"] is None]
    return update_rows(connection, performance_claims, gone)


def _replace_parts(connection: sa.Connection, claims: Mapping[int, ExtractedClaim]) -> int:
    dimensions = [
        {"claim_id": key, "name": name, "value_number": number, "value_text": text}
        for key, claim in claims.items()
        for name, (number, text) in _first_of((n, (v, t)) for n, v, t in claim.dimensions).items()
    ]
    fields = [
        {"claim_id": key, "field": name, "basis": basis, "place": place}
        for key, claim in claims.items()
        for name, (basis, place) in _first_of((n, (b, p)) for n, b, p in claim.fields).items()
        if getattr(claim, name) is not None
    ]
    owners = list(claims)
    return replace_owned(
        connection, claim_dimensions, "claim_id", owners, dimensions
    ) + replace_owned(connection, claim_fields, "claim_id", owners, fields)


def _first_of(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found
