"""Products of matrices in kernels: `c += a @ b` and `c -= a @ b` of arrays and views, as plain loops.

For complex elements each product of parts has its own loops, so that the schedule finds plain matmuls.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.types import computed_in, is_bool
from .values import Array, Index, Number, as_map

_RULE = "a product of matrices is added to an array or a view: c += a @ b, c -= a @ b"


@dataclass(frozen=True)
class Factor:
    """A matrix of a product; `conjugated`: the conjugate of its elements is meant."""

    array: Array
    conjugated: bool = False

    @property
    def parts(self) -> int:
        return 2 if self.array.is_complex else 1


def add_product(k: Any, node: ast.AugAssign) -> None:
    """Write the loops of `target += left @ right`, or `-=`.

    Args:
        k: the statements of the kernel.
    """
    target = k.array(node.target)
    assert isinstance(node.value, ast.BinOp)
    if target is None or not isinstance(node.op, ast.Add | ast.Sub):
        k.refuse(node, _RULE)
    assert isinstance(target, Array)
    left, right = _factor(k, node.value.left), _factor(k, node.value.right)
    arrays = (target, left.array, right.array)
    if any(len(array.sizes) != 2 for array in arrays):
        k.refuse(node, "a product is of two matrices: give each array two dims, as in x[:, None]")
    if len({array.element for array in arrays}) > 1 or is_bool(target.element):
        k.refuse(node, "the matrices of a product have one element type")
    if not target.is_complex and (left.parts, right.parts) != (1, 1):
        k.refuse(node, f"the product is complex and '{target.name}' is real")
    if target.buffer in (left.array.buffer, right.array.buffer):
        k.refuse(node, f"'{target.name}' is changed and read: copy what is multiplied into a local array before")
    b = k.math(node)
    for one, other in (
        (target.sizes[0], left.array.sizes[0]),
        (left.array.sizes[1], right.array.sizes[0]),
        (target.sizes[1], right.array.sizes[1]),
    ):
        if not isinstance(difference := b.binary("-", one, other), Index) or difference.constant != 0:
            k.refuse(node, "the sizes of a product must agree for all sizes: (m, k) @ (k, n) is (m, n)")
    for p, q in product(range(left.parts), range(right.parts)):
        signs = (isinstance(node.op, ast.Sub), p == q == 1, p == 1 and left.conjugated, q == 1 and right.conjugated)
        _loops(k, node, target, (left.array, p), (right.array, q), is_minus=sum(signs) % 2 == 1)


def _factor(k: Any, node: ast.expr) -> Factor:
    """A matrix, or the conjugate of one."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and k.resolve(node.func) is np.conjugate:
        inner = _factor(k, node.args[0])
        return Factor(inner.array, not inner.conjugated)
    array = k.array(node)
    if array is None:
        k.refuse(node, f"{_RULE}; the factors are arrays, views, or np.conjugate of them")
    assert isinstance(array, Array)
    return Factor(array)


def _loops(k: Any, node: ast.AST, target: Array, left: tuple[Array, int], right: tuple[Array, int], *, is_minus: bool) -> None:
    """A nest that adds the product of two parts to the part of the target that it belongs to."""

    def load(array: Array, part: int, *at: Index) -> Any:
        map, dims = k.element(node, array, at, part)
        return k.insert(LoadOp.build_load(array.buffer, map, dims), node).results[0]

    rows, columns = (
        ForOp.build_loop(0, as_map(target.sizes[d : d + 1]), kind="parallel", name=k.fresh("row" if d == 0 else "column"))
        for d in range(2)
    )
    i, j = Index.of(rows.index), Index.of(columns.index)
    with k.within(rows.body.block):
        with k.within(columns.body.block):
            wide = computed_in(target.element)
            zero = k.math(node).scalar(Number(0), wide)
            depth = as_map(left[0].sizes[1:])
            inner = ForOp.build_loop(0, depth, kind="reduce", monoid="add", inits=[zero], name=k.fresh("term"))
            p = Index.of(inner.index)
            with k.within(inner.body.block):
                f = k.math(node).builder
                k.end(node, [f.mul(f.convert(load(*left, i, p), wide), f.convert(load(*right, p, j), wide))])
            k.insert(inner, node)
            part = left[1] ^ right[1]
            old, b = load(target, part, i, j), k.math(node).builder
            found = b.convert(inner.results[0], target.element)
            new = b.sub(old, found) if is_minus else b.add(old, found)
            map, dims = k.element(node, target, (i, j), part)
            k.insert(StoreOp.build_store(new, target.buffer, map, dims), node)
            k.end(node)
        k.insert(columns, node)
        k.end(node)
    k.insert(rows, node)
