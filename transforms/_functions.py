"""Functions of a module and their expansion into each other; shared by the passes that follow calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.graph.autodiff import DerivativeOp, VmapOp, callee_of
from ..dialects.graph.control import ControlOp
from ..dialects.graph.custom import CustomDerivativeOp, has_reverse_rules
from ..dialects.operations import clone, ops_of
from ..dialects.symbols import find_symbol, remember_symbol, unique_name
from ..dialects.types import DYNAMIC
from ..errors import CompileError, LaminaError

ErrorT = TypeVar("ErrorT", bound=LaminaError)


def error_at(op: Operation, kind: type[ErrorT], message: str) -> ErrorT:
    """An error about an op, which carries the op's source location."""
    error = kind(f"'{op.name}' op {message}")
    error.location = op.location
    return error


def called_function(op: Operation) -> FuncOp:
    """The function that a call, loop, derivative or vmap op names; it is an error if the module does not hold its body."""
    callee = op.properties["callee"]
    assert isinstance(callee, SymbolRefAttr)
    return function_named(op, callee)


def called_functions(op: ControlOp) -> list[FuncOp]:
    """All functions that an op of control flow may call, as `called_function`."""
    return [function_named(op, name) for name in op.callees]


def function_named(op: Operation, name: SymbolRefAttr) -> FuncOp:
    """The function of this name, for `op`; it is an error if the module does not hold its body."""
    function = find_symbol(op, name)
    if not isinstance(function, FuncOp):
        raise error_at(op, CompileError, f"names no function of the module: {name}")
    if not function.body.blocks:
        raise error_at(op, CompileError, f"needs the body of @{function.sym_name.data}, which is only declared")
    return function


def has_body(op: CallOp | CustomDerivativeOp) -> bool:
    """Whether the called function is in the module: other calls stay."""
    function = callee_of(op)
    return function is not None and bool(function.body.blocks)


def require_static(op: Operation, function: FuncOp) -> None:
    """Raise CompileError if a function that `op` transforms has arguments or results with `?` dims."""
    for type in (*function.function_type.inputs, *function.function_type.outputs):
        if isinstance(type, TensorType) and DYNAMIC in type.get_shape():
            name = function.sym_name.data
            raise error_at(op, CompileError, f"needs known shapes, @{name} has {type}: run graph-specialize first")


def clone_body(
    function: FuncOp, arguments: Sequence[SSAValue], emit: Callable[[Operation], object]
) -> tuple[list[SSAValue], dict[SSAValue, SSAValue]]:
    """Clone the ops of a function onto arguments, each passed to `emit`; returns the results, and the copy of each value."""
    block = function.body.block
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    for op in ops_of(block):
        if isinstance(op, ReturnOp):
            return [mapping[value] for value in op.operands], mapping
        copied = clone(op, mapping)
        copy_locations(op, copied)
        emit(copied)
    raise CompileError(f"function @{function.sym_name.data} must end with a return")


def copy_locations(source: Operation, copied: Operation) -> None:
    """Give a copy and the ops inside it the locations of the source, which cloning drops."""
    for old, new in zip(source.walk(), copied.walk(), strict=True):
        new.location = old.location


def copy_function(function: FuncOp, op: Operation, suffix: str = "", as_written: FuncOp | None = None) -> FuncOp:
    """A private copy of a function, or of what it was, after it in the module of `op`: others may call the function, too."""
    source = as_written or function
    copy = clone(source)
    copy_locations(source, copy)
    copy.properties["sym_name"] = StringAttr(unique_name(op, f"{function.sym_name.data}{suffix}"))
    copy.properties["sym_visibility"] = StringAttr("private")
    functions = function.parent_block()
    assert functions is not None
    functions.insert_op_after(copy, function)  # first: which of its ops have effects follows from the module
    remember_symbol(copy)
    return copy


def rename_functions(op: ControlOp, names: Mapping[str, str]) -> None:
    """Let an op of control flow call other functions: `names` maps its own names to theirs."""
    for key, attribute in op.properties.items():
        if isinstance(attribute, SymbolRefAttr):
            op.properties[key] = SymbolRefAttr(names[attribute.string_value()])
        elif isinstance(attribute, ArrayAttr):
            op.properties[key] = ArrayAttr([SymbolRefAttr(names[name.string_value()]) for name in attribute.data])


def with_forward_rules(function: FuncOp) -> FuncOp:
    """The function that runs under reverse mode: calls with rules of reverse mode become their forward rules.

    It is the function itself where there are none.
    """
    if not has_reverse_rules(function):
        return function
    copy = copy_function(function, function, "_forward")
    block = copy.body.block
    for op in list(ops_of(block)):
        if isinstance(op, ControlOp):
            made = {f.sym_name.data: with_forward_rules(f).sym_name.data for f in called_functions(op)}
            rename_functions(op, made)
        elif isinstance(op, CustomDerivativeOp) and op.forward is not None:
            rule = function_named(op, op.forward)
            found, _ = clone_body(rule, list(op.operands), lambda new, op=op: block.insert_op_before(new, op))
            replace_op(op, found[: len(op.results)])
    return copy


def inline_call(op: CallOp | CustomDerivativeOp) -> list[Operation]:
    """Replace a call by the body of its function; returns the ops of that."""
    block, made = op.parent, list[Operation]()
    assert block is not None

    def emit(new: Operation) -> None:
        block.insert_op_before(new, op)
        made.append(new)

    results, _ = clone_body(called_function(op), list(op.operands), emit)
    replace_op(op, results)
    return made


def hoist_invariant(block: Block, before: Operation) -> set[SSAValue]:
    """Move ops that do not depend on the arguments of a block before an op outside; returns the values that do."""
    dependent: set[SSAValue] = set(block.args)
    parent = before.parent
    assert parent is not None
    for op in list(ops_of(block)):
        if op is block.last_op or any(operand in dependent for operand in op.operands):
            dependent.update(op.results)
        else:
            op.detach()
            parent.insert_op_before(op, before)
    return dependent


def replace_op(op: Operation, values: Sequence[SSAValue]) -> None:
    """Use `values` instead of the results of an op, and erase it."""
    for old, new in zip(op.results, values, strict=True):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def holds(module: ModuleOp, *kinds: type[Operation]) -> bool:
    """Whether a function of a module has an op of one of these classes."""
    functions = (f for f in ops_of(module.body.block) if isinstance(f, FuncOp))
    return any(isinstance(op, kinds) for function in functions for block in function.body.blocks for op in ops_of(block))


def callees_first(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module, each after those it names; recursion is an error."""
    functions = [op for op in ops_of(module.body.block) if isinstance(op, FuncOp) and op.body.blocks]
    state: dict[FuncOp, str] = {}
    ordered: list[FuncOp] = []
    for root in functions:
        stack: list[tuple[FuncOp, list[FuncOp]]] = []
        if root not in state:
            state[root] = "open"
            stack.append((root, named_functions(root)))
        while stack:
            function, rest = stack[-1]
            if not rest:
                state[function] = "done"
                ordered.append(function)
                stack.pop()
                continue
            callee = rest.pop()
            if state.get(callee) == "open":
                raise error_at(callee, CompileError, f"@{callee.sym_name.data} calls itself: recursion cannot be compiled")
            if callee not in state:
                state[callee] = "open"
                stack.append((callee, named_functions(callee)))
    return ordered


def named_functions(function: FuncOp) -> list[FuncOp]:
    """The functions that one names: those that it calls or transforms, and their rules for derivatives."""
    found: list[FuncOp] = []
    for op in function.walk():
        if isinstance(op, ControlOp):
            found += called_functions(op)
        elif isinstance(op, CustomDerivativeOp):
            found += [function_named(op, name) for name in (op.callee, *op.rules)]
        elif isinstance(op, DerivativeOp | VmapOp) or (isinstance(op, CallOp) and has_body(op)):
            found.append(called_function(op))
    return found
