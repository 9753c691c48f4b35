"""NVFP4 in numpy: E2M1 values in blocks of 16, an E4M3 scale each, one FP32 scale.

    x[i] = global_scale * block_scale[i // 16] * e2m1[i]

Two E2M1 values share a byte: the even element is in bits 0 to 3, the odd one in bits 4 to 7. Every
rounding is to nearest, ties to even, and saturates; NaN becomes +0 in E2M1 and 0x7F in E4M3.
Format: https://docs.nvidia.com/cuda/parallel-thread-execution/#alternate-floating-point-data-formats
(E2M1 has neither infinity nor NaN; E4M3 has NaN at 0x7F and 0xFF and ends at 448).
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]

BLOCK: Final = 16
"""Elements that share a scale."""
E2M1_MAX: Final = 6.0
E4M3_MAX: Final = 448.0

_MAGNITUDES: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
E2M1: Final = np.array([*_MAGNITUDES, *(-value for value in _MAGNITUDES)], np.float32)
"""Value of each of the 16 codes; code 8 is minus zero."""


def _e4m3_table() -> npt.NDArray[np.float32]:
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    normal = (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    value = np.where(exponent > 0, normal, mantissa / 8 * 2.0**-6)
    value[(code & 0x7F) == 0x7F] = np.nan
    return np.where(code & 0x80, -value, value).astype(np.float32)


E4M3: Final = _e4m3_table()
"""Value of each of the 256 codes."""


def _nearest_code(magnitude: Floats, table: Floats) -> npt.NDArray[np.intp]:
    """Return the index of the nearest value of a rising table; ties go to the even index.

    Neighbouring codes of a floating-point format differ in the last bit of the mantissa, so that
    the even index is the even mantissa.
    """
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    below = above - 1
    middle = (table[below].astype(np.float64) + table[above]) / 2
    is_up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    return np.where(is_up, above, below)


def encode_e2m1(values: npt.ArrayLike) -> Bytes:
    """Round numbers of any shape to E2M1 codes 0 to 15, saturating at 6."""
    x = np.asarray(values, np.float64)
    code = _nearest_code(np.nan_to_num(np.abs(x), nan=0.0, posinf=E2M1_MAX), E2M1[:8])
    return (code | (np.signbit(x) & ~np.isnan(x)) * 8).astype(np.uint8)


def encode_e4m3(values: npt.ArrayLike) -> Bytes:
    """Round numbers of any shape to E4M3 codes, saturating at 448; NaN is 0x7F."""
    x = np.asarray(values, np.float64)
    code = _nearest_code(np.nan_to_num(np.abs(x), nan=0.0, posinf=E4M3_MAX), E4M3[:0x7F])
    code = np.where(np.isnan(x), 0x7F, code | np.signbit(x) * 0x80)
    return code.astype(np.uint8)


def pack(codes: Bytes) -> Bytes:
    """Put codes (..., K) two in a byte: (..., K / 2), the even element in the low half."""
    both = (codes[..., 0::2] & 15) | (codes[..., 1::2] << 4)
    return both.astype(np.uint8)


_PAIRS: Final = np.stack([E2M1[np.arange(256) & 15], E2M1[np.arange(256) >> 4]], axis=-1)


def unpack(packed: Bytes) -> npt.NDArray[np.float32]:
    """Return the E2M1 values (..., K) of bytes (..., K / 2), exact in float32."""
    return _PAIRS[packed].reshape(*packed.shape[:-1], packed.shape[-1] * 2)


def quantize(values: Floats) -> tuple[Bytes, Bytes, float]:
    """Quantise numbers (..., K), K a multiple of 16, as NVFP4.

    Returns packed codes (..., K / 2), E4M3 scales (..., K / 16) and the FP32 global scale, chosen
    so that the largest block scale is 448. All zeros gives scales of zero and a global scale of 1.
    """
    x = np.asarray(values, np.float64)
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    largest = np.abs(blocks).max(axis=-1)
    peak = float(largest.max(initial=0.0))
    overall = float(np.float32(peak / (E2M1_MAX * E4M3_MAX))) or 1.0
    scales = encode_e4m3(largest / (E2M1_MAX * overall))
    step = E4M3[scales].astype(np.float64)[..., None] * overall
    scaled = np.divide(blocks, step, out=np.zeros_like(blocks), where=step > 0)
    return pack(encode_e2m1(scaled).reshape(x.shape)), scales, overall


def dequantize(packed: Bytes, scales: Bytes, global_scale: float = 1.0) -> npt.NDArray[np.float64]:
    """Return numbers (..., K) of bytes (..., K / 2) and E4M3 scales (..., K / 16), in float64."""
    scale = np.repeat(E4M3[scales].astype(np.float64), BLOCK, axis=-1)
    return unpack(packed) * scale * global_scale
