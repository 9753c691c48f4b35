"""Samples to figures: median with its interval, speed of light, and what a figure is held to."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

LAUNCH_FLOOR_US: Final = 2.0
"""Least time of a kernel in a graph; a plain read of nothing on an H200 takes about this."""
Z95: Final = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A set of samples in microseconds; `ci_low_us` and `ci_high_us` bound the median at 95 %."""

    n: int
    n_discarded: int
    min_us: float
    p05_us: float
    q1_us: float
    median_us: float
    q3_us: float
    p95_us: float
    mean_us: float
    std_us: float
    ci_low_us: float
    ci_high_us: float

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @property
    def half_width(self) -> float:
        """Half the interval's width over the median."""
        return (self.ci_high_us - self.ci_low_us) / 2 / self.median_us


def summarize(samples: Sequence[float], n_discarded: int = 0) -> Summary:
    """Describe samples; there must be at least one.

    The interval is the distribution-free one of order statistics: ranks n/2 -+ z sqrt(n)/2 of the
    binomial distribution (Conover, Practical Nonparametric Statistics, 3.2). With fewer than six
    samples it is the whole range.
    """
    x = np.sort(np.asarray(samples, np.float64))
    n = len(x)
    reach = Z95 * math.sqrt(n) / 2
    low = max(math.floor(n / 2 - reach) - 1, 0) if n >= 6 else 0
    high = min(math.ceil(n / 2 + reach), n - 1) if n >= 6 else n - 1
    p05, q1, median, q3, p95 = np.percentile(x, [5, 25, 50, 75, 95])
    return Summary(
        n, n_discarded, float(x[0]), float(p05), float(q1), float(median), float(q3), float(p95),
        float(x.mean()), float(x.std(ddof=1)) if n > 1 else 0.0, float(x[low]), float(x[high]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpeedOfLight:
    """The least time that physics and the launch allow, and what sets it."""

    us: float
    basis: str

    def percent(self, measured_us: float) -> float:
        """Return how much of the least time a measurement is, in percent."""
        return 100 * self.us / measured_us


def speed_of_light(
    moved_bytes: int,
    operations: int,
    read_gb_s: float,
    peak_tflops: float | None = None,
    launch_floor_us: float = LAUNCH_FLOOR_US,
) -> SpeedOfLight:
    """Return max(bytes / bandwidth, operations / peak, launch floor).

    `read_gb_s` is in 10^9 bytes a second; without `peak_tflops`, arithmetic bounds nothing.
    """
    bounds = {
        "bytes": moved_bytes / read_gb_s / 1e3,
        "operations": operations / (peak_tflops * 1e6) if peak_tflops else 0.0,
        "launch": launch_floor_us,
    }
    basis = max(bounds, key=lambda name: bounds[name])
    return SpeedOfLight(bounds[basis], basis)


def sets_to_rotate(set_bytes: int, l2_bytes: int, free_bytes: int) -> int:
    """Return how many input sets a cold measurement goes round: over 5 times L2, plus one.

    At least 2, at most 4096 and what fits in half of the free memory. Whether that is enough is
    for `is_cold` to say. Source: kernels that re-read sets of less than L2 report impossible
    bandwidths (flashinfer#4468, TileGym#82).
    """
    wanted = math.ceil(5 * l2_bytes / set_bytes) + 1
    return max(2, min(wanted, 4096, free_bytes // 2 // set_bytes))


def is_cold(sets: int, set_bytes: int, l2_bytes: int) -> bool:
    """Whether so many sets push each other out of L2 before they are read again."""
    return sets * set_bytes >= 5 * l2_bytes


# Differences between both methods that are no disagreement: 10 %, and the launch and ramp-up that
# only the single launch pays (an H200 takes about 6 us more for a plain read).
_METHOD_SHARE: Final = 0.10
_LAUNCH_ALLOWANCE_US: Final = 8.0
_ROOF_TOLERANCE: Final = 1.03
_SLOW_CLOCK: Final = 0.75


@dataclass(frozen=True, slots=True)
class Timing:
    """What the gates look at; times in microseconds, clocks in MHz or None where not permitted."""

    graph_us: float
    single_us: float
    is_cold: bool
    event_us: float
    wall_us: float
    retained_us: float | None = None
    flushed_us: float | None = None
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle: str | None = None


def judge_timing(timing: Timing, moved_bytes: int, roof_gb_s: float) -> tuple[str, str]:
    """Return status and reason of a timing: `passed`, or the first gate that it fails."""
    least = moved_bytes / roof_gb_s / 1e3
    single, graph = timing.single_us, timing.graph_us
    allowed = max(_METHOD_SHARE * graph, _LAUNCH_ALLOWANCE_US)
    gates = (
        ("untimed_work", timing.wall_us > 1.5 * timing.event_us + 2000,
         f"the device was busy {timing.wall_us:.0f} us, events saw {timing.event_us:.0f} us"),
        ("not_cold", not timing.is_cold, "the input sets fit in L2 too well to be cold"),
        ("l2_persistence", _is_retained(timing),
         f"{timing.retained_us} us after a flush, {timing.flushed_us} us with L2 reset"),
        ("implausible", graph * _ROOF_TOLERANCE < least,
         f"{graph:.2f} us for what takes {least:.2f} us at the measured {roof_gb_s:.0f} GB/s"),
        ("method_disagreement", not -_METHOD_SHARE * graph <= single - graph <= allowed,
         f"{graph:.2f} us in a graph, {single:.2f} us alone"),
        ("throttled", _is_throttled(timing),
         f"SM at {timing.sm_clock_mhz} of {timing.max_sm_clock_mhz} MHz {timing.throttle or ''}"),
    )  # fmt: skip
    failed = ((status, reason) for status, is_failed, reason in gates if is_failed)
    return next(failed, ("passed", ""))


def _is_retained(timing: Timing) -> bool:
    if timing.retained_us is None or timing.flushed_us is None:
        return False
    return timing.retained_us < 0.85 * timing.flushed_us


def _is_throttled(timing: Timing) -> bool:
    if timing.throttle:
        return True
    if timing.sm_clock_mhz is None or not timing.max_sm_clock_mhz:
        return False
    return timing.sm_clock_mhz < _SLOW_CLOCK * timing.max_sm_clock_mhz
