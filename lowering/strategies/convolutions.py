"""Convolutions with features first, and Winograd's: products in caches get register tiles.

    sums[o, p] = sum over i, k of filters[o, i, k] * image[i, p + k]        for all features o and points p

The loop form (`dialects/graph/conv_loops.py`) has copied the image so that neighbouring points read neighbouring elements. The
loops over a window go on from one another's sum, and the innermost one is unrolled, so that a tile stays in registers.
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.structure import ForOp, KernelOp
from ..analysis.nests import name_of, ops_in, statements
from ..schedule.ungroup import Ungroup
from ..schedule.unroll import Unroll
from .base import Take, attempt
from .block_product import find_block_product, tile_block_product

UNROLLED = 8
"""Elements of a window along its last dim, of all sums, that are written out one by one; more are a loop."""


def schedule_convolutions(kernel: KernelOp, target: Target, take: Take) -> None:
    """Tile the products that are kept in local buffers."""
    products = [found for loop in ops_in(kernel, ForOp) if (found := find_block_product(loop)) is not None]
    for product in products:
        sums = [ops_in(op, ForOp) for op in statements(product.columns.body.block) if isinstance(op, ForOp)]
        is_small = sum(nested[-1].trip_count() or UNROLLED + 1 for nested in sums) <= UNROLLED
        for *outer, innermost in sums:
            for loop in outer:
                attempt(Ungroup(name_of(loop)), take)
            if outer and is_small:
                take(Unroll(name_of(innermost)))
        tile_block_product(kernel, product, target, take, deep=True)
