# Inputs stand as their authors would write them, so lines are long.
import json
from pathlib import Path

import pytest

from ingest.claims import EXTRACTOR, ExtractedClaim, extract, extract_lines
from kwdb.errors import InvalidRecordError


def short(claim: ExtractedClaim) -> tuple[object, ...]:
    return (claim.metric, claim.value, claim.unit, claim.baseline_value, claim.role)


def figures(body: str, title: str = "perf: faster kernel") -> list[tuple[object, ...]]:
    return [short(claim) for claim in extract(title, body)]


def table(header: str, *rows: str, above: str = "") -> str:
    rule = "|" + "---|" * (header.count("|") - 1)
    return "\n".join(([above, ""] if above else []) + [header, rule, *rows])


def test_before_and_after_columns_are_one_claim_and_the_ratio_another() -> None:
    body = table("| M | Before (us) | After (us) | Speedup |", "| 8 | 3.0 | 2.0 | 1.50x |")
    assert figures(body) == [
        ("latency", 2.0, "us", 3.0, "after"),
        ("speedup", 1.5, "x", None, "ratio"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (table("| M | main | this PR |", "| 8 | 3.0 ms | 2.0 ms |"), [(2.0, "ms", 3.0)]),
        (table("| M | ours us | cuBLAS us |", "| 8 | 2.0 | 3.0 |"), [(2.0, "us", 3.0)]),
        (
            table("| M | A | B | Speedup |", "| 8 | 2.0 ms | 3.0 ms | 1.50x |"),
            [(2.0, "ms", 3.0), (1.5, "x", None)],
        ),
        (table("| M | base → new |", "| 8 | 3.0 → 2.0 ms |"), [(2.0, "ms", 3.0)]),
        (table("| M | TFLOPS (new/old) |", "| 8 | 90 / 80 |"), [(90, "TFLOPS", 80)]),
        (
            table("| M | old (ms / TFLOPS) | new (ms / TFLOPS) |", "| 8 | 3.0 / 80 | 2.0 / 90 |"),
            [(2.0, "ms", 3.0), (90, "TFLOPS", 80)],
        ),
        (
            table("| Metric | main | PR |", "| Mean TTFT (ms) | 30.0 | 20.0 |"),
            [(20.0, "ms", 30.0)],
        ),
        (
            table("| | TPOT (ms) | tok/s |", "| baseline | 9.0 | 80 |", "| this PR | 8.0 | 90 |"),
            [(8.0, "ms", 9.0), (90, "tok/s", 80)],
        ),
        (
            table("| M | NCCL | symm | ours |", "| 8 | 3us | 4us | 2us |"),
            [(3, "us", None), (4, "us", None), (2, "us", None)],
        ),
        (
            table("| batch \\ s | 512 | 1024 |", "| 1 | 1.17× | **1.31×** |"),
            [(1.17, "x", None), (1.31, "x", None)],
        ),
        (
            table("| M | old | new |", "| 8 | 3.0 ms (9 TF/s) | 2.0 ms (14 TF/s) |"),
            [(2.0, "ms", 3.0), (14, "TF/s", 9)],
        ),
        (
            table("| M | A | B |", "| 8 | 1.5 | 1.6 |", above="Latency in us:"),
            [(1.5, "us", None), (1.6, "us", None)],
        ),
        (
            table("| M | DRAM GB/s (% peak) |", "| 8 | 414 (26%) / 394 (42%) |"),
            [(414, "GB/s", None), (394, "GB/s", None), (26, "%", None), (42, "%", None)],
        ),
        (table("| M | wo tuner | with tuner | diff |", "| 8 | 0.20 | 0.10 | 50.0% |"),
         [(0.10, None, 0.20), (50.0, "%", None)]),
        (
            "<table>\n<tr><th>M</th><th>Before (us)</th><th>After (us)</th></tr>\n"
            "<tr><td>8</td><td>3.0</td><td>2.0</td></tr>\n</table>",
            [(2.0, "us", 3.0)],
        ),
    ],
)  # fmt: skip
def test_tables(body: str, expected: list[tuple[object, ...]]) -> None:
    assert [c[1:4] for c in figures(body)] == expected


CONSOLE = {
    "key-unit": ("Mean TTFT (ms):      16.72\nTotal token throughput (tok/s): 80.5",
                 [(16.72, "ms", None), (80.5, "tok/s", None)]),
    "perf-line": ("[PERF] a :: median time 0.018 ms; std 0.001 ms; achieved tflops 38.5 TFLOPs/sec",
                  [(0.018, "ms", None), (38.5, "TFLOPs/sec", None)]),
    "multi": ("gemm m=1: 6.36 TFLOPs/s over 0.0132 ms, 3.18 TB/s",
              [(6.36, "TFLOPs/s", None), (0.0132, "ms", None), (3.18, "TB/s", None)]),
    "throughput": ("Throughput: 3.2 requests/s, 370.3 total tokens/s, 41.0 output tokens/s",
                   [(3.2, "requests/s", None), (370.3, "total tokens/s", None),
                    (41.0, "output tokens/s", None)]),
    "pandas": ("   batch  A (us)  B (us)\n0    1.0    5.17    6.72\n1    2.0    5.02    6.92",
               [(5.17, "us", None), (6.72, "us", None), (5.02, "us", None), (6.92, "us", None)]),
    "fixed": ("Shape      Eager (ms)  Fused (ms)  Speedup\n-----------------\n"
              "B=1 (8 t)      0.242       0.039    6.22x\nB=2 (9 t)      0.236       0.011   21.5x",
              [(0.039, "ms", 0.242), (6.22, "x", None), (0.011, "ms", 0.236), (21.5, "x", None)]),
    "google-benchmark": ("Benchmark       Time       CPU Iterations\n-----------\n"
                         "BM_a/1       4092 ns    4090 ns     17\nBM_a/8       4425 ns    4420 ns     15",
                         [(4092, "ns", None), (4090, "ns", None), (4425, "ns", None),
                          (4420, "ns", None)]),
    "bars": ("T |      A       |      B\n  |  ms  TFLOPS  |  ms  TFLOPS\n----\n"
             "1 | 0.07   10.2  | 0.10   6.8\n8 | 0.10   55.0  | 0.13  40.9",
             [(0.07, "ms", None), (10.2, "TFLOPS", None), (0.10, "ms", None), (6.8, "TFLOPS", None),
              (0.10, "ms", None), (55.0, "TFLOPS", None), (0.13, "ms", None),
              (40.9, "TFLOPS", None)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSOLE)
def test_console_output(name: str) -> None:
    printed, expected = CONSOLE[name]
    assert [c[1:4] for c in figures(f"```\n{printed}\n```")] == expected


def test_two_prints_are_paired_by_their_captions() -> None:
    body = "Main:\n```\nMean ITL (ms): 9.0\n```\nPR:\n```\nMean ITL (ms): 8.0\n```"
    assert figures(body) == [("latency", 8.0, "ms", 9.0, "after")]


def test_timeit_prints_pair_by_position_across_units() -> None:
    body = "```\n# This PR\n737 µs ± 2 ns per loop\n\n# master (commit: 80f2)\n46.3 ms ± 7 µs per loop\n```"
    assert figures(body) == [("latency", 737.0, "µs", 46.3, "after")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kernel time improved from ~26.8us to ~9.8us.", [(9.8, "us", 26.8)]),
        ("Before this PR: 2.4us\nAfter this PR: 1.5us", [(1.5, "us", 2.4)]),
        ("- Before: 2.4us, 7 TB/s\n- After: 1.5us, 9 TB/s", [(1.5, "us", 2.4), (9, "TB/s", 7)]),
        ("77.1 µs before vs 76.9 µs after", [(76.9, "µs", 77.1)]),
        ("37.4us vs 84.4us at M=1, 3.95 vs 5.5us at M=8.", [(37.4, "us", 84.4), (3.95, "us", 5.5)]),
        ("A 56us < B 70us < C 124us", [(56, "us", None), (70, "us", None), (124, "us", None)]),
        ("We see a 12% higher throughput.", [(12, "%", None)]),
        ("a value takes `0.027\nms` here", [(0.027, "ms", None)]),
        ("Decode reaches 87-96% of DRAM peak.", [(87, "%", None)]),
    ],
)
def test_prose(text: str, expected: list[tuple[object, ...]]) -> None:
    assert [c[1:4] for c in figures(text)] == expected


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("2x faster", "higher_better"),
        ("the new path is 2.1x slower", "lower_better"),
        ("a 3% regression in latency", "lower_better"),
        ("the latency ratio is 0.97x to 1.02x", "lower_better"),
        ("latency fell: TTFT -16.7%", "lower_better"),
        ("saves ~2 µs per call", "higher_better"),
    ],
)
def test_direction_of_what_is_written(text: str, direction: str) -> None:
    assert [claim.direction for claim in extract("perf: x", text)] == [direction]


@pytest.mark.parametrize(
    ("header", "row", "direction"),
    [
        ("| M | old (us) | new (us) | delta |", "| 1 | 4.0 | 3.0 | -25.0% |", "lower_better"),
        ("| M | old (us) | new (us) | diff |", "| 1 | 4.0 | 3.0 | 25.0% |", "higher_better"),
        (
            "| M | old (us) | new (us) | new/old latency |",
            "| 1 | 4.0 | 3.0 | 0.75x |",
            "lower_better",
        ),
        ("| M | old (tok/s) | new (tok/s) | delta |", "| 1 | 40 | 30 | -25.0% |", "higher_better"),
        ("| M | cute | cudnn |", "| 1 | 200.0 us | 250.0 us (+25.0%) |", "lower_better"),
    ],
)
def test_direction_of_a_ratio_in_its_row(header: str, row: str, direction: str) -> None:
    ratios = [c for c in extract("perf: cute", table(header, row)) if c.role == "ratio"]
    assert [claim.direction for claim in ratios] == [direction]


NOT_CLAIMS = {
    "accuracy table": table("| Task | accuracy | stderr |", "| gsm8k | 0.94 | 0.01 |"),
    "error table": table("| Case | max_abs | mean_rel |", "| a | 0.63 | 3.7% |"),
    "accuracy run": "```\nAccuracy: 0.944\nInvalid: 0.000\nLatency: 132.4 s\nOutput throughput: 1076 token/s\n```",
    "tests": "498 passed, 3 skipped in 200.39s",
    "compile time": table("| process | compile + load |", "| before | 17.9 s |", "| after | 0.13 s |"),
    "compile ratio": "Compilation is 3.14x faster with the cache.",
    "autotune": "With a cold cache autotuning takes about 300 ms per layer.",
    "binary size": table("| module | installed |", "| moe | 430 MB |"),
    "timeout": "The polling timeout is fixed to 10000 ms.",
    "tolerance": "About 2.1% of logits differ beyond the tolerance.",
    "specification": "On an H100 SXM5 80GB (3352 GB/s), see below.",
    "memory": "A 2x memory footprint reduction and 4x fewer bytes.",
    "theory": "In theory this could be 2.3x faster.",
    "bounds": "No change is faster by more than within 3%.",
    "progress": "```\n100%|####| 1319/1319 [05:31<00:00,  3.98it/s]\n```",
    "shell time": "```\nreal 0m37.2s\n```",
    "log": "```\nINFO 08-30 17:44:10 [a.py:7] loaded in 12.3 ms\n```",
    "settings": "```\nRequest rate (req/s): 6\nBenchmark duration (s): 30.1\nMax concurrency: 48\n```",
    "comment": "<!-- 3.2 ms per iteration -->",
    "counts": "Ran on 8x B200 with SM12x kernels, MXFP8 x MXFP4, 64× reads of size 4.",
    "deviation": "```\nstd: 0.2 ms\n```",
    "profiler": table("| Name | Self CPU % | Self CPU |", "| aten::a | 4.3% | 62.0us |"),
    "protocol": "Timing uses a 20 ms warm-up.",
    "struck out": table("| M | speedup |", "| 8 | ~~1.5x~~ |"),
    "checkbox": "- [ ] the kernel is 2.0x faster",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CLAIMS)
def test_what_is_not_a_claim(name: str) -> None:
    assert figures(NOT_CLAIMS[name], title="feat: something (#1)") == []


def test_a_figure_said_again_elsewhere_is_one_claim() -> None:
    body = table("| M | before | after | speedup |", "| 1 | 3.0 us | 2.0 us | 1.5x |")
    again = f"## Summary\n\nUp to 1.5x faster (2.0 us).\n\n## Table\n\n{body}"
    assert figures(again) == figures(body)


@pytest.mark.parametrize(
    ("title", "body", "gpu", "source"),
    [
        ("t", table("| GPU | new (us) |", "| B200 | 2.0 |"), "B200", "cell"),
        ("t", table("| M | H100 (us) | B200 (us) |", "| 1 | 3.0 | 2.0 |"), "H100", "header"),
        ("t", table("| M | new (us) |", "| 1 | 2.0 |", above="On GB200:"), "GB200", "caption"),
        ("t", "## H20\n\ntext\n\n" + table("| M | x (us) |", "| 1 | 2.0 |"), "H20", "heading"),
        ("perf for A100", table("| M | x (us) |", "| 1 | 2.0 |"), "A100", "title"),
        ("t", table("| M | x (us) |", "| 1 | 2.0 |") + "\n\nEnv: DGX Spark", "GB10", "body"),
    ],
)
def test_the_nearest_place_names_the_gpu(title: str, body: str, gpu: str, source: str) -> None:
    claim = extract(title, body)[0]
    assert claim.gpu == gpu
    assert [f[2] for f in claim.fields if f[0] == "gpu"] == [source]


def test_an_architecture_is_not_turned_into_a_product() -> None:
    claim = extract("perf: x", "On Hopper the kernel takes 3 us.")[0]
    assert (claim.gpu, claim.architecture) == (None, "sm90")


def test_groups_of_a_cell_may_be_gpus() -> None:
    body = table("| S | vs A |", "| 2k | 1.15 / 1.02 |", above="Each cell is H200 / B200, speedup.")
    assert [(c.value, c.gpu) for c in extract("t", body)] == [(1.15, "H200"), (1.02, "B200")]


def test_one_claim_in_full() -> None:
    body = "On 8x H200, bf16, cold L2:\n\n| M | base (us) | new (us) |\n|---|---|---|\n| 4k | 3.0 | 2.0 |"
    claim = extract("perf(gemm): split the K loop (#7)", body)[0]
    assert claim.evidence.as_json() == {"where": "body", "text": "| 4k | 3.0 | 2.0 |", "line": 5}
    assert claim.value_normalized == 2.0
    assert (claim.gpu, claim.architecture, claim.gpu_count) == ("H200", "sm90", 8)
    assert (claim.dtype, claim.cache_state, claim.op) == ("bf16", "cold", "gemm")
    assert claim.dimensions == (("M", 4096.0, None),)
    assert claim.baseline_label == "base (us)"


def test_equal_claims_are_told_apart_by_a_running_number() -> None:
    claims = extract("t", table("| M | a | a |", "| 1 | 2.0 us | 2.0 us |"))
    assert [claim.ordinal for claim in claims] == [0, 1]


def test_titles_are_line_zero() -> None:
    claim = extract("Speed up topk by 20-35% (#9)", "")[0]
    assert (claim.value, claim.value_max, claim.evidence.where, claim.evidence.line) == (
        20.0, 35.0, "title", 0,
    )  # fmt: skip


def test_json_lines() -> None:
    lines = [json.dumps({"id": "a", "repo": "o/n", "title": "2x faster", "body": ""}), ""]
    (answer,) = [json.loads(line) for line in extract_lines(lines)]
    assert answer["id"] == "a"
    assert answer["claims"][0]["evidence"] == {"where": "title", "text": "2x faster", "line": 0}
    assert answer["claims"][0]["direction"] == "higher_better"
    assert EXTRACTOR


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", "line"),
        ("[]", "line"),
        ('{"title": "t", "body": "b"}', "id"),
        ('{"id": 1, "body": "b"}', "title"),
        ('{"id": 1, "title": "t", "body": 3}', "body"),
    ],
)
def test_a_bad_line_is_named(line: str, field: str) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        list(extract_lines(["", line]))
    assert (caught.value.line, caught.value.field) == (2, field)


LABELLED = Path(__file__).resolve().parents[3] / "shared/data/gold/claims_threads_dev.json"


@pytest.mark.skipif(not LABELLED.exists(), reason="labelled bodies are not here")
def test_labelled_bodies_are_read_about_as_people_read_them() -> None:
    rows = json.loads(LABELLED.read_text(encoding="utf-8"))
    hit = wanted = found = 0
    for row in rows:
        if row.get("body") is None:
            continue
        want = [round(abs(c["value"]), 4) for c in row["claims"]]
        have = [round(abs(c.value), 4) for c in extract(row["title"], row["body"])]
        hit += sum(min(want.count(v), have.count(v)) for v in set(want))
        wanted, found = wanted + len(want), found + len(have)
    assert hit / wanted > 0.75
    assert hit / found > 0.85
