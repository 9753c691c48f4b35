"""The child process of a measurement: one kernel, some workloads, one device.

Reads one JSON job from stdin and writes one JSON line per workload to stdout. A kernel that hangs
or faults takes this process with it and nothing else; the parent knows which workloads are missing.

    job = {"device", "problem", "kernel", "source", "cubin" (base64), "roof_source", "roof_cubin",
           "versions", "workloads": [{"shape", "recipe", "is_timed"}]}

Without `kernel` the job is a probe: one line with the environment.
"""

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import GpuCase
from benchmarks.figures import Timing, is_cold, judge_timing, sets_to_rotate, speed_of_light
from benchmarks.gpu import DeviceError, Gpu
from benchmarks.probe import device_state, environment
from benchmarks.problem import Problem, find_problem
from benchmarks.source import parse_kernel
from benchmarks.timing import Flush, Roof, Timed, time_graph, time_retained, time_single
from benchmarks.verify import SEEDS, check_replayed, verify


@dataclass(frozen=True, slots=True)
class Measured:
    """The plain read and the bandwidth it reached in this process, in GB/s."""

    kernel: Roof
    gb_s: float


def _measured(gpu: Gpu, job: dict[str, Any]) -> Measured:
    source = parse_kernel(job["roof_source"], "read_roof", "read_roof.cu")
    kernel = Roof(gpu, source, base64.b64decode(job["roof_cubin"]))
    return Measured(kernel, kernel.measure())


def _case(
    gpu: Gpu, job: dict[str, Any], work: dict[str, Any], roof: Measured | None
) -> dict[str, Any]:
    problem = find_problem(job["problem"])
    kernel = parse_kernel(job["source"], job["kernel"], job["kernel"], problem.name)
    shape, recipe = work["shape"], work["recipe"]
    unmet = kernel.unmet(shape)
    if unmet:
        return {"status": "unsupported", "message": f"the kernel requires {unmet}"}
    case = GpuCase(gpu, kernel, base64.b64decode(job["cubin"]), problem, shape)
    inputs = problem.module.make_inputs(shape, recipe, SEEDS[0])
    set_bytes = sum(array.nbytes for array in inputs.arrays)
    case.add_sets(2, inputs)
    checks = verify(case, problem, shape, recipe)
    found: dict[str, Any] = {
        "status": checks[-1].status,
        "message": checks[-1].message,
        "checks": [check.as_json() for check in checks],
    }
    if roof and found["status"] == "passed":
        sets = sets_to_rotate(set_bytes, gpu.l2_bytes, gpu.free_bytes())
        case.add_sets(sets, inputs)
        found |= _timed(gpu, case, problem, inputs, (recipe, set_bytes, roof), job["device"])
    case.close()
    return found


def _timed(
    gpu: Gpu,
    case: GpuCase,
    problem: Problem,
    inputs: Any,
    how: tuple[str, int, Measured],
    device: int,
) -> dict[str, Any]:
    recipe, set_bytes, roof = how
    right = problem.module.reference(inputs)
    expected = []
    for index in range(case.sets):
        turned, known = problem.module.rotated(inputs, right, index)
        case.write_inputs(index, turned)
        expected.append(known)
    replays = time_graph(gpu, case)
    state = device_state(device)
    flush = Flush(gpu, roof.kernel)
    single = time_single(gpu, case, flush)
    retained, flushed = time_retained(gpu, case, flush)
    gpu.release(flush.address)
    moved = problem.module.bytes_moved(case.shape)
    least = speed_of_light(moved, problem.module.operations(case.shape), roof.gb_s)
    timing = Timing(
        replays.timed.summary.median_us, single.summary.median_us,
        is_cold(case.sets, set_bytes, gpu.l2_bytes), replays.event_us, replays.wall_us,
        retained, flushed, state["sm_clock_mhz"], state["max_sm_clock_mhz"], state["throttle"],
    )  # fmt: skip
    status, message = judge_timing(timing, moved, roof.gb_s)
    wrong = _replay_once(gpu, case, replays.graph, expected, recipe)
    if wrong is not None:
        status, message = wrong
    return {
        "status": status, "message": message, "roof_gb_s": roof.gb_s,
        "sol_us": least.us, "sol_basis": least.basis, "sets": case.sets, "state": state,
        "samples": [_as_json(replays.timed), _as_json(single)],
    }  # fmt: skip


def _replay_once(
    gpu: Gpu, case: GpuCase, graph: Any, expected: list[Any], recipe: str
) -> tuple[str, str] | None:
    for index in range(case.sets):
        case.poison(index)
    gpu.wait()
    gpu.replay(graph)
    gpu.wait()
    outputs = (case.output(index) for index in range(case.sets))
    check = check_replayed(outputs, expected, (recipe, SEEDS[0]))
    return (check.status, check.message) if check else None


def _as_json(timed: Timed) -> dict[str, Any]:
    values = [round(value, 4) for value in timed.samples]
    head = {"method": timed.method, "cache_state": timed.cache_state, "samples": values}
    return head | timed.summary.as_json()


def run_job(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the result of each workload, or the environment."""
    gpu = Gpu(job["device"])
    if "kernel" not in job:
        yield environment(gpu, job["device"], job["versions"])
        return
    roof = _measured(gpu, job) if any(work["is_timed"] for work in job["workloads"]) else None
    for work in job["workloads"]:
        try:
            yield work | _case(gpu, job, work, roof if work["is_timed"] else None)
        except DeviceError as exc:
            # The context is lost: whatever comes after would fail for this workload's sake.
            yield work | {"status": "device_fault", "message": f"the driver reports {exc}"}
            return


def main() -> None:
    """Answer the job on stdin."""
    np.seterr(all="ignore")
    for result in run_job(json.load(sys.stdin)):
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
