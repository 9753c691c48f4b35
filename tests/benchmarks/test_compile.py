import pytest

from benchmarks.compile import ARCHS, check_arch, compile_kernel, compiler_versions, instructions
from benchmarks.source import KernelSource, load_kernels, load_roof, parse_kernel
from kwdb.errors import UnknownValueError

KERNELS = [*load_kernels(), load_roof()]
PAIRS = [
    pytest.param(kernel, arch, id=f"{kernel.name}-{arch}")
    for kernel in KERNELS
    for arch in kernel.archs
]


@pytest.mark.parametrize(("kernel", "arch"), PAIRS)
def test_kernels_compile_without_spills_and_with_their_instructions(
    kernel: KernelSource, arch: str
) -> None:
    found = compile_kernel(kernel, arch)
    assert (found.status, found.spill_bytes) == ("compiled", 0), found.log
    assert found.registers is not None
    assert 0 < found.registers <= kernel.registers
    assert found.cubin[:4] == b"\x7fELF"
    assert found.sass_checks is not None
    assert all(found.sass_checks.values()), found.sass_checks


def test_every_architecture_has_a_kernel() -> None:
    assert {arch for kernel in KERNELS for arch in kernel.archs} == set(ARCHS)


def test_machine_code_is_the_same_each_time() -> None:
    kernel = load_roof()
    first, second = (compile_kernel(kernel, "sm_90a") for _ in range(2))
    assert first.cubin_sha256 == second.cubin_sha256


def test_only_blackwell_has_the_conversion_of_e2m1() -> None:
    (kernel,) = (one for one in KERNELS if one.name == "nvfp4_gemv_sm100a")
    assert "F2FP.F16.E2M1.UNPACK_B" in (instructions(compile_kernel(kernel, "sm_100a").cubin) or [])
    hopper = instructions(compile_kernel(kernel, "sm_90a").cubin) or []
    assert hopper
    assert not any("E2M1" in one for one in hopper)


def _kernel(body: str, registers: int = 255) -> KernelSource:
    head = (
        "// kwdb: problem x\n// kwdb: entry k\n// kwdb: arch sm_90a\n// kwdb: block 1\n"
        f"// kwdb: grid 1\n// kwdb: registers {registers}\n"
    )
    return parse_kernel(head + body, "k", "k.cu")


def test_what_the_compiler_says_is_kept() -> None:
    found = compile_kernel(_kernel('extern "C" __global__ void k() { nonsense }'), "sm_90a")
    assert found.status == "compile_error"
    assert 'identifier "nonsense" is undefined' in found.log
    assert not found.cubin
    assert found.cubin_sha256 is None


def test_a_kernel_over_its_budget_is_no_compiled_one() -> None:
    body = """extern "C" __global__ void k(float* p) {
      float x[64];
      for (int i = 0; i < 64; i++) x[i] = p[i * 32 + threadIdx.x];
      for (int i = 0; i < 64; i++) p[i] = x[63 - i] * x[i];
    }"""
    assert compile_kernel(_kernel(body), "sm_90a").status == "compiled"
    assert compile_kernel(_kernel(body, registers=16), "sm_90a").status == "over_budget"


def test_versions_and_headers_are_named() -> None:
    versions = compiler_versions()
    assert versions["nvrtc"]
    assert "include" in (versions["headers"] or "")


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(UnknownValueError, match="sm_90a"):
        check_arch("sm_90")
