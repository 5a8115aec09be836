"""Products with a dynamic number of rows: variants for one row, for few and for some, chosen by a condition at run time.

A product of many rows packs its operands, which pays when each packed element is read often. One row is memory-bound, and a few
rows run best as a register tile in place. So the nest of a product gets copies for fewer rows (`loop-version`), and the
strategies that follow schedule each as they would products of static sizes. A module with the attribute `lamina.one_variant`
gets none: each copy is code that has to be compiled.
"""

from __future__ import annotations

from math import gcd

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.module_rules import ONE_VARIANT
from ...thresholds import number
from ..analysis.bounds import upper_bounds
from ..analysis.nests import name_of
from ..schedule.version import Version, bound_of, nest_of
from .base import Take
from .blocked import MANY_ROWS
from .product_nest import find_product

FEW = number("multiversion.FEW")
LEAST_WORK = number("multiversion.LEAST_WORK")


def schedule_versions(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Copy a product of an unknown number of rows for one, for few and for some rows."""
    module = kernel.parent_op()
    product = None if module is not None and ONE_VARIANT in module.attributes else find_product(nest, target)
    if product is None or product.right is None or bound_of(product.rows) is None or nest_of(product.rows) is not nest:
        return
    _, n, k = product.sizes
    if n * k < LEAST_WORK:
        return
    least, rows = least_trips(product.rows), name_of(product.rows)
    if least == 1:
        take(Version(rows, 1, exact=True))
    for most in (FEW, MANY_ROWS - 1):
        if least <= most:
            take(Version(rows, most))


def least_trips(loop: ForOp) -> int:
    """The least positive number of iterations that the multiples in a bound allow: 35 of a loop `0 to 35 * n`."""
    (bound,) = upper_bounds(loop)
    if bound.terms is None:
        return 1
    terms, constant = bound.terms
    step = gcd(*terms.values())
    return (constant % step or step) if step else 1
