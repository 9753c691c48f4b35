"""Questions and answers about this machine, for whoever wonders why `kwdb bench` will not run."""

from collections.abc import Iterator
from typing import Any

from benchmarks.compile import (
    ARCH_OF_CAPABILITY,
    compile_kernel,
    compiler_versions,
    find_disassembler,
    require_compiler,
)
from benchmarks.probe import device_names, device_state, gpu_status
from benchmarks.source import load_kernels
from kwdb.errors import ConfigError

Answer = tuple[str, str, str]
"""Question, verdict (ok, warn or fail), detail."""


def examine() -> Iterator[Answer]:
    """Yield answers from the plainest to the deepest; stops where the next would make no sense."""
    try:
        require_compiler()
        versions = compiler_versions()
    except ConfigError as exc:
        yield "compiler", "fail", str(exc)
        return
    yield "compiler", "ok", f"NVRTC {versions['nvrtc']}, cuda-core {versions['cuda_core']}"
    yield "headers", "ok", str(versions["headers"])
    disassembler = find_disassembler()
    yield (
        "disassembler",
        "ok" if disassembler else "warn",
        str(disassembler or "no nvdisasm: instructions are not checked"),
    )
    yield from _compiles()
    status = gpu_status()
    if status != "ok":
        yield "device", "warn", f"{status}: kernels can be compiled, not measured"
        return
    for index, (name, capability) in enumerate(device_names()):
        yield from _device(index, name, capability, versions)


def _compiles() -> Iterator[Answer]:
    for kernel in load_kernels():
        arch = kernel.archs[-1]
        found = compile_kernel(kernel, arch)
        is_good = found.status == "compiled"
        detail = f"{arch}, {found.registers} registers, {found.spill_bytes} bytes spilt"
        yield f"compiles {kernel.name}", "ok" if is_good else "fail", detail


def _device(
    index: int, name: str, capability: str, versions: dict[str, str | None]
) -> Iterator[Answer]:
    arch = ARCH_OF_CAPABILITY.get(capability)
    verdict = "ok" if arch else "warn"
    yield f"device {index}", verdict, f"{name}, {arch or 'no kernel is written for it'}"
    state = device_state(index)
    clock = state["sm_clock_mhz"]
    if clock is None:
        yield "clocks", "warn", "NVML does not say; figures carry no clock"
    else:
        detail = (
            f"SM {clock} of {state['max_sm_clock_mhz']} MHz, not locked; to lock them, as root:"
        )
        yield "clocks", "ok", f"{detail} nvidia-smi -lgc {state['max_sm_clock_mhz']}"
    yield _launches(index, versions)


def _launches(index: int, versions: dict[str, str | None]) -> Answer:
    from benchmarks.runner import run_child

    found: list[dict[str, Any]] = list(run_child({"device": index, "versions": versions}, 60))
    is_good = bool(found) and "gpu_name" in found[0]
    detail = "a child process can use it" if is_good else str(found[0].get("message"))
    return f"context on device {index}", "ok" if is_good else "fail", detail
