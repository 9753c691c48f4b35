from pathlib import Path

import pytest

from benchmarks.source import evaluate, load_kernels, load_roof, parse_kernel, read_kernel
from kwdb.errors import InvalidRecordError, UserError

TEXT = """// kwdb: problem   nvfp4-gemv
// kwdb: entry     my_gemv
// kwdb: arch      sm_90a sm_100a
// kwdb: block     256
// kwdb: grid      min(M, max(sms // L, 1)), L
// kwdb: shared    128 * ceil(M, grid_x) + 4 * grid_y
// kwdb: requires  K % 256 == 0
// kwdb: requires  K <= 4096
"""
SHAPE = {"M": 100, "K": 512, "L": 2}


def test_directives_give_the_launch() -> None:
    kernel = parse_kernel(TEXT, "my", "my.cu")
    how = kernel.launch(SHAPE, 132)
    assert how.grid == (66, 2, 1)
    assert how.block == (256, 1, 1)
    assert how.shared_bytes == 128 * 2 + 8
    assert kernel.archs == ("sm_90a", "sm_100a")
    assert kernel.registers == 255


@pytest.mark.parametrize(("k", "unmet"), [(512, None), (320, "K % 256 == 0"), (8192, "K <= 4096")])
def test_requirements_are_checked_in_order(k: int, unmet: str | None) -> None:
    assert parse_kernel(TEXT, "my", "my.cu").unmet(SHAPE | {"K": k}) == unmet


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "M.real", "M / 2", "'a' * 9", "X", "2 ** 99", "M[0]", "(lambda: 1)()",
     "M if L else K", "1 // 0", "1 +", "min(1)", "9 * 9999999999999999", "min(*[1, 2])", "1.5",
     "max(1, 2, key=abs)"],
)  # fmt: skip
def test_only_whole_number_arithmetic_is_computed(text: str) -> None:
    with pytest.raises(UserError):
        evaluate(text, {"M": 8, "K": 16, "L": 1})


@pytest.mark.parametrize("missing", ["problem", "entry", "arch", "block", "grid"])
def test_a_missing_directive_is_named(missing: str) -> None:
    text = "\n".join(line for line in TEXT.splitlines() if f" {missing} " not in line)
    with pytest.raises(InvalidRecordError, match=f"kwdb: {missing}"):
        parse_kernel(text, "my", "my.cu")


def test_an_unknown_or_repeated_directive_is_shown_with_its_line() -> None:
    with pytest.raises(InvalidRecordError, match=r"my\.cu:9.*colour"):
        parse_kernel(TEXT + "// kwdb: colour red\n", "my", "my.cu")
    with pytest.raises(InvalidRecordError, match=r"my\.cu:9.*twice"):
        parse_kernel(TEXT + "// kwdb: block 128\n", "my", "my.cu")


def test_a_grid_of_nothing_or_of_four_is_refused() -> None:
    for grid in ("M - M, 1", "1, 1, 1, 1"):
        text = TEXT.replace("min(M, max(sms // L, 1)), L", grid)
        with pytest.raises(UserError, match="one to three positive"):
            parse_kernel(text, "my", "my.cu").launch(SHAPE, 132)


def test_the_problem_of_the_command_line_stands_in(tmp_path: Path) -> None:
    file = tmp_path / "own.cu"
    file.write_text(TEXT.replace("// kwdb: problem   nvfp4-gemv\n", ""))
    assert read_kernel(file, "nvfp4-gemv").problem == "nvfp4-gemv"
    with pytest.raises(UserError, match="cannot read the kernel"):
        read_kernel(tmp_path / "none.cu")


def test_every_shipped_kernel_can_be_launched_on_all_shapes_that_it_takes() -> None:
    from benchmarks.problem import find_problem

    kernels = load_kernels()
    assert len(kernels) >= 3
    for kernel in kernels:
        problem = find_problem(kernel.problem)
        for shape in (*problem.benchmark_shapes, *problem.test_shapes):
            assert kernel.unmet(shape) is None
            for sms in (132, 148):
                how = kernel.launch(shape, sms)
                assert 0 <= how.shared_bytes <= 232448
                assert max(how.grid[1:]) <= 65535
    assert load_roof().entry == "read_roof"
