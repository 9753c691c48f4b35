"""Claims that pages report in their front matter: one row whichever corpora repeat it.

A claim's id outlives another import, as do the status that a person gave it and its relations;
one that no live version of its page has any more is retired.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import claim_dimensions, claim_fields, performance_claims
from kwdb.plausibility import RULE, Doubt, beyond_hardware
from kwdb.records import ExtractedClaim
from kwdb.store.claims import ClaimNames
from kwdb.store.comparable import comparable_key
from kwdb.store.harvest import now
from kwdb.store.rows import Row, chunks, insert_rows, next_key, replace_owned, update_rows
from kwdb.text import fold

_STATUS: Final = ("status", "status_reason", "status_by")
_COPIED: Final = (
    "dtype op variant shape metric value_text value value_max value_normalized qualifier statistic "
    "direction role baseline_value baseline_label ratio_of cache_state timing_scope gpu_count"
).split()


@dataclass(frozen=True, slots=True)
class PageClaim:
    """A claim of a page: what it cites, the share of a roof as written, and a doubt or None."""

    page_id: str
    source_page_id: str | None
    claim: ExtractedClaim
    utilization: str | None
    doubt: Doubt | None


def store_page_claims(
    connection: sa.Connection,
    page_ids: Sequence[str],
    offered: Sequence[PageClaim],
    reader: str,
    names: ClaimNames,
) -> tuple[int, int]:
    """Make `offered` the claims in the front matter of pages; returns rows written and disputed."""
    rows = {row["claim_key"]: row for row in (_row(claim, reader, names) for claim in offered)}
    claims = {_key(claim): claim.claim for claim in offered}
    stored = _stored(connection, page_ids)
    written = _write(connection, list(rows.values()), stored)
    gone = [row for key, row in stored.items() if key not in rows and row["retired_at"] is None]
    at = now()
    written += update_rows(
        connection, performance_claims, [{"id": row["id"], "retired_at": at} for row in gone]
    )
    written += _store_parts(connection, {rows[key]["id"]: claim for key, claim in claims.items()})
    return written, sum(row["status"] == "disputed" for row in rows.values())


def _key(found: PageClaim) -> str:
    claim = found.claim
    parts: list[Any] = ["page", found.page_id, found.source_page_id, claim.metric, claim.value_text]
    parts += [claim.gpu, claim.dtype, claim.shape, claim.ordinal]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _row(found: PageClaim, reader: str, names: ClaimNames) -> Row:
    claim = found.claim
    gpu = names.gpus.get(fold(claim.gpu)) if claim.gpu else None
    doubt = beyond_hardware(claim, gpu, found.utilization or "") or found.doubt
    return {
        **{name: getattr(claim, name) for name in _COPIED},
        "claim_key": _key(found),
        "page_id": found.page_id,
        "source_page_id": found.source_page_id,
        "origin": "reported",
        "status": "disputed" if doubt else "unreviewed",
        "status_reason": doubt[1] if doubt else None,
        "status_by": doubt[0] if doubt else None,
        "gpu_id": gpu["id"] if gpu else None,
        "unit_as_written": claim.unit,
        "utilization": found.utilization,
        "comparable_key": None if doubt else comparable_key(claim, gpu["name"] if gpu else None),
        "evidence": claim.evidence.text,
        "extractor": reader,
        "retired_at": None,
    }


def _stored(connection: sa.Connection, page_ids: Sequence[str]) -> dict[str, Row]:
    """Claims of these pages that came from a front matter; seeds have no extractor."""
    c = performance_claims.c
    found: dict[str, Row] = {}
    for part in chunks(page_ids):
        query = sa.select(performance_claims).where(
            c.page_id.in_(part), c.origin == "reported", c.extractor.startswith("front-matter")
        )
        rows = connection.execute(query).mappings()
        found.update((row["claim_key"], dict(row)) for row in rows)
    return found


def _write(connection: sa.Connection, rows: Sequence[Row], stored: Mapping[str, Row]) -> int:
    free = next_key(connection, performance_claims)
    new: list[Row] = []
    changed: list[Row] = []
    for row in rows:
        old = stored.get(row["claim_key"])
        row["id"] = old["id"] if old else free + len(new)
        if old is None:
            new.append(row)
            continue
        if old["status_by"] is not None and not old["status_by"].startswith(RULE):
            row.update({name: old[name] for name in _STATUS})
        if any(old[name] != value for name, value in row.items()):
            changed.append(row)
    return insert_rows(connection, performance_claims, new) + update_rows(
        connection, performance_claims, changed
    )


def _store_parts(connection: sa.Connection, claims: Mapping[int, ExtractedClaim]) -> int:
    dimensions: list[dict[str, Any]] = [
        {"claim_id": key, "name": name, "value_number": number, "value_text": text}
        for key, claim in claims.items()
        for name, (number, text) in {n: (v, t) for n, v, t in claim.dimensions}.items()
    ]
    fields: list[dict[str, Any]] = [
        {"claim_id": key, "field": name, "basis": basis, "place": place}
        for key, claim in claims.items()
        for name, basis, place in claim.fields
    ]
    owners = list(claims)
    return replace_owned(
        connection, claim_dimensions, "claim_id", owners, dimensions
    ) + replace_owned(connection, claim_fields, "claim_id", owners, fields)
