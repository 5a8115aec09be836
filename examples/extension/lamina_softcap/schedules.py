"""A schedule primitive, and a strategy of the default schedule that takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lamina import extend
from xdsl.dialects.builtin import StringAttr


@extend.register_primitive
@dataclass(frozen=True)
class UnrollShort(extend.Primitive):
    """Copy all iterations of a sequential loop of at most `most`.

    requires: a loop of kind `seq` that carries no value, from 0 to a number.
    after: its kind is `unroll`.
    """

    name = "loop-unroll-short"
    loop: str
    most: int = 4

    def check(self, kernel: extend.KernelOp) -> None:
        loop = extend.find_loop(kernel, self.loop, self.name)
        trips = loop.trip_count()
        if loop.kind.data != "seq" or loop.results:
            raise self.refuse(f"'{self.loop}' must be sequential and carry no value")
        if trips is None or trips > self.most:
            raise self.refuse(
                f"'{self.loop}' must run at most {self.most} times, it runs {trips or 'an unknown number of'} times"
            )

    def rewrite(self, kernel: extend.KernelOp) -> tuple[str, ...]:
        extend.find_loop(kernel, self.loop, self.name).properties["kind"] = StringAttr("unroll")
        return (self.loop,)


def schedule_short_rows(kernel: extend.KernelOp, target: extend.Target, take: extend.Take) -> None:
    """Unroll what runs two to four times, innermost, in kernels that copy nothing."""
    for name, loop in extend.loops(kernel).items():
        inner: Any = [op for op in loop.body.block.ops if op.regions]
        if not inner and loop.kind.data == "seq" and not loop.results and loop.trip_count() in (2, 3, 4):
            take(UnrollShort(name))


extend.register_strategy(
    extend.KernelStrategy(schedule_short_rows, leaves=frozenset((UnrollShort.name,)), order_free=False), before="loops"
)
