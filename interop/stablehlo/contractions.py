"""Products: `dot_general`, `ragged_dot`, `convolution`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import lift, lift_as
from ...api.dtypes import BOOL
from ...compat.jax.lax import namespace as lax
from ...compat.jax.lax.conv import ConvDimensionNumbers
from ...library.numpy import namespace as lnp
from .faults import UnsupportedError
from .values import known


def _common(site: Any, operands: Sequence[Any]) -> tuple[list[Any], Any]:
    """The operands in the type in which they are multiplied and added up: that of the result, if it holds them."""
    dtype = lnp.promote_types(lnp.promote_types(operands[0].dtype, operands[1].dtype), site.dtype())
    if dtype == BOOL:
        dtype = lnp.dtype("int32")
    return [lift(lift_as(x, dtype)) for x in operands[:2]], dtype


def dot_general(site: Any, operands: Sequence[Any]) -> Any:
    """Sums of products over contracting dims; batch dims go together and come first."""
    (x, y), _ = _common(site, operands)
    dims = site.required("dot_dimension_numbers")
    left, right = ((dims.get(f"{side}_contracting_dimensions", ()), dims.get(f"{side}_batching_dimensions", ()))
                   for side in ("lhs", "rhs"))  # fmt: skip
    return _bools(site, lax.dot_general(x, y, ((left[0], right[0]), (left[1], right[1]))))


def _bools(site: Any, y: Any) -> Any:
    return lnp.not_equal(y, 0) if site.dtype() == BOOL else y


def dot(site: Any, operands: Sequence[Any]) -> Any:
    """The product of matrices and vectors."""
    (x, y), _ = _common(site, operands)
    return _bools(site, lax.dot_general(x, y, (((x.ndim - 1,), (0,)), ((), ()))))


def ragged_dot(site: Any, operands: Sequence[Any]) -> Any:
    """The products of groups of rows, each with a matrix of its own."""
    (x, y), _ = _common(site, operands)
    return lax.ragged_dot(x, y, operands[2])


def convolution(site: Any, operands: Sequence[Any]) -> Any:
    """A convolution with any numbers of dims."""
    (x, w), _ = _common(site, operands)
    text = site.op.properties.get("dimension_numbers", site.op.attributes.get("dimension_numbers"))
    if not hasattr(text, "value"):
        raise UnsupportedError("needs the attribute dimension_numbers")
    words = [[word.strip() for word in group.split(",")] for group in re.findall(r"\[([^]]*)\]", text.value.data)]
    if len(words) != 3:
        raise UnsupportedError(f"needs three lists of dims, got {text.value.data}")
    n = x.ndim - 2
    specs = []
    for group, letters in zip(words, (("b", "f"), ("o", "i"), ("b", "f")), strict=True):
        order = (*letters, *map(str, range(n)))
        if sorted(group) != sorted(order):
            raise UnsupportedError(f"needs each of the dims {', '.join(order)} once, got {', '.join(group)}")
        specs.append(tuple(group.index(letter) for letter in order))
    ones = (1,) * n
    reversal = site.get("window_reversal", ())
    mirrored = [specs[1][2 + k] for k, flag in enumerate(reversal) if flag]
    w = lift(lax.rev(w, mirrored)) if mirrored else w
    given = (
        x,
        w,
        site.get("window_strides", ones),
        site.get("padding", [(0, 0)] * n) if len(operands) < 3 else np.reshape(known(operands[2], "padding"), (n, 2)).tolist(),
        site.get("lhs_dilation", ones),
        site.get("rhs_dilation", ones),
        ConvDimensionNumbers(*specs),
        site.get("feature_group_count", 1),
        site.get("batch_group_count", 1),
    )
    if not n:
        return _without_window(*given)
    return lax.conv_general_dilated(*given)


def _without_window(x: Any, w: Any, *given: Any) -> Any:
    """A convolution without spatial dims: with one of size 1."""
    strides, _, holes, dilation, dims, groups, batches = given
    specs = [(*spec, 2) for spec in dims]
    x, w = (lnp.expand_dims(v, -1) for v in (x, w))
    y = lax.conv_general_dilated(
        x, w, (*strides, 1), [(0, 0)], (*holes, 1), (*dilation, 1), ConvDimensionNumbers(*specs), groups, batches
    )
    return lnp.squeeze(y, -1)
