"""Substitution with a triangular matrix: the solution `x` of `a x = y`, or of `a^T x = y`."""

from __future__ import annotations

from itertools import product
from typing import Any

from ..api.kernels import dtype, empty, kernel, parallel, register_kernel
from .blocks import BLOCK, clear_padding, is_large, solve_lower

T = dtype("T")


def solvers(side: str, form: str, diagonal: str) -> tuple[Any, Any]:
    """Register the kernels for one side, form and diagonal: that for large matrices, and that for all.

    Row `k` of the lower triangle that is solved with is row `row(k, n)` of the matrix, from the end where it is upper.
    """
    name = f"{side}_{form}_{diagonal}"
    goes_down, transposed, unit = (side == "lower") == (form == "plain"), form == "transposed", diagonal == "unit"

    def is_kind(op: Any, target: Any) -> bool:
        return (op.side.data, op.form.data, op.diagonal.data) == (side, form, diagonal)

    def row(k, n):
        return k if goes_down else n - 1 - k

    def element(a, i, k, n):
        return a[row(k, n), row(i, n)] if transposed else a[row(i, n), row(k, n)]

    @register_kernel(
        "graph.triangular_solve",
        name=f"{name}_blocked",
        inline=True,
        lanes=False,
        when=lambda op, target: is_kind(op, target) and is_large(op.shape()[-1]),
    )
    @kernel
    def blocked_solve(a: T["N", "N"], y: T["N", "M"], x: T["N", "M"]):
        n, columns = y.shape
        count, rows = (columns + BLOCK - 1) // BLOCK, (n + BLOCK - 1) // BLOCK
        right = empty((count, rows * BLOCK, min(columns, BLOCK)), T)
        width = right.shape[2]
        clear_padding(right, n, columns)
        for i in parallel(n):
            for c in parallel(count):
                for j in parallel(min(BLOCK, columns - c * BLOCK)):
                    right[c, i, j] = y[row(i, n), c * BLOCK + j]
        panel = empty((rows * BLOCK, BLOCK), T)
        for i in parallel(n, rows * BLOCK):
            for j in parallel(BLOCK):
                panel[i, j] = 0
        for k in range(rows):
            top = k * BLOCK
            size = min(BLOCK, n - top)
            for i in parallel(top, n):
                for j in parallel(size):
                    panel[i, j] = element(a, i, top + j, n)
            for c in parallel(count):
                solution = empty((BLOCK, width), T)
                corner = panel[top : top + BLOCK]
                solve_lower(solution, corner, right[c, top : top + BLOCK], size, False, unit, T(0))
                for i in parallel(size):
                    for j in parallel(width):
                        right[c, top + i, j] = solution[i, j]
                for r in range(k + 1, rows):
                    right[c, r * BLOCK : r * BLOCK + BLOCK] -= panel[r * BLOCK : r * BLOCK + BLOCK] @ solution
        for i in parallel(n):
            for c in parallel(count):
                for j in parallel(min(BLOCK, columns - c * BLOCK)):
                    x[row(i, n), c * BLOCK + j] = right[c, i, j]

    @register_kernel("graph.triangular_solve", name=name, inline=True, when=is_kind)
    @kernel
    def solve(a: T["N", "N"], y: T["N", "M"], x: T["N", "M"]):
        n, columns = y.shape
        for j in parallel(columns):
            for i in range(n):
                known = T(0)
                for k in range(i):
                    known += element(a, i, k, n) * x[row(k, n), j]
                rest = y[row(i, n), j] - known
                x[row(i, n), j] = rest if unit else rest / element(a, i, i, n)

    return blocked_solve, solve


KINDS = tuple(product(("lower", "upper"), ("plain", "transposed"), ("given", "unit")))
SOLVERS = {kind: solvers(*kind) for kind in KINDS}
