"""graph-vmap: every op against a Python loop, for every choice of batched arguments and axes."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import CASES, EXPAND, OPTIMIZE, Case, apply, counted, define, mapped, ops_in, run
from lamina.dialects.graph.autodiff import VjpOp, VmapOp
from lamina.dialects.types import element_type, f64, tensor
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp

SIZE = 3


def axes_of(case: Case) -> list[tuple[int, ...]]:
    """Every choice of batched arguments at the first axis, and all at the last."""
    args = case.arguments()
    first = [axes for axes in itertools.product((0, -1), repeat=len(args)) if any(a == 0 for a in axes)]
    return [*first, tuple(a.ndim for a in args)]


def looped(module: ModuleOp, stacked: list[np.ndarray], axes: tuple[int, ...]) -> list[np.ndarray]:
    rows = [
        interpret(module, "f", [a if axis < 0 else np.take(a, k, axis) for a, axis in zip(stacked, axes, strict=True)])
        for k in range(SIZE)
    ]
    return [np.stack(column) for column in zip(*rows, strict=True)]


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_against_loop(case: Case) -> None:
    for axes in axes_of(case):
        module, stacked = mapped(case, axes, SIZE)
        want = looped(module, stacked, axes)
        for passes in ("graph-vmap", "graph-decompose,graph-simplify,graph-cse,graph-dce"):
            got = interpret(run(module, passes), "main", stacked)
            for g, w in zip(got, want, strict=True):
                assert g.shape == w.shape and g.dtype == w.dtype, axes
                np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12, err_msg=str(axes))


def test_one_value_batched_and_not() -> None:
    f = define("f", [tensor(f64, (3,)), tensor(f64, (2, 3))], lambda b, x, y: b.mul(b.broadcast(x, (1,), (2, 3)), y))
    main = define("main", [tensor(f64, (2, 3))], apply(VmapOp, f, lambda v: (v[0], v[0]), (0, -1)))
    module = run(ModuleOp([f, main]), "graph-vmap")
    x = np.arange(6.0).reshape(2, 3)
    (got,) = interpret(module, "main", [x])
    np.testing.assert_array_equal(got, x[:, None, :] * x)


def test_of_vmap_of_derivative() -> None:
    """vmap of vmap of a gradient: outer products of per-example gradients."""
    f = define("f", [tensor(f64, (4,)), tensor(f64, (4,))], lambda b, x, y: b.reduce(b.sin(b.mul(x, y)), kind="add", dims=(0,)))

    def gradient(b, x, y):
        return apply(VjpOp, f, lambda v: v, [b.const(1.0)], (0,))(b, x, y)[1]

    grad = define("grad", [tensor(f64, (4,)), tensor(f64, (4,))], gradient)
    rows = define("rows", [tensor(f64, (2, 4)), tensor(f64, (4,))], apply(VmapOp, grad, lambda v: v, (0, -1)))
    main = define("main", [tensor(f64, (2, 4)), tensor(f64, (4, 3))], apply(VmapOp, rows, lambda v: v, (-1, 1)))
    x, y = np.random.default_rng(0).normal(size=(2, 4)), np.random.default_rng(1).normal(size=(4, 3))
    module = run(ModuleOp([f, grad, rows, main]), f"{EXPAND},{OPTIMIZE}")
    assert "vmap" not in ops_in(module)
    (got,) = interpret(module, "main", [x, y])
    xs, ys = x[None, :, :], y.T[:, None, :]
    np.testing.assert_allclose(got, np.cos(xs * ys) * ys, rtol=1e-12)


@pytest.mark.parametrize("axes", [(0, -1, 0), (0, 0, -1), (0, 0, 0), (-1, 0, -1)])
def test_counts_of_iterations_that_differ(axes: tuple[int, ...]) -> None:
    """A loop runs for the greatest count; where it is reached, elements keep what they carry."""
    body, f = counted()
    args = [np.array([0, 3, 5, -2]), np.array([0.5, -1.0, 0.25, 2.0]), np.array([1.0, 2.0, -0.5, 0.75])]
    stacked = [a if axis == 0 else a[1] for a, axis in zip(args, axes, strict=True)]
    types = [tensor(element_type(np.asarray(a).dtype), np.shape(a)) for a in stacked]
    main = define("main", types, apply(VmapOp, f, lambda v: v, axes))
    module = run(ModuleOp([body, f, main]), "graph-vmap")
    (got,) = interpret(module, "main", stacked)
    for k in range(4):
        count, c, h = (a[k] if axis == 0 else a[1] for a, axis in zip(args, axes, strict=True))
        for i in range(count):
            h = np.tanh(h) + c * i
        np.testing.assert_allclose(got[k], h, rtol=1e-14)
