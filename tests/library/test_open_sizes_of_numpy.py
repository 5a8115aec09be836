"""Functions of `lamina.numpy` at symbolic sizes, against NumPy."""

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
    for n in (1, 2, 3, 31, 33, 1000):
        x, v = np.sort(np.random.default_rng(n).integers(0, n, n) * 1.0), np.append(np.arange(-1.0, 70), [np.nan, np.inf])
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
        lm.errors.SizeError, match="has a size that cannot be told while tracing: give the sizes bounds, or index by"
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


BY_SIZE = {
    "eigh": lambda x: lnp.linalg.eigvalsh(x),
    "lu": lambda x: lnp.linalg.solve(x, x[:, 0]),
    "fft": lambda x: lm.fft.fft(x),
    "convolution": lambda x: lnp.convolve(x[0], x[0]),
}


@pytest.mark.parametrize("name", BY_SIZE)
def test_ops_with_code_for_known_sizes_are_compiled_for_each(name: str):
    f = lm.jit(BY_SIZE[name], dynamic={"x": ("n", "n")})
    for k, n in enumerate((5, 4, 5)):
        x = np.random.default_rng(n).random((n, n))
        x = x @ x.T + n * np.eye(n)
        if k:
            found = f(x)
        else:
            with pytest.warns(UserWarning, match=r"is compiled for each size by itself, against dynamic=: ") as warned:
                found = f(x)
            assert warned[0].filename == __file__
        np.testing.assert_allclose(found, BY_SIZE[name](x), rtol=1e-9, atol=1e-9)


LIKE_NUMPY = {
    "median": lambda p, x: (p.median(x), p.quantile(x, np.array([0.1, 0.7])), p.percentile(x, 30.0)),
    "partition": lambda p, x: p.sort(p.partition(x, 2)[:3]),
    "split": lambda p, x: (*p.array_split(x, 3), *p.split(x, [1, 3])),
    "delete": lambda p, x: (p.delete(x, 1), p.delete(x, [0, 2]), p.delete(x, -1)),
    "powers": lambda p, x: (p.vander(x), p.vander(x, 3, increasing=True), p.polyder(x), p.polyint(x)),
    "resize": lambda p, x: p.resize(x, (2, 7)),
    "bits": lambda p, x: p.packbits(x > 0.5),
    "histogram": lambda p, x: p.histogram2d(x, x[::-1], 4, [[0, 1], [0, 1]])[0],
    "count down": lambda p, x: p.arange(x.shape[0], 0, -2),
    "real transforms": lambda p, x: (p.fft.rfft(p.stack([x, x, x, x], 1)), p.fft.irfft(p.stack([x, x, x], 1))),
}


@pytest.mark.parametrize("name", LIKE_NUMPY)
def test_functions_of_open_sizes_as_numpy(name: str):
    f = lm.jit(lambda x: LIKE_NUMPY[name](lnp if name != "real transforms" else _Transforms, x), dynamic={"x": ("n",)})
    for n in (7, 4, 5):
        x = np.random.default_rng(n).random(n)
        for a, b in zip(lm.tree.leaves(LIKE_NUMPY[name](np, x)), lm.tree.leaves(f(x)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-15)


class _Transforms:
    stack, fft = lnp.stack, lm.fft
