"""Compute 3x3 convolutions by Winograd's algorithm where that is faster. Option: `amplification` of the error bound.

Tiles of 2x2 or 4x4 results take 2.25 or 4 times fewer multiplications than the direct form, and some additions for each
element that is read or written; an estimate of cycles decides. The loop form (`conv_winograd.py`) wants features innermost, so
images are transposed where they are not: by ops of their own, which let elementwise ops after a convolution come first, and
cancel between two convolutions. Filters keep their layout: each is read once, and its transform is stored in the order
of reading.

Why not by primitive ops: the transforms would be kernels of their own, and their results, more than twice the image and four
times the filters, would go through memory rather than stay in the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...codegen.targets import Target
from ...dialects.graph.base import GraphOp, ints
from ...dialects.graph.builder import GraphBuilder
from ...dialects.graph.conv import TILES, ConvOp
from ...dialects.graph.conv_loops import has_open_windows
from ...dialects.graph.convolution import Convolution, pick
from ...dialects.graph.elementwise import ElementwiseOp
from ...dialects.graph.shape import BroadcastOp, TransposeOp
from ...dialects.graph.winograd_transforms import transforms
from ...dialects.sizes.polynomial import estimates
from ...dialects.types import DYNAMIC, element_of, shape_of
from ...errors import is_interruption
from ...lowering.analysis.nests import ops_in
from ...lowering.fallbacks import Fallback, record
from ...lowering.snapshot import Snapshot
from ...lowering.strategies.winograd import find_blocks
from ...lowering.target import target_of
from ...thresholds import ratio

GAIN = ratio("target.winograd.GAIN")
_EFFICIENCY = ratio("target.winograd._EFFICIENCY")
_IMAGE = ratio("target.winograd._IMAGE")
_FILTERS = ratio("target.winograd._FILTERS")
_RESULTS = ratio("target.winograd._RESULTS")
_MOVED = ratio("target.winograd._MOVED")
FEATURES_LAST = (0, 3, 1, 2)
"""Dims of images by their roles: batch, features, height, width."""


def direct_cycles(op: ConvOp, target: Target) -> float:
    """The estimated cycles of the direct form."""
    c = Convolution.of(op.properties)
    batch, depth, *_ = pick(op.shape(0), c.x_dims)
    filters = op.shape(1)[c.w_dims[0]]
    high, wide = pick(op.result_shape(), c.y_dims[2:])
    return 9 * batch * depth * filters * high * wide / (2 * target.lanes(32) * _EFFICIENCY)


def winograd_cycles(op: ConvOp, tile: int, target: Target) -> float:
    """The estimated cycles with tiles of `tile x tile` results."""
    c = Convolution.of(op.properties)
    batch, depth, *_ = pick(op.shape(0), c.x_dims)
    filters = op.shape(1)[c.w_dims[0]]
    high, wide = (ceil(n / tile) for n in pick(op.result_shape(), c.y_dims[2:]))
    blocks = find_blocks((batch, high, wide), depth, filters, (tile + 2) ** 2, target.lanes(32), target.l2_bytes)
    lanes = target.lanes(32)
    vectors = ceil(filters / lanes)
    points = (tile + 2) ** 2
    around = ceil(batch / blocks.images) * ceil(high / blocks.rows) * ceil(wide / blocks.width)
    tiles = around * blocks.tiles
    product = points * tiles * depth * vectors / (2 * _EFFICIENCY)
    transformed = tiles * ceil(depth / lanes) * _IMAGE + tiles * vectors * _RESULTS
    transformed += depth * vectors * _FILTERS * (1 if blocks.stay else around)
    moved = sum(_elements(value) for value, dim in ((op.x, c.x_dims[1]), (op.y, c.y_dims[1])) if dim != 3)
    return product + points * transformed + moved * _MOVED


def _elements(value: SSAValue) -> int:
    return prod(shape_of(value))


def choose_tile(op: ConvOp, amplification: float, target: Target) -> int:
    """How many results along a dim to compute at once; 1 for the direct form."""
    c = Convolution.of(op.properties)
    shapes = (*op.shape(0), *op.shape(1), *op.result_shape())
    element = element_of(op.results[0])
    if DYNAMIC in shapes or 0 in shapes or has_open_windows(op) or not c.has_tiles(element, pick(op.shape(1), c.w_dims[2:])):
        return 1
    if c.tile:
        return c.tile[0]
    with estimates():
        cycles = {1: direct_cycles(op, target) / GAIN}
        for tile, _ in TILES:
            if transforms(tile).amplification <= amplification:
                cycles[tile] = winograd_cycles(op, tile, target)
    return min(cycles, key=cycles.__getitem__)


def relayout(op: ConvOp, tile: int) -> None:
    """Replace a convolution by one in tiles, with features innermost."""
    b = GraphBuilder(InsertPoint.before(op), op.location)
    c = Convolution.of(op.properties)
    x, x_dims, y_dims = op.x, c.x_dims, c.y_dims
    if x_dims[1] != 3:
        x, x_dims = b.transpose(x, perm=(x_dims[0], x_dims[2], x_dims[3], x_dims[1])), FEATURES_LAST
    if y_dims[1] != 3:
        y_dims = FEATURES_LAST
    made = Convolution(c.stride, c.low, c.high, c.base_dilation, c.dilation, x_dims, c.w_dims, y_dims, 1, (tile, tile))
    y = b.conv(x, op.w, **made.properties())
    if y_dims != c.y_dims:
        # dim `c.y_dims[role]` of what was is dim `y_dims[role]` of what is
        y = b.transpose(y, perm=tuple(y_dims[c.y_dims.index(d)] for d in range(4)))
    _replace(op, y)
    last = y.owner
    while isinstance(last, TransposeOp):
        last = _sunk(last)


def _sunk(transpose: TransposeOp) -> TransposeOp | None:
    """Let the one elementwise op that uses a transposed value come first: `f(transpose(x), ...)` as `transpose(f(x, ...))`.

    So it runs where a convolution writes its results, and transposes meet those of the next convolution. The other operands
    must be broadcasts, whose values are known in any order of the dims; else nothing happens, and the result is None.
    """
    x, y, perm = transpose.operands[0], transpose.results[0], ints(transpose.properties["perm"])
    users = list({use.operation for use in y.uses})
    if len(users) != 1 or not isinstance(users[0], ElementwiseOp):
        return None
    user, b = users[0], GraphBuilder(InsertPoint.before(users[0]), users[0].location)
    spread = {o: o.owner for o in user.operands if isinstance(o.owner, BroadcastOp)}
    if any(o is not y and (o not in spread or _in_order(spread[o], perm) is None) for o in user.operands):
        return None
    operands = [x if o is y else _respread(b, spread[o], perm, x) for o in user.operands]
    below = b.transpose(b.insert(type(user).make(operands, user.properties)), perm=perm)
    _replace(user, below)
    transpose.detach()
    transpose.erase()
    return below.owner


def _in_order(op: BroadcastOp, perm: Sequence[int]) -> tuple[int, ...] | None:
    """The dims of the operand that are not of size 1, before a transpose of the result; None if their order changes."""
    dims = tuple(perm[d] for n, d in zip(op.shape(), ints(op.dims), strict=True) if n != 1)
    return dims if list(dims) == sorted(dims) else None


def _respread(b: GraphBuilder, op: BroadcastOp, perm: Sequence[int], like: SSAValue) -> SSAValue:
    """The broadcast whose result is the transpose of a broadcast."""
    dims = _in_order(op, perm)
    assert dims is not None
    sizes = tuple(n for n in op.shape() if n != 1)
    x = op.x if sizes == op.shape() else b.reshape(op.x, sizes)
    return b.broadcast(x, dims, shape_of(like))


def _replace(op: GraphOp, y: SSAValue) -> None:
    y.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(y)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class GraphWinogradPass(ModulePass):
    """Choose tiles for the convolutions without a `tile`, and bring tiled convolutions into the layout that they need.

    Attributes:
        amplification: how much larger the bound of the error may be than the direct form's (`Transforms.amplification`);
            below 16 there are no tiles, below 158 those of 2x2.
    """

    name = "graph-winograd"
    amplification: float = 200.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in ops_in(op, FuncOp):
            before: Snapshot | None = None
            try:
                for inner in ops_in(function, ConvOp):
                    tile = choose_tile(inner, self.amplification, target_of(op))
                    if tile > 1:
                        before = before or Snapshot(function)
                        relayout(inner, tile)
            except Exception as error:  # convolutions stay in the direct form
                if is_interruption(error):
                    raise
                if before is not None:
                    before.restore()
                record(Fallback(function.sym_name.data, self.name, None, error))
