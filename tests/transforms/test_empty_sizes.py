"""Derivatives and batches of every op where a size is 0: shapes, and values where there are any."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import CASES, EXPAND, Case, apply, define, derivatives, mapped, run
from lamina.dialects.graph.autodiff import VmapOp
from lamina.dialects.types import element_type, tensor
from lamina.errors import LaminaError
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp


def emptied(case: Case, size: int) -> Case | None:
    """A case with all dims of one size empty; None where the op refuses that."""

    def shape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if n == size else n for n in shape)

    def fixed_of(array: np.ndarray) -> np.ndarray:
        return array[tuple(slice(0 if n == size else None) for n in array.shape)]

    fixed = tuple(fixed_of(np.asarray(a)) for a in case.fixed)
    smaller = replace(case, shapes=tuple(map(shape_of, case.shapes)), fixed=fixed)
    try:
        types = [tensor(element_type(a.dtype), a.shape) for a in smaller.arguments()]
        define("f", types, smaller.build)
    except (LaminaError, ValueError):
        return None
    return smaller


REFUSED = ("qr_tall_4", "cross_entropy_3", "cross_entropy_outside_3")
"""Wide matrices have no derivative of their factors, and labels name a class."""
SIZES = [(case, size) for case in CASES for size in sorted({n for shape in case.shapes for n in shape}) if not case.bodies()]
NAMED = [(f"{case.name}_{size}", emptied(case, size)) for case, size in SIZES]
EMPTY = [(name, case) for name, case in NAMED if case is not None and name not in REFUSED]
pytestmark = pytest.mark.thorough(every=4)
rows = pytest.mark.parametrize("case", [case for _, case in EMPTY], ids=[name for name, _ in EMPTY])


@rows
def test_derivatives(case: Case) -> None:
    args = case.arguments()
    n = len(case.shapes)
    module = run(derivatives(case), EXPAND)
    values = interpret(module, "f", args)
    cotangents = [np.ones(v.shape) for v in values if v.dtype.kind == "f"]
    moved = interpret(module, "jvp", [*args, *(np.ones(x.shape) for x in args[:n])])[len(values) :]
    assert [t.shape for t in moved] == [c.shape for c in cotangents]
    gradients = interpret(module, "vjp", [*args, *cotangents])
    assert [g.shape for g in gradients] == [x.shape for x in args[:n]]
    if not any(np.isnan(v).any() for v in values):  # as means of nothing are
        total = sum(float(np.sum(t)) for t in moved)
        np.testing.assert_allclose(sum(float(np.sum(g)) for g in gradients), total, rtol=1e-9, atol=1e-12)
    order = [*args, *cotangents]
    interpret(module, "jvp_vjp", [*order, *(np.ones(x.shape) for x in (*args[:n], *cotangents))])
    interpret(module, "vjp_vjp", [*order, *(np.ones(g.shape) for g in gradients)])


@rows
def test_batches(case: Case) -> None:
    args = case.arguments()
    module, stacked = mapped(case, [0] * len(args), 2)
    rows = [interpret(module, "f", [a[k] for a in stacked]) for k in range(2)]
    got = interpret(run(module, "graph-vmap"), "main", stacked)
    for found, column in zip(got, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(column), rtol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if not case.bodies()], ids=lambda case: case.name)
def test_batches_of_no_element(case: Case) -> None:
    args = case.arguments()
    types = [tensor(element_type(a.dtype), a.shape) for a in args]
    stacks = [tensor(element_type(a.dtype), (0, *a.shape)) for a in args]
    f = define("f", types, case.build, private=True)
    module = ModuleOp([f, define("main", stacks, apply(VmapOp, f, lambda v: v, [0] * len(args)))])
    values = interpret(module, "f", args)
    got = interpret(run(module, "graph-vmap"), "main", [np.zeros((0, *a.shape), a.dtype) for a in args])
    assert [g.shape for g in got] == [(0, *v.shape) for v in values]
