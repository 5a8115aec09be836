"""Parameters that jax's functions have beside NumPy's: what they mean, against jax, and that hints change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4)).astype(np.float32)
LOW = np.array(-2, np.int32)  # as a traced index: jax refuses Python's
QUERY, KEY, VALUE = (
    np.random.default_rng(k).normal(size=shape).astype(np.float32)
    for k, shape in enumerate([(2, 5, 4, 3), (2, 7, 2, 3), (2, 7, 2, 3)])
)
BIAS = np.random.default_rng(4).normal(size=(1, 4, 5, 7)).astype(np.float32)


def _attention(**options: Any) -> Callable[[Any], Any]:
    return lambda jax: jax.nn.dot_product_attention(QUERY, KEY, VALUE, **options)


def _both_halves(forward: Any, backward: Any) -> Any:
    value, residuals, aux = forward(X, X[:, :1])
    return np.concatenate([value, aux, *backward(residuals, value)], 1)


CALLS: dict[str, Callable[[Any], Any]] = {
    "negative_start": lambda jax: jax.lax.dynamic_slice(X, (LOW, LOW), (1, 2), allow_negative_indices=False),
    "negative_start_of_one_dim": lambda jax: jax.lax.dynamic_slice(X, (LOW, LOW), (1, 2), allow_negative_indices=(True, False)),
    "negative_start_in_dim": lambda jax: jax.lax.dynamic_slice_in_dim(X, LOW, 2, 1, allow_negative_indices=False),
    "negative_index": lambda jax: jax.lax.dynamic_index_in_dim(X, LOW, 0, allow_negative_indices=False),
    "negative_update": lambda jax: jax.lax.dynamic_update_slice(X, 0 * X[:1], (LOW, 0), allow_negative_indices=False),
    "negative_update_index": lambda jax: jax.lax.dynamic_update_index_in_dim(X, 0 * X[0], LOW, 0, allow_negative_indices=False),
    "logsumexp_of_a": lambda jax: jax.nn.logsumexp(a=X, axis=1, return_sign=True)[1],
    "logsumexp_of_no_axes": lambda jax: jax.nn.logsumexp(X, axis=(), return_sign=True)[1],
    "einsum_by_dot_general": lambda jax: jax.numpy.einsum("ij,kj->ik", X, X, _dot_general=jax.lax.dot_general),
    "scan_by_name": lambda jax: jax.lax.scan(f=lambda c, x: (c + x, c), init=X[0], xs=X, _split_transpose=True)[1],
    "scan_of_nothing": lambda jax: jax.lax.scan(lambda c, x: (c, c) if x == () else c, X, (), length=2)[1],
    "vmap_by_name": lambda jax: jax.vmap(fun=lambda x: x.sum(), spmd_axis_name="devices")(X),
    "grad_by_name": lambda jax: jax.grad(fun=lambda x: (x**2).sum())(X),
    "jit_without_static": lambda jax: jax.jit(lambda x: 2 * x, static_argnums=None, static_argnames=None)(X),
    "eval_shape_of_specs": lambda jax: np.zeros(jax.eval_shape(lambda: jax.ShapeDtypeStruct((3, 2), np.float32)).shape),
    "result_type_of_specs": lambda jax: np.zeros(2, jax.numpy.result_type(jax.ShapeDtypeStruct((3,), np.float32), np.int8)),
    "polyval_of_columns": lambda jax: jax.numpy.polyval(X, np.float32(0.5), unroll=2),
    "attention_in_windows": _attention(local_window_size=(2, 1)),
    "attention_in_causal_windows": _attention(local_window_size=2, is_causal=True),
    "attention_of_fewer_queries": _attention(query_seq_lengths=np.int32([3, 5])),
    "attention_of_fewer_keys": _attention(key_value_seq_lengths=np.int32([3, 7]), implementation="xla"),
    "attention_of_fewer_with_bias": _attention(
        bias=BIAS, mask=BIAS > -1, query_seq_lengths=np.int32([3, 2]), key_value_seq_lengths=np.int32([4, 6])
    ),
    "qr_raw": lambda jax: jax.numpy.linalg.qr(X, mode="raw")[0],
    "qr_raw_factors": lambda jax: jax.numpy.linalg.qr(np.stack([X.T, 2 * X.T]), mode="raw")[1],
    "qr_raw_complex": lambda jax: jax.numpy.linalg.qr(X[:3, :3] + 1j * X[:3, 1:], mode="raw")[0],
    "qr_raw_complex_factors": lambda jax: jax.numpy.linalg.qr(X[:3, :3] + 1j * X[:3, 1:], mode="raw")[1],
    "qr_multiply": lambda jax: jax.scipy.linalg.qr_multiply(X.T, X)[0],
    "qr_multiply_left": lambda jax: jax.scipy.linalg.qr_multiply(X.T, X, mode="left")[0],
    "qr_multiply_vector": lambda jax: jax.scipy.linalg.qr_multiply(X, X[:, 0])[0],
    **{f"ormqr_{left}_{transpose}": lambda jax, left=left, transpose=transpose: jax.lax.linalg.ormqr(
        jax.numpy.linalg.qr(X.T, mode="raw")[0].T, jax.numpy.linalg.qr(X.T, mode="raw")[1],
        X.T if left else X, left=left, transpose=transpose,
    ) for left in (True, False) for transpose in (True, False)},
    **{f"fft_{kind}": lambda jax, kind=kind: jax.lax.fft(X, kind, (3, 4)) for kind in ("FFT", "IFFT", "RFFT")},
    "fft_IRFFT": lambda jax: jax.lax.fft(jax.lax.fft(X, "RFFT", (4,)), jax.lax.FftType.IRFFT, (4,)) if hasattr(
        jax.lax, "FftType") else jax.lax.fft(jax.lax.fft(X, "RFFT", (4,)), "IRFFT", (4,)),
    **{f"take_along_axis_{mode}": lambda jax, mode=mode: jax.numpy.take_along_axis(
        X, np.array([[0, 3, -1, -4], [4, 9, -5, -9], [1, 1, 1, 1]], np.int32), 1, mode=mode) for mode in ("clip", "fill")},
    "take_along_axis_fill_value": lambda jax: jax.numpy.take_along_axis(X, LOW[None, None] - 9, 0, mode="fill", fill_value=5),
    "fwd_and_bwd": lambda jax: _both_halves(*jax.fwd_and_bwd(lambda x, y: (x * y * y, 2 * x), (0, 1), has_aux=True)),
    **{f"accuracy_{name}": lambda jax, name=name: getattr(jax.lax, name)(X, accuracy=None) for name in (
        "cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt", "tan", "tanh",
    )},
}  # fmt: skip


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", CALLS)
def test_equal_to_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    want, got = np.asarray(CALLS[name](jax)), np.asarray(CALLS[name](_Ours))
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


class _Ours:
    numpy, lax, nn, scipy = lm.numpy, lm.lax, lm.nn, lm.scipy
    jit, vmap, grad, eval_shape, ShapeDtypeStruct, fwd_and_bwd = map(
        staticmethod, (lm.jit, lm.vmap, lm.grad, lm.eval_shape, lm.ShapeDtypeStruct, lm.fwd_and_bwd)
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_weights_of_quantiles(name: str) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 8):
        values, weights = rng.integers(0, 5, (3, n)).astype(np.float64), rng.integers(0, 4, (3, n)) + np.eye(1, n)
        values[0, 0] = np.nan if n > 1 else 3.0
        points = np.array([0, 0.1, 0.25, 0.5, 0.75, 1]) * (100 if "percent" in name else 1)
        want = getattr(np, name)(values, points, axis=1, weights=weights, method="inverted_cdf")
        function = lambda v, w: getattr(lnp, name)(v, points, axis=1, weights=w, method="inverted_cdf")  # noqa: B023, E731
        np.testing.assert_array_equal(function(values, weights), want)
        np.testing.assert_array_equal(lm.jit(function)(values, weights), want)
    of_axis = getattr(lnp, name)(values[1:], points, axis=1, weights=weights[1], method="inverted_cdf", keepdims=True)
    whole = np.broadcast_to(weights[1], (2, 8))
    np.testing.assert_array_equal(
        of_axis, getattr(np, name)(values[1:], points, axis=1, weights=whole, method="inverted_cdf", keepdims=True)
    )


def test_what_is_refused() -> None:
    with pytest.raises(lm.ShapeError, match="weights need method='inverted_cdf'"):
        lnp.quantile(X, 0.5, weights=X)
    with pytest.raises(lm.ShapeError, match="of its one axis"):
        lnp.quantile(X, 0.5, weights=X[0], method="inverted_cdf")
    with pytest.raises(lm.ShapeError, match="one allow_negative_indices a dim"):
        lm.lax.dynamic_slice(X, (0, 0), (1, 1), allow_negative_indices=(True,))
    with pytest.raises(lm.ShapeError, match="start -1 of dim 1 is negative"):
        lm.lax.dynamic_slice(X, (0, -1), (1, 1), allow_negative_indices=False)
    with pytest.raises(TypeError, match="leave _dot_general out"):
        lnp.einsum("ij->i", X, _dot_general=np.dot)


class _Scaling:
    """No array: it says itself what it is beside one."""

    def __rmul__(self, x: Any) -> Any:
        return x + 1

    def __rpow__(self, x: Any) -> Any:
        return x - 1


def test_operands_that_are_no_arrays_are_asked() -> None:
    product, power = lm.jit(lambda x: (x * _Scaling(), x ** _Scaling()))(X)
    np.testing.assert_array_equal(product, X + 1)
    np.testing.assert_array_equal(power, X - 1)


def test_keys_that_stay_the_same() -> None:
    key = lm.random.key(3)
    assert lm.random.clone(key) == key
    assert lm.random.key_impl(key) == "threefry2x32"
    with lm.config(x64=False):
        assert lm.random.poisson(key, 3.0, (4,)).dtype == np.int32


def test_some_singular_values() -> None:
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    found = lm.jit(lambda x: lnp.linalg.svd(x, full_matrices=False, subset_by_index=(1, 3)))(X)
    np.testing.assert_allclose(found.U * found.S @ found.Vh, u[:, 1:] * s[1:] @ vt[1:], 1e-4, 1e-5)
    np.testing.assert_allclose(lnp.linalg.svd(X, compute_uv=False, subset_by_index=(0, 1)), s[:1], 1e-5)
    for subset, full in (((1, 4), False), ((2, 2), False), ((-1, 2), False), ((0, 2), True)):
        with pytest.raises(lm.ShapeError, match="subset_by_index"):
            lnp.linalg.svd(X, full_matrices=full, subset_by_index=subset)


def test_lengths_and_modes_are_checked() -> None:
    for lengths, kind in (((5,), "FFT"), ((), "RFFT"), ((4,), "IRFFT")):
        with pytest.raises(lm.ShapeError, match="as last dims"):
            lm.lax.fft(X, kind, lengths)
    with pytest.raises(lm.ShapeError, match="mode must be one of clip, fill, wrap"):
        lnp.take_along_axis(X, np.zeros((3, 1), int), 1, mode="nearest")
    with pytest.raises(ValueError, match="qr_multiply takes mode 'left' or 'right'"):
        lm.scipy.linalg.qr_multiply(X, X, mode="both")


def test_small_and_degenerate_matrices_have_raw_factors() -> None:
    for x in (np.zeros((3, 3)), np.ones((1, 1)), np.zeros((0, 2)), np.diag([1.0, 0, 3]), np.ones((4, 2)), np.ones((2, 4))):
        # behind the rank, reflectors are those of rounding errors: what they multiply to is compared, not they themselves
        (h, taus), (want, _) = lnp.linalg.qr(x, mode="raw"), np.linalg.qr(x, mode="raw")
        assert (h.shape, taus.shape) == (want.shape, (min(x.shape),))
        q = np.eye(len(x))
        for k, tau in enumerate(np.asarray(taus)):
            v = np.concatenate([np.zeros(k), np.ones(1), np.asarray(h)[k, k + 1 :]])
            q = q - tau * np.outer(q @ v, v)
        np.testing.assert_allclose(q.T @ q, np.eye(len(x)), atol=1e-12)
        np.testing.assert_allclose(q @ np.triu(np.asarray(h).T), x, atol=1e-12)


def test_traced_programs_are_lowered_and_compiled() -> None:
    assert lm.jit(lambda x: 2 * x).trace(X).lower().compile()(X)[0, 0] == 2 * X[0, 0]
