"""Run a parallel loop on threads.

    before                                  after loop-use-threads{loop=i}
    loop.for parallel %i = 0 to 64 {        loop.for parallel %i = 0 to 64 threads {

Threads take ranges of iterations, of `collapse` nested loops where the outermost has too few: each of these is the last op of
the loop around it, and the ops before it are computed by every thread that has a part of it. With `interchange` a thread with
several iterations moves the sequential loop that forms their whole body outside them: it visits the rows of a sum over segments
once, whatever the number of its columns. With `align` its share of the columns begins at a cache line.

Requires a parallel loop, none around it on threads. Legal when the loops may be divided together (repeated ops are local),
interchanged (the inner bounds do not depend on the loop) and aligned (a part of the columns may begin anywhere), which is
proved again when the loops are translated. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.loop.loops import ForOp, KernelOp
from ..analysis.nests import around, find, name_of, ops_in
from ..analysis.placement import obstacle, place_on_threads, remove_from_threads
from .base import Primitive


@dataclass(frozen=True)
class UseThreads(Primitive):
    """`loop` runs on threads, divided together with the next loops, `collapse` of them in all."""

    name = "loop-use-threads"
    keeps_lines = True
    places = True
    loop: str
    collapse: int = 1
    interchange: bool = False
    align: bool = False

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if loop.kind.data != "parallel":
            raise self.refuse(f"'{self.loop}' is {loop.kind.data}: parallelize it first")
        beside = [*around(loop), *ops_in(loop.body.block, ForOp)]
        placed = next((other for other in beside if other.threads is not None), None)
        if placed is not None:
            raise self.refuse(f"'{name_of(placed)}' runs on threads already")
        if any(other.outlined is not None for other in (loop, *around(loop))):
            raise self.refuse("an outlined loop runs in the thread that meets it")
        if loop.dynamic is not None and self.interchange:
            raise self.refuse(f"'{self.loop}' is dynamic, and an interchanged loop has one chunk a thread")
        if self.collapse < 1 or (self.collapse > 1 and self.interchange) or (self.align and not self.interchange):
            raise self.refuse("collapse is 1 or more, interchange is for one loop, align for one that is interchanged")
        place_on_threads(loop, self.collapse, interchange=self.interchange, align=self.align)
        reason = obstacle(loop)
        remove_from_threads(loop)
        if reason is not None:
            raise self.refuse(reason)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        place_on_threads(loop, self.collapse, interchange=self.interchange, align=self.align)
        return (self.loop,)
