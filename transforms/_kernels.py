"""Derivatives and batches of calls of kernels: calls of kernels that are derived from their loops.

The tangents of a `graph.kernel` are results of another one, linear in the tangents of its operands, whose kernel computes both
(`lowering/derivatives/tangents.py`). In a `graph.transposed` this call becomes one of the kernel of cotangents (`adjoints.py`).
Derived kernels have loops as they are written; what they run with is the default schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from ..dialects.graph.autodiff import has_tangent
from ..dialects.graph.builder import GraphBuilder
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.loop.kernel import DERIVED
from ..dialects.symbols import find_symbol
from ..dialects.types import element_of, shape_of, tensor, tensor_of
from ..errors import CompileError, DifferentiationError
from ._functions import error_at

if TYPE_CHECKING:
    from ..dialects.loop.loops import KernelOp
    from ._batch import Batcher
    from ._linearize import Linearizer

Result = tuple[SSAValue, SSAValue]


def _derived(op: KernelCallOp, kernel: KernelOp, suffix: str, make: Callable[[str], KernelOp]) -> KernelOp:
    """The kernel of that name beside another one, made when it is first needed."""
    name = f"{kernel.sym_name.data}_{suffix}"
    found: Any = find_symbol(op, name)
    if found is None:
        found = make(name)
        found.mark_derived()
        block = kernel.parent
        assert block is not None
        block.insert_op_after(found, kernel)
    return found


def _numbers(numbers: Sequence[int]) -> str:
    return "".join(f"_{k}" for k in numbers)


def linearize_kernel(op: KernelCallOp, linearizer: Linearizer) -> None:
    """The tangents of a call that was just inserted."""
    from ..lowering.derivatives.activity import active_values
    from ..lowering.derivatives.tangents import tangent_kernel

    kernel = op.lookup_as_written()
    arguments = op.arguments(kernel)
    given = [None if a.operand is None else linearizer.tangent(a.operand) for a in arguments]
    wrt = [k for k, (a, t) in enumerate(zip(arguments, given, strict=True)) if t is not None and has_tangent(a.operand.type)]  # pyright: ignore[reportOptionalMemberAccess]
    changing = active_values(kernel, [arguments[k].parameter.argument for k in wrt])
    active = [a.parameter.argument in changing for a in arguments]
    made = _derived(op, kernel, f"tangent{_numbers(wrt)}", lambda name: tangent_kernel(kernel, name, wrt)[0])
    b = linearizer.b
    operands: list[SSAValue | TensorType] = []
    for a in arguments:
        operands.append(a.operand if a.operand is not None else tensor_of(a.result))  # pyright: ignore[reportArgumentType]
    for a, flag, tangent in zip(arguments, active, given, strict=True):
        if not flag:
            continue
        if a.operand is not None:
            operands.append(b.zeros_like(a.operand) if tangent is None else tangent)
        elif a.result is not None:
            operands.append(tensor_of(a.result))
    call = KernelCallOp.call(made, operands)
    b.insert(call)
    written = [(a.result, flag) for a, flag in zip(arguments, active, strict=True) if a.result is not None]
    values, tangents = call.results[: len(written)], iter(call.results[len(written) :])
    for result, flag in written:
        if flag:
            linearizer.tangents[result] = next(tangents)
    if linearizer.forward:
        linearizer.supersede(op, values)


def transpose_kernel(
    op: KernelCallOp, dependent: Sequence[bool], cotangents: Mapping[SSAValue, SSAValue], b: GraphBuilder
) -> list[Result]:
    """(operand, cotangent) for the operands in which a call is linear."""
    from ..dialects.loop.parameters import parameters_of
    from ..lowering.derivatives.adjoints import adjoint_kernel, roles_of

    kernel = op.lookup_as_written()
    arguments = op.arguments(kernel)
    flags = dict(zip(op.operands, dependent, strict=True))
    wrt = [k for k, a in enumerate(arguments) if a.operand is not None and flags[a.operand]]
    made = _derived(op, kernel, f"adjoint{_numbers(wrt)}", lambda name: adjoint_kernel(kernel, name, wrt))
    roles = roles_of(made)
    if any(role.what == "primal" and role.number in wrt for role in roles):
        rule = f"stands in a graph.transposed, but kernel @{kernel.sym_name.data} is not linear in what it is differentiated by"
        raise error_at(op, DifferentiationError, rule)
    operands: list[SSAValue | TensorType] = []
    for role, parameter in zip(roles, parameters_of(made), strict=True):
        a = arguments[role.number]
        if role.what == "primal":
            operands.append(b.full(0, a.result.type) if a.operand is None and a.result is not None else a.operand)  # pyright: ignore[reportArgumentType]
        elif role.what == "cotangent":
            assert a.result is not None
            cotangent = cotangents.get(a.result)
            operands.append(b.zeros_like(a.result) if cotangent is None else cotangent)
        elif parameter.reads or not parameter.writes:
            operands.append(b.zeros_like(a.operand))  # pyright: ignore[reportArgumentType]
        else:
            operands.append(tensor(parameter.element, shape_of(a.operand) or (1,)))  # pyright: ignore[reportArgumentType]
    call = KernelCallOp.call(made, operands)
    b.insert(call)
    results = iter(call.results)
    found: list[Result] = []
    for role, parameter, operand in zip(roles, parameters_of(made), operands, strict=True):
        value = next(results) if parameter.writes else operand
        a = arguments[role.number]
        if role.number in wrt and role.what != "primal":
            assert isinstance(value, SSAValue) and a.operand is not None
            found.append((a.operand, b.reshape(value, shape_of(a.operand))))
    return found


def batch_kernel(op: KernelCallOp, operands: Sequence[SSAValue], flags: Sequence[bool], batcher: Batcher) -> list[SSAValue]:
    """The results of a call for each element of a batch."""
    from ..lowering.derivatives.batches import batched_kernel

    kernel = op.lookup_as_written()
    arguments, b, size = op.arguments(kernel), batcher.b, batcher.size
    batched_operands = dict(zip(op.operands, zip(operands, flags, strict=True), strict=True))
    batched: list[bool] = []
    given: list[SSAValue | TensorType] = []
    for a in arguments:
        if a.operand is None:
            assert a.result is not None
            batched.append(True)
            given.append(tensor(element_of(a.result), (size, *shape_of(a.result))))
            continue
        value, flag = batched_operands[a.operand]
        if a.result is not None and not flag:
            value, flag = batcher.spread(value), True
        batched.append(flag)
        given.append(value)
    suffix = "batch" + _numbers([k for k, flag in enumerate(batched) if flag])
    try:
        made = _derived(op, kernel, suffix, lambda name: batched_kernel(kernel, name, batched))
    except CompileError as error:
        raise error_at(op, CompileError, f"has no batch: {error}") from None
    call = KernelCallOp.call(made, given)
    b.insert(call)
    return list(call.results)


def drop_as_written(module: ModuleOp) -> None:
    """Leave no call with the kernel as it was written, and no derived kernel without a call, after derivatives and batches."""
    calls = [op for op in module.walk() if isinstance(op, KernelCallOp)]
    used = {op.kernel.string_value() for op in calls}
    named = {str(op.properties.pop("as_written").string_value()) for op in calls if op.as_written is not None}  # pyright: ignore[reportAttributeAccessIssue]
    for op in list(module.body.block.ops):
        name: Any = op.properties.get("sym_name")
        if name is not None and name.data not in used and (DERIVED in op.attributes or name.data in named):
            op.detach()
            op.erase()
