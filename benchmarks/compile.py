"""CUDA source to machine code with NVRTC; needs neither a GPU nor a driver.

The runtime headers come from the wheel that fits the compiler (`nvidia-cuda-runtime`), never from
a toolkit that happens to be installed: headers and compiler of different versions mix silently.
Where that wheel is missing, those inside the compiler's own wheel are unpacked.
"""

import hashlib
import re
import subprocess
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, Final

from benchmarks.source import KernelSource
from kwdb.errors import ConfigError, UnknownValueError

ARCHS: Final = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
"""Compiler targets that kernels are written for, oldest first."""

ARCH_OF_CAPABILITY: Final = {
    "8.0": "sm_80", "8.6": "sm_86", "8.9": "sm_89", "9.0": "sm_90a",
    "10.0": "sm_100a", "10.3": "sm_103a", "12.0": "sm_120a",
}  # fmt: skip
"""Compute capability -> compiler target."""

INSTALL: Final = 'install it with: pip install "kwdb[bench]"'
_USED: Final = re.compile(r"Used (\d+) registers")
_SPILLS: Final = re.compile(r"(\d+) bytes spill (?:stores|loads)")
_SHARED: Final = re.compile(r"(\d+) bytes smem")
_INSTRUCTION: Final = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.M)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel for one architecture; `status` is compiled, compile_error or over_budget.

    `spill_bytes` counts stores and loads; `sass_checks` has, for each wanted instruction, how
    often it occurs, and None where the disassembler is not installed.
    """

    problem: str
    kernel: str
    arch: str
    status: str
    entry: str
    source_sha256: str
    options: str
    cubin: bytes = b""
    cubin_sha256: str | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_memory_bytes: int | None = None
    sass_checks: dict[str, int | None] | None = None
    log: str = ""

    def as_json(self, file: str | None = None) -> dict[str, Any]:
        """Everything but the machine code, and the `file` it was written to."""
        fields = asdict(self) | {"cubin": file}
        return fields


def check_arch(arch: str) -> str:
    """Return `arch`.

    Raises:
        UnknownValueError: no kernel is written for it.
    """
    if arch not in ARCHS:
        raise UnknownValueError("architecture", arch, ARCHS)
    return arch


def compiler_versions() -> dict[str, str | None]:
    """Return versions of NVRTC and of the packages that call it, and where the headers come from.

    Raises:
        ConfigError: the compiler is not installed.
    """
    import cuda.bindings
    import cuda.core
    from cuda.pathfinder import DynamicLibNotFoundError

    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except (DynamicLibNotFoundError, RuntimeError) as exc:
        raise ConfigError(f"the compiler NVRTC is missing: {INSTALL}") from exc
    return {
        "nvrtc": f"{major}.{minor}",
        "cuda_bindings": cuda.bindings.__version__,
        "cuda_core": cuda.core.__version__,
        "headers": str(_header_folder() or "bundled with NVRTC"),
    }


def _header_folder() -> Path | None:
    """Return the folder of cuda_fp4.h in the installed wheels, or None."""
    from cuda.pathfinder import locate_nvidia_header_directory

    found = locate_nvidia_header_directory("cudart")
    if found is None or found.found_via != "site-packages" or found.abs_path is None:
        return None
    folder = Path(found.abs_path)
    return folder if (folder / "cuda_fp4.h").is_file() else None


def require_compiler() -> None:
    """Check that the packages are there before anything is started.

    Raises:
        ConfigError: they are not.
    """
    try:
        import cuda.bindings
        import cuda.core  # noqa: F401 - only whether it is there
    except ImportError as exc:
        raise ConfigError(f"kernels are compiled with cuda-python: {INSTALL}") from exc


def compile_kernel(kernel: KernelSource, arch: str) -> Compiled:
    """Compile `kernel` for `arch`; what the compiler says against it is in the result.

    Raises:
        ConfigError: there is no compiler.
    """
    from cuda.core import Program, ProgramOptions

    require_compiler()
    folder = _header_folder()
    ours = str(files("benchmarks") / "kernels" / "include")
    headers: dict[str, Any] = (
        {"include_path": [ours, str(folder)]}
        if folder
        else {"include_path": [ours], "use_bundled_headers": True}
    )
    log = StringIO()
    result = Compiled(
        kernel.problem, kernel.name, arch, "compile_error", kernel.entry, kernel.sha256,
        f"-std=c++17 -arch={arch}",
    )  # fmt: skip
    try:
        options = ProgramOptions(
            name=f"{kernel.name}.cu",
            arch=arch,
            std="c++17",
            ptxas_options=["-v"],
            no_cache=True,
            **headers,
        )
        code = Program(kernel.text, "c++", options).compile("cubin", logs=log).code
    except Exception as exc:  # noqa: BLE001 - cuda.core raises classes of its own, by version
        return replace(result, log=_clean(f"{log.getvalue()}\n{exc}"))
    return _finished(kernel, replace(result, cubin=bytes(code), log=_clean(log.getvalue())))


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()


def _finished(kernel: KernelSource, result: Compiled) -> Compiled:
    used, shared = _USED.search(result.log), _SHARED.search(result.log)
    registers = int(used[1]) if used else None
    spills = sum(map(int, _SPILLS.findall(result.log))) if used else None
    is_over = bool(spills) or (registers or 0) > kernel.registers
    return replace(
        result,
        status="over_budget" if is_over else "compiled",
        cubin_sha256=hashlib.sha256(result.cubin).hexdigest(),
        registers=registers,
        spill_bytes=spills,
        shared_memory_bytes=int(shared[1]) if shared else 0,
        sass_checks=_check_sass(kernel, result),
    )


def _check_sass(kernel: KernelSource, result: Compiled) -> dict[str, int | None]:
    """Count wanted instructions; `sm_100a:NAME` is wanted on that architecture alone."""
    wanted = [
        name.partition(":")[2] or name
        for name in kernel.sass
        if ":" not in name or name.startswith(f"{result.arch}:")
    ]
    found = instructions(result.cubin) if wanted else []
    if found is None:
        return dict.fromkeys(wanted)
    return {name: sum(name in one for one in found) for name in wanted}


def instructions(cubin: bytes) -> list[str] | None:
    """Return the instructions of machine code in order; None where nvdisasm is not installed."""
    import tempfile

    program = find_disassembler()
    if program is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(program), "-c", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _INSTRUCTION.findall(done.stdout) if done.returncode == 0 else None


def find_disassembler() -> Path | None:
    """Return nvdisasm of the wheel, or of a toolkit on the PATH, or None."""
    import shutil

    import nvidia

    for base in nvidia.__path__:
        for program in Path(base).glob("*/bin/nvdisasm"):
            return program
    found = shutil.which("nvdisasm")
    return Path(found) if found else None
