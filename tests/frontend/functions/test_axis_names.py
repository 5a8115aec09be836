"""`vmap(axis_name=)` and the collectives: values by NumPy, derivatives by differences, errors. Against jax: conformance."""

from __future__ import annotations

import lamina as lm
import lamina.lax as lax
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import ShapeError, TracingError

X = np.random.default_rng(5).normal(size=(4, 3))


def over(f, **more):
    return lm.vmap(f, axis_name="i", **more)


def test_values():
    @lm.jit
    def all_of(x):
        def one(v):
            gathered = lax.all_gather(v, "i")
            moved = lax.ppermute(v, "i", [(0, 2), (2, 1)])
            return lax.psum(v, "i"), lax.pmean(v, "i"), lax.pmax(v, "i"), lax.pmin(v, "i"), gathered, moved, lax.axis_index("i")

        return over(one)(x)

    total, mean, top, least, gathered, moved, index = (np.asarray(y) for y in all_of(X))
    for got, want in ((total, X.sum(0)), (mean, X.mean(0)), (top, X.max(0)), (least, X.min(0)), (gathered, X)):
        assert np.allclose(got, np.broadcast_to(want, (4, *want.shape)), rtol=1e-14)
    assert (moved == np.stack([0 * X[0], X[2], X[0], 0 * X[0]])).all()
    assert index.dtype == np.int32
    assert index.tolist() == [0, 1, 2, 3]
    assert np.asarray(over(lambda k: lax.psum(k > 1, "i"))(np.arange(4))).tolist() == [2] * 4
    exchanged = over(lambda v: lax.all_to_all(v, "i", 0, 1))(np.arange(32.0).reshape(4, 4, 2))
    assert (np.asarray(exchanged) == np.arange(32.0).reshape(4, 4, 2).transpose(1, 2, 0)).all()
    assert over(lambda v: v * lax.psum(1, "i"), axis_size=4)(X[:, 0]).tolist() == (X[:, 0] * 4).tolist()
    one = over(lambda v: v + lax.psum(v, "i") + lax.all_gather(v, "i")[0])(X[:1])
    assert (np.asarray(one) == 3 * X[:1]).all()


def test_names_nest_and_end_with_the_function():
    rows = lm.vmap(lambda r: lm.vmap(lambda x: lax.psum(x, "c") - lax.psum(x, ("r", "c")), axis_name="c")(r), axis_name="r")
    assert np.allclose(np.asarray(rows(X)), (X.sum(1, keepdims=True) - X.sum()) * np.ones(3), rtol=1e-13)
    inner = over(lambda r: over(lambda x: lax.axis_size("i") * x)(r) + lax.axis_size("i"))
    assert np.allclose(np.asarray(inner(X)), 3 * X + 4, rtol=1e-14)
    sized = lm.jit(lambda x: x * lax.axis_size("i"))  # one function, traced for each size
    both = lm.jit(lambda x: (over(sized)(x), over(sized)(x[:2])))(X)
    assert np.allclose(np.asarray(both[0]), 4 * X, rtol=1e-14)
    assert np.allclose(np.asarray(both[1]), 2 * X[:2], rtol=1e-14)
    with pytest.raises(TracingError, match=r"psum\(\) needs an axis that vmap maps over, got 'i' \(in scope: none\)"):
        lax.psum(X, "i")


def test_derivatives_in_branches_and_loops():
    def chosen(x):  # a branch for each element: the sum is over all of them
        return lax.cond(x.sum() > 0, lambda v: lax.psum(v**2, "i"), lambda v: v**3, x)

    def looped(x):
        return lax.fori_loop(0, 3, lambda k, c: c - 0.1 * lax.pmean(c**2, "i") * lax.all_gather(c, "i").sum(0), x)

    direction = np.random.default_rng(6).normal(size=X.shape)
    for f in (over(chosen), over(looped)):
        want = (np.asarray(f(X + 1e-6 * direction)) - np.asarray(f(X - 1e-6 * direction))) / 2e-6
        assert np.allclose(np.asarray(lm.jvp(f, (X,), (direction,))[1]), want, rtol=1e-6, atol=1e-8)
        slope = np.asarray(lm.grad(lambda x, f=f: (f(x) ** 2).sum())(X))
        assert np.isclose((slope * direction).sum(), (2 * np.asarray(f(X)) * want).sum(), rtol=1e-6)


def test_memory_of_a_norm_across_a_batch_is_linear_in_it():
    def norm(x):
        centered = x - lax.pmean(x, "i")
        return centered * lax.rsqrt(lax.pmean(centered**2, "i") + 1e-5)

    step = lm.jit(lm.grad(lambda x: lnp.sin(over(norm)(x)).sum()))
    text = step.lower(np.zeros((5000, 2), np.float32)).as_text("optimized")
    assert "5000x2xf32" in text
    assert "5000x5000" not in text


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: lax.psum(x, "j"), TracingError, r"psum\(\) needs an axis .* got 'j' \(in scope: 'i'\).*axis_name='j'"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), ShapeError, r"distinct sources and destinations in 0\.\.3"),
        (lambda x: lax.ppermute(x, "i", [(0, 4)]), ShapeError, r"distinct sources and destinations in 0\.\.3"),
        (lambda x: lax.all_to_all(x, "i", 0, 0), ShapeError, r"needs dim 0 as long as the axis, got 3 for 4"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), ShapeError, r"dim 0 has 3, the axis 4"),
        (lambda x: lax.all_gather(x, "i", axis=1, tiled=True), ShapeError, r"axis 1 is out of range for rank 1"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), ShapeError, r"takes no axis_index_groups"),
    ],
)
def test_errors(function, error, message):
    with pytest.raises(error, match=message):
        over(function)(X)


def test_gradients_of_exchanges_take_no_square_of_the_axis() -> None:
    n = 37
    around = [(k, (k + 1) % n) for k in range(n - 1)]
    exchanges = (
        (lambda x: lm.lax.ppermute(x, "i", around), np.ones(n), f"{n}x{n}x"),
        (lambda x: lm.lax.all_to_all(x, "i", 0, 0), np.ones((n, n)), f"{n}x{n}x{n}x"),
    )
    for exchange, x, square in exchanges:
        mapped = lm.vmap(exchange, axis_name="i")
        weights = np.arange(x.size).reshape(x.shape)
        loss = lm.grad(lambda x, mapped=mapped, weights=weights: (mapped(x) * weights).sum())
        assert square not in lm.jit(loss).lower(x).as_text("optimized")
        np.testing.assert_array_equal(loss(x), lm.linear_transpose(mapped, x)(weights.astype(float))[0])
        np.testing.assert_array_equal((mapped(x * weights) * weights).sum(), (loss(x) * x * weights).sum())
