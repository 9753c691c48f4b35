"""The problem nvfp4-gemv: c[l] = alpha * A[l] b[l] for L batches.

A kernel is called with eight arguments and three sizes, all rows contiguous, K fastest:

    a     (L, M, K / 2)   packed E2M1      sfa   (L, M, K / 16)  E4M3 scales
    b     (L, K / 2)      packed E2M1      sfb   (L, K / 16)     E4M3 scales
    alpha float32, the product of both global scales
    c     (L, M)          float16, written
    M, K, L               int32; K is a multiple of 64
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.nvfp4 import BLOCK, E4M3, Bytes, encode_e4m3, unpack
from kwdb.errors import UnknownValueError

Shape = dict[str, int]

OUTPUT_DTYPE: Final = np.float16
ENTRY_SIGNATURE: Final = (
    "(const uint8_t* a, const uint8_t* sfa, const uint8_t* b, const uint8_t* sfb, float alpha, "
    "__half* c, int M, int K, int L)"
)
_ELEMENTS_AT_ONCE: Final = 2**20  # what a core's cache holds


@dataclass(frozen=True, slots=True)
class Inputs:
    """Operands of one call; arrays as in the head of this module."""

    a: Bytes
    sfa: Bytes
    b: Bytes
    sfb: Bytes
    alpha: float

    @property
    def arrays(self) -> tuple[Bytes, ...]:
        """The read-only arrays in the order of the kernel's pointers."""
        return (self.a, self.sfa, self.b, self.sfb)


@dataclass(frozen=True, slots=True)
class Expected:
    """What is right: values (L, M) in float64, and the error allowed for each."""

    values: npt.NDArray[np.float64]
    tolerance: npt.NDArray[np.float64]
    rtol: float
    atol: float


def make_inputs(shape: Shape, recipe: str, seed: int) -> Inputs:
    """Draw operands.

    `contest` has the distribution of the contest's generator: bytes 0 to 3, so that only four of
    the sixteen codes occur, scales 0, 1 and 2, alpha 1. `wide` has all sixteen codes, scales
    log-uniform in 2^-6 to 2 and an alpha that keeps results inside float16.

    Raises:
        UnknownValueError: there is no such recipe.
    """
    m, k, batches = shape["M"], shape["K"], shape["L"]
    rng = np.random.default_rng([seed, m, k, batches])
    draw = {"contest": _contest, "wide": _wide}.get(recipe)
    if draw is None:
        raise UnknownValueError("input recipe", recipe, ("contest", "wide"))
    a, sfa = draw(rng, (batches, m), k)
    b, sfb = draw(rng, (batches,), k)
    return Inputs(a, sfa, b, sfb, 1.0 if recipe == "contest" else float(np.float32(0.0625)))


def _bytes(rng: np.random.Generator, shape: tuple[int, ...]) -> Bytes:
    return np.frombuffer(rng.bytes(int(np.prod(shape))), np.uint8).reshape(shape)


def _contest(rng: np.random.Generator, rows: tuple[int, ...], k: int) -> tuple[Bytes, Bytes]:
    codes = (_bytes(rng, (*rows, k // 2)) & 3).astype(np.uint8)
    return codes, encode_e4m3([0.0, 1.0, 2.0])[rng.integers(0, 3, (*rows, k // BLOCK))]


def _wide(rng: np.random.Generator, rows: tuple[int, ...], k: int) -> tuple[Bytes, Bytes]:
    codes = _bytes(rng, (*rows, k // 2))
    lowest, highest = (int(encode_e4m3(2.0**power)) for power in (-6, 1))
    scales = rng.integers(lowest, highest + 1, (*rows, k // BLOCK), np.uint8)
    return codes, scales  # equal steps of the code are nearly equal steps of the logarithm


def reference(inputs: Inputs, rtol: float = 1e-3, atol: float = 1e-4) -> Expected:
    """Compute the product in float64 from the packed bytes.

    Allowed is rtol * |c| + atol * |alpha| * sqrt(K) * rms(products): half a unit of float16 is
    4.9e-4 of c, and the second term is what summation in float32 may lose where terms cancel.
    The dot product of one block is a multiple of 1/4 below 2^10, so float32 holds it exactly.
    """
    batches, m, half = inputs.a.shape
    values = np.empty((batches, m))
    squares = np.empty((batches, m))
    rows = max(1, _ELEMENTS_AT_ONCE // (2 * half))

    def compute(batch: int, part: slice) -> None:
        b = unpack(inputs.b[batch]).reshape(-1, BLOCK)
        a = unpack(inputs.a[batch, part]).reshape(-1, half * 2 // BLOCK, BLOCK)
        scales = E4M3[inputs.sfa[batch, part]] * E4M3[inputs.sfb[batch]].astype(np.float64)
        scaled = np.einsum("mkb,kb->mk", a, b) * scales
        values[batch, part] = scaled.sum(axis=1)
        squares[batch, part] = (scaled**2).sum(axis=1)

    starts = range(0, m, rows)
    with ThreadPoolExecutor() as pool:  # numpy lets go of the interpreter's lock
        parts = [(batch, slice(row, row + rows)) for batch in range(batches) for row in starts]
        list(pool.map(lambda one: compute(*one), parts))
    values *= inputs.alpha
    spread = atol * abs(inputs.alpha) * np.sqrt(squares)
    return Expected(values, rtol * np.abs(values) + spread, rtol, atol)


def bytes_moved(shape: Shape) -> int:
    """Return the bytes that must cross device memory: every operand once, the result once."""
    m, k, batches = shape["M"], shape["K"], shape["L"]
    return batches * ((m + 1) * (k // 2 + k // BLOCK) + 2 * m)


def operations(shape: Shape) -> int:
    """Return multiplications and additions, counted as two per element of A."""
    return 2 * shape["M"] * shape["K"] * shape["L"]


def scalar_arguments(shape: Shape) -> tuple[int, ...]:
    """Return the int32 arguments that follow the pointers."""
    return (shape["M"], shape["K"], shape["L"])


def output_shape(shape: Shape) -> tuple[int, int]:
    """Return the shape of c."""
    return (shape["L"], shape["M"])


def rotated(inputs: Inputs, expected: Expected, by: int) -> tuple[Inputs, Expected]:
    """Return the problem with the rows of A moved up by `by`: other data, known result."""
    a, sfa = (np.roll(array, -by, axis=1) for array in (inputs.a, inputs.sfa))
    values, tolerance = (np.roll(x, -by, axis=1) for x in (expected.values, expected.tolerance))
    return (
        replace(inputs, a=a, sfa=sfa),
        replace(expected, values=values, tolerance=tolerance),
    )
