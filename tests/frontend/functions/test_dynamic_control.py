"""Loops and branches over arrays of symbolic sizes: one compilation for all, equal to those of known sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import CheckError, DifferentiationError
from lamina.runtime.interpreter import interpret


def compare(
    function: Callable[..., Any], dynamic: dict[str, tuple[Any, ...]], sizes: tuple[int, ...], interpreted: bool
) -> None:
    """One compilation for all sizes gives what each size by itself gives, and so does the interpreter, at two phases."""
    compiled = lm.jit(function, dynamic=dynamic)
    texts: list[str] = []
    for n in sizes:
        args = [np.linspace(-1, 1, n * m, dtype=np.float32).reshape((n, *rest)) for m, rest in ((1, ()), (3, (3,)))][
            : len(dynamic)
        ]
        wanted, got = lm.jit(function)(*args), compiled(*args)
        np.testing.assert_allclose(got, wanted, rtol=5e-5, atol=1e-5)  # the order of sums depends on what is known of sizes
        if interpreted and not texts:
            texts = [compiled.lower(*args).as_text(phase) for phase in ("optimized", "program")]
        for text in texts:
            (found,) = interpret(parse_module(make_context(), text), "main", args)
            np.testing.assert_allclose(found, wanted, rtol=5e-5, atol=1e-5)


N = lm.dim("n", min=1)
X, XY = {"x": (N,)}, {"x": (N,), "y": (N, None)}

PROGRAMS = {
    "while below a size": (lambda x: lm.while_loop(lambda c: c.sum() < 100 * c.size, lambda c: c * 2 + 1, lnp.abs(x)), X),
    "while": (lambda x: lm.while_loop(lambda c: lnp.abs(c).sum() < 50, lambda c: c * 2 + 1.5, lnp.abs(x)), X),
    "for": (lambda x: lm.fori_loop(0, 5, lambda i, c: c * c.sum() * 0.1 + i, x), X),
    "count": (lambda x: lm.fori_loop(0, x.shape[0], lambda i, c: c.at[i].add(x[i] * i), x * 2), X),
    "in place": (lambda x: lm.fori_loop(1, 4, lambda i, c: c.at[0].set(c[-1] + i), x), X),
    "case": (lambda x: lm.cond(x.sum() > 0.5, lambda x: x * x.sum(), lambda x: -lnp.cumsum(x), x), X),
    "switch": (lambda x: lm.switch(x.shape[0] % 3, [lambda x: x, lambda x: x[::-1], lambda x: x * 2], x), X),
    "scan": (lambda x: lm.scan(lambda c, v: (c + v, lnp.sin(c) * v), x, np.arange(3, dtype=np.float32))[1], X),
    "reverse scan": (lambda x: lm.scan(lambda c, v: (c * v, c), x, np.arange(4, dtype=np.float32), reverse=True)[1], X),
    "nested": (
        lambda x: lm.fori_loop(0, 3, lambda i, c: lm.cond(i > 1, lambda c: c * 2, lambda c: inner(c, x), c), x),
        X,
    ),
    "of another size": (
        lambda x: lm.fori_loop(0, 3, lambda i, c: c + lnp.concatenate([x, x]) * i, lnp.zeros(2 * x.shape[0])),
        X,
    ),
    "of no argument": (
        lambda x: lm.fori_loop(0, 3, lambda i, c: c + lnp.ones(x.shape[0]).sum() * i, np.float64(0)) + x.sum(),
        X,
    ),
    "several": (lambda x, y: lm.fori_loop(0, 4, lambda i, c: (c[1], c[0] * 0.5 + y @ y.T @ c[1]), (x, x + 1))[0], XY),
    "matmul": (lambda x, y: lm.fori_loop(0, 3, lambda i, c: lnp.tanh(c @ (y.T @ y)), y) + x[:, None], XY),
    "gradient": (lm.grad(lambda x: lm.fori_loop(0, 3, lambda i, c: lnp.sin(c) * x, x).sum()), X),
    "gradient of case": (lm.grad(lambda x: lm.cond(x.sum() > 0.5, lambda x: (x * x).sum(), lambda x: lnp.sin(x).sum(), x)), X),
}
PROGRAMS["vmap"] = (
    lambda x, y: lm.vmap(lambda y: lm.while_loop(lambda c: c.sum() < 9, lambda c: c * 2 + 1, lnp.abs(y)))(y) + x[:, None],
    XY,
)


def inner(c: Any, x: Any) -> Any:
    return lm.while_loop(lambda c: (c * c).sum() < 20, lambda c: lnp.abs(c) * 2 + lnp.ones_like(x), c)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_and_branches_of_open_sizes(name: str) -> None:
    function, dynamic = PROGRAMS[name]
    whole = name in ("for", "while", "case", "scan")
    compare(function, dynamic, (1, 2, 7, 33) if name == "for" else (1, 5), whole)


def test_no_elements() -> None:
    f = lm.jit(lambda x: lm.fori_loop(0, 3, lambda i, c: c * 2 + i, x), dynamic={"x": ("n",)})
    assert f(np.zeros(0, np.float32)).shape == (0,)


def test_effects_in_loops_of_open_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    def step(i: Any, c: Any) -> Any:
        lm.debug.print("{} {}", i, c)
        lm.check(c.sum() < 100, "sum {}", c.sum())
        return lm.pure_callback(lambda c: c[::-1] * 2, c, c)

    f = lm.jit(lambda x: lm.fori_loop(0, 2, step, x), dynamic={"x": ("n",)})
    for n in (1, 3):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(f(x), x * 4)
        assert capsys.readouterr().out.splitlines() == [f"0 {x}", f"1 {x[::-1] * 2}"]
    with pytest.raises(CheckError, match=r"^sum 120\.0$"):
        f(np.float32([60]))


def test_scans_over_a_length_that_a_call_knows() -> None:
    def sums(x: Any) -> Any:
        return lm.scan(lambda c, v: (c + v, {"sum": c * v.sum(), "row": v}), np.zeros(3, np.float32), x)

    def backwards(x: Any) -> Any:
        return lm.scan(lambda c, v: (c + v, c * v), np.float32(0), x[:, 0], reverse=True)

    def mapped(x: Any) -> Any:
        return (
            lm.lax.map(lambda row: row * 2 + 1, x),
            lm.lax.associative_scan(lnp.maximum, x, reverse=True),
            lm.lax.cumlogsumexp(x),
        )

    for function in (sums, backwards, mapped):
        plain = lm.jit(function)
        for n in ("n", lm.dim("n", min=1)):
            f = lm.jit(function, dynamic={"x": (n, None)})
            for size in (1, 2, 3, 8, 13, *((0,) if n == "n" else ())):
                x = np.random.default_rng(size).normal(size=(size, 3)).astype(np.float32)
                for found, wanted in zip(lm.tree.leaves(f(x)), lm.tree.leaves(plain(x)), strict=True):
                    assert found.shape == wanted.shape
                    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    product = lm.jit(
        lambda x: lm.jvp(lambda x: lm.scan(lambda c, v: (c * v, c), np.float32(1), x)[0], (x,), (x,)), dynamic={"x": ("n",)}
    )
    assert product(np.arange(1, 5, dtype=np.float32)) == (24, 96)
    with pytest.raises(DifferentiationError, match="how often it runs must be known"):
        lm.jit(lm.grad(lambda x: lm.scan(lambda c, v: (c * v, c), np.float32(1), x)[0]), dynamic={"x": ("n",)})(x[:, 0])
