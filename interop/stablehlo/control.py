"""Loops, branches and composites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...api import lift
from ...api.functions import cond, switch, while_loop
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError
from .values import fitted


def while_(site: Any, operands: Sequence[Any]) -> Any:
    """A loop while the first region returns true."""
    test, body = site.region(0), site.region(1)
    return list(while_loop(lambda values: test(*values)[0], lambda values: _fitted(site, body(*values)), tuple(operands)))


def _fitted(site: Any, values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(fitted(value, type) for value, type in zip(values, site.types, strict=True))


def _branch(site: Any, k: int) -> Any:
    region = site.region(k)
    return lambda: _fitted(site, region())


def case(site: Any, operands: Sequence[Any]) -> Any:
    """One of several regions, by its number; any other number is the last."""
    n = len(site.op.regions)
    (index,) = operands
    if index.shape:
        raise UnsupportedError(f"needs a scalar index, got shape {list(index.shape)}")
    if n == 1:
        return list(_branch(site, 0)())
    inside = lnp.logical_and(index >= 0, index < n)
    return list(switch(lift(lnp.where(inside, index, n - 1)), [_branch(site, k) for k in range(n)]))


def if_(site: Any, operands: Sequence[Any]) -> Any:
    """The first region if a condition holds, else the second."""
    return list(cond(operands[0], _branch(site, 0), _branch(site, 1)))


def composite(site: Any, operands: Sequence[Any]) -> Any:
    """A named function of the module, which is its meaning."""
    found = site.module.call(site.required("decomposition"), operands)
    return list(found) if len(site.types) != 1 else [found]
