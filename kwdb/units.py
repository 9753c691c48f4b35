"""The one closed table of units: how authors write them, what they measure, what they come to.

A claim keeps its unit as written; `find_unit` says what the spelling means and `normalize` turns
the value into the unit of its metric, so that `19.9 Mtok/s` and `19900000 tok/s` compare.

    spelling ──► Unit(symbol, metric, factor) ──► Metric(unit, direction)
"""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

HIGHER: Final = "higher_better"
LOWER: Final = "lower_better"


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured, the unit it is stored in, and which way is better."""

    name: str
    unit: str
    direction: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One canonical symbol: a value times `factor` is in the unit of its metric."""

    symbol: str
    metric: str
    factor: float


METRICS: Final = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("latency", "us", LOWER),
            Metric("throughput_tflops", "TFLOPS", HIGHER),
            Metric("bandwidth", "GB/s", HIGHER),
            Metric("tokens_per_s", "tok/s", HIGHER),
            Metric("requests_per_s", "req/s", HIGHER),
            Metric("speedup", "x", HIGHER),
            Metric("percent_of_peak", "%", HIGHER),
        )
    }
)

# metric, canonical symbol, factor to the metric's unit, spellings. Percentages are ratios unless
# the words beside them say "of peak", which is for the reader of the words to decide.
_TABLE: Final = (
    ("latency", "ns", 1e-3, "ns nsec nanosecond nanoseconds"),
    ("latency", "us", 1.0, "us µs usec usecs microsecond microseconds"),
    ("latency", "ms", 1e3, "ms msec msecs millisecond milliseconds ms/iter ms/step ms/fwd"),
    ("latency", "s", 1e6, "s sec secs second seconds"),
    ("latency", "us", 1.0, "us/call us/iter us/layer us/step us/op us/token"),
    ("latency", "ms", 1e3, "ms/call ms/layer ms/token ms/op ms/tok"),
    ("latency", "ns", 1e-3, "ns/call ns/iter ns/op"),
    ("throughput_tflops", "GFLOPS", 1e-3, "gflops gflop/s gflops/s gflops/sec gf/s"),
    (
        "throughput_tflops",
        "TFLOPS",
        1.0,
        "tflops tflop/s tflops/s tflops/sec tflop/sec tf/s tflop tops top/s teraflops",
    ),
    ("throughput_tflops", "PFLOPS", 1e3, "pflops pflop/s pflops/s pf/s"),
    ("bandwidth", "MB/s", 1e-3, "mb/s mb/sec"),
    ("bandwidth", "GB/s", 1.0, "gb/s gb/sec gbps gbytes/s"),
    ("bandwidth", "TB/s", 1e3, "tb/s tb/sec tbps"),
    ("bandwidth", "MiB/s", 1.048576e-3, "mib/s mib/sec"),
    ("bandwidth", "GiB/s", 1.073741824, "gib/s gib/sec"),
    ("bandwidth", "TiB/s", 1099.511627776, "tib/s tib/sec"),
    (
        "tokens_per_s",
        "tok/s",
        1.0,
        "tok/s toks/s tok/sec toks/sec token/s tokens/s token/sec tokens/sec tps t/s "
        "tokens/second tps/user tps/gpu tok/s/user tok/s/gpu tokens/s/user tokens/s/gpu "
        "tok/s/rank tokens/s/rank",
    ),
    ("tokens_per_s", "ktok/s", 1e3, "ktok/s ktokens/s ktps"),
    ("tokens_per_s", "Mtok/s", 1e6, "mtok/s mtokens/s"),
    (
        "requests_per_s",
        "req/s",
        1.0,
        "req/s reqs/s req/sec reqs/sec request/s requests/s requests/sec request/sec rps qps "
        "prompts/s images/s",
    ),
    ("requests_per_s", "req/min", 1 / 60, "req/min requests/min"),
    ("speedup", "x", 1.0, "x × times"),
    ("speedup", "%", 1.0, "%"),
)
_ADJECTIVES: Final = re.compile(r"^(?:total|output|input|generated|prompt|processed)\s+")


def spelling_key(text: str) -> str:
    """Return `text` as the table spells it: case-folded, one micro sign, no spaces."""
    folded = text.strip().casefold().replace("μ", "u").replace("µ", "u")
    return re.sub(r"\s+", "", _ADJECTIVES.sub("", folded))


UNITS: Final = MappingProxyType(
    {
        spelling_key(spelling): Unit(symbol, metric, factor)
        for metric, symbol, factor, spellings in _TABLE
        for spelling in spellings.split()
    }
)


def find_unit(text: str) -> Unit | None:
    """Return the unit that `text` spells, or None when the table does not know it."""
    return UNITS.get(spelling_key(text))


def spellings() -> list[str]:
    """Return every spelling, longest first, so that an alternation prefers `ms/iter` to `ms`."""
    return sorted(UNITS, key=lambda spelling: (-len(spelling), spelling))


def normalize(value: float, unit: Unit) -> float:
    """Return `value` in the unit of its metric, to 12 digits; percentages stay percentages."""
    return value if unit.factor == 1 else float(f"{value * unit.factor:.12g}")


def direction_of(metric: str) -> str:
    """Return `higher_better` or `lower_better` for a metric of the table.

    Raises:
        KeyError: the metric is not in the table.
    """
    return METRICS[metric].direction


def is_unit_of(unit: str | None, metric: str) -> bool:
    """Whether a unit as written can belong to a metric; an absent or unknown unit cannot clash."""
    known = find_unit(unit or "")
    if known is None:
        return True
    return (
        known.metric == metric
        or (unit == "%" and metric == "percent_of_peak")
        or (metric == "speedup")
    )
