"""Eigenvalues and vectors of symmetric matrices: `eigh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, var_operand_def, var_result_def

from ..facts import FACTORIZATION
from ..types import index, part_of, shape_of, tensor, width_of
from .base import Custom, Props, Types, graph_op
from .complex_elements import Element, Field
from .eigenvector_phase import np_phases
from .matrices import (
    MatrixOp,
    compared,
    diagonal_of,
    in_field,
    mirrored,
    multiply,
    on_columns,
    on_rows,
    real_part,
    require_matrices,
    stacked,
)
from .orthogonal import tau_of

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter


def _jvp_eigh(b: GraphBuilder, op: EighOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    # with M = V^H dA V: dw = diag M, dV = V (M / (w_j - w_i)), 0 on the diagonal
    (da,) = tangents
    v, shape = op.v, shape_of(op.v)
    inner = multiply(b, v, multiply(b, mirrored(b, da), v), adjoint="x")
    gaps = b.sub(on_columns(b, op.w, shape), on_rows(b, op.w, shape))
    same = compared(b, "eq", shape)
    one = b.full_like(gaps, 1)
    factors = b.select(same, b.zeros_like(gaps), b.div(one, b.select(same, one, gaps)))
    return [real_part(b, diagonal_of(b, inner)), multiply(b, v, b.mul(in_field(b, factors, inner), inner))]


@graph_op
class EighOp(MatrixOp):
    """Eigenvalues of symmetric or Hermitian matrices, ascending, and orthonormal eigenvectors, the columns of `v`.

    Reads the lower triangle. Householder's reduction to a real tridiagonal matrix, then implicit QL steps (EISPACK's tql2;
    shifts as in LAPACK's steqr), so that `x` and `v w v^H` differ by a few units of rounding of the largest eigenvalue. The
    first component of a vector that is at least half as large as its largest is positive. NaN and infinities give NaN. The
    derivative needs distinct eigenvalues. Cost: about `9 * n**3` flops a matrix.

    ```mlir
    %w, %v = graph.eigh %x : tensor<2x3x3xf32> -> (tensor<2x3xf32>, tensor<2x3x3xf32>)
    ```

    (C1) The element type is f32 or f64, or complex of them; or real and imaginary parts are two operands, and the imaginary
    part of `v` is a third result.
    (C2) There are two dims or more, and the last two are equal.
    """

    name = "graph.eigh"
    facts = FACTORIZATION.but(kernels=".kernels.eigh")
    x = operand_def(TensorType)
    imaginary = var_operand_def(TensorType)
    w = result_def(TensorType)
    v = result_def(TensorType)
    imaginary_results = var_result_def(TensorType)
    syntax = "*x"
    derivative = Custom(_jvp_eigh)

    @classmethod
    def whole_types(cls, operands: Types, props: Props) -> Types:
        shape = require_matrices(operands[0], square=True, known=True)  # C1, C2
        return tensor(part_of(operands[0].element_type), shape[:-1]), operands[0]

    def meaning(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (x,) = operands
        w, v = np.full(x.shape[:-1], np.nan, np.real(x).dtype), np.full_like(x, np.nan)
        for place, matrix in stacked(x):
            if np.isfinite(np.tril(matrix)).all():
                w[place], found = np.linalg.eigh(matrix)
                v[place] = found * np_phases(found.T)[:, 0]
        return w, v


def multiplied_out(b: NestWriter, n: int, f: Field, q: Element, rows: Element, offset: int, *, reverse: bool = False) -> None:
    """The product of reflectors, the rows of `rows`, as rows in their place: row `i` is column `i` of the product.

    Args:
        q: memory of the same size, with rows of whole vectors.
        offset: vector `k` begins at element `k + offset`.
        reverse: whether the last column comes first.
    """
    zero, one = f.const(0), f.const(1)
    width, lanes = shape_of(q[0])[-1], b.target.lanes(width_of(f.part))
    sums = f.local((width,), "sums")
    with b.loop(n) as i, b.loop(width) as j:
        same = b.scalar.cmp("eq", b.position(i.index), b.position(j.index))
        f.store(f.select(same, one, zero), q, [i.index, j.index])
    with b.loop(n - offset, "seq") as step:
        k = step.index * -1 + (n - offset - 1)
        first = k + offset
        begin = first // lanes * lanes  # zeros stand before `first`
        with b.loop(width, lower=begin) as j:
            f.store(zero, sums, [j.index])
        with b.loop(n, "seq", lower=first) as i:
            factor = f.load(rows, [k, i.index])
            with b.loop(width, lower=begin) as j:
                term = f.conj_mul(factor, f.load(q, [i.index, j.index]))
                f.store(f.add(f.load(sums, [j.index]), term), sums, [j.index])
        if f.is_complex:
            tau = tau_of(f, f.load(rows, [k, first]))
            with b.loop(n, lower=first) as j:
                f.store(f.mul(tau, f.load(sums, [j.index])), sums, [j.index])
        with b.loop(n, lower=first) as i:
            factor = f.load(rows, [k, i.index])
            with b.loop(width, lower=begin) as j:
                change = f.mul(factor, f.load(sums, [j.index]))
                f.store(f.sub(f.load(q, [i.index, j.index]), change), q, [i.index, j.index])
    with b.loop(n) as i, b.loop(n) as j:
        row = i.index * -1 + (n - 1) if reverse else i.index
        f.store(f.load(q, [j.index, i.index]), rows, [row, j.index])


STEPS_AT_ONCE = 32
"""Number of QL steps whose rotations are applied together."""
_COLUMNS = 32
"""Columns of a block; a block of 256 rows of f32 fits the first-level cache."""


class Rotations:
    """Rotations of neighbouring rows of a matrix, those of several steps after one another.

    A step rotates rows `high - 1` and `high`, then those before, down to `low`: a row that is rotated twice stays in registers,
    and blocks of columns are independent.
    """

    def __init__(self, b: NestWriter, n: int, element: Any, rows: Element, of: str = ""):
        self.b, self.n, self.element, self.count = b, n, element, -(-n // _COLUMNS)
        self.cosines, self.sines = (
            b.local((STEPS_AT_ONCE, n), element, "scratch", name=of + name) for name in ("cosines", "sines")
        )
        self.lows, self.highs = (b.local((STEPS_AT_ONCE,), i32, "scratch", name=of + name) for name in ("lows", "highs"))
        self.blocks = [b.local((self.count, n, _COLUMNS), element, "scratch", name=f"{of}columns{k}") for k in range(len(rows))]
        zero = b.scalar.const(0, element)
        for plane, block in zip(rows, self.blocks, strict=True):
            with b.loop(self.count) as part, b.loop(n) as i:
                with b.loop(_COLUMNS) as j:
                    b.store(zero, block, [part.index, i.index, j.index])
                with self._columns(part.index) as j:
                    value = b.load(plane, [i.index, part.index * _COLUMNS + j.index])
                    b.store(value, block, [part.index, i.index, j.index])

    def _columns(self, part: Any) -> Any:
        """A loop over the columns of a block that lie in the matrix."""
        return self.b.loop([part * -_COLUMNS + self.n, _COLUMNS])

    def start(self, step: Any, low: SSAValue, high: SSAValue) -> None:
        """A step rotates the rows from `low` to `high`, none if these are one."""
        s = self.b.scalar
        self.b.store(s.convert(low, i32), self.lows, [step])
        self.b.store(s.convert(s.max(low, high), i32), self.highs, [step])

    def keep(self, step: Any, i: Any, c: SSAValue, s: SSAValue) -> None:
        """Rows `i` and `i + 1` become `c x - s y` and `s x + c y`."""
        self.b.store(c, self.cosines, [step, i])
        self.b.store(s, self.sines, [step, i])

    def apply(self) -> None:
        """Apply the rotations of all steps."""
        b = self.b
        for block in self.blocks:
            with b.loop(self.count) as part, b.loop(STEPS_AT_ONCE, "seq") as step:
                low_value, high_value = (b.scalar.convert(b.load(x, [step.index]), index) for x in (self.lows, self.highs))
                low, high = b.index_of(low_value), b.index_of(high_value)
                count = b.index_of(b.scalar.sub(high_value, low_value))
                with b.loop(_COLUMNS) as j:
                    last = b.load(block, [part.index, high, j.index])
                    with b.loop(count, "seq", inits=[last]) as k:
                        i, y = high - 1 - k.index, k.carried[0]
                        cosine, sine = (b.load(x, [step.index, i]) for x in (self.cosines, self.sines))
                        x = b.load(block, [part.index, i, j.index])
                        b.store(
                            b.scalar.add(b.scalar.mul(sine, x), b.scalar.mul(cosine, y)), block, [part.index, i + 1, j.index]
                        )
                        k.give(b.scalar.sub(b.scalar.mul(cosine, x), b.scalar.mul(sine, y)))
                    b.store(k.results[0], block, [part.index, low, j.index])

    def finish(self, rows: Element) -> None:
        """Copy the blocks back to the rows of a matrix."""
        b = self.b
        for plane, block in zip(rows, self.blocks, strict=True):
            with b.loop(self.count) as part, b.loop(self.n) as i, self._columns(part.index) as j:
                value = b.load(block, [part.index, i.index, j.index])
                b.store(value, plane, [i.index, part.index * _COLUMNS + j.index])
