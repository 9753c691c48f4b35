"""On a GPU: our kernels are right, and every fraud is found out there as well.

Skipped, with a count, where there is none. On a machine that has one: pytest -m gpu
"""

import base64
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compile import ARCH_OF_CAPABILITY, compile_kernel, compiler_versions
from benchmarks.probe import device_names, gpu_status
from benchmarks.runner import run_child
from benchmarks.source import KernelSource, load_kernels, load_roof, read_kernel

FRAUDS = sorted((Path(__file__).parent / "frauds").glob("*.cu"))
SMALL = {"M": 512, "K": 1536, "L": 2}
TIMED = {"M": 7168, "K": 2048, "L": 4}

needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_status() != "ok", reason="no GPU that can be measured on"),
]


def run(kernel: KernelSource, shape: dict[str, int], recipe: str, *, timed: bool) -> dict[str, Any]:
    arch = ARCH_OF_CAPABILITY[device_names()[0][1]]
    code, roof = compile_kernel(kernel, arch), load_roof()
    if not code.cubin:
        return {"status": code.status}
    job = {
        "device": 0, "problem": kernel.problem, "kernel": kernel.name, "source": kernel.text,
        "cubin": base64.b64encode(code.cubin).decode(), "roof_source": roof.text,
        "roof_cubin": base64.b64encode(compile_kernel(roof, arch).cubin).decode(),
        "versions": compiler_versions(),
        "workloads": [{"shape": shape, "recipe": recipe, "is_timed": timed}],
    }  # fmt: skip
    (result,) = run_child(job, 120)
    return result


def test_there_is_a_fraud_for_every_way_to_cheat() -> None:
    assert {file.stem for file in FRAUDS} == {
        "constant_output", "l2_persistence", "modified_inputs", "other_stream", "out_of_bounds",
        "pointer_cache", "reduced_precision", "stale_output", "super_batch", "unwritten",
    }  # fmt: skip


@pytest.mark.parametrize("file", FRAUDS, ids=[file.stem for file in FRAUDS])
def test_frauds_are_kernels_that_compile_like_any_other(file: Path) -> None:
    """But for work on a stream of its own: device-side launches need a library that is not linked."""
    status = compile_kernel(read_kernel(file), "sm_90a").status
    assert status == ("compile_error" if file.stem == "other_stream" else "compiled")


class TestOnTheDevice:
    pytestmark = needs_gpu

    @pytest.mark.parametrize("recipe", ["contest", "wide"])
    @pytest.mark.parametrize("name", [kernel.name for kernel in load_kernels()])
    def test_our_kernels_are_right(self, name: str, recipe: str) -> None:
        (kernel,) = (one for one in load_kernels() if one.name == name)
        if ARCH_OF_CAPABILITY[device_names()[0][1]] not in kernel.archs:
            pytest.skip("not written for this GPU")
        assert run(kernel, SMALL, recipe, timed=False)["status"] == "passed"

    @pytest.mark.parametrize(
        "file", [f for f in FRAUDS if f.stem not in ("other_stream", "l2_persistence")],
        ids=lambda file: file.stem,
    )  # fmt: skip
    def test_each_fraud_is_found_out(self, file: Path) -> None:
        assert run(read_kernel(file), SMALL, "wide", timed=False)["status"] == file.stem

    def test_lines_kept_in_l2_win_nothing(self) -> None:
        """The set-aside of L2 is zero and sets rotate, so that a hint to stay has nothing to keep."""
        fraud = run(read_kernel(FRAUDS[1]), TIMED, "wide", timed=True)
        assert FRAUDS[1].stem == "l2_persistence"
        if fraud["status"] != "l2_persistence":
            (honest,) = (one for one in load_kernels() if one.name == "nvfp4_gemv_portable")
            plain = run(honest, TIMED, "wide", timed=True)["samples"][0]["median_us"]
            assert fraud["samples"][0]["median_us"] > 0.97 * plain

    def test_a_timed_case_passes_every_gate(self) -> None:
        (kernel,) = (one for one in load_kernels() if one.name == "nvfp4_gemv_portable")
        found = run(kernel, TIMED, "wide", timed=True)
        assert (found["status"], found["message"]) == ("passed", "")
        assert {one["method"] for one in found["samples"]} == {"amortized_graph", "single_launch"}
