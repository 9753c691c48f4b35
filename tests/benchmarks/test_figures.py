import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.figures import (
    Timing,
    is_cold,
    judge_timing,
    sets_to_rotate,
    speed_of_light,
    summarize,
)

MIB = 2**20


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=200))
def test_order_of_a_summary(samples: list[float]) -> None:
    s = summarize(samples)
    assert s.n == len(samples)
    assert s.min_us <= s.p05_us <= s.q1_us <= s.median_us <= s.q3_us <= s.p95_us
    assert s.min_us <= s.ci_low_us <= s.median_us <= s.ci_high_us <= max(samples)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    draws = rng.exponential(size=(2000, 51))
    true = np.log(2)
    inside = sum(s.ci_low_us <= true <= s.ci_high_us for s in map(summarize, draws))
    assert 0.94 <= inside / 2000 <= 0.99


def test_few_samples_have_the_whole_range_as_interval() -> None:
    s = summarize([3.0, 1.0, 2.0])
    assert (s.ci_low_us, s.median_us, s.ci_high_us) == (1.0, 2.0, 3.0)
    assert summarize([4.0]).std_us == 0.0


@pytest.mark.parametrize(
    ("moved", "operations", "peak", "us", "basis"),
    [
        (66_083_840, 234_881_024, None, 14.46, "bytes"),
        (1000, 989_000_000_000, 989.0, 1000.0, "operations"),
        (1000, 1000, None, 2.0, "launch"),
    ],
)
def test_the_largest_bound_is_the_speed_of_light(
    moved: int, operations: int, peak: float | None, us: float, basis: str
) -> None:
    found = speed_of_light(moved, operations, 4570.0, peak)
    assert found.us == pytest.approx(us, rel=1e-3)
    assert found.basis == basis
    assert found.percent(2 * found.us) == pytest.approx(50)


@given(st.integers(1, 2**31), st.integers(MIB, 200 * MIB), st.integers(2**30, 2**38))
def test_rotated_sets_are_cold_unless_a_cap_says_otherwise(size: int, l2: int, free: int) -> None:
    sets = sets_to_rotate(size, l2, free)
    assert sets >= 2
    if 2 < sets < 4096 and sets < free // 2 // size:
        assert is_cold(sets, size, l2)


def test_sets_that_fit_in_l2_are_not_cold() -> None:
    assert is_cold(11, 33 * MIB, 60 * MIB)
    assert not is_cold(8, 33 * MIB, 60 * MIB)


GOOD = {
    "graph_us": 22.6, "single_us": 27.0, "is_cold": True, "event_us": 230.0, "wall_us": 260.0,
    "retained_us": 27.0, "flushed_us": 27.1, "sm_clock_mhz": 1980, "max_sm_clock_mhz": 1980,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, "passed"),
        ({"sm_clock_mhz": None, "max_sm_clock_mhz": None}, "passed"),
        ({"retained_us": None, "flushed_us": None}, "passed"),
        ({"graph_us": 12.0}, "implausible"),
        ({"graph_us": 14.3, "single_us": 18.0}, "passed"),
        ({"single_us": 60.0}, "method_disagreement"),
        ({"single_us": 15.0}, "method_disagreement"),
        ({"is_cold": False}, "not_cold"),
        ({"wall_us": 30_000.0}, "untimed_work"),
        ({"retained_us": 15.0}, "l2_persistence"),
        ({"sm_clock_mhz": 1200}, "throttled"),
        ({"throttle": "hw_thermal_slowdown"}, "throttled"),
    ],
)
def test_each_gate_has_a_status_of_its_own(changed: dict[str, object], status: str) -> None:
    found, reason = judge_timing(Timing(**GOOD | changed), 66_083_840, 4580.0)  # type: ignore[arg-type]
    assert found == status
    assert bool(reason) == (status != "passed")
