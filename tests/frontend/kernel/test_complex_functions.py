"""Functions of complex numbers in kernels beside NumPy's."""

from __future__ import annotations

import cmath
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.errors import KernelError

T = lm.dtype("T")


@lm.kernel
def functions(x: T["N"], o: T["K", "N"]):
    for i in range(len(x)):
        o[0, i] = np.exp(x[i])
        o[1, i] = np.log(x[i])
        o[2, i] = np.sqrt(x[i])
        o[3, i] = np.sin(x[i])
        o[4, i] = np.cos(x[i])
        o[5, i] = np.tan(x[i])
        o[6, i] = np.sinh(x[i])
        o[7, i] = np.cosh(x[i])
        o[8, i] = np.tanh(x[i])
        o[9, i] = np.log2(x[i])
        o[10, i] = cmath.log10(x[i])
        o[11, i] = np.reciprocal(x[i])
        o[12, i] = np.square(x[i])
        o[13, i] = np.negative(np.add(x[i], 1))


NAMES = "exp log sqrt sin cos tan sinh cosh tanh log2 log10 reciprocal square".split()


def by_numpy(x: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return [*(getattr(np, name)(x) for name in NAMES), -(x + 1)]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_functions(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((2, 400)) * np.exp(2 * rng.standard_normal((2, 400)))
    near_one = np.exp(1j * rng.uniform(-3, 3, 100))
    x = np.concatenate([parts[0] + 1j * parts[1], near_one, parts[0, :9], 1j * parts[0, :9]]).astype(dtype)
    out = np.zeros((14, len(x)), dtype)
    functions(x, out)
    for k, want in enumerate(by_numpy(x)):
        finite = np.isfinite(want)
        assert (finite == np.isfinite(out[k])).all()
        error = abs(out[k][finite] - want[finite]) / np.maximum(abs(want[finite]), np.finfo(dtype).tiny)
        assert error.max() < 5 * np.finfo(dtype).eps, NAMES[k]


def test_special_values() -> None:
    """Where NumPy gives zeros and infinities, so do kernels, with their signs."""
    edge = [0.0, 1.0, 1e-300, 1e300, 710.0, 1420.0, 30.0, np.inf, np.nan]
    x = np.array([complex(s * a, t * b) for a in edge for b in edge for s in (1, -1) for t in (1, -1)])
    out = np.zeros((14, len(x)), complex)
    functions(x, out)
    unspecified = ~(np.isfinite(x.real) & np.isfinite(x.imag))
    for k, (name, want) in enumerate(zip(NAMES[:3] + NAMES[6:9], [by_numpy(x)[j] for j in (0, 1, 2, 6, 7, 8)], strict=True)):
        got = out[(0, 1, 2, 6, 7, 8)[k]]
        for a, b in ((got.real, want.real), (got.imag, want.imag)):
            same = (np.isnan(a) & np.isnan(b)) | (a == b) | np.isclose(a, b, rtol=1e-14, atol=0)
            of_infinities = (abs(a) == abs(b)) & unspecified  # the sign is open
            assert (same | of_infinities).all(), (name, x[~(same | of_infinities)])


@lm.kernel
def powers(x: lm.complex128["N"], y: lm.complex128["N"], o: lm.complex128["K", "N"], r: lm.f64["R", "N"]):
    for i in range(len(x)):
        z = x[i]
        o[0, i] = z ** y[i]
        o[1, i] = z**2.5
        o[2, i] = 2.0**z
        z **= 3
        o[3, i] = z
        o[4, i] = np.power(x[i], -2)
        r[0, i] = abs(x[i])
        r[1, i] = np.angle(x[i])
        r[2, i] = np.isfinite(x[i]) + 2.0 * np.isnan(x[i])


def test_powers_and_parts() -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(200) + 1j * rng.standard_normal(200) for _ in range(2))
    x[0] = 0
    out, real = np.zeros((5, 200), complex), np.zeros((3, 200))
    powers(x, y, out, real)
    with np.errstate(all="ignore"):
        for got, want in zip(out, [x**y, x**2.5, 2.0**x, x**3, x**-2.0], strict=True):
            np.testing.assert_allclose(got[1:], want[1:], rtol=1e-13)
    np.testing.assert_allclose(real, [abs(x), np.angle(x), np.ones(200)], rtol=1e-15)
    assert out[1, 0] == 0


def test_functions_that_take_none() -> None:
    @lm.kernel
    def rounded(x: lm.complex128["N"]):
        for i in range(len(x)):
            x[i] = np.floor(x[i])

    with pytest.raises(KernelError, match="takes no complex numbers in kernels"):
        rounded.compile()


def test_arguments_are_read_once() -> None:
    """Reading the argument again for the real function would double the work with each level."""

    @lm.kernel
    def nested(x: lm.f64["N"]):
        for i in range(len(x)):
            x[i] = abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(abs(x[i] - 1))))))))))))

    assert nested.as_text().count("arith.subf") == 1
