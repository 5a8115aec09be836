"""Derivatives and batches of `graph.while` and `graph.case`: again ops over functions, made from theirs.

A case is differentiated branch by branch; in reverse, the branch that was taken is computed once more. A while loop carries
tangents beside the values. It has no reverse mode, which would keep what each of an unknown number of iterations started from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ..dialects.graph.autodiff import has_tangent
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.conditional import FLAG, CaseOp, WhileOp
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
from ._functions import called_functions, clone_body, error_at

if TYPE_CHECKING:
    from ._batch import Batcher
    from ._linearize import Linearizer


# Derivatives


def linearize_while(op: WhileOp, linearizer: Linearizer) -> None:
    """The tangents of a loop that was just inserted: one loop carries values and tangents.

    Raises:
        DifferentiationError: it would be differentiated in reverse.
    """
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


def linearize_case(op: CaseOp, linearizer: Linearizer) -> None:
    """The tangents of a case that was just inserted: forward a case that returns more, else a second one, linear."""
    given = with_tangents(op.arguments, linearizer)
    types = [*types_of(op.arguments), *types_of(given)]
    n, forward = len(op.arguments), linearizer.forward

    def derivative(branch: FuncOp) -> FuncOp:
        def build(block: Block) -> list[SSAValue]:
            inner = inner_linearizer(linearizer, block, forward)
            set_tangents(inner, op.arguments, block.args[:n], given, block.args[n:])
            results = inner.run(branch, block.args[:n])
            return [*(results if forward else ()), *tangents_of(results, inner)]

        return new_function(op, "jvp" if forward else "tangent", types, build, branch)

    branches = list(map(derivative, called_functions(op)))
    arguments = [*op.arguments, *linearizer.tangents_of(given)]
    if forward:
        new = CaseOp.make(op.index, branches, arguments)
        linearizer.primal.insert(new)
        linearizer.supersede(op, new.results[: len(op.results)])
        set_results(op, linearizer, new.results[len(op.results) :])
    else:
        new = CaseOp.make(op.index, branches, arguments, linear=range(n, len(arguments)))
        linearizer.b.insert(new)
        set_results(op, linearizer, new.results)


# Batches


def batch_case(op: CaseOp, batcher: Batcher) -> None:
    """One index for all: a case of batched branches. An index for each: all branches, and each element has that of its own."""
    branches, flags = called_functions(op), [v in batcher.batched for v in op.arguments]
    values, b = [batcher.values[v] for v in op.arguments], batcher.b
    if op.index not in batcher.batched:

        def batched(branch: FuncOp) -> FuncOp:
            def build(block: Block) -> list[SSAValue]:
                return batcher.of_function(GraphBuilder(block, op.location), branch, block.args, flags).run(branch)

            return new_function(op, "batched", types_of(values), build, branch)

        new = CaseOp.make(batcher.values[op.index], list(map(batched, branches)), values)
        b.insert(new)
        results = list(new.results)
    else:
        index = batcher.values[op.index]
        every = [batcher.of_function(b, branch, values, flags).run(branch) for branch in branches]
        results = every[-1]
        for k in range(len(branches) - 2, -1, -1):  # an index below 0 is the first, one past the end the last
            chosen = b.not_(index) if op.index.type == FLAG else b.cmp(index, b.full_like(index, k), predicate="le")
            results = [select_batch(b, chosen, x, y) for x, y in zip(every[k], results, strict=True)]
    for old, value in zip(op.results, results, strict=True):
        batcher.values[old] = value
        batcher.batched.add(old)


def batch_while(op: WhileOp, batcher: Batcher) -> None:
    """A condition for all: the loop on batched values. A condition for each element: the loop goes on until none holds, and
    elements whose condition does not hold any more keep what they carry."""
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
    """Which results depend on the arguments that are flagged, as the batcher sees it."""
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
    """A loop whose condition depends on nothing that is batched."""
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
    """A loop that carries which elements go on beside the values, all of which are batched."""
    condition, body = called_functions(op)
    n, each = len(consts), [*flags[0], *flags[1]]
    (going,) = batcher.of_function(batcher.b, condition, [*consts, *inits], each).run(condition)

    def build_condition(block: Block) -> list[SSAValue]:
        return [GraphBuilder(block, op.location).reduce(block.args[n], kind="or", dims=(0,))]

    def build_body(block: Block) -> list[SSAValue]:
        b, goes_on, before = GraphBuilder(block, op.location), block.args[n], block.args[n + 1 :]
        after = batcher.of_function(b, body, [*block.args[:n], *before], each).run(body)
        kept = [select_batch(b, goes_on, new, old) for new, old in zip(after, before, strict=True)]
        return [*batcher.of_function(b, condition, [*block.args[:n], *kept], each).run(condition), *kept]

    types = [*types_of(consts), going.type, *types_of(inits)]
    new = WhileOp.make(
        new_function(op, "batched", types, build_condition, condition),
        new_function(op, "batched", types, build_body, body),
        consts,
        [going, *inits],
    )
    batcher.b.insert(new)
    return new.results[1:]
