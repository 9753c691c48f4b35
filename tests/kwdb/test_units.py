import pytest

from kwdb.units import (
    METRICS,
    UNITS,
    direction_of,
    find_unit,
    is_unit_of,
    normalize,
    spellings,
)


@pytest.mark.parametrize(
    ("spelling", "metric", "value", "normalized"),
    [
        ("ms", "latency", 1.5, 1500.0),
        ("µs", "latency", 2.0, 2.0),
        ("μs", "latency", 2.0, 2.0),
        ("ns", "latency", 500.0, 0.5),
        ("seconds", "latency", 1.0, 1e6),
        ("us/call", "latency", 3.0, 3.0),
        ("TFLOP/s", "throughput_tflops", 7.0, 7.0),
        ("GFLOPS", "throughput_tflops", 7000.0, 7.0),
        ("PFLOPS", "throughput_tflops", 1.5, 1500.0),
        ("TB/s", "bandwidth", 3.35, 3350.0),
        ("tok/s", "tokens_per_s", 10.0, 10.0),
        ("total tokens/s", "tokens_per_s", 10.0, 10.0),
        ("Mtok/s", "tokens_per_s", 19.9, 19.9e6),
        ("requests/s", "requests_per_s", 4.0, 4.0),
        ("×", "speedup", 2.0, 2.0),
        ("%", "speedup", 12.0, 12.0),
    ],
)
def test_a_spelling_has_one_meaning(
    spelling: str, metric: str, value: float, normalized: float
) -> None:
    unit = find_unit(spelling)
    assert unit is not None
    assert unit.metric == metric
    assert normalize(value, unit) == pytest.approx(normalized)


@pytest.mark.parametrize("text", ["", "GB", "MiB", "tokens", "layers", "k"])
def test_what_the_table_does_not_know_is_no_unit(text: str) -> None:
    assert find_unit(text) is None


def test_every_unit_belongs_to_a_metric_and_longer_spellings_come_first() -> None:
    assert {unit.metric for unit in UNITS.values()} <= set(METRICS)
    lengths = [len(spelling) for spelling in spellings()]
    assert lengths == sorted(lengths, reverse=True)


def test_direction() -> None:
    assert direction_of("latency") == "lower_better"
    assert direction_of("bandwidth") == "higher_better"
    with pytest.raises(KeyError):
        direction_of("beauty")


@pytest.mark.parametrize(
    ("unit", "metric", "expected"),
    [
        ("ms", "latency", True),
        ("ms", "bandwidth", False),
        ("GB/s", "latency", False),
        ("%", "percent_of_peak", True),
        ("us", "speedup", True),
        (None, "latency", True),
        ("furlongs", "latency", True),
    ],
)
def test_a_unit_can_be_impossible_for_a_metric(
    unit: str | None, metric: str, expected: bool
) -> None:
    assert is_unit_of(unit, metric) is expected
