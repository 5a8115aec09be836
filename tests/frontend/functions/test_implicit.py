"""Roots and solutions with the derivatives of their equations; matrices of a form, beside SciPy's."""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
import scipy.linalg

RNG = np.random.default_rng(0)


def newton(f: Any, x: Any) -> Any:
    return lm.fori_loop(0, 30, lambda i, x: x - f(x) / (2 * x), x)


def test_roots_have_the_derivatives_of_their_equation() -> None:
    def root(a: Any) -> Any:
        return lm.lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))

    assert root(4.0) == 2
    assert lm.grad(root)(4.0) == 0.25
    np.testing.assert_allclose(lm.grad(lm.grad(root))(4.0), -(4.0**-1.5) / 4)
    np.testing.assert_allclose(lm.jvp(root, (9.0,), (1.0,)), (3, 1 / 6))
    np.testing.assert_allclose(lm.jit(lm.vmap(lm.grad(root)))(np.array([1.0, 4.0, 9.0])), [1 / 2, 1 / 4, 1 / 6])

    def by_search(a: Any) -> Any:  # a loop that has no derivative in reverse
        def solve(f: Any, x: Any) -> Any:
            return lm.while_loop(lambda c: abs(f(c)) > 1e-12, lambda c: c - f(c) / (3 * c * c), x), 7

        root, aux = lm.lax.custom_root(lambda x: x**3 - a, 1.0, solve, lambda g, y: y / g(1.0), has_aux=True)
        return root + 0 * aux

    np.testing.assert_allclose(lm.value_and_grad(by_search)(8.0), (2, 1 / 12))


@pytest.mark.thorough
def test_solutions_have_the_derivatives_of_their_equation() -> None:
    b, half = RNG.normal(size=6), RNG.normal(size=(6, 6))
    matrices = {"cg": half @ half.T + np.eye(6), "bicgstab": half + 5 * np.eye(6)}

    def exact(a: Any, b: Any) -> Any:
        return (lnp.linalg.solve(a, b) ** 2).sum()

    for name, a in matrices.items():
        solver = getattr(lm.linalg, name)
        found, info = solver(a, b, tol=1e-13)
        assert info is None
        np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-8)
        given, _ = solver(lambda x, a=a: {"of": a @ x["of"]}, {"of": b}, x0={"of": found}, M=lambda x: x, maxiter=50)
        np.testing.assert_allclose(given["of"], found, rtol=1e-8)

        def loss(a: Any, b: Any, solver: Any = solver) -> Any:
            return (solver(lambda x: a @ x, b, tol=1e-13)[0] ** 2).sum()

        for slope, wanted in zip(lm.jit(lm.grad(loss, (0, 1)))(a, b), lm.grad(exact, (0, 1))(a, b), strict=True):
            np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-9)
        moved = lm.jit(lambda a, b, loss=loss: lm.jvp(loss, (a, b), (half, b * b)))(a, b)
        np.testing.assert_allclose(moved, lm.jvp(exact, (a, b), (half, b * b)), rtol=1e-6)
        np.testing.assert_allclose(lm.hessian(loss, 1)(a, b), lm.hessian(exact, 1)(a, b), rtol=1e-5, atol=1e-9)

    def direct(a: Any, b: Any) -> Any:
        return (lm.lax.custom_linear_solve(lambda x: a @ x, b, lambda f, b: lnp.linalg.solve(lm.jacfwd(f)(b), b)) ** 2).sum()

    a = matrices["bicgstab"]
    for slope, wanted in zip(lm.grad(direct, (0, 1))(a, b), lm.grad(exact, (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(slope, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lm.jvp(direct, (a, b), (half, b)), lm.jvp(exact, (a, b), (half, b)), rtol=1e-9)

    def closed(a: Any, b: Any) -> Any:  # by solvers that close over what is differentiated
        solve, back = (lambda f, b, a=a: lnp.linalg.solve(a, b)), lambda f, b: lnp.linalg.solve(a.T, b)
        return (lm.lax.custom_linear_solve(lambda x: a @ x, b, solve, back) ** 2).sum()

    for order in (lm.hessian, lambda f, k: lm.jacrev(lm.jacrev(f, k), k), lambda f, k: lm.jacfwd(lm.jacfwd(f, k), k)):
        np.testing.assert_allclose(order(closed, 0)(a, b), lm.hessian(exact, 0)(a, b), rtol=1e-8, atol=1e-10)
    with pytest.raises(ValueError, match=r"cg\(\) needs x0 of the structure and shapes of b"):
        lm.linalg.cg(a, b, x0=b[:3])


def test_a_rule_of_forward_mode_that_solves_is_transposed_by_the_solution() -> None:
    @lm.custom_jvp
    def root(x: Any) -> Any:
        return x**0.5

    @root.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        y = root(*primals)
        fixed = lm.stop_gradient(y)
        solve = lambda _, b: b / (2 * fixed)  # noqa: E731
        return y, lm.lax.custom_linear_solve(lambda v: 2 * y * v, tangents[0], solve, solve)

    f = lm.grad(root)
    for second in (lm.grad(f), lambda x: lm.jvp(f, (x,), (1.0,))[1], lm.grad(lambda x: lm.jvp(root, (x,), (1.0,))[1])):
        assert second(4.0) == -(4.0**-1.5) / 4
    np.testing.assert_allclose(lm.grad(lm.grad(f))(4.0), 3 / 8 * 4.0**-2.5)


def test_closures_and_transposes() -> None:
    def f(y: Any) -> Any:
        converted, values = lm.closure_convert(lambda x: x * y, 1.0)
        return converted(3.0, *(2 * v for v in values))

    assert lm.jit(f)(5.0) == 30
    assert lm.grad(f)(5.0) == 6
    turned = lm.linear_transpose(lambda x, y: (x @ np.float64([[1, 2], [3, 4]])) + 2 * y, *(np.zeros(2),) * 2)
    x, y = turned(np.float64([1, 10]))
    np.testing.assert_array_equal((x, y), ([21, 43], [2, 20]))
    assert "graph.add" in str(lm.make_jaxpr(lambda x: x + 1)(1.0))


def test_matrices_are_scipys() -> None:
    c, r, a = RNG.normal(size=4), RNG.normal(size=6), RNG.normal(size=(2, 3))
    for name, args in {
        "toeplitz": [(c, r), (r, c), (c,), (c + 1j,)], "hankel": [(c, r), (c,)], "circulant": [(c,), (c[:1],)],
        "companion": [(c,)], "leslie": [(c, c[1:])], "fiedler": [(c,)], "block_diag": [(a, c, 2.0), ()],
        "convolution_matrix": [(x, n, mode) for x, n in ((c, 6), (r, 3)) for mode in ("full", "same", "valid")],
        "hilbert": [(1,), (5,)], "hadamard": [(1,), (8,)], "pascal": [(1,), (7,)], "helmert": [(2,), (5, True)],
        "dft": [(1,), (6,), (5, "n"), (5, "sqrtn")],
        "polar": [(RNG.normal(size=shape), side) for shape in ((4, 4), (5, 3), (3, 5)) for side in ("left", "right")],
        "expm_frechet": [(RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)))],
    }.items():  # fmt: skip
        for given in args:
            found, wanted = getattr(lm.linalg, name)(*given), getattr(scipy.linalg, name)(*given)
            for x, y in zip(found, wanted, strict=True) if isinstance(found, tuple) else ((found, wanted),):
                np.testing.assert_allclose(np.asarray(x, np.asarray(y).dtype), y, rtol=1e-9, atol=1e-9, err_msg=name)
    slope = lm.jit(lm.grad(lambda c: (lm.linalg.circulant(c) ** 2).sum()))(c)
    np.testing.assert_allclose(slope, 8 * c)
    with pytest.raises(ValueError, match="hadamard\\(\\) needs a power of 2, got 6"):
        lm.linalg.hadamard(6)
