"""Replace ops by calls of kernels that other packages have registered for them on the target.

Of the kernels whose condition holds, and whose parameters take the op's operands and results, the one of least cost is
called; a kernel with a cost only if that is less than the cost of the op's own loops (`own_cost`). Runs before decomposition,
so that composites still have their names, and after differentiation, so that kernels need no derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ... import extensions
from ...codegen.targets import Target
from ...dialects.graph.base import GraphOp
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.kernel import KernelCallOp
from ...dialects.loop.loops import KernelOp
from ...dialects.loop.parameters import Interface, Sizes, clone_kernel
from ...dialects.types import tensor_of
from ...errors import CompileError, DTypeError, ShapeError
from ...lowering.op_kernels import called, own_cost
from ...lowering.target import target_of


def _chosen(op: GraphOp, target: Target) -> KernelOp | None:
    """The kernel to call for an op."""
    best: KernelOp | None = None
    least = float("inf")
    for choice in called(op.name):
        if not choice.fits(op, target):
            continue
        cost = 0.0 if choice.cost is None else float(choice.cost(op, target))
        if cost >= least or (choice.cost is not None and cost >= own_cost(op, target)):
            continue
        kernel = choice.kernel([tensor_of(value).element_type for value in (*op.operands, *op.results)])
        if kernel is not None and _takes(kernel, op):
            best, least = kernel, cost
    return best


def _takes(kernel: KernelOp, op: GraphOp) -> bool:
    """Whether a kernel reads values like the op's operands and only writes arrays like its results, in this order."""
    interface = Interface(kernel)
    read = [p for p in interface.parameters if not p.writes]
    written = [p for p in interface.parameters if p.writes]
    if len(read) != len(op.operands) or len(written) != len(op.results) or any(p.reads for p in written):
        return False
    sizes = Sizes(interface)
    try:
        for parameter, value in zip((*read, *written), (*op.operands, *op.results), strict=True):
            sizes.bind(parameter, tensor_of(value))
    except (ShapeError, DTypeError, CompileError):
        return False
    return True


def _call(op: GraphOp, kernel: KernelOp) -> None:
    """Compute an op by a kernel of its module."""
    operands, results = iter(op.operands), iter(op.results)
    parameters = Interface(kernel).parameters
    given: list[SSAValue | object] = [tensor_of(next(results)) if p.writes else next(operands) for p in parameters]
    call = KernelCallOp.call(kernel, given)  # pyright: ignore[reportArgumentType]
    GraphBuilder(InsertPoint.before(op), op.location).insert(call)
    for old, new in zip(op.results, call.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class GraphSelectKernelsPass(ModulePass):
    """Call registered kernels where their conditions hold and their costs are least."""

    name = "graph-select-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        extensions.load()
        target, made = target_of(op), {}
        for inner in [one for one in op.walk() if isinstance(one, GraphOp) and called(one.name)]:
            found = _chosen(inner, target)
            if found is None:
                continue
            if found not in made:
                made[found] = clone_kernel(found, _free_name(op, found.sym_name.data))
                op.body.block.add_op(made[found])
            _call(inner, made[found])


def _free_name(module: ModuleOp, name: str) -> str:
    """A symbol that the module does not have yet."""
    taken = {one.properties["sym_name"].data for one in module.body.block.ops if "sym_name" in one.properties}  # pyright: ignore[reportAttributeAccessIssue]
    return next(chosen for k in range(len(taken) + 1) if (chosen := f"{name}_{k}" if k else name) not in taken)
