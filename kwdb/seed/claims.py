"""Load the claims of the seeds, and how they stand to each other."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from kwdb.errors import nearest
from kwdb.records import Dimension, Evidence, ExtractedClaim
from kwdb.seed.files import (
    DAY,
    INTEGER,
    NUMBER,
    OPTIONAL_TEXT,
    TEXT,
    Field,
    SeedRow,
    as_day,
    check_unique,
    choice,
    validated,
)
from kwdb.store.reported import MARK, ReportedClaim, store_relations, store_reported
from kwdb.store.rows import Row
from kwdb.units import find_unit, is_unit_of, normalize

_SETS: Final = {
    "qualifiers": {"range", "geomean", "mean", "approx", "up_to", "at_least", "worst"},
    "cache_states": {"cold", "hot"},
    "timing_scopes": {"amortized_graph", "single_launch", "python_call"},
}
_WORDS: Final = {"count": "count", "statement": "text"}
"""Metrics without a unit of measurement -> the word that stands in place of one."""

_FIELDS: Final[dict[str, Field]] = {
    "page_id": choice("pages", required=False),
    "source_page_id": choice("pages"),
    "metric": choice("metrics"),
    "value_text": TEXT,
    "value": NUMBER,
    "value_max": NUMBER,
    "unit": TEXT,
    "qualifier": choice("qualifiers", required=False),
    "statistic": OPTIONAL_TEXT,
    "direction": choice("directions"),
    "role": choice("claim_roles"),
    "baseline_value": NUMBER,
    "baseline_label": OPTIONAL_TEXT,
    "ratio_of": OPTIONAL_TEXT,
    "gpu": choice("gpus", required=False),
    "architecture": choice("architectures", required=False),
    "gpu_count": INTEGER,
    "dtype": OPTIONAL_TEXT,
    "op": OPTIONAL_TEXT,
    "variant": OPTIONAL_TEXT,
    "shape": OPTIONAL_TEXT,
    "dimensions": Field((dict,), required=False),
    "utilization": OPTIONAL_TEXT,
    "cache_state": choice("cache_states", required=False),
    "timing_scope": choice("timing_scopes", required=False),
    "confidence": choice("confidence_levels"),
    "status": choice("claim_statuses"),
    "status_reason": OPTIONAL_TEXT,
    "fields": Field((dict,)),
    "evidence": TEXT,
    "claimed_on": DAY,
}
_RELATION_FIELDS: Final[dict[str, Field]] = {
    "claim": choice("claims"),
    "other": choice("claims"),
    "relation": choice("claim_relation_kinds"),
    "ratio": NUMBER,
    "differing_fields": OPTIONAL_TEXT,
    "evidence": TEXT,
}
_COPIED: Final = (
    "page_id source_page_id metric value_text value value_max qualifier statistic direction role "
    "baseline_value baseline_label ratio_of gpu_count dtype op variant shape utilization "
    "cache_state timing_scope confidence status status_reason"
).split()
_SAID: Final = (
    "metric unit value_text value_max qualifier statistic direction role baseline_value "
    "baseline_label ratio_of gpu architecture gpu_count dtype op variant shape cache_state "
    "timing_scope"
).split()


def load_claims(
    connection: sa.Connection, directory: Path, known: Mapping[str, Any]
) -> dict[str, int]:
    """Load claims/*.yaml and claim_relations.yaml; returns file -> rows written.

    Raises:
        InvalidRecordError: a row lacks a field or names something that is not known.
    """
    known = {**known, **_SETS}
    paths = sorted(directory.glob("claims/*.yaml"))
    rows = [row for path in paths for row in validated(path, _FIELDS, known)]
    check_unique(rows, "key")
    claims = [_reported(row, known) for row in rows]
    known["claims"] = {row.values["key"] for row in rows}
    path = directory / "claim_relations.yaml"
    relations = validated(path, _RELATION_FIELDS, known)
    check_unique(relations, "claim", "other", "relation")
    return {
        "claims": store_reported(connection, claims),
        "claim_relations": store_relations(connection, [_relation(row) for row in relations]),
    }


def claim_key(key: str) -> str:
    """Return performance_claims.claim_key of the seed row `key`."""
    return hashlib.sha256(f"{MARK}{key}".encode()).hexdigest()


def _reported(row: SeedRow, known: Mapping[str, Any]) -> ReportedClaim:
    values = row.values
    _check_amount(row)
    _check_parts(row, known)
    stored: Row = {
        **{name: values.get(name) for name in _COPIED},
        "claim_key": claim_key(values["key"]),
        "origin": "reported",
        "status_by": f"{MARK}{values['key']}",
        "gpu_id": known["gpus"].get(values.get("gpu")),
        "architecture_tag_id": known["tags"].get(f"architecture:{values.get('architecture')}"),
        "unit_as_written": values["unit"],
        "value_normalized": _normalized(values),
        "evidence": f"{values['evidence']}; {values['source']}",
        "extractor": f"{MARK}{values['key']}",
        "claimed_on": as_day(values.get("claimed_on")),
    }
    return ReportedClaim(stored, _claim(values))


def _check_amount(row: SeedRow) -> None:
    metric, unit, value = (row.values.get(name) for name in ("metric", "unit", "value"))
    if (value is None) != (metric == "statement"):
        raise row.fail("value", f"{value!r}: a statement has no value, everything else has one")
    wanted = _WORDS.get(str(metric))
    if wanted and unit != wanted:
        raise row.fail("unit", f"{unit!r} is no unit of {metric}; allowed: {wanted}")
    if not wanted and (find_unit(str(unit)) is None or not is_unit_of(str(unit), str(metric))):
        raise row.fail("unit", f"{unit!r} is no unit of {metric} that kwdb.units knows")


def _check_parts(row: SeedRow, known: Mapping[str, Any]) -> None:
    for name, value in (row.values.get("dimensions") or {}).items():
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise row.fail("dimensions", f"{name}: {value!r} is neither number nor text")
    for name, basis in row.values["fields"].items():
        if basis not in known["claim_field_bases"]:
            allowed = ", ".join(sorted(known["claim_field_bases"]))
            raise row.fail("fields", f"{name}: unknown basis {basis!r}; allowed: {allowed}")
        if name not in _FIELDS:
            near = ", ".join(nearest(str(name), _FIELDS))
            raise row.fail("fields", f"no field is called {name!r}; nearest: {near}")


def _normalized(values: Mapping[str, Any]) -> float | None:
    unit = find_unit(values["unit"])
    if values.get("value") is None or unit is None:
        return float(values["value"]) if values["metric"] == "count" else None
    return normalize(float(values["value"]), unit)


def _claim(values: Mapping[str, Any]) -> ExtractedClaim:
    """The claim as the store compares it with those that were read out of pull requests."""
    said: dict[str, Any] = {name: values.get(name) for name in _SAID}
    return ExtractedClaim(
        **said,
        value=float(values.get("value") or 0.0),
        value_normalized=_normalized(values),
        evidence=Evidence("body", values["evidence"]),
        dimensions=tuple(map(_dimension, (values.get("dimensions") or {}).items())),
        fields=tuple((name, basis, "source") for name, basis in values["fields"].items()),
    )


def _dimension(item: tuple[Any, Any]) -> Dimension:
    name, value = item
    if isinstance(value, str):
        return str(name), None, value
    return str(name), float(value), f"{value}"


def _relation(row: SeedRow) -> Row:
    values = row.values
    return {
        "claim": claim_key(values["claim"]),
        "other": claim_key(values["other"]),
        "relation": values["relation"],
        "ratio": values.get("ratio"),
        "differing_fields": values.get("differing_fields"),
        "evidence": f"{values['evidence']}; {values['source']}",
        "decided_by": f"{MARK}{values['key']}",
    }
