"""What is computed from known arrays before a program runs: weights in the form in which products read them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.facts import Cost, Rounding
from ..dialects.graph.base import GraphOp
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.create import ConstOp
from ..dialects.types import element_of, is_float, numpy_dtype, shape_of

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
GROWTH = 4 / 3
"""How many times as many elements as an array what is computed from it may have: features are padded to whole words."""
LARGEST = 1 << 26
"""Elements of the largest array that is computed."""


def are_quantized(dtype: Any, rank: int) -> bool:
    """Whether arrays of a dtype and rank are taken for quantized weights: matrices and filters of bytes."""
    return dtype in BYTES and rank > 1


class Ahead:
    """Values of a block that depend on known arrays and constants alone, as NumPy computes them.

    Attributes:
        ops: those that depend on known arrays, in order.
        arrays: the known arrays, and the results of `ops`.
    """

    def __init__(self, block: Block, known: Mapping[SSAValue, np.ndarray[Any, Any]]):
        self.arrays = dict(known)
        self.ops: dict[Operation, None] = {}
        self._constants: dict[SSAValue, GraphOp] = {}
        self._read = {value: array.size for value, array in known.items()}
        for op in block.ops:
            if isinstance(op, GraphOp) and len(op.results) == 1 and op.results[0] not in self.arrays and _is_exact(op):
                self._visit(op)

    def _visit(self, op: GraphOp) -> None:
        if all(x in self._constants for x in op.operands):
            self._constants[op.results[0]] = op
        elif all(x in self.arrays or x in self._constants for x in op.operands):
            read = max(self._read[x] for x in op.operands if x in self.arrays)
            shape = shape_of(op.results[0])
            if all(isinstance(n, int) for n in shape) and 0 <= prod(shape) <= min(GROWTH * read, LARGEST):
                self.arrays[op.results[0]] = op.evaluate(*map(self._array, op.operands))[0]
                self._read[op.results[0]] = read
                self.ops[op] = None

    def _array(self, value: SSAValue) -> np.ndarray[Any, Any]:
        if value in self.arrays:
            return self.arrays[value]
        op = self._constants[value]
        return op.evaluate(*map(self._array, op.operands))[0]

    def results(self) -> list[SSAValue]:
        """The computed values that other ops read."""
        return [y for op in self.ops for y in op.results if any(use.operation not in self.ops for use in y.uses)]

    def replace(self, value: SSAValue, by: SSAValue) -> None:
        """Let other ops read another value."""
        for use in [use for use in value.uses if use.operation not in self.ops]:
            use.operation.operands[use.index] = by

    def erase(self) -> None:
        """Remove the ops, which nothing else reads any more."""
        for op in reversed(self.ops):
            op.detach()
            op.erase()


def fold_quantized(block: Block) -> None:
    """Compute what depends on constants of bytes, which are weights; their size is no limit, as for other constants."""
    known: dict[SSAValue, np.ndarray[Any, Any]] = {
        op.y: op.evaluate()[0]
        for op in block.ops
        if isinstance(op, ConstOp) and are_quantized(_dtype(op.y), len(shape_of(op.y)))
    }
    if not known:
        return
    ahead = Ahead(block, known)
    for value in ahead.results():
        owner = value.owner
        assert isinstance(owner, Operation)
        b = GraphBuilder(InsertPoint.before(owner), owner.location)
        ahead.replace(value, b.const(ahead.arrays[value], element_of(value)))
    ahead.erase()


def _dtype(value: SSAValue) -> Any:
    return numpy_dtype(element_of(value))


def _is_exact(op: GraphOp) -> bool:
    """Whether NumPy computes the results to the bit: integers, what is only moved, and one instruction for an element."""
    if op.regions:
        return False
    integers = all(not is_float(element_of(y)) for y in op.results)
    return integers or op.rounding is Rounding.NONE or (op.facts.pointwise and op.facts.cost <= Cost.LOAD)
