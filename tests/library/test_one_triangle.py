"""Functions of matrices that read one triangle: the other one may hold anything, and has no part in derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

sp, la, lax = lm.scipy.linalg, lm.linalg, lm.lax.linalg
B = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0], [-1.0, 0.25]])


def values_and_lines(found: Any) -> Any:
    """Of eigenvalues and vectors what does not depend on signs of vectors."""
    w, v = found
    return lnp.real(w).sum() + (lnp.absolute(v) ** 3).sum()


def solved(a: Any, lower: bool, **options: bool) -> Any:
    return lax.triangular_solve(a, B.astype(a.dtype), left_side=True, lower=lower, **options)


OPTIONS: list[dict[str, bool]] = [{}, {"transpose_a": True}, {"transpose_a": True, "conjugate_a": True}]
LOWER = (False, True)
Case = tuple[str, Callable[[Any], Any], bool, bool]
"""A name, the function of a matrix, whether it reads the lower triangle, and whether the matrix is Hermitian or triangular."""
CASES: list[Case] = [
    *(("scipy.cholesky", lambda a, low=low: sp.cholesky(a, lower=low), low, True) for low in LOWER),
    *(("cho_factor", lambda a, low=low: la.cho_factor(a, low)[0], low, True) for low in LOWER),
    *(("scipy.cho_factor", lambda a, low=low: sp.cho_factor(a, lower=low)[0], low, True) for low in LOWER),
    ("cholesky", lambda a: la.cholesky(a, symmetrize_input=False), True, True),
    ("cholesky upper", lambda a: lnp.linalg.cholesky(a, upper=True, symmetrize_input=False), True, True),
    ("lax.cholesky", lambda a: lax.cholesky(a, symmetrize_input=False), True, True),
    *(("eigh", lambda a, u=u: values_and_lines(lnp.linalg.eigh(a, UPLO=u)), u == "L", True) for u in "LU"),
    *(("eigvalsh", lambda a, u=u: lnp.linalg.eigvalsh(a, UPLO=u), u == "L", True) for u in "LU"),
    *(("scipy.eigh", lambda a, low=low: values_and_lines(sp.eigh(a, lower=low)), low, True) for low in LOWER),
    *(("scipy.eigh of two", lambda a, low=low: sp.eigh(a, a, lower=low, eigvals_only=True) ** 2, low, True) for low in LOWER),
    *(
        ("lax.eigh", lambda a, low=low: values_and_lines(lax.eigh(a, lower=low, symmetrize_input=False)[::-1]), low, True)
        for low in LOWER
    ),
    *(
        (f"scipy.solve {kind}", lambda a, low=low, kind=kind: sp.solve(a, B, lower=low, assume_a=kind), low, True)
        for low in LOWER
        for kind in ("pos", "her")
    ),
    *(
        (f"solve_triangular {trans}", lambda a, low=low, t=trans: la.solve_triangular(a, B, trans=t, lower=low), low, False)
        for low in LOWER
        for trans in (0, 1, 2)
    ),
    *(("cho_solve", lambda a, low=low: la.cho_solve((a, low), B), low, False) for low in LOWER),
    *(("scipy.cho_solve", lambda a, low=low: sp.cho_solve((a, low), B), low, False) for low in LOWER),
    *(
        (f"lax.triangular_solve {t}", lambda a, low=low, t=t: solved(a, low, **OPTIONS[t]), low, False)
        for low in LOWER
        for t in (0, 1, 2)
    ),
]  # fmt: skip


def of_reals(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A real number that depends on all of a result."""

    def number(a: Any) -> Any:
        y = f(a)
        return (lnp.real(y) * (1 + lnp.arange(y.size).reshape(y.shape)) + lnp.imag(y) * 0.5).sum()

    return number


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{'lower' if c[2] else 'upper'}" for c in CASES])
def test_garbage_in_the_other_triangle(case: Case, dtype: str):
    _, function, lower, hermitian = case
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 4)) + (1j * rng.normal(size=(4, 4)) if dtype == "complex128" else 0)
    a = (x @ x.conj().T + 3 * np.eye(4)).astype(dtype)
    part = np.tril if lower else np.triu
    if not hermitian:
        a = part(a)
    number = of_reals(function)
    compiled, gradient = lm.jit(function), lm.jit(lm.grad(number))
    expected, slope = np.asarray(function(a)), np.asarray(gradient(a))
    read = part(np.ones((4, 4), bool))
    for garbage in (99.0, np.nan, np.inf):
        dirty = np.where(read, a, garbage)
        assert np.allclose(function(dirty), expected, rtol=1e-12, atol=1e-12), garbage
        assert np.allclose(compiled(dirty), expected, rtol=1e-12, atol=1e-12), garbage
        found = np.asarray(gradient(dirty))
        assert (found[~read] == 0).all(), (garbage, found)
        assert np.allclose(found, slope, rtol=1e-9, atol=1e-9), garbage
    # each element that is read, by central differences; a Hermitian matrix has a real diagonal
    h = 1e-6
    for i, j in np.argwhere(read):
        for unit in (1.0, 1j) if dtype == "complex128" and not (hermitian and i == j) else (1.0,):
            step = np.zeros((4, 4), dtype)
            step[i, j] = h * unit
            along = float((number(a + step) - number(a - step)) / (2 * h))
            given = (np.conj(slope[i, j]) * unit).real if GRADIENT_IS_CONJUGATE else (slope[i, j] * unit).real
            assert abs(along - given) < 1e-4 * (1 + abs(along)), (i, j, unit, along, given)


GRADIENT_IS_CONJUGATE = bool(np.imag(lm.grad(lambda z: lnp.imag(z))(1.0 + 0j)) > 0)


def test_the_values_of_issue_reports():
    a = np.array([[4.0, 99], [1, 3]])
    for factor in (sp.cholesky(a, lower=True), sp.cho_factor(a, lower=True)[0]):
        assert np.allclose(factor, [[2, 0], [0.5, np.sqrt(2.75)]])
    slope = lm.grad(lambda a: sp.cholesky(a, lower=True).sum())(a)
    assert slope[0, 1] == 0 and slope[1, 0] != 0
