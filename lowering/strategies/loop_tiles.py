"""Handwritten nests that sum over products of rows and columns: which loops make a register tile.

    for seq %i:                                        rows: threads, and some jammed
      for seq %j:                                      columns: vectors
        for seq %k:                                    the sum, in the order of %k
          %C[%i, %j] = %C[%i, %j] + %A[%i, %k] * %B[%k, %j]

Operands that are invariant in the rows (`%B`) are loaded once for all jammed rows. Where the operand is gathered for each row,
few rows are jammed: enough to overlap their latencies.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, WhileOp
from ...dialects.loop.memory import AllocOp, LoadOp, StoreOp
from ...thresholds import number
from ..analysis.lanes import varying_values
from ..analysis.nests import buffer_name, holds, name_of, only_loop_in, ops_in, statements
from ..costs import Costs, widest

_ROWS_AT_PLACES = number("loop_tiles._ROWS_AT_PLACES")
_MANY_REGISTERS = number("loop_tiles._MANY_REGISTERS")


@dataclass(frozen=True)
class Tile:
    """A register tile of a nest whose outermost loop runs over rows.

    Attributes:
        columns: the loop that becomes vectors, next to the loop over the rows.
        sum: the outermost loop inside the loop over the columns.
        kept: the buffers whose elements the sum updates in memory.
        rows: the number of rows at once.
        lanes: the number of columns in a vector.
    """

    columns: str
    sum: str
    kept: tuple[str, ...]
    rows: int
    lanes: int


def find_tile(rows: ForOp, costs: Costs, target: Target) -> Tile | None:
    """The register tile that a nest gains from, if there is one."""
    columns = only_loop_in(rows)
    if columns is None or costs.plan(rows).loops != [columns]:
        return None
    sums = [op for op in statements(columns.body.block) if isinstance(op, ForOp)]
    if len(sums) != 1 or holds(columns.body.block, WhileOp, AllocOp):
        return None
    (sum_,) = sums
    if any(rows.index in loop.operands or columns.index in loop.operands for loop in ops_in(sum_, ForOp)):
        return None
    inside = ops_in(sum_, LoadOp, StoreOp)
    loads = [op for op in inside if isinstance(op, LoadOp) and columns.index in op.indices and rows.index not in op.indices]
    if not loads:
        return None
    varying = varying_values(rows)
    is_shared = any(not any(value in varying for value in op.indices) for op in loads)
    kept = dict.fromkeys(buffer_name(op.buffer) for op in inside if isinstance(op, StoreOp))
    registers = 4 if target.vector_registers >= _MANY_REGISTERS else 2
    at_once = (target.vector_registers - 2 * registers) // registers if is_shared else _ROWS_AT_PLACES
    return Tile(name_of(columns), name_of(sum_), tuple(kept), at_once, registers * target.lanes(widest(columns)))
