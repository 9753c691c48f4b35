"""From kernels to a bundle of results: compile here, measure in child processes, lose nothing.

A bundle is one JSON document: environment, run, artifacts and cases, each stage's outcome in it
even where it failed. It is what is stored, exported and imported.
"""

import base64
import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.compile import Compiled, compile_kernel, compiler_versions
from benchmarks.problem import Problem, Shape, show_shape
from benchmarks.source import KernelSource, load_roof
from kwdb import __version__
from kwdb.errors import UserError

BUNDLE_FORMAT: Final = 1
TIMEOUT_S: Final = 300
"""Per child; a kernel that hangs ends here."""

Job = dict[str, Any]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: kernels, and for each problem the timed and the merely verified shapes."""

    kernels: Sequence[KernelSource]
    problem: Problem
    timed: Sequence[Shape]
    verified: Sequence[Shape] = ()
    recipes: Sequence[str] = ("contest", "wide")

    def jobs(self) -> Iterator[tuple[KernelSource, list[dict[str, Any]]]]:
        """Yield kernel and workloads of each child: one per timed case, one for all others."""
        for kernel in self.kernels:
            for shape in self.timed:
                for recipe in self.recipes:
                    yield kernel, [{"shape": shape, "recipe": recipe, "is_timed": True}]
            others = [
                {"shape": shape, "recipe": recipe, "is_timed": False}
                for shape in self.verified
                for recipe in self.recipes
            ]
            if others:
                yield kernel, others


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_plan(
    plan: Plan, device: int, arch: str, arguments: str, say: Progress = lambda _: None
) -> dict[str, Any]:
    """Compile, verify and time; returns the bundle.

    Raises:
        UserError: the device cannot even be described.
    """
    versions = compiler_versions()
    started = _now()
    with one_at_a_time(device):
        found = list(run_child({"device": device, "versions": versions}))
        if len(found) != 1 or "gpu_name" not in found[0]:
            raise UserError(f"the device cannot be used: {found[0].get('message', 'no answer')}")
        _check_driver(found[0])
        roof = load_roof()
        roof_code = compile_kernel(roof, arch)
        base = {
            "device": device,
            "problem": plan.problem.name,
            "roof_source": roof.text,
            "roof_cubin": base64.b64encode(roof_code.cubin).decode(),
        }
        codes = {kernel.name: compile_kernel(kernel, arch) for kernel in plan.kernels}
        cases = [
            case
            for kernel, workloads in plan.jobs()
            for case in _measure(kernel, codes[kernel.name], workloads, base, say)
        ]
    cases = withdraw_unproven(cases)
    status = "done" if any(case.get("samples") for case in cases) else "failed"
    return {
        "format": BUNDLE_FORMAT,
        "environment": found[0],
        "run": {
            "run_key": str(uuid.uuid4()), "started_at": started, "finished_at": _now(),
            "arguments": arguments, "status": status, "kwdb_version": __version__,
        },
        "artifacts": [code.as_json() for code in codes.values()],
        "cases": cases,
    }  # fmt: skip


def _check_driver(environment: Mapping[str, Any]) -> None:
    """Refuse machine code of a newer CUDA than the driver's; there is no other way to load it."""
    driver, compiler = environment["cuda_driver_version"], environment["nvrtc_version"]
    if int(driver.split(".")[0]) < int(compiler.split(".")[0]):
        raise UserError(
            f"the driver is for CUDA {driver}, the compiler is NVRTC {compiler}: install a newer "
            f"driver or, with pip, cuda-toolkit[cudart,nvrtc]=={driver}.*"
        )


def withdraw_unproven(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take `passed` from timed cases of a kernel that a check has found wrong anywhere.

    Inputs differ in what they can show: with the contest's small whole numbers, eight bits of
    precision are enough. Cases keep their samples and name the case that speaks against them.
    """
    wrong: dict[str, str] = {}
    for case in cases:
        checks = case.get("checks") or []
        if checks and checks[-1]["status"] != "passed":
            wrong.setdefault(case["kernel"], f"{checks[-1]['status']} with {_name([case])}")
    return [
        case | {"status": "unproven", "message": f"the kernel is {wrong[case['kernel']]}"}
        if case["status"] == "passed" and case["kernel"] in wrong
        else case
        for case in cases
    ]


def _measure(
    kernel: KernelSource, code: Compiled, workloads: list[dict[str, Any]], base: Job, say: Progress
) -> list[dict[str, Any]]:
    """Return one case per workload, whatever becomes of the child."""
    head = {"problem": base["problem"], "kernel": kernel.name}
    say(f"{kernel.name}  {_name(workloads)}")
    if not code.cubin:
        return [head | work | {"status": code.status, "message": code.log} for work in workloads]
    job = base | {
        "kernel": kernel.name,
        "source": kernel.text,
        "cubin": base64.b64encode(code.cubin).decode(),
        "workloads": workloads,
    }
    results = list(run_child(job))
    return [head | result for result in results]


def _name(workloads: list[dict[str, Any]]) -> str:
    if len(workloads) > 1:
        return f"{len(workloads)} test cases"
    return f"{show_shape(workloads[0]['shape'])} {workloads[0]['recipe']}"


def run_child(job: Job, timeout_s: float = TIMEOUT_S) -> Iterator[dict[str, Any]]:
    """Run one child and yield its results; missing ones as `timeout` or `crashed`."""
    command = [sys.executable, "-m", "benchmarks.worker"]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = child.communicate(json.dumps(job), timeout=timeout_s)
        why = ("crashed", f"exit code {child.returncode}: {_last_line(err)}")
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        why = ("timeout", f"no result within {timeout_s:g} s")
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    yield from lines
    for work in job.get("workloads", [{}])[len(lines) :]:
        yield work | {"status": why[0], "message": why[1]}


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing on stderr"


@contextlib.contextmanager
def one_at_a_time(device: int) -> Iterator[None]:
    """Hold the lock of a device, so that two measurements never share it.

    Raises:
        UserError: another one is running.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all").replace("/", "_")
    path = Path(tempfile.gettempdir()) / f"kwdb-bench-{os.getuid()}-{visible}-{device}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise UserError(f"another measurement runs on device {device}: wait for it") from exc
        yield


def read_bundle(path: Path) -> dict[str, Any]:
    """Read a bundle.

    Raises:
        UserError: it cannot be read or is no bundle of a known format.
    """
    try:
        bundle = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise UserError(f"cannot read the bundle {path}: {exc}") from exc
    parts = {"environment": dict, "run": dict, "artifacts": list, "cases": list}
    if not isinstance(bundle, dict) or bundle.get("format") != BUNDLE_FORMAT:
        raise UserError(f"{path} is no bundle of format {BUNDLE_FORMAT}: make one with --export")
    for name, kind in parts.items():
        if not isinstance(bundle.get(name), kind):
            raise UserError(f"{path} has no {name}: make a new bundle with --export")
    return bundle
