"""The grain of parallel loops: into how many chunks work is divided, by its sizes alone.

A parallel region is a loop whose iterations run on threads (`lowering/strategies/threads.py` says which loops those are). Its
iterations are the chunks that threads may take; the runtime hands out ranges of them. What a chunk computes, and in which order
partial sums are added, must not depend on how many threads there are, so all code that divides work asks this module, to which
the number of threads is unknown:

* **A region is worth threads from `WORTH_OPS` operations on.** That is 10 us of work; awake workers share it in less
  time. Smaller regions stay ordinary loops: nothing is outlined.
* **A chunk has at least `LEAST_CHUNK_OPS`.** Taking a chunk costs about 50 ns, an atomic addition on a cache line that all
  threads share, so a chunk of 5 us keeps the cost at one percent. A region with less work than `CHUNKS` such chunks has fewer.
* **Large regions have `CHUNKS` chunks or more**, as many as a large processor has cores, so that none is idle.
* **Chunks are shared evenly** (`is_even`): 65 chunks keep 63 of 64 threads waiting for half of the time. From three rounds
  on what is uneven is at most a quarter of the time; below, the number of chunks has to be just under a multiple.

Where the outermost loop has too few iterations, the loops in it are divided as well: the chunks of a perfect nest of parallel
loops are those of all of them. Code between two such loops, such as the packing of a panel for a block of columns, is executed
by each thread; `MOST_AGAIN` bounds it.

Partial sums are the one division that changes results, by rounding: `MOST_PARTS` keeps combining them cheap.
"""

from __future__ import annotations

WORTH_OPS = 1 << 15
"""Smallest work for which a region uses threads, in scalar operations of about 0.3 ns each."""

LEAST_CHUNK_OPS = 1 << 14
"""Smallest work of a chunk, in scalar operations."""

CHUNKS = 64
"""Smallest number of chunks of a large region."""

LEAST_EVEN = 0.75
"""Smallest fraction of the time for which `CHUNKS` threads are busy, with equal chunks."""

TYPICAL_TRIPS = 64
"""Assumed number of iterations of a loop with unknown bounds, where the work of a region is counted at run time."""

MOST_AGAIN = 1 / 24
"""Largest work that each thread may repeat, as a fraction of the divided work."""

MOST_PARTS = 64
"""Largest number of partial results, which one thread combines."""


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
