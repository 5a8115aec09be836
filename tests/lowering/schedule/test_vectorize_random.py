"""loop-vectorize on random kernels: what is accepted computes the same bits, what is refused with a witness is rightly so."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lamina.dialects.loop.gather import GatherOp, ScatterOp
from lamina.dialects.loop.loops import ForOp
from lamina.errors import ScheduleError
from lamina.lowering.analysis.accesses import Access
from lamina.lowering.analysis.dependence import Conflict
from lamina.lowering.analysis.nests import loops
from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

sys.path.insert(0, str(Path(__file__).parent))
from vectorizing import TAILS, kernel_in, outcome, parsed, scheduled

SIZES = (0, 1, 5, 8, 11)
LINE, PLANE = "memref<?xf32>", "memref<?x?xf32>"


class Writer:
    """Writes a random kernel: statements over three arrays, conditionals, loops, local buffers."""

    def __init__(self, rng: Random):
        self.rng, self.lines, self.count = rng, list[str](), 0

    def name(self, hint: str = "v") -> str:
        self.count += 1
        return f"%{hint}{self.count}q"

    def add(self, line: str) -> None:
        self.lines.append(line)

    def text(self) -> str:
        rng = self.rng
        head = rng.choice(
            [
                "0 to %N",
                "1 to %N",
                "0 to %N step 2",
                "0 to min(%N, 7)",
                "%o to %N",
                "max(1, %o) to %N",
                "0 to 8",
                "2 to 9 step 3",
            ]
        )
        reduces = rng.random() < 0.25
        self.add("loop.for seq %o = 0 to 2 {")
        if reduces:
            monoid = rng.choice(["max", "min"])
            self.add(f"%r = loop.for reduce<{monoid}> %i = {head} init %{rng.choice(['zero', 'one'])} : f32 {{")
        else:
            self.add(f"loop.for seq %i = {head} {{")
        values = ["%zero", "%one"]
        self.block(values, ["%i", "%o"], rng.randint(2, 5), depth=0)
        if reduces:
            self.add(f"loop.yield {values[-1]} : f32")
        self.add("}")
        if reduces:
            self.add(f"loop.store %r, %A[%o] : {LINE}")
        self.add("}")
        body = "\n".join(self.lines)
        return f"""loop.kernel @k(%A: {LINE}, %B: {LINE}, %Z: {PLANE}, %p: memref<?xi64>, %N: index)
            shapes(%A[%N * 3 + 40], %B[%N * 3 + 40], %Z[%N + 20, %N + 20], %p[%N + 20]) {{
          %zero = arith.constant 0.0 : f32
          %one = arith.constant 1.5 : f32
          %nil = arith.constant 0 : i64
          %uno = arith.constant 1 : i64
          {body}
        }}"""

    def subscript(self, indices: list[str]) -> str:
        rng = self.rng
        i = rng.choice(indices) if rng.random() < 0.4 else "%i"
        c = rng.randint(0, 5)
        forms = [f"{i} + {c}"] * 4 + [
            f"{i} * 2 + {c}",
            f"%N - {i} + 12",
            f"{c}",
            f"{i} floordiv 2 + {c}",
            f"{i} mod 3",
            f"{i} + %o + {c}",
        ]
        return rng.choice(forms)

    def place(self, indices: list[str]) -> tuple[str, str]:
        if self.rng.random() < 0.25:
            one, two = (self.rng.choice([f"{i} + {self.rng.randint(0, 4)}", i]) for i in (self.rng.choice(indices), "%i"))
            return f"%Z[{one}, {two}]" if self.rng.random() < 0.5 else f"%Z[{two}, {one}]", PLANE
        return f"%{self.rng.choice('AAB')}[{self.subscript(indices)}]", LINE

    def load(self, values: list[str], indices: list[str]) -> None:
        at, type = self.place(indices)
        self.add(f"{(v := self.name())} = loop.load {at} : {type}")
        values.append(v)

    def block(self, values: list[str], indices: list[str], length: int, depth: int) -> None:
        kinds = ["load", "load", "store", "store", "arith", "data"]
        if depth < 2:
            kinds += ["if", "for", "while", "local"]
        for _ in range(length):
            getattr(self, "do_" + self.rng.choice(kinds))(values, indices, depth)

    def do_load(self, values: list[str], indices: list[str], depth: int) -> None:
        self.load(values, indices)

    def do_store(self, values: list[str], indices: list[str], depth: int) -> None:
        if self.rng.random() < 0.5:
            self.load(values, indices)
        at, type = self.place(indices)
        self.add(f"loop.store {self.rng.choice(values[-3:])}, {at} : {type}")

    def do_arith(self, values: list[str], indices: list[str], depth: int) -> None:
        x, y = self.rng.choice(values), self.rng.choice(values)
        op = self.rng.choice(["addf", "mulf", "subf", "maximumf"])
        self.add(f"{(v := self.name())} = arith.{op} {x}, {y} : f32")
        values.append(v)

    def do_data(self, values: list[str], indices: list[str], depth: int) -> None:
        at = self.integer(indices)
        self.add(f"{(v := self.name())} = loop.load %B[{at} + {self.rng.randint(0, 3)}] : {LINE}")
        values.append(v)

    def integer(self, indices: list[str]) -> str:
        number, at = self.name("n"), self.name("at")
        self.add(f"{number} = loop.load %p[{self.rng.choice(indices)} + 1] : memref<?xi64>")
        self.add(f"{at} = arith.index_cast {number} : i64 to index")
        return at

    def do_if(self, values: list[str], indices: list[str], depth: int) -> None:
        condition, result = self.name("c"), self.name()
        x, y, predicate = self.rng.choice(values), self.rng.choice(values), self.rng.choice(["ogt", "ole", "one"])
        self.add(f"{condition} = arith.cmpf {predicate}, {x}, {y} : f32")
        self.add(f"{result} = loop.if {condition} -> f32 {{")
        for word in ("} else {", "}"):
            inner = list(values)
            self.block(inner, indices, self.rng.randint(0, 2), depth + 1)
            self.add(f"loop.yield {inner[-1]} : f32")
            self.add(word)
        values.append(result)

    def do_for(self, values: list[str], indices: list[str], depth: int) -> None:
        rng, index, result, carried = self.rng, self.name("j"), self.name(), self.name("a")
        bounds = [
            "0 to 3",
            "0 to %o + 2",
            "0 to min(%i, 4)",
            "%i to %i + 2",
            "%i + 1 to %N",
            "0 to %N step 3",
            "%i to %N step 2",
        ]
        given = rng.choice(bounds)
        if rng.random() < 0.2:
            at = self.integer(indices)
            given = rng.choice([f"0 to min(4, {at})", f"{at} to min(%N, {at} + 3)"])
        reduces = rng.random() < 0.3
        init = rng.choice(values)
        what = f"reduce<max> {index} = {given} init {init}" if reduces else f"seq {index} = {given} carry {carried} = {init}"
        self.add(f"{result} = loop.for {what} : f32 {{")
        inner = values + ([] if reduces else [carried])
        self.block(inner, [*indices, index], rng.randint(1, 2), depth + 1)
        self.add(f"loop.yield {inner[-1]} : f32")
        self.add("}")
        values.append(result)

    def do_while(self, values: list[str], indices: list[str], depth: int) -> None:
        start, carried = self.name("n"), self.name("a")
        self.add(f"{start} = loop.load %p[{self.rng.choice(indices)}] : memref<?xi64>")
        on, left, result, n = self.name("c"), self.name("n"), self.name(), self.name("n")
        self.add(f"{on} = arith.cmpi sgt, {start}, %nil : i64")
        self.add(
            f"{left}, {result} = loop.while {on} carry {n} = {start} : i64, {carried} = {self.rng.choice(values)} : f32 {{"
        )
        inner, next, more = [*values, carried], self.name("n"), self.name("c")
        self.block(inner, indices, self.rng.randint(0, 2), depth + 1)
        self.add(f"{next} = arith.subi {n}, %uno : i64")
        self.add(f"{more} = arith.cmpi sgt, {next}, %nil : i64")
        self.add(f"loop.yield {more}, {next}, {inner[-1]} : i1, i64, f32")
        self.add("}")
        values.append(result)

    def do_local(self, values: list[str], indices: list[str], depth: int) -> None:
        rng, buffer, index, v = self.rng, self.name("t"), self.name("j"), self.name()
        type = "memref<6xf32>"
        self.add(f"{buffer} = loop.alloc {rng.choice(['stack', 'register'])} : {type}")
        self.add(f"loop.for seq {index} = 0 to 6 {{ loop.store {rng.choice(values)}, {buffer}[{index}] : {type} }}")
        for _ in range(2):
            at = rng.choice(["1", "4", f"{rng.choice(indices)} mod 6", "%o + 2"])
            self.add(f"loop.store {rng.choice(values)}, {buffer}[{at}] : {type}")
        self.add(f"{v} = loop.load {buffer}[{rng.choice(['4', '%i mod 6', '3'])}] : {type}")
        values.append(v)


def touched(access: Access, at: dict[str, int], lane_free: bool = True) -> tuple[int, ...]:
    """The element that an access touches in an iteration, evaluated by hand."""

    def number(value: SSAValue) -> int:
        if isinstance(value.owner, arith.ConstantOp):
            return value.owner.value.value.data  # pyright: ignore[reportAttributeAccessIssue]
        return at[value.name_hint or "?"]

    op = access.op
    assert not isinstance(op, GatherOp | ScatterOp)
    map: AffineMap = op.map.data  # pyright: ignore[reportAttributeAccessIssue]
    return map.eval([number(v) for v in op.indices], [])  # pyright: ignore[reportAttributeAccessIssue]


def runs(loop: ForOp, at: dict[str, int]) -> bool:
    """Whether a loop has an iteration of the given index where the outer indices are as given."""
    lower = max(loop.lower.data.eval([at[v.name_hint or "?"] for v in loop.lower_operands], []))
    upper = min(loop.upper.data.eval([at[v.name_hint or "?"] for v in loop.upper_operands], []))
    index = at[loop.index.name_hint or "?"]
    return lower <= index < upper and (index - lower) % loop.step.value.data == 0


def check_witness(found: Conflict, loop: ForOp, lanes: int) -> None:
    """Both iterations exist, are less than `lanes` apart, and touch the element; one of them writes."""
    assert found.first.writes or found.second.writes
    for access, at in ((found.first, found.at_first), (found.second, found.at_second)):
        known = {**found.sizes, **at}
        assert touched(access, known) == found.element
        assert all(runs(one, known) for one in access.loops), (str(found), known)
    apart = found.at_second["i"] - found.at_first["i"]
    assert 0 < apart < lanes * loop.step.value.data
    assert found.at_first["o"] == found.at_second["o"]


SEEN = {"same": 0, "refused": 0, "undecided": 0}


def check(rng: Random) -> None:
    text = Writer(rng).text()
    lanes = rng.choice([2, 4, 8])
    tail = rng.choice(TAILS)
    loop = loops(parsed(text))["i"]
    try:
        after = scheduled(text, f"loop-vectorize{{loop=i lanes={lanes} tail={tail}}}")
    except ScheduleError as error:
        if isinstance(error.witness, Conflict):
            SEEN["refused"] += 1
            check_witness(error.witness, loop, lanes)
        else:
            SEEN["undecided"] += 1
            assert "cannot decide" in str(error)
        return
    SEEN["same"] += 1
    for n in SIZES:
        for x, y in zip(outcome(parsed(text), (n,), n), outcome(after, (n,), n), strict=True):
            np.testing.assert_array_equal(y, x, f"{lanes} lanes, {tail}, N={n}\n{text}")
    assert kernel_in(after)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_random_kernels(seed):
    check(Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 4000, 200))
def test_many_random_kernels(start):
    for seed in range(start, start + 200):
        check(Random(seed))
