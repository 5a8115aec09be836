"""Ops that broadcast their operands as NumPy does (`chlo.broadcast_*`), and those of programs for several devices, on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compat.jax.lax import namespace as lax
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError
from .rows import Row


def _aligned(site: Any, operands: Sequence[Any]) -> list[Any]:
    """The operands in one shape.

    `broadcast_dimensions` says which dims of the operand of the highest rank those of the others are; by default the last ones.
    """
    dims, rank = site.get("broadcast_dimensions"), max(x.ndim for x in operands)
    placed = []
    for x in operands:
        if dims is not None and x.ndim < rank:
            at = [int(d) for d in dims]
            if len(at) != x.ndim or any(not 0 <= d < rank for d in at) or sorted(set(at)) != at:
                raise UnsupportedError(f"broadcasts {x.ndim} dims to dims {at} of {rank}")
            x = lnp.reshape(x, [x.shape[at.index(d)] if d in at else 1 for d in range(rank)])
        placed.append(x)
    return list(lnp.broadcast_arrays(*placed))


def broadcasting(evaluate: Callable[[Any, Sequence[Any]], Any]) -> Row:
    """The row of an op on operands that are brought to one shape first."""
    return Row(lambda site, operands: evaluate(site, _aligned(site, operands)))


def broadcast(site: Any, operands: Sequence[Any]) -> Any:
    """`broadcast`: new leading dims."""
    return lnp.broadcast_to(operands[0], (*(int(n) for n in site.required("broadcast_sizes")), *operands[0].shape))


def einsum(site: Any, operands: Sequence[Any]) -> Any:
    """`einsum` and `unary_einsum`, in NumPy's notation."""
    return lnp.einsum(site.required("einsum_config"), *operands)


def index_select(site: Any, operands: Sequence[Any]) -> Any:
    """`torch_index_select`: slices along `dim`, by indices for each of the first `batch_dims` dims."""
    x, index = operands
    dim, batch = int(site.required("dim")), int(site.required("batch_dims"))
    if not 0 <= batch <= dim < x.ndim or batch > index.ndim:
        raise UnsupportedError(f"selects along dim {dim} with {batch} batch dims of {x.ndim}")
    if not batch:
        return lnp.take(x, index, axis=dim)
    flat = lnp.reshape(index, (*index.shape[:batch], -1))
    places = (*flat.shape[:batch], *[1] * (dim - batch), flat.shape[batch], *[1] * (x.ndim - dim - 1))
    spread = lnp.broadcast_to(lnp.reshape(flat, places), (*x.shape[:dim], flat.shape[batch], *x.shape[dim + 1 :]))
    found = lnp.take_along_axis(x, spread, axis=dim)
    return lnp.reshape(found, (*x.shape[:dim], *index.shape[batch:], *x.shape[dim + 1 :]))


def constant_like(site: Any, operands: Sequence[Any]) -> Any:
    """`constant_like`: a number in the shape of the operand."""
    return lax.full_like(operands[0], site.required("value"))


def _devices(site: Any) -> None:
    groups = site.get("replica_groups")
    sizes = np.shape(groups) if groups is not None else (1, 1)
    if len(sizes) == 2 and sizes[1] > 1:
        raise UnsupportedError(f"is among groups of {sizes[1]} devices; programs run on one")


def of_one_device(site: Any, operands: Sequence[Any]) -> list[Any]:
    """Exchanges among groups of one device, which give back what they got."""
    _devices(site)
    return list(operands)


def permute(site: Any, operands: Sequence[Any]) -> Any:
    """`collective_permute`: from this device to itself, or zeros."""
    pairs = np.asarray(site.required("source_target_pairs")).reshape(-1, 2).tolist()
    if any(pair != [0, 0] for pair in pairs):
        raise UnsupportedError("is among several devices; programs run on one")
    return operands[0] if pairs else lnp.zeros_like(operands[0])
