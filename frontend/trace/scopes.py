"""`named_scope`: names for regions of a program, as in jax."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["named_scope"]


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A block, or with `@named_scope(name)` a function, that has a name.

    It changes nothing: ops are known by the file, line and column of the expression that made them, in errors, in `explain`
    and in the IR of every phase.

    Args:
        name: its name.

    Raises:
        TypeError: the name is no text.

    >>> import numpy as np, lamina as lm
    >>> with lm.named_scope("norm"):
    ...     lm.numpy.sqrt(np.float32([4, 9]))
    array([2., 3.], dtype=float32)
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope() takes a name, got {type(name).__name__}: {name!r:.60}")
    yield
