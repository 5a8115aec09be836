"""Creation, shapes, indexing, reductions and products of lamina.numpy against NumPy."""

from __future__ import annotations

import math
import warnings
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
M = np.arange(12).reshape(3, 4)
V = np.array([3.0, 1.0, 2.0])
DTYPES = ["float32", "float64", "int32", "int64", "bool"]


def same(got: Any, want: Any, rtol: float = 0) -> None:
    """Equal trees of arrays: shapes, dtypes, values."""
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, rtol)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape} for {want.dtype}{want.shape}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


CASES = [
    ("reshape", X, (6, -1)), ("reshape", X, -1), ("reshape", X, (4, 3, 2)), ("ravel", X), ("transpose", X),
    ("transpose", X, (1, 0, 2)), ("transpose", X, (-1, 0, 1)), ("swapaxes", X, 0, -1), ("moveaxis", X, 0, -1),
    ("moveaxis", X, (0, 1), (2, 0)), ("rollaxis", X, 2), ("rollaxis", X, 0, 3), ("expand_dims", X, 0),
    ("expand_dims", X, (0, -1)), ("squeeze", X[:, :1]), ("squeeze", X[:1, :1], 0), ("broadcast_to", V, (2, 3)),
    ("broadcast_to", V[:, None], (3, 2)), ("broadcast_arrays", V, V[:, None]), ("concatenate", [X, X], 1),
    ("concatenate", [X, X], None), ("concatenate", [M, M.astype(np.float32)]), ("stack", [V, V]), ("stack", [V, V], -1),
    ("vstack", [V, V]), ("hstack", [V, V]), ("hstack", [M, M]), ("dstack", [M, M]), ("column_stack", [V, V]),
    ("split", M, 2, 1), ("split", M, [1, 3], 1), ("array_split", M, 3, 1), ("array_split", M, [1, 9, -1]), ("hsplit", M, 2),
    ("vsplit", M, 3), ("flip", X), ("flip", X, 1), ("flip", X, (0, 2)), ("flipud", M), ("fliplr", M), ("rot90", M),
    ("rot90", M, 2), ("rot90", M, -1), ("roll", M, 2), ("roll", M, -1, 1), ("roll", M, (1, 2), (0, 1)),
    ("roll", M, 1, (0, 1)), ("tile", M, 2), ("tile", M, (2, 1, 3)), ("tile", X, (2,)), ("repeat", M, 2),
    ("repeat", M, 2, 1), ("repeat", M, [1, 0, 2], 0), ("pad", M, 1), ("pad", M, ((1, 0), (0, 2))), ("pad", V, (2, 1)),
    ("atleast_1d", 3.0), ("atleast_2d", V), ("atleast_3d", V), ("atleast_3d", M), ("matrix_transpose", X), ("tril", M),
    ("triu", M), ("tril", M, 1), ("triu", M, -1), ("tril", V), ("diag", V), ("diag", V, 1), ("diag", V, -2), ("diag", M),
    ("diag", M, 2), ("diagonal", X), ("diagonal", X, 1, 1, 2), ("diagonal", M, -1), ("diagonal", M[:0]),
    ("trace", M), ("meshgrid", V, M[0]),
    ("sum", X), ("sum", X, 1), ("sum", X, (0, -1)), ("sum", M), ("sum", M > 3), ("sum", M.astype(np.int32), 0),
    ("sum", X, ()), ("prod", M + 1, 0), ("prod", X, -1), ("prod", M > 3), ("max", X), ("max", X, (0, 2)), ("min", M, 0),
    ("max", M > 5, 1), ("ptp", M, 1), ("any", M > 5, 0), ("all", M, 1), ("any", X), ("argmax", X), ("argmax", X, 1),
    ("argmin", M, -1), ("argmin", X), ("mean", X), ("mean", X, (0, 1)), ("mean", M), ("mean", M > 5, 0), ("var", X),
    ("var", X, 1), ("var", M, 0), ("std", X, (1, 2)), ("std", M), ("average", X, 0), ("average", M, 1, np.arange(4.0)),
    ("count_nonzero", M), ("count_nonzero", M, 1), ("nansum", X), ("nanmean", X, 0), ("nanmax", X, 1), ("nanmin", X),
    ("matmul", X, X.swapaxes(1, 2)), ("matmul", M, M.T), ("matmul", X, V.astype(np.float32)[:1].repeat(4)),
    ("matmul", V, M), ("matmul", M.T, V), ("matmul", V, V), ("matmul", M > 3, M.T > 3),
    ("matmul", M[:, :3], X.astype(np.float64)), ("matmul", V, X), ("dot", M, M.T), ("dot", X, X[0].T), ("dot", 2.0, V),
    ("dot", V, X), ("inner", X, X), ("inner", V, V), ("vdot", M, M), ("outer", V, M), ("tensordot", X, X, 1 - 1),
    ("tensordot", X, X, ([1, 2], [1, 2])), ("tensordot", M, M, 2), ("kron", M, V), ("kron", V, V), ("cross", M[:, :3], V),
    ("vecdot", X, X), ("zeros", (2, 3)), ("zeros", 3, int), ("ones", (2,), "float32"), ("full", (2, 2), 7),
    ("full", (2,), 1.5, "float32"), ("zeros_like", M), ("ones_like", X), ("full_like", X, 3), ("arange", 5),
    ("arange", 2, 9, 3), ("arange", 1.0, 2.0, 0.25), ("arange", 5, 0, -2), ("arange", 0), ("arange", 3.0),
    ("linspace", 0, 1, 5), ("linspace", 0.0, 1.0, 4, False), ("linspace", 1, 2, 1),
    ("linspace", 0, 10, 3, True, False, "int64"), ("eye", 3), ("eye", 2, 4, 1), ("identity", 2), ("tri", 3),
    ("tri", 2, 3, 1), ("array", [[1, 2], [3, 4]]), ("array", 2.5), ("asarray", [True, False]), ("array_equal", M, M),
    ("allclose", V, V + 1e-9), ("logspace", 0, 2, 3), ("shape", X), ("ndim", X), ("size", X), ("size", X, 1),
]  # fmt: skip


def _id(case: Any) -> str:
    parts = [
        f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else "..." if isinstance(a, list) else str(a) for a in case[1:]
    ]
    return f"{case[0]}({', '.join(parts)})"


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_as_numpy(case: Any) -> None:
    name, *args = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = getattr(np, name)(*args)
    same(getattr(lnp, name)(*args), want, 2e-6)


TRACED = [case for case in CASES if isinstance(case[1], np.ndarray)]


@pytest.mark.parametrize("case", TRACED, ids=_id)
def test_traced_as_numpy(case: Any, interpret: Any) -> None:
    """The same under trace: the array is an argument of the module, NumPy's own function is called on the tracer."""
    name, x, *args = case
    want = getattr(np, name)(x, *args)
    if name in ("shape", "ndim", "size"):
        return
    module = lm.make_graph(lambda x: getattr(np if name != "matrix_transpose" else lnp, name)(x, *args))(x)
    module.verify()
    got = interpret(module, x)
    same(got if isinstance(want, tuple | list) else got[0], tuple(want) if isinstance(want, list) else want, 2e-6)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all"])
def test_reductions(name: str, dtype: str, axis: Any) -> None:
    x = np.random.default_rng(1).integers(0, 3, (2, 3, 4)).astype(dtype)
    for keepdims in (False, True):
        same(getattr(lnp, name)(x, axis, keepdims=keepdims), getattr(np, name)(x, axis=axis, keepdims=keepdims), 2e-6)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions(name: str) -> None:
    x = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, -1.0]])
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            same(getattr(lnp, name)(x, axis, keepdims=keepdims), getattr(np, name)(x, axis, keepdims=keepdims))


def test_reduction_options() -> None:
    same(lnp.sum(M, dtype="float32"), np.sum(M, dtype="float32"))
    same(lnp.var(X, ddof=1), np.var(X, ddof=1), 1e-6)
    same(lnp.max(np.zeros((0, 2)), 0, initial=-1.0), np.max(np.zeros((0, 2)), 0, initial=-1.0))
    same(lnp.sum(np.zeros((0, 3), np.float32), 0), np.zeros(3, np.float32))
    assert np.isnan(lnp.mean(np.zeros(0)))
    with pytest.raises(lm.ShapeError, match="over no elements"):
        lnp.max(np.zeros(0))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)), ("i,i->", (3,), (3,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,i->j", (2, 3), (2,)),
    ("...->...", (2, 3)), ("ijk,k->...", (2, 3, 4), (4,)), ("ij,kl->jl", (2, 3), (4, 5)), ("ji", (2, 3)),
    ("ij,jk->ik", (2, 1), (3, 4)), ("ijj->i", (2, 3, 3)), ("i,ij,j->", (2,), (2, 3), (3,)), ("...i->i...", (2, 3, 4)),
    ("iij,jk->ik", (2, 2, 3), (3, 4)), ("iii->i", (3, 3, 3)), ("ijij->ji", (2, 3, 2, 3)), ("ijij", (2, 3, 2, 3)),
    ("ii->i", (0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
def test_einsum(case: Any) -> None:
    subscripts, *shapes = case
    arrays = [np.random.default_rng(k).standard_normal(s) for k, s in enumerate(shapes)]
    if subscripts == "ijk,k->...":
        with pytest.raises((lm.ShapeError, ValueError)):
            lnp.einsum("ijk,k->..z", *arrays)
        return
    same(lnp.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays), 1e-12)


# -- indexing


def _indices(n: int) -> st.SearchStrategy[Any]:
    limits = st.none() | st.integers(-n - 2, n + 2)
    slices = st.builds(slice, limits, limits, st.none() | st.integers(-3, 3).filter(bool))
    return slices | (st.integers(-n, n - 1) if n else slices)


@st.composite
def indexings(draw: Any) -> Any:
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    index: list[Any] = []
    kept = draw(st.integers(0, len(shape)))
    ellipsis_at = draw(st.none() | st.integers(0, kept))
    for k in range(kept):
        if k == ellipsis_at:
            index.append(Ellipsis)
            ellipsis_at = -1
        place = k if ellipsis_at != -1 else k - kept
        index.append(draw(_indices(shape[place])))
        if draw(st.integers(0, 4)) == 0:
            index.append(None)
    return tuple(shape), tuple(index)


@given(indexings())
@settings(max_examples=150, deadline=None)
def test_indexing(case: Any) -> None:
    shape, index = case
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    same(lnp.getitem(x, index), x[index])


@pytest.mark.parametrize(
    ("index", "match"),
    [
        (np.array([True, False, True]), r"mask of shape \[3\] does not fit dims 0 and on of \[2, 3\]"),
        ([0, 2], "index 2 is out of bounds"),
        ([0.5], "indices must be integers"),
        ((0, 0, 0), "too many indices"),
        (5, "out of bounds"),
        ((..., ...), "only one ellipsis"),
        ("a", "must be an integer"),
        (1.5, "must be an integer"),
        (slice(0, 2, 0), "step must not be 0"),
    ],
)
def test_wrong_indices(index: Any, match: str) -> None:
    with pytest.raises(lm.LaminaError, match=match):
        lm.make_graph(lambda x: x[index])(np.zeros((2, 3)))


@pytest.mark.parametrize("call", ["x[5]", "x[0, 0, 0]", "x[[0, 2]]", "np.sum(x, axis=2)", "np.expand_dims(x, 4)"])
def test_what_is_out_of_bounds_is_an_index_error_traced_too(call: str) -> None:
    function = eval(f"lambda np, x: {call}")
    with pytest.raises(IndexError):
        function(np, np.zeros((2, 3)))
    with pytest.raises(lm.BoundsError):
        lm.make_graph(lambda x: function(lnp, x))(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("matvec", (3, 1), 4), ("matvec", 4, 4), ("vecmat", 1, (4, 3)), ("vecdot", 1, 4), ("vecdot", (), 4)],
)
def test_sizes_that_are_summed_over_do_not_broadcast(name: str, left: Any, right: Any) -> None:
    for module in (np, lnp):
        with pytest.raises(ValueError, match=name):
            getattr(module, name)(np.ones(left), np.ones(right))


def test_arrays_like_a_shape_and_dtype() -> None:
    spec = lm.eval_shape(lambda x: x.sum(0), np.ones((2, 3), np.int8))
    for made, value in ((lnp.zeros_like(spec), 0), (lnp.ones_like(spec), 1), (lnp.full_like(spec, 7), 7)):
        same(made, np.full(spec.shape, value, spec.dtype))


def test_traced_masks_and_floats_are_refused() -> None:
    with pytest.raises(lm.TracingError, match="boolean mask"):
        lm.make_graph(lambda x: x[x > 0])(V)
    with pytest.raises(lm.DTypeError, match="must be integers"):
        lm.make_graph(lambda x, k: x[k])(V, 1.0)


def test_gather_of_constants_in_arrays(interpret: Any) -> None:
    module = lm.make_graph(lambda x, y: lnp.array([x, y * 2, 3.0]))(1.0, 2.0)
    same(interpret(module, 1.0, 2.0)[0], np.array([1.0, 4.0, 3.0]))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: lnp.reshape(X, (5, -1)), r"cannot reshape \[2, 3, 4\]"),
        (lambda: lnp.transpose(X, (0, 1)), "no permutation"),
        (lambda: lnp.concatenate([X, M]), "array 1 is"),
        (lambda: lnp.stack([V, M]), "array 1 is"),
        (lambda: lnp.sum(X, 3), "axis 3 is out of bounds"),
        (lambda: lnp.sum(X, (0, 0)), "duplicate"),
        (lambda: lnp.matmul(M, M), "lhs dim 1 is 4, rhs dim 0 is 3"),
        (lambda: lnp.add(V, np.zeros(4)), "could not be broadcast"),
        (lambda: lnp.split(M, 3, 1), "not equal"),
        (lambda: lnp.squeeze(X, 0), "axis 0 of size 2"),
        (lambda: lnp.einsum("ij,jk->ik", M, M), "'j' has sizes 4 and 3"),
        (lambda: lnp.broadcast_to(V, (4,)), "cannot broadcast"),
        (lambda: lnp.zeros((-1,)), "must not be negative"),
        (lambda: lnp.pad(V, 1, "middle"), "must be one of empty, constant, .* got 'middle'"),
    ],
)
def test_shape_errors(call: Any, match: str) -> None:
    with pytest.raises(lm.ShapeError, match=match):
        call()


def test_names_that_are_missing() -> None:
    with pytest.raises(AttributeError, match="compute it outside"):
        _ = lnp.busday_count
    with pytest.raises(AttributeError, match="NumPy has none either"):
        _ = lnp.nonsense


def test_nn() -> None:
    x = X.astype(np.float64)
    e = np.exp(x - x.max(-1, keepdims=True))
    same(lm.nn.softmax(x), e / e.sum(-1, keepdims=True), 1e-12)
    same(lm.nn.log_softmax(x), np.log(e / e.sum(-1, keepdims=True)), 1e-12)
    same(lm.nn.logsumexp(x, 1, keepdims=True), np.log(np.exp(x).sum(1, keepdims=True)), 1e-12)
    same(lm.nn.logsumexp(x), np.log(np.exp(x).sum()), 1e-12)
    same(lm.nn.relu(x), np.maximum(x, 0))
    same(lm.nn.sigmoid(x), 1 / (1 + np.exp(-x)), 1e-12)
    same(lm.nn.erf(x), np.vectorize(math.erf)(x), 1e-12)
    same(lm.nn.silu(x), x / (1 + np.exp(-x)), 1e-12)
    same(lm.nn.softplus(x), np.log1p(np.exp(x)), 1e-12)
    same(lm.nn.one_hot(np.array([0, 2]), 3), np.eye(3, dtype=np.float32)[[0, 2]])
    same(lm.nn.one_hot(np.array([0, 2]), 3, axis=0), np.eye(3, dtype=np.float32)[[0, 2]].T)
    labels = np.array([0, 3, 1])
    logits = x[0]
    want = -np.log(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))[np.arange(3), labels].mean()
    same(lm.nn.cross_entropy(logits, labels), want, 1e-12)
    same(lm.nn.cross_entropy(logits, np.eye(4)[labels]), want, 1e-12)
    same(lm.nn.gelu(x, approximate=False), lm.nn.gelu(x), 1e-2)
    with pytest.raises(lm.ShapeError, match="one label for each example"):
        lm.nn.cross_entropy(x, labels)


def test_roll_by_arrays() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for shift, axis in ((np.array([1, -2]), (0, 1)), (np.array([3]), (0, 1)), ((1,), (1, 0)), (np.array([1, 2]), 1)):
        for roll in (lnp.roll, lm.jit(lnp.roll, static_argnums=2)):
            np.testing.assert_array_equal(roll(x, shift, axis), np.roll(x, shift, axis))
