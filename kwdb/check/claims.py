"""Rules on performance claims: source, unit, evidence, status and relations."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from kwdb.check.rules import Case, Rule, Scope
from kwdb.models import performance_claims
from kwdb.units import METRICS, find_unit, is_unit_of, normalize


def _live(scope: Scope, *names: str) -> Iterator[sa.RowMapping]:
    columns = (performance_claims.c[name] for name in ("id", *names))
    query = sa.select(*columns).where(performance_claims.c.retired_at.is_(None))
    yield from scope.connection.execute(query.order_by(performance_claims.c.id)).mappings()


def _wrong_units(scope: Scope) -> Iterator[Case]:
    for row in _live(scope, "metric", "unit_as_written"):
        unit = row["unit_as_written"]
        if unit and row["metric"] in METRICS:
            if find_unit(unit) is None:
                yield f"claim:{row['id']}", f"{unit!r} is not known"
            elif not is_unit_of(unit, row["metric"]):
                yield f"claim:{row['id']}", f"{unit!r} does not measure {row['metric']}"


def _wrong_normalization(scope: Scope) -> Iterator[Case]:
    for row in _live(scope, "metric", "unit_as_written", "value", "value_normalized"):
        unit = find_unit(row["unit_as_written"] or "")
        if unit is None or unit.metric != row["metric"] or row["value"] is None:
            continue
        wanted, found = normalize(row["value"], unit), row["value_normalized"]
        if found is None or abs(found - wanted) > 1e-9 * max(abs(wanted), 1.0):
            yield f"claim:{row['id']}", f"{row['value']:g} {unit.symbol} is {wanted:g}, not {found}"


def _vague_keys(scope: Scope) -> Iterator[Case]:
    """Figures of one source that share key, variant and role, but not the value."""
    names = ("comparable_key", "source_page_id", "pull_request_id", "variant", "role")
    groups: dict[tuple[Any, ...], dict[float, int]] = defaultdict(dict)
    for row in _live(scope, *names, "value_normalized"):
        if row["comparable_key"] and row["value_normalized"] is not None:
            place = tuple(row[name] for name in names)
            groups[place].setdefault(row["value_normalized"], row["id"])
    for place, values in groups.items():
        if len(values) > 1:
            shown = ", ".join(f"claim:{key} {value:g}" for value, key in values.items())
            yield f"claim:{next(iter(values.values()))}", f"{shown} ({place[1] or place[2]})"


_LIVE: Final = " FROM performance_claims c WHERE c.retired_at IS NULL"
_ID: Final = "SELECT 'claim:' || c.id, "

RULES: Final = (
    Rule(
        "claim-without-source",
        "error",
        "a reported claim cites no page that exists",
        "add the source page, or correct source_page_id",
        f"{_ID} COALESCE(c.source_page_id, c.page_id) {_LIVE} AND c.origin = 'reported'"
        " AND NOT EXISTS (SELECT 1 FROM pages p WHERE NOT p.is_retired"
        " AND p.id = COALESCE(c.source_page_id, c.page_id)) ORDER BY c.id",
    ),
    Rule(
        "claim-without-value",
        "error",
        "a claim has neither a figure nor, as a statement, its words",
        "give value, or for the metric statement value_text",
        f"{_ID} c.metric {_LIVE} AND (c.value_text IS NULL OR"
        " (c.value IS NULL AND c.metric <> 'statement')) ORDER BY c.id",
    ),
    Rule(
        "claim-without-evidence",
        "error",
        "a claim does not say where its figure stands",
        "name the table, section or line",
        f"{_ID} NULL {_LIVE} AND c.origin <> 'measured' AND COALESCE(c.evidence, '') = ''"
        " ORDER BY c.id",
    ),
    Rule(
        "claim-unit",
        "error",
        "a claim has a unit that cannot measure its metric",
        "correct unit or metric; kwdb.units has the spellings",
        _wrong_units,
    ),
    Rule(
        "claim-normalized",
        "error",
        "a claim's normalised value is not its value in the metric's unit",
        "load or extract the claim again",
        _wrong_normalization,
    ),
    Rule(
        "claim-range",
        "error",
        "a claim's range ends below its beginning",
        "swap value and value_max",
        f"{_ID} c.value || ' to ' || c.value_max {_LIVE} AND c.value_max < c.value ORDER BY c.id",
    ),
    Rule(
        "claim-ratio-of",
        "warning",
        "a reported ratio does not say what it is a ratio of",
        "give ratio_of or baseline_label",
        f"{_ID} c.value_text {_LIVE} AND c.origin = 'reported' AND c.metric = 'speedup'"
        " AND c.ratio_of IS NULL AND c.baseline_label IS NULL ORDER BY c.id",
    ),
    Rule(
        "claim-field-basis",
        "error",
        "a reported claim does not say whether the source states a condition or we derived it",
        "add the field to claim_fields",
        " UNION ALL ".join(
            f"{_ID} '{field}' {_LIVE} AND c.origin = 'reported' AND c.status <> 'unreviewed'"
            f" AND c.{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM claim_fields f"
            f" WHERE f.claim_id = c.id AND f.field = '{field}')"
            for field, column in (
                *(("gpu", "gpu_id"), ("dtype", "dtype"), ("op", "op"), ("shape", "shape")),
                ("statistic", "statistic"),
            )
        ),
    ),
    Rule(
        "claim-field-empty",
        "error",
        "a claim gives a basis for a condition that it does not have",
        "drop the field from claim_fields, or state the condition",
        " UNION ALL ".join(
            f"{_ID} '{field}' {_LIVE} AND c.{column} IS NULL AND EXISTS (SELECT 1"
            f" FROM claim_fields f WHERE f.claim_id = c.id AND f.field = '{field}')"
            for field, column in (("dtype", "dtype"), ("op", "op"), ("shape", "shape"))
        ),
    ),
    Rule(
        "claim-dimension-empty",
        "error",
        "a dimension of a claim has no value",
        "give the value, or drop the dimension",
        "SELECT 'claim:' || d.claim_id, d.name FROM claim_dimensions d"
        " WHERE d.value_number IS NULL AND COALESCE(d.value_text, '') = '' ORDER BY 1, 2",
    ),
    Rule(
        "claim-shape-dimensions",
        "notice",
        "a claim has a shape but no dimension, so that nothing is compared with it",
        "add the dimensions where the source states them",
        f"{_ID} c.shape {_LIVE} AND c.origin = 'reported' AND c.shape IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM claim_dimensions d WHERE d.claim_id = c.id) ORDER BY c.id",
    ),
    Rule(
        "claim-status-reason",
        "error",
        "a claim is doubted without a reason",
        "say in status_reason what speaks against it",
        f"{_ID} c.status {_LIVE} AND COALESCE(c.status_reason, '') = ''"
        " AND c.status IN ('disputed', 'invalidated', 'withdrawn', 'contradicted') ORDER BY c.id",
    ),
    Rule(
        "claim-status-relation",
        "error",
        "a reported claim is disputed or invalidated, but no other claim speaks against it",
        "add the claim that does, and a claim_relations row",
        f"{_ID} c.status {_LIVE} AND c.origin = 'reported'"
        " AND c.status IN ('disputed', 'invalidated', 'contradicted')"
        " AND COALESCE(c.status_by, '') NOT LIKE 'plausible:%' AND NOT EXISTS (SELECT 1"
        " FROM claim_relations r WHERE r.retired_at IS NULL AND c.id IN"
        " (r.claim_id, r.other_claim_id)) ORDER BY c.id",
    ),
    Rule(
        "claim-verified",
        "error",
        "a claim is called verified, but nobody here measured it",
        "call it source-reported, or import the run that reproduces it",
        f"{_ID} c.origin {_LIVE} AND c.confidence = 'verified' AND c.origin <> 'measured'"
        " AND NOT EXISTS (SELECT 1 FROM claim_relations r JOIN performance_claims m"
        " ON m.id = r.claim_id WHERE r.other_claim_id = c.id AND r.relation = 'reproduces'"
        " AND r.retired_at IS NULL AND m.origin = 'measured') ORDER BY c.id",
    ),
    Rule(
        "claim-comparable-vague",
        "warning",
        "figures of one source share a comparable key and a variant, but differ",
        "state what tells them apart as a dimension or variant",
        _vague_keys,
    ),
    Rule(
        "relation-both-ways",
        "error",
        "one claim reproduces and contradicts another",
        "keep one of the relations",
        "SELECT 'claim:' || a.claim_id, 'claim:' || a.other_claim_id FROM claim_relations a"
        " JOIN claim_relations b ON a.claim_id = b.claim_id"
        " AND a.other_claim_id = b.other_claim_id WHERE a.relation = 'reproduces'"
        " AND b.relation = 'contradicts' AND a.retired_at IS NULL AND b.retired_at IS NULL"
        " ORDER BY 1, 2",
    ),
    Rule(
        "relation-of-retired",
        "notice",
        "a relation speaks of a claim that its source no longer has",
        "drop the relation, or correct the key of the claim",
        "SELECT 'claim:' || r.claim_id, r.relation || ' claim:' || r.other_claim_id"
        " FROM claim_relations r JOIN performance_claims a ON a.id = r.claim_id"
        " JOIN performance_claims b ON b.id = r.other_claim_id WHERE r.retired_at IS NULL"
        " AND (a.retired_at IS NOT NULL OR b.retired_at IS NOT NULL) ORDER BY 1, 2",
    ),
    Rule(
        "relation-invalidates",
        "error",
        "a claim is invalidated by another, yet its status still trusts it",
        "set the status, or drop the relation",
        "SELECT 'claim:' || c.id, c.status FROM claim_relations r JOIN performance_claims c"
        " ON c.id = r.other_claim_id WHERE r.relation = 'invalidates' AND r.retired_at IS NULL"
        " AND c.retired_at IS NULL AND c.status IN ('supported', 'reproduced') ORDER BY c.id",
    ),
)
