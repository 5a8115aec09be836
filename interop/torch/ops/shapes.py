"""Ops that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ....api.sizes import Size
from ....library.numpy import namespace as lnp
from ..errors import NeedsSize, TorchError, UnsupportedOp
from ..nodes import Call, along, array, axis_of, is_constant, known, need_known, op, promoted

FAR = 1 << 62


@op("view", "reshape", "_unsafe_view", "_reshape_copy", "view_copy")
def view(call: Call, x: Any, size: Sequence[Any]) -> Any:
    return x.reshape(tuple(size))


@op("flatten")
def flatten(call: Call, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if not x.ndim:
        return x.reshape((1,))
    first, last = axis_of(start_dim, x.ndim), axis_of(end_dim, x.ndim)
    return x.reshape((*x.shape[:first], -1, *x.shape[last + 1 :]))


@op("permute", "permute_copy")
def permute(call: Call, x: Any, dims: Sequence[int]) -> Any:
    return lnp.transpose(x, tuple(axis_of(d, x.ndim) for d in dims)) if x.ndim else x


@op("transpose", "transpose_copy", "t", "swapaxes")
def transpose(call: Call, x: Any, first: int = 0, second: int = 1) -> Any:
    return x if x.ndim < (2 if call.op == "t" else 1) else lnp.swapaxes(x, axis_of(first, x.ndim), axis_of(second, x.ndim))


@op("expand", "expand_copy", "broadcast_to")
def expand(call: Call, x: Any, size: Sequence[Any], implicit: bool = False) -> Any:
    """Broadcast; -1 keeps a size."""
    new = len(size) - x.ndim
    return lnp.broadcast_to(x, tuple(x.shape[i - new] if known(n) and n == -1 else n for i, n in enumerate(size)))


@op("broadcast_in_dim")
def broadcast_in_dim(call: Call, x: Any, shape: Sequence[Any], dims: Sequence[int]) -> Any:
    """An op of torch's prims: dims of the array become the named ones of the result."""
    places = iter(x.shape)
    return lnp.broadcast_to(x.reshape(tuple(next(places) if d in dims else 1 for d in range(len(shape)))), tuple(shape))


@op("unsqueeze", "unsqueeze_copy")
def unsqueeze(call: Call, x: Any, dim: int) -> Any:
    return lnp.expand_dims(x, axis_of(dim, x.ndim + 1))


@op("squeeze", "squeeze_copy")
def squeeze(call: Call, x: Any, dim: Any = None) -> Any:
    """Without the dims of size 1, all or some; others stay."""
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dropped = {axis_of(d, x.ndim) for d in dims} if x.ndim else set()
    return x.reshape(tuple(n for i, n in enumerate(x.shape) if i not in dropped or not known(n) or n != 1))


@op("cat", "concat")
def cat(call: Call, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined along a dim; vectors without elements fit anything, as they always did in torch."""
    dtype = promoted(*tensors)
    rank = max(x.ndim for x in tensors)
    kept = [array(x, dtype) for x in tensors if not (x.ndim == 1 and rank > 1 and known(x.shape[0]) and x.shape[0] == 0)]
    return lnp.concatenate(kept, axis_of(dim, rank))


@op("stack")
def stack(call: Call, tensors: Sequence[Any], dim: int = 0) -> Any:
    dtype = promoted(*tensors)
    return lnp.stack([array(x, dtype) for x in tensors], axis_of(dim, tensors[0].ndim + 1))


@op("repeat")
def repeat(call: Call, x: Any, repeats: Sequence[Any]) -> Any:
    new = len(repeats) - x.ndim
    sizes = (*[1] * new, *x.shape)
    x = lnp.broadcast_to(
        x.reshape(tuple(v for n in sizes for v in (1, n))), tuple(v for p in zip(repeats, sizes, strict=True) for v in p)
    )
    return x.reshape(tuple(r * n for r, n in zip(repeats, sizes, strict=True)))


@op("repeat_interleave.self_int")
def repeat_interleave(call: Call, x: Any, repeats: int, dim: Any = None, **kwargs: Any) -> Any:
    x, dim = (x.reshape((-1,)), 0) if dim is None else (x, dim)
    return lnp.repeat(x, repeats, axis_of(dim, x.ndim))


@op("flip")
def flip(call: Call, x: Any, dims: Sequence[int]) -> Any:
    return lnp.flip(x, tuple(axis_of(d, x.ndim) for d in dims)) if dims else x


@op("roll")
def roll(call: Call, x: Any, shifts: Any, dims: Any = ()) -> Any:
    return lnp.roll(x, tuple(shifts), tuple(dims)) if dims else lnp.roll(x.reshape((-1,)), shifts[0]).reshape(x.shape)


@op("select", "select_copy")
def select(call: Call, x: Any, dim: int, index: Any) -> Any:
    axis = axis_of(dim, x.ndim)
    n = x.shape[axis]
    if known(index, n) and not is_constant(index) and hasattr(index, "__index__") and not -n <= index < n:
        raise TorchError(f"index {index} is none of dim {dim} of size {n}")
    return x[along(x.ndim, axis, index)]


def slice_of(n: Any, start: Any, end: Any, step: Any) -> slice:
    """The slice of a dim of size n, whose ends are clamped to it, a negative one after n is added."""
    start, end = 0 if start is None else start, FAR if end is None else end
    if known(n, start, end):
        start, end = (min(max(v + n if v < 0 else v, 0), n) for v in (start, end))
        return slice(start, max(start, end), step)
    return slice(start, None if known(end) and end >= FAR else end, step)


@op("slice", "slice_copy")
def slice_(call: Call, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    axis = axis_of(dim, x.ndim)
    return x[along(x.ndim, axis, slice_of(x.shape[axis], start, end, step))]


@op("narrow")
def narrow(call: Call, x: Any, dim: int, start: Any, length: Any) -> Any:
    axis = axis_of(dim, x.ndim)
    return x[along(x.ndim, axis, slice_of(x.shape[axis], start, start + length, 1))]


@op("select_scatter")
def select_scatter(call: Call, x: Any, source: Any, dim: int, index: Any) -> Any:
    return x.at[along(x.ndim, axis_of(dim, x.ndim), index)].set(array(source, x.dtype))


@op("slice_scatter")
def slice_scatter(call: Call, x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    axis = axis_of(dim, x.ndim)
    n = x.shape[axis]
    chosen = slice_of(n, start, end, step)
    if chosen == slice(0, n, 1):
        return lnp.broadcast_to(array(source, x.dtype), x.shape)
    return lnp.asarray(x).at[along(x.ndim, axis, chosen)].set(array(source, x.dtype))


@op("split", "split_with_sizes", "split_copy", "split_with_sizes_copy")
def split(call: Call, x: Any, sizes: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, x.ndim)
    n = x.shape[axis]
    if not isinstance(sizes, Sequence):
        need_known("a split", n)
        sizes = [min(sizes, n - i) for i in range(0, n, max(sizes, 1))] or [0]
    ends = list(accumulate(sizes, initial=0))
    return tuple(x[along(x.ndim, axis, slice(a, b))] for a, b in pairwise(ends))


@op("chunk")
def chunk(call: Call, x: Any, chunks: int, dim: int = 0) -> Any:
    n = x.shape[axis_of(dim, x.ndim)]
    need_known("chunk", n)
    return split(call, x, -(-n // chunks), dim)


@op("unbind", "unbind_copy")
def unbind(call: Call, x: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, x.ndim)
    need_known("unbind", x.shape[axis])
    return tuple(x[along(x.ndim, axis, i)] for i in range(x.shape[axis]))


@op("diagonal", "diagonal_copy")
def diagonal(call: Call, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return lnp.diagonal(x, offset, axis_of(dim1, x.ndim), axis_of(dim2, x.ndim))


@op("tril", "triu")
def triangle(call: Call, x: Any, diagonal: int = 0) -> Any:
    """Zeros above or below a diagonal."""
    rows, columns = lnp.arange(x.shape[-2])[:, None], lnp.arange(x.shape[-1])
    keep = columns - rows <= diagonal if call.op == "tril" else columns - rows >= diagonal
    return lnp.where(keep, x, lnp.zeros_like(x))


@op("as_strided", "as_strided_copy")
def as_strided(call: Call, x: Any, size: Sequence[Any], stride: Sequence[Any], offset: Any = None) -> Any:
    """Elements of the memory of an array: of one whose elements lie in order."""
    need_known("as_strided", *x.shape, *size, *stride)
    shape, first = [int(n) for n in x.shape], int(offset or 0)
    ordered, steps = 1, []
    for n in reversed(shape):
        steps.insert(0, ordered)
        ordered *= max(n, 1)
    placed = call.strides.get(0)
    order = list(range(len(shape)))
    if placed is not None and any(p != s for p, s, n in zip(placed, steps, shape, strict=True) if n > 1):
        order = sorted(order, key=lambda d: -placed[d])  # dims of torch's memory from the outermost
        dense = 1
        for d in reversed(order):
            if shape[d] > 1 and placed[d] != dense:
                raise UnsupportedOp(f"as_strided of memory with strides {list(placed)} is not supported")
            dense *= max(shape[d], 1)
    index = np.full([int(n) for n in size], first, np.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        index = index + (np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(size))])
    if index.size and not 0 <= index.min() <= index.max() < ordered:
        raise TorchError(f"as_strided reads outside of an array of {ordered} elements")
    return lnp.transpose(x, order).reshape((-1,))[index] if order else x.reshape((-1,))[index]


@op("unfold")
def unfold(call: Call, x: Any, dim: int, size: int, step: int) -> Any:
    """Windows of a dim, whose elements are a new last one."""
    axis = axis_of(dim, x.ndim)
    need_known("unfold", x.shape[axis])
    first = np.arange(0, x.shape[axis] - size + 1, step) if x.ndim else np.zeros(1, np.int64)
    windows = lnp.take(x, first[:, None] + np.arange(size), axis)
    return lnp.moveaxis(windows, axis + 1, -1)


@op("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle(call: Call, x: Any, factor: int) -> Any:
    """Features become pixels, or the other way round."""
    *batch, c, h, w = x.shape
    k = len(batch)
    if call.op == "pixel_shuffle":
        parts = x.reshape((*batch, c // factor**2, factor, factor, h, w))
        order = (*range(k), k, k + 3, k + 1, k + 4, k + 2)
        return lnp.transpose(parts, order).reshape((*batch, c // factor**2, h * factor, w * factor))
    parts = x.reshape((*batch, c, h // factor, factor, w // factor, factor))
    return lnp.transpose(parts, (*range(k), k, k + 2, k + 4, k + 1, k + 3)).reshape(
        (*batch, c * factor**2, h // factor, w // factor)
    )


# --------------------------------------------------------------------------------------------------------------------
# Elements around


def _around(call: Call, x: Any, pad: Sequence[Any], mode: str, **options: Any) -> Any:
    """torch's list of pads begins with the last dim; negative ones cut off."""
    pairs = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        pairs[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    if any(known(p) and p < 0 for pair in pairs for p in pair):
        need_known("a negative pad", *x.shape)
        index = tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi) in zip(x.shape, pairs, strict=True))
        x = x[index]
        pairs = [(max(lo, 0), max(hi, 0)) for lo, hi in pairs]
    return lnp.pad(x, pairs, mode, **options) if any(not known(p) or p for pair in pairs for p in pair) else x


@op("constant_pad_nd")
def constant_pad(call: Call, x: Any, pad: Sequence[Any], value: Any = 0) -> Any:
    return _around(call, x, pad, "constant", constant_values=array(value, x.dtype))


@op("pad")
def pad_(call: Call, x: Any, pad: Sequence[Any], mode: str = "constant", value: Any = None) -> Any:
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return constant_pad(call, x, pad, value or 0) if mode == "constant" else _around(call, x, pad, modes[mode])


for _rank in (1, 2, 3):
    op(f"reflection_pad{_rank}d")(lambda call, x, pad: _around(call, x, pad, "reflect"))
    op(f"replication_pad{_rank}d")(lambda call, x, pad: _around(call, x, pad, "edge"))


# --------------------------------------------------------------------------------------------------------------------
# Sizes


@op("sym_size")
def sym_size(call: Call, x: Any, dim: Any = None) -> Any:
    return tuple(x.shape) if dim is None else x.shape[axis_of(dim, x.ndim)]


@op("sym_numel")
def sym_numel(call: Call, x: Any) -> Any:
    total: Any = 1
    for n in x.shape:
        total = total * n
    return total


@op("sym_stride")
def sym_stride(call: Call, x: Any, dim: int) -> Any:
    placed = call.strides.get(0)
    n = placed[axis_of(dim, x.ndim)] if placed else None
    if not isinstance(n, int):
        raise NeedsSize("strides of dims of symbolic sizes are not known")
    return n


@op("sym_storage_offset")
def sym_storage_offset(call: Call, x: Any) -> Any:
    return 0


@op("sym_is_contiguous", "is_contiguous")
def is_contiguous(call: Call, x: Any) -> Any:
    return True


@op("item", "_local_scalar_dense")
def item(call: Call, x: Any) -> Any:
    """The number in a constant."""
    from ..errors import UnknownValue

    if is_constant(x):
        return x.reshape(-1)[0].item()
    raise UnknownValue("the number in an array is needed before the program runs: keep it an array, or pass it as a constant")


def is_size(x: Any) -> bool:
    """Whether a value is a size, known or symbolic."""
    return isinstance(x, int | Size)
