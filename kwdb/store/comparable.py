"""Which figures may be compared: like with like only, and unknown compares with nothing."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from kwdb.records import ExtractedClaim
from kwdb.store.rows import Row
from kwdb.text import fold
from kwdb.units import METRICS

COMPARED: Final = frozenset({"unreviewed", "supported", "reproduced"})
"""The statuses of claims that take part in comparisons."""

_AGGREGATES: Final = frozenset({"geomean", "mean", "range"})
# A column named `T=8` or `batch_size: 1` is a condition, not a competitor.
_SETTING: Final = re.compile(r"[A-Za-z_]\w*\s*[=:]\s*\d|^\d+$")
# The dimensions that pin a problem down, for the operations where a few names do; each in any of
# its spellings. Attention, MoE and serving depend on more than their tables tell.
_WHOLE: Final = {
    "gemm": (("m",), ("n",), ("k",)),
    "gemv": (("m",), ("k",)),
    "bmm": (("b", "batch", "l"), ("m",), ("n",), ("k",)),
    "dual-gemm": (("m",), ("n",), ("k",)),
    "grouped-gemm": (("g", "groups", "num_groups", "experts", "e"), ("m",), ("n",), ("k",)),
}


def comparable_key(claim: ExtractedClaim, gpu: str | None, source: str | None = None) -> str | None:
    """Return what figures that may be compared have in common; None: comparable with none.

    Operation, shape and GPU must be known; a ratio needs the name of its baseline as well. An
    aggregate over shapes never shares a key with the figure of one shape. Where the shape does not
    pin the problem down, figures of one `source` (a pull request) are compared, and no others.
    """
    shape = sorted(
        f"{fold(name)}={fold(text or '') if number is None else repr(float(number))}"
        for name, number, text in claim.dimensions
    )
    if gpu is None or not shape or not claim.op or claim.metric not in METRICS:
        return None
    is_relative = claim.metric in ("speedup", "percent_of_peak")
    if claim.metric == "speedup" and not claim.baseline_label:
        return None
    return digest(
        [
            *(fold(claim.op), shape, fold(claim.dtype or ""), gpu, claim.gpu_count, claim.metric),
            *(claim.cache_state, claim.timing_scope, claim.statistic, claim.qualifier),
            claim.qualifier in _AGGREGATES or claim.statistic in _AGGREGATES,
            fold(claim.ratio_of or ""),
            [claim.unit == "%", fold(claim.baseline_label or "")] if is_relative else None,
            claim.direction if is_relative else None,
            None if _is_whole(claim) else source,
            fold(claim.variant or "") if _SETTING.search(claim.variant or "") else None,
        ]
    )


def _is_whole(claim: ExtractedClaim) -> bool:
    """Whether dtype and shape say all that another source needs to measure the same."""
    wanted = _WHOLE.get(claim.op or "")
    names = {fold(name) for name, number, _ in claim.dimensions if number is not None}
    if wanted is None or not claim.dtype or claim.metric == "speedup":
        return False
    return all(names.intersection(map(fold, spellings)) for spellings in wanted)


def drop_vague_keys(rows: Sequence[Row]) -> None:
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


def digest(parts: Sequence[Any]) -> str:
    """Return the sha256 of parts as JSON."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
