import json
from pathlib import Path

import pytest

from benchmarks.problem import find_problem
from benchmarks.runner import (
    Plan,
    _check_driver,
    one_at_a_time,
    read_bundle,
    run_child,
    withdraw_unproven,
)
from benchmarks.source import load_kernels
from kwdb.errors import UserError

WORK = {"shape": {"M": 8, "K": 64, "L": 1}, "recipe": "wide", "is_timed": False}


def test_a_child_that_dies_leaves_a_case_for_each_workload() -> None:
    job = {"device": 999, "kernel": "k", "versions": {}, "workloads": [WORK, WORK]}
    found = list(run_child(job))
    assert [case["status"] for case in found] == ["crashed", "crashed"]
    assert found[0]["shape"] == WORK["shape"]
    assert "exit code" in found[0]["message"]


def test_a_child_that_hangs_is_ended() -> None:
    (found,) = run_child({"device": 0, "kernel": "k", "workloads": [WORK]}, timeout_s=0.01)
    assert found["status"] == "timeout"


def test_a_plan_has_a_child_for_each_timed_case_and_one_for_the_rest() -> None:
    problem = find_problem("nvfp4-gemv")
    kernels = load_kernels()[:2]
    plan = Plan(kernels, problem, problem.benchmark_shapes[:2], problem.test_shapes[:3])
    jobs = [(kernel.name, len(work), work[0]["is_timed"]) for kernel, work in plan.jobs()]
    per_kernel = [(1, True)] * 4 + [(6, False)]
    assert jobs == [(kernel.name, *one) for kernel in kernels for one in per_kernel]


def test_a_kernel_found_wrong_with_one_recipe_proves_nothing_with_another() -> None:
    passed = {"status": "passed"}
    wrong = {"status": "reduced_precision"}
    cases = [
        {"kernel": "a", "status": "passed", "checks": [passed], **WORK},
        {"kernel": "a", "status": "reduced_precision", "checks": [passed, wrong], **WORK},
        {"kernel": "b", "status": "passed", "checks": [passed], **WORK},
        {"kernel": "b", "status": "throttled", "checks": [passed], **WORK},
    ]
    found = withdraw_unproven(cases)
    statuses = [case["status"] for case in found]
    assert statuses == ["unproven", "reduced_precision", "passed", "throttled"]
    assert "M=8 K=64 L=1 wide" in found[0]["message"]


@pytest.mark.parametrize(
    ("driver", "compiler", "is_refused"), [("12.8", "13.5", True), ("13.0", "13.5", False)]
)
def test_a_driver_older_than_the_compiler_is_refused(
    driver: str, compiler: str, is_refused: bool
) -> None:
    environment = {"cuda_driver_version": driver, "nvrtc_version": compiler}
    if not is_refused:
        return _check_driver(environment)
    with pytest.raises(UserError, match=r"driver is for CUDA 12\.8"):
        _check_driver(environment)


def test_two_measurements_never_share_a_device() -> None:
    with (
        one_at_a_time(77),
        pytest.raises(UserError, match="another measurement"),
        one_at_a_time(77),
    ):
        pass
    with one_at_a_time(77):
        pass


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "cannot read"), ("[]", "format 1"), ('{"format": 2}', "format 1"),
     ('{"format": 1}', "no environment"), ('{"format": 1, "environment": 5}', "no environment")],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bundle.json"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        read_bundle(file)
    with pytest.raises(UserError, match="cannot read"):
        read_bundle(tmp_path / "none.json")


def test_the_bundle_of_an_h200_is_read() -> None:
    file = Path(__file__).parent / "data" / "h200_bundle.json"
    assert read_bundle(file) == json.loads(file.read_text(encoding="utf-8"))
