"""Products of matrices: blocked and packed where they are large, in register tiles as they lie where they are small.

Those of few rows with a large matrix read it once, as those with a vector do.
"""

from __future__ import annotations

from ...codegen.targets import Target
from ...dialects.loop.structure import ForOp, KernelOp
from .base import Take
from .blocked import block_product, find_blocks
from .matvec import find_matrix_vector, find_vector_matrix, schedule_matrix_vector, schedule_vector_matrix
from .product_nest import find_product
from .skinny import find_dots, find_strips, run_dots, run_strips
from .tiled import tile_product


def schedule_products(kernel: KernelOp, target: Target, take: Take) -> None:
    """Schedule every product of a kernel."""
    for nest in [op for op in kernel.body.block.ops if isinstance(op, ForOp)]:
        product = find_product(nest, target)
        if product is None:
            if (sums := find_vector_matrix(nest)) is not None:
                schedule_vector_matrix(kernel, sums, target, take)
            elif (sums := find_matrix_vector(nest, target)) is not None:
                schedule_matrix_vector(kernel, sums, target, take)
            continue
        if (strips := find_strips(product, target)) is not None:
            run_strips(kernel, product, strips, target, take)
        elif (dots := find_dots(product, target)) is not None:
            run_dots(kernel, product, dots, take)
        elif (blocks := find_blocks(product, target)) is not None:
            block_product(kernel, product, blocks, target, take)
        else:
            tile_product(kernel, product, target, take)
