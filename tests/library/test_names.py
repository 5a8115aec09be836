"""Functions of lamina.numpy and lamina.linalg that are composed of others, against NumPy: eager and under jit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

ULPS = 64


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (rng.normal(size=shape) * 3).astype(dtype) if np.dtype(dtype).kind != "b" else rng.random(shape) > 0.5


def same(got: Any, want: Any, what: Any = "") -> None:
    if isinstance(want, tuple | list):
        assert len(got) == len(want), what
        for g, w in zip(got, want, strict=True):
            same(g, w, what)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{what}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, str(what))
        return
    eps = float(np.finfo(want.dtype).eps)
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    np.testing.assert_allclose(got, want, rtol=ULPS * eps, atol=ULPS * eps * scale, err_msg=str(what))


def both(function: Callable[[Any], Callable[..., Any]], *args: Any) -> None:
    """One program with NumPy's names and with ours; where NumPy raises, ours does."""
    on_each(function, [args])


def on_each(function: Callable[[Any], Callable[..., Any]], calls: Iterable[tuple[Any, ...]]) -> None:
    """`both` for the arguments of several calls, which are compiled as one program."""
    ours, wanted = function(lnp), list[tuple[tuple[Any, ...], Any]]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for args in calls:
            try:
                want = function(np)(*[np.copy(a) for a in args])
            except (ValueError, IndexError, ZeroDivisionError):
                with pytest.raises((ValueError, IndexError, TypeError, ZeroDivisionError)):
                    ours(*args)
                continue
            same(ours(*args), want, "eager")
            wanted.append((args, want))
        if wanted:
            found = lm.jit(lambda calls: [ours(*args) for args in calls])([args for args, _ in wanted])
            same(found, [want for _, want in wanted], "jit")


OF_ONE: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "cbrt": lambda np: np.cbrt,
    "sinc": lambda np: np.sinc,
    "modf": lambda np: np.modf,
    "frexp": lambda np: np.frexp,
    "isposinf": lambda np: np.isposinf,
    "nansum": lambda np: np.nansum,
    "nanprod": lambda np: lambda x: np.nanprod(x, axis=None),
    "nanvar": lambda np: lambda x: np.nanvar(x, ddof=1),
    "nanstd": lambda np: np.nanstd,
    "nancumsum": lambda np: np.nancumsum,
    "cumulative_sum": lambda np: lambda x: np.cumulative_sum(x, axis=-1, include_initial=True),
    "diff": lambda np: np.diff,
    "diff_ends": lambda np: lambda x: np.diff(x, 2, prepend=1, append=2),
    "ediff1d": lambda np: lambda x: np.ediff1d(x, to_begin=np.zeros(1, x.dtype), to_end=np.ones(2, x.dtype)),
    "gradient": lambda np: np.gradient,
    "gradient_2": lambda np: lambda x: np.gradient(x, 0.5, axis=-1, edge_order=2),
    "trapezoid": lambda np: lambda x: np.trapezoid(x, dx=0.25),
    "vander": lambda np: np.vander,
    "append": lambda np: lambda x: np.append(x, x),
    "append_axis": lambda np: lambda x: np.append(x, x, axis=0),
    "resize": lambda np: lambda x: np.resize(x, (2, 5)),
    "diagflat": lambda np: lambda x: np.diagflat(x, -1),
    "unstack": lambda np: lambda x: list(np.unstack(x, axis=-1)),
    "block": lambda np: lambda x: np.block([[x, x], [x, x]]),
    "insert": lambda np: lambda x: np.insert(x, 1, 7),
    "insert_axis": lambda np: lambda x: np.insert(x, [0, 1, 1], 7, axis=-1),
    "insert_end": lambda np: lambda x: np.insert(x, slice(0, 2), [3, 4]),
    "delete": lambda np: lambda x: np.delete(x, 0),
    "delete_axis": lambda np: lambda x: np.delete(x, [0, -1], axis=-1),
    "reshape_f": lambda np: lambda x: np.reshape(x, (2, -1), order="F"),
    "ravel_f": lambda np: lambda x: np.ravel(x, order="F"),
    "cov": lambda np: lambda x: np.cov(x, ddof=0),
    "cov_columns": lambda np: lambda x: np.cov(x, rowvar=False, bias=True),
    "norm": lambda np: np.linalg.norm,
    "norm_1": lambda np: lambda x: np.linalg.norm(x, 1, axis=-1),
    "norm_3": lambda np: lambda x: np.linalg.norm(x, 3, axis=0, keepdims=True),
    "norm_of_matrix": lambda np: lambda x: np.linalg.norm(x, -np.inf, axis=(0, 1)),
    "matrix_norm": lambda np: lambda x: np.linalg.matrix_norm(x, ord=1),
    "vector_norm": lambda np: lambda x: np.linalg.vector_norm(x, ord=0),
    "linalg_trace": lambda np: lambda x: np.linalg.trace(x, offset=1),
    "select": lambda np: lambda x: np.select([x > 1, x > -1], [x * 2, -x], 5),
    "piecewise": lambda np: lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: v * v, 3, lambda v: -v]),
    "tril_indices_from": lambda np: lambda x: x[np.tril_indices_from(x, -1)],
    "polyder": lambda np: np.polyder,
    "nonzero": lambda np: lambda x: np.arange(3)[np.nonzero(np.array([1, 0, 2]))[0]] + 0 * x.size,
    "sum_where": lambda np: lambda x: np.sum(x, where=x > 0, initial=2, axis=0),
    "prod_where": lambda np: lambda x: np.prod(x, where=x > 0, keepdims=True),
    "max_where": lambda np: lambda x: np.max(x, where=x > 0, initial=-1, axis=-1),
    "mean_where": lambda np: lambda x: np.mean(x, where=x > 0, axis=0),
    "var_where": lambda np: lambda x: np.var(x, where=x > -4, axis=-1, keepdims=True),
    "any_where": lambda np: lambda x: np.any(x > 1, where=x < 2),
    "indices": lambda np: lambda x: np.indices(x.shape),
    "mgrid": lambda np: lambda x: np.mgrid[0:3, 1:2:0.5][0] + 0 * x.size,
    "r_": lambda np: lambda x: np.r_[x.ravel(), 1:4, 9],
    "c_": lambda np: lambda x: np.c_[x.ravel(), x.ravel()],
}
OF_ONE |= {
    f"pad_{mode}": lambda np, mode=mode: lambda x: np.pad(x, [(2, 3)] * x.ndim, mode=mode)
    for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "minimum")
}
OF_EACH = (
    *(((0,), "float64"), ((1,), "float32"), ((5,), "float64"), ((5,), "int64")),
    *(((3, 4), "float32"), ((3, 4), "int64"), ((0, 3), "float64")),
)
# NumPy computes it of other numbers than ours has a dtype or a meaning for
OTHERWISE = {("frexp", "int64"), ("pad_mean", "int64")}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_array(name: str) -> None:
    of_each = [(shape, dtype) for shape, dtype in OF_EACH if (name, dtype) not in OTHERWISE]
    on_each(OF_ONE[name], [(numbers(shape, dtype),) for shape, dtype in of_each])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 3), (3, 5), (7, 2), (4, 4), (2, 6)])
def test_convolutions(n: int, m: int, mode: str) -> None:
    for dtype in ("float32", "float64", "int64"):
        args = numbers((n,), dtype), numbers((m,), dtype, 1)
        both(lambda np: lambda a, v: (np.convolve(a, v, mode), np.correlate(a, v, mode)), *args)


OF_TWO: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "logaddexp2": lambda np: np.logaddexp2,
    "polyadd": lambda np: np.polyadd,
    "polyval": lambda np: np.polyval,
    "polymul": lambda np: np.polymul,
    "interp of many": lambda np: lambda x, y: np.interp(np.linspace(-3, 12, 200), np.cumsum(np.abs(x)), y),
    "interp": lambda np: lambda x, y: np.interp(x, np.cumsum(np.abs(y)), np.arange(1.0, 6.0), left=-1),
    "corrcoef": lambda np: np.corrcoef,
    "cov_weights": lambda np: lambda x, y: np.cov(x, aweights=np.abs(y)),
    "trapezoid": lambda np: lambda x, y: np.trapezoid(x, y),
    "linalg_outer": lambda np: lambda x, y: np.linalg.outer(x, y),
    "gradient_of_coordinates": lambda np: lambda x, y: np.gradient(x, np.cumsum(np.abs(y) + 1)),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_vectors(name: str) -> None:
    on_each(OF_TWO[name], [(numbers((5,), dtype), numbers((5,), dtype, 1)) for dtype in ("float32", "float64")])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_taken_apart(dtype: str) -> None:
    limits = np.finfo(dtype)
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-1, 1, 400), rng.integers(limits.minexp - limits.nmant, limits.maxexp, 400)).astype(dtype)
    x = np.concatenate([x, [0, -0.0, np.inf, -np.inf, limits.tiny, limits.smallest_subnormal, limits.max]]).astype(dtype)
    both(lambda np: np.frexp, x)
    for spread in (40, 3 * limits.maxexp):
        both(lambda np: np.ldexp, x, rng.integers(-spread, spread, x.size).astype(np.int32))
    # of subnormal results: two roundings would be seen
    exponents = (limits.minexp - limits.nmant + 4 - np.frexp(x)[1]).astype(np.int32)
    both(lambda np: np.ldexp, x, exponents)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_common_divisors_and_powers(dtype: str) -> None:
    rng = np.random.default_rng(2)
    limits = np.iinfo(dtype)
    x, y = (rng.integers(max(limits.min + 1, -(2**62)), min(limits.max, 2**62), 50).astype(dtype) for _ in range(2))
    x[:3], y[1:4] = [0, 6, 0], [4, 0, 1]
    both(lambda np: np.gcd, x, y)
    both(lambda np: np.lcm, *(np.asarray(v, dtype) for v in ([4, 6, 0, 7], [6, 4, 3, 0])))
    both(lambda np: np.power, x, rng.integers(0, 9, 50).astype(dtype))
    both(lambda np: np.power, np.array([3, 5, 2, 0], dtype), np.array([100, 70, 90, 0], dtype))


def test_a_traced_negative_exponent_is_a_quotient() -> None:
    got = lm.jit(lnp.power)(np.array([1, -1, -1, 2, 0]), np.array([-3, -3, -2, -1, -1]))
    assert got.tolist() == [1, -1, 1, 0, 0]


def test_updates_are_new_arrays() -> None:
    x = numbers((3, 4), "float64")
    for ours, theirs in (
        (lambda v: lnp.put(v, [1, 2, 11], [5, 6], inplace=False), lambda v: np.put(v, [1, 2, 11], [5, 6])),
        (lambda v: lnp.fill_diagonal(v, [7, 8], inplace=False), lambda v: np.fill_diagonal(v, [7, 8])),
        (lambda v: lnp.fill_diagonal(v.T, 7, inplace=False).T, lambda v: np.fill_diagonal(v.T, 7)),
        (
            lambda v: lnp.put_along_axis(v, np.array([[0], [3], [-1]]), 9, 1, inplace=False),
            lambda v: np.put_along_axis(v, np.array([[0], [3], [-1]]), 9, 1),
        ),
    ):
        want = x.copy()
        theirs(want)
        same(ours(x), want)
        same(lm.jit(ours)(x), want)
    for refused in (lambda: lnp.put([1.0, 2.0], [1], 2.0), lambda: lm.jit(lambda v: lnp.put(v, [1], 2.0))(x)):
        with pytest.raises(lm.TracingError, match="inplace=False"):
            refused()
    with lm.config(promotion="jax"), pytest.raises(lm.TracingError, match="inplace=False"):
        lnp.put(x, [1], 2.0)


def test_places_that_are_not_zero() -> None:
    x = np.array([[0, 3, 0], [5, 0, 7]])
    for size in (0, 1, 3, 5):
        got = lm.jit(lambda v: lnp.nonzero(v, size=size, fill_value=-1))(x)  # noqa: B023
        for g, w in zip(got, np.nonzero(x), strict=True):
            assert g.tolist() == (w.tolist() + [-1] * size)[:size]
    same(lm.jit(lambda v: lnp.argwhere(v, size=3))(x), np.argwhere(x))
    same(lnp.flatnonzero(x), np.flatnonzero(x))
    same(lm.jit(lambda c, v: lnp.compress(c, v, axis=1, size=2))(np.array([True, False, True]), x), x[:, [0, 2]])
    same(lnp.extract(x > 2, x), np.extract(x > 2, x))
    with pytest.raises(lm.TracingError, match="size="):
        lm.jit(lnp.nonzero)(x)


def test_flat_indices() -> None:
    k = np.array([0, 5, 23])
    same(lm.jit(lambda v: lnp.unravel_index(v, (2, 3, 4)))(k), np.unravel_index(k, (2, 3, 4)))
    parts = np.array([1, 9]), np.array([-2, 2]), np.array([3, 4])
    for mode in ("clip", "wrap"):
        want = np.ravel_multi_index(parts, (2, 3, 4), mode=mode)
        same(lm.jit(lambda *p: lnp.ravel_multi_index(p, (2, 3, 4), mode=mode))(*parts), want)  # noqa: B023
    with pytest.raises(lm.ShapeError, match="out of range"):
        lnp.unravel_index(24, (2, 3, 4))
    with pytest.raises(lm.ShapeError, match="out of range"):
        lnp.ravel_multi_index(parts, (2, 3, 4))
    with pytest.raises(lm.TracingError, match="mode='clip'"):
        lm.jit(lambda *p: lnp.ravel_multi_index(p, (2, 3, 4)))(*parts)


def test_choices() -> None:
    choices = numbers((3, 4), "float64")
    k = np.array([0, 2, 1, 2])
    same(lnp.choose(k, list(choices)), np.choose(k, choices))
    for mode in ("clip", "wrap"):
        want = np.choose(k * 2 - 3, choices, mode=mode)
        same(lm.jit(lambda i, c: lnp.choose(i, [c[0], c[1], c[2]], mode=mode))(k * 2 - 3, choices), want)  # noqa: B023
    with pytest.raises(lm.ShapeError, match="from 0 to 2"):
        lnp.choose(np.array([3]), list(choices))


def test_products_of_many_matrices() -> None:
    xs = [numbers(s, "float64") for s in ((2, 9), (9, 3), (3, 8), (8,))]
    same(lm.jit(lambda *a: lnp.linalg.multi_dot(a))(*xs), np.linalg.multi_dot(xs))
    for n in (0, 1, 2, 5, -1, -3):
        both(lambda np: lambda a: np.linalg.matrix_power(a, n), numbers((2, 3, 3), "float64"))  # noqa: B023


def test_a_grid_of_points() -> None:
    same(lnp.mgrid[0:1:3j, 2:4], np.mgrid[0:1:3j, 2:4])
    same(lnp.ogrid[0:3, 1:2], list(np.ogrid[0:3, 1:2]))
    same(lnp.geomspace(1, 1000, 4), np.geomspace(1, 1000, 4))
    same(lnp.geomspace(-8, -1, 4, endpoint=False), np.geomspace(-8, -1, 4, endpoint=False))
    same(lnp.fromfunction(lambda i, j: i * 3 + j, (2, 3)), np.fromfunction(lambda i, j: i * 3 + j, (2, 3)))
    same(lm.jit(lambda a, b: lnp.ix_(a, b))(np.arange(2), np.arange(3)), np.ix_(np.arange(2), np.arange(3)))
