"""Effects of programs in Python: the printing, assertions and callbacks, and how machine code calls them.

A program names each of its effects by a number; its signature describes them (`Site`). Python functions are not part of a
program: an executable binds them by name (`Table`), so that one program serves functions that are made again. Machine code
calls `lamina_callback`, which takes the GIL, and returns a status that is not 0 when Python raised; the program ends then, and
its caller raises the exception.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..errors import CheckError, CompileError
from .array import as_array
from .effect_sites import ASSERT, CALLBACK, Site
from .signature import DTYPES

Array = np.ndarray[Any, Any]

SYMBOL = "lamina_callback"
"""The type of the function that machine code calls: `i64 @lamina_callback(i64 site, ptr words, ptr status)`."""

RAISED = -2
"""The status of a program whose effect has raised."""


Functions = Mapping[str, Callable[..., Any]]


def perform(site: Site, functions: Functions, operands: Sequence[Array], results: Sequence[Array]) -> None:
    """Perform an effect; the result of a callback is stored in `results`.

    Raises:
        CheckError: the condition of an assertion does not hold.
        CompileError: no Python function is bound to a name.
        TypeError, ValueError: a function's result differs from its declaration; or its own exceptions.
    """
    mask = operands[0] if site.masked else None
    values = operands[1:] if site.masked else operands
    shape = (*operands, *results)[0].shape[: site.batch] if site.batch else ()
    for result in results if site.masked else ():
        result[...] = 0
    for index in np.ndindex(*shape):
        if mask is None or bool(mask[index]) != (site.kind == ASSERT):
            _once(site, functions, [value[index] for value in values], [result[(*index, ...)] for result in results])


def _once(site: Site, functions: Functions, values: Sequence[Any], results: Sequence[Array]) -> None:
    if site.kind == CALLBACK:
        function = functions.get(site.text)
        if function is None:
            rule = "is no Python function of this program: only what traced one knows it"
            raise CompileError(f"'graph.callback' op \"{site.text}\" {rule}")
        _store(site.text, function(*[as_array(np.array(value)) for value in values]), results)
        return
    text = site.text.format(*[np.asarray(value)[()] for value in values])
    if site.kind == ASSERT:
        raise CheckError(text)
    print(text)


def _store(name: str, returned: Any, results: Sequence[Array]) -> None:
    """Keep the results of a callback: arrays in the order of the results."""
    for k, (given, result) in enumerate(zip(returned if results else (), results, strict=True)):
        array = np.asarray(given)
        if array.shape != result.shape:
            what = f"result {k} of callback {name}() is declared with shape {list(result.shape)}"
            raise ValueError(f"{what}, it has {list(array.shape)}")
        if not np.can_cast(array.dtype, result.dtype, "same_kind"):
            raise TypeError(f"result {k} of callback {name}() is declared as {result.dtype}, it is {array.dtype}")
        result[...] = array


class Table:
    """The effects of an executable with their Python functions, known to machine code by a number."""

    def __init__(self, sites: Sequence[Site], functions: Functions):
        self.sites, self.functions = tuple(sites), dict(functions)
        self.number = next(_numbers)
        _tables[self.number] = self


_numbers = itertools.count(1)
_tables: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()


class _Raised(threading.local):
    error: BaseException | None = None


_raised = _Raised()


def raise_pending() -> None:
    """Raise the exception of an effect of the program that just ended on this thread."""
    error, _raised.error = _raised.error, None
    if error is not None:
        raise error


def _serve(number: int, words: int, status: int) -> int:
    """The function that machine code calls; returns 0, or `RAISED`."""
    try:
        table = _tables[ctypes.c_int64.from_address(status + 8).value]
        site, at, buffers = table.sites[number], words, list[Array]()
        for dtype, rank in (*site.operands, *site.results):
            address, *shape = (ctypes.c_int64 * (1 + rank)).from_address(at)
            buffers.append(_memory(address, DTYPES[dtype], shape))
            at += 8 * (1 + rank)
        n = len(site.operands)
        # results of calls are written while operands may be kept: those are copies
        perform(site, table.functions, buffers[:n], buffers[n:])
    except BaseException as error:
        _raised.error = error
        return RAISED
    return 0


def _memory(address: int, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not size:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.ctypeslib.as_array(memory).view(dtype).reshape(shape)


_SERVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


@cache
def imports() -> dict[str, int]:
    """The address of the function that machine code calls; valid as long as the process."""
    entry = _SERVE(_serve)
    _keep.append(entry)
    return {SYMBOL: ctypes.cast(entry, ctypes.c_void_p).value or 0}


_keep: list[Any] = []
