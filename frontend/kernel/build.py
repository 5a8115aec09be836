"""From a Python function to a module of loop IR with one kernel."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.loop.structure import ForOp, KernelOp
from ...dialects.types import DYNAMIC, f32, f64, index, is_float, memref
from ...errors import KernelError
from ...lowering.analysis.dependence import CannotDecide, carried_conflict
from ...lowering.analysis.inbounds import findings, insert_checks
from .annotations import ArrayType, ElementType, Size
from .expressions import Source
from .statements import Statements
from .values import Array, Index, Number, Scalar, Value


def build_kernel(function: Callable[..., Any], check_bounds: bool = False) -> ModuleOp:
    """The module with the kernel that a function describes.

    Args:
        function: its parameters are annotated with array types and element types.
        check_bounds: check at run time the accesses that cannot be proved to be in bounds.

    Raises:
        KernelError: the source has what kernels do not have, an access is out of bounds for all sizes, or iterations of a
            parallel loop depend on each other; each at its line.

    >>> import lamina as lm
    >>> def twice(x: lm.f32["N"]):
    ...     for i in range(len(x)):
    ...         x[i] = 2.0 * x[i]
    >>> build_kernel(twice)  # doctest: +SKIP
    """
    tree, source = read(function)
    parameters = annotated(function, tree, source)
    default = f64 if any(is_float(t) and t != f32 for t in _elements(parameters)) else f32
    statements = Statements(source, default, _inline)
    symbols = _symbols(parameters)
    clash = [name for name in symbols if name in dict(parameters)]
    if clash:
        raise source.error(tree, f"'{clash[0]}' is both a parameter and a size: rename one")
    order = {name: k for k, name in enumerate(symbols)}
    arguments: list[tuple[str, Attribute]] = []
    shapes: list[tuple[int, list[AffineExpr], list[AffineExpr] | None]] = []
    for name, type in parameters:
        if isinstance(type, ElementType):
            arguments.append((name, type.type))
            continue
        strides = _strides(name, type)
        sizes = [_expr(size, order) for size in type.sizes]
        if strides is not None or any(size.symbol is not None for size in type.sizes):
            shapes.append((len(arguments), sizes, None if strides is None else [_expr(s, order) for s in strides]))
        arguments.append((name, _memref(type, strides)))
    arguments += [(name, index) for name in symbols]
    kernel = KernelOp.build_kernel(tree.name, arguments, shapes)
    kernel.location = source.location(tree)  # pyright: ignore[reportAttributeAccessIssue]
    block = kernel.body.block
    values = {symbol: Index.of(a) for symbol, a in zip(symbols, kernel.index_arguments, strict=True)}
    statements.env.update(values)
    for argument, (name, type) in zip(block.args, parameters, strict=False):
        statements.env[name] = Scalar(argument) if isinstance(type, ElementType) else _array(argument, type, values)
    statements.loop_names = {*dict(parameters), *symbols}
    statements.block = block
    statements.run(tree.body)
    module = ModuleOp(Region(Block([kernel])))
    _check(kernel, source, check_bounds)
    return module


def read(function: Callable[..., Any]) -> tuple[ast.FunctionDef, Source]:
    """The syntax tree of a function and its source."""
    name = getattr(function, "__name__", "?")
    try:
        lines, first = inspect.getsourcelines(function)
        filename = inspect.getsourcefile(function) or "?"
    except (OSError, TypeError):
        raise KernelError(f"kernel '{name}' has no source to read: define it in a file") from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(dedented).body[0]
    except SyntaxError:
        raise KernelError(f"kernel '{name}' has no source of its own to read: define it by a def statement") from None
    variables = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    names = {} if variables is None else {**function.__globals__, **variables.nonlocals}
    source = Source(filename, first, indent, names)
    if not isinstance(tree, ast.FunctionDef):
        raise source.error(tree, "a kernel is a function defined by def")
    return tree, source


def annotated(function: Callable[..., Any], tree: ast.FunctionDef, source: Source) -> list[tuple[str, ArrayType | ElementType]]:
    """Names and types of the parameters."""
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise source.error(tree, "the parameters of a kernel are plain: no *, no **, no defaults")
    found: list[tuple[str, ArrayType | ElementType]] = []
    for argument in (*arguments.posonlyargs, *arguments.args):
        annotation = function.__annotations__.get(argument.arg)
        if isinstance(annotation, str):  # from __future__ import annotations
            annotation = _evaluate(annotation, argument, source)
        if not isinstance(annotation, ArrayType | ElementType):
            raise source.error(
                argument, f"parameter '{argument.arg}' needs a type: lm.f32['M', 'N'] for an array, lm.f32 for a number"
            )
        found.append((argument.arg, annotation))
    return found


def _evaluate(text: str, node: ast.AST, source: Source) -> Any:
    """An annotation that is kept as text: names, attributes, subscripts and calls of `strided`, nothing else is run."""

    def value(tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name) and tree.id in source.names:
            return source.names[tree.id]
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.Attribute):
            return getattr(value(tree.value), tree.attr)
        if isinstance(tree, ast.Tuple):
            return tuple(value(e) for e in tree.elts)
        if isinstance(tree, ast.Subscript):
            element = value(tree.value)
            if isinstance(element, ElementType):
                return element[value(tree.slice)]
        if isinstance(tree, ast.Call) and not tree.keywords:
            method = value(tree.func)
            if getattr(method, "__func__", None) is ArrayType.strided:
                return method(*[value(a) for a in tree.args])
        raise ValueError(text)

    try:
        return value(ast.parse(text, mode="eval").body)
    except (ValueError, AttributeError, SyntaxError) as error:
        raise source.error(node, f"cannot read the annotation {text}: {error}") from None


def _elements(parameters: list[tuple[str, ArrayType | ElementType]]) -> list[Attribute]:
    return [(t.element if isinstance(t, ArrayType) else t).type for _, t in parameters]


def _strides(name: str, type: ArrayType) -> list[Size] | None:
    """The strides, unknown ones under a name of their own."""
    if type.strides is None:
        return None
    return [Size(f"{name}_s{'abcdefgh'[k]}") if stride is None else stride for k, stride in enumerate(type.strides)]


def _symbols(parameters: list[tuple[str, ArrayType | ElementType]]) -> list[str]:
    """Sizes and strides by name, in the order of the parameters."""
    found: dict[str, None] = {}
    for name, type in parameters:
        if isinstance(type, ArrayType):
            found.update((s.symbol, None) for s in (*type.sizes, *(_strides(name, type) or ())) if s.symbol is not None)
    return list(found)


def _expr(size: Size, order: dict[str, int]) -> AffineExpr:
    if size.symbol is None:
        return AffineConstantExpr(size.constant)
    dim = AffineDimExpr(order[size.symbol])
    return dim + size.constant if size.constant else dim


def _memref(type: ArrayType, strides: list[Size] | None) -> MemRefType:
    shape = [DYNAMIC if size.symbol is not None else size.constant for size in type.sizes]
    if strides is None:
        return memref(type.element.type, shape)
    layout = StridedLayoutAttr([None if s.symbol is not None else s.constant for s in strides])
    return MemRefType(type.element.type, shape, layout if strides else NoneAttr())


def _array(buffer: SSAValue, type: ArrayType, symbols: dict[str, Index]) -> Array:
    sizes: list[Index] = []
    for size in type.sizes:
        if size.symbol is None:
            sizes.append(Index(AffineConstantExpr(size.constant), ()))
        else:
            base = symbols[size.symbol]
            sizes.append(Index(base.expr + size.constant if size.constant else base.expr, base.dims))
    return Array(buffer, tuple(sizes))


def _inline(caller: Statements, node: ast.Call, kernel: Any) -> None:
    """The statements of another kernel in place of a call of it."""
    function = kernel.__kernel__.function
    tree, source = read(function)
    parameters = annotated(function, tree, source)
    if node.keywords or len(node.args) != len(parameters):
        caller.refuse(node, f"kernel '{tree.name}' takes {len(parameters)} positional arguments, got {len(node.args)}")
    inner = Statements(source, caller.default_float, _inline)
    inner.block, inner.loop_names = caller.block, caller.loop_names
    depth = getattr(caller, "depth", 0) + 1
    if depth > 16:
        caller.refuse(node, f"kernel '{tree.name}' calls itself")
    inner.depth = depth  # pyright: ignore[reportAttributeAccessIssue]
    sizes: dict[str, Index] = {}
    for arg, (name, type) in zip(node.args, parameters, strict=True):
        if isinstance(type, ElementType):
            value: Value = caller.value(arg)
            inner.env[name] = Scalar(caller.math(arg).scalar(value, type.type)) if not isinstance(value, Number) else value
            continue
        array = caller.array(arg)
        if array is None:
            caller.refuse(arg, f"parameter '{name}' of kernel '{tree.name}' takes an array of this kernel")
        if array.element != type.element.type or len(array.sizes) != len(type.sizes):
            caller.refuse(
                arg, f"parameter '{name}' of kernel '{tree.name}' takes {len(type.sizes)} dims of {type.element.name}"
            )
        for size, given in zip(type.sizes, array.sizes, strict=True):
            if size.symbol is not None and size.symbol not in sizes:
                spelled = caller.math(arg).binary("-", given, Number(size.constant))
                assert isinstance(spelled, Index)
                sizes[size.symbol] = spelled
        inner.env[name] = array
    inner.env.update({symbol: size for symbol, size in sizes.items() if symbol not in inner.env})
    inner.run(tree.body)


def _check(kernel: KernelOp, source: Source, check_bounds: bool) -> None:
    """Refuse what is certainly wrong: accesses out of bounds, iterations of parallel loops that are not independent."""
    found = findings(kernel)
    for finding in found:
        if finding.certain:
            raise _at(finding.access.op, source, str(finding))
    for loop in [op for op in kernel.walk() if isinstance(op, ForOp) and op.kind.data == "parallel"]:
        try:
            conflict = carried_conflict(loop)
        except CannotDecide as reason:
            raise _at(
                loop, source, f"cannot decide whether the iterations of a parallel loop are independent: {reason}; use range"
            ) from None
        if conflict is not None:
            raise _at(loop, source, f"the iterations of a parallel loop depend on each other: {conflict}")
    if check_bounds:
        insert_checks(kernel, found)


def _at(op: Any, source: Source, message: str) -> KernelError:
    node = ast.Pass()
    node.lineno = op.location.line.data - source.first_line + 1
    node.col_offset = op.location.column.data - 1 - source.indent
    return source.error(node, message)
