from dataclasses import replace

import pytest

from ingest.claims import extract
from ingest.claims.plausible import disputed, ratio_disagrees, unit_clash


@pytest.mark.parametrize(
    ("ratio", "unit", "before", "after", "expected"),
    [
        (1.5, "x", 3.0, 2.0, False),
        (0.667, "x", 3.0, 2.0, False),
        (2.5, "x", 3.0, 2.0, True),
        (33.3, "%", 3.0, 2.0, False),
        (50.0, "%", 3.0, 2.0, False),
        (-33.3, "%", 3.0, 2.0, False),
        (190.0, "%", 3.0, 2.0, True),
        (1.83, None, 11, 6, False),
        (1.0, "x", 0.0, 2.0, False),
    ],
)
def test_a_ratio_is_held_against_its_own_figures(
    ratio: float, unit: str | None, before: float, after: float, expected: bool
) -> None:
    assert ratio_disagrees(ratio, unit, before, after) is expected


def test_a_row_that_contradicts_itself_is_disputed_and_an_honest_one_is_not() -> None:
    header = "| M | before (us) | after (us) | speedup |\n|---|---|---|---|\n"
    claims = extract("t", f"{header}| 1 | 30.0 | 20.0 | 1.50x |\n| 2 | 30.0 | 20.0 | 2.90x |")
    assert [(c.value, reason) for c, reason in disputed(claims)] == [
        (2.9, "written ratio 2.90x disagrees with its own 30 and 20")
    ]


def test_a_unit_that_cannot_be_is_named() -> None:
    claim = extract("t", "The kernel takes 3 us.")[0]
    assert unit_clash(claim) is None
    wrong = replace(claim, unit="GB/s")
    assert unit_clash(wrong) == "unit 'GB/s' does not measure latency"
    assert disputed([wrong]) == [(wrong, "unit 'GB/s' does not measure latency")]
