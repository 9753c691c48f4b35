"""The `performance_claims` of a page's front matter as claims that say where they stand.

    - {gpu: B200, dtype: bf16, shape: M=4096, metric: TFLOPS, value: 1605, source_id: doc-fa4}

The unit hides in the metric (`latency_us`, `GB/s`) or in the value (`0.1109 ms`), the baseline in
`utilization` (`vs FlashAttention-2 forward`).
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from ingest.kernelwiki.pages import Page
from kwdb.plausibility import missing_from_source
from kwdb.records import Evidence, ExtractedClaim
from kwdb.store.page_claims import PageClaim
from kwdb.units import METRICS, Unit, direction_of, find_unit, normalize

READER: Final = "front-matter-1"
"""Version of this reading, in performance_claims.extractor."""

_NUMBER: Final = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BETWEEN: Final = re.compile(r"\s*(?:-|–|to|\.\.)\s*", re.I)
_VERSUS: Final = re.compile(r"^\s*(?:vs\.?|versus|over|against)\s+(.+)$", re.I)
_DIMENSION: Final = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+(?:\.\d+)?)\b(?![*.]\w)")
_SYNONYMS: Final = {"throughput": "throughput_tflops", "time": "latency", "runtime": "latency"}


def claims_of(
    page: Page, sources: Mapping[str, Page]
) -> tuple[list[PageClaim], list[tuple[str, str]]]:
    """Return the claims of a page, and (place, reason) for those that are kept as text only.

    `sources` are the pages of the same corpus; a claim whose number the cited one does not hold
    carries that doubt.
    """
    found: list[PageClaim] = []
    left: list[tuple[str, str]] = []
    listed = (page.front_matter or {}).get("performance_claims")
    for place, entry in enumerate(listed if isinstance(listed, list) else ()):
        name = f"performance_claims[{place}]"
        if not isinstance(entry, dict):
            left.append((name, f"no mapping but {type(entry).__name__}"))
        elif (claim := _claim(entry, place)) is None:
            said = f"metric {entry.get('metric')!r} with value {entry.get('value')!r}"
            left.append((name, f"{said}: no known metric and number; kept in the front matter"))
        else:
            found.append(_page_claim(page, entry, claim, sources))
    return found, left


def _page_claim(
    page: Page, entry: Mapping[str, Any], claim: ExtractedClaim, sources: Mapping[str, Page]
) -> PageClaim:
    source_id = entry.get("source_id")
    cited = sources.get(source_id) if isinstance(source_id, str) else None
    doubt = None
    if cited is not None:
        text = cited.body.decode("utf-8", "replace")
        doubt = missing_from_source(claim.value, claim.value_text, text)
    used = entry.get("utilization")
    return PageClaim(
        page_id=page.id,
        source_page_id=source_id if isinstance(source_id, str) else None,
        claim=claim,
        utilization=None if used is None else str(used),
        doubt=doubt,
    )


def _claim(entry: Mapping[str, Any], place: int) -> ExtractedClaim | None:
    said = str(entry.get("value") if entry.get("value") is not None else "").strip()
    numbers = [float(text.replace(",", "")) for text in _NUMBER.findall(said)]
    numbers = [number for number in numbers if math.isfinite(number)]
    metric, unit = _metric(str(entry.get("metric") or ""), said)
    if metric is None or not numbers:
        return None
    value, most = numbers[0], _upper(said)
    shape = _stated(entry.get("shape"))
    return ExtractedClaim(
        metric=metric,
        unit=unit.symbol if unit else None,
        value_text=said,
        value=value,
        value_max=most,
        value_normalized=normalize(value, unit) if unit else None,
        qualifier="range" if most is not None else _qualifier(said),
        direction=direction_of(metric),
        role="ratio" if metric == "speedup" else "single",
        baseline_label=_baseline(entry),
        gpu=_stated(entry.get("gpu")),
        dtype=_stated(entry.get("dtype")),
        shape=shape,
        dimensions=tuple((n, float(v), v) for n, v in _DIMENSION.findall(shape or "")),
        evidence=Evidence("front_matter", f"performance_claims[{place}]"),
        fields=tuple(
            (name, "stated", "front_matter")
            for name in ("gpu", "dtype", "shape")
            if _stated(entry.get(name))
        ),
        ordinal=place,
    )


def _stated(value: Any) -> str | None:
    return str(value).strip() or None if value is not None else None


def _qualifier(said: str) -> str | None:
    return "approx" if said.startswith(("~", "≈")) else None


def _upper(said: str) -> float | None:
    """The upper end of `1.69x to 2.27x`; None where there are not two numbers with a dash or to."""
    first = _NUMBER.search(said)
    if first is None:
        return None
    rest = re.sub(r"^[^\d\s–-]*", "", said[first.end() :])
    between = _BETWEEN.match(rest)
    second = _NUMBER.match(rest, between.end()) if between else None
    upper = float(second[0].replace(",", "")) if second else math.inf
    return upper if math.isfinite(upper) else None


def _metric(name: str, said: str) -> tuple[str | None, Unit | None]:
    """Return metric and unit: of the value where it has one, else of the metric's own name."""
    own = find_unit(name)
    head, _, tail = name.rpartition("_")
    unit = _unit_of_value(said) or own or (find_unit(tail) if head else None)
    plain = name.strip().lower()
    for word in (plain, head.lower(), _SYNONYMS.get(plain), _SYNONYMS.get(head.lower())):
        if word in METRICS:
            unit = unit or find_unit(METRICS[word].unit if word == "speedup" else "")
            return word, unit if unit is None or unit.metric == word else None
    return (unit.metric, unit) if unit else (None, None)


def _unit_of_value(said: str) -> Unit | None:
    match = _NUMBER.search(said)
    word = re.match(r"\s*([^\s\d(,;]+)", said[match.end() :]) if match else None
    return find_unit(word[1]) if word else None


def _baseline(entry: Mapping[str, Any]) -> str | None:
    if (given := _stated(entry.get("baseline"))) is not None:
        return given
    match = _VERSUS.match(str(entry.get("utilization") or ""))
    return match[1].strip() if match else None
