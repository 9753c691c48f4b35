"""Kinds of text that were once misread, each in its smallest form."""

import pytest

from ingest.claims import ExtractedClaim, extract

TITLE = "perf: faster kernel"


def rows(body: str, title: str = TITLE) -> list[tuple[object, ...]]:
    """Metric, value, baseline and variant of each claim."""
    return [(c.metric, c.value, c.baseline_value, c.variant) for c in extract(title, body)]


def only(body: str, title: str = TITLE) -> ExtractedClaim:
    (claim,) = extract(title, body)
    return claim


def test_pipes_between_code_spans_are_cell_borders() -> None:
    body = "| case | a delta | b delta |\n|---|---|---|\n| x | `+0.5%` (`+0.7%`) | `-0.9%` |\n"
    found = rows(body + "| y | `+0.1%` | `+0.2%` |")
    values = [(value, variant) for _, value, _, variant in found]
    assert values == [
        *((0.5, "a delta"), (0.7, "a delta"), (-0.9, "b delta")),
        *((0.1, "a delta"), (0.2, "b delta")),
    ]


def test_a_rule_wrapped_without_a_pipe_is_one_rule() -> None:
    body = "| M | base (us) | new (us) |\n|---:|---:|\n---:|\n| 8 | 3.0 | 2.0 |"
    assert rows(body) == [("latency", 2.0, 3.0, "new (us)")]


@pytest.mark.parametrize(
    ("header", "row", "shape"),
    [
        ("| K | N | T | new (us) |", "| 10 | 2048 | 512 | 6.1 |", "K=10, N=2048, T=512"),
        ("| H | Sq / Skv | new (us) |", "| 8 | 64 / 8192 | 5.2 |", "H=8, Sq / Skv=64 / 8192"),
        ("| M | best backend | new (us) |", "| 8 | cudnn | 5.2 |", "M=8"),
    ],
)
def test_letters_and_words_before_the_figures_are_the_shape(header, row, shape) -> None:
    rule = "|" + "---|" * header.count(" | ") + "---|"
    assert only(f"{header}\n{rule}\n{row}").shape == shape


def test_conditions_are_no_costs() -> None:
    body = (
        "| M | main autotune | PR autotune |\n|---|---|---|\n| 4 | 0.51 ms | 0.19 ms |\n"
        "\n| M | fast path off | fast path on |\n|---|---|---|\n| 8 | 66.0µs | 4.2µs |"
    )
    assert [(value, old) for _, value, old, _ in rows(body)] == [(0.19, 0.51), (4.2, 66.0)]
    assert rows("| M | compile (s) |\n|---|---|\n| 4 | 3.1 |") == []


def test_rows_called_on_and_off_are_no_sides_where_columns_are() -> None:
    body = "| mode | main | this PR |\n|---|---|---|\n| on | 397.9 µs | 396.5 µs |\n| off | 42.2 µs | 42.1 µs |"
    assert [(value, old) for _, value, old, _ in rows(body)] == [(396.5, 397.9), (42.1, 42.2)]


def test_rows_called_before_and_after_are_the_sides() -> None:
    body = "| | non-amp (s) | amp (s) |\n|---|---|---|\n| before PR | 2.88 | 9.6 |\n| after PR | 1.5 | 1.6 |"
    assert [(value, old) for _, value, old, _ in rows(body)] == [(1.5, 2.88), (1.6, 9.6)]


def test_numbers_that_rise_with_the_gain_are_no_times() -> None:
    body = "| seq | before | after | gain |\n|---|---|---|---|\n| 4096 | 186.0 | 234.4 | +26.0% |"
    assert [metric for metric, *_ in rows(body)] == ["speedup"]


def test_annotated_numbers_are_times_and_the_annotation_is_the_ratio() -> None:
    body = "Speedup over base in parens:\n\n| T | a | b |\n|---|---|---|\n| 8 | 473.1 | 428.5 (1.10x) |"
    assert [(metric, value) for metric, value, *_ in rows(body)] == [
        ("latency", 473.1),
        ("latency", 428.5),
        ("speedup", 1.1),
    ]


def test_a_header_is_cut_where_right_aligned_columns_end() -> None:
    body = (
        "```\n batch  seq_len Base(us)   Fused(us)\n"
        "     1        2     10.05        9.22\n     1        3     11.05       10.22\n```"
    )
    assert [(c.shape, c.value, c.baseline_value) for c in extract(TITLE, body)] == [
        ("batch=1, seq_len=2", 9.22, 10.05),
        ("batch=1, seq_len=3", 10.22, 11.05),
    ]


def test_thread_groups_go_on_under_one_header() -> None:
    lines = [
        "[-------------- conv --------------]",
        "                   |  base |  diff",
        "1 threads: ------------------------",
        "      [1, 3, 4]    |  36.5 |  28.4",
        "      [1, 5, 6]    |  31.5 |  31.4",
        "4 threads: ------------------------",
        "      [1, 3, 4]    |  12.5 |   7.4",
        "      [1, 5, 6]    |  11.5 |  11.4",
        "Times are in microseconds (us).",
    ]
    body = "```\n" + "\n".join(lines) + "\n```"
    pairs = [(value, old) for _, value, old, _ in rows(body)]
    assert pairs == [(28.4, 36.5), (31.4, 31.5), (7.4, 12.5), (11.4, 11.5)]


def test_the_command_above_a_print_tells_operation_and_shape() -> None:
    body = (
        "```\n# python3 bench.py --routine mm_fp4 --m 16 --n 32 --k 64 --num_iters 30\n"
        "[INFO] tile = 5\n[PERF] cudnn :: median time 0.014 ms; achieved tflops 5.5 TFLOPs/sec\n```"
    )
    claims = extract(TITLE, body)
    assert {(c.op, c.variant, c.shape) for c in claims} == {
        ("gemm", "cudnn", "routine=mm_fp4, m=16, n=32, k=64")
    }


def test_settings_over_two_lines_are_one() -> None:
    body = (
        "> batch=4, seq=1024,\nhead_dim=64\n> execution time: 0.5ms\n> memory bandwidth: 900 GB/s"
    )
    assert {c.shape for c in extract(TITLE, body)} == {"batch=4, seq=1024, head_dim=64"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("qps=1: 24 ms (this PR), 32 ms (old main)", [(24.0, "this PR"), (32.0, "old main")]),
        ("qps=1: 9.8 ms ITL, 40 ms e2e latency", [(9.8, "ITL"), (40.0, "e2e latency")]),
    ],
)
def test_labels_may_stand_behind_their_figures(line: str, expected) -> None:
    found = rows(f"```\n{line}\n```")
    assert [(value, variant) for _, value, _, variant in found] == expected


def test_a_duration_in_microseconds_is_a_latency() -> None:
    body = "```\np: 1.0, duration: 21.6 us, bandwidth: 47.6 GB/s\nBenchmark duration (s): 30.0\n```"
    assert [value for _, value, _, _ in rows(body)] == [21.6, 47.6]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kernel takes ~0.42 / ~1.9 ms now.", [0.42, 1.9]),
        ("Forward pass on cpu: 512ms -> 750ms (+46%)", [750.0, 46.0]),
        ("It is faster in most cases; 70% were faster.", []),
        ("Stores reach 100% sector utilization, a faster layout.", []),
        ("The kernel reaches 6 TB/s of the 8 TB/s HBM3e peak.", [6.0]),
        ("Fixes a bug that caused a 2.2% MMLU drop.", []),
        ("Slower by design: 4x LDG.E and 1x LDG.E.128 per copy, faster overall.", []),
        ("Throughput gains 0.93x B200 against the old kernel.", [0.93]),
    ],
)
def test_sentences(text: str, expected: list[float]) -> None:
    assert [value for _, value, _, _ in rows(text)] == expected


def test_a_side_belongs_to_the_next_figure_only() -> None:
    body = "Before:\n7.133 ms/iter\n0.022 ms for pow\nAfter:\n7.106 ms/iter\n0.017 ms for pow"
    assert [old for _, value, old, _ in rows(body) if value == 7.106 and old == 0.022] == []


def test_a_percentage_behind_a_pair_of_times_goes_their_way() -> None:
    slower = extract(TITLE, "Forward pass on cpu: 512ms -> 750ms (+46%)")[1]
    assert (slower.metric, slower.direction) == ("speedup", "lower_better")


def test_the_gpu_beside_a_figure_is_its_own() -> None:
    body = "Speedup: 0.99x on RTX 5080, 1.01x on RTX PRO 6000, 1.02x on DGX Spark."
    assert [c.gpu for c in extract(TITLE, body)] == ["RTX 5080", "RTX PRO 6000", "GB10"]


def test_what_a_build_costs_is_no_claim() -> None:
    body = "| run | time |\n|---|---|\n| main | 93.5 s |\n| this PR | 45.8 s |"
    assert rows(body, "perf: cut autotune time of the gemm") == []
    assert rows("Faster: 2.5x speedup", "build: use a compiler cache") == []


@pytest.mark.parametrize(
    ("title", "heading", "op"),
    [
        ("perf: tune mm_fp4 for small M", "", "gemm"),
        ("feat: CuTe DSL GDN prefill kernel", "", "gated-delta-net-prefill"),
        ("perf(moe): faster MoE routing", "", "moe-routing"),
        ("perf: fused RMSNorm + FP4 quantization", "", "quantize+rmsnorm"),
        ("perf: tune mm_fp4", "## Batch decode attention", "attention-decode"),
        ("perf: faster DeepGEMM integration", "", None),
        ("perf: norm, gemm, softmax and rope", "", None),
        ("perf: faster kernel", "", None),
    ],
)
def test_the_operation_is_named_or_left_open(title: str, heading: str, op: str | None) -> None:
    body = f"{heading}\n\n| M | new (us) |\n|---|---|\n| 8 | 2.5 |"
    assert only(body, title).op == op


def test_a_geometric_mean_above_a_table_is_not_that_of_its_rows() -> None:
    body = "The geometric-mean speedup was 1.28x.\n\n| M | new (us) |\n|---|---|\n| 8 | 2.5 |"
    mean, row = extract(TITLE, body)
    assert (mean.qualifier, mean.statistic) == ("geomean", None)
    assert row.qualifier is None


@pytest.mark.parametrize(
    ("above", "direction"),
    [
        ("A negative PR delta means the head is faster.", "lower_better"),
        ("Positive means faster.", "higher_better"),
    ],
)
def test_the_text_above_tells_which_sign_is_better(above: str, direction: str) -> None:
    body = f"{above}\n\n| case | PR delta |\n|---|---|\n| x | +0.5% |"
    assert only(body).direction == direction
