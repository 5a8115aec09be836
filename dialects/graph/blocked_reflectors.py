"""Householder's factorization and products of reflectors for large matrices, in blocks of columns as in `blocked.py`.

The product of the reflectors of a block of columns is `I - V T V^H`. The inverse of `T` is a triangle of `V^H V` (Puglisi,
1992; `orthogonal.py`), so that two matmuls and a triangular solve reflect each later block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blocked import At, BlockColumns, add_products, solve_block, whole
from .complex_elements import Element, Field
from .matrices import BLOCK, Matrices

if TYPE_CHECKING:
    from .nest_writer import NestWriter


class _Block:
    """The reflectors of a block of columns: their vectors, and the inverse of `T`."""

    def __init__(self, f: Field, rows: int):
        self.field, self.rows = f, whole(rows)
        self.v = f.local((self.rows, BLOCK), "reflectors")
        self.inverse = f.local((BLOCK, BLOCK), "inverse")

    def clear(self) -> None:
        """Let all vectors be 0."""
        with self.field.b.loop(self.rows) as i, self.field.b.loop(BLOCK) as j:
            self.field.store(self.field.const(0), self.v, [i.index, j.index])

    def combine(self, k: Any) -> None:
        """Find the inverse of `T`, of vectors that begin in block `k` of rows."""
        f, b = self.field, self.field.b
        with b.loop(BLOCK) as i, b.loop(BLOCK) as j:
            f.store(f.const(0), self.inverse, [i.index, j.index])
        with b.loop(self.rows // BLOCK, "seq", lower=k) as r:
            add_products(f, self.inverse, lambda i, j: [i, j], BLOCK, *self._beside(r.index, self.v), conjugate=True)
        with b.loop(BLOCK) as i:
            f.store(self._diagonal(k, i.index), self.inverse, [i.index, i.index])

    def _diagonal(self, k: Any, i: Any) -> Element:
        """A diagonal element of the inverse of `T`: 1, or for complex reflectors from the vector's first element."""
        f, s = self.field, self.field.b.scalar
        if not f.is_complex:
            return f.const(1)
        first = f.load(self.v, [k * BLOCK + i, i])
        is_zero = s.cmp("eq", first[0], f.number(0))
        return f.number(1), s.neg(s.div(first[1], s.select(is_zero, f.number(1), first[0])))

    def _beside(self, r: Any, other: Element, *before: Any) -> tuple[At, At]:
        """The factors of the product of `V^H` and a matrix, of block `r` of rows."""
        f = self.field
        return (
            lambda i, p: f.load(self.v, [r * BLOCK + p, i]),
            lambda p, j: f.load(other, [*before, r * BLOCK + p, j]),
        )

    def reflect(self, a: BlockColumns, column: Any, k: Any, *, adjoint: bool) -> None:
        """Apply the product of the reflectors, or its adjoint, to a block of columns, from block `k` of rows on."""
        f, b = self.field, self.field.b
        inner, weights = f.local((BLOCK, a.width), "inner"), f.local((BLOCK, a.width), "weights")
        with b.loop(BLOCK) as i, b.loop(a.width) as j:
            f.store(f.const(0), inner, [i.index, j.index])
        with b.loop(self.rows // BLOCK, "seq", lower=k) as r:
            add_products(f, inner, lambda i, j: [i, j], a.width, *self._beside(r.index, a.buffers, column), conjugate=True)

        def factor(i: Any, q: Any) -> Element:
            return f.conj(f.load(self.inverse, [q, i])) if adjoint else f.load(self.inverse, [i, q])

        def right(i: Any, j: Any) -> Element:
            return f.load(inner, [i, j])

        solve_block(f, weights, a.width, right, factor, has_diagonal=f.is_complex, up=not adjoint)
        with b.loop(self.rows // BLOCK, "seq", lower=k) as r:
            a.subtract(
                column,
                r.index,
                lambda i, p: f.load(self.v, [r.index * BLOCK + i, p]),
                lambda p, j: f.load(weights, [p, j]),
            )


def blocked_householder(b: NestWriter, m: Matrices, rows: int, columns: int, reflector: Any) -> None:
    """Compute the reflectors of one block of columns after the other and apply them to the later blocks."""
    f, steps = m.field, min(rows, columns)
    a, block = BlockColumns(f, rows, columns), _Block(f, rows)
    a.fill(lambda i, j: m.read(0, i, j))
    panel = f.local((a.rows, BLOCK), "panel")
    with b.loop(-(-steps // BLOCK), "seq") as k:
        top = k.index * BLOCK
        size = BLOCK if steps % BLOCK == 0 else [BLOCK, top * -1 + steps]
        with b.loop(rows, lower=top) as i, b.loop(BLOCK) as j:
            f.store(a.load(k.index, i.index, j.index), panel, [i.index, j.index])
        block.clear()
        with b.loop(size, "seq") as c:
            at = top + c.index
            on_diagonal = reflector.make(at, lambda i: f.load(panel, [i, c.index]))
            with b.loop(rows, lower=at) as i:
                f.store(reflector.at(i.index), block.v, [i.index, c.index])
            reflector.apply(at, BLOCK, c.index + 1, panel)
            f.store(f.of_real(on_diagonal), panel, [at, c.index])
        with b.loop(rows, lower=top) as i, b.loop(BLOCK) as j:
            f.store(f.load(panel, [i.index, j.index]), a.buffers, [k.index, i.index, j.index])
        with b.loop(rows) as i, b.loop(size) as j:
            m.store(f.load(block.v, [i.index, j.index]), 0, i.index, top + j.index)
        block.combine(k.index)
        with b.loop(a.count, lower=k.index + 1) as behind:
            block.reflect(a, behind.index, k.index, adjoint=True)
    zero = f.const(0)

    def put(x: Element, i: Any, j: Any) -> None:
        above = b.scalar.cmp("le", b.position(i), b.position(j))
        m.store(f.select(above, x, zero), 1, i, j)

    a.give(put, steps)


def blocked_product(b: NestWriter, m: Matrices, rows: int, count: int, columns: int) -> None:
    """Apply the last block of reflectors first: it leaves unchanged the rows and columns that only the others reach."""
    f = m.field
    q, block = BlockColumns(f, rows, columns), _Block(f, rows)

    def is_on_diagonal(i: Any, j: Any) -> Element:
        same = b.scalar.cmp("eq", b.position(i), b.position(j))
        return f.select(same, f.const(1), f.const(0))

    q.fill(is_on_diagonal)
    blocks = -(-count // BLOCK)
    with b.loop(blocks, "seq") as step:
        k = step.index * -1 + (blocks - 1)
        block.clear()
        with b.loop(rows, lower=k * BLOCK) as i, b.loop(BLOCK if count % BLOCK == 0 else [BLOCK, k * -BLOCK + count]) as j:
            f.store(m.read(0, i.index, k * BLOCK + j.index), block.v, [i.index, j.index])
        block.combine(k)
        with b.loop(q.count, lower=k) as behind:
            block.reflect(q, behind.index, k, adjoint=False)
    q.give(lambda x, i, j: m.store(x, 0, i, j))
