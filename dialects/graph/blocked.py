"""Factorizations of large matrices in blocks of columns, which are held in local memory.

A factorization goes from one block of `BLOCK` columns to the next. Each block updates the blocks after it by matmuls of static
sizes, which get register tiles; these updates are independent, so threads share them. A factorization of any size is therefore
one kernel, whose parts are compiled once (the tiled algorithms of Buttari, Langou, Kurzak and Dongarra, 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ..types import index
from .complex_elements import Element, Field
from .matrices import BLOCK, Matrices

if TYPE_CHECKING:
    from .nest_writer import NestWriter

At = Callable[[Any, Any], Element]


def is_large(m: Matrices, *sizes: int) -> bool:
    """Whether matrices of these sizes are factored in blocks."""
    return not m.in_lanes and min(sizes) > BLOCK


class BlockColumns:
    """A matrix in local memory: block of columns, row, column within. Rows are whole blocks.

    The padding beyond the matrix starts as 0 and is updated like the rest; no result depends on it.

    Attributes:
        rows: the number of rows, padding included.
        count: blocks of columns.
        width: columns of a block.
        buffers: the parts, `count` x `rows` x `width`.
    """

    def __init__(self, field: Field, rows: int, columns: int, name: str = "blocks"):
        self.field, self.sizes, self.width = field, (rows, columns), min(columns, BLOCK)
        self.rows, self.count = whole(rows), -(-columns // self.width)
        self.buffers = field.local((self.count, self.rows, self.width), name)

    def fill(self, get: At) -> None:
        """Let the elements be `get(i, j)`."""
        f, b = self.field, self.field.b
        rows, columns = self.sizes
        if columns % self.width:
            with b.loop(self.rows) as i, b.loop(self.width) as j:
                f.store(f.const(0), self.buffers, [self.count - 1, i.index, j.index])
        if rows % BLOCK:
            with b.loop(self.count) as k, b.loop(self.rows, lower=rows) as i, b.loop(self.width) as j:
                f.store(f.const(0), self.buffers, [k.index, i.index, j.index])
        with b.loop(rows) as i, b.loop(self.count) as k, self._columns(k.index) as j:
            f.store(get(i.index, k.index * self.width + j.index), self.buffers, [k.index, i.index, j.index])

    def give(self, put: Callable[[Element, Any, Any], None], rows: int | None = None) -> None:
        """Call `put(x, i, j)` for each element, or for those of the first rows."""
        b = self.field.b
        with b.loop(self.sizes[0] if rows is None else rows) as i, b.loop(self.count) as k, self._columns(k.index) as j:
            put(self.load(k.index, i.index, j.index), i.index, k.index * self.width + j.index)

    def _columns(self, k: Any) -> Any:
        """A loop over the columns of a block that lie in the matrix."""
        columns = self.sizes[1]
        return self.field.b.loop(self.width if columns % self.width == 0 else [self.width, k * -self.width + columns])

    def load(self, *point: Any) -> Element:
        """An element by block, row, and column within."""
        return self.field.load(self.buffers, point)

    def subtract(self, column: Any, row: Any, left: At, right: At, *, conjugate: bool = False) -> None:
        """Subtract the sums of `left(i, p) right(p, j)` over `p` from `BLOCK` rows of a block of columns (`add_products`)."""

        def at(i: Any, j: Any) -> list[Any]:
            return [column, row * BLOCK + i, j]

        add_products(self.field, self.buffers, at, self.width, left, right, conjugate=conjugate, minus=True)


def whole(n: int) -> int:
    """`n`, in whole blocks."""
    return -(-n // BLOCK) * BLOCK


def add_products(
    f: Field,
    to: Element,
    at: Callable[[Any, Any], list[Any]],
    width: int,
    left: At,
    right: At,
    *,
    conjugate: bool = False,
    minus: bool = False,
) -> None:
    """Add the sum of `left(i, p) right(p, j)` over `p` to the element `at(i, j)`: `BLOCK` rows and terms.

    For complex elements each product of parts has its own loops, so that all loops are plain matmuls.

    Args:
        conjugate: whether the left elements are conjugated.
        minus: whether the sum is subtracted.
    """
    b = f.b
    for part in product(range(f.parts), repeat=2):
        buffer = to[part[0] ^ part[1]]
        is_negative = minus ^ (part == (1, 1) and not conjugate) ^ (part == (1, 0) and conjugate)
        with b.loop(BLOCK) as i, b.loop(width) as j:
            with b.loop(BLOCK, "reduce", monoid="add", inits=[f.number(0)]) as p:
                p.give(b.scalar.mul(left(i.index, p.index)[part[0]], right(p.index, j.index)[part[1]]))
            place = at(i.index, j.index)
            old = b.load(buffer, place)
            new = b.scalar.sub(old, p.results[0]) if is_negative else b.scalar.add(old, p.results[0])
            b.store(new, buffer, place)


def solve_block(
    f: Field,
    to: Element,
    width: int,
    right: At,
    factor: At,
    *,
    has_diagonal: bool,
    up: bool = False,
    size: Any = BLOCK,
) -> None:
    """Let `to` be the solution `x` of `sum over q of factor(i, q) x(q, j) = right(i, j)`, of a lower triangle, or an upper one.

    Args:
        has_diagonal: whether there is a diagonal; else it is 1.
        up: whether it is an upper triangle.
        size: rows of the block, where it is not `BLOCK`; of a lower triangle.
    """
    b = f.b
    with b.loop(width) as j, b.loop(size, "seq") as step:
        i = step.index * -1 + (BLOCK - 1) if up else step.index
        ends = {"lower": i + 1} if up else {}
        known = f.sum(BLOCK if up else i, lambda q: f.mul(factor(i, q), f.load(to, [q, j.index])), **ends)
        rest = f.sub(right(i, j.index), known)
        f.store(f.div(rest, factor(i, i)) if has_diagonal else rest, to, [i, j.index])


# --------------------------------------------------------------------------------------------------------------------
# Factorizations


def blocked_solve(
    b: NestWriter,
    m: Matrices,
    n: int,
    columns: int,
    factor: Callable[[Any, Any], Element],
    row: Callable[[Any], Any],
    has_diagonal: bool,
) -> None:
    """Solve with a lower triangle `factor(i, k)` of `n` rows, of which row `i` is row `row(i)` of the right side."""
    f = m.field
    y = BlockColumns(f, n, columns, "right")
    y.fill(lambda i, j: m.read(1, row(i), j))
    panel = f.local((y.rows, BLOCK), "panel")
    if n % BLOCK:
        with b.loop(y.rows, lower=n) as i, b.loop(BLOCK) as j:
            f.store(f.const(0), panel, [i.index, j.index])
    with b.loop(y.rows // BLOCK, "seq") as k:
        top = k.index * BLOCK
        size = BLOCK if n % BLOCK == 0 else [BLOCK, top * -1 + n]
        with b.loop(n, lower=top) as i, b.loop(size) as j:
            f.store(factor(i.index, top + j.index), panel, [i.index, j.index])
        with b.loop(y.count) as c:
            x = f.local((BLOCK, y.width), "solution")
            solve_block(
                f,
                x,
                y.width,
                lambda i, j: y.load(c.index, top + i, j),
                lambda i, q: f.load(panel, [top + i, q]),
                has_diagonal=has_diagonal,
                size=size,
            )
            with b.loop(size) as i, b.loop(y.width) as j:
                f.store(f.load(x, [i.index, j.index]), y.buffers, [c.index, top + i.index, j.index])
            with b.loop(y.rows // BLOCK, "seq", lower=k.index + 1) as r:
                y.subtract(
                    c.index,
                    r.index,
                    lambda i, p: f.load(panel, [r.index * BLOCK + i, p]),
                    lambda p, j: f.load(x, [p, j]),
                )
    y.give(lambda x, i, j: m.store(x, 0, row(i), j))


def blocked_lu(b: NestWriter, m: Matrices, rows: int, columns: int, pivot_in: Callable[[Element, Any], SSAValue]) -> None:
    """Factor each block of columns in turn; the blocks beside it get its row exchanges, and those after it are updated.

    Args:
        pivot_in: the row of the pivot of a column, from a row on, an i32.
    """
    f, steps = m.field, min(rows, columns)
    a = BlockColumns(f, rows, columns)
    a.fill(lambda i, j: m.read(0, i, j))
    panel, column = f.local((a.rows, BLOCK), "panel"), f.local((a.rows,), "column")
    with b.loop(-(-steps // BLOCK), "seq") as k:
        top = k.index * BLOCK
        size = [BLOCK, top * -1 + steps]
        with b.loop(a.rows, lower=top) as i, b.loop(BLOCK) as j:
            f.store(a.load(k.index, i.index, j.index), panel, [i.index, j.index])
        with b.loop(size, "seq") as c:
            at = top + c.index
            with b.loop(rows, lower=at) as i:
                f.store(f.load(panel, [i.index, c.index]), column, [i.index])
            pivot = pivot_in(column, at)
            m.store((pivot,), 1, at)
            place = b.index_of(b.scalar.convert(pivot, index))
            _exchange(f, panel, at, place)
            f.store(f.load(column, [at]), column, [place])
            value = f.load(panel, [at, c.index])
            divisor = f.select(f.is_zero(value), f.const(1), value)
            with b.loop(rows, lower=at + 1) as i:
                factor = f.div(f.load(column, [i.index]), divisor)
                f.store(factor, panel, [i.index, c.index])
                with b.loop(BLOCK, lower=c.index + 1) as j:
                    change = f.mul(factor, f.load(panel, [at, j.index]))
                    f.store(f.sub(f.load(panel, [i.index, j.index]), change), panel, [i.index, j.index])
        with b.loop(a.rows, lower=top) as i, b.loop(BLOCK) as j:
            f.store(f.load(panel, [i.index, j.index]), a.buffers, [k.index, i.index, j.index])

        def exchange(column: Any, top: Any = top, size: Any = size) -> None:
            with b.loop(size, "seq") as c:
                place = b.index_of(b.scalar.convert(m.load(1, top + c.index)[0], index))
                _exchange(f, a.buffers, top + c.index, place, column)

        with b.loop(k.index) as before:
            exchange(before.index)
        with b.loop(a.count, lower=k.index + 1) as behind:
            exchange(behind.index)
            above = f.local((BLOCK, BLOCK), "above")
            solve_block(
                f,
                above,
                BLOCK,
                lambda i, j: a.load(behind.index, top + i, j),
                lambda i, q: f.load(panel, [top + i, q]),
                has_diagonal=False,
            )
            with b.loop(BLOCK) as i, b.loop(BLOCK) as j:
                f.store(f.load(above, [i.index, j.index]), a.buffers, [behind.index, top + i.index, j.index])
            with b.loop(a.rows // BLOCK, "seq", lower=k.index + 1) as r:
                a.subtract(
                    behind.index,
                    r.index,
                    lambda i, p: f.load(panel, [r.index * BLOCK + i, p]),
                    lambda p, j: f.load(above, [p, j]),
                )
    a.give(lambda x, i, j: m.store(x, 0, i, j))


def _exchange(f: Field, rows: Element, one: Any, other: Any, *before: Any) -> None:
    """Exchange two rows of `BLOCK` columns."""
    with f.b.loop(BLOCK) as j:
        places = [[*before, row, j.index] for row in (one, other)]
        x, y = (f.load(rows, place) for place in places)
        f.store(y, rows, places[0])
        f.store(x, rows, places[1])
