"""Give `?` dims their sizes: refine the arguments of a function and infer all types again. Options: `shapes`, `entry`.

`shapes` names one shape an argument of @main (or of `entry`), such as `32x64`; `_` leaves an argument as it is. Functions that
the entry calls, differentiates or maps are specialised with it, once: called with two shapes they must be inlined first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.autodiff import DerivativeOp, VmapOp, callee_of, type_list
from ..dialects.graph.base import GraphOp, ints
from ..dialects.graph.conditional import ChosenOp
from ..dialects.graph.control import INDEX, ControlOp, ForOp, LoopOp
from ..dialects.graph.extents import Dim, Extents
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.types import DYNAMIC, set_type, shape_of, show_shape, tensor, tensors_of
from ..errors import CompileError, DTypeError, ShapeError
from ._functions import called_function, called_functions, error_at, has_body


def is_dynamic(type: Attribute) -> bool:
    return isinstance(type, TensorType) and DYNAMIC in type.get_shape()


def refined(type: Any, shape: Sequence[int], function: FuncOp, k: int) -> TensorType:
    """The type of argument `k` with its `?` dims as in `shape`, whose known dims it must have."""
    known = type.get_shape() if isinstance(type, TensorType) else ()
    if len(known) != len(shape) or any(DYNAMIC not in (a, b) and a != b for a, b in zip(known, shape, strict=True)):
        name = function.sym_name.data
        raise error_at(function, CompileError, f"@{name} argument {k} is {type}: it cannot have shape {show_shape(shape)}")
    return tensor(type.element_type, [b if a == DYNAMIC else a for a, b in zip(known, shape, strict=True)])


class Specializer:
    """Re-infers the types of functions, each for one list of argument types."""

    def __init__(self) -> None:
        self.done: dict[FuncOp, list[Attribute]] = {}
        self.sizes: dict[Dim | None, int] = {}
        """Infers sizes of dims that equal a dim of an argument."""

    def function(self, function: FuncOp, types: Sequence[Attribute], user: Operation) -> None:
        """Bring a function to argument types, because of `user`."""
        name = function.sym_name.data
        if function in self.done:
            if self.done[function] != list(types):
                raise error_at(user, CompileError, f"needs @{name} for other shapes than another op: run graph-inline first")
            return
        self.done[function] = list(types)
        block = function.body.block
        classes = _classes(block)
        for k, (value, type) in enumerate(zip(block.args, types, strict=True)):
            shape = type.get_shape() if isinstance(type, TensorType) else ()
            set_type(value, refined(value.type, shape, function, k))
            self.sizes |= {c: n for d, n in enumerate(shape) if n != DYNAMIC and (c := classes.get((value, d))) is not None}
        for op in block.ops:
            if isinstance(op, ReturnOp):
                outputs = [o.type for o in op.operands]
                function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], outputs)
            else:
                self._op(op, classes)

    def _op(self, op: Operation, classes: Mapping[Dim, Dim]) -> None:
        operands = [o.type for o in op.operands]
        types: Sequence[Attribute]
        if isinstance(op, GraphOp):
            try:
                if isinstance(op, KernelCallOp):
                    types = op.types_for(op.lookup(), operands)
                else:
                    types = op.infer_types(tensors_of(op.operands), op.properties, tensors_of(op.results))
            except (ShapeError, DTypeError) as error:
                raise error_at(op, type(error), str(error)) from None
        elif isinstance(op, CallOp) and has_body(op):
            function = called_function(op)
            self.function(function, operands, op)
            types = list(function.function_type.outputs)
        elif isinstance(op, DerivativeOp):
            function = called_function(op)
            self.function(function, [p.type for p in op.primals], op)
            types = op.result_types_of(function, list(op.primals), ints(op.wrt))
        elif isinstance(op, VmapOp):
            function = called_function(op)
            self.function(function, [_element(a, axis) for a, axis in zip(op.arguments, ints(op.axes), strict=True)], op)
            types = [r.type for r in VmapOp.make(function, list(op.arguments), ints(op.axes)).results]
        elif isinstance(op, ControlOp):
            types = self._control(op)
        else:
            types = [r.type for r in op.results]
        for result, inferred in zip(op.results, types, strict=True):
            if isinstance(inferred, TensorType) and is_dynamic(inferred):  # a size that sizes of other values determine
                sizes = [self.sizes.get(classes.get((result, d)), n) for d, n in enumerate(inferred.get_shape())]
                inferred = tensor(inferred.element_type, sizes)
            if is_dynamic(inferred) and not any(is_dynamic(t) for t in operands):
                raise error_at(op, CompileError, f"result shape does not follow from its operands, got {inferred}")
            if not _fits(result.type, inferred):
                raise error_at(op, CompileError, f"result type would be {inferred}, but it is declared {result.type}")
            set_type(result, inferred)

    def _control(self, op: ControlOp) -> Sequence[Attribute]:
        """Specialize the functions of loops and branches to the types of their operands; returns the types of the results."""
        functions = called_functions(op)
        if isinstance(op, ForOp):
            given = [INDEX, *(v.type for v in (*op.consts, *op.inits)), *(_element(v, 0) for v in op.stacks)]
        else:
            given = [v.type for v in (op.arguments if isinstance(op, ChosenOp) else op.operands)]
        for function in functions:
            if any(is_dynamic(type) for type in function.function_type.inputs):
                self.function(function, given, op)
        outputs = [list(function.function_type.outputs) for function in functions]
        if isinstance(op, LoopOp) and outputs[-1][: len(op.inits)] != (carried := [v.type for v in op.inits]):
            rule = f"carries {type_list(carried)}, its body returns {type_list(outputs[-1])}"
            raise error_at(op, CompileError, rule)
        if isinstance(op, ChosenOp) and any(other != outputs[0] for other in outputs):
            raise error_at(op, CompileError, f"has branches that return {' and '.join(map(type_list, outputs))}")
        if isinstance(op, ForOp):
            made = ForOp.make(functions[0], op.times, op.consts, op.inits, op.stacks)
            types = [r.type for r in made.results]
            made.erase()
            return types
        return outputs[-1]


def _classes(block: Block) -> dict[Dim, Dim]:
    """For each `?` of a block the representative of all dims of equal size; None where known sizes conflict."""
    try:
        extents = Extents(block, whole=False)
    except CompileError:
        return {}
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    found = {(v, d): extents.of(v, d) for v in values if is_dynamic(v.type) for d in range(len(shape_of(v)))}
    return {dim: size for dim, size in found.items() if not isinstance(size, int)}


def _fits(declared: Any, inferred: Any) -> bool:
    """Whether a type is a declared one with some of its `?` dims known."""
    if declared == inferred or not isinstance(declared, TensorType):
        return declared == inferred
    pairs = zip(declared.get_shape(), inferred.get_shape(), strict=True)
    return all(a in (b, DYNAMIC) or b == DYNAMIC for a, b in pairs)


def _element(value: SSAValue, axis: int) -> TensorType:
    """The type of one element along a mapped axis."""
    type: Any = value.type
    return tensor(type.element_type, [n for d, n in enumerate(type.get_shape()) if d != axis])


def parse_shape(text: str | int) -> tuple[int, ...] | None:
    """`2x?x3` as sizes; None for `_`."""
    if text == "_":
        return None
    sizes = str(text).split("x") if text != "" else []
    if any(not (n.isdecimal() or n == "?") for n in sizes):
        raise CompileError(f'graph-specialize: \'{text}\' is no shape, write 2x3, 4, "2x?", "" (a scalar) or _ (as it is)')
    return tuple(DYNAMIC if n == "?" else int(n) for n in sizes)


@dataclass(frozen=True)
class GraphSpecializePass(ModulePass):
    """Give known shapes to the arguments of a function, and to all values that depend on them."""

    name = "graph-specialize"
    shapes: tuple[str | int, ...] = ()
    entry: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = next((f for f in op.body.block.ops if isinstance(f, FuncOp) and f.sym_name.data == self.entry), None)
        if not self.shapes and function is None:
            return
        if function is None or not function.body.blocks:
            raise CompileError(f"graph-specialize: there is no function @{self.entry} with a body")
        args = function.body.block.args
        if self.shapes and len(self.shapes) != len(args):
            raise CompileError(f"graph-specialize: @{self.entry} has {len(args)} arguments, got {len(self.shapes)} shapes")
        types: list[Attribute] = [a.type for a in args]
        for k, text in enumerate(self.shapes):
            shape = parse_shape(text)
            if shape is not None:
                types[k] = refined(types[k], shape, function, k)
        specializer = Specializer()
        specializer.function(function, types, function)
        for inner in op.walk():
            if isinstance(inner, CallOp) and (called := callee_of(inner)) in specializer.done:
                assert called is not None
                if [o.type for o in inner.operands] != list(called.function_type.inputs):
                    raise error_at(inner, CompileError, f"calls {inner.callee}, which was specialized: run graph-inline first")
