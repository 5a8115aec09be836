"""Derivatives and batches of `graph.while`, `graph.case` and `graph.call`: again ops over functions, made from theirs.

A case is differentiated branch by branch. In reverse mode, the branch that runs also returns the residuals of its tangents;
where all branches are cheap, they are recomputed instead. A while loop carries tangents beside the values. It has no reverse
mode, which would keep the initial values of an unknown number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue

from ..dialects.graph.autodiff import has_tangent
from ..dialects.graph.base import GraphOp, Zero
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.collective import CollectiveOp
from ..dialects.graph.conditional import FLAG, CaseOp, ChosenOp, WhileOp
from ..dialects.graph.control import ControlOp
from ..dialects.graph.effects import has_effects
from ..dialects.types import element_of, shape_of, tensor
from ..errors import DifferentiationError
from ._for_loops import (
    initial_tangents,
    inner_linearizer,
    new_function,
    select_batch,
    set_results,
    set_tangents,
    tangents_of,
    types_of,
    with_tangents,
)
from ._functions import called_functions, clone_body, error_at, with_forward_rules
from ._residuals import join_residuals, saving_pays, split_linear

if TYPE_CHECKING:
    from ._batch import Batcher
    from ._linearize import Linearizer


# Derivatives


def linearize_while(op: WhileOp, linearizer: Linearizer) -> None:
    """The tangents of a loop that was just inserted: one loop carries values and tangents.

    There are none where nothing that it carries has one: its body reads what is differentiated by `stop_gradient` alone.

    Raises:
        DifferentiationError: it would be differentiated in reverse mode.
    """
    if not _carries_tangents(op, linearizer):
        return
    if not linearizer.forward:
        rule = "has no gradient: how many iterations there are is known only when it has run"
        remedy = "write lm.fori_loop with numbers as bounds, or lm.scan, with lm.cond in the body; lm.jvp goes forward"
        raise error_at(op, DifferentiationError, f"{rule}: {remedy}")
    condition, body = called_functions(op)
    consts, initial = with_tangents(op.consts, linearizer), initial_tangents(op.inits, linearizer)
    groups = [types_of(op.consts), types_of(consts), types_of(op.inits), types_of(initial)]
    types = [type for group in groups for type in group]

    def given(block: Block) -> list[list[SSAValue]]:
        rest = iter(block.args)
        return [[next(rest) for _ in group] for group in groups]

    def build_condition(block: Block) -> list[SSAValue]:
        of_consts, _, of_inits, _ = given(block)
        return clone_body(condition, [*of_consts, *of_inits], block.add_op)[0]

    def build_body(block: Block) -> list[SSAValue]:
        of_consts, const_tangents, of_inits, carried_tangents = given(block)
        inner = inner_linearizer(linearizer, block, forward=True)
        set_tangents(inner, op.consts, of_consts, consts, const_tangents)
        inner.tangents.update(zip([a for a in of_inits if has_tangent(a.type)], carried_tangents, strict=True))
        results = inner.run(body, [*of_consts, *of_inits])
        return [*results, *tangents_of(results, inner)]

    new = WhileOp.make(
        new_function(op, "jvp", types, build_condition, condition),
        new_function(op, "jvp", types, build_body, body),
        [*op.consts, *linearizer.tangents_of(consts)],
        [*op.inits, *initial],
    )
    linearizer.primal.insert(new)
    n = len(op.inits)
    linearizer.supersede(op, new.results[:n])
    set_results(op, linearizer, new.results[n:])


def _carries_tangents(op: WhileOp, linearizer: Linearizer) -> bool:
    """Whether a value that a loop carries has a tangent, before the loop or after some iterations."""
    _, body = called_functions(op)
    n, moved = len(op.consts), [linearizer.tangent(v) is not None for v in (*op.consts, *op.inits)]
    if any(moved[n:]):
        return True
    moving: set[SSAValue] = {argument for argument, moves in zip(body.body.block.args, moved, strict=True) if moves}
    for inner in body.body.block.ops:
        if not moving.isdisjoint(inner.operands) and not (isinstance(inner, GraphOp) and isinstance(inner.derivative, Zero)):
            moving.update(r for r in inner.results if has_tangent(r.type))
    last = body.body.block.last_op
    return last is not None and not moving.isdisjoint(last.operands)


def linearize_chosen(op: ChosenOp, linearizer: Linearizer) -> None:
    """The tangents of a case or call that was just inserted: forward, an op with more results, else a second, linear one."""
    if linearizer.forward:
        _push_forward(op, linearizer)
    elif saving_pays(op):
        _linearize_saving(op, linearizer)
    else:
        _linearize_again(op, linearizer)


def _push_forward(op: ChosenOp, linearizer: Linearizer) -> None:
    given, n = with_tangents(op.arguments, linearizer), len(op.arguments)

    def derivative(function: FuncOp) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            inner = inner_linearizer(linearizer, block, forward=True)
            set_tangents(inner, op.arguments, block.args[:n], given, block.args[n:])
            results = inner.run(function, block.args[:n])
            return [*results, *tangents_of(results, inner)]

        return new_function(op, "jvp", [*types_of(op.arguments), *types_of(given)], build, function)

    functions = called_functions(op)
    key = ("jvp", *functions, *_has_tangents(op, linearizer))
    made = linearizer.derived[key] = linearizer.derived.get(key) or list(map(derivative, functions))
    new = op.with_functions(made, [*op.arguments, *linearizer.tangents_of(given)], choice=op.choice)
    linearizer.primal.insert(new)
    linearizer.supersede(op, new.results[: len(op.results)])
    set_results(op, linearizer, new.results[len(op.results) :])


def _linearize_again(op: ChosenOp, linearizer: Linearizer) -> None:
    """A linear case that recomputes the branch that runs."""
    given, n = with_tangents(op.arguments, linearizer), len(op.arguments)

    def derivative(branch: FuncOp) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            inner = inner_linearizer(linearizer, block, forward=False)
            set_tangents(inner, op.arguments, block.args[:n], given, block.args[n:])
            return tangents_of(inner.run(branch, block.args[:n]), inner)

        return new_function(op, "tangent", [*types_of(op.arguments), *types_of(given)], build, branch)

    arguments = [*op.arguments, *linearizer.tangents_of(given)]
    branches = list(map(derivative, called_functions(op)))
    new = op.with_functions(branches, arguments, linear=range(n, len(arguments)), choice=op.choice)
    linearizer.b.insert(new)
    set_results(op, linearizer, new.results)
    functions = called_functions(op)
    if (forward := list(map(with_forward_rules, functions))) != functions:
        primal = op.with_functions(forward, op.arguments, choice=op.choice)
        linearizer.primal.insert(primal)
        linearizer.supersede(op, primal.results)


def _linearize_saving(op: ChosenOp, linearizer: Linearizer) -> None:
    """The function also returns the residuals of its tangents, which the linear one takes."""
    given, functions = with_tangents(op.arguments, linearizer), called_functions(op)
    key = ("saving", *functions, *_has_tangents(op, linearizer))
    joined = linearizer.derived.get(key)
    if joined is None:
        halves = {f: split_linear(op, f, given, linearizer) for f in dict.fromkeys(functions)}
        joined = linearizer.derived[key] = join_residuals(op, [halves[f] for f in functions])
    primal = op.with_functions(joined.saving, op.arguments, choice=op.choice)
    linearizer.primal.insert(primal)
    linearizer.supersede(op, primal.results[: len(op.results)])
    fixed = [*op.arguments, *(primal.results[k] for k in joined.residuals)]
    arguments = [*fixed, *linearizer.tangents_of(given)]
    new = op.with_functions(joined.tangent, arguments, linear=range(len(fixed), len(arguments)), choice=op.choice)
    linearizer.b.insert(new)
    set_results(op, linearizer, new.results)


def _has_tangents(op: ChosenOp, linearizer: Linearizer) -> tuple[bool, ...]:
    return tuple([linearizer.tangent(value) is not None for value in op.arguments])


# Batches


def batch_chosen(op: ChosenOp, batcher: Batcher) -> None:
    """A call, or one index for all: functions of batches. An index for each: all branches, and each element has its own."""
    functions, flags = called_functions(op), [v in batcher.batched for v in op.arguments]
    values, b = [batcher.values[v] for v in op.arguments], batcher.b
    choice = None if op.choice is None else batcher.values[op.choice]
    if op.choice is None and batcher.mask is not None and has_effects(op):
        results = batcher.of_function(b, functions[0], values, flags, batcher.mask).run(functions[0])
    elif op.choice not in batcher.batched:

        def batched(function: FuncOp) -> FuncOp:
            def build(block: Block) -> list[SSAValue]:
                return batcher.of_function(GraphBuilder(block, op.location), function, block.args, flags).run(function)

            return new_function(op, "batched", types_of(values), build, function)

        key = (*functions, *flags)
        made = batcher.made[key] = batcher.made.get(key) or list(map(batched, functions))
        new = op.with_functions(made, values, choice=choice)
        b.insert(new)
        results = list(new.results)
    else:
        assert isinstance(op, CaseOp)
        index = batcher.values[op.index]
        masks = _taken(op, batcher)
        every = [_of_branch(op, f, batcher, mask, flags) for f, mask in zip(functions, masks, strict=True)]
        results = choose(b, index, every, select_batch)
    for old, value in zip(op.results, results, strict=True):
        batcher.values[old] = value
        batcher.batched.add(old)


def choose(
    b: GraphBuilder,
    index: SSAValue,
    every: Sequence[Sequence[SSAValue]],
    select: Callable[[GraphBuilder, SSAValue, SSAValue, SSAValue], SSAValue],
) -> list[SSAValue]:
    """The results of the branch of an index, where all are computed: the first below 0, the last past the end."""
    results = list(every[-1])
    for k in range(len(every) - 2, -1, -1):
        chosen = b.cmp(index, b.full_like(index, k), predicate="le") if element_of(index) != i1 else b.not_(index)
        results = [select(b, chosen, x, y) for x, y in zip(every[k], results, strict=True)]
    return results


def _of_branch(
    op: CaseOp, branch: FuncOp, batcher: Batcher, mask: SSAValue | None, flags: Sequence[bool]
) -> Sequence[SSAValue]:
    """The results of one branch for the elements of the mask, if there is one; arbitrary for the others."""
    values, has_effects = [batcher.values[v] for v in op.arguments], _has_inner_effects(branch)
    if mask is not None and _may_spoil(op, branch, batcher):
        if isinstance(batcher.size, int) and batcher.size > 0 and not has_effects:
            return _where_taken(op, branch, batcher, mask, flags)
        values, flags = _shielded(op, branch, batcher, mask, flags)
    return batcher.of_function(batcher.b, branch, values, flags, mask if has_effects else None).run(branch)


def _has_inner_effects(function: FuncOp) -> bool:
    """Whether an op of a function has effects."""
    return any(map(has_effects, function.body.block.ops))


def _combines_elements(function: FuncOp) -> bool:
    """Whether a function, or one that it calls, has an op that reads other elements of a mapped axis."""
    return any(
        isinstance(inner, CollectiveOp)
        or (isinstance(inner, ControlOp) and any(map(_combines_elements, called_functions(inner))))
        for inner in function.body.block.ops
    )


def _may_spoil(op: CaseOp, branch: FuncOp, batcher: Batcher) -> bool:
    """Whether a branch may have infinite slopes: where it is not taken, a cotangent of 0 turns them into NaN.

    False where nothing is differentiated around the batch, or no result of the op has a tangent, and for ops whose slopes are
    constants. A branch that combines elements of the batch uses all of them, including those that do not take it: these keep
    their values and slopes.
    """
    if not batcher.differentiated or not any(has_tangent(r.type) for r in op.results) or _combines_elements(branch):
        return False
    inner = branch.body.block.ops
    return not all(isinstance(one, ReturnOp) or (isinstance(one, GraphOp) and one.has_constant_slopes) for one in inner)


def _shielded(
    op: CaseOp, branch: FuncOp, batcher: Batcher, mask: SSAValue, flags: Sequence[bool]
) -> tuple[list[SSAValue], list[bool]]:
    """The arguments of a branch, which are constants where it is not taken, and whether they are batched.

    Their cotangents are 0 there, whatever the branch returns; in forward mode so are their tangents. An argument that is the
    same for all has a cotangent that is a sum over all, so it becomes one for each. That costs more than `_where_taken`, and
    works for a batch that may be empty and for branches with effects.
    """
    b, values, batched = batcher.b, [batcher.values[v] for v in op.arguments], list(flags)
    for k, value in enumerate(values):
        if has_tangent(value.type):
            each = value if flags[k] else batcher.spread(value)
            values[k], batched[k] = select_batch(b, mask, each, b.stop_gradient(each)), True
    return values, batched


def _where_taken(op: CaseOp, branch: FuncOp, batcher: Batcher, mask: SSAValue, flags: Sequence[bool]) -> Sequence[SSAValue]:
    """The results of a branch for the elements that take it, whose values replace those of all others; zeros if none does.

    The results of the others would be selected away, but would have slopes, and 0 times an infinite slope is NaN. So only
    values of elements that take the branch are computed.
    """
    b, size = batcher.b, batcher.size
    arguments = [batcher.values[v] for v in op.arguments]
    places = b.iota(dim=0, result=tensor(i64, (size,)))
    last = b.reduce(b.select(mask, places, b.zeros_like(places)), kind="max", dims=(0,))
    types = [*types_of(arguments), mask.type, last.type]

    def build(block: Block) -> list[SSAValue]:
        *given, taken, place = block.args
        inner_b = GraphBuilder(block, op.location)

        def accepted(x: SSAValue) -> SSAValue:
            one = inner_b.gather(x, place, at=(0,))
            if has_tangent(one.type):  # a cotangent of 0 times its slope, which may be infinite, is none of that element's
                one = inner_b.stop_gradient(one)
            everywhere = inner_b.broadcast(one, tuple(range(1, len(shape_of(x)))), shape_of(x))
            return select_batch(inner_b, taken, x, everywhere)

        safe = [accepted(x) if flag else x for x, flag in zip(given, flags, strict=True)]
        return batcher.of_function(inner_b, branch, safe, flags).run(branch)

    def build_none(block: Block) -> list[SSAValue]:
        inner_b = GraphBuilder(block, op.location)
        return [inner_b.full(0, tensor(element_of(r), (size, *shape_of(r)))) for r in op.results]

    functions = [new_function(op, "untaken", types, build_none, branch), new_function(op, "taken", types, build, branch)]
    case = CaseOp.make(b.reduce(mask, kind="or", dims=(0,)), functions, [*arguments, mask, last])
    b.insert(case)
    return case.results


def _taken(op: CaseOp, batcher: Batcher) -> list[SSAValue | None]:
    """The elements of a batch that take each branch; None where it is the only one, or makes no difference."""
    b, index, branches = batcher.b, batcher.values[op.index], called_functions(op)
    masks: list[SSAValue | None] = []
    for k, branch in enumerate(branches):
        taken: SSAValue | None = None
        if len(branches) > 1 and (_has_inner_effects(branch) or _may_spoil(op, branch, batcher)):
            if op.index.type == FLAG:
                taken = index if k else b.not_(index)
            else:
                # an index below 0 is the first, one past the end the last
                predicate = "le" if k == 0 else "ge" if k == len(branches) - 1 else "eq"
                taken = b.cmp(index, b.full_like(index, k), predicate=predicate)
            if batcher.mask is not None:
                taken = b.and_(batcher.mask, taken)
        masks.append(taken)
    return masks


def batch_while(op: WhileOp, batcher: Batcher) -> None:
    """A condition for all: the loop on batched values. A condition for each element: the loop runs until none holds, and
    elements whose condition no longer holds keep their carried values."""
    condition, body = called_functions(op)
    of_consts, of_inits = ([v in batcher.batched for v in values] for values in (op.consts, op.inits))
    while (found := _either(of_inits, _depends(body, [*of_consts, *of_inits]))) != of_inits:
        of_inits = found
    is_single = not any(_depends(condition, [*of_consts, *of_inits]))
    of_inits = of_inits if is_single else [True for _ in of_inits]
    consts = [batcher.values[v] for v in op.consts]
    inits = [
        batcher.spread(batcher.values[v]) if flag and v not in batcher.batched else batcher.values[v]
        for v, flag in zip(op.inits, of_inits, strict=True)
    ]
    make = _batched_loop if is_single else _masked_loop
    results = make(op, batcher, consts, inits, (of_consts, of_inits))
    for old, value, flag in zip(op.results, results, of_inits, strict=True):
        batcher.values[old] = value
        if flag:
            batcher.batched.add(old)


def _either(some: Sequence[bool], others: Sequence[bool]) -> list[bool]:
    return [a or b for a, b in zip(some, others, strict=True)]


def _depends(function: FuncOp, flags: Sequence[bool]) -> list[bool]:
    """Which results depend on the flagged arguments, as the batcher sees it."""
    block = function.body.block
    found: set[SSAValue] = {a for a, flag in zip(block.args, flags, strict=True) if flag}
    for op in block.ops:
        if any(operand in found for operand in op.operands):
            found.update(op.results)
    last = block.last_op
    assert last is not None
    return [value in found for value in last.operands]


Flags = tuple[Sequence[bool], Sequence[bool]]
"""Which consts and which carried values are batched."""


def _batched_loop(
    op: WhileOp, batcher: Batcher, consts: Sequence[SSAValue], inits: Sequence[SSAValue], flags: Flags
) -> Sequence[SSAValue]:
    """A loop whose condition depends on no batched value."""
    condition, body = called_functions(op)

    def building(function: FuncOp, wanted: Sequence[bool]) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            inner = batcher.of_function(GraphBuilder(block, op.location), function, block.args, [*flags[0], *flags[1]])
            results = zip(inner.rebuild(function), wanted, strict=True)
            return [inner.spread(value) if flag and not is_batched else value for (value, is_batched), flag in results]

        return new_function(op, "batched", [*types_of(consts), *types_of(inits)], build, function)

    new = WhileOp.make(building(condition, [False]), building(body, flags[1]), consts, inits)
    batcher.b.insert(new)
    return new.results


def _masked_loop(
    op: WhileOp, batcher: Batcher, consts: Sequence[SSAValue], inits: Sequence[SSAValue], flags: Flags
) -> Sequence[SSAValue]:
    """A loop that carries a mask of the running elements beside the values, all of which are batched."""
    condition, body = called_functions(op)
    n, each = len(consts), [*flags[0], *flags[1]]
    (going,) = batcher.of_function(batcher.b, condition, [*consts, *inits], each).run(condition)

    def build_condition(block: Block) -> list[SSAValue]:
        return [GraphBuilder(block, op.location).reduce(block.args[n], kind="or", dims=(0,))]

    def build_body(block: Block) -> list[SSAValue]:
        b, goes_on, before = GraphBuilder(block, op.location), block.args[n], block.args[n + 1 :]
        after = batcher.of_function(b, body, [*block.args[:n], *before], each, goes_on).run(body)
        kept = [select_batch(b, goes_on, new, old) for new, old in zip(after, before, strict=True)]
        (going,) = batcher.of_function(b, condition, [*block.args[:n], *kept], each, goes_on).run(condition)
        if any(map(has_effects, condition.body.block.ops)):  # an ended element has none, nor results of them
            going = b.and_(goes_on, going)
        return [going, *kept]

    types = [*types_of(consts), going.type, *types_of(inits)]
    new = WhileOp.make(
        new_function(op, "batched", types, build_condition, condition),
        new_function(op, "batched", types, build_body, body),
        consts,
        [going, *inits],
    )
    batcher.b.insert(new)
    return new.results[1:]
