import numpy as np
import pytest

from benchmarks.gemv import bytes_moved, make_inputs, operations, reference, rotated
from benchmarks.nvfp4 import E4M3, dequantize
from benchmarks.problem import find_problem, load_problems, show_shape
from kwdb.errors import UnknownValueError, UserError

SHAPE = {"M": 37, "K": 192, "L": 3}


@pytest.mark.parametrize("recipe", ["contest", "wide"])
def test_the_reference_is_the_dequantised_product(recipe: str) -> None:
    inputs = make_inputs(SHAPE, recipe, 5)
    expected = reference(inputs)
    a, b = dequantize(inputs.a, inputs.sfa), dequantize(inputs.b, inputs.sfb)
    right = np.einsum("lmk,lk->lm", a, b) * inputs.alpha
    assert expected.values.shape == (3, 37)
    assert np.allclose(expected.values, right, rtol=1e-12, atol=1e-12)
    assert (expected.tolerance >= 1e-3 * np.abs(right)).all()


def test_the_contest_recipe_has_the_codes_of_the_contest() -> None:
    inputs = make_inputs({"M": 64, "K": 1024, "L": 1}, "contest", 1)
    assert set(np.unique(inputs.a)) == {0, 1, 2, 3}
    assert set(np.unique(E4M3[inputs.sfa])) == {0.0, 1.0, 2.0}
    assert inputs.alpha == 1.0


def test_the_wide_recipe_has_every_code_and_stays_inside_float16() -> None:
    inputs = make_inputs({"M": 64, "K": 16384, "L": 1}, "wide", 1)
    assert len(np.unique(inputs.a)) == 256
    assert E4M3[inputs.sfa].min() == 2.0**-6
    assert E4M3[inputs.sfa].max() == 2.0
    assert np.abs(reference(inputs).values).max() < 65504 / 8


def test_seeds_and_shapes_draw_different_inputs() -> None:
    first, again, other = (make_inputs(SHAPE, "wide", seed) for seed in (1, 1, 2))
    assert np.array_equal(first.a, again.a)
    assert not np.array_equal(first.a, other.a)


def test_an_unknown_recipe_is_named() -> None:
    with pytest.raises(UnknownValueError, match="known: contest, wide"):
        make_inputs(SHAPE, "zeros", 1)


def test_a_rotated_problem_has_the_reference_that_computing_gives() -> None:
    inputs = make_inputs(SHAPE, "wide", 3)
    turned, known = rotated(inputs, reference(inputs), 5)
    assert not np.array_equal(turned.a, inputs.a)
    assert np.array_equal(known.values, reference(turned).values)


@pytest.mark.parametrize(
    ("shape", "us"),
    [((7168, 16384, 1), 8.622), ((4096, 7168, 8), 17.275), ((7168, 2048, 4), 4.317)],
)
def test_bytes_give_the_contests_speed_of_light(shape: tuple[int, ...], us: float) -> None:
    """The contest's table divides the same bytes by 7.66 TB/s."""
    sizes = dict(zip("MKL", shape, strict=True))
    assert bytes_moved(sizes) / 7.66e6 == pytest.approx(us, rel=2e-3)
    assert operations(sizes) == 2 * shape[0] * shape[1] * shape[2]


def test_shapes_are_read_and_shown() -> None:
    problem = find_problem("nvfp4-gemv")
    assert problem.parse_shape("128, 256,1") == {"M": 128, "K": 256, "L": 1}
    assert show_shape(problem.benchmark_shapes[0]) == "M=7168 K=16384 L=1"
    assert "nvfp4-gemv" in load_problems()


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "0,256,1", "1,-2,3", "", "1,2,3,4"])
def test_a_shape_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match="nvfp4-gemv"):
        find_problem("nvfp4-gemv").parse_shape(text)


def test_an_unknown_problem_is_named() -> None:
    with pytest.raises(UnknownValueError, match="nvfp4-gemv"):
        find_problem("nvfp4-gem")
