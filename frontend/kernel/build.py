"""Builds a module of loop IR with one kernel from a Python function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region

from ...dialects.loop.loops import ForOp, KernelOp
from ...errors import KernelError
from ...lowering.analysis.accesses import Instance
from ...lowering.analysis.dependence import CannotDecide, carried_conflict
from ...lowering.analysis.inbounds import Finding, findings, insert_checks
from ...lowering.analysis.inbounds import _violation as violation
from ...lowering.analysis.linear import System, Undecided
from .inline import inline
from .jumps import ends, result_names, results_of, returns, without_jumps
from .liveness import live_after_loops
from .parameters import parameters_of
from .source import assigned, error_at, read
from .statements import Statements
from .values import UNSET


def build_kernel(
    function: Callable[..., Any], check_bounds: bool = False, reassociate: bool = False, same: Mapping[str, str] | None = None
) -> ModuleOp:
    """The module with the kernel that a function describes. Its source is read; it is not run.

    `runtime.module_signatures.kernel_signature_of` says how the kernel is called.

    Args:
        function: its parameters are annotated with array types and element types.
        check_bounds: check at run time the accesses that cannot be proved to be in bounds.
        reassociate: let sums of floats be added in another order.
        same: parameters that are the arrays of others; the kernel has these alone.

    Raises:
        KernelError: a construct that kernels do not have, an access is out of bounds for all sizes, or iterations of a
            parallel loop depend on each other; each at its line.

    >>> import lamina as lm
    >>> def twice(x: lm.f32["N"]):
    ...     for i in range(len(x)):
    ...         x[i] = 2.0 * x[i]
    >>> build_kernel(twice)  # doctest: +SKIP
    """
    tree, source = read(function)
    whole = parameters_of(function, tree, source)
    parameters = whole.without(same or {})
    kernel = KernelOp.build_kernel(tree.name, parameters.arguments, list(parameters.shapes))
    kernel.location = source.location(tree)
    if reassociate:
        kernel.let_reassociate()
    block = kernel.body.block
    body, results = without_jumps(tree.body), results_of(tree.body)
    needed = [] if results is None else result_names(results)
    if needed and not ends(tree.body):
        raise source.error(tree, f"kernel '{tree.name}' may end without a return: return a value on every way")
    statements = Statements(source, assigned(body)[0], inline, {*whole.types, *whole.symbols})
    statements.live, statements.entry = live_after_loops(body, needed), block
    with statements.within(block):
        b = statements.math(tree)
        statements.env.update(parameters.values(list(block.args), b))
        statements.env.update(whole.shared(same or {}, statements.env, b))
    statements.env.update(dict.fromkeys(needed, UNSET))
    try:
        with statements.within(block):
            statements.relate(tree, parameters)
            statements.run(body)
            kernel.add_texts("checks", statements.checks)
            statements.write_results(next(returns(tree.body), tree), kernel, len(parameters.types), needed)
        module = ModuleOp(Region(Block([kernel])))
        _check(kernel, check_bounds, statements.fallbacks)
    except RecursionError:
        raise source.error(tree, f"kernel '{tree.name}' is nested too deeply: write it in several statements") from None
    return module


def _check(kernel: KernelOp, check_bounds: bool, fallbacks: Sequence[Operation]) -> None:
    """Refuse certain faults: accesses out of bounds, iterations of parallel loops that are not independent."""
    found = findings(kernel)
    for finding in found:
        if finding.certain and not _avoidable(finding, kernel):
            raise _at(finding.access.op, f"{finding}: change the range, or put a condition before it")
    for loop in [op for op in kernel.walk() if isinstance(op, ForOp) and op.kind.data == "parallel"]:
        try:
            conflict = carried_conflict(loop)
            refusal = None if conflict is None else f"the iterations of a parallel loop depend on each other: {conflict}"
        except CannotDecide as reason:
            refusal = f"cannot decide whether the iterations of a parallel loop are independent: {reason}"
        if refusal is not None and any(op.regions[1].block in _blocks_around(loop) for op in fallbacks):
            loop.properties["kind"] = StringAttr("seq")  # without the facts the order of the iterations is that of range
        elif refusal is not None:
            raise _at(loop, f"{refusal}; use range")
    insert_checks(kernel, found if check_bounds else [finding for finding in found if finding.unsettled])


def _blocks_around(op: Operation) -> Iterator[Block]:
    block = op.parent
    while block is not None:
        yield block
        parent = block.parent_op()
        block = None if parent is None else parent.parent


def _avoidable(finding: Finding, kernel: KernelOp) -> bool:
    """Whether an access is in bounds for sizes that all steps divide and some value of the scalar parameters: then it is for
    the caller to pass such.
    """
    symbols = {symbol.name_hint for symbol in kernel.index_arguments}
    steps = math.lcm(*(op.step.value.data for op in kernel.walk() if isinstance(op, ForOp)))
    size = steps * (1 + 1000 // steps)
    for scalar in (-1, 0, 1, 3, size):
        given = {name: size if name in symbols else scalar for name in finding.sizes}
        happens = System()
        Instance(happens, finding.access, "a", {})
        beyond = [violation(finding.access, finding.dim, above)[0] for above in (False, True)]
        for system in (happens, *beyond):
            for name, value in given.items():
                system.eq({name: 1}, -value)
        try:
            if happens.sample() is not None and all(system.sample() is None for system in beyond):
                return True
        except Undecided:
            return True
    return False


def _at(op: Operation, message: str) -> KernelError:
    location = op.location
    assert isinstance(location, FileLineColLoc)
    return error_at((location.filename.data, location.line.data, location.column.data), message)
