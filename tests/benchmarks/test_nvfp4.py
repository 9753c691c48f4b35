import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.nvfp4 import (
    E2M1,
    E4M3,
    dequantize,
    encode_e2m1,
    encode_e4m3,
    pack,
    quantize,
    unpack,
)

NUMBERS = st.floats(-1e6, 1e6, width=32)


def test_e2m1_values_are_those_of_ml_dtypes() -> None:
    codes = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn)
    assert np.array_equal(E2M1, codes.astype(np.float32))
    assert np.array_equal(np.signbit(E2M1), np.arange(16) >= 8)


def test_e4m3_values_are_those_of_ml_dtypes() -> None:
    codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
    assert np.array_equal(E4M3, codes.astype(np.float32), equal_nan=True)


@given(st.floats(-6, 6, width=32))
def test_e2m1_rounds_like_ml_dtypes(value: float) -> None:
    right = np.float32(value).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    assert encode_e2m1(value) == right


@given(st.floats(-448, 448, width=32))
def test_e4m3_rounds_like_ml_dtypes(value: float) -> None:
    right = np.float32(value).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    assert encode_e4m3(value) == right


@pytest.mark.parametrize(
    ("value", "code"),
    [(0.25, 0), (0.75, 2), (1.25, 2), (1.75, 4), (2.5, 4), (3.5, 6), (5.0, 6), (1e30, 7),
     (float("inf"), 7), (float("nan"), 0), (-0.0, 8), (-7.0, 15)],
)  # fmt: skip
def test_e2m1_ties_go_to_even_and_what_is_too_large_saturates(value: float, code: int) -> None:
    assert encode_e2m1(value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [(448.0, 0x7E), (1e9, 0x7E), (float("inf"), 0x7E), (-1e9, 0xFE), (2.0**-10, 0),
     (2.0**-9, 1), (3 * 2.0**-10, 2), (17.0, 0x58), (19.0, 0x5A)],
)  # fmt: skip
def test_e4m3_ties_subnormals_and_saturation(value: float, code: int) -> None:
    assert encode_e4m3(value) == code
    assert encode_e4m3(float("nan")) == 0x7F


@given(
    arrays(
        np.uint8,
        st.tuples(st.integers(1, 3), st.sampled_from([16, 32])),
        elements=st.integers(0, 15),
    )
)
def test_packing_keeps_every_code_in_place(codes: np.ndarray) -> None:
    packed = pack(codes)
    assert packed.shape == (codes.shape[0], codes.shape[1] // 2)
    assert np.array_equal(packed[:, 0] & 15, codes[:, 0])
    assert np.array_equal(unpack(packed), E2M1[codes])


@given(arrays(np.float32, (2, 48), elements=NUMBERS))
def test_quantising_errs_by_at_most_a_step(values: np.ndarray) -> None:
    packed, scales, overall = quantize(values)
    back = dequantize(packed, scales, overall)
    step = np.repeat(E4M3[scales].astype(np.float64), 16, axis=-1) * overall
    largest = np.abs(values).reshape(2, 3, 16).max(axis=-1).repeat(16, axis=-1).reshape(2, 48)
    # Half of the widest step of E2M1, plus what rounding the scale down to 1/16 cuts off.
    assert (np.abs(back - values) <= step + largest / 15 + 2.0**-9 * 6 * overall).all()


@given(arrays(np.uint8, (1, 16), elements=st.integers(0, 255)), st.integers(1, 0x7E))
def test_what_is_nvfp4_already_survives(packed: np.ndarray, scale: int) -> None:
    packed[0, 0] = 0x77  # a block that uses its whole range keeps its scale
    packed[0, 8] = 0x77
    values = dequantize(packed, np.array([[0x7E, scale]], np.uint8))
    again = dequantize(*quantize(values))
    assert np.allclose(again, values, rtol=1e-6, atol=0)


def test_zeros_stay_zeros() -> None:
    packed, scales, overall = quantize(np.zeros((2, 16)))
    assert not packed.any()
    assert not scales.any()
    assert overall == 1.0
