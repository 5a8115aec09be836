"""Numbers of combinations and permutations."""

from __future__ import annotations

from typing import Any

from ...api import build, lift, operation
from ..numpy import namespace as lnp
from .gamma_products import beta, poch
from .parts import float_operands


@operation
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose `k` of `N` things, as a float; 0 where there are none. With `repetition` each any often.

    Whole numbers are rounded to one, so that results are exact up to about 10^13.
    """
    n, k = float_operands(N, k)
    if repetition:
        none = (k == 0) & (n == 0)
        n = lnp.where(none, 0.0, n + k - 1.0)
    inside = (k >= 0) & (n >= 0) & (k <= n)
    a, b = lnp.where(inside, n, 1.0), lnp.where(inside, k, 0.0)
    few = b < 1.0  # else the other form, whose factors do not vanish before the result overflows
    y = 1.0 / (beta(1.0 + a - b, b + lnp.where(few, 1.0, 0.0)) * lnp.where(few, a + 1.0, b))
    whole = (a == lnp.floor(a)) & (b == lnp.floor(b))
    # the slope is that of the smooth function
    y = y + lnp.where(whole, lift(build("stop_gradient", lift(lnp.rint(y) - y))), 0.0)
    return lnp.where(inside, y, 0.0)


@operation
def perm(N: Any, k: Any) -> Any:
    """The number of ways to choose `k` of `N` things in an order, as a float; 0 where there are none."""
    n, k = float_operands(N, k)
    inside = (k >= 0) & (n >= 0) & (k <= n)
    a, b = lnp.where(inside, n, 1.0), lnp.where(inside, k, 0.0)
    y = poch(a - b + 1.0, b)
    whole = (a == lnp.floor(a)) & (b == lnp.floor(b))
    return lnp.where(inside, y + lnp.where(whole, build("stop_gradient", lift(lnp.rint(y) - y)), 0.0), 0.0)
