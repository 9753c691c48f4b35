# Inputs stand as their authors would write them, so lines are long.
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.claims import extract
from ingest.claims.plausible import read_pull_request
from kwdb.plausibility import Doubt
from kwdb.records import ExtractedClaim

MEGA = 1_000_000
HOSTILE = {
    "pipes": "|" * MEGA,
    "pipe lines": ("|" * 200 + "\n") * 5000 + "1.2 ms",
    "columns": "|" + " a (ms) |" * 10_000 + "\n|" + "---|" * 10_000 + "\n|" + " 1.5 ms |" * 10_000,
    "rows": "| a (ms) | b (ms) |\n|---|---|\n" + "| 1.5 | 1.2 |\n" * 60_000,
    "wide rows": "|" + " a |" * 60 + "\n|" + "---|" * 60 + "\n" + ("|" + " 1.5 ms |" * 60 + "\n") * 1800,
    "nested html": "<table>" + "<tr><td>" * 100_000 + "1 ms",
    "html rows": "<table>\n" + "<tr><td>1 ms</td><td>2 ms</td></tr>\n" * 20_000 + "</table>",
    "quotes": (">" * 400 + " 1.2 ms\n") * 2500,
    "lists": "".join(" " * (2 * (n % 50)) + "- 1.2 ms\n" for n in range(20_000)),
    "digits": "1," * (MEGA // 2) + " ms",
    "factors": ("1x " * 1300 + "\n") * 250,
    "times": ("12 ms " * 600 + "\n") * 270,
    "pairs": ("from 1ms to 2ms " * 240 + "\n") * 260,
    "arrows": ("1 -> " * 800 + "\n") * 250 + "3 ms",
    "comments": "<!--" * (MEGA // 4) + "1 ms",
    "code spans": ("`|" * 1900 + "\n") * 260 + "1 ms",
    "brackets": ("x" + " (1 ms)" * 550 + "\n") * 250,
    "links": ("[a](" * 990 + "\n") * 250 + "1 ms",
    "spaces": ("1  " * 1300 + "\n") * 250 + "1 ms",
    "slashes": ("1 / " * 990 + "\n") * 250 + "1 ms",
    "words": ("faster 2x 3% " * 300 + "\n") * 250,
    "console": "```\n" + "latency: 1.2 ms\n" * 60_000 + "```",
    "tabs": ("1 ms\t" * 780 + "\n") * 250,
    "rules": "a | b\n-- | --\n" * 60_000 + "1 ms",
    "commands": ("bench.py " + "--a 1 " * 600 + "\n") * 250 + "1 ms",
    "slash chains": ("1.5 / " * 600 + "1 ms\n") * 250,
    "perf lines": "[PERF] a :: median time 1.5 ms; x 3 TB/s\n" * 20_000,
    "labels behind": ("1 ms (a), " * 380 + "\n") * 250,
    "dots": "a (ms)  b\n" + "...\n1.5  2.5\n" * 30_000,
    "wrapped rules": "| a |\n" + "|---|\n---|\n" * 50_000 + "1 ms",
    "operations": ("gemm moe attention mla " * 170 + "1 ms\n") * 250,
    "ratios": "| a | b (ms) | c (ms) | s | t |\n|---|---|---|---|---|\n" + "| 1 | 1.5 | 1.2 | 1.25x | 3% |\n" * 30_000,
    "changes": ("1 ms -> 2 ms (" * 270 + "\n") * 250,
    "backticks": ("`" * 3900 + "| 1 ms\n") * 250,
    "boxes": "+--+--+\n| a | b |\n" * 40_000 + "1 ms",
}  # fmt: skip


def read(title: str, body: str) -> list[tuple[ExtractedClaim, Doubt | None]]:
    """Extract and doubt, as a harvest does."""
    return read_pull_request({"title": title, "body": body})


@pytest.mark.parametrize("name", HOSTILE)
def test_no_body_gives_more_than_a_person_wrote(name: str) -> None:
    assert len(read("perf: 1.2x faster", HOSTILE[name])) <= 2_000


@pytest.mark.parametrize("name", ["rows", "columns", "wide rows", "ratios"])
def test_memory_is_bounded(name: str) -> None:
    tracemalloc.start()
    read("perf: 1.2x faster", HOSTILE[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000


PIECES = st.sampled_from(
    ["| a (ms) | b | speedup |\n", "|---|---|---|\n", "| 1 | 2.5 | 1.2x |\n", "```\n", "\n", "\r\n",
     "Mean TTFT (ms): 3.2\n", "from 3us to 2us", " -> ", "1.5x", " faster ", "12%", "<table><tr><td>",
     "</td></tr></table>", "<!--", "-->", "**", "`", "~~", "B200 ", "Before: ", "After: ", "/ ", "(", ")",
     "± 0.1 ms", "x  1.0  2.0\n", "+--+--+\n", "\t", "\0", "\u2028", "µs", "1,234 tok/s", "- ", "# ", "| ",
     "0 1.0 2 ms\n", "-- | --\n", "[1, 2]", "[PERF] a :: ",
     "bench.py --m 1 --n 2\n", "1.5 / 2.5 us", " (PR), ", "...\n", "1 threads: -----\n", "    |  base |  diff\n", "50x", "GDN prefill "]
)  # fmt: skip


def _check(title: str, body: str) -> None:
    lines = [title, *body.split("\n")]
    claims = extract(title, body)
    assert [claim for claim, _ in read(title, body)] == claims
    for claim in claims:
        line = claim.evidence.line or 0
        stored = "\n".join(lines[line : line + 4])
        assert claim.evidence.text in stored
        assert claim.evidence.text.split("\n")[0] in lines[line]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=60).map("".join))
def test_evidence_stands_where_it_says(body: str) -> None:
    _check("perf: up to 2x (#1)", body)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=300), st.text(alphabet="|-x×%.:0123456789 msu\n\t`*<>~+→()[]", max_size=400)
)
def test_nothing_makes_it_fail(title: str, body: str) -> None:
    _check(title.replace("\n", " "), body)
