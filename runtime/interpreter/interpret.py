"""The results of a function of a module, as the interpreter finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.known_sizes import bind_symbols, substitute_sizes
from ...dialects.types import has_symbols, shape_of
from .run import Interpreter, Perform


def interpret(
    module: ModuleOp,
    entry: str = "main",
    args: Sequence[Any] = (),
    limit: int | None = None,
    perform: Perform | None = None,
    make: Callable[[ModuleOp, int | None, Perform | None], Interpreter] | None = None,
    kept: dict[Any, Interpreter] | None = None,
) -> tuple[np.ndarray, ...]:
    """Run one function of a module and return its results.

    Args:
        module: graph IR, or loop IR with its host function, of any phase up to `program`.
        entry: the function.
        args: one array an argument; for a host function over memrefs its inputs only.
        limit: how many loop iterations it may take; an iteration costs some microseconds an op.
        perform: lets effects happen; by default as `effects.perform` with no Python functions.
        make: another interpreter, from the fields before.
        kept: of earlier runs of this module, which has not changed since; what each prepared, this run need not.

    Raises:
        TooLongError: more iterations than `limit`.
        CheckError: a condition of the program does not hold.
        InterpreterError: no such function, arguments that do not fit, an access out of bounds, or an op without a meaning.

    >>> from lamina.dialects.context import make_context
    >>> from lamina.dialects.parsing import parse_module
    >>> text = '''func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ...   %y = graph.neg %x : tensor<2xf32>
    ...   func.return %y : tensor<2xf32>
    ... }'''
    >>> interpret(parse_module(make_context(), text), "main", [np.ones(2, np.float32)])
    (array([-1., -1.], dtype=float32),)
    """
    key = (entry, *map(np.shape, args))
    if kept is not None and key in kept:
        interpreter = kept.pop(key)
        interpreter.begin(limit, perform)
    else:
        interpreter = (make or Interpreter)(_for_sizes_of(module, entry, args), limit, perform)
    if kept is not None:
        kept[key] = interpreter  # the last one of the dict is that of the last run
    with np.errstate(all="ignore"):
        return tuple(np.asarray(x) for x in interpreter.call(entry, list(args)))


def _for_sizes_of(module: ModuleOp, entry: str, args: Sequence[Any]) -> ModuleOp:
    """The module, or where its function has symbolic sizes, a copy with those of a call instead."""
    functions = (op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.sym_name.data == entry)
    function = next(functions, None)
    if function is None or not function.body.blocks or not any(map(has_symbols, function.body.block.args)):
        return module
    arguments = function.body.block.args
    shapes = list(map(np.shape, args))
    if len(shapes) != len(arguments) or any(len(s) != len(shape_of(a)) for s, a in zip(shapes, arguments, strict=True)):
        return module  # which is said where arguments are bound
    known = bind_symbols(arguments, shapes)
    module = module.clone()
    substitute_sizes(module.body.block.ops, known)
    return module
