"""Running combinations along a dim: `scan` by a monoid (cumulative sums, products, extremes), `recurrence` by a linear step.

Both run in order, one element after the other, so that results equal NumPy's `accumulate` bit for bit. Sums of more floats than
a block holds run in blocks, so that rounding errors do not grow with the number of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr
from xdsl.irdl import operand_def, prop_def, result_def

from ...errors import DifferentiationError, DTypeError, ShapeError
from ..facts import OpFacts, Rounding, rounding_by
from ..sizes.polynomial import is_at_most
from ..types import COMPLEX, element_of, is_bool, is_complex, is_float, part_of, shape_of, show_shape, tensor, unify
from .base import Custom, GraphOp, Props, Types, graph_op, integer, one_of, require_same_element, require_same_shape, word
from .batching import along

if TYPE_CHECKING:
    from .builder import GraphBuilder
    from .nest_writer import NestWriter

_ACCUMULATE: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add.accumulate,
    "mul": np.multiply.accumulate,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}
BLOCK = 128
"""Elements of a block: floats that a running sum adds in sequence, and blocks that it adds in sequence."""
_DIRECTIONS = ("forward", "reverse")
_OPPOSITE = {"forward": "reverse", "reverse": "forward"}


def _require_dim(dim: int, type: TensorType) -> None:
    if not 0 <= dim < len(type.get_shape()):
        raise ShapeError(f"dim must be within the rank, got {dim} for {show_shape(type.get_shape())}")


def shifted(b: GraphBuilder, x: SSAValue, dim: int, direction: str, first: float) -> SSAValue:
    """Elements shifted by one position in a direction: `first` is inserted, the last one is dropped."""
    rank = len(shape_of(x))
    low, high = [0] * rank, [0] * rank
    low[dim], high[dim] = (1, -1) if direction == "forward" else (-1, 1)
    value = b.const(first, element_of(x))
    return b.pad(x, value, low=low, high=high, interior=[0] * rank)


def _along(b: NestWriter, shape: Sequence[int], dim: int, direction: str) -> tuple[ExitStack, Any]:
    """All loops but that along `dim`, and the point of the element that is `k` steps from the start."""
    loops = ExitStack()
    others = {d: loops.enter_context(b.loop(n)).index for d, n in enumerate(shape) if d != dim}

    def point(k: Any) -> list[Any]:
        at = k if direction == "forward" else k * -1 + (shape[dim] - 1)
        return [at if d == dim else others[d] for d in range(len(shape))]

    return loops, point


# --------------------------------------------------------------------------------------------------------------------
# scan


def _scan_like(b: GraphBuilder, op: ScanOp, x: SSAValue, **changed: Any) -> SSAValue:
    return b.scan(x, **{name: op.properties[name] for name in ("kind", "dim", "direction", "bound")} | changed)


def _jvp_scan(b: GraphBuilder, op: ScanOp, tangents: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
    (dx,) = tangents
    kind, dim, direction, x = op.kind.data, integer(op.dim), op.direction.data, op.x
    if kind == "add":
        return [_scan_like(b, op, dx)]
    y = op.y if op.bound.data == "inclusive" else _scan_like(b, op, x, bound="inclusive")
    if kind == "mul":
        # y[i] = x[i] * y[i-1], and so dy[i] = x[i] * dy[i-1] + dx[i] * y[i-1]: no division, right with zeros
        dy = b.recurrence(x, b.mul(dx, shifted(b, y, dim, direction, 1)), dim=dim, direction=direction)
    else:
        dy = _jvp_extreme(b, x, y, dx, dim, direction)
    return [dy if op.bound.data == "inclusive" else shifted(b, dy, dim, direction, 0)]


def _jvp_extreme(b: GraphBuilder, x: SSAValue, y: SSAValue, dx: SSAValue, dim: int, direction: str) -> SSAValue:
    """The tangent of the element that attains a running extreme: the latest one of several that are equal."""
    shape = shape_of(x)
    last = len(shape) - 1
    place = b.insert(_iota(shape, dim))
    # NaN is the extreme from where it first stands
    attains = b.or_(b.cmp(x, y, predicate="eq"), b.cmp(x, x, predicate="ne"))
    forward = direction == "forward"
    nowhere = b.full_like(place, -1 if forward else shape[dim])
    holder = b.scan(
        b.select(attains, place, nowhere), kind="max" if forward else "min", dim=dim, direction=direction, bound="inclusive"
    )
    # the dim that the indices address is last, the others are batch dims
    perm = [d for d in range(last + 1) if d != dim] + [dim]
    back = [perm.index(d) for d in range(last + 1)]
    found = b.gather(dx, b.transpose(holder, perm=perm), at=(dim,), batch=perm[:-1])
    return b.transpose(found, perm=back)


def _iota(shape: Sequence[int], dim: int) -> GraphOp:
    from .create import IotaOp

    return IotaOp.make((), {"dim": dim}, (tensor(i64, shape),))


def _transpose_scan(b: GraphBuilder, op: ScanOp, k: int, ct: SSAValue) -> SSAValue:
    if op.kind.data != "add":
        raise DifferentiationError(f"'{op.name}' op of kind {op.kind.data} is not linear")
    return _scan_like(b, op, ct, direction=_OPPOSITE[op.direction.data])


@graph_op
class ScanOp(GraphOp):
    """The running combination of the elements along a dim: `add mul max min`; max and min give NaN from the first NaN on.

    `reverse` goes from the end to the start. `exclusive` leaves each element itself out, so that the first result is the
    neutral element (0, 1, -inf or the type's minimum, ...).

    ```mlir
    %y = graph.scan add %x along 1 forward inclusive : tensor<2x3xf32>
    %z = graph.scan max %x along 0 reverse exclusive : tensor<2x3xf32>
    ```

    (C1) The kind is one of add, mul, max, min; add and mul are not of i1, max and min not of complex numbers.
    (C2) The dim is within the rank.
    (C3) The direction is forward or reverse, the bound inclusive or exclusive.
    """

    name = "graph.scan"
    facts = OpFacts(stores=COMPLEX)
    x = operand_def(TensorType)
    kind = prop_def(StringAttr)
    dim = prop_def(IntegerAttr)
    direction = prop_def(StringAttr)
    bound = prop_def(StringAttr)
    y = result_def(TensorType)
    syntax = "<kind> $x along #dim <direction> <bound>"
    types = "same"
    derivative = Custom(_jvp_scan, transpose=_transpose_scan, linear=(0,))
    batching = along("dim")

    @property
    def rounding(self) -> Rounding:
        return rounding_by(self.kind.data)

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        kind, element = word(props["kind"]), operands[0].element_type
        one_of(props, "kind", _ACCUMULATE)  # C1
        if (kind in ("add", "mul") and is_bool(element)) or (kind in ("max", "min") and is_complex(element)):  # C1
            raise DTypeError(f"cannot scan {element} by {kind}")
        _require_dim(integer(props["dim"]), operands[0])  # C2
        one_of(props, "direction", _DIRECTIONS)  # C3
        one_of(props, "bound", ("inclusive", "exclusive"))  # C3
        return (operands[0],)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        from ..scalar import identity_value  # arith and math are for lowering: not imported to trace

        x, dim, reverse = operands[0], integer(self.dim), self.direction.data == "reverse"
        with np.errstate(all="ignore"):
            x = np.flip(x, dim) if reverse else x
            if self.bound.data == "exclusive" and x.shape[dim]:
                first = np.asarray(identity_value(self.kind.data, element_of(self.x))).astype(x.dtype)
                start = np.full_like(np.take(x, [0], dim), first)
                x = np.concatenate([start, np.take(x, range(x.shape[dim] - 1), dim)], dim)
            y = _ACCUMULATE[self.kind.data](x, axis=dim, dtype=x.dtype)
        return (np.ascontiguousarray(np.flip(y, dim) if reverse else y).reshape(x.shape),)

    def nest(self, b: NestWriter) -> None:
        kind, dim, shape = self.kind.data, integer(self.dim), self.result_shape()
        element: Any = element_of(self.x)
        signed = kind == "add" and is_float(element) and self.bound.data == "inclusive"  # -0.0 + x is x, also for -0.0
        neutral = b.scalar.const(-0.0, element) if signed else b.scalar.identity(kind, element)
        loops, point = _along(b, shape, dim, self.direction.data)

        def run(ends: Sequence[Any], start: Any, offset: Any) -> Any:
            """Scan the elements from a start in order; returns their combination."""
            with b.loop(ends, "seq", inits=[neutral]) as step:
                (before,) = step.carried
                here = point(start + step.index)
                total = b.scalar.combine(kind, before, b.read(0, here))
                result = total if self.bound.data == "inclusive" else before
                b.write(result if offset is None else b.scalar.add(offset, result), here)
                step.give(total)
            return step.results[0]

        def blocks(length: int, ends: Sequence[Any], start: Any, offset: Any) -> Any:
            """The same in blocks of `length`: each starts from the neutral element, then adds the sum before it."""
            with b.loop(ends, "seq", step=length, inits=[neutral]) as block:
                (before,) = block.carried
                behind = before if offset is None else b.scalar.add(offset, before)
                inner = run if length == BLOCK else partial(blocks, length // BLOCK)
                # blocks end with their length or with the dim; the ends of blocks around them are multiples of theirs
                own = inner([length, ends[-1] - block.index], start + block.index, behind)
                block.give(b.scalar.add(before, own))
            return block.results[0]

        size = shape[dim]
        with loops:
            if not (kind == "add" and is_float(element)) or is_at_most(size, BLOCK):
                run([size], 0, None)
            else:
                length = BLOCK
                while not is_at_most(size, length * BLOCK) and (isinstance(size, int) or length < BLOCK * BLOCK):
                    length *= BLOCK
                blocks(length, [AffineConstantExpr(size)], 0, None)


# --------------------------------------------------------------------------------------------------------------------
# recurrence


def _jvp_recurrence(b: GraphBuilder, op: RecurrenceOp, tangents: Sequence[SSAValue | None]) -> Sequence[SSAValue | None]:
    # dy[i] = a[i] * dy[i-1] + (da[i] * y[i-1] + db[i])
    da, db = tangents
    terms = [] if da is None else [b.mul(da, shifted(b, op.y, integer(op.dim), op.direction.data, 0))]
    terms += [] if db is None else [db]
    return [b.recurrence(op.factor, reduce(b.add, terms), dim=op.dim, direction=op.direction)]


def _transpose_recurrence(b: GraphBuilder, op: RecurrenceOp, k: int, ct: SSAValue) -> SSAValue:
    # the cotangent of a term gets what the results after it got: c[i] = ct[i] + a[i+1] * c[i+1]
    opposite = _OPPOSITE[op.direction.data]
    factor = shifted(b, op.factor, integer(op.dim), opposite, 0)
    return b.recurrence(factor, ct, dim=op.dim, direction=opposite)


@graph_op
class RecurrenceOp(GraphOp):
    """The sequence `y[i] = factor[i] * y[i-1] + term[i]` along a dim, from 0; `reverse` goes from the end to the start.

    ```mlir
    %y = graph.recurrence %a, %b along 1 forward : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    ```

    (C1) Both operands have one element type, a float or complex, and one shape.
    (C2) The dim is within the rank.
    (C3) The direction is forward or reverse.
    """

    name = "graph.recurrence"
    facts = OpFacts(stores=COMPLEX)
    factor = operand_def(TensorType)
    term = operand_def(TensorType)
    dim = prop_def(IntegerAttr)
    direction = prop_def(StringAttr)
    y = result_def(TensorType)
    syntax = "$factor, $term along #dim <direction>"
    derivative = Custom(_jvp_recurrence, transpose=_transpose_recurrence, linear=(1,))
    batching = along("dim")

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        require_same_element(operands, ("the factor", "the term"))  # C1
        require_same_shape(operands, ("the factor", "the term"))  # C1
        if not is_float(part_of(operands[0].element_type)):  # C1
            raise DTypeError(f"element type must be f32 or f64, got {operands[0].element_type}")
        _require_dim(integer(props["dim"]), operands[0])  # C2
        one_of(props, "direction", _DIRECTIONS)  # C3
        shape = list(map(unify, operands[0].get_shape(), operands[1].get_shape()))
        return (tensor(operands[0].element_type, shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        a, t = (np.moveaxis(x, integer(self.dim), 0) for x in operands)
        y = np.empty(t.shape, t.dtype)
        before = np.zeros(t.shape[1:], t.dtype)
        order = range(len(t)) if self.direction.data == "forward" else reversed(range(len(t)))
        with np.errstate(all="ignore"):
            for i in order:
                before = y[i] = a[i] * before + t[i]
        return (np.ascontiguousarray(np.moveaxis(y, 0, integer(self.dim))),)

    def nest(self, b: NestWriter) -> None:
        dim, shape = integer(self.dim), self.result_shape()
        zero = b.scalar.const(0, element_of(self.y))
        loops, point = _along(b, shape, dim, self.direction.data)
        with loops, b.loop(shape[dim], "seq", inits=[zero]) as step:
            here = point(step.index)
            value = b.scalar.add(b.scalar.mul(b.read(0, here), step.carried[0]), b.read(1, here))
            b.write(value, here)
            step.give(value)
