"""Proof that a kernel computes its problem, and that it does the work each time it is called.

`Executor` is what a kernel looks like from here: numbered input sets at fixed addresses, one
output each. On a GPU `benchmarks.case.GpuCase` is one. Every run is preceded by poison in the
output and followed by looks at the result, at the guards around it and at the inputs.

Frauds and where they show, each with a status of its own (cases: gpumode.com/news on the grouped
GEMM of March 2026, KernelBench PR 82, reference-kernels issues 142 and 162, llm.c PR 851):

    stale_output       nothing was written          pointer_cache      the previous inputs' result
    unwritten          parts were not written       constant_output    one value everywhere
    out_of_bounds      a guard was overwritten      not_finite         NaN or infinity
    modified_inputs    an operand was changed       reduced_precision  near, but not near enough
    super_batch        a call wrote other outputs   incorrect          anything else that is wrong
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.problem import Problem, Shape

SEEDS: Final = (11, 23, 47)
NEAR: Final = 0.05
"""Errors below this share of the largest result are a loss of precision, not another function."""


@dataclass(frozen=True, slots=True)
class Output:
    """What lies in an output: values, which elements are still poison, whether guards are whole."""

    values: npt.NDArray[Any]
    is_poison: npt.NDArray[np.bool_]
    guards_intact: bool


class Executor(Protocol):
    """A kernel on a shape, with `sets` input sets."""

    sets: int

    def write_inputs(self, index: int, inputs: Any) -> None:
        """Put operands into set `index`, at the addresses it always has."""

    def inputs_intact(self, index: int) -> bool:
        """Whether the operands of set `index` are still those that were written."""

    def poison(self, index: int) -> None:
        """Fill output and guards of set `index` with poison."""

    def run(self, index: int) -> None:
        """Call the kernel once on set `index` and wait for the whole device."""

    def output(self, index: int) -> Output:
        """Return what lies in the output of set `index`."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison with the reference; errors are NaN-free, None where nothing was comparable."""

    recipe: str
    seed: int
    status: str
    message: str
    max_abs: float | None = None
    max_rel: float | None = None
    matched_ratio: float | None = None
    rtol: float | None = None
    atol: float | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def verify(
    executor: Executor,
    problem: Problem,
    shape: Shape,
    recipe: str,
    seeds: Sequence[int] = SEEDS,
) -> list[Check]:
    """Check one kernel on one shape with one input recipe; stops at the first failure.

    The same addresses get new contents for each seed, so that a result kept from an earlier call
    is found out. With more than one set, the last check calls the second set alone.
    """
    checks: list[Check] = []
    previous = None
    for seed in seeds:
        inputs = problem.module.make_inputs(shape, recipe, seed)
        expected = problem.module.reference(inputs)
        check = _one(executor, 0, inputs, expected, previous, (recipe, seed))
        checks.append(check)
        if check.status != "passed":
            return checks
        previous = expected
    if executor.sets > 1:
        checks[-1] = _alone(executor, inputs, checks[-1])
    return checks


def _one(
    executor: Executor, index: int, inputs: Any, expected: Any, previous: Any, name: tuple[str, int]
) -> Check:
    executor.write_inputs(index, inputs)
    executor.poison(index)
    executor.run(index)
    return compare(
        executor.output(index), expected, name, previous, intact=executor.inputs_intact(index)
    )


def _alone(executor: Executor, inputs: Any, passed: Check) -> Check:
    """Call set 1 with all outputs poisoned: no other output may change."""
    others = [index for index in range(min(executor.sets, 4)) if index != 1]
    for index in (1, *others):
        executor.write_inputs(index, inputs)
        executor.poison(index)
    executor.run(1)
    written = [index for index in others if not executor.output(index).is_poison.all()]
    if not written:
        return passed
    message = f"one call on input set 1 wrote the outputs of sets {written}"
    return Check(passed.recipe, passed.seed, "super_batch", message)


def compare(
    output: Output, expected: Any, name: tuple[str, int], previous: Any = None, *, intact: bool
) -> Check:
    """Judge an output; the order of the tests is from the plainest cause to the vaguest."""
    status, message = _plain_causes(output, intact)
    if status == "passed":
        status, message = _numbers(output.values, expected, previous)
    return Check(*name, status, message, *_errors(output, expected), expected.rtol, expected.atol)


def _plain_causes(output: Output, intact: bool) -> tuple[str, str]:
    poisoned = int(output.is_poison.sum())
    causes = (
        ("modified_inputs", not intact, "a read-only operand was changed"),
        ("out_of_bounds", not output.guards_intact, "memory beside the output was written"),
        ("stale_output", poisoned == output.values.size, "the output was not written at all"),
        ("unwritten", poisoned > 0, f"{poisoned} of {output.values.size} elements not written"),
        ("not_finite", not np.isfinite(output.values).all(), "the output has NaN or infinity"),
    )
    found = ((status, message) for status, is_found, message in causes if is_found)
    return next(found, ("passed", ""))


def _numbers(got: npt.NDArray[Any], expected: Any, previous: Any) -> tuple[str, str]:
    x = got.astype(np.float64)
    error = np.abs(x - expected.values)
    wrong = error > expected.tolerance
    if not wrong.any():
        return "passed", ""
    worst = np.unravel_index(np.argmax(error - expected.tolerance), error.shape)
    where = tuple(map(int, worst))
    message = (
        f"{int(wrong.sum())} of {wrong.size} elements are wrong; at {where} "
        f"{x[worst]:.6g} for {expected.values[worst]:.6g}, allowed {expected.tolerance[worst]:.2g}"
    )
    if previous is not None and (np.abs(x - previous.values) <= previous.tolerance).all():
        return "pointer_cache", "the result is that of the previous inputs at the same addresses"
    if x.size > 1 and np.ptp(x) == 0 and np.ptp(expected.values) > 0:
        return "constant_output", message
    if error.max() <= NEAR * np.abs(expected.values).max():
        return "reduced_precision", message
    return "incorrect", message


def _errors(output: Output, expected: Any) -> tuple[float | None, float | None, float | None]:
    x = output.values.astype(np.float64)
    if not np.isfinite(x).all():
        return None, None, None
    error = np.abs(x - expected.values)
    size = np.abs(expected.values)
    relative = error[size > 0] / size[size > 0]
    matched = float((error <= expected.tolerance).mean())
    return float(error.max()), float(relative.max(initial=0.0)), matched


def check_replayed(
    outputs: Iterable[Output], expected: Sequence[Any], name: tuple[str, int]
) -> Check | None:
    """Judge the outputs of all sets after one replay of the timed graph; None where all are right.

    A graph that was timed as R calls must have done the work of R calls.
    """
    for index, (output, right) in enumerate(zip(outputs, expected, strict=True)):
        check = compare(output, right, name, intact=True)
        if check.status != "passed":
            status = "super_batch" if check.status == "stale_output" else check.status
            return Check(*name, status, f"after the replay, set {index}: {check.message}")
    return None
