"""The numbers that decide the default schedule: value, unit, what each trades, and the walk of a benchmark on both sides of it.

A strategy reads its rows by name, as `number("blocked.LEAST_ROWS")`; loop forms of ops and passes on graphs do, too, as
`number("graph.scatter.MAX_PARTS")` and `number("target.gram.GRAM_BANDS")`. What follows from a machine, as how many rows fit a
cache, is computed from its target instead (`codegen/targets`). `benchmarks/bench_cliffs.py` has the walks: it prints times at
sizes around a threshold, where a wrong one shows as a cliff. Nothing there compares sizes with other numbers
(tests/meta/test_thresholds.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Threshold(NamedTuple):
    """A number, its unit, what it trades against what, and the walk of `bench_cliffs.py` that shows both sides."""

    value: int | float
    unit: str
    trades: str
    walk: str


def number(name: str) -> int:
    """The value of a row that counts something."""
    value = THRESHOLDS[name].value
    assert isinstance(value, int)
    return value


def ratio(name: str) -> float:
    """The value of a row that is a factor or an estimate."""
    return float(THRESHOLDS[name].value)


THRESHOLDS: Mapping[str, Threshold] = {
    "attention.FEW_QUERIES": Threshold(
        8, "queries", "Fewer queries do not fill vectors; such kernels vectorize over keys and dims.", "attention: queries"
    ),
    "attention.LEAST": Threshold(16, "queries", "Least number of queries that are worth a block.", "attention: queries"),
    "attention.QUERIES": Threshold(
        64,
        "queries",
        "Queries in a block: keys and values are read once a block, whose scores stay in the caches.",
        "attention: queries",
    ),
    "base._SMALL_TILE": Threshold(
        8,
        "rows",
        "Largest tile with remainders of every number of rows; larger ones have two a power of two.",
        "few rows: rows",
    ),
    "batched_small._LEAST": Threshold(
        4, "problems", "Least number of problems; fewer do not repay the transposition into lanes.", "small products: problems"
    ),
    "block_product._LEAST_SUMS": Threshold(
        8, "sums", "Independent sums that hide the latency of their additions.", "rows of products: rows"
    ),
    "block_product._MANY_SUMS": Threshold(
        24, "sums", "Registers of sums from which a tile has four vectors of columns, not two.", "rows of products: rows"
    ),
    "block_product.ROWS": Threshold(
        64, "rows", "Assumed divisor of a number of rows that is not static, in rows.", "rows of products: rows"
    ),
    "blocked.LEAST_WORK": Threshold(
        4 << 20, "multiplications", "Least number of multiplications for which packing pays.", "matrix @ matrix: rows"
    ),
    "blocked.LEAST_SIDE": Threshold(
        32,
        "rows, columns",
        "Least number of rows and of columns for which packed panels are read often enough.",
        "matrix @ matrix: rows",
    ),
    "blocked.LEAST_ROWS": Threshold(
        192, "rows", "Number of rows from which both operands are packed, if the depth is not large.", "matrix @ matrix: rows"
    ),
    "blocked.LEAST_DEPTH": Threshold(
        128,
        "terms",
        "Least terms in a block of the depth, however small the caches are: each block costs a pass over the sums.",
        "matrix @ matrix: depth",
    ),
    "blocked.WIDEST": Threshold(
        576,
        "columns",
        "Most columns in a block: their packed panel is read once for every block of rows.",
        "matrix @ matrix: columns",
    ),
    "blocked.WIDTH_BYTES": Threshold(
        8 << 20, "bytes", "Largest packed panel of the right operand, in bytes.", "matrix @ matrix: columns"
    ),
    "blocked.HIGHEST": Threshold(264, "rows", "Rows in a block of an operand that is read in place.", "matrix @ matrix: rows"),
    "blocked.LEAST_TILES": Threshold(
        6,
        "tiles",
        "Least tiles of rows that read a packed panel of columns: it comes from beyond L2 once for all of them.",
        "matrix @ matrix: rows",
    ),
    "blocked.FEWEST_TILES": Threshold(
        4, "tiles", "The same where higher blocks of rows would be too few for all threads.", "matrix @ matrix: rows"
    ),
    "blocked.AHEAD": Threshold(
        16,
        "rows",
        "Rows of the operand that packing prefetches: the parts copied may each lie in a different page, "
        "where no hardware prefetches.",
        "matrix @ matrix: depth",
    ),
    "blocked.UNROLLED": Threshold(8, "terms", "Most terms of the sums of a tile that are unrolled.", "matrix @ matrix: depth"),
    "blocked.WRITTEN_OUT": Threshold(
        48,
        "multiplications",
        "Multiplications in the unrolled body of a tile: with fewer, loop overhead shows; more only take longer to compile.",
        "matrix @ matrix: depth",
    ),
    "blocked.MANY_ROWS": Threshold(
        256, "rows", "Number of rows from which there are blocks of rows for all threads.", "matrix @ matrix: rows"
    ),
    "butterflies._LEAST_STREAMS": Threshold(
        8, "stores", "Least number of stores in the body of a pass: four complex numbers.", "Fourier transform: length"
    ),
    "convolutions.UNROLLED": Threshold(
        8,
        "elements",
        "Largest window along its last dim, in elements of all sums, that is unrolled; a larger one is a loop.",
        "convolution: window",
    ),
    "convolutions.WINDOW": Threshold(
        9, "elements", "Largest window of several stride phases that is unrolled, in elements.", "convolution: window"
    ),
    "convolutions.DEEPEST": Threshold(
        32,
        "features",
        "Features of an image whose products are summed in one pass: each feature is in different pages, and "
        "rounding errors stay small. Half or twice as many take up to a fifth longer.",
        "convolution: features",
    ),
    "convolutions.LEAST_CHUNK": Threshold(
        32,
        "features",
        "Result features that are worth a block: each block reads the image once.",
        "convolution: result features",
    ),
    "convolutions.RAGGED": Threshold(
        1.05,
        "ratio",
        "Largest ratio of the times of equal blocks of rows and of blocks with a remainder, which needs code of its own.",
        "convolution: rows",
    ),
    "depthwise_and_pooling.UNROLLED": Threshold(
        25,
        "elements",
        "Largest window that is unrolled, in elements; larger windows are loops.",
        "depthwise convolution: window",
    ),
    "elementwise._BLOCK": Threshold(
        256, "vectors", "Vectors in a block: a few pages of memory, read in order.", "tanh: elements"
    ),
    "indexed._REGISTERS": Threshold(4, "registers", "Most vector registers for one row.", "gather: row"),
    "indexed._BAGS": Threshold(2, "sums", "Sums over gathered rows that are interleaved.", "sums of gathered rows: row"),
    "indexed._AHEAD": Threshold(
        16, "rows", "Rows prefetched before they are read: about as many as memory delivers during its latency.", "gather: row"
    ),
    "indexed._ROWS": Threshold(
        8,
        "rows",
        "Rows that are interleaved: more than the latency of an addition in instructions.",
        "sums of gathered rows: row",
    ),
    "loop_tiles._MANY_REGISTERS": Threshold(
        32, "registers", "Vector registers from which a row of a tile has four vectors, not two.", "rows of products: rows"
    ),
    "loop_tiles._ROWS_AT_PLACES": Threshold(
        2, "rows", "Rows that are jammed without any shared operand.", "rows of products: rows"
    ),
    "loops._LEAST_TRIPS": Threshold(
        4, "iterations", "Least number of iterations that repay their conversion to vectors.", "small products: problems"
    ),
    "loops._MOST_COPIED": Threshold(
        256, "ops", "Most ops that the copies of a short loop inside of a vector loop may have.", "convolution: window"
    ),
    "loops._MOST_PAIRS": Threshold(
        48,
        "pairs",
        "Most pairs of accesses that are tested for dependences of one loop, at about 0.3 ms each.",
        "stencil: rows",
    ),
    "loops._FEW": Threshold(8, "iterations", "Least number of iterations for threads to share.", "few rows: rows"),
    "loops._BLOCK": Threshold(
        64, "vectors", "Vectors in a chunk of a loop that is both vectorized and shared by threads.", "tanh: elements"
    ),
    "matvec.ROWS": Threshold(8, "rows", "Rows of the matrix that are read at once.", "vector @ matrix: depth"),
    "matvec.BLOCK": Threshold(
        1024,
        "columns",
        "Most columns in a block: their sums stay in the first-level cache, and a row of the block is a page or two.",
        "vector @ matrix: columns",
    ),
    "matvec.LEAST_BLOCKS": Threshold(
        4, "blocks", "Least number of blocks: narrower matrices are better read otherwise.", "vector @ matrix: columns"
    ),
    "matvec.LEAST_ELEMENTS": Threshold(
        1 << 16,
        "bytes",
        "Least size of the matrix, in bytes: a smaller one stays in the caches in any order.",
        "vector @ matrix: depth",
    ),
    "matvec.LEAST_ROW_BYTES": Threshold(
        16 << 10,
        "bytes",
        "Least length of a row of a matrix times a vector, in bytes: shorter rows are a few pages, which "
        "hardware prefetches well.",
        "matrix @ vector: depth",
    ),
    "multiversion.FEW": Threshold(32, "rows", "Most rows for which a matrix is read in place.", "few rows: rows"),
    "multiversion.LEAST_WORK": Threshold(
        1 << 12,
        "multiplications",
        "Least multiplications per row: smaller products take as long as a call.",
        "few rows: columns",
    ),
    "prefetches._AHEAD": Threshold(
        8 << 10,
        "bytes",
        "Prefetch distance in bytes: about the data that arrives during the latency of memory.",
        "softmax: row",
    ),
    "prefetches._AHEAD_OF_PASSES": Threshold(
        4 << 10,
        "bytes",
        "Prefetch distance in bytes for rows of several passes, which leave more time; at least a row.",
        "softmax: row",
    ),
    "prefetches._LONG": Threshold(
        1 << 10,
        "bytes",
        "Least length of a part of a row, in bytes, for which most prefetched elements are read by the same loop.",
        "softmax: row",
    ),
    "product_nest.LEAST_DEPTH": Threshold(
        4, "terms", "Least number of terms of a sum that is worth a register tile.", "matrix @ matrix: depth"
    ),
    "product_nest.DEEPEST": Threshold(
        4096,
        "terms",
        "Most terms that are added one after the other: rounding errors grow with their number (docs/semantics.md).",
        "matrix @ matrix: depth",
    ),
    "product_nest.LEAST_SUMS": Threshold(
        12,
        "sums",
        "Independent sums of a tile that hide the latency of additions, with some to spare: 8 take a tenth longer.",
        "matrix @ matrix: depth",
    ),
    "product_nest.GROUPS": Threshold(
        512,
        "tiles",
        "Deeper sums over a matrix that is read once are added in groups of this many tiles of its rows.",
        "matrix @ vector: depth",
    ),
    "recurrences._AT_ONCE": Threshold(
        4.0, "instructions", "Instructions that a processor starts in a cycle.", "running sums: rows"
    ),
    "recurrences._LEAST": Threshold(
        1.5,
        "ratio",
        "Least number of times that the ops of an iteration fit into its latency, for rows to be jammed.",
        "running sums: rows",
    ),
    "recurrences._MOST_ROWS": Threshold(8, "rows", "Most rows at once: more run out of registers.", "running sums: rows"),
    "recurrences._MOST_OPS": Threshold(
        48, "ops", "Most ops in a row's loops: longer ones are overlapped less than they spill registers.", "running sums: rows"
    ),
    "reductions.ALIGNED": Threshold(
        64, "iterations", "Divisor of the length of long parts, in iterations: whole vectors of elements.", "sum: elements"
    ),
    "roots._PRODUCTS": Threshold(
        6, "instructions", "Instructions for half of the square roots of a vector by multiplications.", "square roots: elements"
    ),
    "roots._LEAST_LANES": Threshold(
        32,
        "lanes",
        "The same for a vector of two AVX-512 registers; the divider computes the roots of one.",
        "square roots: elements",
    ),
    "skinny._LEAST_VECTORS": Threshold(
        4, "vectors", "Least depth of sums that are added on lanes and reduced at the end.", "few rows, transposed: depth"
    ),
    "skinny.ROWS_OF_REGISTER": Threshold(
        4,
        "rows",
        "Most rows of the result, for each vector register of the target: a tile of the right operand in "
        "registers serves this many rows in the time in which packing would pay.",
        "few rows: rows",
    ),
    "skinny.LEAST_BYTES": Threshold(
        2 << 20,
        "bytes",
        "Least size of the right operand, in bytes: a smaller one stays in the caches, where tiles with the "
        "most rows are faster.",
        "few rows: columns",
    ),
    "skinny.COLUMNS_OF_DOTS": Threshold(
        6,
        "columns",
        "Columns in a tile where both operands run along the depth: the number of uses of each element of a row.",
        "few rows, transposed: columns",
    ),
    "skinny.DEPTH_OF_DOTS": Threshold(
        1024,
        "terms",
        "Terms that such a tile adds before it reduces across lanes: their operands fit the first-level cache.",
        "few rows, transposed: depth",
    ),
    "skinny.LEAST_BLOCKS": Threshold(
        8,
        "blocks",
        "Least number of blocks of columns. More, for more threads, would read narrow strips: of 512 bytes half as fast again.",
        "few rows: columns",
    ),
    "sums.GROUP": Threshold(
        128, "iterations", "Iterations in a group, and groups that are added one after the other.", "sum: elements"
    ),
    "sums.GROUP_OF_PRODUCTS": Threshold(
        512,
        "iterations",
        "Iterations in a group of products, which may belong to a register tile: at its end the tile is "
        "stored and loaded once. Rows that fill no tile are added in the same order.",
        "matrix @ matrix: depth",
    ),
    "sums.FEW": Threshold(
        32,
        "iterations",
        "Most iterations that may continue from a number in memory: starting from zero would take a tenth longer.",
        "softmax: row",
    ),
    "sweeps.STRIP": Threshold(
        32,
        "rows",
        "Rows in a strip: with rows of some KB they fit the second-level cache, and few are at an edge.",
        "stencil: rows",
    ),
    "sweeps._MOST_HALO": Threshold(4, "rows", "Most rows that a strip computes again for its neighbours.", "stencil: rows"),
    "threads._MANY_SUMS": Threshold(
        8, "sums", "Number of sums of a loop that occupy most of the registers.", "column sums: columns"
    ),
    "tiled.TILES_OF_A_PANEL": Threshold(
        4, "tiles", "Least tiles of rows that read a panel of columns for which packing pays.", "matrix @ matrix: rows"
    ),
    "tiled.LEAST_DEPTH_OF_NARROW": Threshold(
        16,
        "terms",
        "Least terms of sums of fewer columns than a vector has lanes, which wastes lanes: with fewer terms "
        "other loops are as fast.",
        "matrix @ matrix: depth",
    ),
    "transposes._MOST_OPS": Threshold(
        24,
        "ops",
        "Most ops in a body that is copied for each row of a tile: a larger one computes rather than moves.",
        "transpose: rows",
    ),
    "transposes._IN_TILE": Threshold(
        6.0, "instructions", "An element in a tile: load, store and shuffles of a row, shared by its lanes.", "transpose: rows"
    ),
    "transposes._BESIDE": Threshold(2.5, "instructions", "An element outside of all tiles.", "transpose: rows"),
    "winograd.VECTORS": Threshold(
        4, "vectors", "Vectors of result features in a block of filters.", "convolution: result features"
    ),
    "graph.attention.CAUSAL_BLOCK": Threshold(
        64,
        "queries",
        "A larger block computes more weights that are 0; loops over a smaller one have no room for tiles.",
        "causal attention: queries",
    ),
    "graph.conv_loops.FEW_TAPS": Threshold(
        8,
        "window elements",
        "Most along the last dim in all phases of rows that are unrolled: longer code against a loop over equal phases.",
        "strided convolution: window",
    ),
    "graph.conv_loops.FEW_PHASES": Threshold(
        4,
        "phases",
        "Most that are each copied by loops of their own: constant bounds against more loops.",
        "strided convolution: stride",
    ),
    "graph.scatter.MAX_PARTS": Threshold(
        4, "parts", "Most independent parts of slices, for threads: each of them reads all indices.", "scatter: row"
    ),
    "graph.scatter._LINE_BYTES": Threshold(
        128,
        "bytes",
        "Smallest granule of a part, two cache lines: threads that share lines wait for each other.",
        "scatter: row",
    ),
    "graph.shape._FEW_IN_TURNS": Threshold(
        4,
        "operands",
        "Most operands of a stack that are stored together, as vectors that interleave them: more need more registers.",
        "stack: arrays",
    ),
    "graph.pad._LARGE": Threshold(
        1 << 16,
        "elements",
        "Smallest operand around which only the padding is filled: a nest for each side against a test at each element.",
        "padding: elements",
    ),
    "transforms.fusion_costs.MAX_WORK": Threshold(
        512,
        "ops",
        "Most code of a kernel: code generation is superlinear in basic blocks, against one more pass over memory.",
        "chain of ops: ops",
    ),
    "transforms.fusion_costs.MANY": Threshold(
        8,
        "ops",
        "Code of an op of more than an instruction or two: a function, or one with loops of its own.",
        "chain of functions: ops",
    ),
    "transforms.fusion_costs.MAX_POINTS": Threshold(
        8,
        "points",
        "Most compute-at points of a value in one kernel: with more it is better kept in memory.",
        "value read at shifts: shifts",
    ),
    "transforms.fusion_costs.FEW_TIMES": Threshold(
        64,
        "conversions",
        "Most conversions of an element of a large operand by a contraction, against one more pass over memory.",
        "converted matrix: rows",
    ),
    "transforms.fusion_costs.LARGE": Threshold(
        1 << 19,
        "elements",
        "Least size of an operand that caches do not hold once it is converted.",
        "converted matrix: columns",
    ),
    "transforms.fusion_costs.SHORT_BYTES": Threshold(
        128, "bytes", "Least contiguous bytes that are worth reading out of order.", "softmax of columns: columns"
    ),
    "transforms.fusion_costs.COLUMN_BYTES": Threshold(
        1 << 20,
        "bytes",
        "Most bytes of a column of long pieces that caches keep from one pass over it to the next.",
        "softmax of blocks: rows",
    ),
    "transforms.fusion_costs.ROW_BYTES": Threshold(
        256,
        "bytes",
        "Most bytes of a row of neighbouring columns that run together: vectors and lines against rows that caches keep.",
        "softmax of columns: columns",
    ),
    "transforms.fusion_costs.BLOCK_BYTES": Threshold(
        128 << 10,
        "bytes",
        "Most bytes of all rows, in different cache lines, of neighbouring columns that run together.",
        "softmax of columns: rows",
    ),
    "transforms.fusion_costs.FEW": Threshold(
        8, "parts", "Fewer parts of a kernel leave threads idle.", "softmax of blocks: parts"
    ),
    "transforms.fourier.MOST_PRIME": Threshold(
        43,
        "points",
        "Largest prime factor that has a pass of its own; longer ones are transformed as convolutions of powers of two.",
        "Fourier transform: prime factor",
    ),
    "transforms.fourier.ROW": Threshold(
        1 << 14,
        "elements",
        "Longest row that is transformed as one: its parts, twice, fit the second-level cache.",
        "long Fourier transform: length",
    ),
    "transforms.fourier.MOST_TWIST": Threshold(
        16,
        "values",
        "Approximate number of values of the last digit of a column: their roots stay in the second-level cache.",
        "long Fourier transform: length",
    ),
    "transforms.repeats.MOST_SLICED": Threshold(
        1 << 14,
        "elements",
        "Largest strided slice that may differ between equal layers: a copy of it against code for each layer.",
        "layers of columns: column",
    ),
    "transforms.if_to_select.SLOW": Threshold(
        8,
        "ops",
        "Weight of an elementwise op that is not cheap, in cheap ops: both branches are computed against a jump.",
        "branch: elements",
    ),
    "transforms.if_to_select.MOST": Threshold(
        256,
        "ops",
        "Most elements that both branches compute, weighted, against a jump and what it does not compute.",
        "branch: elements",
    ),
    "target.gram.GRAM_BANDS": Threshold(
        4,
        "bands",
        "Bands of a symmetric product: 5/8 of the multiplications remain; each further band is another kernel.",
        "x @ x.T: rows",
    ),
    "target.gram.GRAM_LEAST": Threshold(256, "rows", "Least number whose bands keep all registers busy.", "x @ x.T: rows"),
    "target.gram.GRAM_LEAST_WORK": Threshold(
        1 << 26,
        "multiplications",
        "Smallest product, a quarter of which takes longer than compiling and launching the bands.",
        "x @ x.T: depth",
    ),
    "target.pack_dots.LEAST_WORK": Threshold(
        1 << 16, "multiplications", "Smallest product of small integers for which packing pays.", "product of bytes: depth"
    ),
    "target.pack_dots.LEAST_SIDE": Threshold(
        8, "rows", "Fewest rows and columns for which packed operands are read often enough.", "product of bytes: rows"
    ),
    "target.polyphase._MOVED": Threshold(
        6,
        "multiplications",
        "Storing and interleaving a vector of results, in multiplications of vectors, against multiplying zeros.",
        "transposed convolution: features",
    ),
    "target.winograd.GAIN": Threshold(
        1.25,
        "times",
        "Smallest estimated speedup over the direct form for which an algorithm is chosen.",
        "convolution: features",
    ),
    "target.winograd._EFFICIENCY": Threshold(
        0.75, "of the peak", "Speed of its product, with 16 lanes.", "convolution: features"
    ),
    "target.winograd._IMAGE": Threshold(
        12.0,
        "cycles",
        "A point of a vector of tiles of the image: its instructions and waiting for memory.",
        "convolution: features",
    ),
    "target.winograd._FILTERS": Threshold(9.0, "cycles", "A point of a vector of filters.", "convolution: result features"),
    "target.winograd._RESULTS": Threshold(
        6.0, "cycles", "A point of a vector of tiles of the result.", "convolution: result features"
    ),
    "target.winograd._MOVED": Threshold(1.0, "cycles", "Moving an element to another order of dims.", "convolution: rows"),
}
