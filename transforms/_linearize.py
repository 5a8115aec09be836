"""The derivative of a function: the tangents of its ops.

Forward mode goes through the function once; each op contributes the tangents of its results by the kind of derivative it
declares. For graph.vjp the same tangent ops are collected in the region of a `graph.transposed`: those that do not depend on
the tangents are moved out of it, and what stays is linear. graph-transpose then transposes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from ..dialects.graph.autodiff import DerivativeOp, JvpOp, TransposedOp, has_tangent
from ..dialects.graph.base import Bilinear, CompositeOp, Custom, Elementwise, GraphOp, Linear, NotDifferentiable, Zero, ints
from ..dialects.graph.builder import GraphBuilder, dense_array
from ..dialects.graph.conditional import ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp, ForOp
from ..dialects.graph.create import ConstOp
from ..dialects.graph.custom import CustomDerivativeOp
from ..dialects.graph.effects import EffectOp
from ..dialects.graph.fusion import YieldOp
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.operations import ops_of
from ..dialects.types import shape_of
from ..errors import DifferentiationError
from ._conditionals import linearize_chosen, linearize_while
from ._custom_tangents import linearize_custom
from ._for_loops import linearize_for
from ._functions import called_function, clone_body, error_at, hoist_invariant, replace_op, require_static
from ._kernels import linearize_kernel

Tangent = SSAValue | None
"""The tangent of a value; None is zero."""


class Linearizer:
    """Clones ops at one insertion point and builds the tangents of their results at another.

    `forward`: values and tangents are built together; else ops built of tangents must be linear in them.
    """

    def __init__(self, primal_point: InsertPoint, tangent_builder: GraphBuilder, forward: bool):
        self.primal = GraphBuilder(primal_point)
        self.b = tangent_builder
        self.forward = forward
        self.tangents: dict[SSAValue, Tangent] = {}
        self.superseded: list[tuple[Operation, Sequence[SSAValue]]] = []
        self.derived: dict[tuple[object, ...], Any] = {}
        """The tangents of functions that are called more than once."""

    def inside(self, primal_point: InsertPoint, tangent_builder: GraphBuilder, forward: bool) -> Linearizer:
        """One for a function that is called."""
        inner = Linearizer(primal_point, tangent_builder, forward)
        inner.derived = self.derived
        return inner

    def run(self, function: FuncOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Clone a function onto arguments with known tangents; returns its results, which may have tangents.

        What no result depends on has none: it is not asked for a derivative that it may not have.
        """
        read = iter(_are_read(function))
        results, _ = clone_body(function, arguments, lambda op: self.process(op) if next(read) else self.primal.insert(op))
        for op, values in self.superseded:
            for old, new in zip(op.results, values, strict=True):
                self.tangents[new] = self.tangents.get(old)
            results = [values[op.results.index(r)] if r.owner is op else r for r in results]
            replace_op(op, values)
        return results

    def supersede(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Replace the results of an op by other values, once all their users are cloned."""
        self.superseded.append((op, values))

    def tangent(self, value: SSAValue) -> Tangent:
        return self.tangents.get(value)

    def tangents_of(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """The tangents of values that have one."""
        return [tangent for value in values if (tangent := self.tangents[value]) is not None]

    def process(self, op: Operation) -> None:
        """Insert an op whose operands are already inserted, and build the tangents of its results."""
        self.b.location = self.primal.location = op.location
        self.primal.insert(op)
        tangents = [self.tangent(operand) for operand in op.operands]
        if all(t is None for t in tangents) or not any(has_tangent(r.type) for r in op.results):
            return
        if isinstance(op, ControlOp):
            _linearize_control(op, self)
            return
        if isinstance(op, CustomDerivativeOp):
            linearize_custom(op, self)
            return
        if isinstance(op, EffectOp):
            rule = "has no derivative: what the Python function does is not known"
            remedy = (
                "give the function around it one by lm.custom_jvp or lm.custom_vjp, or take its arguments by lm.stop_gradient"
            )
            raise error_at(op, DifferentiationError, f"{rule}; {remedy}")
        if isinstance(op, KernelCallOp):
            linearize_kernel(op, self)
            return
        if not isinstance(op, GraphOp):
            raise error_at(op, DifferentiationError, "has no derivative")
        if isinstance(op, CompositeOp) and op.derivative is None:
            self._decompose(op)
            return
        for result, tangent in zip(op.results, self._rule(op, tangents), strict=True):
            self.tangents[result] = tangent

    def _decompose(self, op: CompositeOp) -> None:
        """Differentiate through the decomposition; the composite itself stays for the users of its value."""
        scratch = Block()
        found = op.decompose(GraphBuilder(scratch, op.location), op.properties, *op.operands)
        inner: list[Operation] = list(scratch.ops)
        for part in inner:
            part.detach()
            self.process(part)
        for result, value in zip(op.results, [found] if isinstance(found, SSAValue) else found, strict=True):
            self.tangents[result] = self.tangents.get(value)
        # later ops are cloned with the composite's result as operand: keep it, dead code elimination drops it if unused

    def _rule(self, op: GraphOp, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        derivative = op.derivative
        if isinstance(derivative, Zero):
            return [None]
        if isinstance(derivative, NotDifferentiable):
            raise error_at(op, DifferentiationError, f"has no derivative: {derivative.reason(op)}")
        if isinstance(derivative, Linear):
            return [self._linear(op, derivative, tangents)]
        if isinstance(derivative, Bilinear):
            return [self._bilinear(op, tangents)]
        if isinstance(derivative, Elementwise):
            return [self._elementwise(op, derivative, tangents)]
        assert isinstance(derivative, Custom)
        return derivative.jvp(self.b, op, tangents)

    def _like(self, op: GraphOp, operands: Sequence[SSAValue]) -> SSAValue:
        """The same op on other operands."""
        types = [result.type for result in op.results]
        return self.b.insert(type(op).create(operands=operands, result_types=types, properties=dict(op.properties)))

    def _linear(self, op: GraphOp, derivative: Linear, tangents: Sequence[Tangent]) -> Tangent:
        linear = range(len(op.operands)) if derivative.operands is None else derivative.operands
        if all(tangents[k] is None for k in linear):
            return None
        if None in tangents and derivative.sparse is not None:
            return derivative.sparse(self.b, tangents)
        operands = list(op.operands)
        for k in linear:
            tangent = tangents[k]
            operands[k] = self.b.zeros_like(op.operands[k]) if tangent is None else tangent
        return self._like(op, operands)

    def _bilinear(self, op: GraphOp, tangents: Sequence[Tangent]) -> Tangent:
        total: Tangent = None
        for k, tangent in enumerate(tangents):
            if tangent is not None:
                operands = list(op.operands)
                operands[k] = tangent
                total = self._sum(total, self._like(op, operands))
        return total

    def _elementwise(self, op: GraphOp, derivative: Elementwise, tangents: Sequence[Tangent]) -> Tangent:
        total: Tangent = None
        for tangent, factor in zip(tangents, derivative.factors, strict=True):
            if tangent is not None:
                slope = factor(self.b, *op.operands, op.results[0])
                total = self._sum(total, self.b.mul(tangent, slope))
        return total

    def _sum(self, a: Tangent, b: SSAValue) -> SSAValue:
        return b if a is None else self.b.add(a, b)


def _are_read(function: FuncOp) -> list[bool]:
    """Whether the results or the effects of a function depend on each of its ops."""
    found: list[bool] = []
    read: set[SSAValue] = set()
    for op in reversed(list(ops_of(function.body.block))):
        found.append(not read.isdisjoint(op.results) or not is_side_effect_free(op) or op.next_op is None)
        if found[-1]:
            read.update(operand for inner in op.walk() for operand in inner.operands)
    return found[::-1]


def _linearize_control(op: ControlOp, linearizer: Linearizer) -> None:
    if isinstance(op, ForOp):
        linearize_for(op, linearizer)
    elif isinstance(op, WhileOp):
        linearize_while(op, linearizer)
    else:
        assert isinstance(op, ChosenOp)
        linearize_chosen(op, linearizer)


def expand_derivative(op: DerivativeOp) -> None:
    """Replace one `graph.jvp` or `graph.vjp`; the function it names must no longer contain such ops."""
    block = op.parent
    assert block is not None
    function = called_function(op)
    require_static(op, function)
    wrt = ints(op.wrt)
    before = InsertPoint.before(op)
    if isinstance(op, JvpOp):
        region_block = None
        linearizer = Linearizer(before, GraphBuilder(before), forward=True)
        vectors: Sequence[SSAValue] = list(op.vectors)
    else:
        region_block = Block(arg_types=[op.primals[k].type for k in wrt])
        linearizer = Linearizer(before, GraphBuilder(region_block), forward=False)
        vectors = region_block.args
    primals = list(op.primals)
    # one value may be passed for several arguments: each has a tangent of its own
    linearizer.primal.location = op.location
    stand_ins = _distinct_arguments(primals, wrt, linearizer.primal)
    for k, vector in zip(wrt, vectors, strict=True):
        linearizer.tangents[stand_ins[k]] = vector
    results = linearizer.run(function, stand_ins)
    floats = [value for value in results if has_tangent(value.type)]
    if region_block is None:
        b = linearizer.b
        b.location = op.location
        tangents = [linearizer.tangent(v) for v in floats]
        found = [b.zeros_like(v) if t is None else t for v, t in zip(floats, tangents, strict=True)]
        replace_op(op, [*results, *found])
        return
    if not any(gradient.uses for gradient in op.results[len(results) :]) and all(map(_is_zero, op.vectors)):
        b = GraphBuilder(before, op.location)  # only the values are needed, of the forward rules of its callees
        replace_op(op, [*results, *(b.zeros_like(primals[k]) for k in wrt)])
        region_block.erase()
        return
    gradients = _transposed(op, region_block, linearizer, floats)
    replace_op(op, [*results, *gradients])


def _is_zero(value: SSAValue) -> bool:
    """Whether a value is constant zeros."""
    while isinstance(owner := value.owner, Operation) and owner.name == "graph.broadcast":
        value = owner.operands[0]
    return isinstance(owner, ConstOp) and not dense_array(owner.value).any()


def _distinct_arguments(primals: list[SSAValue], wrt: Sequence[int], b: GraphBuilder) -> list[SSAValue]:
    """Arguments without duplicates among those differentiated by: a repeated one is reshaped to itself."""
    arguments = list(primals)
    for k in wrt:
        if primals.count(primals[k]) > 1:
            arguments[k] = b.reshape(primals[k], shape_of(primals[k]))
    return arguments


def _transposed(op: DerivativeOp, block: Block, linearizer: Linearizer, floats: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Insert the `graph.transposed` of a vjp before it; its gradients."""
    reached = [(v, ct) for v, ct in zip(floats, op.vectors, strict=True) if linearizer.tangent(v) is not None]
    block.add_op(YieldOp.create(operands=linearizer.tangents_of(v for v, _ in reached)))
    hoist_invariant(block, op)
    new = TransposedOp.create(
        operands=[ct for _, ct in reached], result_types=[a.type for a in block.args], regions=[Region(block)]
    )
    new.location = op.location
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(new, op)
    return new.results
