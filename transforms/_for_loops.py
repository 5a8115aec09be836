"""Derivatives and batches of `graph.for`: each is another loop over a function made from the body.

Reverse mode: the loop also returns the carried values at the start of every iteration; a second loop, linear, computes tangents
from these; its transpose (`_transpose.py`) runs backwards. An iteration's values are thus recomputed, and only carried values
are kept (Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic differentiation, 1992,
keeps fewer).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.graph.autodiff import has_tangent
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.control import INDEX, ControlOp, ForOp
from ..dialects.graph.effects import EffectOp, has_effects
from ..dialects.symbols import remember_symbol, unique_name
from ..dialects.types import computed_in, element_of, shape_of, tensor
from ..errors import DifferentiationError
from ._functions import (
    called_function,
    called_functions,
    clone_body,
    copy_function,
    error_at,
    rename_functions,
    with_forward_rules,
)

if TYPE_CHECKING:
    from ._batch import Batcher
    from ._linearize import Linearizer


def new_function(
    op: Operation,
    suffix: str,
    types: Sequence[Attribute],
    build: Callable[[Block], Sequence[SSAValue]],
    of: FuncOp | None = None,
) -> FuncOp:
    """A private function made from one of `op` (its body by default); `build` fills its block and returns results."""
    block = Block(arg_types=types)
    function = add_function(op, suffix, block, of)
    last = ReturnOp(*build(block))
    last.location = op.location
    block.add_op(last)
    function.update_function_type()
    return function


def add_function(op: Operation, suffix: str, block: Block, of: FuncOp | None = None) -> FuncOp:
    """A private function made from one that `op` calls, of a block; call `update_function_type` when that is complete."""
    source = of or called_function(op)
    functions = source.parent_block()
    assert functions is not None
    function = FuncOp(unique_name(op, f"{source.sym_name.data}_{suffix}"), ([], []), Region(block), "private")
    function.location = op.location
    functions.add_op(function)
    remember_symbol(function)
    return function


def slice_type(stack: SSAValue) -> Attribute:
    return tensor(element_of(stack), shape_of(stack)[1:])


def types_of(values: Sequence[SSAValue]) -> list[Attribute]:
    return [value.type for value in values]


# Derivatives


def linearize_for(op: ForOp, linearizer: Linearizer) -> None:
    """The tangents of a loop that was just inserted; `op` itself is replaced by a loop that returns more."""
    if linearizer.forward:
        _push_forward(op, linearizer)
    elif op.static_count is None:
        raise error_at(op, DifferentiationError, "has no gradient: how often it runs must be known; use a number as its bounds")
    else:
        _linearize(op, linearizer)


def without_effects(function: FuncOp) -> tuple[FuncOp, list[SSAValue]]:
    """A function that computes the same without effects, for where it runs once more, and the results of its callbacks, which
    it takes as further arguments.

    Raises:
        DifferentiationError: a callback has results in a loop or branch in it.
    """
    if not any(isinstance(op, EffectOp) or has_effects(op) for op in function.body.block.ops):
        return function, []
    copy = copy_function(function, function, "_again")
    returned: list[SSAValue] = []
    for op, twin in zip(list(function.body.block.ops), list(copy.body.block.ops), strict=True):
        if isinstance(op, EffectOp):
            for result, old in zip(op.results, twin.results, strict=True):
                returned.append(result)
                old.replace_all_uses_with(copy.body.block.insert_arg(result.type, len(copy.body.block.args)))
            twin.detach()
            twin.erase()
        elif isinstance(twin, ControlOp) and has_effects(twin):
            _drop_effects_of_functions(twin)
    copy.update_function_type()
    return copy, returned


def _drop_effects_of_functions(op: ControlOp) -> None:
    named: dict[str, str] = {}
    for function in called_functions(op):
        again, returned = without_effects(function)
        if returned:
            rule = "gives results in a loop or branch of a loop that is differentiated in reverse, and would be called again"
            callback = returned[0].owner
            raise error_at(
                callback if isinstance(callback, Operation) else op, DifferentiationError, f"{rule}: call it outside"
            )
        named[function.sym_name.data] = again.sym_name.data
    rename_functions(op, named)


def with_tangents(values: Sequence[SSAValue], linearizer: Linearizer) -> list[SSAValue]:
    """The given values that have a tangent."""
    return [value for value in values if linearizer.tangent(value) is not None]


def initial_tangents(inits: Sequence[SSAValue], linearizer: Linearizer) -> list[SSAValue]:
    """A tangent for every carried float: an initial constant need not stay so."""
    floats = [value for value in inits if has_tangent(value.type)]
    b = linearizer.b
    return [b.zeros_like(value) if (t := linearizer.tangent(value)) is None else t for value in floats]


def tangents_of(values: Sequence[SSAValue], inner: Linearizer) -> list[SSAValue]:
    """Tangents of the floats among values; zeros where there are none."""
    floats = [value for value in values if has_tangent(value.type)]
    return [inner.b.zeros_like(v) if (t := inner.tangent(v)) is None else t for v in floats]


def inner_linearizer(linearizer: Linearizer, block: Block, forward: bool) -> Linearizer:
    """One of the same kind for the body of a function."""
    point = InsertPoint.at_end(block)
    return linearizer.inside(point, GraphBuilder(point), forward)


def _push_forward(op: ForOp, linearizer: Linearizer) -> None:
    """One loop carries values and tangents."""
    body, n = called_function(op), len(op.inits)
    consts, stacks = with_tangents(op.consts, linearizer), with_tangents(op.stacks, linearizer)
    initial = initial_tangents(op.inits, linearizer)
    groups = [types_of(op.consts), types_of(consts), types_of(op.inits), types_of(initial)]
    groups += [list(map(slice_type, op.stacks)), list(map(slice_type, stacks))]

    def build(block: Block) -> list[SSAValue]:
        index, rest = block.args[0], iter(block.args[1:])
        given = [[next(rest) for _ in group] for group in groups]
        inner = inner_linearizer(linearizer, block, forward=True)
        set_tangents(inner, op.consts, given[0], consts, given[1])
        inner.tangents.update(zip([a for a in given[2] if has_tangent(a.type)], given[3], strict=True))
        set_tangents(inner, op.stacks, given[4], stacks, given[5])
        results = inner.run(body, [index, *given[0], *given[2], *given[4]])
        tangents = tangents_of(results, inner)
        n_carried = len(given[3])
        return [*results[:n], *tangents[:n_carried], *results[n:], *tangents[n_carried:]]

    function = new_function(op, "jvp", [INDEX, *(type for group in groups for type in group)], build)
    new = ForOp.make(
        function,
        op.times,
        [*op.consts, *linearizer.tangents_of(consts)],
        [*op.inits, *initial],
        [*op.stacks, *linearizer.tangents_of(stacks)],
        reverse=op.reverse is not None,
    )
    linearizer.primal.insert(new)
    n_stacked = len(op.results) - n
    carried, stacked = new.results[: n + len(initial)], new.results[n + len(initial) :]
    linearizer.supersede(op, [*carried[:n], *stacked[:n_stacked]])
    set_results(op, linearizer, [*carried[n:], *stacked[n_stacked:]])


def set_tangents(
    inner: Linearizer,
    outside: Sequence[SSAValue],
    arguments: Sequence[SSAValue],
    with_tangent: Sequence[SSAValue],
    tangents: Sequence[SSAValue],
) -> None:
    """Record which arguments of a body have tangents: those for `with_tangent` outside."""
    given = iter(tangents)
    remaining = list(with_tangent)
    for value, argument in zip(outside, arguments, strict=True):
        if remaining and value is remaining[0]:
            remaining.pop(0)
            inner.tangents[argument] = next(given)


def set_results(op: ControlOp, linearizer: Linearizer, tangents: Sequence[SSAValue]) -> None:
    """Set the tangents of the floats among the results of an op."""
    floats = [result for result in op.results if has_tangent(result.type)]
    linearizer.tangents.update(zip(floats, tangents, strict=True))


def _linearize(op: ForOp, linearizer: Linearizer) -> None:
    """A loop that keeps its carried values, and a linear one of the tangents."""
    body, count, n = called_function(op), op.trips.value.data, len(op.inits)
    again, returned = without_effects(body)

    def build_saving(block: Block) -> list[SSAValue]:
        results, became = clone_body(with_forward_rules(body), block.args, block.add_op)
        first = 1 + len(op.consts)
        return [*results, *block.args[first : first + n], *(became[value] for value in returned)]

    saving = new_function(op, "saving", list(body.function_type.inputs), build_saving)
    primal = ForOp.make(saving, count, op.consts, op.inits, op.stacks, reverse=op.reverse is not None)
    linearizer.primal.insert(primal)
    linearizer.supersede(op, primal.results[: len(op.results)])
    saved = list(primal.results[len(op.results) :])

    consts, stacks = with_tangents(op.consts, linearizer), with_tangents(op.stacks, linearizer)
    initial = initial_tangents(op.inits, linearizer)
    groups = [types_of(op.consts), types_of(consts), types_of(initial)]
    groups += [list(map(slice_type, values)) for values in (saved, op.stacks, stacks)]

    def build_tangent(block: Block) -> list[SSAValue]:
        index, rest = block.args[0], iter(block.args[1:])
        given = [[next(rest) for _ in group] for group in groups]
        inner = inner_linearizer(linearizer, block, forward=False)
        set_tangents(inner, op.consts, given[0], consts, given[1])
        carried, of_effects = given[3][:n], given[3][n:]
        inner.tangents.update(zip([a for a in carried if has_tangent(a.type)], given[2], strict=True))
        set_tangents(inner, op.stacks, given[4], stacks, given[5])
        return tangents_of(inner.run(again, [index, *given[0], *carried, *given[4], *of_effects]), inner)

    tangent = new_function(op, "tangent", [INDEX, *(type for group in groups for type in group)], build_tangent)
    lengths = list(map(len, groups))
    starts = [sum(lengths[:k]) for k in range(len(lengths))]
    linear = [*range(starts[1], starts[3]), *range(starts[5], starts[5] + lengths[5])]
    new = ForOp.make(
        tangent,
        count,
        [*op.consts, *linearizer.tangents_of(consts)],
        initial,
        [*saved, *op.stacks, *linearizer.tangents_of(stacks)],
        reverse=op.reverse is not None,
        linear=linear,
    )
    linearizer.b.insert(new)
    set_results(op, linearizer, new.results)


# Batches


def batch_for(op: ForOp, batcher: Batcher) -> None:
    """The loop on batched values: carried values all get the batch as their first dim, slices of stacks too.

    Where the count differs between elements, the loop runs for the greatest one, and elements whose count is reached keep their
    carried values.
    """
    body, b = called_function(op), batcher.b

    def moved(value: SSAValue) -> SSAValue:
        """The first two dims exchanged."""
        rank = len(shape_of(value))
        return b.transpose(value, perm=(1, 0, *range(2, rank)))

    counts = [batcher.values[v] for v in (op.count,) if v is not None and v in batcher.batched]
    consts = [batcher.values[v] for v in op.consts]
    inits = [batcher.values[v] if v in batcher.batched else batcher.spread(batcher.values[v]) for v in op.inits]
    stacks = [moved(batcher.values[v]) if v in batcher.batched else batcher.values[v] for v in op.stacks]
    types = [INDEX, *types_of(counts), *types_of(consts), *types_of(inits), *map(slice_type, stacks)]
    flags = [
        False,
        *(v in batcher.batched for v in op.consts),
        *(True for _ in inits),
        *(v in batcher.batched for v in op.stacks),
    ]

    def build(block: Block) -> list[SSAValue]:
        given = [block.args[0], *block.args[1 + len(counts) :]]
        inner = batcher.of_function(GraphBuilder(block, op.location), body, given, flags)
        if not counts:
            return inner.run(body)
        runs = inner.mask = inner.b.cmp(inner.spread(block.args[0]), block.args[1], predicate="lt")
        results = inner.run(body)
        before = given[1 + len(consts) :]
        return [select_batch(inner.b, runs, new, old) for new, old in zip(results, before, strict=True)]

    function = new_function(op, "batched", types, build)
    count = op.times if op.count is None else batcher.values[op.count]
    if counts:
        count = b.reduce(counts[0], kind="max", dims=(0,))
    new = ForOp.make(function, count, [*counts, *consts], inits, stacks, reverse=op.reverse is not None)
    b.insert(new)
    n = len(inits)
    for k, (old, value) in enumerate(zip(op.results, new.results, strict=True)):
        batcher.values[old] = value if k < n else moved(value)
        batcher.batched.add(old)


def select_batch(b: GraphBuilder, batch: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """Elements of `x` where a batch of conditions holds, of `y` elsewhere."""
    return select_values(b, b.broadcast(batch, (0,), shape_of(x)), x, y)


def select_values(b: GraphBuilder, flag: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x` where the flag holds, `y` elsewhere, of any element type; storage types are converted for it."""
    element = element_of(x)
    wide = computed_in(element)
    return b.convert(b.select(flag, b.convert(x, wide), b.convert(y, wide)), element)
