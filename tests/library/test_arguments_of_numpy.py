"""`out=`, `where=`, `dtype=` and arrays that change, outside of a trace: as NumPy has them."""

from __future__ import annotations

import array
import importlib
from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

X = np.arange(6.0).reshape(2, 3)
WITH_OUT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("all", "any", "argmax", "cos", "cumsum", "isnan", "isneginf", "mean", "median", "modf", "std"), (X,)),
    **dict.fromkeys(("add", "less", "logical_and", "maximum", "power"), (X, X[::-1])),
    **{"clip": (X, 1, 4), "compress": ([True, False], X, 0), "concatenate": ([X, X],), "dot": (X, X.T), "einsum": ("ij->i", X)},
    **{"matmul": (X, X.T), "percentile": (X, 30, 0), "sum": (X, 0), "take": (X, [0, 2]), "max": (X, 1), "round": (X / 7, 2)},
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_OUT)
def test_results_go_into_out(name: str) -> None:
    args = WITH_OUT[name]
    want = getattr(np, name)(*args)
    out = tuple(np.full_like(y, 7) for y in want) if isinstance(want, tuple) else np.full_like(want, 7)
    got = getattr(lnp, name)(*args, out=out)
    for one, into, wanted in zip(*((x,) if not isinstance(x, tuple) else x for x in (got, out, want)), strict=True):
        assert one is into
        np.testing.assert_allclose(into, wanted, rtol=1e-15)


def test_ufuncs_write_where_a_mask_holds_and_compute_in_a_dtype() -> None:
    out = np.array([7.0, 8.0, 9.0])
    assert lnp.add([1, 2, 3], 1, where=[True, False, True], out=out) is out
    np.testing.assert_array_equal(out, [2, 8, 4])
    assert lnp.negative(X[0], out) is out
    np.testing.assert_array_equal(out, -X[0])
    assert lnp.add([1, 2], 1, dtype=np.float32).dtype == np.float32
    np.testing.assert_allclose(lnp.power(np.array([-1.0, 4.0]), 0.5, dtype=complex), [1j, 2], atol=1e-15)
    np.testing.assert_array_equal(lnp.add(X[0], 1, where=[False, True, True]), [0, 2, 3])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: lnp.add([1.5], 1, out=np.zeros(1, int)), lm.DTypeError, "add gives float64 and out is int64"),
        (lambda: lnp.add(np.ones(3), 1, out=np.zeros(2)), lm.ShapeError, r"add gives shape \[3\] and out has \[2\]"),
        (lambda: lnp.add(np.ones(3), 1, out=[1]), lm.TracingError, "must be an array, got list"),
        (lambda: lnp.add(np.ones(3), 1, dtype=int), lm.DTypeError, "an operand of float64 does not go into it"),
        (lambda: lm.jit(lambda x: lnp.add(x, 1, out=np.zeros(3)))(np.ones(3)), lm.TracingError, "traced arrays do not change"),
        (lambda: lnp.sort(X, out=X), TypeError, "unexpected keyword argument 'out'"),
        (lambda: lnp.sin(1, 2, 3), TypeError, "takes 1 positional argument"),
    ],
)
def test_what_does_not_go_into_out(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "change",
    [
        lambda np, x: np.put(x, [0, -1], [9.0, 8.0]),
        lambda np, x: np.place(x, x > 2, [44, 55]),
        lambda np, x: np.fill_diagonal(x, 5),
        lambda np, x: np.put_along_axis(x, np.argmax(x, axis=1)[:, None], 99, axis=1),
        lambda np, x: np.add.at(x, (0, 1), 3.0),
    ],
)
def test_arrays_change_in_place_outside_of_a_trace(change: Callable[[Any, Any], Any]) -> None:
    ours, theirs = X.copy(), X.copy()
    assert change(lnp, ours) is None
    change(np, theirs)
    np.testing.assert_array_equal(ours, theirs)


MODES = ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")


@pytest.mark.thorough
@settings(max_examples=120, deadline=None)
@given(st.data())
def test_pad_in_every_mode(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.int32]))
    x = (np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=shape) * 5).astype(dtype)
    pair = st.tuples(st.integers(0, 8), st.integers(0, 8))
    widths = data.draw(st.lists(pair, min_size=x.ndim, max_size=x.ndim))
    mode, options = data.draw(st.sampled_from(MODES)), {}
    if mode in ("reflect", "symmetric"):
        options["reflect_type"] = data.draw(st.sampled_from(["even", "odd"]))
    elif mode in ("maximum", "mean", "median", "minimum") and data.draw(st.booleans()):
        options["stat_length"] = data.draw(st.integers(1, 6))
    elif mode == "constant":
        options["constant_values"] = data.draw(pair)
    want, got = np.pad(x, widths, mode, **options), lnp.pad(x, widths, mode, **options)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_pad_by_dim_and_by_a_function() -> None:
    np.testing.assert_array_equal(lnp.pad(X, {-1: (1, 2)}), np.pad(X, ((0, 0), (1, 2))))

    def border(row: Any, width: Any, dim: int, options: Any) -> Any:
        return lnp.concatenate([np.full(width[0], options["low"]), row[width[0] : -width[1]], np.full(width[1], 9.0 + dim)])

    want = [[10, 10, 10, 10, 10, 10], [7, 0, 1, 2, 10, 10], [7, 3, 4, 5, 10, 10], [9, 9, 9, 9, 9, 9]]
    got = lnp.pad(X, ((1, 1), (1, 2)), border, low=7.0)
    np.testing.assert_array_equal(got[1:3], want[1:3])
    with pytest.raises(lm.ShapeError, match="must return the vector"):
        lnp.pad(X, 1, lambda *args: None)


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.cross([1, 2], [3, 4]),
        lambda np: np.cross(X.T[:, :2], np.ones((3, 3))),
        lambda np: np.einsum(X, [0, 1], X, [0, 1], [1]),
        lambda np: np.einsum(np.ones((2, 3, 4)), [0, ...], [...]),
        lambda np: np.average(np.arange(24.0).reshape(2, 3, 4), axis=(2, 0), weights=np.arange(8.0).reshape(4, 2) + 1),
        lambda np: np.arange(-3, 3, 0.5, dtype=int),
        lambda np: np.arange(5, 0, -0.7, dtype=np.int32),
        lambda np: np.logspace(2.0, 3.0, num=4, base=[2.0, 3.0], axis=-1),
        lambda np: np.unravel_index([31, 41, 13], (7, 6), order="F"),
        lambda np: np.ravel_multi_index(([3, 6, 6], [4, 5, 1]), (4, 4), mode=("clip", "wrap"), order="F"),
        lambda np: np.nanmean([[1, np.nan, 3], [4, 5, np.nan]], axis=1, where=[True, False, True]),
        lambda np: np.histogram(np.arange(50.0) ** 1.5, bins="auto"),
        lambda np: np.argwhere(1),
        lambda np: np.extract(np.array([1, 0, 1, 0, 0, 0, 0, 0]), np.arange(6)),
        lambda np: np.gcd.reduce([15, 25, 35]),
        lambda np: np.add.reduceat(np.arange(8), [0, 4, 1, 5]),
        lambda np: np.asarray(array.array("i", [2, 3])),
    ],
)
def test_forms_of_arguments(call: Callable[[Any], Any]) -> None:
    for got, want in zip(*(y if isinstance(y, tuple) else (y,) for y in (call(lnp), call(np))), strict=True):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_places_of_what_is_not_zero_without_64_bits() -> None:
    with lm.config(promotion="jax", x64=False):
        assert lnp.nonzero(np.array([1, 0, 3]))[0].dtype == lnp.tril_indices(2)[0].dtype == np.int32
        (got,) = lm.jit(lambda mask: lnp.nonzero(mask, size=3))(np.array([0, 1, 1, 0], np.int32))
        assert got.dtype == np.int32 and got.tolist() == [1, 2, 0]
        rest = lm.jit(lambda a, i: lnp.delete(a, i, assume_unique_indices=True))(np.arange(4, 10), np.array([0, 1, 3]))
        assert rest.tolist() == [6, 8, 9]


def test_parts_of_scipy_are_the_same_however_they_are_imported() -> None:
    for part in lm.scipy.__all__:
        imported = importlib.import_module(f"lamina.scipy.{part}")
        name = next(name for name in getattr(lm.scipy, part).__all__ if not name.startswith("_"))
        assert getattr(imported, name) is getattr(getattr(lm.scipy, part), name)
    assert importlib.import_module("lamina.scipy.linalg").qr is lm.scipy.linalg.qr
