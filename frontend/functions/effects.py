"""Effects of compiled programs in Python: checks that raise, and callbacks. `debug.py` has the printing.

Effects happen in the order in which they were traced, in loops and branches as often as these run. On arrays outside of a trace
they happen at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

import numpy as np

from ...dialects.graph.effects import METHODS, AssertOp, CallbackOp, PrintOp, fields_of
from ...dialects.types import element_type, tensor
from ...errors import CheckError
from ...runtime.array import as_array
from ..trace.program import Aval, abstract, is_staging, staging
from ..trace.promotion import BOOL
from ..trace.pytree import TreeDef, flatten
from ..trace.tracer import Tracer
from ..trace.tracing import Trace, is_array_like, lift, operand
from .autodiff import function_name

__all__ = ["after", "check", "error_if", "io_callback", "pure_callback"]


def check(pred: Any, msg: str, *args: Any, **kwargs: Any) -> None:
    """Raise a `CheckError` where the program runs, unless a condition holds.

    In compiled code the check costs a load while the condition holds. The program ends at the first one that fails; effects
    before it have happened. Mapped over a batch (`vmap`), the values are those of the first element that fails.

    Args:
        pred: a bool, or an array of bools, all of which must hold.
        msg: the message, in the form of `str.format`.
        args, kwargs: arrays and numbers that it names.

    Raises:
        CheckError: the condition does not hold; from the call of the compiled function that checks.
        ValueError: the message is not a format, or names a value that is missing.
        TypeError: the condition is not of bools.

    >>> import numpy as np, lamina as lm
    >>> @lm.jit
    ... def root(x):
    ...     lm.check(x >= 0, "root of {x}", x=x)
    ...     return x**0.5
    >>> root(np.float32(4))
    array(2., dtype=float32)
    >>> root(np.float32(-1))
    Traceback (most recent call last):
    ...
    lamina.errors.CheckError: root of -1.0
    """
    _require_fields("check", msg, args, kwargs)
    if not is_staging():
        if not np.all(_bools("check", np.asarray(pred))):
            raise CheckError(msg.format(*args, **kwargs))
        return
    flags = _bools("check", lift(pred))
    trace = staging()
    text, values = _by_position(trace, msg, args, kwargs)
    trace.builder.insert(AssertOp.make((flags.all() if flags.shape else flags).value, text, values))


def error_if(x: Any, pred: Any, msg: str) -> Any:
    """`x`, after a check that a condition holds nowhere.

    Args:
        x: a tree of arrays.
        pred: a bool or an array of bools, none of which may hold.
        msg: the message, as it is.

    Raises:
        CheckError: the condition holds, as by `check`.

    >>> import numpy as np, lamina as lm
    >>> lm.jit(lambda x: lm.error_if(x, x < 0, "x is negative"))(np.float32(2))
    array(2., dtype=float32)
    """
    flags = _bools("error_if", lift(pred) if is_staging() else np.asarray(pred))
    check(~flags, msg.replace("{", "{{").replace("}", "}}"))
    return x


def _bools(what: str, flags: Any) -> Any:
    if flags.dtype != BOOL:
        raise TypeError(f"{what}() needs a condition of bools, got {flags.dtype}{list(flags.shape)}: compare it, as in x > 0")
    return flags


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """The result of a Python function of arrays, which is called when the program runs.

    It may be called any number of times, also not at all, if its result is not needed. It has no derivative but one that
    `custom_jvp` or `custom_vjp` defines for the function around it.

    Args:
        callback: gets arrays of its own for `args` and `kwargs`, and returns the declared result.
        result_shape_dtypes: a tree of `ShapeDtypeStruct`, or of arrays like the results.
        args, kwargs: trees of arrays and numbers.
        sharding: None; there is one device.
        vmap_method: how it is mapped over a batch: "sequential" calls it for each element, "expand_dims" and "broadcast_all"
            (or "legacy_vectorized") once for all, with arguments that are the same for all under a first dim of 1, or repeated.

    Raises:
        Exceptions of the function, from the compiled call; TypeError or ValueError if it returns other dtypes or
        shapes than declared.
        CompileError: it is mapped over a batch without a `vmap_method`.
        DifferentiationError: it is differentiated.

    >>> import numpy as np, lamina as lm
    >>> def host(x):
    ...     return np.sort(x)
    >>> lm.jit(lambda x: lm.pure_callback(host, x, x) * 2)(np.float32([3, 1]))
    array([2., 6.], dtype=float32)
    """
    method = "expand_dims" if vmap_method == "legacy_vectorized" else vmap_method or METHODS[0]
    if method not in METHODS:
        raise ValueError(f"pure_callback() vmap_method must be one of {', '.join(METHODS[1:])} or None, got {vmap_method!r}")
    return call_back(callback, result_shape_dtypes, args, kwargs, pure=True, vmap=method)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of a Python function with side effects: it is called each time that the program reaches this op.

    All effects of a program keep their order, with `ordered` and without. Mapped over a batch, it is called for each element.

    Args:
        callback, result_shape_dtypes, args, kwargs, sharding: as of `pure_callback`; None for no result.
        ordered: says nothing here.

    Raises:
        As `pure_callback`.

    >>> import numpy as np, lamina as lm
    >>> seen = []
    >>> lm.jit(lambda x: lm.io_callback(lambda x: seen.append(float(x)), None, x))(np.float32(3))
    >>> seen
    [3.0]
    """
    return call_back(callback, result_shape_dtypes, args, kwargs, pure=False, vmap="sequential")


def call_back(
    callback: Callable[..., Any], declared: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, pure: bool, vmap: str
) -> Any:
    """The results of a Python function in the structure and of the types that are declared."""
    leaves, structure = flatten((tuple(args), dict(kwargs)))
    wanted, out = flatten(declared)
    avals = [abstract(leaf, "a declared result") for leaf in wanted]
    is_array = [is_array_like(leaf) for leaf in leaves]
    name = function_name(callback)

    def on_arrays(*arrays: Any) -> list[Any]:
        moving = iter(arrays)
        given, named = structure.unflatten(
            [next(moving) if flag else leaf for leaf, flag in zip(leaves, is_array, strict=True)]
        )
        returned, found = flatten(callback(*given, **named))
        if out.num_leaves and found != out:
            raise TypeError(f"callback {name}() is declared to return {out}, it returns {found}")
        return returned

    arrays = [leaf for leaf, flag in zip(leaves, is_array, strict=True) if flag]
    if not is_staging():
        return _at_once(on_arrays, name, arrays, avals, out)
    trace = staging()
    assert trace.program is not None
    values = [trace.lift(operand(x)).value for x in arrays]
    types = [tensor(element_type(a.dtype), a.shape) for a in avals]
    op = CallbackOp.make(trace.program.callback(name, on_arrays), values, types, pure=pure, vmap=vmap)
    trace.builder.insert(op)
    results = [Tracer(trace, value, aval.shape, aval.dtype) for value, aval in zip(op.results, avals, strict=True)]
    return out.unflatten(results)


def _at_once(on_arrays: Callable[..., Any], name: str, arrays: Sequence[Any], avals: Sequence[Aval], out: TreeDef) -> Any:
    from ...runtime.effect_sites import CALLBACK, Site
    from ...runtime.effects import perform

    results = [np.empty(a.shape, a.dtype) for a in avals]
    given = [np.asarray(operand(x)) for x in arrays]
    perform(Site(CALLBACK, name, 0, False), {name: on_arrays}, given, results)
    return out.unflatten(map(as_array, results))


def after(x: Any, *others: Any) -> Any:
    """`x`, which exists only after the others: what is computed from it comes after what they are computed from.

    The order holds in the compiled program, also where nothing else needs the others. Derivatives are those of `x`.

    Args:
        x: a tree of arrays.
        others: trees of arrays.

    >>> import numpy as np, lamina as lm
    >>> lm.jit(lambda x: lm.after(x * 2, x + 1))(np.float32(3))
    array(6., dtype=float32)
    """
    if not is_staging():
        return x
    trace = staging()
    leaves, structure = flatten(x)
    waiting = [trace.lift(operand(y)).value for y in flatten(others)[0]]
    lifted = [trace.lift(operand(leaf)) for leaf in leaves]
    values = [trace.builder.build("after", [one.value, *waiting], {}) for one in lifted]
    return structure.unflatten([trace.wrap(value, one.weak) for value, one in zip(values, lifted, strict=True)])


# Formats


def print_line(text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Print a format of arrays and numbers where the program runs."""
    trace = staging()
    line, values = _by_position(trace, text, args, kwargs)
    trace.builder.insert(PrintOp.make(line, values))


def is_plain(text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a format is of arrays and numbers alone, each named as a whole."""
    named = all(not set(field) & set(".[") for field in fields_of(text))
    return named and all(map(is_array_like, (*args, *kwargs.values())))


def _require_fields(what: str, text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise ValueError unless a format names the given values, each as a whole."""
    for value in (*args, *kwargs.values()):
        if not is_array_like(value):
            raise TypeError(
                f"{what}() takes arrays and numbers as values of its message, got {type(value).__name__}: {value!r:.60}"
            )
    _renamed(what, text, len(args), list(kwargs))


def _by_position(trace: Trace, text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A format that names values by their numbers, and these."""
    values = [trace.lift(operand(x)).value for x in (*args, *kwargs.values())]
    return _renamed("format", text, len(args), list(kwargs)), values


def _renamed(what: str, text: str, given: int, names: Sequence[str]) -> str:
    """A format with numbers instead of names."""
    count = iter(range(given))

    def number(field: str) -> int:
        if field.isdecimal() and int(field) < given:
            return int(field)
        if field in names:
            return given + names.index(field)
        position = next(count, None) if not field else None
        if position is None:
            known = ", ".join([*map(str, range(given)), *names]) or "none"
            raise ValueError(f"{what}() message names {{{field}}}, values are: {known}")
        return position

    def visit(part: str) -> str:
        spelled = ""
        for literal, field, specification, conversion in Formatter().parse(part):
            spelled += literal.replace("{", "{{").replace("}", "}}")
            if field is not None:
                k = number(field)
                spelled += f"{{{k}" + (f"!{conversion}" if conversion else "")
                spelled += (f":{visit(specification)}" if specification else "") + "}"
        return spelled

    return visit(text)
