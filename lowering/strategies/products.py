"""Products of matrices: blocked and packed where they are large, in register tiles in place where they are small."""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.structure import ForOp, KernelOp
from .base import Take, is_scalar
from .blocked import block_product, find_blocks
from .product_nest import find_product
from .tiled import find_narrow, tile_product


def schedule_products(kernel: KernelOp, nest: ForOp, target: Target, take: Take) -> None:
    """Schedule a product."""
    product = find_product(nest, target) if is_scalar(nest) else None
    if product is None:
        if is_scalar(nest) and (narrow := find_narrow(nest, target)) is not None:
            tile_product(kernel, narrow, target, take)
        return
    if (blocks := find_blocks(product, target)) is not None:
        block_product(kernel, product, blocks, target, take)
    else:
        tile_product(kernel, product, target, take)
