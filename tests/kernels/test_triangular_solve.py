"""`kernels/triangular_solve.py`: SciPy's solutions, zeros on the diagonal, stacks, strides, and Python's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
import scipy.linalg
from lamina.kernels.triangular_solve import KINDS, SOLVERS

sys.path.insert(0, str(Path(__file__).parent))

from matrices import DTYPES, by_python, error, normal

every_kind = pytest.mark.parametrize("kind", KINDS, ids="-".join)
EMPTY, PLAIN, BLOCKED = ((0, 2), (2, 0)), ((1, 1), (3, 5), (13, 1), (37, 17)), ((65, 1), (66, 67), (130, 3))
CASES = [
    (sizes[(k + d) % len(sizes)], dtype, kind)
    for d, dtype in enumerate(DTYPES)
    for k, kind in enumerate(KINDS)
    for sizes in (EMPTY, PLAIN, BLOCKED)
]
"""Each kind and dtype in both forms of the loops, each size with some of both."""


def solve(kind: tuple[str, str, str]) -> Any:
    side, form, diagonal = kind
    return lm.jit(lambda a, y: lm.call_op("graph.triangular_solve", a, y, side=side, form=form, diagonal=diagonal))


def triangle(n: int, dtype: Any, lead: tuple[int, ...] = (), seed: int = 0) -> np.ndarray:
    return (normal(*lead, n, n, dtype=dtype, seed=seed) / max(n, 1) + 2 * np.eye(n)).astype(dtype)


def wanted(kind: tuple[str, str, str], a: np.ndarray, y: np.ndarray) -> np.ndarray:
    side, form, diagonal = kind
    if not y.size:
        return y
    return scipy.linalg.solve_triangular(a, y, int(form == "transposed"), side == "lower", diagonal == "unit")


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize(("sizes", "dtype", "kind"), CASES, ids=str)
def test_solutions_are_those_of_scipy(sizes: tuple[int, int], dtype: Any, kind: tuple[str, str, str]) -> None:
    n, columns = sizes
    a, y = triangle(n, dtype), normal(n, columns, dtype=dtype, seed=1)
    assert error(solve(kind)(a, y), wanted(kind, a, y), 10.0) < 1


@every_kind
@pytest.mark.parametrize("n", [5, 70])
def test_only_one_triangle_is_read(n: int, kind: tuple[str, str, str]) -> None:
    a, y = triangle(n, np.float64), normal(n, 3, dtype=np.float64, seed=1)
    below = np.tri(n, k=-1 if kind[2] == "unit" else 0, dtype=bool)
    kept = below if kind[0] == "lower" else below.T
    assert np.array_equal(solve(kind)(np.where(kept, a, np.nan), y), solve(kind)(a, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 70])
def test_a_zero_on_the_diagonal(n: int, dtype: Any) -> None:
    a, y = triangle(n, dtype), normal(n, 3, dtype=dtype, seed=1)
    a[1, 1] = 0
    x = np.asarray(solve(("lower", "plain", "given"))(a, y))
    assert np.isfinite(x[0]).all() and not np.isfinite(x[1:]).any()


def test_ill_conditioned() -> None:
    """The residual is small whatever the condition is (Wilkinson)."""
    n = 80
    a = np.tril(-np.ones((n, n))) + 2 * np.eye(n)
    y = normal(n, 3, dtype=np.float64)
    x = np.asarray(solve(("lower", "plain", "given"))(a, y))
    assert (np.abs(a @ x - y) <= n * np.finfo(float).eps * (np.abs(a) @ np.abs(x))).all()


@pytest.mark.thorough(every=5)
@pytest.mark.parametrize("which", range(2), ids=["odd", "even"])
@pytest.mark.parametrize("lead", [(1,), (9,), (64,), (2, 5), (0,)], ids=str)
@pytest.mark.parametrize("k", range(len(KINDS)), ids=map("-".join, KINDS))
def test_stacks(k: int, lead: tuple[int, ...], which: int) -> None:
    kind, n, dtype = KINDS[k], (3, 16)[(k + which) % 2], (np.float32, np.complex128)[which]
    a, y = triangle(n, dtype, lead), normal(*lead, n, 2, dtype=dtype, seed=1)
    x = np.asarray(solve(kind)(a, y))
    for place in np.ndindex(lead):
        assert error(x[place], wanted(kind, a[place], y[place]), 10.0) < 1


@every_kind
@pytest.mark.parametrize("n", [5, 70])
def test_strides(n: int, kind: tuple[str, str, str]) -> None:
    a, y = triangle(n, np.float32), normal(n, 3, dtype=np.float32, seed=1)
    assert np.array_equal(solve(kind)(np.asfortranarray(a), np.asfortranarray(y)), solve(kind)(a, y))


@pytest.mark.thorough(every=8)
@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("which", [0, 1], ids=["blocked", "plain"])
def test_the_text_run_by_python(which: int, dtype: Any, kind: tuple[str, str, str]) -> None:
    a, y = triangle(66, dtype), normal(66, 3, dtype=dtype, seed=1)
    x = np.empty_like(y)
    by_python(SOLVERS[kind][which], a, y, x)
    assert error(x, wanted(kind, a, y), 10.0) < 1
