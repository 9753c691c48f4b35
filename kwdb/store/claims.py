"""Performance claims of pull requests: stored by key, retired when their source drops them.

A claim's id outlives re-extraction: what is read again under the same `claim_key` keeps its row,
its relations and any status that a person or a benchmark gave it.
"""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import (
    claim_dimensions,
    claim_fields,
    gpu_aliases,
    gpus,
    page_versions,
    performance_claims,
    pull_requests,
    tags,
)
from kwdb.plausibility import RULE, Doubt, beyond_hardware, missing_from_source
from kwdb.records import ExtractedClaim
from kwdb.store.harvest import now
from kwdb.store.rows import Row, chunks, insert_rows, next_key, replace_owned, update_rows
from kwdb.store.verdicts import RepositoryRow
from kwdb.text import fold

_AGGREGATES: Final = frozenset({"geomean", "mean", "range"})
# A column named `T=8` or `batch_size: 1` is a condition, not a competitor.
_SETTING: Final = re.compile(r"[A-Za-z_]\w*\s*[=:]\s*\d|^\d+$")
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
    _drop_vague_keys([row for row, _ in offered.values()])
    keys = [reading.pull_request["id"] for reading in readings]
    stored = _stored(connection, keys)
    written = _write(connection, [row for row, _ in offered.values()], stored)
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
    return {
        **{name: getattr(claim, name) for name in _COPIED},
        "claim_key": claim_key(f"{repository.full_name}#{pull_request['number']}", claim),
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
        "comparable_key": None if doubt else comparable_key(claim, gpu["name"] if gpu else None),
        "evidence": claim.evidence.text,
        "evidence_line": claim.evidence.line,
        "claimed_on": landed.date() if landed else None,
        "retired_at": None,
    }


_COPIED: Final = (
    "dtype op variant shape metric value_text value value_max value_normalized qualifier statistic "
    "direction role baseline_value baseline_label ratio_of cache_state timing_scope"
).split()


def claim_key(source: str, claim: ExtractedClaim) -> str:
    """Return the key of a claim of the pull request `source`, OWNER/NAME#N."""
    evidence = " ".join(claim.evidence.text.split())
    parts = (evidence, claim.metric, claim.value_text, claim.variant, claim.ordinal)
    return _digest(["pull_request", source, *parts])


def comparable_key(claim: ExtractedClaim, gpu: str | None) -> str | None:
    """Return what figures that may be compared have in common; None: comparable with none.

    Operation, shape and GPU must be stated; a ratio needs the name of its baseline as well. An
    aggregate over shapes never shares a key with the figure of one shape.
    """
    shape = sorted(
        f"{fold(name)}={fold(text or '') if number is None else repr(float(number))}"
        for name, number, text in claim.dimensions
    )
    if gpu is None or not shape or not claim.op:
        return None
    is_relative = claim.metric in ("speedup", "percent_of_peak")
    if claim.metric == "speedup" and not claim.baseline_label:
        return None
    return _digest(
        [
            *(fold(claim.op), shape, fold(claim.dtype or ""), gpu, claim.gpu_count, claim.metric),
            *(claim.cache_state, claim.timing_scope, claim.statistic, claim.qualifier),
            claim.qualifier in _AGGREGATES or claim.statistic in _AGGREGATES,
            fold(claim.ratio_of or ""),
            [claim.unit == "%", fold(claim.baseline_label or "")] if is_relative else None,
            claim.direction if is_relative else None,
            fold(claim.variant or "") if _SETTING.search(claim.variant or "") else None,
        ]
    )


def _drop_vague_keys(rows: Sequence[Row]) -> None:
    """Take the key from claims of a pull request that has several figures of one variant under it.

    Something tells these figures apart that was not read as a dimension, so that whatever shares
    the key need not be like them.
    """
    seen: dict[tuple[Any, ...], set[float]] = defaultdict(set)
    for row in rows:
        place = (row["pull_request_id"], row["comparable_key"], row["variant"], row["role"])
        seen[place].add(row["value_normalized"])
    vague = {place[:2] for place, values in seen.items() if len(values) > 1}
    for row in rows:
        if (row["pull_request_id"], row["comparable_key"]) in vague:
            row["comparable_key"] = None


def _digest(parts: Sequence[Any]) -> str:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


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
    """Insert and update; gives each row its `id`, and the status that it keeps."""
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
        if not _is_ours(old):
            row.update({name: old[name] for name in _STATUS})
        if any(old[name] != value for name, value in row.items()):
            changed.append(row)
    return insert_rows(connection, performance_claims, new) + update_rows(
        connection, performance_claims, changed
    )


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


def check_citations(connection: sa.Connection) -> int:
    """Dispute reported claims whose number is not in the source page that is held; returns rows.

    Does not commit. Claims of pages whose text is not held, and statuses that people or
    benchmarks gave, stay as they are. To be called after seeds or pages were loaded.
    """
    c, v = performance_claims.c, page_versions.c
    query = (
        sa.select(c.id, c.value, c.value_text, c.status, c.status_by, v.body)
        .join(page_versions, v.page_id == c.source_page_id)
        .where(c.origin == "reported", c.value.is_not(None), c.retired_at.is_(None))
        .order_by(c.id)
    )
    held: dict[int, tuple[Row, list[str]]] = {}
    for found in connection.execute(query).mappings():
        text = found["body"].decode("utf-8", "replace")
        held.setdefault(found["id"], (dict(found), []))[1].append(text)
    changed = []
    for row, bodies in held.values():
        doubt = missing_from_source(row["value"], row["value_text"], "\n".join(bodies))
        if doubt and row["status"] == "unreviewed" and _is_ours(row):
            status = {"status": "disputed", "status_by": doubt[0], "status_reason": doubt[1]}
            changed.append({"id": row["id"]} | status)
    return update_rows(connection, performance_claims, changed)
