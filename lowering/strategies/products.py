"""Matmuls: blocked and packed where they are large, in register tiles in place where they are small."""

from __future__ import annotations

from collections.abc import Iterator

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp
from ..analysis.lanes import runs_along
from ..analysis.nests import loops, name_of, ops_in, statements
from ..schedule.sink import Sink
from ..schedule.vectorize import Vectorize
from .base import Take, attempt, is_scalar, nests
from .blocked import block_product, find_blocks
from .product_nest import Product, bits_of, find_product, loops_after_loads
from .tiled import find_narrow, tile_product


def schedule_products(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a product."""
    product = None
    if is_scalar(nest):
        for inner in loops_after_loads(nest):
            attempt(Sink(name_of(inner)), take)
        product = find_product(nest, target)
    if product is None:
        if is_scalar(nest) and (narrow := find_narrow(nest, target)) is not None:
            tile_product(kernel, narrow, target, take)
        return
    if (blocks := find_blocks(product, target)) is not None:
        block_product(kernel, product, blocks, target, take)
    else:
        tile_product(kernel, product, target, take)


def schedule_steps(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule the small products and the sums inside a loop with carried steps.

    Factorizations consist of these. Sums with varying bounds become vectors here where they are contiguous: their terms have no
    order.
    """
    if not is_scalar(nest):
        return
    for sequence in [name_of(loop) for loop in _sequences(nest)]:
        for product in list(_products_inside(loops(kernel)[sequence], target)):
            tile_product(kernel, product, target, take)
        for total in [op for op in ops_in(loops(kernel)[sequence], ForOp) if _is_long_sum(op)]:
            attempt(Vectorize(name_of(total), target.lanes(bits_of(total))), take)


def _sequences(loop: ForOp) -> Iterator[ForOp]:
    """The outermost sequential loops in a nest, or the nest itself."""
    if loop.kind.data == "seq":
        yield loop
        return
    for inner in nests(loop.body.block):
        yield from _sequences(inner)


def _is_long_sum(loop: ForOp) -> bool:
    """Whether a loop sums contiguous elements, with a varying number of terms."""
    if loop.monoid is None or loop.monoid.data != "add" or len(loop.results) != 1 or loop.constant_bounds() is not None:
        return False
    inside = statements(loop.body.block)
    loads = [op for op in inside if isinstance(op, LoadOp)]
    return bool(loads) and not any(op.regions for op in inside) and all(runs_along(op, loop) for op in loads)


def _products_inside(nest: ForOp, target: Target) -> Iterator[Product]:
    for inner in nests(nest.body.block):
        product = find_product(inner, target)
        if product is None:
            yield from _products_inside(inner, target)
        else:
            yield product
