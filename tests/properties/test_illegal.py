"""Schedules that would change what a kernel computes: each is refused, with a witness that holds when it is checked by hand.

The witness names two iterations, the sizes at which they happen and the element that both touch; `strategies.replay` evaluates
bounds and subscripts there. That the step had to be refused is shown by taking it all the same: the rewritten kernel computes
something else. Next to most kernels stands a neighbour for which the same step is legal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import lamina as lm
import numpy as np
import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.executor import kernels
from lamina.lowering.analysis.dependence import Conflict
from lamina.lowering.schedule.base import Primitive
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import MemRefType, ModuleOp

sys.path.insert(0, str(Path(__file__).parent))
import strategies

CONTEXT = make_context()


@dataclass(frozen=True)
class Case:
    """A kernel, steps of which the last is refused, what the refusal says, and what would be legal.

    Attributes:
        arrays: sizes of the arrays of the kernel; of those named p... the elements are positions (i64).
        body: the ops of the kernel; `%x:` is short for the type of `%x`.
        steps: the last one is illegal.
        reason: a part of the message, as a regular expression.
        witness: whether there is one.
        changes: whether the step, if it were taken, would change the results; None where it cannot be taken at all.
        legal: what makes the steps legal: a replacement in the body or in the steps.
        added: loops that the step lets run up to a number: the first iteration of the witness is one of these.
    """

    arrays: str
    body: str
    steps: str
    reason: str
    witness: bool = True
    changes: bool | None = True
    legal: tuple[str, str] | None = None
    added: Mapping[str, int] = field(default_factory=dict)

    def text(self, body: str) -> str:
        given: dict[str, str] = {}
        for one in re.findall(r"%\w+\[[^\]]*\]", self.arrays):
            name, sizes = one[:-1].split("[")
            given[name] = f"memref<{'?x' * len(sizes.split(','))}{'i64' if name[1] == 'p' else 'f32'}>"
        for name, type in given.items():
            body = body.replace(f"{name}:", type)
        symbols = [s for s in ("N", "M") if f"%{s}" in self.arrays + body]
        arguments = [*(f"{name}: {type}" for name, type in given.items()), *(f"%{s}: index" for s in symbols)]
        constants = "%zero = arith.constant 0.0 : f32\n%one = arith.constant 1.0 : f32\n%half = arith.constant 0.5 : f32\n"
        return f"loop.kernel @k({', '.join(arguments)}) shapes({self.arrays}) {{\n{constants}{body}\n}}"


ONE = {
    # parallelize
    "every iteration writes one element": Case(
        "%x[%N], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[0] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iterations i=0 and i=1 both write y\[0\] \(kernel.mlir:7\), with N=2",
        legal=("%y[0]", "%y[%i]"),
    ),
    "an iteration reads what the one before writes": Case(
        "%y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %b = arith.addf %a, %one : f32
             loop.store %b, %y[%i + 1] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=0 writes y\[1\] and iteration i=1 reads it \(kernel.mlir:8 and kernel.mlir:6\), with N=2",
        legal=("%y[%i + 1]", "%y[%i]"),
    ),
    "an iteration writes what the one before reads": Case(
        "%y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i + 1] : %y:
             loop.store %a, %y[%i] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=0 reads y\[1\] and iteration i=1 writes it",
    ),
    "the outer loop of a reduction into an array": Case(
        "%x[%N, %M], %y[%M]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[%j] : %y:
               %b = loop.load %x[%i, %j] : %x:
               %c = arith.addf %a, %b : f32
               loop.store %c, %y[%j] : %y:
             }
           }""",
        "loop-parallelize{loop=i}",
        r"i=0.* and .*i=1",
        legal=("{loop=i}", "{loop=j}"),
    ),
    "a temporary that iterations share": Case(
        "%x[%N], %y[%N]",
        """%t = loop.alloc stack : memref<1xf32>
           loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %t[0] : memref<1xf32>
             loop.for seq %j = 0 to 3 {
               %b = loop.load %t[0] : memref<1xf32>
               %c = arith.addf %b, %one : f32
               loop.store %c, %t[0] : memref<1xf32>
             }
             %d = loop.load %t[0] : memref<1xf32>
             loop.store %d, %y[%i] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iterations i=0 and i=1 both write t\[0\]",
        changes=False,  # the interpreter runs whole iterations
        legal=(
            "%t = loop.alloc stack : memref<1xf32>\n           loop.for seq %i = 0 to %N {",
            "loop.for seq %i = 0 to %N {\n%t = loop.alloc stack : memref<1xf32>",
        ),
    ),
    "iterations that meet modulo 4": Case(
        "%x[%N + 7], %y[%N + 4]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i mod 4] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iterations i=0 and i=4 both write y\[0\].*N=5",
        legal=("0 to %N {", "3 to 7 {"),
    ),
    "two iterations to a half": Case(
        "%x[%N], %y[%N]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i floordiv 2] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"both write y\[\d\]",
        legal=("%i = 0 to %N {", "%i = 0 to %N step 2 {"),
    ),
    "even places written, all read": Case(
        "%y[%N + %N]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %b = arith.addf %a, %one : f32
             loop.store %b, %y[%i * 2] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=1 writes y\[2\] and iteration i=2 reads it",
        legal=("load %y[%i]", "load %y[%i * 2 + 1]"),
    ),
    "two loops whose sum is the place": Case(
        "%x[%N, %M], %y[%N + %M]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %x[%i, %j] : %x:
               loop.store %a, %y[%i + %j] : %y:
             }
           }""",
        "loop-parallelize{loop=i}",
        r"iterations i=0, j=1 and i=1, j=0 both write y\[1\]",
        legal=("{loop=i}", "{loop=j}"),
    ),
    "a distance that is a size": Case(
        "%x[%M], %y[%N + %M]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %b = arith.addf %a, %one : f32
             loop.store %b, %y[%i + %M] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=0 writes y\[1\] and iteration i=1 reads it.*M=1",
        legal=("0 to %N", "0 to min(%N, %M)"),
    ),
    "the diagonal of a triangle": Case(
        "%y[%N, %N]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %i + 1 {
               %a = loop.load %y[%j, %j] : %y:
               %b = arith.addf %a, %one : f32
               loop.store %b, %y[%i, %j] : %y:
             }
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=0 writes y\[0, 0\] and iteration i=1 reads it",
        legal=("load %y[%j, %j]", "load %y[%j, %i]"),
    ),
    "a step that is not the distance": Case(
        "%y[%N + 4]",
        """loop.for seq %i = 0 to %N step 2 {
             %a = loop.load %y[%i] : %y:
             %b = arith.addf %a, %one : f32
             loop.store %b, %y[%i + 4] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"iteration i=0 writes y\[4\] and iteration i=4 reads it",
        legal=("%i + 4]", "%i + 3]"),
    ),
    "a reduce loop": Case(
        "%x[%N], %y[%N + 1]",
        """%s = loop.for reduce<add> %i = 0 to %N init %zero : f32 {
             %a = loop.load %x[%i] : %x:
             loop.yield %a : f32
           }
           loop.store %s, %y[0] : %y:""",
        "loop-parallelize{loop=i}",
        r"the reduce<add> loop carries values from one iteration to the next",
        witness=False,
        changes=None,
    ),
    "a place from data": Case(
        "%x[%N], %y[%N + 1], %p[%N]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             %q = loop.load %p[%i] : %p:
             %at = arith.index_cast %q : i64 to index
             loop.store %a, %y[%at] : %y:
           }""",
        "loop-parallelize{loop=i}",
        r"cannot decide: a subscript of y depends on data",
        witness=False,
        legal=("%a, %y[%at]", "%a, %y[%i]"),
    ),
    "an access under a condition": Case(
        "%x[%N], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             %big = arith.cmpf ogt, %a, %zero : f32
             loop.if %big { loop.store %a, %y[0] : %y: }
           }""",
        "loop-parallelize{loop=i}",
        r"cannot decide: an access to y stands under a condition",
        witness=False,
        legal=("%a, %y[0]", "%a, %y[%i]"),
    ),
    # reorder, tile
    "a wavefront": Case(
        "%y[%N + 1, %M + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[%i, %j + 1] : %y:
               %b = arith.addf %a, %one : f32
               loop.store %b, %y[%i + 1, %j] : %y:
             }
           }""",
        "loop-reorder{loops=j,i}",
        r"two dependent iterations would be reordered: iteration i=0, j=1 writes y\[1, 1\] and iteration i=1, j=0 reads it",
        legal=("%y[%i, %j + 1]", "%y[%i, %j]"),
    ),
    "a wavefront in tiles": Case(
        "%y[%N + 1, %M + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[%i, %j + 1] : %y:
               %b = arith.addf %a, %one : f32
               loop.store %b, %y[%i + 1, %j] : %y:
             }
           }""",
        "loop-tile{loops=i,j sizes=4,4}",
        r"two dependent iterations would be reordered: iteration i=\d, j=\d writes",
        legal=("sizes=4,4", "sizes=1,4"),
    ),
    "reads against the order": Case(
        "%y[%N + 1, %M + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[%i + 1, %j] : %y:
               %b = arith.addf %a, %one : f32
               loop.store %b, %y[%i, %j + 1] : %y:
             }
           }""",
        "loop-reorder{loops=j,i}",
        r"iteration i=0, j=1 reads y\[1, 1\] and iteration i=1, j=0 writes it",
        legal=("%y[%i, %j + 1]", "%y[%i, %j]"),
    ),
    "two loops of a sum": Case(
        "%x[%N, %M], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[0] : %y:
               %b = loop.load %x[%i, %j] : %x:
               %c = arith.addf %a, %b : f32
               loop.store %c, %y[0] : %y:
             }
           }""",
        "loop-reorder{loops=j,i}",
        r"i=0, j=1.* i=1, j=0.*; reassociate=true allows that",
        legal=("loops=j,i}", "loops=j,i reassociate=true}"),
    ),
    "two sums that do not commute": Case(
        "%x[%N, %M], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[0] : %y:
               %b = loop.load %x[%i, %j] : %x:
               %c = arith.subf %b, %a : f32
               loop.store %c, %y[0] : %y:
             }
           }""",
        "loop-reorder{loops=j,i reassociate=true}",
        r"i=0, j=1.* i=1, j=0",
        legal=("arith.subf %b, %a", "arith.addf %b, %a"),
    ),
    "a triangle turned": Case(
        "%x[%N, %N], %y[%N, %N]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = %i to %N {
               %a = loop.load %x[%i, %j] : %x:
               loop.store %a, %y[%i, %j] : %y:
             }
           }""",
        "loop-reorder{loops=j,i}",
        r"the bounds of j depend on i, which would be inside",
        witness=False,
        changes=None,
        legal=("%j = %i to", "%j = 0 to"),
    ),
    "loops with something between": Case(
        "%x[%N, %M], %y[%N, %M]",
        """loop.for seq %i = 0 to %N {
             loop.store %zero, %y[%i, 0] : %y:
             loop.for seq %j = 0 to %M {
               %a = loop.load %x[%i, %j] : %x:
               loop.store %a, %y[%i, %j] : %y:
             }
           }""",
        "loop-reorder{loops=j,i}",
        r"the loops are not perfectly nested: the body of i is not just one loop, it also has 'loop.store'",
        witness=False,
        changes=None,
        legal=("loop.store %zero, %y[%i, 0] : %y:\n", ""),
    ),
    # vectorize
    "a recurrence on vectors": Case(
        "%x[%N], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %b = loop.load %x[%i] : %x:
             %c = arith.addf %a, %b : f32
             loop.store %c, %y[%i + 1] : %y:
           }""",
        "loop-vectorize{loop=i lanes=4}",
        r"iterations less than 4 apart depend on one another: iteration i=0 writes y\[1\] and iteration i=1 reads it",
        legal=("%y[%i] : %y:\n             %b", "%y[%i + 1] : %y:\n             %b"),
    ),
    "a distance of two with four lanes": Case(
        "%x[%N], %y[%N + 2]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %b = loop.load %x[%i] : %x:
             %c = arith.addf %a, %b : f32
             loop.store %c, %y[%i + 2] : %y:
           }""",
        "loop-vectorize{loop=i lanes=4}",
        r"iteration i=0 writes y\[2\] and iteration i=2 reads it",
        legal=("lanes=4", "lanes=2"),
    ),
    "a carried scalar on vectors": Case(
        "%x[%N], %y[%N + 1]",
        """%s = loop.for seq %i = 0 to %N carry %v = %zero : f32 {
             %a = loop.load %x[%i] : %x:
             %b = math.fma %v, %half, %a : f32
             loop.yield %b : f32
           }
           loop.store %s, %y[0] : %y:""",
        "loop-vectorize{loop=i lanes=4}",
        r"the loop carries %v from iteration to iteration",
        witness=False,
        changes=None,
    ),
    "an outer loop whose iterations meet askew": Case(
        "%y[%N + 1, %M + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %j = 0 to %M {
               %a = loop.load %y[%i, %j + 1] : %y:
               %b = arith.addf %a, %one : f32
               loop.store %b, %y[%i + 1, %j] : %y:
             }
           }""",
        "loop-vectorize{loop=i lanes=4}",
        r"iteration i=0, j=1 writes y\[1, 1\] and iteration i=1, j=0 reads it",
        legal=("{loop=i", "{loop=j"),
    ),
    "a later statement feeds an earlier one": Case(
        "%x[%N + 1], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             loop.store %a, %x[%i] : %x:
             loop.store %one, %y[%i + 1] : %y:
           }""",
        "loop-vectorize{loop=i lanes=8 tail=scalar}",
        r"iteration i=0 writes y\[1\] and iteration i=1 reads it",
        legal=("%one, %y[%i + 1]", "%one, %y[%i + 1 - 1]"),
    ),
    "an addition to places from data": Case(
        "%x[%N], %y[%N + 1], %p[%N]",
        """loop.for seq %i = 0 to %N {
             %q = loop.load %p[%i] : %p:
             %at = arith.index_cast %q : i64 to index
             %a = loop.load %y[%at] : %y:
             %b = arith.addf %a, %one : f32
             loop.store %b, %y[%at] : %y:
           }""",
        "loop-vectorize{loop=i lanes=4}",
        r"cannot decide: a subscript of y depends on data",
        witness=False,
    ),
    # unroll and jam
    "copies side by side that meet": Case(
        "%x[%N, %M], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             %s = loop.for reduce<add> %j = 0 to %M init %a : f32 {
               %b = loop.load %x[%i, %j] : %x:
               loop.yield %b : f32
             }
             loop.store %s, %y[%i + 1] : %y:
           }""",
        "loop-unroll-and-jam{loop=i factor=2}",
        r"iteration i=0 writes y\[1\] and iteration i=1 reads it",
        legal=("%y[%i + 1]", "%y[%i]"),
    ),
    # fuse, fission
    "a loop that reads ahead": Case(
        "%x[%N + 1], %y[%N + 1], %z[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i] : %y:
           }
           loop.for seq %j = 0 to %N {
             %b = loop.load %y[%j + 1] : %y:
             loop.store %b, %z[%j] : %z:
           }""",
        "loop-fuse{first=i second=j}",
        r"j would touch an element too early: iteration i=1 writes y\[1\] and iteration j=0 reads it",
        legal=("%y[%j + 1]", "%y[%j]"),
    ),
    "a loop that overwrites what is still read": Case(
        "%x[%N + 1], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i] : %y:
           }
           loop.for seq %j = 0 to %N {
             loop.store %zero, %x[%j + 1] : %x:
           }""",
        "loop-fuse{first=i second=j}",
        r"iteration i=1 reads x\[1\] and iteration j=0 writes it",
        legal=("%x[%j + 1]", "%x[%j]"),
    ),
    "a strip that needs more of the next one than a halo": Case(
        "%x[%N + 2], %y[%N + 2], %z[%N + 2]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i] : %y:
           }
           loop.for seq %j = 0 to %N {
             %b = loop.load %y[%j + 2] : %y:
             loop.store %b, %z[%j] : %z:
           }""",
        "loop-interleave{first=i second=j size=3 halo=1}",
        r"j would touch an element too early: iteration i=2 writes y\[2\] and iteration j=0 reads it",
        legal=("%y[%j + 2]", "%y[%j + 1]"),
    ),
    "edges of strips that feed their inside": Case(
        "%x[%N + 1], %y[%N + 1], %z[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i] : %y:
           }
           loop.for seq %j = 0 to %N {
             %b = loop.load %z[%j] : %z:
             loop.store %b, %z[%j + 1] : %z:
           }""",
        "loop-interleave{first=i second=j size=3 halo=1}",
        r"iterations of j would be reordered: iteration j=0 writes z\[1\] and iteration j=1 reads it",
        legal=("%z[%j + 1]", "%z[%j]"),
    ),
    "loops of other bounds": Case(
        "%x[%N], %y[%M]",
        """loop.for seq %i = 0 to %N {
             loop.store %zero, %x[%i] : %x:
           }
           loop.for seq %j = 0 to %M {
             loop.store %one, %y[%j] : %y:
           }""",
        "loop-fuse{first=i second=j}",
        r"their bounds are not the same",
        witness=False,
        changes=None,
    ),
    "a rest that feeds the next iteration": Case(
        "%x[%N + 1], %y[%N + 1], %z[%N + 1]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %y[%i] : %y:
             loop.store %a, %z[%i] : %z:
             %b = loop.load %x[%i] : %x:
             loop.store %b, %y[%i + 1] : %y:
           }""",
        "loop-fission{loop=i after=z}",
        r"two dependent iterations would be reordered: iteration i=0 writes y\[1\] and iteration i=1 reads it",
        legal=("%y[%i + 1]", "%y[%i]"),
    ),
    "a rest that uses a value": Case(
        "%x[%N], %y[%N], %z[%N]",
        """loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %y[%i] : %y:
             loop.store %a, %z[%i] : %z:
           }""",
        "loop-fission{loop=i after=y}",
        r"the rest uses %a, which the first part computes",
        witness=False,
        changes=None,
    ),
    # memory
    "a copy of what is written": Case(
        "%y[%N + 9]",
        """loop.for seq %b = 0 to %N step 4 {
             loop.for seq %i = 0 to 4 {
               %a = loop.load %y[%b + %i] : %y:
               %c = arith.addf %a, %one : f32
               loop.store %c, %y[%b + %i + 1] : %y:
             }
           }""",
        "loop-stage{buffer=y at=b order=i}",
        r"loop b writes what it reads: iteration i=0 writes y\[1\] and iteration i=1 reads it",
        changes=None,
        legal=("%y[%b + %i + 1]", "%y[%b + %i + 5]"),
    ),
    "a copy of what a later statement needs": Case(
        "%x[%N + 8], %y[%N + 8]",
        """loop.for seq %b = 0 to %N {
             loop.for seq %i = 0 to 4 {
               loop.store %one, %y[%i] : %y:
             }
             loop.for seq %j = 0 to 4 {
               %a = loop.load %y[%j] : %y:
               loop.store %a, %x[%b + %j] : %x:
             }
           }""",
        "loop-stage{buffer=y at=b order=j}",
        r"loop b writes what it reads: ",
        changes=None,
        legal=("%one, %y[%i]", "%one, %y[%i + 4]"),
    ),
    "a register that another access aliases": Case(
        "%x[%N], %y[%N + 1]",
        """loop.for seq %i = 0 to %N {
             loop.for seq %k = 0 to %N {
               %a = loop.load %y[%i] : %y:
               %b = loop.load %y[%k] : %y:
               %c = math.fma %b, %half, %a : f32
               loop.store %c, %y[%i] : %y:
             }
           }""",
        "loop-accumulate{buffer=y at=k}",
        r"another access touches what is kept",
        changes=None,
        legal=("%k = 0 to %N", "%k = 0 to %i"),
    ),
    "a register for elements that are one": Case(
        "%x[%N], %y[%N + 8]",
        """loop.for seq %k = 0 to %N {
             loop.for seq %i = 0 to 4 {
               loop.for seq %j = 0 to 4 {
                 %a = loop.load %y[%i + %j] : %y:
                 %c = math.fma %a, %half, %one : f32
                 loop.store %c, %y[%i + %j] : %y:
               }
             }
           }""",
        "loop-accumulate{buffer=y at=k}",
        r"two elements of the tile are one of y",
        changes=None,
        legal=("%j = 0 to 4", "%j = 0 to 1"),
    ),
    "a producer with another effect": Case(
        "%x[%N], %y[%N], %z[%N]",
        """%t = loop.alloc scratch(%N) : memref<?xf32>
           loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %t[%i] : memref<?xf32>
             loop.store %a, %z[%i] : %z:
           }
           loop.for seq %j = 0 to %N {
             %b = loop.load %t[%j] : memref<?xf32>
             loop.store %b, %y[%j] : %y:
           }""",
        "loop-inline{buffer=t}",
        r"what computes t does more than that: 'loop.store'",
        witness=False,
        changes=None,
        legal=("loop.store %a, %z[%i] : %z:\n", ""),
    ),
    "a producer whose input changes": Case(
        "%x[%N], %y[%N]",
        """%t = loop.alloc scratch(%N) : memref<?xf32>
           loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %t[%i] : memref<?xf32>
           }
           loop.for seq %j = 0 to %N {
             loop.store %one, %x[%j] : %x:
             %b = loop.load %t[%j] : memref<?xf32>
             loop.store %b, %y[%j] : %y:
           }""",
        "loop-inline{buffer=t}",
        r"what t is computed from changes before it is read: ",
        changes=None,
        legal=("loop.store %one, %x[%j] : %x:\n", ""),
    ),
    "a producer that is computed too late": Case(
        "%x[%N + 1], %y[%N]",
        """%t = loop.alloc scratch(%N) : memref<?xf32>
           loop.for seq %i = 0 to %N {
             %a = loop.load %x[%i] : %x:
             loop.store %a, %t[%i] : memref<?xf32>
           }
           loop.for seq %j = 0 to %N {
             %b = loop.load %t[%j] : memref<?xf32>
             loop.store %b, %y[%j] : %y:
             loop.store %one, %x[%j + 1] : %x:
           }""",
        "loop-compute-at{buffer=t at=j}",
        r"what t is computed from changes before loop j reads it: iteration j=0 writes x\[1\]",
        changes=None,
        legal=("%x[%j + 1]", "%x[%j]"),
    ),
    "padding that is no padding": Case(
        "%x[%N], %y[%N]",
        """loop.for seq %b = 0 to %N step 8 {
             loop.for seq %i = 0 to min(8, %N - %b) {
               %a = loop.load %x[%b + %i] : %x:
               loop.store %a, %y[%b + %i] : %y:
             }
           }""",
        "loop-pad{loop=i size=8}",
        r"more iterations would write y, which is not local",
        witness=False,
        changes=None,
    ),
    "padding beyond a buffer": Case(
        "%x[%N + 8], %y[%N]",
        """%t = loop.alloc stack : memref<6xf32>
           loop.for seq %b = 0 to %N step 6 {
             loop.for seq %i = 0 to min(6, %N - %b) {
               %a = loop.load %x[%i] : %x:
               loop.store %a, %t[%i] : memref<6xf32>
             }
             %c = loop.load %t[0] : memref<6xf32>
             loop.store %c, %y[%b] : %y:
           }""",
        "loop-pad{loop=i size=8}",
        r"the added iteration .*i=\d+ writes t at \d+ of dim 0, which has 6 elements",
        witness=False,
        changes=None,
        legal=("size=8", "size=6"),
    ),
    "padding that is read": Case(
        "%x[%N + 8], %y[%N + 8]",
        """%t = loop.alloc stack : memref<8xf32>
           loop.for seq %z = 0 to 8 { loop.store %zero, %t[%z] : memref<8xf32> }
           loop.for seq %b = 0 to %N step 8 {
             loop.for seq %i = 0 to min(8, %N - %b) {
               %a = loop.load %x[%i] : %x:
               loop.store %a, %t[%i] : memref<8xf32>
             }
             loop.for seq %j = 0 to 8 {
               %c = loop.load %t[%j] : memref<8xf32>
               loop.store %c, %y[%j] : %y:
             }
           }""",
        "loop-pad{loop=i size=8}",
        r"an added iteration writes what another reads: ",
        changes=None,
        added={"i": 8},
        legal=("%j = 0 to 8", "%j = 0 to min(8, %N - %b)"),
    ),
    "the layout of an argument": Case(
        "%y[%N, %M]",
        """loop.for seq %i = 0 to %N {
             loop.store %zero, %y[%i, 0] : %y:
           }""",
        "loop-set-layout{buffer=y order=1,0}",
        r"y is an argument of the kernel: its layout is the caller's",
        witness=False,
        changes=None,
    ),
}
"""Refused steps by what is wrong."""


def parsed(text: str) -> ModuleOp:
    module = parse_module(CONTEXT, text, "kernel.mlir")
    verify_module(module)
    return module


def outcome(module: ModuleOp, sizes: Mapping[str, int]) -> list[bytes]:
    """The bytes of all arrays after a run on random ones."""
    kernel, rng = kernels.find_kernel(module), np.random.default_rng(3)
    values = [sizes[a.name_hint or ""] for a in kernel.index_arguments]
    given: list[np.ndarray | int] = []
    for argument in kernel.body.block.args:
        if argument in kernel.index_arguments:
            given.append(sizes[argument.name_hint or ""])
            continue
        assert isinstance(argument.type, MemRefType)
        shape = [e.eval(values, []) for e in kernel.sizes_of(argument)]
        if str(argument.type.element_type) == "i64":
            given.append(rng.integers(0, 2, shape))  # many positions are the same
        else:
            given.append(rng.normal(size=shape).astype(np.float32))
    Interpreter(module).launch("k", given)
    return [a.tobytes() for a in given if isinstance(a, np.ndarray)]


def taken_all_the_same(module: ModuleOp, step: Primitive) -> ModuleOp:
    """The module after a step, legal or not."""
    after = module.clone()
    step.rewrite(step.target(after))
    return after


def differ(before: ModuleOp, after: ModuleOp, witness: Mapping[str, int]) -> bool:
    """Whether two kernels differ at the sizes of the witness, or somewhat larger ones."""
    names = [a.name_hint or "" for a in kernels.find_kernel(before).index_arguments]
    for more in (0, 1, 3, 8):
        sizes = {name: witness.get(name, 2) + more for name in names}
        if outcome(before, sizes) != outcome(after, sizes):
            return True
    return False


@pytest.mark.parametrize("what", ONE)
def test_is_refused(what: str) -> None:
    case = ONE[what]
    module = parsed(case.text(case.body))
    *first, last = passes.parse_passes(case.steps)
    for step in first:
        step.apply(CONTEXT, module)
    before = str(module)
    with pytest.raises(ScheduleError, match=case.reason) as caught:
        last.apply(CONTEXT, module)
    error = caught.value
    assert str(module) == before, "a refused step changed the kernel"
    assert isinstance(last, Primitive) and str(error).startswith(f"{last.as_text()}: ")
    witness = error.witness
    assert isinstance(witness, Conflict) == case.witness
    if isinstance(witness, Conflict):
        strategies.replay(witness, last.name in strategies.ORDERED, case.added)
        assert str(witness) in str(error)
        for access in (witness.first, witness.second):
            assert f":{access.op.location.line.data}" in str(error), "the line of an access"  # pyright: ignore
        for at in (witness.at_first, witness.at_second):
            assert any(f"{name}={value}" in str(error) for name, value in at.items())
    if case.changes is not None:
        sizes = witness.sizes if isinstance(witness, Conflict) else {}
        assert differ(module, taken_all_the_same(module, last), sizes) == case.changes


@pytest.mark.parametrize("what", [what for what, case in ONE.items() if case.legal is not None])
def test_its_neighbour_is_legal(what: str) -> None:
    case = ONE[what]
    assert case.legal is not None
    old, new = case.legal
    assert old in case.body or old in case.steps
    before = parsed(case.text(case.body.replace(old, new)))
    after = before.clone()
    for step in passes.parse_passes(case.steps.replace(old, new) if old in case.steps else case.steps):
        step.apply(CONTEXT, after)
    verify_module(after)
    if "reassociate" not in case.steps + new:
        assert not differ(before, after, {})


# Kernels in Python: messages point into the source


@lm.kernel
def relaxed(y: lm.f32["N", "M"]):
    for i in range(1, y.shape[0]):
        for j in range(y.shape[1] - 1):
            y[i, j] = 0.5 * y[i - 1, j + 1]


@lm.kernel
def smoothed(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(x.shape[0] - 1):
        y[i] = 2.0 * x[i]
    for j in range(x.shape[0] - 1):
        x[j] = 0.5 * y[j + 1]


def lines_of(function: object, *parts: str) -> list[int]:
    """The lines of this file, from a function on, that hold some text."""
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(text) if line.startswith(f"def {getattr(function, '__name__', '')}("))
    return [next(k for k in range(start, len(text)) if part in text[k]) + 1 for part in parts]


@pytest.mark.parametrize(
    "step, at",
    [
        ({"reorder": {"loops": ("j", "i")}}, ("i=1, j=1", "i=2, j=0")),
        ({"parallelize": {"loop": "i"}}, ("i=1, j=1", "i=2, j=0")),
        ({"tile": {"loops": ("i", "j"), "sizes": (4, 4)}}, ("i=", "j=")),
        ({"vectorize": {"loop": "i", "lanes": 4}}, ("i=1, j=1", "i=2, j=0")),
        ({"unroll_and_jam": {"loop": "i", "factor": 2}}, ("i=", "j=")),
    ],
)
def test_messages_name_iterations_and_lines_of_the_source(step: dict[str, dict], at: tuple[str, str]) -> None:
    relaxed.reset()
    schedule = relaxed.schedule()
    [(verb, given)] = step.items()
    with pytest.raises(ScheduleError) as caught:
        getattr(schedule, verb)(**given)
    [line] = lines_of(relaxed, "y[i, j] = 0.5")
    assert f"test_illegal.py:{line}" in str(caught.value)
    assert all(part in str(caught.value) for part in at), str(caught.value)
    assert isinstance(caught.value.witness, Conflict)
    strategies.replay(caught.value.witness)
    assert not schedule.steps


def test_messages_name_both_lines() -> None:
    schedule = smoothed.schedule()
    with pytest.raises(ScheduleError, match="j would touch an element too early") as caught:
        schedule.fuse("i", "j")
    assert isinstance(caught.value.witness, Conflict)
    strategies.replay(caught.value.witness)
    first, second = lines_of(smoothed, "y[i] = 2.0", "x[j] = 0.5")
    assert all(f"test_illegal.py:{line}" in str(caught.value) for line in (first, second)), str(caught.value)


def test_a_loop_that_a_step_consumed() -> None:
    relaxed.reset()
    schedule = relaxed.schedule()
    i, j = schedule["i", "j"]
    schedule.split(j, 8)
    with pytest.raises(ScheduleError, match=r"loop 'j' was consumed by loop-split\{loop=j size=8\}"):
        schedule.parallelize(j)
    with pytest.raises(ScheduleError, match=r"no loop 'joo'.*did you mean jo"):
        schedule.parallelize("joo")
    with pytest.raises(ScheduleError, match="belongs to another schedule"):
        smoothed.schedule().parallelize(i)
