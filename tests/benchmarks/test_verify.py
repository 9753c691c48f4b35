"""Frauds by way of an executor in numpy; the same as CUDA kernels are in test_gpu.py."""

from typing import Any

import numpy as np
import pytest

from benchmarks.gemv import Inputs, reference
from benchmarks.problem import find_problem
from benchmarks.verify import Output, check_replayed, verify

PROBLEM = find_problem("nvfp4-gemv")
SHAPE = {"M": 48, "K": 256, "L": 2}
POISON = np.uint16(0xFFFF).view(np.float16)


class Honest:
    """An executor whose kernel is the reference; frauds change one thing."""

    sets = 3

    def __init__(self) -> None:
        self.inputs: list[Any] = [None] * self.sets
        self.outputs = [np.full((2, 48), POISON)] * self.sets
        self.guards = [True] * self.sets
        self.is_intact = True

    def write_inputs(self, index: int, inputs: Inputs) -> None:
        self.inputs[index] = inputs

    def inputs_intact(self, index: int) -> bool:
        return self.is_intact

    def poison(self, index: int) -> None:
        self.outputs[index] = np.full((2, 48), POISON)
        self.guards[index] = True

    def compute(self, index: int) -> np.ndarray:
        with np.errstate(over="ignore"):
            return reference(self.inputs[index]).values.astype(np.float16)

    def run(self, index: int) -> None:
        self.outputs[index] = self.compute(index)

    def output(self, index: int) -> Output:
        values = self.outputs[index]
        return Output(values, values.view(np.uint16) == 0xFFFF, self.guards[index])


class StaleOutput(Honest):
    def run(self, index: int) -> None:
        """The right result may lie in the buffer from before."""


class Unwritten(Honest):
    def run(self, index: int) -> None:
        self.outputs[index][:, ::2] = self.compute(index)[:, ::2]


class ConstantOutput(Honest):
    def compute(self, index: int) -> np.ndarray:
        return np.full((2, 48), np.float16(1))


class ModifiedInputs(Honest):
    def run(self, index: int) -> None:
        super().run(index)
        self.is_intact = False


class OutOfBounds(Honest):
    def run(self, index: int) -> None:
        super().run(index)
        self.guards[index] = False


class NotFinite(Honest):
    def compute(self, index: int) -> np.ndarray:
        result = super().compute(index)
        result[0, 0] = np.inf
        return result


class ReducedPrecision(Honest):
    def compute(self, index: int) -> np.ndarray:
        bits = super().compute(index).astype(np.float32).view(np.uint32)
        return (bits & 0xFFFE0000).view(np.float32).astype(np.float16)


class PointerCache(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, np.ndarray] = {}

    def compute(self, index: int) -> np.ndarray:
        return self.kept.setdefault(index, super().compute(index))


class SuperBatch(Honest):
    def run(self, index: int) -> None:
        for each in range(self.sets):
            if self.inputs[each] is not None:
                super().run(each)


class Incorrect(Honest):
    def compute(self, index: int) -> np.ndarray:
        return -super().compute(index)


FRAUDS = [
    (StaleOutput, "stale_output"),
    (Unwritten, "unwritten"),
    (ConstantOutput, "constant_output"),
    (ModifiedInputs, "modified_inputs"),
    (OutOfBounds, "out_of_bounds"),
    (NotFinite, "not_finite"),
    (ReducedPrecision, "reduced_precision"),
    (PointerCache, "pointer_cache"),
    (SuperBatch, "super_batch"),
    (Incorrect, "incorrect"),
]


@pytest.mark.parametrize("recipe", PROBLEM.recipes)
def test_an_honest_kernel_passes_on_three_seeds(recipe: str) -> None:
    checks = verify(Honest(), PROBLEM, SHAPE, recipe)
    assert [check.status for check in checks] == ["passed"] * 3
    assert len({check.seed for check in checks}) == 3
    for check in checks:
        assert check.matched_ratio == 1.0
        assert check.max_rel is not None
        assert check.max_rel < 1e-3


@pytest.mark.parametrize(("fraud", "status"), FRAUDS, ids=[status for _, status in FRAUDS])
def test_each_fraud_has_a_status_of_its_own(fraud: type[Honest], status: str) -> None:
    checks = verify(fraud(), PROBLEM, SHAPE, "wide")
    assert checks[-1].status == status
    assert checks[-1].message
    assert all(check.status == "passed" for check in checks[:-1])


def test_the_first_failure_ends_the_checks() -> None:
    assert len(verify(StaleOutput(), PROBLEM, SHAPE, "wide")) == 1


def test_a_result_kept_from_earlier_inputs_shows_with_the_second_seed() -> None:
    checks = verify(PointerCache(), PROBLEM, SHAPE, "wide")
    assert [check.status for check in checks] == ["passed", "pointer_cache"]


def test_a_replay_that_skips_calls_is_a_super_batch() -> None:
    executor = Honest()
    inputs = PROBLEM.module.make_inputs(SHAPE, "wide", 1)
    expected = [reference(inputs)] * 3
    for index in range(3):
        executor.write_inputs(index, inputs)
        executor.run(index)
    name = ("wide", 1)
    assert check_replayed(map(executor.output, range(3)), expected, name) is None
    executor.poison(2)
    found = check_replayed(map(executor.output, range(3)), expected, name)
    assert found is not None
    assert found.status == "super_batch"
    assert "set 2" in found.message
