"""Decisions, their reasons and evidence; one case for each kind of change."""

import pytest

from ingest.classify import classify, ruleset
from kwdb.records import Change

HEAD = "diff --git a/csrc/k.cu b/csrc/k.cu\n--- a/csrc/k.cu\n+++ b/csrc/k.cu\n@@ -1,3 +1,3 @@\n"


@pytest.mark.parametrize(
    ("title", "paths"),
    [
        ("Fix out-of-bounds read", ("csrc/attention/paged.cu",)),
        ("[Kernel] Tune block sizes", ("vllm/model_executor/layers/fused_moe/fused_moe.py",)),
        ("Add tuned config", ("a/configs/E=8,N=64,device_name=NVIDIA_H100.json",)),
        ("perf: cache compiled modules", ("flashinfer/jit/core.py",)),
        ("Choose CUTLASS MLA", ("vllm/v1/attention/backends/mla/cutlass_mla.py",)),
        ('Revert "[Kernel] two-pass reduction"', ("csrc/reduce.cu",)),
        ("[Kernel] Add w4a8 grouped gemm", ()),
        ("Speed up ep_scatter for ue8m0 strides", ()),
        ("[ROCm][Kernel] paged attention", ("csrc/rocm/attention.cu",)),
    ],
)
def test_kernel_work_is_included(title: str, paths: tuple[str, ...]) -> None:
    verdict = classify(Change("o/r", 1, title, paths=paths))
    assert verdict.decision == "include"
    assert verdict.evidence is not None


@pytest.mark.parametrize(
    ("title", "paths"),
    [
        ("docs: explain the attention kernel", ("docs/attention.md",)),
        ("[CI] run kernel tests nightly", (".github/workflows/test.yml",)),
        ("bump sgl-kernel to 0.3", ("sgl-kernel/pyproject.toml",)),
        ("Add tests for fp8 gemm", ("tests/kernels/test_fp8_gemm.py",)),
        ("Fix typos in attention kernel", ("csrc/attention/paged.cu",)),
        ("[NPU] fused moe kernel", ("sglang/srt/hardware_backend/npu/moe.py",)),
        ("[Frontend] tool parser for streams", ("vllm/entrypoints/openai/tool.py",)),
        ("[CI] mark blackwell test optional", ()),
        ("Add Foo model", ("vllm/model_executor/models/foo.py", "tests/models/registry.py")),
        ("Build image", ("docker/Dockerfile.cu126",)),
        ("", ()),
    ],
)
def test_other_work_is_not(title: str, paths: tuple[str, ...]) -> None:
    verdict = classify(Change("o/r", 1, title, paths=paths))
    assert verdict.decision == "exclude"
    assert verdict.reason


@pytest.mark.parametrize(
    "lines",
    [
        "-// adds two numbers\n+// adds two figures\n",
        "+#include <cstdio>\n",
        "-int  a=b;\n+int a = b;\n",
        "-from a import b\n+from a import c\n",
    ],
    ids=["comment", "include", "layout", "import"],
)
def test_a_diff_without_behaviour_takes_a_kernel_file_out(lines: str) -> None:
    verdict = classify(Change("o/r", 1, "Update k", paths=("csrc/k.cu",), diff=HEAD + lines))
    assert (verdict.decision, verdict.rule) == ("exclude", "only-layout")


def test_removing_a_kernel_is_no_kernel_work() -> None:
    diff = HEAD.replace("--- a", "deleted file mode 100644\n--- a") + "-int a = b + c;\n"
    verdict = classify(Change("o/r", 1, "Drop k", paths=("csrc/k.cu",), diff=diff))
    assert (verdict.decision, verdict.rule) == ("exclude", "only-removed")


def test_a_functional_line_keeps_it() -> None:
    diff = HEAD + "-int a = b;\n+int a = c;\n"
    assert classify(Change("o/r", 1, "Update k", paths=("csrc/k.cu",), diff=diff)).decision == (
        "include"
    )


def test_one_kernel_file_among_many_of_a_model_weighs_less() -> None:
    paths = tuple(f"vllm/model_executor/models/m{n}.py" for n in range(20))
    host = ("vllm/model_executor/layers/quantization/fp8.py",)
    assert classify(Change("o/r", 1, "Load m", paths=host)).decision == "include"
    assert classify(Change("o/r", 1, "Load m", paths=paths + host)).decision == "exclude"


def test_a_label_is_evidence() -> None:
    change = Change("o/r", 1, "Faster reads", paths=("vllm/envs.py",), labels=("documentation",))
    verdict = classify(change)
    assert verdict.evidence is not None
    assert verdict.evidence.locator == "label"


def test_excluded_changes_still_carry_their_tags() -> None:
    verdict = classify(Change("o/r", 1, "docs: fp8 gemm", paths=("docs/a.md",)))
    assert verdict.decision == "exclude"
    assert {tag.name for tag in verdict.tags} == {"fp8", "gemm"}


def test_the_basis_says_how_much_was_read() -> None:
    change = Change("o/r", 1, "[Kernel] B200 and Hopper fp8", paths=("csrc/moe/topk.cu",))
    basis = {tag.name: tag.basis for tag in classify(change).tags}
    assert basis == {
        "sm100": "product",
        "sm90": "family",
        "fp8": "exact",
        "moe": "path",
        "cuda-cpp": "path",
    }


def test_no_tag_without_evidence() -> None:
    assert classify(Change("o/r", 1, "Make it work")).tags == ()


def test_the_ruleset_names_version_and_content() -> None:
    version, _, digest = ruleset().rpartition("-")
    assert version
    assert len(digest) == 8
    assert int(digest, 16) >= 0
