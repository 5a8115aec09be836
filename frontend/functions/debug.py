"""`lamina.debug`: printing and callbacks of compiled programs, under the names of `jax.debug`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ..trace.program import is_staging
from .effects import call_back, is_plain, print_line

__all__ = ["callback", "print"]


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print a line where the program runs, as often as it gets here.

    Lines keep their order. Derivatives do not print again; mapped over a batch (`vmap`), there is a line for each element, but
    one line where no value differs from element to element.

    Args:
        fmt: text in the form of `str.format`.
        args, kwargs: arrays and numbers that it names, or trees of them.
        ordered: says nothing here.

    Raises:
        ValueError: the text is no format, or names what is not given.

    >>> import numpy as np, lamina as lm
    >>> @lm.jit
    ... def f(x):
    ...     lm.debug.print("x = {x}, twice {}", x * 2, x=x)
    ...     return x
    >>> y = f(np.float32([1, 2]))
    x = [1. 2.], twice [2. 4.]
    """
    if is_staging() and is_plain(fmt, args, kwargs):
        print_line(fmt, args, kwargs)
        return

    def line(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))

    callback(line, *args, **kwargs)


def callback(function: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call a Python function for what it does, where the program runs; what it returns is dropped.

    Args:
        function: gets its own arrays for `args` and `kwargs`.
        args, kwargs: trees of arrays and numbers; anything else in them is given as it is.
        ordered: says nothing here: calls keep their order.

    >>> import numpy as np, lamina as lm
    >>> seen = []
    >>> y = lm.jit(lambda x: (lm.debug.callback(seen.append, x), x)[1])(np.float32(3))
    >>> seen
    [array(3., dtype=float32)]
    """
    call_back(function, (), args, kwargs, pure=False, vmap="sequential")
