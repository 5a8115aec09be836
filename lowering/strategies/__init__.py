"""What the default schedule does with each kind of kernel: one strategy a file, in the order in which they are tried."""

from .base import Strategy, Take
from .products import schedule_products

STRATEGIES: tuple[Strategy, ...] = (schedule_products,)

__all__ = ["STRATEGIES", "Strategy", "Take"]
