"""`x.at[index]`: all updates at all kinds of indices against NumPy's, their gradients by differences, and modes."""

from __future__ import annotations

import itertools
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

RNG = np.random.default_rng(8)
X, W = RNG.uniform(0.5, 1.5, (4, 3)), RNG.uniform(0.5, 1.5, (4, 3))

INDICES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "slice": (slice(1, 3), (2, 3)),
    "step": (slice(0, 4, 2), (2, 3)),
    "reverse": (slice(None, None, -1), (4, 3)),
    "all": (slice(None), (4, 3)),
    "none": (slice(2, 2), (0, 3)),
    "integer": (2, (3,)),
    "element": ((-1, 0), ()),
    "array": (np.array([0, 2, 2, -1]), (4, 3)),
    "pairs": ((np.array([0, 2, 2]), np.array([1, 1, 1])), (3,)),
    "array and slice": ((np.array([0, 0]), slice(0, 2)), (2, 2)),
    "mask": (np.array([True, False, True, False]), (2, 3)),
    "mask of a column": ((slice(None), np.array([True, False, True])), (4, 2)),
    "mask of all": (X > 1, (int((X > 1).sum()),)),
}
UPDATES: dict[str, Any] = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


def updated(x: np.ndarray, kind: str, index: Any, values: Any) -> np.ndarray:
    """NumPy's meaning."""
    y = x.copy()
    if kind == "set":
        y[index] = values
    else:
        UPDATES[kind].at(y, index, values)
    return y


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(("kind", "name"), [*itertools.product(UPDATES, INDICES)])
def test_updates_and_their_gradients(kind: str, name: str) -> None:
    index, shape = INDICES[name]
    values = RNG.uniform(0.5, 1.5, shape)
    f = lm.jit(lambda x, v: getattr(x.at[index], kind)(v))
    np.testing.assert_allclose(f(X, values), updated(X, kind, index, values), rtol=1e-13)

    def slope(k: int, at: tuple[int, ...], step: float = 1e-6) -> float:
        found = []
        for sign in (1, -1):
            given = [X.copy(), values.copy()]
            given[k][at] += sign * step
            found.append((updated(given[0], kind, index, given[1]) * W).sum())
        return (found[0] - found[1]) / (2 * step)

    gradients = lm.grad(lambda x, v: (f(x, v) * W).sum(), argnums=(0, 1))(X, values)
    for k, gradient in enumerate(gradients):
        wanted = np.array([slope(k, at) for at in np.ndindex(gradient.shape)]).reshape(gradient.shape)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("values", [[0.0, 2.0, 0.0, 3.0, 0.5], [0.0, 0.0, 2.0, 0.0, 0.0], [2.0, 3.0, 4.0, 5.0, 6.0]])
def test_gradient_of_products_with_zeros(values: list[float]) -> None:
    """Each update's slope is the product of the others that meet it, without a division by zero."""
    at, v = np.array([0, 0, 1, 1, 2]), np.array(values)
    wanted = [np.prod([v[j] for j in range(5) if at[j] == at[k] and j != k]) * (at[k] + 2.0) for k in range(5)]
    f = lambda v: (lnp.ones(3).at[at].multiply(v) * np.array([2.0, 3.0, 4.0])).sum()  # noqa: E731
    np.testing.assert_array_equal(lm.grad(f)(v), wanted)


OUTSIDE = [9, -9, np.array([0, 9, -1, -9, 3]), np.array([7]), (np.array([1, 5]), np.array([2, -4]))]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("case", range(len(OUTSIDE)))
def test_modes_of_indices_that_are_known_and_traced(case: int, traced: bool) -> None:
    index = OUTSIDE[case]
    parts = [np.asarray(p) for p in (index if isinstance(index, tuple) else (index,))]

    def run(use: Any) -> Any:
        if traced:
            return lm.jit(lambda x, parts: use(x, tuple(parts)))(X, parts)
        return lm.jit(lambda x: use(x, index))(X)

    counted = [np.where(p < 0, p + n, p) for p, n in zip(parts, X.shape, strict=False)]
    clipped = tuple(np.clip(p, 0, n - 1) for p, n in zip(counted, X.shape, strict=False))
    inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(counted, X.shape, strict=False)])
    dropped = X.copy()
    for point in np.ndindex(inside.shape):
        if inside[point]:
            dropped[tuple(int(p[point]) for p in counted)] += 5
    for mode in ("drop", "fill"):
        np.testing.assert_array_equal(run(lambda x, i, m=mode: x.at[i].add(5.0, mode=m)), dropped)
    np.testing.assert_array_equal(run(lambda x, i: x.at[i].add(5.0, mode="clip")), updated(X, "add", clipped, 5.0))
    np.testing.assert_array_equal(run(lambda x, i: x.at[i].get(mode="clip")), X[clipped])
    filled = np.where(inside.reshape(inside.shape + (1,) * (2 - len(parts))), X[clipped], -1.0)
    np.testing.assert_array_equal(run(lambda x, i: x.at[i].get(mode="fill", fill_value=-1.0)), filled)
    wrapped = tuple(p % n for p, n in zip(parts, X.shape, strict=False))
    np.testing.assert_array_equal(run(lambda x, i: x.at[i].get(mode="wrap")), X[wrapped])
    if not traced:
        with pytest.raises(lm.ShapeError, match="out of bounds"):
            run(lambda x, i: x.at[i].add(5.0))


def test_reads_by_known_masks() -> None:
    for index in (
        X > 1,
        (slice(None), np.array([True, False, True])),
        [True, False, False, True],
        (..., np.array([True, True, False])),
    ):
        found = lm.jit(lambda x, index=index: x[index])(X)
        np.testing.assert_array_equal(found, X[index])
        np.testing.assert_array_equal(lnp.getitem(X, index), X[index])
    with pytest.raises(lm.ShapeError, match=r"mask of shape \[3\] does not fit dims 0 and on of \[4, 3\]"):
        lm.jit(lambda x: x[np.array([True, False, True])])(X)


def test_updates_that_are_refused() -> None:
    with pytest.raises(lm.ShapeError, match="mode must be one of drop, fill, clip, promise_in_bounds, got 'wrap'"):
        lm.jit(lambda x: x.at[0].set(1.0, mode="wrap"))(X)
    with pytest.raises(lm.ShapeError, match="mode must be one of drop, fill, clip, promise_in_bounds, wrap, got 'raise'"):
        lm.jit(lambda x: x.at[0].get(mode="raise"))(X)
    for kind in ("divide", "power"):
        with pytest.raises(lm.DTypeError, match=f"{kind} needs floats, got int64"):
            lm.jit(lambda x, kind=kind: getattr(x.at[0], kind)(2))(np.arange(3))
