"""`gather` and `scatter` with any numbers of dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...api import lift
from ...api.functions import fori_loop
from ...compat.jax.lax import namespace as lax
from ...compat.jax.lax.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from ...library.numpy import namespace as lnp
from .regions import single_op
from .values import known


def _vectors(indices: Any, dim: int) -> Any:
    """Indices with the dim of index vectors last, which is left out where they have one element."""
    if dim == indices.ndim:
        return lift(lnp.expand_dims(indices, -1))
    return lift(lnp.moveaxis(indices, dim, -1))


def gather(site: Any, operands: Sequence[Any]) -> Any:
    """Windows of the operand, one for each index vector, moved inside."""
    return _gather(site, operands, site.required("slice_sizes"))


def dynamic_gather(site: Any, operands: Sequence[Any]) -> Any:
    """A gather whose sizes are an operand; they must be known when it is traced."""
    return _gather(site, operands[:2], known(operands[2], "sizes"))


def _gather(site: Any, operands: Sequence[Any], sizes: Sequence[int]) -> Any:
    dims = site.required("dimension_numbers")
    numbers = GatherDimensionNumbers(
        *(dims.get(name, ()) for name in ("offset_dims", "collapsed_slice_dims", "start_index_map")),
        operand_batching_dims=dims.get("operand_batching_dims", ()),
        start_indices_batching_dims=dims.get("start_indices_batching_dims", ()),
    )
    return lax.gather(operands[0], _vectors(operands[1], dims.get("index_vector_dim", 0)), numbers, sizes)


_SCATTERS = {
    "second": lax.scatter,
    "stablehlo.add": lax.scatter_add,
    "stablehlo.subtract": lax.scatter_sub,
    "stablehlo.multiply": lax.scatter_mul,
    "stablehlo.maximum": lax.scatter_max,
    "stablehlo.minimum": lax.scatter_min,
}


def scatter(site: Any, operands: Sequence[Any]) -> Any:
    """Updates combined with windows of the operand by the region; a window that is not inside is left out."""
    n = (len(operands) - 1) // 2
    inputs, indices, updates = operands[:n], operands[n], operands[n + 1 :]
    dims = site.required("scatter_dimension_numbers")
    numbers = ScatterDimensionNumbers(
        *(dims.get(name, ()) for name in ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")),
        operand_batching_dims=dims.get("input_batching_dims", ()),
        scatter_indices_batching_dims=dims.get("scatter_indices_batching_dims", ()),
    )
    vectors, region = _vectors(indices, dims.get("index_vector_dim", 0)), site.region(0)
    function = _SCATTERS.get(single_op(region) or "") if n == 1 else None
    is_bool = n == 1 and inputs[0].dtype.kind == "b"
    if function is not None and not (is_bool and function not in (lax.scatter, lax.scatter_max, lax.scatter_min)):
        return [function(inputs[0], vectors, updates[0], numbers)]
    return _one_by_one(inputs, vectors, updates, numbers, region)


def _one_by_one(inputs: Any, vectors: Any, updates: Any, numbers: Any, region: Any) -> list[Any]:
    """Elements of updates, one after the other: the index of each in the operand comes from a scatter of numbers."""
    x = inputs[0]
    size = x.size
    # where each element of the operand stands, read as the gather of the same windows reads it
    window = [1] * x.ndim
    kept = [d for d in range(x.ndim) if d not in numbers.inserted_window_dims and d not in numbers.operand_batching_dims]
    for d, of_update in zip(kept, numbers.update_window_dims, strict=True):
        window[d] = updates[0].shape[of_update]
    gathered = GatherDimensionNumbers(
        numbers.update_window_dims,
        numbers.inserted_window_dims,
        numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    places = lax.gather(lnp.reshape(lnp.arange(size), x.shape), vectors, gathered, window, mode="fill", fill_value=size)
    at = lift(lnp.reshape(places, -1))
    flat = [lift(lnp.reshape(u, -1)) for u in updates]
    if not at.shape[0]:
        return list(inputs)

    def step(k: Any, arrays: Any) -> Any:
        place = at[k]
        inside = place < size
        where = lnp.minimum(place, size - 1)
        old = [a[where] for a in arrays]
        new = region(*old, *[u[k] for u in flat])
        return tuple(lift(a).at[where].set(lnp.where(inside, b, c)) for a, b, c in zip(arrays, new, old, strict=True))

    found = fori_loop(0, at.shape[0], step, tuple(lift(lnp.reshape(v, -1)) for v in inputs))
    return [lnp.reshape(v, x.shape) for v in found]
