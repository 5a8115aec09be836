"""Prologues: what a contraction reads and an elementwise op of the same kernel computes.

A contraction reads most of its operands many times. What computes them is stored first then, in a nest of its own before that
of the contraction, from where the schedule takes it: into the copy that packs the operand, or into a block of it. So every
schedule has the choice, and one that does not use it computes each element once all the same.

An op that writes its own loops may copy an operand before it computes (`GraphOp.copied`). What is cheap is computed by the
copy: the edges of blocks are copied twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from .base import Equation, GraphOp
from .choose import ConvertOp
from .elementwise import ElementwiseOp

FEW_TIMES = 64
"""How often a contraction may convert the same element of a large operand."""

LARGE = 1 << 19
"""Elements of an operand that caches do not hold once it is converted."""


def may_repeat(op: Operation) -> int:
    """How often the same element of the result of an op may be computed."""
    if not isinstance(op, ConvertOp):
        return 1
    given, made = op.x.type, op.results[0].type
    assert isinstance(given, TensorType)
    assert isinstance(made, TensorType)
    widens = given.element_type.bitwidth < made.element_type.bitwidth  # pyright: ignore[reportAttributeAccessIssue]
    return FEW_TIMES if widens and prod(made.get_shape()) >= LARGE else 1


CHEAP = ("add", "sub", "mul", "max", "min", "neg", "abs", "convert", "select", "compare")
"""Elementwise ops that take about as long as a load."""


def is_cheap(op: Operation) -> bool:
    """Whether to compute an element again for each of the few blocks that copy it is no loss."""
    return isinstance(op, ElementwiseOp) and op.name.removeprefix("graph.") in CHEAP


def contracts(equation: Equation) -> bool:
    """Whether an equation sums products of several operands."""
    return equation.n_reduce > 0 and len(equation.reads) > 1


def stored_first(ops: Iterable[Operation], outputs: Iterable[SSAValue]) -> list[SSAValue]:
    """The values in a kernel that are stored before its contractions read them: they read each element too often."""
    kept, found = set(outputs), dict[SSAValue, None]()
    for op in ops:
        equations = op.equations() if isinstance(op, GraphOp) and not op.has_nest else ()
        if len(equations) != 1 or not contracts(equations[0]):
            continue
        for read in equations[0].reads:
            value, index = _computed(op.operands[read.operand], read.map.results)
            used = frozenset[int]().union(*(expr.used_dims() for expr in index))
            times = prod(size for dim, size in enumerate(equations[0].space) if dim not in used)
            owner = value.owner
            if isinstance(owner, ElementwiseOp) and value not in kept and times > may_repeat(owner):
                found[value] = None
    return list(found)


def _computed(value: SSAValue, index: tuple[AffineExpr, ...]) -> tuple[SSAValue, tuple[AffineExpr, ...]]:
    """What ops that only move elements lead back to, and where that is read."""
    for op, equation in _moves(value):
        (read,) = equation.reads
        value, index = op.operands[read.operand], tuple(e.replace_dims_and_symbols(list(index), []) for e in read.map.results)
    return value, index


def _moves(value: SSAValue) -> Iterator[tuple[GraphOp, Equation]]:
    while isinstance(op := value.owner, GraphOp) and not isinstance(op, ElementwiseOp) and not op.has_nest:
        equations = op.equations()
        if len(equations) != 1 or equations[0].n_reduce or len(equations[0].reads) != 1 or equations[0].write is not None:
            return
        yield op, equations[0]
        value = op.operands[equations[0].reads[0].operand]
