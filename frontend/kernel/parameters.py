"""The parameters of a kernel: their annotations, and the arguments, sizes and strides that they become."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.types import DYNAMIC, computed_in, index, memref
from ...errors import KernelError
from .annotations import COMPLEX, ArrayType, LinearSize, RealPart, ScalarType, Size, bool_, f64, i64
from .source import MISSING, Source, assigned

if TYPE_CHECKING:
    from .arithmetic import Arithmetic
    from .values import Array, Index, Value

_RESERVED = "threads"
"""A keyword of every call."""


@dataclass(frozen=True)
class Parameters:
    """Names and types of the parameters, in order.

    Attributes:
        following: sizes that follow from others, each with the name that it has, and where it stands.
    """

    types: Mapping[str, ArrayType | ScalarType]
    following: Mapping[str, tuple[LinearSize, str]] = field(default_factory=dict)

    @cached_property
    def strides(self) -> dict[str, list[Size]]:
        """The strides of arrays that have any, unknown ones under a name of their own."""
        found: dict[str, list[Size]] = {}
        for name, type in self.types.items():
            if isinstance(type, ArrayType) and type.strides is not None:
                letters = "abcdefgh"
                found[name] = [Size(f"{name}_s{letters[k]}") if s is None else s for k, s in enumerate(type.strides)]
        return found

    @cached_property
    def symbols(self) -> list[str]:
        """Sizes and strides by name, in the order of the parameters."""
        found: dict[str, None] = {}
        for name, type in self.types.items():
            if isinstance(type, ArrayType):
                sizes = (*type.sizes, *self.strides.get(name, ()))
                found.update((size.symbol, None) for size in sizes if size.symbol is not None)
        return list(found)

    @property
    def arguments(self) -> list[tuple[str, Attribute]]:
        """The arguments of the kernel: the parameters, then the symbols."""
        parameters = [(name, self._type(name, type)) for name, type in self.types.items()]
        return parameters + [(symbol, index) for symbol in self.symbols]

    @property
    def shapes(self) -> Iterator[tuple[int, list[AffineExpr], list[AffineExpr] | None]]:
        """Number, sizes and strides of each array whose type leaves something open."""
        for k, (name, type) in enumerate(self.types.items()):
            if not isinstance(type, ArrayType):
                continue
            strides = self.strides.get(name)
            if strides is not None or any(size.symbol is not None for size in type.sizes):
                pair = [AffineConstantExpr(2)] if _is_complex(type) else []
                yield k, [*map(self._expr, type.sizes), *pair], None if strides is None else [*map(self._expr, strides)]

    def meanings(self, symbols: dict[str, Index], b: Arithmetic) -> Iterator[tuple[str, Index, Index, str]]:
        """Give the names in sizes that follow from others their values, and each such size: its own value, the one that it
        must have, and what to say if they differ.

        Raises:
            Mismatch: a name has no value.
        """
        from .values import Mismatch, Number

        def total(size: LinearSize, but: str | None) -> Index:
            result: Any = Number(size.constant)
            for name, c in size.terms:
                if name != but:
                    result = b.binary("+", result, b.binary("*", symbols[name], Number(c)))
            return b.affine(result)

        waiting = dict(self.following)
        while waiting:
            ready = [s for s, (size, _) in waiting.items() if sum(name not in symbols for name, _ in size.terms) <= 1]
            if not ready:
                size, where = next(iter(waiting.values()))
                raise Mismatch(f"{where} is {size}, and no array says what each of the names is: use one as a size of its own")
            size, where = waiting.pop(ready[0])
            for name, c in size.terms:
                if name not in symbols:
                    rest = b.binary("-", symbols[ready[0]], total(size, name))
                    symbols[name] = b.affine(
                        b.binary("//", rest, Number(c)) if c > 0 else b.binary("//", b.negate(rest), Number(-c))
                    )
            yield ready[0], symbols[ready[0]], total(size, None), f"{where} must be {size}"

    def values(self, arguments: list[SSAValue], b: Arithmetic) -> dict[str, Value | Array]:
        """The meaning of the names of parameters and symbols, given the arguments of the kernel.

        Args:
            b: writes the conversions of numbers that calls pass in a wider type.
        """
        from .values import Array, Index, Scalar

        found: dict[str, Value | Array] = {}
        symbols = {s: Index.of(a) for s, a in zip(self.symbols, arguments[len(self.types) :], strict=True)}
        for (name, type), argument in zip(self.types.items(), arguments, strict=False):
            if isinstance(type, ScalarType):
                found[name] = Scalar(b.builder.convert(argument, type.type))
            else:
                found[name] = Array(argument, tuple(_index(size, symbols) for size in type.sizes), is_complex=_is_complex(type))
        return {**found, **symbols}

    def without(self, same: Mapping[str, str]) -> Parameters:
        """The parameters but for those that are the arrays of others."""
        return replace(self, types={name: type for name, type in self.types.items() if name not in same}) if same else self

    def shared(self, same: Mapping[str, str], values: Mapping[str, Any], b: Arithmetic) -> dict[str, Value | Array]:
        """The meaning of parameters that are the arrays of others, and of the sizes that they alone have."""
        from .values import Number

        found: dict[str, Value | Array] = {}
        for name, other in same.items():
            found[name] = array = values[other]
            for size, given in zip(self.types[name].sizes, array.sizes, strict=True):  # pyright: ignore[reportAttributeAccessIssue]
                if size.symbol is not None and size.symbol not in values:
                    found[size.symbol] = b.affine(b.binary("-", given, Number(size.constant)))
        return found

    def _type(self, name: str, type: ArrayType | ScalarType) -> Attribute:
        if isinstance(type, ScalarType):
            return computed_in(type.type)  # no call passes a number of 16 bits
        shape = [DYNAMIC if size.symbol is not None else size.constant for size in type.sizes]
        if _is_complex(type):
            return memref(type.element.type.element_type, [*shape, 2])  # pyright: ignore[reportAttributeAccessIssue]
        if name not in self.strides:
            return memref(type.element.type, shape)
        layout = StridedLayoutAttr([None if s.symbol is not None else s.constant for s in self.strides[name]])
        return MemRefType(type.element.type, shape, layout)

    def _expr(self, size: Size) -> AffineExpr:
        if size.symbol is None:
            return AffineConstantExpr(size.constant)
        dim = AffineDimExpr(self.symbols.index(size.symbol))
        return dim + size.constant if size.constant else dim


def _is_complex(type: ArrayType | ScalarType) -> bool:
    return isinstance(type, ArrayType) and type.element in COMPLEX


def _index(size: Size, symbols: dict[str, Index]) -> Index:
    from .values import Index

    if size.symbol is None:
        return Index.number(size.constant)
    base = symbols[size.symbol]
    return Index(base.expr + size.constant if size.constant else base.expr, base.dims)


def parameters_of(function: Callable[..., Any], tree: ast.FunctionDef, source: Source) -> Parameters:
    """The parameters of a function; refuses names that a kernel cannot have."""
    arguments = tree.args
    for extra in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
        if extra is not None:
            raise source.error(extra, "the parameters of a kernel are plain: no * and no **")
    for value, node in zip(function.__defaults__ or (), arguments.defaults, strict=False):
        if not isinstance(value, int | float | np.number | np.bool_):
            raise source.error(node, f"the default of a parameter is a number, got {type(value).__name__}")
    types: dict[str, ArrayType | ScalarType] = {}
    nodes = {node.arg: node for node in (*arguments.posonlyargs, *arguments.args)}
    for name, node in nodes.items():
        types[name] = _annotation(function, node, source)
    for name, found in types.items():
        if found in COMPLEX:
            raise source.error(
                nodes[name], f"parameter '{name}' is a complex number: pass its parts, or an array of one element"
            )
        if isinstance(found, ArrayType) and _is_complex(found) and found.strides is not None:
            raise source.error(nodes[name], f"parameter '{name}' is an array of complex numbers: it has no strides")
    parameters = _named(types)
    for name in (*types, *parameters.symbols):
        node = nodes.get(name, tree)
        if not name.isascii() or re.fullmatch(r".*_\d+|_+", name):
            rule = "names of parameters and sizes are ASCII, with no '_' and digits at their end"
            raise source.error(node, f"'{name}' needs another name: {rule}")
        if name == _RESERVED:
            raise source.error(node, f"'{name}' is a keyword of every call: rename it")
    own = assigned(tree.body)[0]
    for symbol in parameters.symbols:
        if symbol in types:
            raise source.error(nodes[symbol], f"'{symbol}' is both a parameter and a size: rename one")
        if symbol in own:
            names = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == symbol)
            store = next(n for n in names if isinstance(n.ctx, ast.Store))
            raise source.error(store, f"'{symbol}' is a size: give the variable another name")
    return parameters


def _named(types: dict[str, ArrayType | ScalarType]) -> Parameters:
    """The parameters, with a name for each size that follows from others."""
    following: dict[str, tuple[LinearSize, str]] = {}
    plain: dict[str, ArrayType | ScalarType] = {}
    for name, type in types.items():
        if isinstance(type, ArrayType):
            sizes = list(type.sizes)
            for k, size in enumerate(sizes):
                if isinstance(size, LinearSize):
                    sizes[k] = Size(f"{name}_n{'abcdefgh'[k]}")
                    following[sizes[k].symbol] = size, f"the size of dim {k} of '{name}'"
            type = replace(type, sizes=tuple(sizes))
        plain[name] = type
    return Parameters(plain, following)


def annotated(
    function: Callable[..., Any], tree: ast.FunctionDef, source: Source, everything: bool
) -> Mapping[str, ArrayType | ScalarType]:
    """The types of parameters; `everything`: it is a kernel, whose parameters all have one."""
    if everything:
        return parameters_of(function, tree, source).types
    found: dict[str, ArrayType | ScalarType] = {}
    for node in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        if (type := _type_of(function, node, source)) is not None:
            found[node.arg] = type
    return found


def _type_of(function: Callable[..., Any], node: ast.arg, source: Source) -> ArrayType | ScalarType | None:
    """The type in the annotation of a helper; annotations may also be for type checkers."""
    try:
        found = function.__annotations__.get(node.arg)
        if isinstance(found, str):
            found = _evaluate(found, node, source)
    except KernelError:
        return None
    return found if isinstance(found, ArrayType | ScalarType) else None


_PYTHONS = {float: f64, int: i64, bool: bool_}


def _annotation(function: Callable[..., Any], node: ast.arg, source: Source) -> ArrayType | ScalarType:
    found: Any = function.__annotations__.get(node.arg)
    for _ in range(2):  # from __future__ import annotations, and quotes
        if isinstance(found, str):
            found = _evaluate(found, node, source)
    found = _PYTHONS.get(found, found) if isinstance(found, type) else found
    if not isinstance(found, ArrayType | ScalarType):
        shown = "" if node.annotation is None else f", not {ast.unparse(node.annotation)}"
        remedy = "lm.f32['M', 'N'] for an array, lm.f32 for a number"
        raise source.error(node, f"parameter '{node.arg}' needs a type: {remedy}{shown}")
    element = found.element if isinstance(found, ArrayType) else found
    if isinstance(element, RealPart):
        name = element.whole.name
        rule = f"no parameter says what {name} is, of which '{node.arg}' has the real parts"
        raise source.error(node, f"{rule}: give one the type {name}")
    return found


def _evaluate(text: str, node: ast.arg, source: Source) -> Any:
    """An annotation that is kept as text: names, attributes, subscripts and calls of `strided`, nothing else is run."""

    def value(tree: ast.expr) -> Any:
        if isinstance(tree, ast.Name):
            if (found := source.resolve(tree)) is MISSING:
                raise ValueError(f"there is no global '{tree.id}', nor does the body use one of a function around")
            return found
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.Attribute):
            return getattr(value(tree.value), tree.attr)
        if isinstance(tree, ast.Tuple):
            return tuple(value(e) for e in tree.elts)
        if isinstance(tree, ast.Subscript):
            element = value(tree.value)
            if isinstance(element, ScalarType):
                return element[value(tree.slice)]
        if isinstance(tree, ast.Call) and not tree.keywords:
            method = value(tree.func)
            if getattr(method, "__func__", None) is ArrayType.strided:
                return method(*[value(a) for a in tree.args])
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -value(tree.operand)
        raise ValueError(f"{ast.unparse(tree)} is no type of a parameter")

    try:
        return value(ast.parse(text, mode="eval").body)
    except (ValueError, AttributeError, SyntaxError, TypeError) as error:
        raise source.error(node, f"cannot read the annotation of '{node.arg}': {error}") from None
