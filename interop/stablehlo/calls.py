"""The targets of `custom_call` that are known: what jax's linear algebra lowers to, annotations, checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...api import Tracer, lift, lift_as
from ...api.errors import CompileError
from ...api.functions import check
from ...api.programs import dense_array
from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError, position
from .lapack import ROUTINES
from .values import known


def custom_call(site: Any, operands: Sequence[Any]) -> Any:
    """The results of a call by the name of its target."""
    target = site.required("call_target_name")
    found = TARGETS.get(target)
    if found is None:
        raise UnsupportedError(f"calls @{target}, which is not known here")
    return found(site, [lift(x) if isinstance(x, Tracer) else x for x in operands])


def _same(site: Any, operands: Sequence[Any]) -> Any:
    return list(operands)


def _approximate_top_k(site: Any, operands: Sequence[Any]) -> Any:
    """The greatest or least elements along a dim, and what else goes with them: exact for any recall."""
    options = site.get("mhlo.backend_config") or {}
    names = site.get("called_computations") or ()
    dim, k = options.get("reduction_dim"), options.get("top_k")
    if len(operands) != 4 or dim is None or k is None or len(names) != 1:
        raise UnsupportedError("needs two operands with their initial values, a dim, a number and a comparator")
    x, values = operands[:2]
    body = list(site.module.function(names[0]).body.blocks[0].ops)
    direction = body[0].get("comparison_direction") if body[0].name == "stablehlo.compare" else None
    if direction not in ("GT", "LT"):
        raise UnsupportedError("needs a comparator that is one comparison")
    key = x if direction == "LT" else -x
    order = lax.slice_in_dim(lnp.argsort(key, axis=dim, stable=True), 0, k, axis=dim)
    return [lnp.take_along_axis(x, order, dim), lnp.take_along_axis(values, order, dim)]


def _shape_assertion(site: Any, operands: Sequence[Any]) -> Any:
    """What jax requires of open sizes: it is known when the program is traced."""
    holds, *values = operands
    if not known(holds, "conditions")[0]:
        numbers = iter(known(v, "sizes")[0] for v in values)
        raise CompileError(re.sub(r"\{\d+\}", lambda _: str(next(numbers, "?")), site.get("error_message", "sizes do not fit")))
    return []


def expect(exact: bool) -> Callable[[Any, Sequence[Any]], Any]:
    """A comparison that ends the program where it runs, unless arrays are equal, or, not `exact`, close."""

    def compare(site: Any, operands: Sequence[Any]) -> Any:
        got = lift(operands[0])
        value = site.op.properties.get("value", site.op.attributes.get("value"))
        wanted = lift(operands[1] if len(operands) > 1 else dense_array(value))
        same = lnp.equal(got, wanted)
        if got.dtype.kind in "fc":
            same = lnp.logical_or(same, lnp.logical_and(lnp.isnan(got), lnp.isnan(wanted)))
            if not exact:
                same = lnp.logical_or(same, lnp.abs(got - wanted) <= 1e-4 * (1 + lnp.abs(wanted)))
        place = position(site.op).replace("{", "{{").replace("}", "}}")
        check(lnp.all(same), f"{place}expected {{wanted}}, got {{got}}".replace("\n", " "), wanted=wanted, got=got)
        return []

    return compare


def _top_k(site: Any, operands: Sequence[Any]) -> Any:
    options = site.get("mhlo.attributes") or {}
    values, indices = lax.top_k(operands[0], options.get("k", site.shape()[-1]))
    return [values, lift_as(indices, site.dtype(1))]


TARGETS: dict[str, Callable[[Any, Sequence[Any]], Any]] = {
    **dict.fromkeys(
        (
            "Sharding",
            "SPMDFullToShardShape",
            "SPMDShardToFullShape",
            "annotate_device_placement",
            "LayoutConstraint",
            "xla.sdy.FuncResultSharding",
        ),
        _same,
    ),
    **ROUTINES,
    "check.expect_eq": expect(True),
    "check.expect_close": expect(False),
    "check.expect_almost_eq": expect(False),
    "shape_assertion": _shape_assertion,
    "ApproxTopK": _approximate_top_k,
    "mhlo.topk": _top_k,
}
"""What evaluates a call, by its target."""
