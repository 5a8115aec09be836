"""NumPy's functions without its warnings: what overflows is inf, what has no value NaN, as in compiled code."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

_contexts: list[contextvars.Context] = []
"""Contexts in which NumPy warns of nothing and which no call is in. One that an exception has left is not used again."""


def _new() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    return context


def quiet(function: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[..., tuple[np.ndarray[Any, Any]]]:
    """A function of NumPy as the evaluation of an op with one result of a dtype.

    What NumPy warns of is a context variable of its own: to enter a context that is kept takes 0.1 us, `np.errstate` 0.8.
    """
    pop, push, asarray = _contexts.pop, _contexts.append, np.asarray

    def evaluate(*operands: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any]]:
        try:
            context = pop()
        except IndexError:  # all are in use, by threads or by calls around this one
            context = _new()
        result = context.run(function, *operands)
        push(context)
        return (asarray(result, dtype),)

    return evaluate
