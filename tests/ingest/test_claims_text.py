import pytest

from ingest.claims.cells import read_cell
from ingest.claims.document import plain, read_blocks
from ingest.claims.figures import scan
from ingest.claims.text import cells_of, is_separator, logical


def _rows(body: str) -> list[tuple[str, ...]]:
    return [row.cells for block in read_blocks(body) for row in block.rows]


def test_a_wrapped_row_is_joined_and_keeps_its_lines() -> None:
    body = "| Shape | before | after |\n|---|---|---|\n| small (one\ntoken) | 2 ms | 1 ms |\n"
    lines = [line for line in logical(body) if "small" in line.text]
    assert [(line.text, line.first, line.last) for line in lines] == [
        ("| small (one token) | 2 ms | 1 ms |", 3, 4)
    ]


@pytest.mark.parametrize(
    "body",
    [
        "| a | b\n(ms) |\n|---|---|\n| 1 | 2 |",
        "| a | b (ms) |\n\n|---|---|\n| 1 | 2 |",
        "| a | b (ms)\n|\n|---|---|\n| 1 | 2\n|",
        "a | b (ms)\n-- | --\n1 | 2",
        "    | a | b (ms) |\n    |---|---|\n    | 1 | 2 |",
        "```\n| a | b (ms) |\n|---|---|\n| 1 | 2 |\n```",
        "+---+--------+\n| a | b (ms) |\n+---+--------+\n| 1 | 2 |\n+---+--------+",
    ],
    ids=["header", "blank", "pipe", "no-outer", "indented", "fenced", "box"],
)
def test_a_table_survives_what_squashing_does_to_it(body: str) -> None:
    assert _rows(body) == [("1", "2")]


def test_a_wrapped_separator_and_rows_without_one() -> None:
    assert _rows("| a | b | c |\n|---|---\n|---|\n| 1 | 2 | 3 |") == [("1", "2", "3")]
    assert _rows("a | b | c |\nx | 1 | 2 |\ny | 3 | 4 |\n") == [("x", "1", "2"), ("y", "3", "4")]


def test_html_tables_are_read() -> None:
    body = "<table>\n<tr><th>M</th><th>us</th></tr>\n<tr><td>1</td><td>2.5</td></tr>\n</table>"
    assert _rows(body) == [("1", "2.5")]


def test_comments_and_bot_notes_are_blank_but_counted() -> None:
    body = (
        "<!-- 3 ms\n4 ms -->\n"
        "<!-- This is an auto-generated comment: release notes by x -->\n2x faster\n"
        "<!-- end of auto-generated comment: release notes by x -->\nafter"
    )
    kept = [(line.text.strip(), line.first) for line in logical(body) if line.text.strip()]
    assert kept == [("after", 6)]


def test_cells_and_separators() -> None:
    assert cells_of("| a \\| b | `c|d` |") == ["a \\¦ b", "`c¦d`"]
    assert is_separator("|:--|--:|")
    assert not is_separator("-----")
    assert plain("**1.2×** `a` ~~0.9x~~ [b](http://c)") == "1.2× a  b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("up to 1.27x", [(1.27, None, "x", "up_to", None)]),
        ("9.7-13.0%", [(9.7, 13.0, "%", "range", None)]),
        ("76.3 → 81.9 tok/s", [(81.9, None, "tok/s", None, 76.3)]),
        ("from 133us to 103us", [(103.0, None, "us", None, 133.0)]),
        ("ranges from 3 to 30 ms", [(3.0, 30.0, "ms", "range", None)]),
        ("737 µs ± 216 ns per loop", [(737.0, None, "µs", None, None)]),
        ("between 1.4 and 1.8x", [(1.4, 1.8, "x", "range", None)]),
        ("0.99x and 0.98x", [(0.99, None, "x", None, None), (0.98, None, "x", None, None)]),
        ("x1.5-3", [(1.5, 3.0, "x", "range", None)]),
        ("1,234.5 GB/s", [(1234.5, None, "GB/s", None, None)]),
        ("−16.7%", [(-16.7, None, "%", None, None)]),
        ("~3.7 ms/fwd", [(3.7, None, "ms/fwd", "approx", None)]),
        ("Mean TTFT (ms): 120 -> 110", [(110.0, None, "ms", None, 120.0)]),
        ("8x B200, 128x64, x86, 4x GPUs, 2x [3, 4], B=2 S=512", []),
        ("MXFP8 x MXFP4 on SM12x, 4 times", []),
        ("50% percentile", []),
    ],
)
def test_figures(text: str, expected: list[object]) -> None:
    found = [(f.value, f.value_max, f.unit_text, f.qualifier, f.baseline) for f in scan(text)]
    assert found == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("118 (23%) / 91 (55%)", [(118, 0, False), (23, 0, True), (91, 1, False), (55, 1, True)]),
        ("268.3 (pad 16) (+24.8%)", [(268.3, 0, False), (24.8, 0, True)]),
        ("-4.91% [-4.93%, -4.89%]", [(-4.91, 0, False)]),
        ("0.0185 ± 0.0001 ms", [(0.0185, 0, False)]),
        ("n/a (fp16: 1411 µs)", [(1411, 0, True)]),
        ("3 req/s, 40 tok/s", [(3, 0, False), (40, 0, False)]),
        ("—", []),
        ("passes (output 1)", []),
    ],
)
def test_cells(cell: str, expected: list[object]) -> None:
    found, _ = read_cell(cell)
    assert [(item.figure.value, item.group, item.in_brackets) for item in found] == expected


def test_the_unit_of_the_last_group_is_that_of_all() -> None:
    found, groups = read_cell("46.2 / 76.4 us")
    assert groups == 2
    assert [item.figure.unit_text for item in found] == ["us", "us"]
