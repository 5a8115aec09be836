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


def test_step_that_only_a_call_knows():
    with pytest.raises(lm.errors.SizeError, match="a slice has a step that is known"):
        lm.jit(lambda x: x[:: x.shape[0] + 1], dynamic={"x": ("n",)})(np.ones(3))
