"""Names that contain a term without meaning it, and terms that hide in glued names."""

import doctest

import pytest

from ingest.classify import classify, patterns
from kwdb.records import Change

HEADER = "diff --git a/csrc/k.cu b/csrc/k.cu\n--- a/csrc/k.cu\n+++ b/csrc/k.cu\n@@ -1,9 +1,9 @@\n"


def names(title: str = "[Kernel] change", **parts: object) -> set[str]:
    change = Change("o/r", 1, title, **parts)  # type: ignore[arg-type]
    return {tag.name for tag in classify(change).tags}


def added(*lines: str) -> str:
    return HEADER + "".join(f"+{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("[Kernel] a summary of numMathThreads", "tcgen05"),
        ("[Kernel] softmax in fp32", "tma"),
        ("[Kernel] fix p2pNcclConnector", "clc"),
        ("[Kernel] faster Gemma layers", "gemm"),
        ("[Kernel] refactor fused_moe", "kernel-fusion"),
        ("[Kernel] allreduce_fusion workspace", "kernel-fusion"),
        ("[Kernel] AllReduce fusion workspace", "kernel-fusion"),
        ("[Kernel] FP4 quantisation with swizzled 128x4 scales", "swizzling"),
        ("[Kernel] float4 loads of activations", "fp4"),
        ("[Kernel] nvfp4 output", "fp4"),
        ("[Kernel] FP64 is slow on sm103, use kFp64 less", "fp6"),
        ("[Kernel] pipeline parallel stages", "pipeline-stages"),
        ("[Kernel] decoder layer norm", "decode"),
        ("[Kernel] quantile of a tensor", "quantization"),
        ("[Kernel] SM100ArchSpec", "sm100a"),
        ("[Kernel] sm1000 and sm900", "sm100"),
        ("[Kernel] sm1000 and sm900", "sm90"),
        ("[Kernel] threadblock swizzle", "swizzling"),
        ("[Kernel] tensor memory accelerator", "tmem"),
        ("[Kernel] the Adam optimiser", "sm89"),
        ("[Kernel] Blackwell GeForce tiles", "sm100"),
        ("[Kernel] a Turing-complete language", "sm75"),
        ("[Kernel] 750 rows and 1100 columns", "sm110"),
    ],
)
def test_a_lookalike_gives_no_tag(text: str, tag: str) -> None:
    assert tag not in names(text)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("[Kernel] kIsTMAMulticastOnA", "tma-multicast"),
        ("[Kernel] KernelTmaWarpSpecialized", "tma"),
        ("[Kernel] KernelTmaWarpSpecialized", "warp-specialization"),
        ("[Kernel] sm90_mma_gmma_ss", "wgmma"),
        ("[Kernel] SM100ArchSpec", "sm100"),
        ("[Kernel] build for sm_100a", "sm100a"),
        ("[Kernel] Hopper tiles", "sm90"),
        ("[Kernel] tuned for B300", "sm103"),
        ("[Kernel] GB10 tiles", "sm121"),
        ("[Kernel] fix the sm75 configuration", "sm75"),
        ("[Kernel] tiles for Turing", "sm75"),
        ("[Kernel] shared memory of sm_86", "sm86"),
        ("[Kernel] blockscaled tiles for Thor SM110", "sm110"),
        ("[Kernel] mxfp8 rows", "block-scale"),
        ("[Kernel] nvfp4 rows", "nvfp4"),
        ("[Kernel] W4A8 rows", "fp8"),
        ("[Kernel] ue8m0 format", "block-scale"),
        ("[Kernel] 2CTA tiles", "2sm-cooperative"),
        ("[Kernel] stream-K waves", "tile-scheduling"),
        ("[Kernel] FA3 masks", "flash-attention"),
        ("[Kernel] FMHA masks", "attention"),
    ],
)
def test_a_glued_name_gives_its_tag(text: str, tag: str) -> None:
    assert tag in names(text)


def test_fmha_is_not_flash_attention() -> None:
    assert "flash-attention" not in names("[Kernel] FMHA masks")


@pytest.mark.parametrize(
    ("path", "tag"),
    [
        ("docker/Dockerfile.cu126", "cuda-cpp"),
        ("tests/kernels/test_sm90_gemm.py", "sm90"),
        ("tests/kernels/test_sm90_gemm.py", "gemm"),
        ("docs/blackwell.md", "sm100"),
        ("deep_gemm/jit/template.py", "gemm"),
        ("examples/python/CuTeDSL/hopper/gemm.py", "python"),
    ],
)
def test_a_path_that_only_looks_like_it(path: str, tag: str) -> None:
    assert tag not in names(paths=(path,))


@pytest.mark.parametrize(
    "body",
    [
        "Tested on B200 and H100.",
        "| B200 | 1.2x |",
        "## Test Plan\n\nran everything for sm_100a",
        "<!-- supports sm_100a -->",
        "```\nbuild for sm_100a\n```",
        "- [x] supports sm_100a",
        "see https://example.org/sm_100a",
        "Follow-up of PR #12 for sm_100a",
        "8xH200 node",
    ],
)
def test_a_body_that_only_mentions_a_machine(body: str) -> None:
    tags = classify(Change("o/r", 1, "[Kernel] faster tiles", body)).tags
    assert [tag for tag in tags if tag.facet == "architecture"] == []


def test_a_body_that_names_its_target() -> None:
    tags = classify(Change("o/r", 1, "[Kernel] tiles", "intro\n\nAdds sm_100a tiles.")).tags
    (tag,) = (tag for tag in tags if tag.facet == "architecture")
    assert (tag.name, tag.basis) == ("sm100a", "exact")
    assert tag.evidence is not None
    assert tag.evidence.locator == "body:3"


class TestChangedLines:
    def test_added_lines_count(self) -> None:
        diff = added(*(f"tcgen05_mma({n});" for n in range(4)))
        assert "tcgen05" in names(paths=("csrc/k.cu",), diff=diff)

    def test_context_lines_do_not(self) -> None:
        diff = HEADER + "".join(f" tcgen05_mma({n});\n" for n in range(4)) + "+int a;\n"
        assert "tcgen05" not in names(paths=("csrc/k.cu",), diff=diff)

    def test_moved_lines_do_not(self) -> None:
        moved = [f"tcgen05_mma({n});" for n in range(4)]
        diff = added(*(f"  {line}" for line in moved)) + "".join(f"-{line}\n" for line in moved)
        assert "tcgen05" not in names(paths=("csrc/k.cu",), diff=diff)

    def test_lines_of_tests_do_not(self) -> None:
        diff = added(*(f"tcgen05_mma({n});" for n in range(4))).replace("csrc/", "tests/")
        assert "tcgen05" not in names(paths=("csrc/k.cu",), diff=diff)

    def test_an_argument_passed_on_is_not_pdl(self) -> None:
        diff = added("f(x, enable_pdl, 1);", "g(enable_pdl, 2);", "h(enable_pdl, 3);")
        old = diff.replace("\n+", "\n-").replace("\n-++", "\n+++").replace("1", "4")
        assert "pdl" in names(paths=("csrc/k.cu",), diff=diff)
        assert "pdl" not in names(paths=("csrc/k.cu",), diff=diff + old.partition("@@\n")[2])

    def test_grid_dependency_gives_both_names(self) -> None:
        diff = added("cudaGridDependencySynchronize();")
        assert {"pdl", "gdc"} <= names(paths=("csrc/k.cu",), diff=diff)

    def test_inline_assembly_is_ptx(self) -> None:
        assert "ptx" in names(paths=("csrc/k.cu",), diff=added('asm volatile("nop;");'))

    def test_triton_by_its_decorator(self) -> None:
        assert "triton" in names(paths=("a/k.py",), diff=added("@triton.jit"))


@pytest.mark.parametrize(
    ("title", "tag", "by"),
    [
        ("[Kernel] grouped gemms", "gemm", None),
        ("[Kernel] MLA masks", "attention", "mla"),
        ("[Kernel] gated delta rule", "linear-attention", None),
        ("[Kernel] GDN state", "linear-attention", "gated-delta-net"),
    ],
)
def test_a_kind_implies_the_wider_kind(title: str, tag: str, by: str | None) -> None:
    found = {tag.name: tag for tag in classify(Change("o/r", 1, title)).tags}
    assert tag in found
    assert by is None or (found[tag].basis, found[tag].implied_by) == ("implied", by)


def test_the_title_outranks_a_path_of_another_architecture() -> None:
    tags = names("[SM120] tiles", paths=("include/cutlass/gemm/kernel/sm90_gemm.hpp",))
    assert "sm120" in tags
    assert "sm90" not in tags


def test_the_examples_of_the_patterns_hold() -> None:
    assert doctest.testmod(patterns).failed == 0


@pytest.mark.parametrize(
    ("lines", "tag"),
    [
        (["auto x = torch::kFloat64;", "float64 y;", "float64 z;"], "fp6"),
        ([f"int n{i} = sf_vec_size;" for i in range(30)], "vectorized-loads"),
        (
            [f"for (int cluster = 0; cluster < ThreadMap::Iterations::kCluster; {i})"
             for i in range(20)],
            "cluster",
        ),
        ([f"// a persistent kernel on sm100 {i}" for i in range(9)], "persistent-kernel"),
        ([f"// a persistent kernel on sm100 {i}" for i in range(9)], "sm100"),
        ([f"tensor_scale_vector(scale_vec, {i});" for i in range(9)], "block-scale"),
        ([f"int swizzle_size{i} = swizzle_size;" for i in range(9)], "swizzling"),
    ],
)  # fmt: skip
def test_changed_lines_that_look_alike_give_no_tag(lines: list[str], tag: str) -> None:
    assert tag not in names(paths=("csrc/k.cu",), diff=added(*lines))


@pytest.mark.parametrize(
    ("lines", "tag"),
    [
        ([f"full_barriers[{i}]->wait();" for i in range(9)], "mbarrier"),
        ([f"empty_barriers[{i}]->arrive();" for i in range(9)], "pipeline-stages"),
        ([f"stage_{i} = kNumKVStages - {i};" for i in range(9)], "pipeline-stages"),
        ([f"if (NUM_PRODUCER_THREADS > {i}) load();" for i in range(4)], "warp-specialization"),
        ([f"cute.arch.setmaxregister_decrease({i})" for i in range(3)], "register-budgeting"),
    ],
)
def test_names_of_kernel_code_give_their_technique(lines: list[str], tag: str) -> None:
    assert tag in names(paths=("csrc/k.cu",), diff=added(*lines))


def test_a_long_kernel_in_one_file_is_no_release() -> None:
    filler = [f"int value_{number} = {number};" for number in range(3000)]
    assert "sm100a" in names(
        paths=("csrc/k.cu",), diff=added(*filler, 'flags = "arch=compute_100a";')
    )


def _edit(path: str, lines: int) -> str:
    body = "".join(f"+int value_{number} = {number};\n" for number in range(lines))
    return HEADER.replace("csrc/k.cu", path) + body


@pytest.mark.parametrize(
    ("path", "tag", "few", "many"),
    [
        ("include/attention/persistent.cuh", "persistent-kernel", 5, 80),
        ("deep_gemm/include/deep_gemm/scheduler.cuh", "tile-scheduling", 3, 10),
        ("flashinfer/jit/core.py", "jit-compilation", 4, 40),
        ("examples/70/70_multistage_gemm.cu", "pipeline-stages", 2, 90),
    ],
)
def test_a_few_lines_in_a_file_named_after_a_technique_are_another_topic(
    path: str, tag: str, few: int, many: int
) -> None:
    assert tag not in names(paths=(path,), diff=_edit(path, few))
    assert tag in names(paths=(path,), diff=_edit(path, many))
    assert tag in names(paths=(path,)), "without a diff the name of the file is all there is"


@pytest.mark.parametrize(("filler", "is_said"), [(0, True), (4000, False)])
def test_a_long_new_kernel_must_mention_a_technique_more_often(filler: int, is_said: bool) -> None:
    lines = [f"warpgroup_reg_alloc<{number}>();" for number in range(4)]
    lines += [f"int value_{number} = {number};" for number in range(filler)]
    found = names(paths=("csrc/k.cu",), diff=added(*lines))
    assert ("register-budgeting" in found) is is_said


def test_a_swizzled_layout_inside_a_kernel_is_not_its_topic() -> None:
    lines = [f"auto layout_{number} = Swizzle<3, 4, {number}>{{}};" for number in range(9)]
    assert "swizzling" not in names(paths=("csrc/k.cu",), diff=added(*lines))
    assert "swizzling" in names("[Kernel] Swizzle shared memory", paths=("csrc/k.cu",))


def test_an_argument_of_a_decorator_is_code() -> None:
    diff = added("@supported_compute_capability([120, 121])").replace("@@\n", "@@\n-@x([120])\n")
    change = Change("o/r", 1, "Support SM121 in the FP4 GEMM", paths=("csrc/k.cu",), diff=diff)
    assert classify(change).decision == "include"


@pytest.mark.parametrize(
    ("title", "paths"),
    [
        ("Add minimum capability requirement for AWQ", ("csrc/awq/gemm_kernels.cu",)),
        ("Make seq_lens_cpu optional in the attention kernel", ("csrc/attention/page.cu",)),
    ],
)
def test_a_word_of_packaging_or_hosts_that_means_something_else(
    title: str, paths: tuple[str, ...]
) -> None:
    assert classify(Change("o/r", 1, title, paths=paths)).decision == "include"


def test_a_merge_is_read_by_the_title_in_its_body() -> None:
    merge = Change("o/r", 1, "Merge pull request #1 from jane/x", "\nFix typos", ("csrc/k.cu",))
    verdict = classify(merge)
    assert (verdict.decision, verdict.reason) == ("exclude", "wording only")
    assert verdict.evidence is not None
    assert verdict.evidence.locator == "body:2"
