"""Attention in blocks of queries whose weights stay in the second-level cache.

The loops (`dialects/graph/attention.py`) handle one query at a time, and keep a row for it in local buffers:

    for i in queries {                          for io in blocks of queries {
      query[d] = ...          for all d           query[d, ii] = ...       for all ii, d
      weights[j] = sum ...    for all keys j      weights[j, ii] = sum ... for all j, ii
      reductions of weights                  =>   reductions of weights    for all ii
      out[i, e] = sum ...     for all e           out[io + ii, e] = ...    for all ii, e
    }                                           }

Here all queries of a block take each of these steps before the next one (`loop-hoist`, `loop-expand`, `loop-fission`). They
fill vector lanes, so that maxima, sums and exponentials need no reduction across lanes. Both products get register tiles. The
last block computes as many queries as the others (`loop-pad`) and stores only those that exist.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod

from ...codegen.targets import Target
from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import AllocOp, LoadOp
from ...thresholds import number
from ..analysis.lanes import stored_bits
from ..analysis.nests import buffer_name, is_inside, loops, name_of, ops_in, statements
from ..schedule.expand import Expand
from ..schedule.fission import Fission
from ..schedule.hoist import Hoist
from ..schedule.pad import Pad
from ..schedule.reorder import Reorder
from ..schedule.set_layout import SetLayout
from ..schedule.sink import Sink
from ..schedule.split import Split
from .base import Take, attempt
from .block_product import find_block_product, is_sum, tile_block_product

QUERIES = number("attention.QUERIES")
LEAST = number("attention.LEAST")
FEW_QUERIES = number("attention.FEW_QUERIES")


@dataclass(frozen=True)
class Attention:
    """A loop over queries; an iteration fills local buffers, reduces one of them and multiplies by it.

    Attributes:
        queries: the loop.
        buffers: the local buffers of an iteration.
        fills: the loops that fill them; the last one reads the products.
        total: the last reduction of the buffers.
        dims: the loop over the products with the buffers.
    """

    queries: ForOp
    buffers: list[AllocOp]
    fills: list[ForOp]
    total: ForOp
    dims: ForOp

    @property
    def count(self) -> int:
        """The number of queries."""
        return self.queries.trip_count() or 0

    def size_of_block(self, target: Target) -> int:
        """Enough queries to share loads well, fewer where their rows would take more than half of the second-level cache."""
        row = sum(prod(op.buffer.type.get_shape()) for op in self.buffers) * stored_bits(self.queries) // 8
        size = QUERIES
        while size > LEAST and size * row > target.l2_bytes // 2:
            size //= 2
        return min(size, self.count)

    def arguments(self) -> tuple[str, ...]:
        """The buffers that are read at one query."""
        loads = [op for op in ops_in(self.queries, LoadOp) if self.queries.index in op.indices]
        return tuple(dict.fromkeys(buffer_name(op.buffer) for op in loads))


def find_attention(queries: ForOp) -> Attention | None:
    """The parts of an iteration; keys and values must be the same for all queries."""
    inside = statements(queries.body.block)
    allocs, nests = [op for op in inside if isinstance(op, AllocOp)], [op for op in inside if isinstance(op, ForOp)]
    fills = list(itertools.takewhile(lambda loop: not loop.results, nests))
    reductions = nests[len(fills) : -1]
    if not (allocs and fills and reductions) or queries.kind.data != "parallel" or queries.trip_count() is None:
        return None
    if any(loop.monoid is None for loop in reductions) or not all(_shares(queries, x) for x in (fills[-1], nests[-1])):
        return None
    return Attention(queries, allocs, fills, reductions[-1], nests[-1])


def _shares(queries: ForOp, products: ForOp) -> bool:
    """Whether a loop holds one sum, and this sum reads an operand that is invariant in `queries`."""
    sums = [op for op in products.body.block.ops if isinstance(op, ForOp)]
    if products.results or len(sums) != 1 or not is_sum(sums[0]):
        return False
    loads = [op for op in statements(sums[0].body.block) if isinstance(op, LoadOp)]
    return any(queries.index not in op.indices and not is_inside(op.buffer, queries) for op in loads)


def schedule_attention(kernel: KernelOp, target: Target, take: Take) -> None:
    """Let the queries of a block take each step together, and tile their products."""
    found = [parts for loop in ops_in(kernel, ForOp) if (parts := find_attention(loop)) is not None]
    if len(found) != 1 or found[0].count < FEW_QUERIES:
        return
    (parts,) = found
    size, is_ragged, arguments = parts.size_of_block(target), parts.count % parts.size_of_block(target), parts.arguments()
    buffers, fills = [buffer_name(op.buffer) for op in parts.buffers], [name_of(loop) for loop in parts.fills]
    total, keys = name_of(parts.total), fills[-1]
    block, rest = take(Split(name_of(parts.queries), size))
    attempt(Sink(keys), take)  # a bias of the query
    for buffer in buffers:
        take(Hoist(buffer))
    (results,) = take(Expand(total, block))
    nests: list[str] = []
    for fill in fills:
        first, rest = take(Fission(rest, fill))
        nests.append(first)
    take(Reorder((keys, nests[-1])))
    for nest in (*nests, rest) if is_ragged else ():
        take(Pad(nest, size, arguments))
    for buffer in buffers:
        take(SetLayout(buffer, (1, 0)))
    for nest in (keys, results):
        if (product := find_block_product(loops(kernel)[nest])) is not None:
            tile_block_product(kernel, product, target, take)
