"""Names of the axes that `vmap` maps over.

While the function is traced, a name stands for the index of the element along the axis: a hidden argument that is mapped too.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from ...errors import TracingError
from ..trace.tracer import Tracer


class _Axes(threading.local):
    def __init__(self) -> None:
        self.named: dict[Hashable, tuple[int, Tracer]] = {}


_axes = _Axes()


@contextmanager
def named_axis(name: Hashable, size: int, index: Tracer) -> Iterator[None]:
    """Within it, a name stands for an axis of `size` elements, of which the one that is traced has this index."""
    outer = _axes.named
    _axes.named = {**outer, name: (size, index)}
    try:
        yield
    finally:
        _axes.named = outer


def axes_in_scope() -> tuple[tuple[Hashable, int], ...]:
    """The names in scope and their sizes, which a traced function may depend on."""
    return tuple((name, size) for name, (size, _) in _axes.named.items())


def named(name: Hashable, what: str) -> tuple[int, Tracer]:
    """The size of an axis in scope, and the index along it.

    Raises:
        TracingError: `what`, the caller, is not inside a function that vmap maps over an axis of that name.
    """
    found = _axes.named.get(name)
    if found is None:
        known = ", ".join(repr(n) for n in _axes.named) or "none"
        raise TracingError(
            f"{what}() needs an axis that vmap maps over, got {name!r} (in scope: {known}); "
            f"call it in a function under lm.vmap(..., axis_name={name!r})"
        )
    return found
