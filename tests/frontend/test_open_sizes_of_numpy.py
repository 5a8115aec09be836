"""Functions of `lamina.numpy` at sizes that only a call knows, against NumPy."""

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest


@pytest.mark.parametrize("offset", [0, 1, -1])
@pytest.mark.parametrize("sizes", [("n", "n"), ("n", None), (None, "n")])
def test_diagonals(sizes: tuple, offset: int):
    f = lm.jit(lambda x: (lnp.diagonal(x, offset), lnp.trace(x, offset)), dynamic={"x": sizes})
    for n in (1, 2, 4):
        x = np.random.default_rng(n).standard_normal([3 if size is None else n for size in sizes])
        diagonal, trace = f(x)
        np.testing.assert_array_equal(diagonal, np.diagonal(x, offset))
        np.testing.assert_allclose(trace, np.trace(x, offset))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str):
    f = lm.jit(lambda x, v: (lnp.searchsorted(x, v, side), lnp.isin(v, x)), dynamic={"x": ("n",)})
    for n in (1, 31, 33):
        x, v = np.arange(n) * 2.0, np.arange(-1.0, 70)
        np.testing.assert_array_equal(f(x, v)[0], np.searchsorted(x, v, side))
        np.testing.assert_array_equal(f(x, v)[1], np.isin(v, x))


STEPS = {
    "past the end": lambda x: x[:: x.shape[0] + 1],
    "diagonal": lambda x: x.reshape(-1)[:: x.shape[0] + 1],
    "other diagonal": lambda x: x.reshape(-1)[x.shape[0] - 1 :: x.shape[0] - 1][:-1],
    "backwards": lambda x: x.reshape(-1)[:: -x.shape[0] - 1],
    "rows": lambda x: x.reshape(-1)[:: x.shape[0]],
    "of columns": lambda x: x[::-1, :: 2 * x.shape[0]],
    "with a new dim": lambda x: x[1 :: x.shape[0], None, 0],
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_only_a_call_knows(name: str):
    f = lm.jit(STEPS[name], dynamic={"x": ("n", "n")})
    for n in (4, 2, 3, 5):
        x = np.arange(n * n * 1.0).reshape(n, n)
        np.testing.assert_array_equal(f(x), STEPS[name](x))


def test_slope_and_limits_of_open_steps():
    f = lm.jit(lm.grad(lambda x: (x.reshape(-1)[:: x.shape[0] + 1] ** 2).sum()), dynamic={"x": ("n", "n")})
    np.testing.assert_array_equal(f(np.arange(9.0).reshape(3, 3)), np.diag([0.0, 8, 16]))
    with pytest.raises(
        lm.errors.SizeError, match="has a size that cannot be told while tracing: say more of the sizes, or index by"
    ):
        lm.jit(lambda x, y: x[:: y.shape[0]], dynamic={"x": ("n",), "y": ("m",)})(np.ones(3), np.ones(2))
    with pytest.raises(lm.errors.ShapeError, match="step must not be 0"):
        lm.jit(STEPS["rows"], dynamic={"x": ("n", "n")})(np.ones((0, 0)))


UPDATES = {
    "from": lambda x: x.at[1:].set(0),
    "to": lambda x: x.at[:-1].add(1),
    "stepped": lambda x: x.at[::2].mul(3),
    "reversed": lambda x: x.at[::-1].set(lnp.arange(x.shape[0]) * 1.0),
    "first": lambda x: x.at[:2].set(7),
    "an open step": lambda x: x.at[:: x.shape[0] + 2].set(3),
    "points of rows": lambda x: x[:, None].repeat(3, 1).at[1:, np.array([0, 2])].add(5),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_slices(name: str):
    f = lm.jit(UPDATES[name], dynamic={"x": ("n",)})
    for n in (4, 2, 3, 1, 0):
        x = np.arange(n * 1.0)
        np.testing.assert_array_equal(f(x), lm.jit(UPDATES[name])(x))
