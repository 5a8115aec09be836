"""Loops, branches and composites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...api import lift
from ...api.functions import cond, scan, switch, while_loop
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


def scan_(site: Any, operands: Sequence[Any]) -> Any:
    """`chlo.scan`: from slices of the inputs along a dim and what is carried, the region makes slices of outputs and that."""
    inputs, inits = _in_two(operands, site.required("operandSegmentSizes"), "operands")
    outputs, _ = _in_two(site.types, site.required("resultSegmentSizes"), "results")
    body, dim = site.region(0), site.required("dimension")
    for x in inputs:
        if not 0 <= dim < len(x.shape):
            raise UnsupportedError(f"goes along dim {dim} of {len(x.shape)}")

    def step(carried: Any, rows: Any) -> Any:
        found = body(*rows, *carried)
        return tuple(found[len(outputs) :]), tuple(found[: len(outputs)])

    rows = tuple(lnp.moveaxis(x, dim, 0) for x in inputs)
    carried, found = scan(step, tuple(lift(x) for x in inits), rows, reverse=bool(site.get("is_reverse")))
    return [*(lnp.moveaxis(y, 0, dim) for y in found), *carried]


def _in_two(values: Sequence[Any], sizes: Sequence[int], what: str) -> tuple[list[Any], list[Any]]:
    if len(sizes) != 2 or sum(sizes) != len(values) or min(sizes) < 0:
        raise UnsupportedError(f"has {len(values)} {what} in segments {list(sizes)}")
    return list(values[: sizes[0]]), list(values[sizes[0] :])
