"""Large matrices in local memory, in blocks of columns: what the loops of blocked factorizations work on.

A factorization goes from one block of `BLOCK` columns to the next. What it does to the blocks behind are products of blocks of
static sizes, which get register tiles, and each of them is independent of the others, so threads share them. So a factorization
of any size is one kernel, whose parts are compiled once (the tiled algorithms of Buttari, Langou, Kurzak and Dongarra, 2009).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .field import Element, Field
from .matrices import BLOCK


class BlockColumns:
    """A matrix in local memory: block column, row, column within. Rows and columns are whole blocks, with zeros beyond.

    Attributes:
        rows: how many there are with those beyond the matrix.
        count: block columns.
        buffers: the parts, `count` x `rows` x `BLOCK`.
    """

    def __init__(self, field: Field, rows: int, columns: int, name: str = "blocks"):
        self.field, self.sizes = field, (rows, columns)
        self.rows, self.count = -(-rows // BLOCK) * BLOCK, -(-columns // BLOCK)
        self.buffers = field.local((self.count, self.rows, BLOCK), name)

    def fill(self, get: Callable[[Any, Any], Element]) -> None:
        """Let the elements be `get(i, j)`."""
        f, b = self.field, self.field.b
        rows, columns = self.sizes
        if columns % BLOCK:
            with b.loop(self.rows) as i, b.loop(BLOCK) as j:
                f.store(f.const(0), self.buffers, [self.count - 1, i.index, j.index])
        if rows % BLOCK:
            with b.loop(self.count) as k, b.loop(self.rows, lower=rows) as i, b.loop(BLOCK) as j:
                f.store(f.const(0), self.buffers, [k.index, i.index, j.index])
        with b.loop(rows) as i, b.loop(self.count) as k, self._columns(k.index) as j:
            f.store(get(i.index, k.index * BLOCK + j.index), self.buffers, [k.index, i.index, j.index])

    def give(self, put: Callable[[Element, Any, Any], None]) -> None:
        """Call `put(x, i, j)` for each element."""
        f, b = self.field, self.field.b
        with b.loop(self.sizes[0]) as i, b.loop(self.count) as k, self._columns(k.index) as j:
            put(f.load(self.buffers, [k.index, i.index, j.index]), i.index, k.index * BLOCK + j.index)

    def _columns(self, k: Any) -> Any:
        """A loop over the columns of a block that the matrix has."""
        columns = self.sizes[1]
        return self.field.b.loop(BLOCK if columns % BLOCK == 0 else [BLOCK, k * -BLOCK + columns])

    def subtract(self, at: tuple[Any, Any], term: Callable[[Any, Any, Any], Element]) -> None:
        """Subtract a product from block column `at[0]`, block row `at[1]`: the sum of `term(i, j, p)` over `p`."""
        column, row = at
        f, b = self.field, self.field.b
        for part, buffer in enumerate(self.buffers):
            with b.loop(BLOCK) as i, b.loop(BLOCK) as j:
                with b.loop(BLOCK, "reduce", monoid="add", inits=[f.number(0)]) as p:
                    p.give(term(i.index, j.index, p.index)[part])
                place = [column, row * BLOCK + i.index, j.index]
                b.store(b.scalar.sub(b.load(buffer, place), p.results[0]), buffer, place)
