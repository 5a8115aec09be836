"""`lamina.ops`: jax.ops's names, sums and other reductions of segments of rows."""

from __future__ import annotations

from ...library.numpy.at import segment_max, segment_min, segment_prod, segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
