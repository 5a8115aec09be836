"""Transformations called on arrays, outside of a trace: each call traces its function again and so sees the current values.

The code is found by the fingerprint of the traced program, in which arrays that the function closes over are arguments: a call
whose program was compiled before costs its trace alone. Python numbers are constants of the program until two calls differ in
one; from then on it is an argument too, so that a learning rate that changes does not compile a program at each step.

A function that `jit` made is traced once, as it promises; so are its transformations.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CheckError, LaminaError
from ...runtime.arrays import plain
from ...runtime.gc_pause import collecting_later
from ..trace.locations import located
from ..trace.program import Program, abstract, argument_paths, is_staging, trace_function
from ..trace.pytree import flatten
from .jit import JitBase, jit
from .lowered import Lowered

ARRAYS_ARE_ARGUMENTS = -1
"""The limit of `Program` with which every array is a hidden argument."""


def each_call(transformed: Callable[..., Any], name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs `transformed`, made from the user's function `of`, in the current trace, or compiles a trace of it
    where there is none."""
    transformed.__name__ = name
    compiled = jit(transformed) if isinstance(of, JitBase) else None

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            if is_staging():
                return transformed(*args, **kwargs)
            return run_anew(transformed, of, args, kwargs) if compiled is None else compiled(*args, **kwargs)
        except CheckError:
            raise  # of the program that runs
        except LaminaError as error:
            raise located(error) from None

    return wrapper


@dataclass
class _Numbers:
    """The Python numbers of the last trace of a function, and which of them have differed."""

    last: list[tuple[str, bytes]]
    varying: frozenset[int]

    def update(self, met: list[tuple[str, bytes]]) -> None:
        if len(met) != len(self.last):
            self.varying = frozenset()
        else:
            self.varying |= {k for k, pair in enumerate(zip(met, self.last, strict=True)) if pair[0] != pair[1]}
        self.last = met


_KEPT = 512
_numbers: OrderedDict[Hashable, _Numbers] = OrderedDict()


def run_anew(function: Callable[..., Any], of: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a function at arrays and numbers, from a trace of its own."""
    leaves, structure = flatten((args, kwargs))
    paths = argument_paths(of, structure)
    avals = tuple([abstract(leaf, f"{function.__name__}() argument {path}") for leaf, path in zip(leaves, paths, strict=True)])
    code = getattr(inspect.unwrap(of), "__code__", None)
    key = function.__name__, code, structure, avals
    known = _numbers.pop(key, None)
    program = Program(ARRAYS_ARE_ARGUMENTS, frozenset() if known is None else known.varying)
    arrays = [plain(np.asarray(x, aval.dtype), aval.dtype) for x, aval in zip(leaves, avals, strict=True)]
    with collecting_later():
        traced = trace_function(program, function, structure, avals, name="main", paths=paths, public=True, known=arrays)
        run = Lowered(program, traced, function.__name__, paths).runner()
    if known is None:
        known = _Numbers(program.numbers, frozenset())
    known.update(program.numbers)
    _numbers[key] = known
    if len(_numbers) > _KEPT:
        _numbers.popitem(last=False)
    return run(arrays)
