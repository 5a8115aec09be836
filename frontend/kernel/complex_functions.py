"""Functions of complex numbers in kernels: by operators on their parts, or by functions in the language of kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.types import f64, is_float
from . import complexes, prelude_complex
from .arithmetic import OPERATORS_OF_NUMPY
from .values import Array, Complex, Items, Number, Scalar, default, meet

_TAKE_BOTH = {complex, np.real, np.imag, np.conjugate, np.where, np.iscomplexobj, *prelude_complex.FUNCTIONS}
"""Functions of real and of complex numbers, beside the ufuncs of NumPy."""


def called(reader: Any, node: ast.Call, function: Any) -> Any:
    """The value of a function of complex numbers; None if the operands are real: then they are kept for who reads them next.

    Args:
        reader: the statements of the kernel.
    """
    if not (function in _TAKE_BOTH or isinstance(function, np.ufunc)) or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    args, name = [reader.thing(arg) for arg in node.args], getattr(function, "__name__", "")
    has_complex = any(isinstance(arg, Complex) for arg in args)
    if function is np.iscomplexobj and len(args) == 1:
        return Number(has_complex)
    if function is complex and not has_complex and 1 <= len(args) <= 2:
        return Complex((*args, Number(0.0))[:2])
    if not has_complex:
        reader.kept.update({arg: (reader.block, value) for arg, value in zip(node.args, args, strict=True)})
        return None
    if any(isinstance(arg, Array) or type(arg) is Items for arg in args):
        reader.refuse(node, f"'{ast.unparse(node.func)}' takes numbers in kernels: write a loop")
    found = None
    if function is np.where and len(args) == 3:
        parts = zip(*(Complex.of(arg).items for arg in args[1:]), strict=True)
        found = Complex(tuple(reader.math(node).chosen(args[0], *pair) for pair in parts))
    elif len(args) == 2:
        found = _of_two(reader, node, name, *args)
    elif len(args) == 1:
        found = _of_one(reader, node, function, args[0])
    if found is None:
        reader.refuse(node, f"'{ast.unparse(node.func)}' takes no complex numbers in kernels: use their .real and .imag")
    return found


def _of_one(reader: Any, node: ast.Call, function: Any, x: Complex) -> Any:
    b = reader.math(node)
    if function in (complex, np.positive):
        return x
    if function in (np.real, np.imag):
        return x.items[function is np.imag]
    if function is np.conjugate:
        return complexes.conjugate(b, x)
    if function is np.negative:
        return complexes.negate(b, x)
    if function is np.square:
        return complexes.binary(b, "*", x, x)
    row = prelude_complex.FUNCTIONS.get(function)
    return None if row is None else _of_parts(reader, node, row, x)


def _of_two(reader: Any, node: ast.Call, name: str, x: Any, y: Any) -> Any:
    """An operator by its name in NumPy."""
    if name == "power":
        return power(reader, node, x, y)
    sign = OPERATORS_OF_NUMPY.get(name)
    if sign in ("eq", "ne"):
        same = complexes.equal(reader.math(node), x, y)
        return same if sign == "eq" else reader.opposite(node, same)
    return None if sign is None else complexes.binary(reader.math(node), sign, x, y)


def power(reader: Any, node: ast.AST, x: Any, y: Any) -> Any:
    """`x ** y` where one is complex: repeated products for small numbers, as in NumPy."""
    if complexes.takes(y):
        return complexes.binary(reader.math(node), "**", x, y)
    return _of_parts(reader, node, prelude_complex.power, Complex.of(x), Complex.of(y))


def _of_parts(reader: Any, node: Any, function: Callable[..., Any], *args: Complex) -> Any:
    """A function of the parts of complex numbers, in f64; a pair that it returns is a complex number."""
    b, parts = reader.math(node), [part for arg in args for part in arg.items]
    call = node if isinstance(node, ast.Call) else ast.copy_location(ast.Call(node, [], []), node)
    found = reader.inlined(call, function, [Scalar(b.scalar(part, f64)) for part in parts])
    kind = meet(*parts)
    found = reader.narrowed(node, found, kind if is_float(default(kind)) else f64)
    return Complex(found.items) if isinstance(found, Items) else found
