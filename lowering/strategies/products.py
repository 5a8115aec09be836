"""Products of matrices: blocked and packed where they are large, in register tiles in place where they are small."""

from __future__ import annotations

from collections.abc import Iterator

from ...codegen.targets import Target
from ...dialects.loop.structure import ForOp, KernelOp
from .base import Take, is_scalar, nests
from .blocked import block_product, find_blocks
from .product_nest import Product, find_product
from .tiled import tile_product


def schedule_products(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a product."""
    product = find_product(nest, target) if is_scalar(nest) else None
    if product is None:
        return
    if (blocks := find_blocks(product, target)) is not None:
        block_product(kernel, product, blocks, target, take)
    else:
        tile_product(kernel, product, target, take)


def schedule_steps(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule the small products among the steps of a nest that goes from one to the next, as of a blocked factorization."""
    if is_scalar(nest) and find_product(nest, target) is None:
        for product in list(_products_inside(nest, target)):
            tile_product(kernel, product, target, take)


def _products_inside(nest: ForOp, target: Target) -> Iterator[Product]:
    for inner in nests(nest.body.block):
        product = find_product(inner, target)
        if product is None:
            yield from _products_inside(inner, target)
        else:
            yield product
