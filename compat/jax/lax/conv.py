"""`lamina.lax`: convolutions under jax's names, with any dimension numbers, over `graph.conv`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ....api import Tracer, array_function, broadcast_tracer, build, lift, lift_as, token
from ....api.dtypes import canonical, result_type
from ....api.errors import DTypeError, ShapeError
from ....api.sizes import dilated_size
from ....library.numpy.axes_and_shapes import reshape_tracer, reverse_tracer, static_int, static_shape, transpose_tracer
from ....library.numpy.contract import contract

Dims = Sequence[int]


class ConvDimensionNumbers(NamedTuple):
    """Where the dims of a convolution stand.

    Attributes:
        lhs_spec: of images, (batch, features, spatial ...).
        rhs_spec: of filters, (result features, features of a group, spatial ...).
        out_spec: of the result, (batch, features, spatial ...).
    """

    lhs_spec: Dims
    rhs_spec: Dims
    out_spec: Dims


def conv_dimension_numbers(lhs_shape: Dims, rhs_shape: Dims, dimension_numbers: Any) -> ConvDimensionNumbers:
    """`jax.lax.conv_dimension_numbers`: from three words as ("NHWC", "HWIO", "NHWC"); None has features first.

    Raises:
        ShapeError: ranks differ, or the words do not name each dim once.
    """
    rank = len(lhs_shape)
    if len(rhs_shape) != rank:
        raise ShapeError(f"convolution needs operands of one rank, got {list(lhs_shape)} and {list(rhs_shape)}")
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if dimension_numbers is None:
        in_order = tuple(range(rank))
        return ConvDimensionNumbers(in_order, in_order, in_order)
    words = tuple(dimension_numbers)
    if len(words) != 3 or any(len(word) != rank or len(set(word)) != rank for word in words):
        raise ShapeError(f"dimension_numbers must be three words of {rank} different letters, got {dimension_numbers!r}")
    image, filters, out = words
    if any(a not in word for word, letters in ((image, "NC"), (filters, "OI"), (out, "NC")) for a in letters):
        raise ShapeError(f"dimension_numbers need N and C of images and results, O and I of filters, got {dimension_numbers!r}")
    letters = [a for a in filters if a not in "OI"]
    if any(set(word) - set("NC") != set(letters) for word in (image, out)):
        raise ShapeError(f"dimension_numbers must name one set of spatial dims, got {dimension_numbers!r}")

    def spec(word: str, first: str) -> Dims:
        return tuple(word.index(a) for a in (*first, *letters))

    return ConvDimensionNumbers(spec(image, "NC"), spec(filters, "OI"), spec(out, "NC"))


def padtype_to_pads(in_shape: Dims, window_shape: Dims, window_strides: Dims, padding: Any) -> list[tuple[int, int]]:
    """`jax.lax.padtype_to_pads`: the padding of each dim that "SAME", "SAME_LOWER" or "VALID" means; pairs stay as they are.

    Raises:
        ShapeError: there is no such word, or there is not one pair for each dim.
    """
    if not isinstance(padding, str):
        pads = [static_shape(pair) for pair in padding]
        if len(pads) != len(in_shape) or any(len(pair) != 2 for pair in pads):
            raise ShapeError(f"padding needs a pair for each of {len(in_shape)} dims, got {padding!r}")
        return [(low, high) for low, high in pads]
    word = padding.upper()
    if word not in ("SAME", "SAME_LOWER", "VALID"):
        raise ShapeError(f"padding must be 'SAME', 'SAME_LOWER', 'VALID' or pairs, got {padding!r}")
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for n, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-n // stride) - 1) * stride + window - n, 0)
        low = total // 2 if word == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def _operands(lhs: Any, rhs: Any, preferred: Any) -> tuple[Tracer, Tracer, np.dtype[Any] | None]:
    """Operands of one dtype, and the dtype that the result is converted to."""
    x, w = lift(lhs), lift(rhs)
    dtype = result_type([token(x), token(w)])
    wanted = None if preferred is None else canonical(preferred)
    if wanted is not None and wanted.itemsize >= dtype.itemsize:
        dtype = wanted
    if dtype.kind == "b":
        raise DTypeError("convolution needs numbers, got bool: convert with .astype")
    return lift_as(x, dtype), lift_as(w, dtype), wanted


def _row(values: Any, n: int, what: str) -> tuple[int, ...]:
    row = (1,) * n if values is None else static_shape(values)
    if len(row) != n:
        raise ShapeError(f"{what} needs a number for each of {n} spatial dims, got {list(row)}")
    return row


@array_function
def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.conv_general_dilated`: a convolution, without mirroring the filters, of one or more spatial dims.

    Args:
        lhs: images; `dimension_numbers` say where dims stand.
        rhs: filters, each with the features of one group.
        window_strides: a number a spatial dim.
        padding: "SAME", "SAME_LOWER", "VALID", or a pair (low, high) a spatial dim; negative ones cut.
        lhs_dilation, rhs_dilation: distances of neighbouring elements of images and of filters.
        dimension_numbers: three words as ("NHWC", "HWIO", "NHWC"), `ConvDimensionNumbers`, or None: features first.
        feature_group_count: groups that features are divided into.
        batch_group_count: groups that images are divided into, each with filters of its own.
        preferred_element_type: the dtype of the result; sums are rounded to it, or computed in it where it is wider.

    Raises:
        ShapeError: shapes, groups, padding or dimension numbers do not go together.
    """
    x, w, wanted = _operands(lhs, rhs, preferred_element_type)
    dn = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    n = x.ndim - 2
    if n < 1:
        raise ShapeError(f"convolution needs a spatial dim, got operands {list(x.shape)} and {list(w.shape)}")
    strides = _row(window_strides, n, "window_strides")
    holes, dilation = _row(lhs_dilation, n, "lhs_dilation"), _row(rhs_dilation, n, "rhs_dilation")
    if isinstance(padding, str) and holes != (1,) * n:
        raise ShapeError("padding in words is not defined for dilated images: give pairs, or use conv_transpose")
    windows = [dilated_size(w.shape[d], by) for d, by in zip(dn.rhs_spec[2:], dilation, strict=True)]
    pads = padtype_to_pads([x.shape[d] for d in dn.lhs_spec[2:]], windows, strides, padding)
    groups, batches = static_int(feature_group_count, "feature_group_count"), static_int(batch_group_count, "batch_group_count")
    if batches != 1:
        if groups != 1:
            raise ShapeError(f"only one of feature_group_count and batch_group_count may be above 1, got {groups}, {batches}")
        x, groups = _batches_as_features(x, dn.lhs_spec, batches), batches
    dims: dict[str, Any] = {
        name: () if tuple(spec) == tuple(range(n + 2)) else tuple(spec)
        for name, spec in (("x_dims", dn.lhs_spec), ("w_dims", dn.rhs_spec), ("y_dims", dn.out_spec))
    }
    y = build(
        "conv",
        x,
        w,
        stride=strides,
        low=[low for low, _ in pads],
        high=[high for _, high in pads],
        base_dilation=() if holes == (1,) * n else holes,
        dilation=() if dilation == (1,) * n else dilation,
        **dims,
        groups=groups,
        tile=(),
    )
    return y if wanted is None else lift_as(y, wanted)


def _batches_as_features(x: Tracer, spec: Dims, groups: int) -> Tracer:
    """Images in groups: those of one index in their groups as one image, with their features concatenated."""
    batch, feature = spec[:2]
    if groups < 1 or x.shape[batch] % groups:
        raise ShapeError(f"batch_group_count must divide the batch, got {groups} and {x.shape[batch]}")
    each = x.shape[batch] // groups
    x = reshape_tracer(x, (*x.shape[:batch], groups, each, *x.shape[batch + 1 :]))
    at = feature + (feature > batch)
    order = [d for d in range(x.ndim) if d != batch]
    order.insert(order.index(at), batch)
    x = transpose_tracer(x, order)
    sizes = list(x.shape)
    k = order.index(batch)
    sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
    return reshape_tracer(x, tuple(sizes))


def conv(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """`jax.lax.conv`: `conv_general_dilated` with features first."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, preferred_element_type=preferred_element_type)


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.conv_with_general_padding`: `conv_general_dilated` with features first, and dilations."""
    given = (lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation)
    return conv_general_dilated(*given, preferred_element_type=preferred_element_type)


@array_function
def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.conv_transpose`: a convolution of images dilated by `strides`.

    Args:
        lhs, rhs: images and filters, features last if there are no `dimension_numbers`.
        strides: a number a spatial dim, also that by which sizes grow.
        padding: "SAME" and "VALID" undo what they do for a convolution with these strides; pairs are added to the images.
        rhs_dilation: distances of neighbouring elements of filters.
        transpose_kernel: mirror the filters and exchange their two dims of features, for the gradient of a convolution.

    Raises:
        ShapeError: as for `conv_general_dilated`.
    """
    x, w = lift(lhs), lift(rhs)
    n = x.ndim - 2
    if dimension_numbers is None:
        letters = "DHW"[-n:] if n <= 3 else "".join(map(str, range(n)))
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    dn = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    steps, dilation = _row(strides, n, "strides"), _row(rhs_dilation, n, "rhs_dilation")
    windows = [dilated_size(w.shape[d], by) for d, by in zip(dn.rhs_spec[2:], dilation, strict=True)]
    if isinstance(padding, str):
        padding = [_transposed_padding(k, s, padding.upper()) for k, s in zip(windows, steps, strict=True)]
    if transpose_kernel:
        w = reverse_tracer(w, dn.rhs_spec[2:])
        swapped = (dn.rhs_spec[1], dn.rhs_spec[0], *dn.rhs_spec[2:])
        dn = ConvDimensionNumbers(dn.lhs_spec, swapped, dn.out_spec)
    return conv_general_dilated(x, w, (1,) * n, padding, steps, dilation, dn, preferred_element_type=preferred_element_type)


def _transposed_padding(window: int, stride: int, word: str) -> tuple[int, int]:
    if word not in ("SAME", "VALID"):
        raise ShapeError(f"padding of conv_transpose must be 'SAME', 'VALID' or pairs, got {word!r}")
    if word == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    else:
        total, low = window + stride - 2 + max(window - stride, 0), window - 1
    return low, total - low


@array_function
def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`jax.lax.conv_general_dilated_patches`: the windows of images, their elements as features (features slowest)."""
    x, window = lift(lhs), static_shape(filter_shape)
    dn = conv_dimension_numbers(x.shape, x.shape, dimension_numbers)
    features, size = x.shape[dn.lhs_spec[1]], prod(window)
    # one filter for each element of a window, the same ones for each feature
    one = np.eye(size, dtype=x.dtype).reshape(1, size, 1, *window)
    filters = reshape_tracer(broadcast_tracer(lift(one), (features, *one.shape[1:])), (features * size, 1, *window))
    order = [0] * x.ndim
    for k, d in enumerate(dn.rhs_spec):
        order[d] = k
    return conv_general_dilated(
        x,
        transpose_tracer(filters, order),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dn,
        features,
        preferred_element_type=preferred_element_type,
    )


@array_function
def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    filter_shape: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """`jax.lax.conv_general_dilated_local`: a convolution with filters of its own at each point.

    Args:
        rhs: filters `[result features, features * elements of a window, spatial sizes of the result ...]`, at `rhs_spec`.
    """
    x, w = lift(lhs), lift(rhs)
    dn = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    patches = conv_general_dilated_patches(x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, dn)
    # [spatial ..., result features, batch]
    y = contract(w, patches, ((dn.rhs_spec[1],), (dn.out_spec[1],)), (dn.rhs_spec[2:], dn.out_spec[2:]))
    n = x.ndim - 2
    order = [0] * x.ndim
    for k, d in enumerate((n + 1, n, *range(n))):
        order[dn.out_spec[k]] = d
    return transpose_tracer(y, order)
