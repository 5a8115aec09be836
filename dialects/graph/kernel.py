"""Hand-written kernels in graphs: `graph.kernel` runs a `loop.kernel` of the module as an op without side effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FlatSymbolRefAttrConstr, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError, DTypeError, ShapeError
from ..assembly import parse_type_list, parse_types, print_type_list, print_types
from ..symbols import find_symbol
from ..types import DYNAMIC, tensor_of
from .base import GraphOp, NotDifferentiable, Props, Types, graph_op, ints

if TYPE_CHECKING:  # most graphs call no kernels, and the loop dialect takes a while to import
    from ..loop.loops import KernelOp
    from ..loop.parameters import Parameter, Sizes
    from .builder import GraphBuilder

ROLES = ("in", "out", "inout")
"""How a kernel uses a parameter: it reads it, writes all of its contents, or updates its initial contents."""

_IN, _OUT, _INOUT = range(3)


@dataclass(frozen=True)
class Argument:
    """The argument for one parameter: an operand (a number, an array, or initial contents), a result that is written."""

    parameter: Parameter
    operand: SSAValue | None
    result: SSAValue | None


def _by_loops(op: Operation) -> str:
    return "it has those of its loops, which graph-linearize writes"


def _by_another(b: GraphBuilder, op: Operation, operands: Sequence[SSAValue], flags: Sequence[bool]) -> Sequence[SSAValue]:
    raise AssertionError("graph-vmap makes a kernel with a loop for the batch")


@graph_op
class KernelCallOp(GraphOp):
    """A hand-written kernel of the module on tensors: one result for each array that it writes.

    There is one argument for each parameter of the kernel, in its order; sizes and strides follow from the shapes. Numbers are
    tensors of no dims. An array that the kernel writes is `out`, or `inout` with its initial contents. Elements of an `out`
    that the kernel does not write are undefined.

    ```mlir
    %y = graph.kernel @scale(%a, %x, out) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
    %z = graph.kernel @saxpy(%a, %x, inout %y) : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```

    `@scale as_written @plain` names the kernel before it was scheduled, of which derivatives and batches are made.

    (C1) The name is that of a kernel of the module, every index argument of which is a size or stride of an array.
    (C2) There is one argument for each parameter.
    (C3) Exactly the arrays that the kernel writes are `out` or `inout`.
    (C4) An array that the kernel reads is not `out`.
    (C5) Element types and ranks are those of the parameters, and sizes agree.
    (C6) The result of an `inout` has the type of its operand.
    (C7) The kernel as it was written has the same parameters.
    """

    name = "graph.kernel"
    kernel = prop_def(FlatSymbolRefAttrConstr)
    as_written = opt_prop_def(FlatSymbolRefAttrConstr)
    roles = prop_def(DenseArrayBase.constr(i64))
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    derivative = NotDifferentiable(_by_loops)
    batching = _by_another

    @staticmethod
    def call(kernel: KernelOp, arguments: Sequence[SSAValue | TensorType], as_written: KernelOp | None = None) -> KernelCallOp:
        """The op that runs a kernel: a value for each parameter, or the type of an array that is only written."""
        from ..loop.parameters import parameters_of

        roles: list[int] = []
        for parameter, given in zip(parameters_of(kernel), arguments, strict=True):
            roles.append(_OUT if isinstance(given, TensorType) else _INOUT if parameter.writes else _IN)
        types = [g if isinstance(g, TensorType) else g.type for g, r in zip(arguments, roles, strict=True) if r != _IN]
        properties: dict[str, Attribute] = {
            "kernel": SymbolRefAttr(kernel.sym_name),
            "roles": DenseArrayBase.from_list(i64, roles),
        }
        if as_written is not None:
            properties["as_written"] = SymbolRefAttr(as_written.sym_name)
        operands = [given for given in arguments if isinstance(given, SSAValue)]
        return KernelCallOp.create(operands=operands, result_types=types, properties=properties)

    def lookup(self) -> KernelOp:
        """The kernel.

        Raises:
            CompileError: the module has none of that name.
        """
        return self._named(self.kernel)

    def lookup_as_written(self) -> KernelOp:
        """The kernel before it was scheduled, or the kernel."""
        return self._named(self.kernel if self.as_written is None else self.as_written)

    def _named(self, name: SymbolRefAttr) -> KernelOp:
        from ..loop.loops import KernelOp

        found = find_symbol(self, name)
        if not isinstance(found, KernelOp):
            raise CompileError(f"names no kernel of the module: {name}")
        return found

    def arguments(self, kernel: KernelOp) -> list[Argument]:
        """The argument for each parameter of the kernel.

        Raises:
            CompileError: the arguments are not those that it takes.
        """
        from ..loop.parameters import parameters_of

        parameters, roles = parameters_of(kernel), ints(self.roles)
        name = kernel.sym_name.data
        if len(parameters) != len(roles) or any(not 0 <= role < len(ROLES) for role in roles):
            wanted = f"{len(parameters)} parameters of @{name} ({', '.join(p.name for p in parameters)})"
            raise CompileError(f"must have one argument for each of the {wanted}, got {len(roles)}")
        if len(self.operands) != sum(r != _OUT for r in roles) or len(self.results) != sum(r != _IN for r in roles):
            raise CompileError("must have an operand for each argument but `out`, and a result for each `out` and `inout`")
        operands, results = iter(self.operands), iter(self.results)
        found: list[Argument] = []
        for parameter, role in zip(parameters, roles, strict=True):
            if parameter.writes != (role != _IN):
                what = "writes" if parameter.writes else "does not write"
                raise CompileError(f"must say `out` or `inout` of what it writes, @{name} {what} '{parameter.name}'")
            if parameter.reads and role == _OUT:
                raise CompileError(f"needs initial contents, inout %..., for what it reads: @{name} reads '{parameter.name}'")
            operand = None if role == _OUT else next(operands)
            found.append(Argument(parameter, operand, None if role == _IN else next(results)))
        return found

    def initial(self, result: SSAValue) -> SSAValue | None:
        """The initial contents of a result; None if there are none."""
        operands, results = iter(self.operands), iter(self.results)
        for role in ints(self.roles):
            operand = None if role == _OUT else next(operands)
            if role != _IN and next(results) is result:
                return operand
        return None

    def sizes(self, kernel: KernelOp, arguments: Sequence[Argument], types: Sequence[Any]) -> Sizes:
        """The sizes that arguments of the kernel bind, operands as given types and results.

        Raises:
            ShapeError, DTypeError, CompileError: they do not agree.
        """
        from ..loop.parameters import Interface, Sizes

        sizes = Sizes(Interface(kernel, [argument.parameter for argument in arguments]))
        of_operand = dict(zip(self.operands, types, strict=True))
        for argument in arguments:
            if argument.operand is not None:
                sizes.bind(argument.parameter, of_operand[argument.operand])
            elif isinstance(argument.result, SSAValue):
                sizes.bind(argument.parameter, tensor_of(argument.result))
        return sizes

    def types_for(self, kernel: KernelOp, types: Sequence[Any]) -> list[Attribute]:
        """The types of the results for operands of given types; raises as `sizes`."""
        arguments, of_operand = self.arguments(kernel), dict(zip(self.operands, types, strict=True))
        sizes = self.sizes(kernel, arguments, types)
        written = [argument for argument in arguments if argument.result is not None]
        return [sizes.type_of(a.parameter) if a.operand is None else of_operand[a.operand] for a in written]

    @classmethod
    def infer_types(cls, operands: Types, props: Props, results: Types | None = None) -> Types:
        if results is None:
            raise ShapeError("result types follow from the kernel of the module: declare them")
        return tuple(results)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        raise CompileError(f"'graph.kernel' op {self.kernel} is run by the interpreter of the module, which has the kernel")

    def verify_(self) -> None:
        super().verify_()
        try:
            kernel = self.lookup()  # C1
            arguments = self.arguments(kernel)  # C2, C3, C4
            self.sizes(kernel, arguments, [operand.type for operand in self.operands])  # C1, C5
        except (CompileError, ShapeError, DTypeError) as error:
            raise VerifyException(f"'graph.kernel' op {error}") from None
        if self.as_written is not None:
            self._verify_as_written(kernel)
        for argument in arguments:
            operand, result = argument.operand, argument.result
            if operand is not None and result is not None and not _same(operand.type, result.type):  # C6
                raise VerifyException(f"'graph.kernel' op result of an inout must be {operand.type}, got {result.type}")

    def _verify_as_written(self, kernel: KernelOp) -> None:
        try:
            other = self.lookup_as_written()
        except CompileError as error:
            raise VerifyException(f"'graph.kernel' op {error}") from None
        types = [[a.type for a in k.body.block.args] for k in (kernel, other)]
        if types[0] != types[1]:  # C7
            rule = f"@{other.sym_name.data} must have the parameters of @{kernel.sym_name.data}"
            raise VerifyException(f"'graph.kernel' op {rule}, which it is as written")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.root_reference.data)
        if self.as_written is not None:
            printer.print_string(" as_written ")
            printer.print_symbol_name(self.as_written.root_reference.data)
        printer.print_string("(")
        operands = iter(self.operands)
        for k, role in enumerate(ints(self.roles)):
            printer.print_string((", " if k else "") + (ROLES[role] + " " * (role == _INOUT) if role != _IN else ""))
            if role != _OUT:
                printer.print_ssa_value(next(operands))
        printer.print_string(")")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        print_type_list(printer, self.operands)
        printer.print_string(" -> ")
        print_types(printer, self.results)

    @classmethod
    def parse(cls, parser: Parser) -> KernelCallOp:
        kernel = parser.parse_symbol_name()
        written = parser.parse_symbol_name() if parser.parse_optional_keyword("as_written") else None
        position = parser.pos
        names: list[Any] = []

        def argument() -> int:
            if parser.parse_optional_keyword("out"):
                return _OUT
            role = _INOUT if parser.parse_optional_keyword("inout") else _IN
            names.append(parser.parse_unresolved_operand())
            return role

        roles = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_type_list(parser)
        parser.parse_punctuation("->")
        results = parse_types(parser)
        properties: dict[str, Attribute] = {
            "kernel": SymbolRefAttr(kernel),
            "roles": DenseArrayBase.from_list(i64, roles),
        }
        if written is not None:
            properties["as_written"] = SymbolRefAttr(written)
        return cls.create(
            operands=parser.resolve_operands(names, types, position),
            result_types=results,
            properties=properties,
            attributes=attributes,
        )


def _same(a: Any, b: Any) -> bool:
    """Whether two tensor types are one, as far as they are known."""
    sizes = zip(a.get_shape(), b.get_shape(), strict=True)
    return a.element_type == b.element_type and all(m == n or DYNAMIC in (m, n) for m, n in sizes)
