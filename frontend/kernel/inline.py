"""Calls of other kernels and of plain functions, whose statements are inlined."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.types import i64, is_float
from .annotations import ArrayType, ScalarType
from .jumps import ends, result_names, results_of, without_jumps
from .liveness import live_after_loops
from .parameters import annotated, parameters_of
from .source import Source, assigned, read
from .statements import Statements
from .values import UNSET, Array, Index, Items, Mismatch, Number, Scalar, Value, default, kind_of, variable_of

_DEEPEST = 16


def inline(caller: Statements, node: ast.Call, function: Any, args: Sequence[Any] | None = None) -> Any:
    """Read the statements of a kernel or function in place of a call of it; what it returns, or None.

    Args:
        function: a kernel, a function of Python, or the syntax tree of one that is defined inside of the caller.
        args: what the positional arguments mean, if they have been read.
    """
    if caller.depth >= _DEEPEST:
        name = ast.unparse(node.func)
        caller.refuse(node, f"'{name}' calls itself, or calls are more than {_DEEPEST} deep: write a loop")
    if isinstance(function, ast.FunctionDef | ast.Lambda):
        return _inline_inner(caller, node, function)
    is_kernel = hasattr(function, "__kernel__")
    function = function.__kernel__.function if is_kernel else function
    what = f"{'kernel' if is_kernel else 'function'} '{function.__name__}'"
    body, source, tree = _body(caller, function)
    given = _given(caller, node, inspect.signature(function), what, args)
    types = annotated(function, tree, source, everything=is_kernel)
    inner = Statements(source, assigned(body)[0], inline, caller.loop_names, caller.depth + 1)
    sizes: dict[str, Index] = {}
    for parameter, (arg, value) in given.items():
        type, which = types.get(parameter), f"parameter '{parameter}' of {what}"
        if isinstance(type, ScalarType):
            value = _scalar(caller, arg, value, type, which)
        elif isinstance(type, ArrayType):
            if not isinstance(value, Array):
                caller.refuse(arg, f"{which} takes an array of this kernel: a parameter, a local array or a view")
            if value.element != type.element.type or len(value.sizes) != len(type.sizes):
                caller.refuse(arg, f"{which} takes {type}, not '{value.name}': pass an array of that type, or a view")
            _unify(caller, arg, type, value, sizes, which)
        inner.hold(parameter, value)
    if is_kernel:
        parameters = parameters_of(function, tree, source)
        for symbol in parameters.symbols:
            if symbol in sizes:
                inner.env[symbol] = sizes[symbol]
            else:
                inner.lost[symbol] = "is a stride: it has no value where the kernel is called by another one"
        inner.checks = caller.checks
        with inner.within(caller.block):
            inner.relate(node, parameters)
    return _run(caller, node, inner, tree.body, body, what)


def _run(
    caller: Statements, node: ast.Call, inner: Statements, written: list[ast.stmt], body: list[ast.stmt], what: str
) -> Any:
    """Read a body in place of a call; what it returns."""
    found = results_of(written)
    needed = [] if found is None else result_names(found)
    inner.live = live_after_loops(body, needed)
    for shared in ("entry", "tables", "known", "read", "checks", "made"):
        setattr(inner, shared, getattr(caller, shared))
    for variable in needed:
        inner.env[variable] = UNSET
    with inner.within(caller.block):
        inner.run(body)
        if not needed:
            return None
        if not ends(written):
            caller.refuse(node, f"{what} may end without a return: return a value on every way")
        results = [inner.unpacked(node, variable, inner.env.get(variable)) for variable in needed]
        return Items(tuple(results)) if found else results[0]


def _inline_inner(caller: Statements, node: ast.Call, function: ast.FunctionDef | ast.Lambda) -> Any:
    """A call of a function that is defined inside: it sees the variables of the caller."""
    if isinstance(function, ast.Lambda):
        written: list[ast.stmt] = [ast.copy_location(ast.Return(function.body), function)]
    else:
        written = function.body
    if function not in caller.read:
        caller.read[function] = without_jumps(written), caller.source, None
    body = caller.read[function][0]
    names = function.args
    plain = [*names.posonlyargs, *names.args]
    defaults = dict(zip([a.arg for a in plain[len(plain) - len(names.defaults) :]], names.defaults, strict=True))
    parameters = [inspect.Parameter(a.arg, _ANY, default=defaults.get(a.arg, _EMPTY)) for a in plain]
    if names.vararg or names.kwarg or names.kwonlyargs:
        caller.refuse(function, "the parameters of a function inside are plain: no * and no **")
    inner = Statements(caller.source, assigned(body)[0] | {a.arg for a in plain}, inline, caller.loop_names, caller.depth + 1)
    inner.env = {name: value for name, value in caller.env.items() if variable_of(name) not in inner.own}
    inner.lost = {name: reason for name, reason in caller.lost.items() if name not in inner.own}
    inner.closures = dict(caller.closures)
    for parameter, (_, value) in _given(caller, node, inspect.Signature(parameters), f"'{ast.unparse(node.func)}'").items():
        inner.hold(parameter, value)
    return _run(caller, node, inner, written, body, f"'{ast.unparse(node.func)}'")


_ANY, _EMPTY = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty


def _body(caller: Statements, function: Callable[..., Any]) -> tuple[list[ast.stmt], Source, ast.FunctionDef]:
    """The statements of a function, read once for all its calls."""
    if function not in caller.read:
        tree, source = read(function)
        caller.read[function] = without_jumps(tree.body), source, tree
    return caller.read[function]


def _given(
    caller: Statements, node: ast.Call, signature: inspect.Signature, what: str, known: Sequence[Any] | None = None
) -> dict[str, tuple[ast.expr, Any]]:
    """The argument for each parameter, where it is written and what it means."""
    args: list[tuple[ast.expr, Any]] = [(node, value) for value in known or ()]
    for arg in node.args if known is None else ():
        if isinstance(arg, ast.Starred):
            args += [(arg, item) for item in caller.items(arg)]
        else:
            args.append((arg, caller.thing(arg)))
    if any(keyword.arg is None for keyword in node.keywords):
        caller.refuse(node, "kernels have no ** arguments: write them out")
    named = {keyword.arg: (keyword.value, caller.thing(keyword.value)) for keyword in node.keywords if keyword.arg is not None}
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        caller.refuse(node, f"{what} takes {len(signature.parameters)} arguments, {', '.join(signature.parameters)}: {error}")
    found: dict[str, tuple[ast.expr, Any]] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            caller.refuse(node, f"{what} has **{name}: name its parameters")
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = bound.arguments.get(name, ())
            found[name] = node, Items(tuple(item for _, item in rest))
        elif name in bound.arguments:
            found[name] = bound.arguments[name]
        else:
            value = parameter.default
            if isinstance(value, ast.expr):
                found[name] = value, caller.thing(value)
                continue
            found[name] = node, caller.constants(node, value) if isinstance(value, tuple) else caller.number(node, value)
    return found


def _scalar(caller: Statements, arg: ast.expr, value: Any, type: ScalarType, what: str) -> Value:
    """The value of an argument: index expressions and integers are unchanged, so that subscripts stay affine."""
    if isinstance(value, Array | Items):
        caller.refuse(arg, f"{what} takes a number, not '{ast.unparse(arg)}'")
    if is_float(default(kind_of(value))) and not is_float(type.type):
        caller.refuse(arg, f"{what} takes an integer, got a float: write int(...)")
    if type.type == i64 and (isinstance(value, Index) or (isinstance(value, Number) and isinstance(value.value, int))):
        return value
    try:
        return Scalar(caller.math(arg).scalar(value, type.type))
    except Mismatch as mismatch:
        caller.refuse(arg, f"{what}: {mismatch}")


def _unify(caller: Statements, arg: ast.expr, type: ArrayType, array: Array, sizes: dict[str, Index], what: str) -> None:
    """Bind the symbols of an array's sizes; numbers and bound symbols must be equal for all sizes."""
    for k, (size, given) in enumerate(zip(type.sizes, array.sizes, strict=True)):
        b = caller.math(arg)
        rest = b.binary("-", given, Number(size.constant))
        assert isinstance(rest, Index)
        if size.symbol is not None and size.symbol not in sizes:
            sizes[size.symbol] = rest
            continue
        wanted = Index.number(0) if size.symbol is None else sizes[size.symbol]
        difference = b.binary("-", rest, wanted)
        if not isinstance(difference, Index) or difference.constant != 0:
            caller.refuse(arg, f"{what} takes {type}: it cannot be proved that dim {k} of '{array.name}' has size {size}")
