"""The calls that a kernel may make: conversions, `min max abs round len`, and functions of math and NumPy."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...dialects.functions import FUNCTIONS
from ...dialects.types import element_type, f32, f64, i1, i64, is_bool, is_float
from ...errors import KernelError
from . import borders, complex_functions, complexes, philox, prelude, prelude_complex, prelude_facts, saturating
from .annotations import COMPLEX, ELEMENTS, ScalarType, empty, zeros
from .arithmetic import OPERATORS_OF_NUMPY, Arithmetic
from .array_functions import REDUCTIONS, reduction_of
from .expressions import Expressions
from .rounding import is_rounded
from .source import MISSING
from .values import (
    Array,
    Choice,
    Complex,
    Extreme,
    Index,
    Items,
    Kind,
    Mismatch,
    Number,
    Scalar,
    Value,
    choice,
    default,
    held,
    kind_of,
    known,
    meet,
    spell,
)

KERNEL_FUNCTIONS = {name: row for name, row in FUNCTIONS.items() if not row.is_internal}
"""Functions of floats, by the names of the scalar builder."""

_SYNONYMS = {
    **{row.in_numpy: name for name, row in KERNEL_FUNCTIONS.items() if row.in_numpy},
    "absolute": "abs", "maximum": "max", "minimum": "min", "power": "pow", "remainder": "mod", "round_": "round",
}  # fmt: skip
_MATHS_OWN = {math.pow: "float_power", math.remainder: "nearest_remainder"}
"""Functions of math whose names mean something else in NumPy."""
_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
_UNARY = ("positive", "conjugate", "negative", "logical_not", "invert", "reciprocal")
_TEXTS = f"{__name__.rpartition('.frontend.')[0]}.kernels."
"""Modules of the package with functions in the language of kernels."""
_IN_LANGUAGE = (borders.__name__, prelude.__name__, prelude_complex.__name__, prelude_facts.__name__, philox.__name__)
"""Modules of this folder with functions in the language of kernels."""
_MODULES = ("math", "cmath", "numpy", "lamina", "builtins")
_PYTHONS_OWN = ("math", "builtins")
"""Whether floor, ceil and round return integers."""


def canonical(function: Any) -> tuple[str | None, bool]:
    """The name here of a function of math or NumPy, and whether it is Python's own; None for other functions."""
    name = getattr(function, "__name__", None)
    module = getattr(function, "__module__", None) or type(function).__module__
    if not isinstance(name, str) or module.split(".")[0] not in _MODULES:
        return None, False
    if name in ("min", "max") and module != "builtins":
        return None, False  # NumPy's reduce arrays
    name = _MATHS_OWN.get(function, name)
    return _SYNONYMS.get(name, name), module in _PYTHONS_OWN


def _takes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether a function can be called so."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def is_helper(function: Any) -> bool:
    """Whether an object is a kernel or a function in Python whose statements can stand in place of a call."""
    if hasattr(function, "__kernel__"):
        return True
    if not isinstance(function, FunctionType) or function in (*prelude.INTRINSICS, borders.pad_read):
        return False
    module = function.__module__
    return module.partition(".")[0] not in _MODULES or module in _IN_LANGUAGE or module.startswith(_TEXTS)


class Calls(Expressions):
    """Turns calls into values."""

    def inlined(self, node: ast.Call, function: Any, args: Sequence[Any] | None = None) -> Any:
        """What a kernel or function returns whose statements stand here in place of the call, or None; `args` are the
        positional arguments, if they are known already."""
        raise NotImplementedError

    closures: dict[str, ast.FunctionDef | ast.Lambda]

    def helper(self, node: ast.expr) -> Any:
        """The function whose statements stand in place of its calls: of the module or defined inside; None for others."""
        if isinstance(node, ast.Name) and node.id in self.closures:
            return self.closures[node.id]
        if isinstance(node, ast.Lambda):
            return node
        function = self.resolve(node)
        return function if is_helper(function) else None

    def called(self, node: ast.Call) -> Any:
        if (function := self.helper(node.func)) is not None:
            found = self.inlined(node, function)
            if found is None:
                self.refuse(node, f"'{ast.unparse(node.func)}' returns nothing: call it in a statement of its own")
            return found
        function: Any = self.resolve(node.func)
        is_known = callable(function) and isinstance(function, Hashable)
        if is_known and not node.keywords and (found := complex_functions.called(self, node, function)) is not None:
            return found
        if (found := reduction_of(self, node, function)) is not None:
            return found
        if is_known and (found := saturating.called(self, node, function)) is not None:
            return found
        if function in (np.round, np.around) and len(node.args) == 2 and not node.keywords:
            return self.at_decimals(node)
        if is_known and (row := prelude.ROWS.get(function)) is not None:
            return self.by_prelude(node, function, row)
        if function is math.log and len(node.args) == 2:
            return self.by_prelude(node, function, prelude.Row(prelude.log_to_base))
        if is_known and (types := prelude.INTRINSICS.get(function)) is not None:
            source, to = (next(e.type for e in ELEMENTS if e.name == name) for name in types)
            return Scalar(self.math(node).builder.bitcast(self.math(node).scalar(self.value(node.args[0]), source), to))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "conjugate" and not node.args and function is MISSING:
            return complexes.conjugate(self.math(node), Complex.of(self.number_of(node.func.value)))
        if function in (divmod, np.divmod) and len(node.args) == 2 and not node.keywords:
            x, y, b = self.value(node.args[0]), self.value(node.args[1]), self.math(node)
            return Items((b.binary("//", x, y), b.binary("%", x, y)))
        return None

    def complex_power(self, node: ast.AST, x: Any, y: Any) -> Any:
        return complex_functions.power(self, node, x, y)

    def at_decimals(self, node: ast.Call) -> Any:
        """`np.round(x, n)` of a known `n`, by NumPy's formula."""
        decimals = self.value(node.args[1])
        if not isinstance(decimals, Number) or not isinstance(decimals.value, int) or not 0 <= decimals.value <= 22:
            self.refuse(node, "decimals are a known number from 0 to 22: multiply, round and divide")
        x = self.value(node.args[0])
        if not is_float(default(kind_of(x))):
            return x
        scale = held(self.math(node).scalar(Number(10.0**decimals.value), default(kind_of(x))), kind_of(x))
        return self.inlined(node, prelude.at_decimals, [x, scale])

    def by_prelude(self, node: ast.Call, function: Callable[..., Any], row: prelude.Row) -> Any:
        """The value of a function that is written in the language of kernels; of numbers that are known, its own."""
        args = [item for arg in node.args for item in self.items(arg)]
        if args and not node.keywords and all(isinstance(arg, Number) and arg.type is None for arg in args):
            try:
                with np.errstate(all="ignore"):
                    found: Any = function(*(arg.value for arg in args if isinstance(arg, Number)))
            except (ValueError, OverflowError, TypeError) as error:
                raise Mismatch(str(error)) from None
            if isinstance(found, bool | int | float | np.generic):
                return self.number(node, found.item() if isinstance(found, np.generic) else found)
        scalars = [arg for arg in args if not isinstance(arg, Array | Items)]
        if not row.is_of_floats or len(scalars) != len(args) or not args:
            try:
                return self.inlined(node, row.function, args)
            except KernelError as error:
                if error.place is None or error.place[0] != prelude.__file__:
                    raise
                rule = f"'{ast.unparse(node.func)}' does not take these arguments in kernels"
                self.refuse(node, f"{rule}: numbers and arrays of numbers as Python's function takes them, or write a loop")
        kind = meet(*scalars)
        kind = kind if is_float(default(kind)) else "float" if isinstance(kind, str) else f64
        if row.narrow is not None and is_rounded(default(kind)):
            self.refuse(node, f"'{ast.unparse(node.func)}' depends on the type, and takes no {spell(kind)}: write lm.f32(...)")
        b, is_narrow = self.math(node), row.narrow is not None and default(kind) == f32
        called, type = (row.narrow, f32) if is_narrow and row.narrow is not None else (row.function, f64)
        return self.narrowed(node, self.inlined(node, called, [Scalar(b.scalar(arg, type)) for arg in scalars]), kind)

    def narrowed(self, node: ast.AST, found: Any, kind: Kind) -> Any:
        """Floats of a result in the type of the operands."""
        if isinstance(found, Items):
            return Items(tuple(self.narrowed(node, item, kind) for item in found.items))
        if is_float(default(kind_of(found))):
            return held(self.math(node).scalar(found, default(kind)), kind)
        return found

    def on_Call(self, node: ast.Call) -> Any:
        if (found := self.called(node)) is not None:
            return found
        function, what = self.resolve(node.func), ast.unparse(node.func)
        if function is borders.pad_read:
            return borders.read(self, node)
        if node.keywords:
            self.refuse(node, f"'{what}' takes positional arguments in kernels: leave keywords out, write loops over an axis")
        if function is len:
            given = self.seen(node.args[0]) if len(node.args) == 1 else None
            if isinstance(given, Items):
                return Number(len(given.items))
            if given is None or not given.sizes:
                self.refuse(node, "len() takes an array or a tuple of this kernel: numbers have no length")
            return given.sizes[0]
        if function in (int, float, bool) or isinstance(function, ScalarType):
            return self.conversion(node, function)
        if isinstance(function, type) and issubclass(function, np.generic):
            for element in ELEMENTS:
                if element.dtype == np.dtype(function):
                    return self.conversion(node, element)
        if function in (
            zeros,
            empty,
            np.zeros,
            np.empty,
            np.ones,
            np.full,
            np.array,
            np.zeros_like,
            np.empty_like,
            np.ones_like,
        ):
            self.refuse(node, f"a local array gets a name: t = {what}(...)")
        found = self.function(node, function) if callable(function) else None
        if found is None:
            found = self.operator_of(node, function)
        if found is None:
            self.refuse(node, self.unknown(node, function))
        return found

    def operator_of(self, node: ast.Call, function: Any) -> Value | None:
        """The value of a function of NumPy that is an operator."""
        name = getattr(function, "__name__", "") if isinstance(function, np.ufunc) else ""
        if name not in OPERATORS_OF_NUMPY or len(node.args) != (1 if name in _UNARY else 2):
            return None
        args, sign = [self.value(arg) for arg in node.args], OPERATORS_OF_NUMPY[name]
        b = self.math(node)
        if name in _UNARY:
            (x,) = args
            if sign == "+":
                return x
            if sign == "-":
                return b.negate(x)
            if sign == "not":
                return Number(not x.value) if isinstance(x, Number) else Scalar(b.builder.invert(b.truth(x)))
            if sign == "~":
                if is_float(default(kind_of(x))):
                    raise Mismatch("~ needs an integer: convert with lm.i64(...)")
                return Number(~int(x.value)) if isinstance(x, Number) else held(b.builder.invert(b.scalar(x)), kind_of(x))
            return b.binary("/" if is_float(default(kind_of(x))) else "//", Number(1), x)
        x, y = args
        if sign in ("and", "or", "xor"):
            return Scalar(b.builder.binary(sign, b.truth(x), b.truth(y)))
        return b.compare(sign, x, y) if sign in _PREDICATES else b.binary(sign, x, y)

    def fn_bitwise_count(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        """How many bits of the magnitude are set."""
        ssa = b.builder.abs(b.scalar(x))
        return Scalar(b.builder.convert(b.builder.count("popcount", ssa), element_type(np.dtype(np.uint8))))

    def unknown(self, node: ast.Call, function: Any) -> str:
        """The message for a call of any other function."""
        what = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and self.array(node.func.value) is not None:
            names = ", ".join(sorted(REDUCTIONS))
            return f"arrays have no methods in kernels but {names}, so no '{what}': write loops"
        if function is print:
            return "print(...) has no value: it is a statement of its own"
        if function is MISSING:
            return f"unknown function '{what}': kernels call functions that are defined before them"
        there = "functions of math and NumPy of numbers, sums and extremes of arrays, and functions written in Python"
        return f"'{what}' is no function that kernels can call; there are {there}: write it as loops, or call it outside"

    def function(self, node: ast.Call, function: Any) -> Value | None:
        """The value of a function of math or NumPy, or None if there is none of that name."""
        name, python = canonical(function)
        maker: Callable[..., Value] | None = getattr(self, f"fn_{name}", None)
        if name is None or (maker is None and name not in KERNEL_FUNCTIONS):
            return None
        given = [item for arg in node.args for item in self.items(arg)]
        if name in ("min", "max") and len(given) == 1 and isinstance(given[0], Items):
            given = list(given[0].items)
        for arg in given:
            if isinstance(arg, Array | Items):
                self.refuse(node, f"'{ast.unparse(node.func)}' takes numbers in kernels: write a loop")
        args: list[Value] = given  # pyright: ignore[reportAssignmentType]
        b = self.math(node)
        if name == "pow" and len(args) == 2 and self.is_open_power(*args):
            return self.integer_power(node, *args)
        if not (len(args) == KERNEL_FUNCTIONS[name].arity if maker is None else _takes(maker, b, *args, python=python)):
            self.refuse(
                node,
                f"'{ast.unparse(node.func)}' does not take {len(args)} arguments in kernels: see Python's function",
            )
        return self.of_floats(b, name, *args, python=python) if maker is None else maker(b, *args, python=python)

    # -- functions by name; `python`: they are Python's own, not NumPy's

    def of_floats(self, b: Arithmetic, name: str, x: Value, *others: Value, python: bool = False) -> Value:
        """A function of floats; integers become f64. Of a known number, NumPy's infinities and NaN where math raises."""
        if others:
            return self.as_float(b, x, lambda *xs: b.builder.binary(name, *xs), *others)
        if isinstance(x, Number) and not python and hasattr(np, name):
            with np.errstate(all="ignore"):
                return known(lambda y: float(getattr(np, name)(float(y))), x)
        if isinstance(x, Number) and hasattr(math, name):
            return known(getattr(math, name), x)
        return self.as_float(b, x, lambda y: b.builder.unary(name, y))

    def as_float(self, b: Arithmetic, x: Value, make: Callable[..., Any], *others: Value) -> Value:
        """The result of `make` for the values as floats of one type."""
        kind = meet(x, *others)
        if not is_float(default(kind)):
            kind = f64 if not isinstance(kind, str) else "float"
        return held(make(*(b.scalar(v, default(kind)) for v in (x, *others))), kind)

    def whole(self, b: Arithmetic, x: Value, name: str) -> Value:
        """A float rounded to an integer, as Python's functions return it; integers stay."""
        if isinstance(x, Number | Choice):
            return known({"floor": math.floor, "ceil": math.ceil, "rint": round}[name], x)
        if isinstance(x, Index | Extreme):
            return x
        ssa = b.scalar(x)
        return held(b.builder.convert(b.builder.unary(name, ssa) if is_float(ssa.type) else ssa, i64), "whole")

    def rounded(self, b: Arithmetic, name: str, x: Value) -> Value:
        """A float rounded to a whole number, as NumPy's functions return it; integers stay, as in NumPy."""
        return self.of_floats(b, name, x) if is_float(default(kind_of(x))) else x

    def fn_floor(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return self.whole(b, x, "floor") if python else self.rounded(b, "floor", x)

    def fn_ceil(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return self.whole(b, x, "ceil") if python else self.rounded(b, "ceil", x)

    def fn_round(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return self.whole(b, x, "rint") if python else self.rounded(b, "rint", x)

    def fn_min(self, b: Arithmetic, x: Value, y: Value, *rest: Value, python: bool) -> Value:
        return self.extreme(b, "min", (x, y, *rest))

    def fn_max(self, b: Arithmetic, x: Value, y: Value, *rest: Value, python: bool) -> Value:
        return self.extreme(b, "max", (x, y, *rest))

    def extreme(self, b: Arithmetic, which: str, args: Sequence[Value]) -> Value:
        result = args[0]
        for other in args[1:]:
            result = b.extreme(which, result, other)
        return result

    def fn_pow(self, b: Arithmetic, x: Value, y: Value, *, python: bool) -> Value:
        return b.binary("**", x, y)

    def fn_float_power(self, b: Arithmetic, x: Value, y: Value, *, python: bool) -> Value:
        return self.as_float(b, x, lambda u, v: b.builder.binary("pow", u, v), y)

    def fn_mod(self, b: Arithmetic, x: Value, y: Value, *, python: bool) -> Value:
        return b.binary("%", x, y)

    def fn_fmod(self, b: Arithmetic, x: Value, y: Value, *, python: bool) -> Value:
        kind = meet(x, y)
        if not python and not is_float(default(kind)):  # NumPy's of integers are integers
            return held(b.builder.binary("rem", *(b.scalar(v, default(kind)) for v in (x, y))), kind)
        return self.as_float(b, x, lambda u, v: b.builder.binary("rem", u, v), y)

    def fn_nearest_remainder(self, b: Arithmetic, x: Value, y: Value, *, python: bool) -> Value:
        """`math.remainder`: what is left of `x` beside the nearest multiple of `y`, the even one of two, exactly."""

        def remainder(u: Any, v: Any) -> Any:
            c = b.builder
            size = c.abs(v)
            rest = c.binary("rem", c.abs(u), c.add(size, size))  # below twice the divisor
            once = c.sub(rest, size)
            twice = c.select(c.cmp("ge", c.add(once, once), size), c.sub(once, size), once)
            rest = c.select(c.cmp("gt", c.add(rest, rest), size), twice, rest)
            zero = c.const(0, u.type)
            is_zero = c.binary("and", c.cmp("eq", u, zero), c.cmp("eq", rest, zero))  # with the sign that it has
            return c.select(is_zero, u, c.select(c.cmp("lt", u, zero), c.neg(rest), rest))

        return self.as_float(b, x, remainder, y)

    def fn_fabs(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        """Of integers a float, in math and in NumPy."""
        return known(math.fabs, x) if isinstance(x, Number | Choice) else self.as_float(b, x, b.builder.abs)

    def fn_abs(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return known(abs, x) if isinstance(x, Number | Choice) else held(b.builder.abs(b.scalar(x)), kind_of(x))

    def fn_sign(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return held(b.builder.sign(b.scalar(x)), kind_of(x))

    def fn_square(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return b.binary("*", x, x)

    def fn_isnan(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return b.compare("ne", x, x)

    def fn_isinf(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return b.compare("eq", self.fn_abs(b, x, python=python), Number(math.inf))

    def fn_isfinite(self, b: Arithmetic, x: Value, *, python: bool) -> Value:
        return b.compare("lt", self.fn_abs(b, x, python=python), Number(math.inf))

    def fn_where(self, b: Arithmetic, condition: Value, x: Value, y: Value, *, python: bool) -> Value:
        """`np.where` of scalars: both values are computed."""
        test, kind = b.truth(condition), meet(x, y)
        if (chosen := choice(test, x, y)) is not None:
            return chosen
        return held(b.builder.select(test, b.scalar(x, default(kind)), b.scalar(y, default(kind))), kind)

    # -- conversions

    def conversion(self, node: ast.Call, to: Any) -> Any:
        """`int(x)`, `float(x)`, `bool(x)`, `lm.f32(x)`."""
        if len(node.args) != 1:
            self.refuse(node, f"a conversion takes one value, got {len(node.args)}")
        if to in COMPLEX:
            real = next(e for e in ELEMENTS if e.dtype == to.dtype.type(0).real.dtype).type
            return Complex(
                tuple(Scalar(self.math(node).scalar(p, real)) for p in Complex.of(self.number_of(node.args[0])).items)
            )
        value, b = self.value(node.args[0]), self.math(node)
        if isinstance(to, ScalarType):
            if isinstance(value, Number | Choice) and not is_float(to.type):
                value = known(bool if is_bool(to.type) else int, value)
            if isinstance(value, Index) and to.type == i64:
                return value
            return Scalar(b.scalar(value, to.type))
        if isinstance(value, Number | Choice):
            return known(to, value)
        if to is int:
            return value if isinstance(value, Index | Extreme) else held(b.scalar(value, i64), "whole")
        if to is float:
            return held(b.scalar(value, f64), "float")
        return value if is_bool(default(kind_of(value))) else Scalar(b.scalar(value, i1))
