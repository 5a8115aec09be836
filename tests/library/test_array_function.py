"""NumPy's own functions on traced arrays: those of `numpy.linalg` and `numpy.fft` are ours, with NumPy's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 4, 4))
Z = X + 1j * RNG.normal(size=X.shape)
LOWER = np.tril(X) + 9 * np.eye(4) + 1j * np.tril(X, -1)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "norm": (np.linalg.norm, (X,)),
    "inv": (np.linalg.inv, (X,)),
    "det": (np.linalg.det, (Z,)),
    "slogdet": (np.linalg.slogdet, (X,)),
    "solve": (np.linalg.solve, (Z, X[..., :2])),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), (Z,)),
    "eigenvalues of a triangle": (np.linalg.eigvalsh, (X,)),
    "eigenvalues of the upper triangle": (lambda x: np.linalg.eigvalsh(x, "U"), (Z,)),
    "eigh of a triangle": (lambda x: np.linalg.eigh(x)[0], (Z,)),
    "cholesky of a triangle": (np.linalg.cholesky, (LOWER,)),
    "cholesky of the upper triangle": (lambda x: np.linalg.cholesky(x, upper=True), (np.conj(np.swapaxes(LOWER, -1, -2)),)),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), (X,)),
    "multi_dot": (lambda x: np.linalg.multi_dot([x[0], x[1], x[0]]), (X,)),
    "pinv": (np.linalg.pinv, (X[:, :2],)),
    "fft": (np.fft.fft, (X,)),
    "rfft": (lambda x: np.fft.irfft(np.fft.rfft(x, axis=1), axis=1), (X,)),
    "fftshift": (np.fft.fftshift, (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_of_other_modules(name: str) -> None:
    function, arguments = CASES[name]
    got, wanted = lm.jit(function)(*arguments), function(*arguments)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, 1e-9, 1e-9)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2), "see lamina.numpy for what is"),
        (lambda x: np.fft.fft(x, out=x), "out"),
    ],
)
def test_what_there_is_not(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((lm.LaminaError, TypeError), match=message):
        lm.jit(function)(X[0, 0])
