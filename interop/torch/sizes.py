"""Symbolic sizes of torch as those of `jit(dynamic=)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api.sizes import dim
from .errors import UnsupportedOp

_FAR = 1 << 40
"""Upper bounds from here on are none."""


def dynamic_sizes(specs: Mapping[str, Any], ranges: Mapping[Any, Any]) -> dict[str, tuple[Any, ...]]:
    """What `jit(dynamic=)` takes: for each input with symbolic sizes an entry for each dim.

    Args:
        specs: fake tensors by the names of inputs.
        ranges: the least and greatest value of each symbol.

    Raises:
        UnsupportedOp: a size is no polynomial in symbols.
    """
    symbols: dict[str, Any] = {}
    made = {}
    for name, spec in specs.items():
        if any(not isinstance(n, int) for n in spec.shape):
            made[name] = tuple(None if isinstance(n, int) else size_of(n, symbols, ranges) for n in spec.shape)
    return made


def size_of(n: Any, symbols: dict[str, Any], ranges: Mapping[Any, Any]) -> Any:
    """A size of torch as one of ours; `symbols` has those that are known and gets new ones."""
    expression = n.node.expr if hasattr(n, "node") else n
    return _converted(expression, symbols, {str(k): v for k, v in ranges.items()})


def _converted(e: Any, symbols: dict[str, Any], ranges: Mapping[str, Any]) -> Any:
    if e.is_Integer:
        return int(e)
    if e.is_Symbol:
        name = str(e)
        if name not in symbols:
            bounds = ranges.get(name)
            low = 0 if bounds is None else max(int(bounds.lower), 0)
            high = None if bounds is None or not bounds.upper.is_Integer or bounds.upper >= _FAR else int(bounds.upper)
            symbols[name] = dim(name, min=low, max=high)
        return symbols[name]
    if e.is_Add or e.is_Mul:
        total: Any = None
        for part in map(lambda a: _converted(a, symbols, ranges), e.args):
            total = part if total is None else total + part if e.is_Add else total * part
        return total
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return _converted(e.base, symbols, ranges) ** int(e.exp)
    raise UnsupportedOp(f"a size of the inputs is {e}: only sums and products of symbols are supported")
