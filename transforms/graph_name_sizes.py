"""Name the sizes of type `?`, equal ones alike, so that later passes see them as expressions.

    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %z = graph.add %x, %y : tensor<?xf32>                                both arguments and the result have size N
      %c = graph.concat %z, %x along 0 : ... -> tensor<?xf32>                2 * N

Sizes of arguments get symbols, those of other values follow from the types of operands: an op whose result sizes do not follow
refuses them. Where a type rule compares two sizes, they become one (`dialects/sizes/equations.py`). Functions of loops,
branches and calls get the sizes of the arguments there; one that is used with several is copied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ..dialects.graph.base import GraphOp
from ..dialects.graph.conditional import ChosenOp
from ..dialects.graph.control import INDEX, ControlOp, ForOp, LoopOp
from ..dialects.graph.extents import Dim, Extents, has_open_size, has_open_sizes
from ..dialects.graph.fusion import FusionOp, YieldOp
from ..dialects.graph.kernel import KernelCallOp
from ..dialects.graph.known_sizes import substitute_sizes
from ..dialects.operations import clone
from ..dialects.sizes.atoms import Symbol
from ..dialects.sizes.equations import equations, solved
from ..dialects.sizes.polynomial import Size, require_at_least, substituted, symbols_of
from ..dialects.types import DYNAMIC, element_of, has_symbols, set_type, shape_of, sizes_of, tensor, tensors_of
from ..errors import CompileError, DTypeError, LeastSizeError, ShapeError, SizeError, about
from ._functions import called_functions, copy_function, copy_locations, error_at, rename_functions

T = TypeVar("T")


def name_sizes(module: ModuleOp) -> None:
    """Name the sizes of all functions of a module.

    Raises:
        CompileError: a size of an op does not follow from those of its operands, or two that must be equal are not.
    """
    functions = [f for f in module.body.block.ops if isinstance(f, FuncOp) and f.body.blocks]
    if not any(has_open_sizes(f.body.block) for f in functions):
        return
    called = {name.string_value() for op in module.walk() if isinstance(op, ControlOp) for name in op.callees}
    as_written: dict[FuncOp, FuncOp] = {}
    for function in functions:
        if not (_is_private(function) and function.sym_name.data in called):
            _Names(as_written).entry(function)
    for function in functions:  # those that only call each other
        if function not in as_written and has_open_sizes(function.body.block):
            _Names(as_written).entry(function)


class _Names:
    """The sizes of a function and of all that it runs.

    Args:
        as_written: copies of functions, from before their sizes had names.
    """

    def __init__(self, as_written: dict[FuncOp, FuncOp]):
        self.as_written = as_written
        self.functions: list[FuncOp] = []
        self.used: list[tuple[FuncOp, FuncOp]] = []
        """Functions that are run, each with what has the sizes of one of its uses."""
        self.open: list[FuncOp] = []
        self.fresh: list[Symbol] = []
        self.values: dict[Symbol, Any] = {}
        """What replaced a symbol."""
        self.reserved: set[str] = set()
        self.named: list[dict[Dim, Any]] = []
        """For each open function what is known of its classes of equal dims."""

    def entry(self, function: FuncOp) -> None:
        """Name the sizes of a function by its arguments."""
        self.reserved = {symbol.name for value in _values(function) for symbol in symbols_of(_sizes(value.type))}
        self.as_written[function] = _copied(function)
        self.function(function, None)
        left = [s for s in self.fresh if any(s in symbols_of(_sizes(a.type)) for a in function.body.block.args)]
        if left != self.fresh[: len(left)]:  # the first letters again
            substitute_sizes(self.functions, {a: _size(b) for a, b in zip(left, self.fresh, strict=False) if a != b})

    def function(self, function: FuncOp, given: Sequence[Attribute] | None) -> None:
        """Name the sizes of a function whose arguments have these types, or sizes of their own."""
        self.functions.append(function)
        self.open.append(function)
        block = function.body.block
        extents = Extents(block, whole=False)
        named: dict[Any, Any] = {}
        self.named.append(named)
        for k, argument in enumerate(block.args):
            shape: list[Any] = []
            for d in range(_rank(argument)):
                dim = extents.of(argument, d)
                known = dim if isinstance(dim, int | Size) else named.get(dim)
                if given is None:
                    known = self._new() if known is None else known
                else:
                    wanted = _sizes(given[k])[d]
                    known = wanted if known is None else self._equal(known, wanted, function)
                if not isinstance(dim, int | Size):
                    named[dim] = known
                shape.append(known)
            _set_type(argument, shape)
        self._block(block, extents, named)
        last = block.last_op
        outputs = [] if last is None else [operand.type for operand in last.operands]
        function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], outputs)
        self.named.pop()
        self.open.pop()

    def _new(self) -> Any:
        """A symbol that no size has."""
        number = len(self.fresh)
        while (name := "NMK"[number] if number < 3 else f"N{number}") in self.reserved:
            number += 1
        self.reserved.add(name)
        size = Size.symbol(name)
        self.fresh += size.symbols
        return size

    def _equal(self, a: Any, b: Any, op: Operation) -> Any:
        """Make two sizes one, in all that has been named; returns it."""
        a, b = _with(a, self.values), _with(b, self.values)
        if a == b:
            return a
        found = solved(a, b, sorted(self.fresh[::-1], key=lambda symbol: symbol.low))  # those without bounds go first
        if found is None:
            raise error_at(op, CompileError, f"needs equal sizes, they are {a} and {b}")
        (symbol, value) = found
        self._replace({symbol: value})
        if isinstance(value, Size) and symbol.low:
            self._decided(lambda: require_at_least(_with(value, self.values), symbol.low), op)
        return _with(a, self.values)

    def _replace(self, known: Mapping[Symbol, Any]) -> None:
        """Replace symbols in all that has been named."""
        substitute_sizes(self.functions, known)
        tables: list[dict[Any, Any]] = [self.values, *self.named]
        for values in tables:
            values.update((key, _with(size, known)) for key, size in values.items())
        self.values.update(known)

    # -- ops

    def _block(self, block: Block, extents: Extents, named: dict[Any, Any]) -> None:
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp):
                continue
            with about(op):
                if isinstance(op, FusionOp):
                    self._fusion(op, extents, named)
                elif isinstance(op, GraphOp):
                    self._graph_op(op, extents, named)
                elif isinstance(op, ControlOp):
                    self._control(op, extents, named)
                elif any(map(has_open_size, op.results)):
                    raise _refused(op)

    def _fusion(self, op: FusionOp, extents: Extents, named: dict[Any, Any]) -> None:
        """Name the sizes in a fusion: its arguments have the sizes of its operands, its results those of the yielded values."""
        body = op.body.block
        for argument, operand in zip(body.args, op.operands, strict=True):
            if has_open_size(argument):
                _set_type(argument, shape_of(operand))
        self._block(body, extents, named)
        for result, value in zip(op.results, op.yielded(), strict=True):
            if has_open_size(result):
                _set_type(result, shape_of(value))

    def _graph_op(self, op: GraphOp, extents: Extents, named: dict[Any, Any]) -> None:
        declared: list[Any] = []
        for result in op.results:
            sizes: Sequence[Any] = [extents.of(result, d) for d in range(_rank(result))]
            sizes = [size if isinstance(size, int | Size) else named.get(size, DYNAMIC) for size in sizes]
            declared.append(tensor(element_of(result), sizes))
        types, found = self._inferred(op, declared)
        self._name_results(op, types, extents, named)
        for a, b in found:
            self._equal(a, b, op)

    def _inferred(self, op: GraphOp, declared: Sequence[Any]) -> tuple[Sequence[Any], list[tuple[Any, Any]]]:
        """The types of results, and the sizes that must be equal."""

        def infer() -> tuple[Sequence[Any], list[tuple[Any, Any]]]:
            with equations() as found:
                if isinstance(op, KernelCallOp):
                    return op.types_for(op.lookup(), [operand.type for operand in op.operands]), found
                return op.infer_types(tensors_of(op.operands), op.properties, declared), found

        return self._decided(infer, op)

    def _decided(self, rule: Callable[[], T], op: Operation) -> T:
        """What a rule gives once symbols are as large as its comparisons need them: calls check that."""
        while True:
            try:
                return rule()
            except SizeError as error:
                name, least = (error.name, error.least) if isinstance(error, LeastSizeError) else ("", 0)
                symbol = next((s for s in self.fresh if s.name == name), None)
                if symbol is None or symbol.low >= least:
                    raise _refused(op, error) from None
                larger = dataclasses.replace(symbol, low=least)
                self.fresh[self.fresh.index(symbol)] = larger
                self._replace({symbol: _size(larger)})
            except (ShapeError, DTypeError) as error:
                raise error_at(op, CompileError, str(error)) from None

    def _name_results(self, op: Operation, types: Sequence[Any], extents: Extents, named: dict[Any, Any]) -> None:
        for result, type in zip(op.results, types, strict=True):
            shape = _sizes(type)
            if DYNAMIC in shape:
                raise _refused(op)
            for d, size in enumerate(shape):
                if isinstance(size, Size) and has_open_size(result):
                    named.setdefault(extents.of(result, d), size)
            _set_type(result, shape)

    # -- functions

    def _control(self, op: ControlOp, extents: Extents, named: dict[Any, Any]) -> None:
        """Name the sizes of what an op runs by its operands, and those of its results by what is returned."""
        functions = called_functions(op)
        if not any(map(has_symbols, op.operands)) and not any(has_open_sizes(f.body.block) for f in functions):
            return
        if isinstance(op, ForOp):
            for stack in op.stacks:
                self._equal(shape_of(stack)[0], op.static_count, op)
        used = [self._with_sizes(function, op) for function in functions]
        rename_functions(op, {f.sym_name.data: u.sym_name.data for f, u in zip(functions, used, strict=True)})
        inits: Sequence[SSAValue] = op.inits if isinstance(op, LoopOp) else ()
        carried = len(inits)
        for k in range(carried):
            self._equal_shapes(lambda k=k: inits[k].type, lambda k=k: _outputs(used[-1])[k], op)
        for other in used[:-1] if isinstance(op, ChosenOp) else ():
            for k in range(len(op.results)):
                self._equal_shapes(lambda k=k, f=other: _outputs(f)[k], lambda k=k: _outputs(used[-1])[k], op)
        types = _outputs(used[-1])
        if isinstance(op, ForOp):
            types[carried:] = [tensor(type.element_type, (op.trips.value.data, *_sizes(type))) for type in types[carried:]]
        self._name_results(op, types, extents, named)

    def _equal_shapes(self, one: Callable[[], Any], other: Callable[[], Any], op: Operation) -> None:
        """Make the sizes of two types equal, each read again when others became one."""
        for d in range(len(_sizes(one()))):
            self._equal(_sizes(one())[d], _sizes(other())[d], op)

    def _with_sizes(self, function: FuncOp, op: ControlOp) -> FuncOp:
        """A function, or a copy of it, for the sizes of operands of an op."""
        given = _given(op)
        for original, used in self.used:
            if original is function and list(used.function_type.inputs) == given:
                return used
        if function in self.open:
            rule = f"@{function.sym_name.data} is a function of a loop or branch in itself: recursion cannot be compiled"
            raise error_at(function, CompileError, rule)
        as_written = self.as_written.get(function)
        if not has_open_sizes((as_written or function).body.block):
            return function
        used = function
        if as_written is not None or not _is_private(function):
            used = copy_function(function, function, as_written=as_written)
        else:
            self.as_written[function] = _copied(function)
        self.used.append((function, used))
        self.function(used, given)
        return used


def _values(function: FuncOp) -> Iterator[SSAValue]:
    for op in function.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def _given(op: ControlOp) -> list[Attribute]:
    """The types of the arguments of the functions that an op runs."""
    if isinstance(op, ForOp):
        sliced = [tensor(element_of(stack), shape_of(stack)[1:]) for stack in op.stacks]
        return [INDEX, *(v.type for v in (*op.consts, *op.inits)), *sliced]
    return [v.type for v in (op.arguments if isinstance(op, ChosenOp) else op.operands)]


def _outputs(function: FuncOp) -> list[Any]:
    return list(function.function_type.outputs)


def _copied(function: FuncOp) -> FuncOp:
    copy = clone(function)
    copy_locations(function, copy)
    return copy


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _refused(op: Operation, error: SizeError | None = None) -> CompileError:
    shown = next(v.type for v in (*op.results, *op.operands) if has_open_size(v) or has_symbols(v))
    why = "" if error is None else f": {str(error).partition(' while tracing')[0].partition(': ')[0]}"
    rule = f"takes no symbolic size, got {shown}{why}: run graph-specialize with the shapes to compile for"
    return error_at(op, CompileError, rule)


def _rank(value: SSAValue) -> int:
    return len(_sizes(value.type))


def _sizes(type: Any) -> tuple[Any, ...]:
    return sizes_of(type) if isinstance(type, TensorType) else ()


def _size(symbol: Symbol) -> Size:
    return Size.product((symbol,))


def _with(size: Any, known: Mapping[Symbol, Any]) -> Any:
    return substituted(size, lambda symbol: known.get(symbol, _size(symbol)))


def _set_type(value: SSAValue, sizes: Sequence[Any]) -> None:
    if isinstance(value.type, TensorType):
        set_type(value, tensor(element_of(value), sizes))


@dataclass(frozen=True)
class GraphNameSizesPass(ModulePass):
    """Name the sizes of type `?` of all functions."""

    name = "graph-name-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        name_sizes(op)
