"""NumPy's functions without its warnings: what overflows is inf, what has no value NaN, as in compiled code."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

_contexts: list[contextvars.Context] = []
"""Contexts in which NumPy warns of nothing and which no call is in."""


def quietly(function: Callable[..., Any], *operands: Any) -> Any:
    """What a function of NumPy gives.

    What NumPy warns of is a context variable of its own: a context that is kept is entered in 0.1 us, `np.errstate` takes 0.8.
    """
    try:
        context = _contexts.pop()
    except IndexError:  # all are in use, by threads or by calls around this one
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
    try:
        return context.run(function, *operands)
    finally:
        _contexts.append(context)
