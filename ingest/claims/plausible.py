"""Whether a claim contradicts itself: reasons to doubt it, from its own figures alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, Final

from ingest.claims.extract import extract
from ingest.claims.record import ExtractedClaim
from kwdb.plausibility import RULE, Doubt
from kwdb.units import METRICS, is_unit_of

# Figures are rounded before they are divided, so a written ratio may be this far off.
_SLACK: Final = 0.02
_MOST: Final = 16
_METRICS: Final = tuple(METRICS)


def unit_clash(claim: ExtractedClaim) -> str | None:
    """Return why a unit is impossible for its metric, or None."""
    if is_unit_of(claim.unit, claim.metric):
        return None
    return f"unit {claim.unit!r} does not measure {claim.metric}"


def ratio_disagrees(
    ratio: float, unit: str | None, before: float, after: float, *, slack: float = _SLACK
) -> bool:
    """Whether a written ratio is none of those that `before` and `after` can mean.

    A factor may be old over new or new over old; a percentage may be of either side and of
    either sign. `slack` is relative, and widened by the rounding of both figures.
    """
    if before <= 0 or after <= 0:
        return False
    wide = slack + sum(_rounding(value) for value in (before, after))
    factors = (before / after, after / before)
    if unit == "%":
        allowed = [abs(factor - 1) * 100 for factor in factors]
        return all(abs(abs(ratio) - one) > 100 * wide + 0.06 for one in allowed)
    return all(abs(ratio - factor) > wide * factor + 0.006 for factor in factors)


def _rounding(value: float) -> float:
    """Half a unit in the last place of a figure as written, relative to it."""
    decimals = len(f"{value:.6f}".rstrip("0").partition(".")[2])
    return 0.5 / (10.0**decimals * value)


def disputed(claims: Iterable[ExtractedClaim]) -> list[tuple[ExtractedClaim, str]]:
    """Return the claims whose written ratio or unit contradicts the row, each with the reason.

    A ratio is held against the figures of its own evidence: the same row or sentence. It is in
    doubt only if no two of them give it.
    """
    listed = list(claims)
    by_line: dict[int, list[ExtractedClaim]] = defaultdict(list)
    for claim in listed:
        if claim.role != "ratio":
            by_line[claim.evidence.line or 0].append(claim)
    doubts = []
    for claim in listed:
        reason = unit_clash(claim) or _against(claim, _near(claim, by_line))
        if reason is not None:
            doubts.append((claim, reason))
    return doubts


def _near(
    claim: ExtractedClaim, by_line: Mapping[int, list[ExtractedClaim]]
) -> list[ExtractedClaim]:
    """The measured claims within a line, so that a long table is not compared all with all."""
    line = claim.evidence.line or 0
    return [one for near in range(line - 1, line + 2) for one in by_line.get(near, ())]


def _against(claim: ExtractedClaim, measured: list[ExtractedClaim]) -> str | None:
    if claim.role != "ratio" or claim.metric != "speedup" or claim.value_max is not None:
        return None
    if claim.qualifier is not None or claim.ratio_of is not None:
        return None
    if not any(c.baseline_value and c.evidence.line == claim.evidence.line for c in measured):
        return None
    rows = [pair for metric in _METRICS for pair in _pairs(claim, measured, metric)]
    if not rows or not all(ratio_disagrees(claim.value, claim.unit, *row) for row in rows):
        return None
    old, new = rows[0]
    return f"written ratio {claim.value_text} disagrees with its own {old:g} and {new:g}"


def _pairs(
    claim: ExtractedClaim, measured: list[ExtractedClaim], metric: str
) -> list[tuple[float, float]]:
    """The pairs that a ratio may be of: where a row has one pair, that; else any two of it."""
    beside = [c for c in measured if c.metric == metric and _beside(claim, c)]
    pairs = [(c.baseline_value, c.value) for c in beside if c.baseline_value is not None]
    values = [value for c in beside for value in (c.value, c.baseline_value) if value is not None]
    return [*pairs, *combinations(values[:_MOST], 2)] if pairs else []


def _beside(claim: ExtractedClaim, other: ExtractedClaim) -> bool:
    """In one row, or in prose, where a wrapped sentence goes on, within a line of each other."""
    one, two = claim.evidence, other.evidence
    if claim.variant is None and other.variant is None:
        return abs((one.line or 0) - (two.line or 0)) <= 1
    return (one.line, one.text) == (two.line, two.text)


def read_pull_request(row: dict[str, Any]) -> list[tuple[ExtractedClaim, Doubt | None]]:
    """Extract the claims of a stored pull request, each with the rule and reason that doubt it."""
    claims = extract(row["title"] or "", row["body"] or "")
    reasons = {id(claim): reason for claim, reason in disputed(claims)}
    return [(claim, _doubt(claim, reasons.get(id(claim)))) for claim in claims]


def _doubt(claim: ExtractedClaim, reason: str | None) -> Doubt | None:
    if reason is None:
        return None
    return f"{RULE}unit" if unit_clash(claim) else f"{RULE}ratio", reason
