"""lamina.fft, against NumPy in float64 and against the definition in extended precision."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.graph.fft import roots_of_unity

RNG = np.random.default_rng(6)
PLAIN = ("fft", "ifft", "irfft", "hfft")
OF_REAL = ("rfft", "ihfft")


def numbers(shape: Any, dtype: Any) -> np.ndarray:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(got: Any, want: np.ndarray) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.size:
        assert np.abs(got - want).max() <= 32 * np.finfo(want.dtype).eps * max(np.abs(want).max(), 1)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", [*PLAIN, *OF_REAL])
def test_against_numpy(name: str, norm: str | None) -> None:
    for dtype in (np.float32, np.float64) if name in OF_REAL else (np.complex64, np.complex128, np.float32):
        for n, size, axis in ((2, None, -1), (3, 7, -1), (8, None, 1), (9, 4, -1), (16, None, 0), (37, 12, 1), (1, 6, 0)):
            x = numbers((5, n), dtype)
            close(getattr(lnp.fft, name)(x, size, axis, norm), getattr(np.fft, name)(x, size, axis, norm))


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("name", [*PLAIN, *OF_REAL])
def test_compiled(name: str) -> None:
    for shape, axis in (((3, 64), 1), ((30, 3), 0), ((47,), 0)):
        x = numbers(shape, np.float64 if name in OF_REAL else np.complex128)
        close(lm.jit(lambda x: getattr(lm.fft, name)(x, axis=axis))(x), getattr(np.fft, name)(x, axis=axis))  # noqa: B023


@pytest.mark.thorough
@pytest.mark.parametrize("n", [1 << 15, 3 * (1 << 13), 5**6, 20011])
def test_long_rows(n: int) -> None:
    """Two halves with a twist, halves without one, and a prime by a convolution."""
    for dtype in (np.complex64, np.complex128):
        x = numbers((n,), dtype)
        close(lm.jit(lm.fft.fft)(x), np.fft.fft(x.astype(np.complex128)).astype(dtype))


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"])
def test_several_dims(name: str) -> None:
    x = numbers((4, 6, 5), np.float64 if name in ("rfft2", "rfftn") else np.complex128)
    close(getattr(lnp.fft, name)(x), getattr(np.fft, name)(x))
    close(lm.jit(getattr(lnp.fft, name))(x), getattr(np.fft, name)(x))
    options: dict[str, Any] = {"s": (3, 8), "axes": (0, 1), "norm": "ortho"}
    close(getattr(lnp.fft, name)(x, **options), getattr(np.fft, name)(x, **options))


def test_frequencies_and_shifts() -> None:
    for n in (1, 7, 8):
        for name in ("fftfreq", "rfftfreq"):
            np.testing.assert_array_equal(getattr(lm.fft, name)(n, 0.5), getattr(np.fft, name)(n, 0.5))
        x = RNG.normal(size=(3, n))
        for name in ("fftshift", "ifftshift"):
            np.testing.assert_array_equal(getattr(lm.fft, name)(x), getattr(np.fft, name)(x))
            np.testing.assert_array_equal(getattr(lm.fft, name)(x, 1), getattr(np.fft, name)(x, 1))


def test_derivatives_are_transforms() -> None:
    x, w = numbers((12,), np.complex128), numbers((12,), np.complex128)
    _, pushed = lm.jvp(lm.fft.fft, (x,), (w,))
    np.testing.assert_allclose(pushed, np.fft.fft(w), rtol=1e-12)
    # of |X[k]|^2, whose sum is n times that of |x[k]|^2 (Parseval)
    gradient = lm.grad(lambda x: (abs(lm.fft.fft(x)) ** 2).sum())(x)
    np.testing.assert_allclose(gradient, 2 * 12 * x.conj(), rtol=1e-12)
    real = RNG.normal(size=10)
    gradient = lm.grad(lambda x: (lm.fft.irfft(lm.fft.rfft(x) * np.arange(6)) * w.real[:10]).sum())(real)
    spectrum = np.fft.irfft(np.fft.rfft(w.real[:10]) * np.arange(6))
    np.testing.assert_allclose(gradient, spectrum, rtol=1e-10, atol=1e-12)
    many = numbers((3, 12), np.complex128)
    np.testing.assert_allclose(lm.vmap(lm.fft.fft)(many), np.fft.fft(many), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 8, 12, 31, 97, 111, 360])
def test_errors_grow_with_the_logarithm(n: int) -> None:
    """Against the sum in extended precision: root mean square errors of some eps times log n."""
    x = numbers((n,), np.complex64)
    k = np.arange(n)
    angles = -2 * np.arctan(np.longdouble(1)) * 4 * (np.outer(k, k) % n) / n
    want = ((np.cos(angles) + 1j * np.sin(angles)) * x).sum(-1)
    error = np.sqrt((np.abs(lm.jit(lm.fft.fft)(x) - want) ** 2).mean() / (np.abs(want) ** 2).mean())
    assert error <= np.finfo(np.float32).eps * (1 + np.log2(n))


def test_roots_are_correctly_rounded() -> None:
    k = np.arange(-50, 50)
    angles = 2 * np.arctan(np.longdouble(1)) * 4 * k / 48
    c, s = roots_of_unity(k, 48, "inverse", np.dtype(np.float64))
    np.testing.assert_allclose(c, np.cos(angles).astype(np.float64), rtol=1e-15, atol=2e-18)
    np.testing.assert_allclose(s, np.sin(angles).astype(np.float64), rtol=1e-15, atol=2e-18)
    quarter, zero = roots_of_unity([12], 48, "forward", np.dtype(np.float64))
    assert quarter[0] == 0 and zero[0] == -1


def test_bad_arguments() -> None:
    x = numbers((3, 4), np.complex128)
    with pytest.raises(ValueError, match="norm must be backward, ortho or forward"):
        lm.fft.fft(x, norm="none")
    with pytest.raises(lm.ShapeError, match="at least one element"):
        lm.fft.fft(x, n=0)
    with pytest.raises(lm.ShapeError, match="at least one dim"):
        lm.fft.fft(1.0)
    with pytest.raises(lm.DTypeError, match="takes real numbers"):
        lm.fft.rfft(x)
    with pytest.raises(lm.ShapeError, match="a size for each axis"):
        lm.fft.fftn(x, s=(2,), axes=(0, 1))
