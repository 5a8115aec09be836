"""Rare arguments of NumPy's functions, eager and compiled, against NumPy; and the arguments that we lack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.arange(24, dtype=np.float64).reshape(2, 3, 4) % 7
N = np.where(X > 5, np.nan, X)
M = X[0]
R = np.array([[1, 2], [0, 5], [1, 2], [0, 4], [1, 2]])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "array_equal": lambda np, x: np.array_equal(x, np.where(x > 3, np.nan, x), equal_nan=True),
    "array_equal_nan": lambda np, x: np.array_equal(np.where(x > 3, np.nan, x), np.where(x > 3, np.nan, x), equal_nan=True),
    "average": lambda np, x: np.average(x, 1, np.array([1.0, 2.0, 0.5]), True),
    "average_of_all": lambda np, x: np.average(x, (0, 2), returned=True),
    "corrcoef": lambda np, x: np.corrcoef(x[0] ** 2, dtype=np.float32),
    "cov": lambda np, x: np.cov(x[1], dtype=np.float32),
    "cross": lambda np, x: np.cross(x, x[:, ::-1, ::-1] + 1, axisa=1, axisb=1, axisc=0),
    "cross_axis": lambda np, x: np.cross(x, x + 1 / (x + 2), axis=1),
    "geomspace": lambda np, x: np.geomspace(x[0] + 1, x[1] + 2, 4, axis=-1),
    "geomspace_of_one": lambda np, x: np.geomspace(1.0, x[1, 1] + 2, 1),
    "histogram_bin_edges": lambda np, x: np.histogram_bin_edges(x, 3, weights=x),
    "hstack": lambda np, x: np.hstack([x, x], dtype=np.float32),
    "isin": lambda np, x: np.isin(x, np.array([1.0, 3.0]), assume_unique=True, invert=True, kind="sort"),
    "linspace": lambda np, x: np.linspace(x[0], x[1], 5, axis=1),
    "linspace_step": lambda np, x: np.linspace(x[0, 0], 9.0, 5, endpoint=False, retstep=True, axis=-1),
    "logspace": lambda np, x: np.logspace(x[0], x[1], 3, axis=2),
    "meshgrid": lambda np, x: np.meshgrid(x[0, 0], x[1, :, 0], sparse=True, copy=False),
    "nanmax": lambda np, x: np.nanmax(np.where(x > 5, np.nan, x), 1, initial=4.5, where=x > 1),
    "nanmin": lambda np, x: np.nanmin(np.where(x > 5, np.nan, x), 2, initial=np.inf, where=x < 1),
    "nanvar": lambda np, x: np.nanvar(np.where(x > 5, np.nan, x), 1, mean=x.mean(1, keepdims=True) - 1),
    "partition": lambda np, x: np.sort(np.partition(x, (1, 2), kind="introselect")[..., 3]),
    "stack": lambda np, x: np.stack([x, x], 1, dtype=np.float32),
    "std": lambda np, x: np.std(x, 1, mean=x.mean(1, keepdims=True), correction=1),
    "trace": lambda np, x: np.trace(x, 1, axis1=2, axis2=0, dtype=np.float32),
    "trace_method": lambda np, x: x.trace(-1, 1, 2),
    "var": lambda np, x: np.var(x, (0, 2), mean=np.mean(x, (0, 2), keepdims=True), keepdims=True),
    "var_complex": lambda np, x: np.var(x + 1j * x**2, 1, mean=(x + 1j * x**2).mean(1, keepdims=True)),
    "vstack": lambda np, x: np.vstack([x, x], dtype=np.float32),
    "diagonal_method": lambda np, x: x.diagonal(1, 2, 1),
    "ptp_and_searchsorted": lambda np, x: np.ptp(x, 1) + np.sort(x.reshape(-1)).searchsorted(x[:, 0]),
    "choose_method": lambda np, x: (x[0] > 3).astype(np.int64).choose([x[0], x[1]], mode="wrap"),
}  # fmt: skip


def leaves(tree: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(y) for y in tree] if isinstance(tree, tuple | list) else [np.asarray(tree)]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_numpy(name: str) -> None:
    call = CALLS[name]
    wanted = leaves(call(np, X))
    for got in (call(lnp, lnp.asarray(X)), lm.jit(lambda x: call(lnp, x))(X)):
        for one, other in zip(leaves(got), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-6 if other.dtype == np.float32 else 1e-12, atol=1e-12)


C = (X[0] - 2.3) + 1j * X[1] / 3
OF_COMPLEX: dict[str, Callable[[Any, Any], Any]] = {
    "rint": lambda np, z: np.rint(z),
    "vecmat": lambda np, z: np.vecmat(z[:, 0], z),
    "correlate": lambda np, z: np.correlate(z[0], z[1, :3], "full"),
    "correlate_short": lambda np, z: np.correlate(z[0, :2], z[1], "same"),
    "geomspace": lambda np, z: np.geomspace(z[0] + 5, z[1] + 7j, 4),
    "linspace": lambda np, z: np.linspace(z[0], z[1], 5, endpoint=False),
    "gradient": lambda np, z: np.gradient(z, axis=1),
    "cov": lambda np, z: np.cov(z),
    "corrcoef": lambda np, z: np.corrcoef(z),
    "interp": lambda np, z: np.interp(z[0].real, np.array([-1.0, 0.0, 1.0]), np.array([1 + 1j, 2, 3j])),
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers(name: str) -> None:
    """Each was refused, or lost a part or the conjugation."""
    call = OF_COMPLEX[name]
    wanted = np.asarray(call(np, C))
    for got in (call(lnp, C), lm.jit(lambda z: call(lnp, z))(C)):
        assert np.asarray(got).dtype == wanted.dtype == np.complex128
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_closeness_of_integers_and_bools() -> None:
    u = np.uint8([1, 250, 3])
    for a, b, options in (
        (u, u[::-1], {"atol": 2}),
        (u, u + np.uint8(1), {"atol": 1}),
        (u > 2, u > 1, {}),
        (u, u > 1, {"atol": 1}),
    ):
        wanted = np.isclose(a, b, **options)
        for f in (lnp.isclose, lm.jit(lambda a, b, o=options: lnp.isclose(a, b, **o))):
            np.testing.assert_array_equal(f(a, b) if f is not lnp.isclose else f(a, b, **options), wanted)
        assert lnp.allclose(a, b, **options) == wanted.all()


def test_periodic_interpolation() -> None:
    x = np.array([-180.0, -170, -185, 185, -10, -5, 0, 365])
    points, values = np.array([190.0, -190, 350, -350]), np.array([5.0, 10, 3, 4])
    wanted = np.interp(x, points, values, period=360)
    for f in (lnp.interp, lm.jit(lambda *a: lnp.interp(*a, period=360))):
        got = f(x, points, values, period=360) if f is lnp.interp else f(x, points, values)
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_unique_along_an_axis() -> None:
    for x, axis in ((R, 0), (R, 1), (R.astype(np.float32) / 3, -2), (X, 2), (R[:1], 0)):
        wanted = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        eager = lnp.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        size = wanted[0].shape[axis]
        for fill in range(2):

            def some(x: Any, size: int = size + fill, axis: int = axis) -> Any:
                return lnp.unique(x, True, True, True, axis, size=size, fill_value=-1)

            got = lm.jit(some)(x)
            first = np.moveaxis(np.asarray(got[0]), axis, 0)
            np.testing.assert_array_equal(first[:size], np.moveaxis(wanted[0], axis, 0))
            assert (first[size:] == -1).all() and (np.asarray(got[3])[size:] == 0).all()
            for one, other in zip(got[1:], wanted[1:], strict=True):
                np.testing.assert_array_equal(np.asarray(one)[: len(other)].reshape(other.shape), other)
        for one, other in zip(eager, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    nan = np.array([2.0, np.nan, 1.0, np.nan])
    for equal in (True, False):
        wanted = np.unique(nan, equal_nan=equal)
        got = lm.jit(lambda x, equal=equal: lnp.unique(x, equal_nan=equal, size=4, fill_value=np.nan))(nan)
        np.testing.assert_array_equal(got[: len(wanted)], wanted)
    with pytest.raises(lm.errors.ShapeError, match="axis 2"):
        lm.jit(lambda x: lnp.unique(x, axis=2, size=1))(R)


OF_ALL = {"order", "like", "subok", "casting", "signature", "out", "where", "dtype", "device"}
"""Memory order and subclasses are NumPy's own; what wraps functions takes `out`, `where` and `dtype` (test_eager.py)."""

ABSENT = {
    "array": {"ndmax"},
    "asarray": {"dtype"},
    "arange": {"start_or_stop"},
    "finfo": {"dtype"},
    "iinfo": {"int_type"},
    "vectorize": {"otypes", "doc", "cache"},
    **{name: {"axes", "axis", "keepdims"} for name in ("matmul", "matvec", "vecmat", "vecdot")},
    **{name: {"overwrite_input"} for name in ("median", "nanmedian")},
    **{name: {"overwrite_input", "weights"} for name in ("quantile", "percentile", "nanquantile", "nanpercentile")},
}
"""Arguments of NumPy's functions that ours lack, or that have another name there."""


def test_every_other_argument_is_there() -> None:
    missing: dict[str, set[str]] = {}
    for name in dir(np):
        function, ours = getattr(np, name), getattr(lnp, name, None)
        if name.startswith("_") or ours is None or not callable(function):
            continue
        try:
            theirs, of_ours = inspect.signature(function).parameters, inspect.signature(ours).parameters
        except ValueError:  # written in C, with no signature
            continue
        named = {k for k, p in theirs.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if not any(p.kind == p.VAR_KEYWORD for p in of_ours.values()):
            missing[name] = named - set(of_ours) - OF_ALL - ABSENT.get(name, set())
    assert len(missing) > 200
    assert not {name: some for name, some in missing.items() if some}
