"""Kernels over signed and unsigned bytes: NumPy's wrap-around for all pairs of values, plain and on vectors."""

from typing import Any

import lamina as lm
import numpy as np
import pytest

# Written twice, since the types of a kernel are read from its source.


@lm.kernel
def signed(x: lm.i8["N"], y: lm.i8["N"], a: lm.i8, out: lm.i8[8, "N"], less: lm.bool_["N"], wide: lm.i32["N"]):
    for i in lm.parallel(x.shape[0]):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] * y[i]
        out[2, i] = x[i] // y[i]
        out[3, i] = x[i] % y[i]
        out[4, i] = max(x[i], y[i])
        out[5, i] = x[i] >> 3
        out[6, i] = -abs(x[i])
        out[7, i] = a - x[i]
        less[i] = x[i] < y[i]
        wide[i] = lm.i32(x[i]) - y[i]


@lm.kernel
def unsigned(x: lm.ui8["N"], y: lm.ui8["N"], a: lm.ui8, out: lm.ui8[8, "N"], less: lm.bool_["N"], wide: lm.i32["N"]):
    for i in lm.parallel(x.shape[0]):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] * y[i]
        out[2, i] = x[i] // y[i]
        out[3, i] = x[i] % y[i]
        out[4, i] = max(x[i], y[i])
        out[5, i] = x[i] >> 3
        out[6, i] = -abs(x[i])
        out[7, i] = a - x[i]
        less[i] = x[i] < y[i]
        wide[i] = lm.i32(x[i]) - y[i]


@pytest.mark.parametrize(("kernel", "dtype"), [(signed, np.int8), (unsigned, np.uint8)], ids=["i8", "ui8"])
@pytest.mark.parametrize("vectors", [False, True])
def test_all_pairs(kernel: Any, dtype: Any, vectors: bool) -> None:
    every = np.arange(256).astype(np.uint8).view(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(every, every))
    out, less, wide = np.zeros((8, x.size), dtype), np.zeros(x.size, bool), np.zeros(x.size, np.int32)
    if vectors:
        schedule = kernel.schedule()
        schedule.vectorize(schedule["i"], lanes=32)
    kernel(x, y, 100, out, less, wide)
    a = dtype(100)
    with np.errstate(all="ignore"):
        want = [x + y, x * y, x // y, x % y, np.maximum(x, y), x >> 3, -np.abs(x), a - x]
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(less, x < y)
    np.testing.assert_array_equal(wide, x.astype(int) - y)


@lm.kernel
def histogram(x: lm.ui8["N"], counts: lm.i32[256]):
    for i in range(x.shape[0]):
        counts[int(x[i])] += 1


@lm.kernel
def total(x: lm.ui8["N"], sums: lm.i32[1]):
    s = lm.i32(0)
    for i in range(x.shape[0]):
        s += x[i]
    sums[0] = s


def test_bytes_as_indices_and_in_sums() -> None:
    x = np.random.default_rng(4).integers(0, 256, 1000).astype(np.uint8)
    counts, sums = np.zeros(256, np.int32), np.zeros(1, np.int32)
    histogram(x, counts)
    total(x, sums)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=256))
    assert sums[0] == x.sum()


def test_a_number_fits_its_type() -> None:
    def too_large(x: lm.ui8["N"]):
        for i in range(x.shape[0]):
            x[i] = x[i] + 256

    with pytest.raises(lm.LaminaError, match="256 does not fit ui8"):
        lm.kernel(too_large)(np.zeros(3, np.uint8))


@pytest.mark.parametrize("bad", [256, -1, 1.5])
def test_scalars_fit(bad: Any) -> None:
    x, out = np.zeros(3, np.uint8), np.zeros((8, 3), np.uint8)
    with pytest.raises((TypeError, ValueError), match=r"'a' must (fit uint8|be an integer)"):
        unsigned(x, x, bad, out, np.zeros(3, bool), np.zeros(3, np.int32))
