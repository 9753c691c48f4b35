"""Reasons to doubt a figure, from what a GPU can do and from the source that it cites.

Each function returns (rule, reason), or None where there is no doubt. A doubt is a status, never a
deletion, and it errs on the side of believing: sparse rates are twice the dense ones, clocks vary,
and a figure served from a cache may exceed what memory can deliver.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from kwdb.records import ExtractedClaim

Doubt = tuple[str, str]

RULE: Final = "plausible:"
"""What the keys of these rules begin with, in performance_claims.status_by."""

_SPARSE: Final = 2.0
_BANDWIDTH_SLACK: Final = 1.05
_MOST_PERCENT: Final = 105.0
_CACHED: Final = re.compile(
    r"\bL[12]\b|cache|\bsmem\b|shared memory|\bhot\b|aggregate|effective|nodes?\b", re.I
)
_DTYPES: Final = (
    ("peak_fp4_tflops", re.compile(r"fp4|e2m1|int4|u?4bit", re.I)),
    ("peak_fp8_tflops", re.compile(r"fp8|e4m3|e5m2|int8|fp6", re.I)),
    ("peak_fp16_tflops", re.compile(r"bf16|fp16|float16|half|tf32|fp32|float32", re.I)),
)
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")


def beyond_hardware(
    claim: ExtractedClaim, gpu: Mapping[str, Any] | None, text: str
) -> Doubt | None:
    """Doubt a figure that the GPU named cannot reach.

    `gpu` is a row of gpus, None where the claim names none; `text` is where the figure stands.
    """
    if claim.metric == "percent_of_peak":
        return _over_percent(claim)
    if gpu is None or claim.value_normalized is None or claim.role == "ratio":
        return None
    if claim.metric == "throughput_tflops":
        return _over_compute(claim, gpu)
    return _over_bandwidth(claim, gpu, text) if claim.metric == "bandwidth" else None


def _over_percent(claim: ExtractedClaim) -> Doubt | None:
    if claim.value <= _MOST_PERCENT:
        return None
    reason = f"{claim.value:g} % of a peak is over {_MOST_PERCENT:g} %"
    return f"{RULE}percent", f"{reason}: the peak meant is not the hardware's"


def _over_compute(claim: ExtractedClaim, gpu: Mapping[str, Any]) -> Doubt | None:
    column, peak = _peak(claim.dtype, gpu)
    count = max(claim.gpu_count or 1, 1)
    value = claim.value_normalized or 0.0
    if peak is None or value <= peak * _SPARSE * count:
        return None
    named = column.removeprefix("peak_").removesuffix("_tflops").upper()
    reason = (
        f"{value:g} TFLOPS is over {_SPARSE:g} times the dense {named} peak of "
        f"{_times(count)}{gpu['name']} ({peak:g} TFLOPS); sparsity at most doubles it"
    )
    return f"{RULE}peak", reason


def _peak(dtype: str | None, gpu: Mapping[str, Any]) -> tuple[str, float | None]:
    """The highest peak of the formats named; of all formats where none is, or has a peak."""
    named = [column for column, words in _DTYPES if words.search(dtype or "")]
    for columns in (named, [column for column, _ in _DTYPES]):
        known = [(gpu[column], column) for column in columns if gpu[column]]
        if known:
            peak, column = max(known)
            return column, peak
    return "", None


def _over_bandwidth(claim: ExtractedClaim, gpu: Mapping[str, Any], text: str) -> Doubt | None:
    limit, count = gpu["bandwidth_gb_s"], max(claim.gpu_count or 1, 1)
    value = claim.value_normalized or 0.0
    if not limit or value <= limit * _BANDWIDTH_SLACK * count:
        return None
    if claim.cache_state in ("hot", "warm") or _CACHED.search(text):
        return None
    reason = (
        f"{value:g} GB/s is over the memory bandwidth of {_times(count)}{gpu['name']} "
        f"({limit:g} GB/s) by more than 5 %, and nothing beside it speaks of a cache"
    )
    return f"{RULE}bandwidth", reason


def _times(count: int) -> str:
    return f"{count} x " if count > 1 else ""


def missing_from_source(value: float, value_text: str | None, source: str) -> Doubt | None:
    """Doubt a claim whose number does not occur in the text of the source that it cites.

    The text counts as written or as a number: 1,234.50 in the source is 1234.5 here.
    """
    if value_text and value_text.strip() in source:
        return None
    wanted = abs(value)
    for match in _NUMBER.finditer(source):
        if abs(float(match[0].replace(",", "")) - wanted) <= 1e-9 * max(wanted, 1.0):
            return None
    return f"{RULE}citation", f"the cited source, which is held here, does not contain {value:g}"
