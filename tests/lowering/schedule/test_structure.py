"""Primitives that change loop nests: their results compute the same bits, and illegal steps are refused.

Kernels are interpreted before and after, on random arrays of sizes from 0 to 20; the interpreter runs parallel loops backwards.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.dialects.loop.memory import LoadOp, StoreOp
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.lowering.analysis.bounds import constant_extent, simplify_bounds
from lamina.lowering.analysis.dependence import Conflict
from lamina.lowering.analysis.nests import find, loops
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import MemRefType, ModuleOp

CONTEXT = make_context()


@cache
def _parsed(text: str) -> ModuleOp:
    return parse_module(CONTEXT, text, "kernel.mlir")


def parsed(text: str) -> ModuleOp:
    return _parsed(text).clone()


def kernel_in(module: ModuleOp) -> KernelOp:
    return next(op for op in module.body.block.ops if isinstance(op, KernelOp))


def scheduled(text: str, steps: str) -> ModuleOp:
    """The module after the steps, verified after each."""
    module = parsed(text)
    for step in passes.parse_passes(steps):
        step.apply(CONTEXT, module)
        verify_module(module)
        parse_module(CONTEXT, str(module), "printed.mlir")
    return module


def arguments(kernel: KernelOp, sizes: Sequence[int], seed: int) -> list[np.ndarray | int]:
    """Random arrays that fit the sizes, and the sizes."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray | int] = []
    number = dict(zip(kernel.index_arguments, sizes, strict=True))
    for argument in kernel.body.block.args:
        if argument in number:
            found.append(number[argument])
            continue
        assert isinstance(argument.type, MemRefType)
        shape = [max(0, e.eval(list(sizes), [])) for e in kernel.sizes_of(argument)]
        dtype = {"f32": np.float32, "f64": np.float64, "i64": np.int64}[str(argument.type.element_type)]
        found.append(rng.normal(size=shape).astype(dtype) if dtype != np.int64 else rng.integers(0, 5, shape))
    return found


def outcome(module: ModuleOp, sizes: Sequence[int], seed: int = 0) -> list[bytes]:
    kernel = kernel_in(module)
    given = arguments(kernel, sizes, seed)
    Interpreter(module).launch(kernel.sym_name.data, given)
    return [a.tobytes() for a in given if isinstance(a, np.ndarray)]


def same(text: str, steps: str, sizes: Sequence[Sequence[int]] = ((),)) -> ModuleOp:
    """Check that the steps change nothing at some sizes; the module after them."""
    before, after = parsed(text), scheduled(text, steps)
    for k, one in enumerate(sizes):
        assert outcome(after, one, k) == outcome(before, one, k), (steps, one)
    return after


def refused(text: str, steps: str) -> ScheduleError:
    """The error of the last step; the module is as it was."""
    *first, last = passes.parse_passes(steps)
    module = parsed(text)
    for step in first:
        step.apply(CONTEXT, module)
    before = str(module)
    with pytest.raises(ScheduleError) as caught:
        last.apply(CONTEXT, module)
    assert str(module) == before
    return caught.value


def element(access: LoadOp | StoreOp, at: dict[str, int]) -> tuple[int, ...]:
    """The element an access touches when the variables have these values."""
    return access.map.data.eval([at[v.name_hint or ""] for v in access.indices], [])


def true_witness(error: ScheduleError) -> Conflict:
    """The witness of a refusal, after a check by hand that both iterations are in their loops and touch its element."""
    conflict = error.witness
    assert isinstance(conflict, Conflict)
    assert conflict.first.writes or conflict.second.writes
    for access, at in ((conflict.first, conflict.at_first), (conflict.second, conflict.at_second)):
        values = {**conflict.sizes, **at}
        for loop in access.loops:
            low = max(loop.lower.data.eval([values[v.name_hint or ""] for v in loop.lower_operands], []))
            high = min(loop.upper.data.eval([values[v.name_hint or ""] for v in loop.upper_operands], []))
            assert values[loop.index.name_hint or ""] in range(low, high, loop.step.value.data)
        assert isinstance(access.op, LoadOp | StoreOp)
        assert element(access.op, values) == conflict.element
    assert "=" in str(error)
    return conflict


SMALL = [(n,) for n in range(21)]

COPY = """loop.kernel @copy(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  loop.for parallel %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.store %a, %y[%i] : memref<?xf32>
  }
}"""

SUM = """loop.kernel @sum(%x: memref<?xf32>, %y: memref<1xf32>, %N: index) shapes(%x[%N]) {
  %zero = arith.constant 0.0 : f32
  %s = loop.for reduce<add> %i = 0 to %N init %zero : f32 {
    %a = loop.load %x[%i] : memref<?xf32>
    loop.yield %a : f32
  }
  loop.store %s, %y[0] : memref<1xf32>
}"""

ARGMAX = """loop.kernel @argmax(%x: memref<?xf32>, %y: memref<1xi64>, %N: index) shapes(%x[%N]) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %v, %at = loop.for reduce<argmax> %i = 0 to %N init %low : f32, %zero : i64 {
    %a = loop.load %x[%i] : memref<?xf32>
    %k = arith.index_cast %i : index to i64
    loop.yield %a, %k : f32, i64
  }
  loop.store %at, %y[0] : memref<1xi64>
}"""

CARRIED = """loop.kernel @carried(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  %one = arith.constant 1.0 : f32
  %p, %q = loop.for seq %i = 0 to %N carry %a = %one : f32, %b = %one : f32 {
    %c = arith.addf %a, %b : f32
    %d = loop.load %x[%i] : memref<?xf32>
    %e = arith.mulf %c, %d : f32
    loop.store %e, %y[%i] : memref<?xf32>
    loop.yield %b, %e : f32, f32
  }
}"""

PREFIX = """loop.kernel @prefix(%x: memref<?xf32>, %N: index) shapes(%x[%N + 1]) {
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : memref<?xf32>
    %b = loop.load %x[%i + 1] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    loop.store %c, %x[%i + 1] : memref<?xf32>
  }
}"""

ODD = """loop.kernel @odd(%x: memref<?xi64>, %N: index) shapes(%x[%N]) {
  loop.for seq %i = 1 to %N step 2 {
    loop.for seq %j = %i to min(%N, %i + 3) {
      %b = arith.index_cast %i : index to i64
      %a = loop.load %x[%j] : memref<?xi64>
      %c = arith.muli %a, %b : i64
      loop.store %c, %x[%j] : memref<?xi64>
    }
  }
}"""

MATMUL = """loop.kernel @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %K: index, %N: index)
    shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for seq %i = 0 to %M {
    loop.for seq %j = 0 to %N {
      loop.for seq %k = 0 to %K {
        %c = loop.load %C[%i, %j] : memref<?x?xf32>
        %a = loop.load %A[%i, %k] : memref<?x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x?xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<?x?xf32>
      }
    }
  }
}"""

CUBES = [(0, 3, 4), (5, 0, 2), (1, 1, 1), (7, 4, 9), (8, 6, 16), (13, 5, 20)]


# -- bounds


BOUNDS = """loop.kernel @k(%x: memref<?xf32>, %N: index, %M: index) shapes(%x[%N]) {
  loop.for seq %i = OUTER {
    loop.for seq %j = INNER {
    }
  }
}"""


@pytest.mark.parametrize(
    "outer, inner, simple",
    [
        ("0 to 16 step 8", "0 to min(8, 16 - %i)", "0 to 8"),
        ("0 to 20 step 8", "0 to min(8, 20 - %i)", "0 to min(8, -%i + 20)"),
        ("0 to %N step 8", "0 to min(8, %N - %i)", "0 to min(8, %N - %i)"),
        ("0 to (%N floordiv 8) * 8 step 8", "0 to min(8, %N - %i)", "0 to 8"),
        ("0 to %N", "0 to min(%N, %N + 1)", "0 to %N"),
        ("0 to %N", "0 to min(12, %N, 7)", "0 to min(%N, 7)"),
        ("0 to 4", "max(0, %i - 5) to 9", "0 to 9"),
        ("0 to 4", "max(0, %i) to 9", "%i to 9"),
        ("0 to %N", "max(0, -%M) to %N + %i", "0 to %N + %i"),
        ("16 to 20 step 16", "0 to min(16, 20 - %i)", "0 to 4"),
        ("0 to %N", "0 to min(%N, %N)", "0 to %N"),
        ("0 to %N step 8", "0 to 20 - (%i + 3) mod 8", "0 to 17"),
        ("0 to %N step 8", "0 to (%i + 3) mod 16", "0 to (%i mod 16) + 3"),
        ("4 to %N step 8", "0 to %i mod 4 + 2", "0 to 2"),
        ("2 to %N step 8", "0 to (%i + 6) mod 8", "0 to 0"),
        ("2 to %N step 3", "0 to (%i + 6) mod 8", "0 to (%i + 6) mod 8"),
        ("-16 to 0 step 4", "0 to 5 + (%i - 1) mod 4", "0 to 8"),
        ("0 to 4", "0 to (%i + 8) mod 8", "0 to %i"),
    ],
)
def test_bounds_that_never_matter_go(outer: str, inner: str, simple: str) -> None:
    module = parsed(BOUNDS.replace("OUTER", outer).replace("INNER", inner))
    simplify_bounds(find(kernel_in(module), "j", "test"))
    module.verify()
    assert f"%j = {simple} {{" in str(module)


@pytest.mark.parametrize(
    "outer, inner, extent",
    [
        ("0 to %M", "0 to min(6, %M - %i)", 6),
        ("0 to %M", "%i to min(%i + 4, %N)", 4),
        ("0 to 16", "%i to 16", 16),
        ("8 to 16", "%i to 16 step 3", 3),
        ("0 to %M", "0 to %M", None),
        ("0 to %M", "5 to 3", 0),
        ("0 to %M", "max(0, %i - 2) to %i + 3", 5),
    ],
)
def test_the_greatest_trip_count(outer: str, inner: str, extent: int | None) -> None:
    module = parsed(BOUNDS.replace("OUTER", outer).replace("INNER", inner))
    assert constant_extent(find(kernel_in(module), "j", "test")) == extent


# -- split


@pytest.mark.parametrize("text", [COPY, SUM, ARGMAX, CARRIED, PREFIX, ODD])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_split_keeps_every_bit(text: str, size: int) -> None:
    same(text, f"loop-split{{loop=i size={size}}}", SMALL)


@pytest.mark.parametrize("text", [COPY, SUM, CARRIED])
def test_split_of_splits(text: str) -> None:
    steps = "loop-split{loop=i size=12},loop-split{loop=ii size=4},loop-split{loop=io size=2},loop-split{loop=iii size=3}"
    same(text, steps, SMALL)


def test_split_of_a_dependent_inner_loop() -> None:
    same(ODD, "loop-split{loop=j size=2},loop-split{loop=i size=3}", SMALL)


def test_a_divisor_leaves_numbers() -> None:
    module = scheduled(COPY, "loop-split{loop=i size=16},loop-split{loop=ii size=4}")
    assert "%iio = 0 to min(16, %N - %io) step 4" in str(module)
    module = scheduled(COPY.replace("= 0 to %N", "= 0 to 32"), "loop-split{loop=i size=16},loop-split{loop=ii size=4}")
    assert "%iii = 0 to 4 {" in str(module)


def test_locations_stay() -> None:
    module = parsed(COPY)
    before = find(kernel_in(module), "i", "test").location
    passes.parse_passes("loop-split{loop=i size=4}")[0].apply(CONTEXT, module)
    assert [loop.location for loop in loops(module).values()] == [before] * 2


def test_names_are_new() -> None:
    text = COPY.replace("%N: index)", "%N: index, %io: index)")
    assert list(loops(scheduled(text, "loop-split{loop=i size=4}"))) == ["io2", "ii"]


def test_names_inside_are_taken() -> None:
    module = scheduled(SUM, "loop-unroll{loop=i factor=4},loop-split{loop=ii size=2}")
    assert list(loops(module)) == ["io", "iio", "iii2", "iii"]


def test_split_needs_a_size() -> None:
    assert "the size must be 1 or more, got 0" in str(refused(COPY, "loop-split{loop=i size=0}"))
    assert "no loop 'q'" in str(refused(COPY, "loop-split{loop=q size=2}"))


# -- reorder


@pytest.mark.parametrize("order", list(itertools.permutations("ijk")))
def test_a_product_in_every_order(order: tuple[str, ...]) -> None:
    module = same(MATMUL, f"loop-reorder{{loops={','.join(order)}}}", CUBES)
    assert list(loops(module)) == list(order)


def test_loops_between_stay() -> None:
    assert list(loops(scheduled(MATMUL, "loop-reorder{loops=k,i}"))) == ["k", "j", "i"]


TRANSPOSED_SUM = """loop.kernel @k(%x: memref<?x?xf32>, %s: memref<?xf32>, %M: index, %N: index)
    shapes(%x[%M, %N], %s[%M + %N]) {
  loop.for seq %i = 0 to %M {
    loop.for seq %j = 0 to %N {
      %a = loop.load %x[%i, %j] : memref<?x?xf32>
      %b = loop.load %s[%i + %j] : memref<?xf32>
      %c = arith.addf %b, %a : f32
      loop.store %c, %s[%i + %j] : memref<?xf32>
    }
  }
}"""


CHAINED = """loop.kernel @k(%t: memref<?xi64>, %s: memref<?xf32>, %N: index) shapes(%t[%N], %s[%N]) {
  loop.for seq %i = 0 to %N {
    loop.for seq %j = 0 to %N {
      %z = loop.load %t[%j] : memref<?xi64>
      %q = arith.index_cast %z : i64 to index
      %b = loop.load %s[%q] : memref<?xf32>
      loop.store %b, %s[%i] : memref<?xf32>
    }
  }
}"""


def test_sums_change_their_order_only_when_told() -> None:
    error = refused(TRANSPOSED_SUM, "loop-reorder{loops=j,i}")
    conflict = true_witness(error)
    assert conflict.at_first["i"] < conflict.at_second["i"] and conflict.at_first["j"] > conflict.at_second["j"]
    assert "reassociate=true" in str(error)
    exact = TRANSPOSED_SUM.replace("f32", "i64").replace("addf", "addi")
    same(exact, "loop-reorder{loops=j,i reassociate=true}", [(0, 3), (4, 5), (7, 2)])


@pytest.mark.parametrize(
    "change",
    [
        ("arith.addf %b, %a", "arith.subf %a, %b"),  # not a sum
        ("loop.load %s[%i + %j]", "loop.load %s[%i]"),  # of another element
        ("loop.store %c, %s[%i + %j] : memref<?xf32>", "loop.store %b, %s[%i + %j] : memref<?xf32>"),
        ("arith.addf %b, %a", "arith.addf %b, %b"),
    ],
)
def test_what_is_no_update_keeps_its_order(change: tuple[str, str]) -> None:
    true_witness(refused(TRANSPOSED_SUM.replace(*change), "loop-reorder{loops=j,i reassociate=true}"))


def test_updates_of_two_kinds_do_not_commute() -> None:
    text = TRANSPOSED_SUM.replace(
        "    }\n  }",
        """      %d = loop.load %s[%i] : memref<?xf32>
      %e = arith.mulf %d, %a : f32
      loop.store %e, %s[%i] : memref<?xf32>
    }
  }""",
    )
    true_witness(refused(text, "loop-reorder{loops=j,i reassociate=true}"))


def test_a_loop_that_cannot_be_moved() -> None:
    assert "the bounds of j depend on i" in str(refused(ODD, "loop-reorder{loops=j,i}"))
    assert "the loops are not perfectly nested: i carries values" in str(refused(CARRIED, "loop-reorder{loops=i}"))
    assert "name every loop once" in str(refused(MATMUL, "loop-reorder{loops=i,i}"))
    assert "cannot decide: a subscript of s depends on data" in str(refused(CHAINED, "loop-reorder{loops=j,i}"))


def test_two_loops_side_by_side_are_no_nest() -> None:
    text = COPY.replace("\n}", "\n  loop.for parallel %j = 0 to %N {\n  }\n}")
    assert "j does not stand in i" in str(refused(text, "loop-reorder{loops=i,j}"))


def _random_nest(rng: random.Random) -> tuple[str, list[int], list[tuple[bool, list[list[int]]]]]:
    """A kernel of three loops with random subscripts: text, trip counts, and (writes, rows of coefficients) of each access."""
    trips = [rng.randint(1, 4) for _ in range(3)]
    touched = [
        (k == 0, [[rng.choice((0, 0, 1, 1, -1, 2)) for _ in range(3)] + [rng.randint(0, 3)] for _ in range(2)])
        for k in range(2)
    ]
    lines = [f"loop.for seq %{v} = 0 to {n} {{" for v, n in zip("ijk", trips, strict=True)]
    text = []
    for _, rows in reversed(touched):
        text.append(
            ", ".join(
                " + ".join([*(f"%{v} * {c}" for v, c in zip("ijk", row, strict=False) if c), str(row[3] + 12)]) for row in rows
            )
        )
    lines += [
        f"%a = loop.load %x[{text[0]}] : memref<40x40xf32>",
        "%one = arith.constant 3.0 : f32",
        "%b = arith.mulf %a, %one : f32",
        f"loop.store %b, %x[{text[1]}] : memref<40x40xf32>",
    ]
    return "\n".join(["loop.kernel @k(%x: memref<40x40xf32>) {", *lines, "}" * 4]), trips, touched


def _touches(rows: list[list[int]], at: Sequence[int]) -> tuple[int, ...]:
    return tuple(sum(c * x for c, x in zip(row, at, strict=False)) + row[3] for row in rows)


def _moves(trips: list[int], touched: list[tuple[bool, list[list[int]]]], key: Callable[[tuple[int, ...]], object]) -> bool:
    """By enumeration: whether two iterations that touch one element, one of them writing, are in another order by `key`."""
    at: dict[tuple[int, ...], list[tuple[tuple[int, ...], bool]]] = {}
    for point in itertools.product(*map(range, trips)):
        for writes, rows in touched:
            at.setdefault(_touches(rows, point), []).append((point, writes))
    for users in at.values():
        for (x, one), (y, two) in itertools.product(users, users):
            if (one or two) and x < y and key(x) > key(y):  # pyright: ignore[reportOperatorIssue]
                return True
    return False


def test_reorder_is_refused_exactly_when_iterations_change_places() -> None:
    rng = random.Random(7)
    counts = {True: 0, False: 0}
    for _ in range(60):
        text, trips, touched = _random_nest(rng)
        order = rng.sample(range(3), 3)
        steps = f"loop-reorder{{loops={','.join('ijk'[k] for k in order)}}}"
        bad = _moves(trips, touched, lambda at, order=order: [at[k] for k in order])
        counts[bad] += 1
        if bad:
            conflict = true_witness(refused(text, steps))
            first, second = ([at[v] for v in "ijk"] for at in (conflict.at_first, conflict.at_second))
            assert first < second and [first[k] for k in order] > [second[k] for k in order]
        else:
            same(text, steps)
    assert min(counts.values()) > 10


# -- tile


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("loop", ["i,j", "i,j,k", "k,i", "j,k", "j"])
@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_product_in_tiles(loop: str, size: int) -> None:
    sizes = ",".join(str(size + k) for k in range(len(loop.split(","))))
    same(MATMUL, f"loop-tile{{loops={loop} sizes={sizes}}}", CUBES)


def test_tiles_of_tiles() -> None:
    steps = "loop-tile{loops=i,j,k sizes=8,16,4},loop-tile{loops=ii,ji sizes=3,8},loop-reorder{loops=jo,io}"
    assert list(loops(same(MATMUL, steps, CUBES))) == ["jo", "io", "ko", "iio", "jio", "iii", "jii", "ki"]


def test_tile_is_refused_exactly_when_iterations_change_places() -> None:
    rng = random.Random(11)
    counts = {True: 0, False: 0}
    for _ in range(60):
        text, trips, touched = _random_nest(rng)
        sizes = [rng.randint(1, 3) for _ in range(3)]
        steps = f"loop-tile{{loops=i,j,k sizes={','.join(map(str, sizes))}}}"
        bad = _moves(trips, touched, lambda at, sizes=sizes: [x // n for x, n in zip(at, sizes, strict=True)])
        counts[bad] += 1
        if bad:
            conflict = true_witness(refused(text, steps))
            first, second = ([at[v] for v in "ijk"] for at in (conflict.at_first, conflict.at_second))
            assert first < second
            assert [x // n for x, n in zip(first, sizes, strict=True)] > [x // n for x, n in zip(second, sizes, strict=True)]
        else:
            same(text, steps)
    assert min(counts.values()) > 10


def test_tile_says_what_does_not_fit() -> None:
    assert "give one size of 1 or more a loop, got 1 for 2 loops" in str(refused(MATMUL, "loop-tile{loops=i,j sizes=4}"))
    assert "the bounds of jo depend on ii" in str(refused(ODD, "loop-tile{loops=i,j sizes=2,2}"))


# -- parallelize


def test_parallelize_is_refused_exactly_when_iterations_conflict() -> None:
    rng = random.Random(3)
    counts = {True: 0, False: 0}
    for _ in range(60):
        text, trips, touched = _random_nest(rng)
        depth = rng.randrange(3)
        steps = f"loop-parallelize{{loop={'ijk'[depth]}}}"
        bad = _moves(trips, touched, lambda at, depth=depth: [at[:depth], -at[depth]])
        counts[bad] += 1
        if bad:
            conflict = true_witness(refused(text, steps))
            assert list(conflict.at_first.values())[:depth] == list(conflict.at_second.values())[:depth]
            assert conflict.at_first["ijk"[depth]] < conflict.at_second["ijk"[depth]]
        else:
            same(text, steps)
    assert min(counts.values()) > 10


def test_parallelize_needs_no_carried_values() -> None:
    assert "the seq loop carries values" in str(refused(CARRIED, "loop-parallelize{loop=i}"))
    true_witness(refused(PREFIX, "loop-parallelize{loop=i}"))
    same(COPY.replace("parallel", "seq"), "loop-parallelize{loop=i}", SMALL)


# -- unroll


@pytest.mark.parametrize("text", [COPY, SUM, ARGMAX, CARRIED, PREFIX, ODD])
@pytest.mark.parametrize("factor", [2, 5])
def test_unroll_keeps_every_bit(text: str, factor: int) -> None:
    same(text, f"loop-unroll{{loop=i factor={factor}}}", SMALL)


@pytest.mark.parametrize("text", [COPY, SUM, ARGMAX, CARRIED, PREFIX])
@pytest.mark.parametrize("bounds", ["0 to min(3, %N)", "0 to min(%N, 5) step 2", "0 to 0"])
def test_unroll_of_a_whole_loop_keeps_every_bit(text: str, bounds: str) -> None:
    module = same(text.replace("0 to %N", bounds), "loop-unroll{loop=i}", SMALL)
    assert loops(module)["i"].kind.data == "unroll"


def test_unroll_of_a_loop_that_starts_anywhere() -> None:
    module = same(ODD, "loop-unroll{loop=j}", SMALL)
    assert "%j = 0 to min(%N - %i, 3)" in str(module)
    limited = ODD.replace("min(%N, %i + 3)", "%N").replace("1 to %N step 2", "max(0, %N - 4) to %N")
    module = same(limited, "loop-unroll{loop=j}", SMALL)
    assert "%j = 0 to min(4, %N - %i)" in str(module)


def test_unroll_needs_a_limit() -> None:
    assert "has no limit that is a number" in str(refused(COPY, "loop-unroll{loop=i}"))
    assert "the factor must be 2 or more" in str(refused(COPY, "loop-unroll{loop=i factor=1}"))
    text = COPY.replace("0 to %N", "max(0, %N - 3) to %N")
    assert "is no linear expression" in str(refused(text, "loop-unroll{loop=i}"))


# -- peel


@pytest.mark.parametrize("text", [COPY, SUM, ARGMAX, CARRIED, PREFIX, ODD])
@pytest.mark.parametrize("count", [1, 3, 30, -1, -3, -30])
def test_peel_keeps_every_bit(text: str, count: int) -> None:
    module = same(text, f"loop-peel{{loop=i count={count}}}", SMALL)
    assert set(loops(module)) - set(loops(parsed(text))) >= {"i_rest"}


@pytest.mark.parametrize("text", [COPY, SUM, CARRIED, PREFIX])
@pytest.mark.parametrize("bounds", ["%M to %N", "%M to %N step 3", "-2 + %M to 2 * %N"])
@pytest.mark.parametrize("count", [0, 2, -2])
def test_peel_of_other_bounds_keeps_every_bit(text: str, bounds: str, count: int) -> None:
    text = text.replace("0 to %N", bounds if count or "step" in bounds else f"{bounds} step 2")
    text = text.replace("%N: index", "%N: index, %M: index").replace("%x[%N", "%x[%N + %N").replace("%y[%N", "%y[%N + %N")
    same(text, f"loop-peel{{loop=i count={count}}}", [(n, m) for n in range(9) for m in range(2, 7)])


@pytest.mark.parametrize("text", [COPY, SUM, ARGMAX, CARRIED, PREFIX])
@pytest.mark.parametrize("size", [2, 8])
def test_full_tiles_are_numbers(text: str, size: int) -> None:
    module = same(text, f"loop-split{{loop=i size={size}}},loop-peel{{loop=io}}", SMALL)
    assert loops(module)["ii"].constant_bounds() == (0, size)
    assert "min(" not in str(module)


@pytest.mark.parametrize("bounds", ["min(%N, 12)", "min(12, %N, 20)", "min(24, 4 * %M, %N + 1)", "min(4 * %M, 8)"])
def test_tiles_end_at_all_bounds_but_one(bounds: str) -> None:
    text = PREFIX.replace("0 to %N", f"0 to {bounds} step 4").replace("%N: index", "%N: index, %M: index")
    text = text.replace("%x[%N", "%x[%N + 24").replace("%y[%N", "%y[%N + 24")
    same(text, "loop-peel{loop=i}", [(n, m) for n in range(24) for m in range(7)])


def test_peel_twice() -> None:
    steps = "loop-peel{loop=i count=2},loop-peel{loop=i count=-2},loop-peel{loop=i_rest count=1}"
    assert list(loops(same(PREFIX, steps, SMALL))) == ["i_rest_rest", "i_rest", "i", "i_rest2"]


def test_a_product_without_remainders() -> None:
    steps = "loop-tile{loops=i,j sizes=4,3},loop-peel{loop=io},loop-peel{loop=jo},loop-peel{loop=jo_rest}"
    same(MATMUL, steps, CUBES)


def test_bounds_that_cannot_be_cut() -> None:
    text = COPY.replace("0 to %N", "max(0, %N - 4) to min(%N, 9)")
    assert "cannot be cut" in str(refused(text, "loop-peel{loop=i count=1}"))
    assert "cannot be cut" in str(refused(text, "loop-peel{loop=i count=-1}"))


# -- pad

TILES = """loop.kernel @tiles(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  %zero = arith.constant 0.0 : f32
  HERE
  loop.for seq %io = 0 to %N step 8 {
    THERE
    loop.for parallel %c = 0 to min(8, %N - %io) {
      %a = loop.load %x[%io + %c] : memref<?xf32>
      loop.store %a, %t[%c] : memref<8xf32>
    }
    loop.for seq %ii = 0 to min(8, %N - %io) {
      loop.for seq %k = 0 to 3 {
        %a = loop.load %t[%ii] : memref<8xf32>
        %w1 = loop.load %w[%ii] : memref<8xf32>
        %b = arith.mulf %a, %w1 : f32
        loop.store %b, %t[%ii] : memref<8xf32>
      }
    }
    loop.for parallel %d = 0 to min(8, %N - %io) {
      %a = loop.load %t[%d] : memref<8xf32>
      loop.store %a, %y[%io + %d] : memref<?xf32>
    }
  }
}"""
ALLOC = "%t = loop.alloc stack : memref<8xf32>"
INSIDE = TILES.replace("THERE", ALLOC).replace("HERE", "")
OUTSIDE = TILES.replace("THERE", "").replace("HERE", ALLOC)


@pytest.mark.parametrize("here", [True, False])
def test_padding_keeps_every_bit(here: bool) -> None:
    module = same(OUTSIDE if here else INSIDE, "loop-pad{loop=ii size=8}", SMALL)
    assert loops(module)["ii"].constant_bounds() == (0, 8)


def test_padding_leaves_no_buffer() -> None:
    text = INSIDE
    assert "reads t at 8 of dim 0, which has 8 elements" in str(refused(text, "loop-pad{loop=ii size=9}"))
    assert "reads x at 1 of dim 0" in str(refused(text, "loop-pad{loop=c size=8}"))
    assert "would write y, which is not local" in str(refused(text, "loop-pad{loop=d size=8}"))
    assert "may run further than 4" in str(refused(text, "loop-pad{loop=ii size=4}"))
    assert "does not start at 0" in str(refused(text.replace("%ii = 0", "%ii = 1"), "loop-pad{loop=ii size=8}"))


def test_padding_overwrites_nothing() -> None:
    shifted = INSIDE.replace("loop.load %t[%d]", "loop.load %t[7 - %d]")
    true_padding_witness(refused(shifted, "loop-pad{loop=ii size=8}"), 8)
    # the full tiles before the last one are written again before they are read, but in parallel nothing is before
    true_padding_witness(refused(OUTSIDE.replace("seq %io", "parallel %io"), "loop-pad{loop=ii size=8}"), 8)


def true_padding_witness(error: ScheduleError, size: int) -> None:
    """Check by hand that an iteration that the loop `ii` did not have writes what one that it had reads."""
    conflict = error.witness
    assert isinstance(conflict, Conflict) and conflict.first.writes and not conflict.second.writes
    n, at = conflict.sizes["N"], conflict.at_first
    assert n - at["io"] <= at["ii"] < size
    assert conflict.at_second["io"] in range(0, n, 8)
    for access, at in ((conflict.first, conflict.at_first), (conflict.second, conflict.at_second)):
        assert isinstance(access.op, LoadOp | StoreOp)
        assert element(access.op, {**conflict.sizes, **at}) == conflict.element


def test_loops_without_names_are_told_apart() -> None:
    text = """loop.kernel @k(%x: memref<8xf32>) {
  %c = arith.constant 1.0 : f32
  loop.for seq %0 = 0 to 8 {
    loop.for seq %1 = 0 to 8 {
      loop.store %c, %x[%1] : memref<8xf32>
    }
  }
}"""
    conflict = refused(text, "loop-parallelize{loop=loop0}").witness
    assert isinstance(conflict, Conflict)
    assert (
        conflict.at_first["loop0"] < conflict.at_second["loop0"] and conflict.at_first["loop1"] == conflict.at_second["loop1"]
    )
    assert list(loops(same(text, "loop-parallelize{loop=loop1},loop-split{loop=loop1 size=4}"))) == [
        "loop0",
        "loop1o",
        "loop1i",
    ]


# -- fuse and fission

PAIR = """loop.kernel @pair(%x: memref<99xf32>, %N: index) {
  %two = arith.constant 2.0 : f32
  loop.for seq %i = 0 to 6 {
    %a = loop.load %x[READ1] : memref<99xf32>
    loop.store %a, %x[WRITE1] : memref<99xf32>
  }
  loop.for seq %j = 0 to 6 {
    %b = loop.load %x[READ2] : memref<99xf32>
    %c = arith.mulf %b, %two : f32
    loop.store %c, %x[WRITE2] : memref<99xf32>
  }
}"""
ONE = """loop.kernel @one(%x: memref<99xf32>, %N: index) {
  %two = arith.constant 2.0 : f32
  loop.for seq %i = 0 to 6 {
    %a = loop.load %x[READ1] : memref<99xf32>
    loop.store %a, %x[WRITE1] : memref<99xf32>
    %mark = arith.constant 0 : index
    %b = loop.load %x[READ2] : memref<99xf32>
    %c = arith.mulf %b, %two : f32
    loop.store %c, %x[WRITE2] : memref<99xf32>
  }
}"""


@pytest.mark.parametrize("fuses", [True, False])
def test_fuse_and_fission_are_refused_exactly_when_iterations_change_places(fuses: bool) -> None:
    rng = random.Random(5)
    counts = {True: 0, False: 0}
    for _ in range(60):
        text = PAIR if fuses else ONE
        places = {}
        for k, part in enumerate(("READ1", "WRITE1", "READ2", "WRITE2")):
            places[part] = c, d = rng.choice((0, 1, 1, 2, -1)), rng.choice((20, 21, 22, 25, 27, 40))
            text = text.replace(part, f"%{'j' if fuses and k > 1 else 'i'} * {c} + {d}")
        bad = any(
            c * x + d == e * y + f
            for (one, (c, d)), (two, (e, f)) in itertools.product(list(places.items())[:2], list(places.items())[2:])
            if "WRITE" in one + two
            for x in range(6)
            for y in range(x)
        )
        counts[bad] += 1
        steps = "loop-fuse{first=i second=j}" if fuses else "loop-fission{loop=i after=mark}"
        if bad:
            conflict = true_witness(refused(text, steps))
            x, y = conflict.at_first["i"], conflict.at_second["j" if fuses else "i"]
            assert (x > y) if fuses else (x < y)
        else:
            same(text, steps, [(0,)])
    assert min(counts.values()) > 10


def test_fuse_then_fission_is_nothing() -> None:
    other = COPY[COPY.index("\n  loop.for") :].replace("%i", "%j").replace("%a", "%b")
    first = "loop.store %a, %y[%i] : memref<?xf32>"
    two = COPY.replace("\n}", other).replace(first, first + "\n    %mark = arith.constant 0 : index")
    module = same(two, "loop-fuse{first=i second=j}", SMALL)
    assert list(loops(module)) == ["i"]
    assert list(loops(same(two, "loop-fuse{first=i second=j},loop-fission{loop=i after=mark}", SMALL))) == ["i", "i2"]


CARRIES = """loop.kernel @carries(%x: memref<?xf32>, %y: memref<2xf32>, %N: index) shapes(%x[%N]) {
  %one = arith.constant 1.0 : f32
  %p = loop.for seq %i = 0 to %N carry %a = %one : f32 {
    %b = loop.load %x[%i] : memref<?xf32>
    %c = arith.subf %b, %a : f32
    loop.yield %c : f32
  }
  %t = loop.alloc stack : memref<4xf32>
  %q = loop.for seq %j = 0 to %N carry %d = %one : f32 {
    %e = loop.load %x[%j] : memref<?xf32>
    loop.store %e, %t[3] : memref<4xf32>
    %h = loop.load %t[3] : memref<4xf32>
    %f = arith.mulf %h, %d : f32
    loop.yield %f : f32
  }
  loop.store %p, %y[0] : memref<2xf32>
  loop.store %q, %y[1] : memref<2xf32>
}"""


def test_fused_loops_carry_the_values_of_both() -> None:
    module = same(CARRIES, "loop-fuse{first=i second=j}", SMALL)
    assert "%p, %q = loop.for seq %i" in str(module)
    same(CARRIES.replace("%j = 0 to %N", "%j = 0 to min(%N, %N + 3)"), "loop-fuse{first=i second=j}", SMALL)


def test_fuse_says_what_does_not_fit() -> None:
    assert "i does not follow j in the same loop" in str(refused(CARRIES, "loop-fuse{first=j second=i}"))
    between = CARRIES.replace("%t = loop.alloc", "loop.store %one, %y[0] : memref<2xf32>\n  %t = loop.alloc")
    assert "'loop.store' stands between them" in str(refused(between, "loop-fuse{first=i second=j}"))
    uses = CARRIES.replace("%t = loop.alloc", "%o = arith.addf %p, %p : f32\n  %t = loop.alloc")
    assert "what stands between them uses a value" in str(refused(uses, "loop-fuse{first=i second=j}"))
    uses = uses.replace("%d = %one", "%d = %o")
    assert "j uses a value that i computes" in str(refused(uses, "loop-fuse{first=i second=j}"))
    assert "their bounds are not the same" in str(
        refused(CARRIES.replace("%j = 0 to %N", "%j = 0 to %N step 2"), "loop-fuse{first=i second=j}")
    )
    floors = CARRIES.replace("%i = 0 to %N", "%i = 0 to %N floordiv 2").replace("%j = 0 to %N", "%j = 0 to %N floordiv 3")
    assert "their bounds are not the same" in str(refused(floors, "loop-fuse{first=i second=j}"))
    same(floors.replace("floordiv 3", "floordiv 2"), "loop-fuse{first=i second=j}", SMALL)


def test_fission_says_what_does_not_fit() -> None:
    assert "carries values" in str(refused(CARRIED, "loop-fission{loop=i after=c}"))
    assert "nothing stands after x in i" in str(refused(PREFIX, "loop-fission{loop=i after=x}"))
    assert "no statement 'q'" in str(refused(PREFIX, "loop-fission{loop=i after=q}"))
    assert "the rest uses %a" in str(refused(PREFIX, "loop-fission{loop=i after=a}"))


# -- unroll and jam

ROWS = """loop.kernel @rows(%x: memref<?x?xf32>, %w: memref<?xf32>, %y: memref<?xf32>, %N: index, %K: index)
    shapes(%x[%N, %K], %w[%K], %y[%N]) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  loop.for KIND %i = 0 to %N {
    %t = loop.alloc stack : memref<2xf32>
    %u = arith.index_cast %i : index to i64
    %f = arith.sitofp %u : i64 to f32
    loop.store %f, %t[1] : memref<2xf32>
    %s = loop.for reduce<add> %k = 0 to %K init %zero : f32 {
      %a = loop.load %x[%i, %k] : memref<?x?xf32>
      %b = loop.load %w[%k] : memref<?xf32>
      %c = arith.mulf %a, %b : f32
      loop.yield %c : f32
    }
    %m = arith.cmpf olt, %s, %zero : f32
    %g = loop.if %m -> f32 {
      %v = loop.for seq %l = 0 to %K carry %h = %s : f32 {
        %a = loop.load %x[%i, %l] : memref<?x?xf32>
        %e = loop.load %t[1] : memref<2xf32>
        %o = arith.addf %h, %e : f32
        %d = arith.subf %a, %o : f32
        loop.yield %d : f32
      }
      loop.yield %v : f32
    } else {
      loop.yield %one : f32
    }
    %p, %q = loop.for seq %n = 0 to %K carry %r = %g : f32, %z = %s : f32 {
      %a = loop.load %w[%n] : memref<?xf32>
      %e = arith.mulf %a, %r : f32
      loop.for seq %j = 0 to %n {
        loop.store %e, %x[%i, %j] : memref<?x?xf32>
      }
      loop.yield %z, %e : f32, f32
    }
    %d = arith.subf %p, %q : f32
    loop.store %d, %y[%i] : memref<?xf32>
  }
}"""
RECTANGLES = [(0, 3), (1, 0), (2, 4), (3, 3), (4, 2), (7, 5), (12, 3), (13, 1)]


@pytest.mark.parametrize("kind", ["seq", "parallel"])
@pytest.mark.parametrize("factor", [2, 3, 4])
def test_jam_keeps_every_bit(kind: str, factor: int) -> None:
    module = same(ROWS.replace("KIND", kind), f"loop-unroll-and-jam{{loop=i factor={factor}}}", RECTANGLES)
    main = loops(module)["io"]
    assert len(loops(main)["k"].results) == factor and len(loops(main)["n"].results) == 2 * factor
    names = [loop.index.name_hint for loop in module.walk() if isinstance(loop, ForOp)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("loop", "ijk")
@pytest.mark.parametrize("factor", [2, 3])
def test_jam_of_a_product(loop: str, factor: int) -> None:
    module = same(MATMUL, f"loop-unroll-and-jam{{loop={loop} factor={factor}}}", CUBES)
    assert loops(module)[loop + "i"].kind.data == "unroll"
    assert loops(module)[loop + "i"].constant_bounds() == (0, factor)


def test_jam_of_steps() -> None:
    text = ROWS.replace("KIND", "seq").replace("%i = 0 to %N", "%i = 1 to %N step 2")
    same(text, "loop-unroll-and-jam{loop=i factor=3}", RECTANGLES)


def test_jam_is_refused() -> None:
    step = "loop-unroll-and-jam{loop=i factor=2}"
    rows = ROWS.replace("KIND", "seq")
    error = refused(rows.replace("loop.store %d, %y[%i]", "loop.store %d, %y[%N - 1]"), step)
    conflict = true_witness(error)
    assert conflict.at_second["i"] - conflict.at_first["i"] == 1
    apart = rows.replace("shapes(%x[%N, %K], %w[%K], %y[%N])", "shapes(%x[%N + 2, %K], %w[%K], %y[%N])").replace(
        "%a = loop.load %x[%i, %k]", "%a = loop.load %x[%i + 2, %k]"
    )
    same(apart, step, RECTANGLES)
    conflict = true_witness(refused(apart, "loop-unroll-and-jam{loop=i factor=3}"))
    assert conflict.at_second["i"] - conflict.at_first["i"] == 2
    assert "the bounds of k may change with i" in str(refused(rows.replace("%k = 0 to %K", "%k = 0 to min(%i, %K)"), step))
    assert "several expressions" in str(refused(rows.replace("%i = 0 to %N", "%i = 0 to min(%K, %N)"), step))
    assert "carries values" in str(refused(CARRIED, step))
    assert "the factor must be 2 or more" in str(refused(rows, "loop-unroll-and-jam{loop=i factor=1}"))
    true_witness(refused(TRANSPOSED_SUM, step))


def test_an_argmax_is_not_jammed() -> None:
    text = """loop.kernel @k(%x: memref<?x?xf32>, %y: memref<?xi64>, %N: index, %K: index) shapes(%x[%N, %K], %y[%N]) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  loop.for seq %i = 0 to %N {
    %v, %at = loop.for reduce<argmax> %k = 0 to %K init %low : f32, %zero : i64 {
      %a = loop.load %x[%i, %k] : memref<?x?xf32>
      %n = arith.index_cast %k : index to i64
      loop.yield %a, %n : f32, i64
    }
    loop.store %at, %y[%i] : memref<?xi64>
  }
}"""
    assert "k reduces by argmax" in str(refused(text, "loop-unroll-and-jam{loop=i factor=2}"))
    same(text, "loop-split{loop=i size=3},loop-split{loop=k size=2}", RECTANGLES)
