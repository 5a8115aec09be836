"""The grain of parallel loops: into how many chunks work is divided, by its sizes alone.

A parallel region is a loop whose iterations run on threads (`lowering/strategies/threads.py` says which loops those are). Its
iterations are the chunks that threads may take; the runtime hands out ranges of them. What a chunk computes, and in which order
partial sums are added, must not depend on how many threads there are, so everything that divides work asks this module, which
knows no number of threads:

* **A region is worth threads from `WORTH_OPS` operations on.** That is 10 us of work, which workers that are awake share in
  less. Smaller regions are loops like any other: nothing is outlined.
* **A chunk has at least `LEAST_CHUNK_OPS`.** To take one costs about 50 ns, an atomic addition on a cache line that all threads
  share, so a chunk of 5 us keeps the cost at one percent. A region of less than `CHUNKS` such chunks has fewer.
* **Large regions have `CHUNKS` chunks or more**, as many as a large processor has cores, so that none is idle.
* **Chunks are shared evenly** (`is_even`): 65 chunks keep 63 of 64 threads waiting for half of the time. From three rounds
  on what is uneven is at most a quarter of the time; below, the number of chunks has to be just under a multiple.

Where the outermost loop has too few iterations, the loops in it are divided, too: the chunks of a perfect nest of parallel
loops are those of all of them. What stands between two such loops, as the panel that a block of columns packs, is computed by
each thread that comes by; `MOST_AGAIN` bounds it.

Partial sums are the one division that changes results, by rounding: `MOST_PARTS` keeps combining them cheap.
"""

from __future__ import annotations

WORTH_OPS = 1 << 15
"""Operations of scalars, at about 0.3 ns each, from which on a region is worth threads."""

LEAST_CHUNK_OPS = 1 << 14
"""Operations of a chunk at least."""

CHUNKS = 64
"""Chunks of a large region at least."""

LEAST_EVEN = 0.75
"""Which part of the time `CHUNKS` threads work at least, of chunks that are alike."""

TYPICAL_TRIPS = 64
"""What a loop runs of which nothing is known, where the work of a region is counted at run time."""

MOST_AGAIN = 1 / 24
"""How much may be computed again by each thread, compared with what is divided."""

MOST_PARTS = 64
"""Partial results at most, which one thread combines."""


def is_even(count: int) -> bool:
    """Whether `CHUNKS` threads, and any smaller number that is a power of two, share so many chunks about evenly.

    >>> [n for n in (1, 48, 63, 64, 65, 95, 96, 129, 143, 144, 1000) if is_even(n)]
    [63, 64, 96, 144, 1000]
    """
    rounds = -(-count // CHUNKS)
    return count >= LEAST_EVEN * CHUNKS * rounds and count > LEAST_EVEN * CHUNKS


def wanted(work: float) -> int:
    """How many chunks a region of so much work should have at least; 1 where it is not worth threads.

    >>> wanted(1000), wanted(WORTH_OPS), wanted(10 * WORTH_OPS), wanted(1e9)
    (1, 2, 20, 64)
    """
    return 1 if work < WORTH_OPS else int(min(CHUNKS, work // LEAST_CHUNK_OPS))


def uneven(count: int) -> float:
    """How much longer two threads, or four where chunks are few, take for chunks that are alike than for one that can be cut.

    Where sizes of blocks are chosen by cost this counts what a small processor waits; a large one has enough chunks or waits.

    >>> [round(uneven(count), 2) for count in (1, 3, 4, 5, 7, 9)]
    [1.0, 1.33, 1.0, 1.6, 1.14, 1.11]
    """
    team = 4 if count < 8 else 2
    return -(-count // team) * team / count if count > 1 else 1.0
