"""What the default schedule does with each kind of kernel: one strategy a file, in the order in which they are tried."""

from .attention import schedule_attention
from .base import Strategy, Take
from .convolutions import schedule_tiles
from .elementwise import schedule_elementwise
from .indexed import schedule_indexed
from .lanes import schedule_lanes
from .loops import for_written
from .prefetches import schedule_prefetches
from .products import schedule_products
from .reductions import schedule_reductions
from .rows import schedule_rows
from .sums import schedule_sums
from .transposes import schedule_transposes
from .windows import schedule_windows
from .winograd import schedule_features

STRATEGIES: tuple[Strategy, ...] = (
    *(schedule_indexed, schedule_windows),
    *(schedule_products, schedule_tiles, schedule_features, schedule_attention),
    *(schedule_transposes, schedule_elementwise, schedule_rows, schedule_reductions, schedule_lanes, schedule_prefetches),
    schedule_sums,
)
"""For the kernels that a program launches: their loops say which of their iterations are independent."""

__all__ = ["STRATEGIES", "Strategy", "Take", "for_written"]
