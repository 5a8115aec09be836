"""Run two perfectly nested loops as one.

    before                                     after loop-coalesce{outer=i inner=j}
    loop.for parallel %i = 0 to 3 {            loop.for parallel %i = 0 to 12 {
      loop.for parallel %j = 0 to 4 {            %a = loop.load %x[%i]
        %a = loop.load %x[%i * 4 + %j]           loop.store %a, %y[%i floordiv 4, %i mod 4]
        loop.store %a, %y[%i, %j]              }
      }
    }

The new loop has the name of the outer one. Requires loops of one kind without carried values, from 0 to constants, with step 1,
whose variables occur in subscripts and bounds alone. Iterations keep their order, so this is always legal. Returns the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.loop.loops import ForOp, KernelOp
from ...dialects.loop.memory import LoadOp, StoreOp
from ..analysis.affine import Affine, Part, as_map
from ..analysis.bounds import set_bounds
from ..analysis.nests import find, name_of, only_loop_in, statements
from ..analysis.regions import lowers, uppers
from .base import Primitive
from .cloning import redirect, remove, subscripts
from .reorder import imperfection
from .rewriting import take_body


@dataclass(frozen=True)
class Coalesce(Primitive):
    """`outer` and `inner`, which is its whole body, become one loop."""

    name = "loop-coalesce"
    outer: str
    inner: str

    def check(self, kernel: KernelOp) -> None:
        outer, inner = (find(kernel, name, self.name) for name in (self.outer, self.inner))
        if only_loop_in(outer) is not inner or len(statements(outer.body.block)) > 1:
            raise self.refuse(f"the loops are not perfectly nested: {imperfection(outer, inner)}")
        if outer.kind != inner.kind:
            raise self.refuse(f"{self.outer} is {outer.kind.data}, {self.inner} {inner.kind.data}")
        for loop in (outer, inner):
            if loop.results:
                raise self.refuse(f"{name_of(loop)} carries values")
            bounds = loop.constant_bounds()
            if bounds is None or bounds[0] != 0 or loop.step.value.data != 1:
                raise self.refuse(f"{name_of(loop)} does not run from 0 to a number with step 1")
            for use in loop.index.uses:
                if not isinstance(use.operation, LoadOp | StoreOp | ForOp):
                    raise self.refuse(f"{name_of(loop)} is used by '{use.operation.name}'")

    def rewrite(self, kernel: KernelOp) -> tuple[str, ...]:
        outer, inner = (find(kernel, name, self.name) for name in (self.outer, self.inner))
        count, size, block = outer.trip_count() or 0, inner.trip_count() or 0, outer.parent
        assert block is not None
        i, one = outer.index, inner.index  # the new loop reuses the body of the inner loop, and so its index
        for op in dict.fromkeys(use.operation for index in (i, one) for use in index.uses):
            if isinstance(op, ForOp):
                bounds = [as_map([_joined(form, i, one, size) for form in found]) for found in (lowers(op), uppers(op))]
                set_bounds(op, *((map.results, values) for map, values in bounds))
            else:
                assert isinstance(op, LoadOp | StoreOp)
                redirect(op, op.buffer, [_joined(form, i, one, size) for form in subscripts(op)])
        body = take_body(inner)
        new = ForOp.build_loop(0, count * size, kind=outer.kind.data, body=body, name=self.outer)
        new.location, new.dynamic = outer.location, outer.dynamic
        block.insert_op_before(new, outer)
        remove(outer)
        return (self.outer,)


def _joined(form: Affine, i: SSAValue, j: SSAValue, size: int) -> Affine:
    """An expression over the variables of an outer loop and an inner one of `size`, written over the second alone."""
    parts = [atom for atom in form.terms if isinstance(atom, Part)]
    if form.terms.get(i, 0) == form.terms.get(j, 0) * size and not any(
        {i, j} & {*part.x.values(), *part.y.values()} for part in parts
    ):
        return Affine({atom: c for atom, c in form.terms.items() if atom is not i}, form.constant)
    return form.substitute({i: Affine.of(j) // size, j: Affine.of(j).mod(size)})
