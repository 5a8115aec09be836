"""`disable_jit`: a block in which functions and loops run in Python, op by op, for debugging.

Functions of `jit`, and `fori_loop`, `scan`, `while_loop`, `cond` and `switch` of arrays, then call their functions with arrays.
Transformations that must trace, as `grad` and `vmap`, trace as usual, including calls of functions that `jit` made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...runtime.array import as_array
from ..trace.array_functions import arrays as lnp
from ..trace.config import config
from ..trace.program import is_staging
from ..trace.pytree import flatten
from ..trace.pytree import map as tree_map

__all__ = ["disable_jit"]


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """A block of this thread in which `jit` compiles nothing.

    `print`, a debugger and NumPy then see arrays, and an error stands at the line that raises it. It is slow. Other threads are
    not affected; `lm.config.update(jit=False)` does it for the process.

    Args:
        disable: False compiles in a block inside of such a block.

    >>> import numpy as np, lamina as lm
    >>> @lm.jit
    ... def f(x):
    ...     print(type(x).__name__, x)
    ...     return x * 2
    >>> with lm.disable_jit():
    ...     f(np.float32([1, 2]))
    Array [1. 2.]
    array([2., 4.], dtype=float32)
    """
    return config(jit=not disable)


def is_disabled() -> bool:
    """Whether loops and branches are to run in Python: there are arrays, and nothing is traced."""
    return not config.options.jit and not is_staging()


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
    """A call of the function under `jit`. It gets copies of arrays, since under `jit` its changes in place stay its own."""
    result = function(*tree_map(_copied, args), **tree_map(_copied, kwargs))
    if out is None:
        return tree_map(lnp.asarray, result)
    for to, value in zip(flatten(out)[0], flatten(result)[0], strict=True):
        np.copyto(to, value)
    return out


def _copied(x: Any) -> Any:
    return as_array(np.array(x)) if isinstance(x, np.ndarray) else x


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """`fori_loop` in Python."""
    value = tree_map(lnp.asarray, init)
    for i in range(int(lower), int(upper)):
        value = body(i, value)
    return tree_map(lnp.asarray, value)


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`while_loop` in Python."""
    value = tree_map(lnp.asarray, init)
    while condition(value):
        value = body(value)
    return tree_map(lnp.asarray, value)


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None, reverse: bool) -> Any:
    """`scan` in Python.

    Raises:
        ShapeError: the first dims of `xs` differ or are not `length`.
    """
    sizes = {np.shape(x)[0] if np.ndim(x) else None for x in flatten(xs)[0]} | ({length} if length is not None else set())
    if len(sizes) != 1 or None in sizes:
        raise ShapeError(f"scan() needs arrays with one first dim, got {sorted(map(str, sizes))}")
    (count,) = sizes
    carry, results = tree_map(lnp.asarray, init), []
    assert count is not None
    for k in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, tree_map(lambda x, k=k: lnp.asarray(x)[k], xs))
        results.append(y)
    if reverse:
        results.reverse()
    return tree_map(lnp.asarray, carry), tree_map(lambda *ys: lnp.stack(ys), *results)


def switch(index: Any, branches: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    """`switch` in Python; `cond` is one of two."""
    chosen = branches[min(max(int(index), 0), len(branches) - 1)]
    return tree_map(lnp.asarray, chosen(*tree_map(lnp.asarray, tuple(operands))))
