"""`lamina.scipy.interpolate`, `lamina.image`, tridiagonal systems and `gmres`, against SciPy and dense solutions."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import lamina.scipy.interpolate as ours
import numpy as np
import pytest
import scipy.interpolate as theirs
from lamina.errors import ShapeError

RNG = np.random.default_rng(0)
X, Y, AT = np.cumsum(RNG.uniform(0.2, 1, 9)), RNG.normal(size=(9, 2)), RNG.uniform(-1, 7, 30)


@pytest.mark.thorough
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_splines(n: int) -> None:
    for name, options in (
        ("PchipInterpolator", {}), *(("CubicSpline", {"bc_type": b}) for b in ("not-a-knot", "natural", "clamped"))
    ):  # fmt: skip
        a, b = (getattr(module, name)(X[:n], Y[:n], **options) for module in (ours, theirs))
        np.testing.assert_allclose(lm.jit(a)(AT), b(AT), rtol=1e-9, atol=1e-9, err_msg=f"{name} {options}")
        for order in (1, 2, 3):
            np.testing.assert_allclose(a(AT, order), b(AT, order), rtol=1e-9, atol=1e-9)
        inside = getattr(ours, name)(X[:n], Y[:n, 0], extrapolate=False, **options)
        assert np.isnan(inside(X[0] - 1)) and np.isnan(inside(X[n - 1] + 1)) and np.isfinite(inside(X[0]))
        np.testing.assert_allclose(lm.vmap(lm.grad(getattr(ours, name)(X[:n], Y[:n, 0], **options)))(AT), a(AT, 1)[:, 0])
    slopes = np.cos(Y)
    np.testing.assert_allclose(
        ours.CubicHermiteSpline(X, Y, slopes).derivative()(AT), theirs.CubicHermiteSpline(X, Y, slopes)(AT, 1), rtol=1e-9
    )


@pytest.mark.thorough
def test_values_of_a_spline_are_differentiable() -> None:
    def loss(y: Any) -> Any:
        return (ours.CubicSpline(X, y)(AT) ** 2).sum()

    step = RNG.normal(size=9)
    want = (loss(Y[:, 0] + 1e-6 * step) - loss(Y[:, 0] - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(lm.jit(lm.grad(loss))(Y[:, 0]) @ step, want, rtol=1e-6)


def test_grids() -> None:
    values, points = RNG.normal(size=(4, 5, 3)), RNG.normal(size=(20, 2)) * 2
    grid = (np.arange(4.0), np.sort(RNG.normal(size=5)))
    for method in ("linear", "nearest"):
        for fill in (np.nan, None, 0.5):
            args: Any = (grid, values, method, False, fill)
            want = theirs.RegularGridInterpolator(*args)(points)
            np.testing.assert_allclose(lm.jit(ours.RegularGridInterpolator(*args))(points), want, rtol=1e-12)
    np.testing.assert_allclose(ours.interpn((X,), Y, AT), theirs.interpn((X,), Y, AT, bounds_error=False), rtol=1e-12)
    with pytest.raises(ShapeError, match=r"a grid of \[\(9,\)\] points does not fit values of shape \[4, 5, 3\]"):
        ours.RegularGridInterpolator((X,), values)
    with pytest.raises(ShapeError, match=r"points need 2 coordinates, the last dim, got shape \[20, 3\]"):
        ours.RegularGridInterpolator(grid, values)(np.ones((20, 3)))
    with pytest.raises(ValueError, match="cannot raise while tracing: give fill_value"):
        ours.RegularGridInterpolator(grid, values, bounds_error=True)
    with pytest.raises(ShapeError, match=r"two points or more.*got shapes \[1\], \[1, 2\]"):
        ours.CubicSpline(X[:1], Y[:1])


def test_images() -> None:
    image = RNG.normal(size=(5, 4))
    for method in ("linear", "bilinear", "cubic", "lanczos3", lm.image.ResizeMethod.LANCZOS5):
        scale = np.array([7 / 5, 3 / 4])
        got = lm.jit(lambda s, m=method: lm.image.scale_and_translate(image, (7, 3), (0, 1), s, np.zeros(2), m))(scale)
        np.testing.assert_allclose(got, lm.image.resize(image, (7, 3), str(getattr(method, "value", method))), atol=1e-12)

    def shifted(t: Any) -> Any:
        return lm.image.scale_and_translate(image, (5, 4), (0,), np.ones(1), t[None], "cubic").sum()

    want = (shifted(np.float64(0.3 + 1e-6)) - shifted(np.float64(0.3 - 1e-6))) / 2e-6
    np.testing.assert_allclose(lm.grad(shifted)(np.float64(0.3)), want, rtol=1e-6)
    with pytest.raises(ShapeError, match=r"one of the methods linear, cubic, lanczos3, lanczos5, got 'nearest'"):
        lm.image.scale_and_translate(image, (5, 4), (0,), np.ones(1), np.ones(1), "nearest")
    with pytest.raises(ShapeError, match=r"a scale and a translation for each spatial dim, got \[5, 4\] to \[5, 9\]"):
        lm.image.scale_and_translate(image, (5, 9), (0,), np.ones(1), np.ones(1), "linear")


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tridiagonal_systems(n: int) -> None:
    below, diagonal, above = RNG.normal(size=(3, 4, n))
    right = RNG.normal(size=(4, n, 2))

    def dense(d: Any) -> Any:
        parts = zip((d, below, above), (0, -1, 1), strict=True)
        return lnp.linalg.solve(sum(v[..., None] * np.eye(n, k=k) for v, k in parts), right)

    solve = lm.lax.linalg.tridiagonal_solve
    np.testing.assert_allclose(lm.jit(solve)(below, diagonal, above, right), dense(diagonal), rtol=1e-9, atol=1e-9)
    slopes = [lm.grad(lambda d, f=f: (f(d) ** 2).sum())(diagonal) for f in (lambda d: solve(below, d, above, right), dense)]
    np.testing.assert_allclose(*slopes, rtol=1e-7, atol=1e-8)
    first = solve(np.array([0, 1.0]), np.array([0.0, 1]), np.array([1.0, 0]), np.array([[1.0], [2]]))
    np.testing.assert_array_equal(first, [[1], [1]])  # rows are exchanged


@pytest.mark.thorough
def test_gmres() -> None:
    a, b = RNG.normal(size=(30, 30)) + 6 * np.eye(30), RNG.normal(size=30)
    exact = np.linalg.solve(a, b)
    np.testing.assert_allclose(lm.linalg.gmres(a, b, tol=1e-13)[0], exact, rtol=1e-9, atol=1e-11)
    found = lm.jit(lambda a, b: lm.linalg.gmres(lambda v: {"of": a @ v["of"]}, {"of": b}, tol=1e-13, restart=5)[0])(a, b)
    np.testing.assert_allclose(found["of"], exact, rtol=1e-9, atol=1e-11)
    c = a + 1j * a.T
    np.testing.assert_allclose(lm.linalg.gmres(c, b + 0j, tol=1e-13, M=np.linalg.inv(a))[0], np.linalg.solve(c, b), atol=1e-11)

    def loss(a: Any, b: Any, solve: Any = lnp.linalg.solve) -> Any:
        return (solve(a, b) ** 2).sum()

    def by_gmres(a: Any, b: Any) -> Any:
        return loss(a, b, lambda a, b: lm.linalg.gmres(a, b, tol=1e-13)[0])

    np.testing.assert_allclose(lm.grad(by_gmres)(a, b), lm.grad(loss)(a, b), atol=1e-10)
    np.testing.assert_allclose(lm.jvp(by_gmres, (a, b), (a.T, b))[1], lm.jvp(loss, (a, b), (a.T, b))[1], rtol=1e-9)
    with pytest.raises(ValueError, match="'batched' or 'incremental', got 'fast'"):
        lm.linalg.gmres(a, b, solve_method="fast")
