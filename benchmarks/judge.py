"""What one measurement says of one reported figure.

    reproduces      same conditions, and within 5 % or inside the interval of the median
    contradicts     same conditions, and more than 10 % apart
    ambiguous       in between, or apart while a condition of the report is not stated
    not_comparable  a condition differs, or one that decides is not stated; `differing` names them

GPU, operation, number format, shape and metric decide; a measurement on one GPU never reproduces a
figure of another. An aggregate over shapes is no figure of one shape.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

CLOSE: Final = 0.05
APART: Final = 0.10

_DECIDE: Final = ("gpu", "op", "dtype", "shape", "metric")
_QUALIFY: Final = ("cache_state", "timing_scope")
_AGGREGATES: Final = frozenset({"geomean", "mean", "geometric mean", "range", "average"})
_OPS: Final = {"batched_gemv": "gemv", "nvfp4_gemv": "gemv", "nvfp4-gemv": "gemv"}
_DTYPES: Final = {"fp4": "nvfp4", "e2m1": "nvfp4", "nv_float4": "nvfp4", "nvfp4 (e2m1)": "nvfp4"}


@dataclass(frozen=True, slots=True)
class Relation:
    """A verdict; `ratio` is the measurement over the report, None where it says nothing."""

    relation: str
    ratio: float | None
    differing: tuple[str, ...]
    evidence: str


def judge(measured: Mapping[str, Any], reported: Mapping[str, Any]) -> Relation:
    """Compare two rows of performance_claims, each with `gpu` (a name) beside its columns.

    `measured` also has `ci_low_us` and `ci_high_us`.
    """
    differing = _differing(measured, reported)
    if differing:
        what = ", ".join(differing)
        return Relation("not_comparable", None, differing, f"differs or is not stated: {what}")
    value, other = measured["value_normalized"], reported["value_normalized"]
    if not value or not other:
        return Relation("not_comparable", None, ("value",), "the report has no figure")
    ratio = value / other
    unknown = [name for name in _QUALIFY if reported.get(name) is None]
    relation = _verdict(ratio, measured["ci_low_us"] <= other <= measured["ci_high_us"], unknown)
    note = f"; not stated by the report: {', '.join(unknown)}" if unknown else ""
    return Relation(relation, ratio, (), f"measured {value:.4g}, reported {other:.4g}{note}")


def _verdict(ratio: float, is_inside: bool, unknown: list[str]) -> str:
    gap = abs(ratio - 1)
    if is_inside or gap <= CLOSE:
        return "reproduces"
    return "contradicts" if gap > APART and not unknown else "ambiguous"


def _differing(measured: Mapping[str, Any], reported: Mapping[str, Any]) -> tuple[str, ...]:
    names = [name for name in _DECIDE if _plain(measured, name) != _plain(reported, name)]
    names += [
        name
        for name in _QUALIFY
        if reported.get(name) is not None and reported[name] != measured.get(name)
    ]
    if {reported.get("qualifier"), reported.get("statistic")} & _AGGREGATES:
        names.append("statistic")
    if (reported.get("gpu_count") or 1) != 1:
        names.append("gpu_count")
    if reported.get("origin") == "measured" and reported.get("variant") != measured.get("variant"):
        names.append("variant")
    return tuple(names)


def _plain(claim: Mapping[str, Any], name: str) -> Any:
    value = claim.get(name)
    if value is None:
        return None
    text = str(value).strip().casefold()
    if name == "shape":
        return tuple(int(number) for number in re.findall(r"\d+", text))
    table = {"op": _OPS, "dtype": _DTYPES}.get(name, {})
    return table.get(text, text)
