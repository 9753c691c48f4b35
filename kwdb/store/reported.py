"""Claims that the seeds report: stored by key, retired when their row goes, people's word kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kwdb.models import claim_dimensions, claim_fields, claim_relations, performance_claims
from kwdb.plausibility import RULE
from kwdb.records import ExtractedClaim
from kwdb.store.comparable import COMPARED, comparable_key
from kwdb.store.facts import store_facts
from kwdb.store.rows import Row, find_keys, replace_owned

MARK: Final = "seed:"
"""What `extractor`, `status_by` and `decided_by` of a row begin with that the seeds wrote."""

_STATUS: Final = ("status", "status_reason", "status_by")
# A roof is nobody's result.
_ROOF: Final = "speed-of-light"
_ALL_SHAPES: Final = "shapes"
"""The dimension that names all shapes of an aggregate, so that other sources may be compared."""


@dataclass(frozen=True, slots=True)
class ReportedClaim:
    """A row of performance_claims without its keys, what it says, and its GPU's name."""

    row: Row
    claim: ExtractedClaim


def store_reported(connection: sa.Connection, found: Sequence[ReportedClaim]) -> int:
    """Make these the reported claims of the seeds; returns rows written. Does not commit."""
    c = performance_claims.c
    owned = c.extractor.startswith(MARK, autoescape=True)
    columns = (c.claim_key, *(c[name] for name in _STATUS))
    stored = {
        row["claim_key"]: dict(row)
        for row in connection.execute(sa.select(*columns).where(owned)).mappings()
    }
    rows = [_full_row(one, stored.get(one.row["claim_key"])) for one in found]
    written = store_facts(connection, performance_claims, rows, ("claim_key",), owned)
    return written + _store_parts(connection, found)


def _full_row(one: ReportedClaim, stored: Mapping[str, Any] | None) -> Row:
    row = dict(one.row)
    if stored is not None and _outranks(stored, row):
        row.update({name: stored[name] for name in _STATUS})
    row["comparable_key"] = _key(one, row["status"])
    return row


def _outranks(stored: Mapping[str, Any], row: Row) -> bool:
    """Whether a stored status stays: a person's or a benchmark's always, a doubt until reviewed."""
    by = stored["status_by"]
    if by is None or by.startswith(MARK):
        return False
    return not by.startswith(RULE) or row["status"] == "unreviewed"


def _key(one: ReportedClaim, status: str) -> str | None:
    claim = one.claim
    if status not in COMPARED or (claim.op or "").endswith(_ROOF):
        return None
    is_whole = any(name == _ALL_SHAPES for name, *_ in claim.dimensions)
    return comparable_key(claim, claim.gpu, None if is_whole else one.row["source_page_id"])


def _store_parts(connection: sa.Connection, found: Sequence[ReportedClaim]) -> int:
    names = [one.row["claim_key"] for one in found]
    keys = find_keys(connection, performance_claims, "claim_key", names)
    dimensions, fields = [], []
    for one in found:
        key = keys[one.row["claim_key"]]
        for name, number, text in one.claim.dimensions:
            dimensions.append(
                {"claim_id": key, "name": name, "value_number": number, "value_text": text}
            )
        for name, basis, place in one.claim.fields:
            fields.append({"claim_id": key, "field": name, "basis": basis, "place": place})
    owners = list(keys.values())
    return replace_owned(
        connection, claim_dimensions, "claim_id", owners, dimensions
    ) + replace_owned(connection, claim_fields, "claim_id", owners, fields)


def store_relations(connection: sa.Connection, rows: Sequence[Row]) -> int:
    """Make these the relations that the seeds state; what a person decided stays as it is.

    Each row names both claims by `claim_key` in `claim` and `other`. Does not commit.
    """
    r = claim_relations.c
    named = {row[side] for row in rows for side in ("claim", "other")}
    keys = find_keys(connection, performance_claims, "claim_key", named)
    owned = r.decided_by.startswith(MARK, autoescape=True)
    taken = sa.select(r.claim_id, r.other_claim_id, r.relation).where(~owned)
    decided = {tuple(row) for row in connection.execute(taken)}
    names = ("claim_id", "other_claim_id", "relation")
    full = [_relation_row(row, keys) for row in rows]
    ours = [row for row in full if tuple(row[name] for name in names) not in decided]
    return store_facts(connection, claim_relations, ours, names, owned)


def _relation_row(row: Row, keys: Mapping[str, int]) -> Row:
    rest = {name: value for name, value in row.items() if name not in ("claim", "other")}
    return {"claim_id": keys[row["claim"]], "other_claim_id": keys[row["other"]], **rest}
