"""Let the iterations of a loop run in any order or concurrently; the outermost such loop can run on threads.

    before                                  after loop-parallelize{loop=i}
    loop.for seq %i = 0 to %N {             loop.for parallel %i = 0 to %N {
      %a = loop.load %x[%i]                   %a = loop.load %x[%i]
      loop.store %a, %y[%i]                   loop.store %a, %y[%i]
    }                                       }

With `schedule=dynamic` there are many small chunks, and whoever is free takes the next: for iterations that take different
times, as rows of a triangle or of a sparse matrix. An atomic addition a chunk, about 50 ns. Results are the same, bit for bit.

Requires a loop without carried values. Legal when no two of its iterations touch one element, one of them writing. Returns the
loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import StringAttr, UnitAttr

from ...dialects.loop.loops import KernelOp
from ..analysis.dependence import CannotDecide, carried_conflict
from ..analysis.nests import find
from .base import Primitive


@dataclass(frozen=True)
class Parallelize(Primitive):
    """`loop` becomes `parallel`; `schedule` is "static", a few chunks a thread, or "dynamic", many."""

    name = "loop-parallelize"
    loop: str
    schedule: Literal["static", "dynamic"] = "static"

    def check(self, kernel: KernelOp) -> None:
        loop = find(kernel, self.loop, self.name)
        if self.schedule not in ("static", "dynamic"):
            raise self.refuse(f"schedule must be static or dynamic, got {self.schedule}")
        if loop.interchange is not None and self.schedule == "dynamic":
            raise self.refuse(
                "threads go through all rows of this loop, in one chunk each: take use_threads without interchange"
            )
        if loop.results:
            kind = loop.kind.data + (f"<{loop.monoid.data}>" if loop.monoid is not None else "")
            raise self.refuse(f"the {kind} loop carries values from one iteration to the next")
        try:
            conflict = carried_conflict(loop)
        except CannotDecide as error:
            raise self.refuse(f"cannot decide: {error}") from None
        if conflict is not None:
            raise self.refuse(f"two iterations touch one element: {conflict}", conflict)

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        loop = find(kernel, self.loop, self.name)
        loop.properties["kind"] = StringAttr("parallel")
        loop.dynamic = UnitAttr() if self.schedule == "dynamic" else None
        return (self.loop,)
