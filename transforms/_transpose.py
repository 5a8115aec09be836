"""The transpose of a linear map: the ops that accumulate cotangents from its results back to its arguments.

Reverse mode is graph-linearize and then this transposition. Each op of the region passes the cotangent of its result on to
those operands that depend on the region's arguments, by the transpose rule of its class; a value used several times sums its
cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.graph.autodiff import TransposedOp
from ..dialects.graph.base import Bilinear, CompositeOp, Custom, GraphOp, Linear, ints
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import ChosenOp
from ..dialects.graph.control import INDEX, ControlOp, ForOp
from ..dialects.graph.custom import TransposeOfOp
from ..dialects.graph.fusion import YieldOp
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.types import computed_in, element_of
from ..errors import DifferentiationError
from ._custom_rules import transpose_custom
from ._for_loops import new_function, slice_type, types_of
from ._functions import called_function, called_functions, clone_body, error_at, hoist_invariant, replace_op
from ._kernels import transpose_kernel
from .graph_decompose import decompose

Made = dict[tuple[object, ...], list[FuncOp]]
"""Transposes of functions, which may be called more than once."""


def expand_transposed(op: TransposedOp, made: Made) -> None:
    """Replace one `graph.transposed` by backward accumulation."""
    replace_op(op, accumulated(op, made))


def accumulated(op: TransposedOp, made: Made) -> list[SSAValue]:
    """The results of a `graph.transposed`, by ops that are inserted before it."""
    block = op.body.block
    dependent = hoist_invariant(block, op)  # first: what is not transposed keeps its own derivative
    composites = [c for c in block.ops if isinstance(c, CompositeOp) and not isinstance(c.derivative, Linear)]
    for inner in composites:
        decompose(inner)
    if composites:
        dependent = hoist_invariant(block, op)
    *linear, last = block.ops
    b = GraphBuilder(InsertPoint.before(op), op.location)
    cotangents: dict[SSAValue, SSAValue] = {}

    def accumulate(value: SSAValue, cotangent: SSAValue) -> None:
        known = cotangents.get(value)
        cotangents[value] = cotangent if known is None else _sum(b, known, cotangent)

    for value, cotangent in zip(last.operands, op.cotangents, strict=True):
        accumulate(value, cotangent)
    for inner in reversed(linear):
        if not any(result in cotangents for result in inner.results):
            continue
        if isinstance(inner, ForOp | ChosenOp | TransposeOfOp):
            b.location = inner.location
            for operand, cotangent in _transpose_call(inner, cotangents, b, made):
                if operand in dependent:
                    accumulate(operand, cotangent)
            continue
        positions = [k for k, operand in enumerate(inner.operands) if operand in dependent]
        if isinstance(inner, KernelCallOp):
            b.location = inner.location
            flags = [operand in dependent for operand in inner.operands]
            for operand, cotangent in transpose_kernel(inner, flags, cotangents, b):
                accumulate(operand, cotangent)
            continue
        rule = _rule(inner, positions)
        b.location = inner.location
        cotangent = cotangents.pop(inner.results[0])
        for k in positions:
            try:
                accumulate(inner.operands[k], rule(b, inner, k, cotangent))
            except DifferentiationError as error:  # linear only with some properties, as reduce is
                error.location = inner.location
                raise
    b.location = op.location
    return [cotangents[a] if a in cotangents else b.zeros_like(a) for a in block.args]


def _transpose_call(
    op: ForOp | ChosenOp | TransposeOfOp, cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder, made: Made
) -> list[tuple[SSAValue, SSAValue]]:
    """(operand, cotangent) for operands of an op over functions."""
    if isinstance(op, ForOp):
        return transpose_for(op, cotangents, b, made)
    return transpose_chosen(op, cotangents, b, made) if isinstance(op, ChosenOp) else transpose_custom(op, cotangents, b)


def _sum(b: GraphBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The sum of cotangents, in the type that they are computed in."""
    wide = computed_in(element_of(x))
    return b.convert(b.add(b.convert(x, wide), b.convert(y, wide)), element_of(x))


def _rule(op: Operation, positions: list[int]) -> Callable[..., SSAValue]:
    """How an op passes cotangents back, if it is linear in the operands at `positions` together."""
    derivative = op.derivative if isinstance(op, GraphOp) else None
    if isinstance(derivative, Linear):
        if derivative.operands is None or set(positions) <= set(derivative.operands):
            return derivative.transpose
    elif isinstance(derivative, Bilinear):
        if len(positions) == 1:
            return derivative.transpose
    elif isinstance(derivative, Custom) and derivative.transpose is not None and set(positions) <= set(derivative.linear):
        return derivative.transpose
    which = ", ".join(str(k) for k in positions)
    raise error_at(op, DifferentiationError, f"stands in a graph.transposed but is not linear in operand {which}")


# Loops


def transpose_for(
    op: ForOp, cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder, made: Made
) -> list[tuple[SSAValue, SSAValue]]:
    """(operand, cotangent) for every operand in which a linear loop is linear, by a loop in reverse order."""
    body, linear = called_function(op), set(ints(op.linear))
    n_consts, n_inits = len(op.consts), len(op.inits)
    if not set(range(n_consts, n_consts + n_inits)) <= linear:
        raise error_at(op, DifferentiationError, "stands in a graph.transposed but is not linear in all carried values")
    is_linear = [k in linear for k in range(len(op.arguments))]
    consts = [(v, flag) for v, flag in zip(op.consts, is_linear, strict=False)]
    stacks = [(v, flag) for v, flag in zip(op.stacks, is_linear[n_consts + n_inits :], strict=True)]
    fixed_consts, linear_consts = _split(consts)
    fixed_stacks, linear_stacks = _split(stacks)

    def cotangent(result: SSAValue) -> SSAValue:
        found = cotangents.get(result)
        return b.zeros_like(result) if found is None else found

    carried = [cotangent(r) for r in op.carried_results]
    stacked = [cotangent(r) for r in op.stacked_results]
    groups = [types_of(fixed_consts), types_of(linear_consts), types_of(carried)]
    groups += [list(map(slice_type, fixed_stacks)), list(map(slice_type, stacked))]

    def build(block: Block) -> list[SSAValue]:
        index, rest = block.args[0], iter(block.args[1:])
        given = [[next(rest) for _ in group] for group in groups]
        region = Block(arg_types=[*groups[1], *groups[2], *map(slice_type, linear_stacks)])
        of_consts, of_inits = iter(region.args), region.args[len(groups[1]) :][:n_inits]
        of_stacks = iter(region.args[len(groups[1]) + n_inits :])
        fixed = iter(given[0])
        arguments = [index, *(next(of_consts if flag else fixed) for _, flag in consts), *of_inits]
        fixed = iter(given[3])
        arguments += [next(of_stacks if flag else fixed) for _, flag in stacks]
        gradients = _gradients_of(op, body, region, arguments, [*given[2], *given[4]], block, made)
        inner = GraphBuilder(InsertPoint.at_end(block), op.location)
        sums = [_sum(inner, total, g) for total, g in zip(given[1], gradients, strict=False)]
        return [*sums, *gradients[len(sums) :]]

    function = new_function(op, "transposed", [INDEX, *(type for group in groups for type in group)], build)
    new = ForOp.make(
        function,
        op.times,
        fixed_consts,
        [*(b.zeros_like(v) for v in linear_consts), *carried],
        [*fixed_stacks, *stacked],
        reverse=op.reverse is None,
    )
    b.insert(new)
    return list(zip([*linear_consts, *op.inits, *linear_stacks], new.results, strict=True))


def _gradients_of(
    op: ControlOp,
    function: FuncOp,
    region: Block,
    arguments: Sequence[SSAValue],
    cotangents: Sequence[SSAValue],
    block: Block,
    made: Made,
) -> list[SSAValue]:
    """The cotangents of the arguments of `region`, in which a function is linear, by ops at the end of a block."""
    results, _ = clone_body(function, arguments, region.add_op)
    region.add_op(YieldOp.create(operands=results))
    turned = TransposedOp.create(operands=cotangents, result_types=types_of(region.args), regions=[Region(region)])
    turned.location = op.location
    block.add_op(turned)
    gradients = accumulated(turned, made)
    block.erase_op(turned)
    return gradients


def transpose_chosen(
    op: ChosenOp, cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder, made: Made
) -> list[tuple[SSAValue, SSAValue]]:
    """(argument, cotangent) for every linear argument of a linear case or call: the transpose of the branch that ran."""
    linear = set(ints(op.linear))
    if not linear:
        raise error_at(op, DifferentiationError, "stands in a graph.transposed but is not linear in its arguments")
    arguments = [(v, k in linear) for k, v in enumerate(op.arguments)]
    fixed, turned = _split(arguments)
    given = [b.zeros_like(r) if (found := cotangents.get(r)) is None else found for r in op.results]

    def transposed(branch: FuncOp) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            region = Block(arg_types=types_of(turned))
            of_fixed, of_turned = iter(block.args), iter(region.args)
            inner = [next(of_turned if flag else of_fixed) for _, flag in arguments]
            return _gradients_of(op, branch, region, inner, block.args[len(fixed) :], block, made)

        return new_function(op, "transposed", [*types_of(fixed), *types_of(given)], build, branch)

    functions = called_functions(op)
    key = (*functions, *sorted(linear))
    turned_functions = made[key] = made.get(key) or list(map(transposed, functions))
    new = op.with_functions(turned_functions, [*fixed, *given], choice=op.choice)
    b.insert(new)
    return list(zip(turned, new.results, strict=True))


def _split(values: Sequence[tuple[SSAValue, bool]]) -> tuple[list[SSAValue], list[SSAValue]]:
    return [v for v, flag in values if not flag], [v for v, flag in values if flag]
