# from the table names.toml by `make names`: do not edit
"""`lamina.ops`: jax.ops's names, sums and other reductions of segments of rows."""

from typing import Any


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the greatest; minus infinity (the least integer) for an id that no row has."""

def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, the least; infinity (the greatest integer) for an id that no row has."""

def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """As `segment_sum`, products; 1 for an id that no row has."""

def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None, mode: str | None = None) -> Any:
    """The sums of the rows of `data` with one id each: `result[s]` is the sum of all `data[k]` with `segment_ids[k] == s`."""

__all__ = [
    "segment_max", "segment_min", "segment_prod", "segment_sum",
]
