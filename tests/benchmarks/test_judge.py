import pytest

from benchmarks.judge import judge

MEASURED = {
    "gpu": "B200", "op": "gemv", "dtype": "nvfp4", "shape": "7168x16384x1", "metric": "latency",
    "value_normalized": 20.0, "cache_state": "cold", "timing_scope": "amortized_graph",
    "ci_low_us": 19.9, "ci_high_us": 20.1, "variant": "ours", "origin": "measured",
}  # fmt: skip
REPORTED = MEASURED | {"origin": "reported", "variant": "theirs", "qualifier": None}


@pytest.mark.parametrize(
    ("value", "relation"),
    [(20.0, "reproduces"), (20.9, "reproduces"), (19.1, "reproduces"), (18.6, "ambiguous"),
     (25.0, "contradicts"), (15.0, "contradicts")],
)  # fmt: skip
def test_distance_decides_where_all_conditions_agree(value: float, relation: str) -> None:
    found = judge(MEASURED, REPORTED | {"value_normalized": value})
    assert found.relation == relation
    assert found.ratio == pytest.approx(20.0 / value)
    assert found.differing == ()


def test_an_h200_never_reproduces_a_b200_latency() -> None:
    found = judge(MEASURED | {"gpu": "H200"}, REPORTED)
    assert (found.relation, found.ratio, found.differing) == ("not_comparable", None, ("gpu",))


@pytest.mark.parametrize(
    ("changed", "differing"),
    [
        ({"gpu": None}, ("gpu",)),
        ({"shape": "4096x7168x8"}, ("shape",)),
        ({"shape": "7168x16384x1, 4096x7168x8"}, ("shape",)),
        ({"dtype": "fp8", "metric": "bandwidth"}, ("dtype", "metric")),
        ({"cache_state": "hot"}, ("cache_state",)),
        ({"timing_scope": "python_call"}, ("timing_scope",)),
        ({"qualifier": "geomean"}, ("statistic",)),
        ({"statistic": "geometric mean"}, ("statistic",)),
        ({"gpu_count": 8}, ("gpu_count",)),
    ],
)
def test_every_differing_condition_is_named(
    changed: dict[str, object], differing: tuple[str, ...]
) -> None:
    found = judge(MEASURED, REPORTED | changed)
    assert found.relation == "not_comparable"
    assert found.differing == differing
    assert differing[0] in found.evidence


def test_spellings_of_one_thing_are_one_thing() -> None:
    same = {"op": "batched_gemv", "dtype": "NVFP4", "shape": "M=7168 K=16384 L=1", "gpu": "b200"}
    assert judge(MEASURED, REPORTED | same).relation == "reproduces"


def test_an_unstated_condition_allows_no_contradiction() -> None:
    unstated = {"cache_state": None, "value_normalized": 30.0}
    found = judge(MEASURED, REPORTED | unstated)
    assert found.relation == "ambiguous"
    assert "cache_state" in found.evidence


def test_a_report_without_a_figure_is_not_comparable() -> None:
    assert judge(MEASURED, REPORTED | {"value_normalized": None}).differing == ("value",)
