"""Accesses and loops prepared once, as closures over values: the bodies of inner loops.

Uncommon forms (masks, strides, `mod` in a subscript) and errors (out of bounds) are left to the plain handlers of the
interpreter, which report them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.types import shape_of
from . import monoids
from .buffers import InterpreterError, Values

Step = Callable[[Values], None]
Handler = Callable[[Any, Values], None]


def scalar(op: Operation, meaning: Callable[..., Any]) -> Step:
    """An op with a meaning, its values found once."""
    result, operands = op.results[0], tuple(op.operands)
    if op.name == "arith.constant":
        value = meaning(op)

        def constant(values: Values) -> None:
            values[result] = value

        return constant
    if len(operands) == 2:
        x, y = operands

        def binary(values: Values) -> None:
            values[result] = meaning(op, values[x], values[y])

        return binary

    def any_number(values: Values) -> None:
        values[result] = meaning(op, *[values[o] for o in operands])

    return any_number


def _subscripts(op: LoadOp | StoreOp) -> Callable[[Values], list[int]] | None:
    """The point of an access from the values of its indices; None when a subscript is not linear."""
    indices = tuple(op.indices)
    forms = [linear_form(expr, len(indices)) for expr in op.map.data.results]
    if None in forms:
        return None
    dims = [
        ([(value, c) for value, c in zip(indices, form[0], strict=True) if c], form[1]) for form in forms if form is not None
    ]
    if all(len(terms) == 1 and terms[0][1] == 1 and not constant for terms, constant in dims):
        plain = [terms[0][0] for terms, _ in dims]
        return lambda values: [int(values[value]) for value in plain]
    return lambda values: [sum([c * int(values[value]) for value, c in terms], constant) for terms, constant in dims]


class Loop:
    """What a run of a loop needs of its op, found once."""

    def __init__(self, op: ForOp):
        self.block, self.kind, self.step = op.body.block, op.kind.data, op.step.value.data
        self.index, self.carried = self.block.args[0], tuple(self.block.args[1:])
        self.inits, self.results = tuple(op.inits), tuple(op.results)
        self.monoid = None if op.monoid is None else op.monoid.data
        self.lower = _bound(op.lower.data, tuple(op.lower_operands), max)
        self.upper = _bound(op.upper.data, tuple(op.upper_operands), min)


def _bound(map: AffineMap, operands: Sequence[SSAValue], choose: Callable[..., int]) -> Callable[[Values], int]:
    """The bound of a loop from the values that it is an expression of."""
    if not operands:
        known = choose(map.eval([], []))
        return lambda values: known
    form = linear_form(map.results[0], len(operands)) if len(map.results) == 1 else None
    if form is not None:
        terms, constant = [(value, c) for value, c in zip(operands, form[0], strict=True) if c], form[1]
        return lambda values: sum([c * int(values[value]) for value, c in terms], constant)
    return lambda values: choose(map.eval([int(values[value]) for value in operands], []))


def access(op: LoadOp | StoreOp, slow: Handler) -> Step:
    """A load or store of one element, or of neighbouring elements without a mask."""
    subscripts, buffer, value = _subscripts(op), op.buffer, op.value
    vector, rank = isinstance(op.element_type_(), VectorType), len(shape_of(op.buffer))
    if subscripts is None or (vector and (op.mask is not None or op.lane_step() != 1 or op.lane_dim() != rank - 1)):
        return lambda values: slow(op, values)
    lanes, reads = op.lanes, isinstance(op, LoadOp)

    def step(values: Values) -> None:
        memory, at = values[buffer], subscripts(values)
        point: Any = at
        if vector:
            point = [*at[:-1], slice(at[-1], at[-1] + lanes)]
            at.append(at[-1] + lanes - 1)
        shape = memory.shape if not vector else (*memory.shape, memory.shape[-1])
        for index, size in zip(at, shape):  # noqa: B905
            if index < 0 or index >= size:
                slow(op, values)  # it says what is wrong
                return
        if not reads:
            memory[tuple(point)] = values[value]
        elif vector:
            values[value] = memory[tuple(point)].copy()
        else:
            values[value] = memory[tuple(point)]

    return step


def _lanes(op: GatherOp | ScatterOp, values: Values) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """(buffer, subscripts of every lane, which lanes are on); bounds are checked for those."""
    buffer = values[op.buffer]
    on = np.ones(op.lanes, np.bool_) if op.mask is None else values[op.mask]
    points = tuple(np.broadcast_to(np.asarray(values[s], np.int64), (op.lanes,)) for s in op.subscripts)
    for dim, (index, size) in enumerate(zip(points, buffer.shape, strict=True)):
        wrong = ((index < 0) | (index >= size)) & on
        if wrong.any():
            raise InterpreterError(f"'{op.name}' op index {index} of dim {dim} is out of bounds for {buffer.shape}", op)
    return buffer, points, on


def gather(op: GatherOp, values: Values) -> None:
    """A load whose lanes are anywhere."""
    buffer, points, on = _lanes(op, values)
    result = np.zeros(op.lanes, buffer.dtype)
    result[on] = buffer[tuple(index[on] for index in points)]
    values[op.value] = result


def scatter(op: ScatterOp, values: Values) -> None:
    """A store whose lanes are anywhere, in the order of the lanes."""
    buffer, points, on = _lanes(op, values)
    for lane in np.flatnonzero(on):
        buffer[tuple(index[lane] for index in points)] = values[op.value][lane]


def combiner(monoid: str) -> Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]:
    """`monoids.combine` of one monoid."""
    function = monoids.COMBINE.get(monoid)
    if function is None:
        return lambda acc, x: monoids.combine(monoid, acc, x)
    return lambda acc, x: tuple([function(a, b) for a, b in zip(acc, x, strict=True)])


def indices(kind: str, lower: int, upper: int, step: int, backwards: bool = True) -> Any:
    """The iterations of a loop in the order in which they run here: parallel loops backwards, so that races show."""
    found = range(lower, upper, step)
    return map(np.int64, reversed(found) if kind == "parallel" and backwards else found)
