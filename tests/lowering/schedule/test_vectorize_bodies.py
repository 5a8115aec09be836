"""loop-vectorize on bodies with conditionals, loops, local buffers and reductions: the same results, before and after."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from lamina.dialects.loop.gather import GatherOp, ScatterOp
from lamina.dialects.loop.loops import IfOp
from lamina.dialects.loop.memory import ReduceLanesOp
from lamina.runtime.interpreter import Interpreter

sys.path.insert(0, str(Path(__file__).parent))
from vectorizing import SIZES, TAILS, count, each_tail, one_loop, refused, same, scheduled

# Conditionals

OVER = "%a = loop.load %x[%i] : %x:\n%big = arith.cmpf ogt, %a, %zero : f32\n"


def test_stores_under_a_condition_are_masked():
    body = OVER + "loop.if %big { loop.store %a, %y[%i] : %y: } else { %b = arith.negf %a : f32\nloop.store %b, %z[%i] : %z: }"
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N], %z[%N]"))
    assert count(module, IfOp) == 0


def test_results_of_conditionals_are_selected():
    body = (
        OVER
        + """%r, %q = loop.if %big -> f32, f32 {
        %b = loop.load %z[%i] : %z:
        %c = arith.mulf %a, %b : f32
        loop.yield %c, %one : f32, f32
      } else {
        %d = arith.negf %a : f32
        loop.yield %d, %d : f32, f32
      }
      %s = arith.addf %r, %q : f32
      loop.store %s, %y[%i] : %y:"""
    )
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N], %z[%N]"))
    assert count(module, IfOp) == 0


def test_conditionals_in_conditionals():
    body = (
        OVER
        + """loop.if %big {
        %b = loop.load %z[%i] : %z:
        %near = arith.cmpf olt, %b, %a : f32
        %w = loop.if %near -> f32 {
          loop.store %b, %y[%i] : %y:
          loop.yield %one : f32
        } else {
          loop.if %near { loop.store %zero, %z[%i] : %z: }
          loop.yield %a : f32
        }
        loop.store %w, %z[%i] : %z:
      }"""
    )
    each_tail(one_loop(body, arrays="%x[%N], %y[%N], %z[%N]"))


def test_a_condition_that_lanes_share_stays():
    body = """%o = loop.load %w[0] : %w:
      %big = arith.cmpf ogt, %o, %zero : f32
      %a = loop.load %x[%i] : %x:
      %r, %q = loop.if %big -> f32, f32 { loop.yield %a, %one : f32, f32 } else { loop.yield %one, %zero : f32, f32 }
      loop.if %big { loop.store %q, %z[%i] : %z: }
      loop.store %r, %y[%i] : %y:"""
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N], %z[%N], %w[%N + 1]"))
    assert count(module, IfOp) == 2 and "-> vector<8xf32>, f32" in str(module)


def test_what_no_iteration_accesses_is_not_accessed():
    """`w` has no elements, and the condition holds nowhere; its one place must not be read for all lanes, either."""
    body = """%a = loop.load %x[%i] : %x:
      %n = arith.constant 4 : index
      %in = arith.cmpi slt, %i, %n : index
      %r = loop.if %in -> f32 {
        %b = loop.load %w[%i] : %w:
        %c = loop.load %w[0] : %w:
        %d = arith.addf %b, %c : f32
        loop.yield %d : f32
      } else { loop.yield %a : f32 }
      loop.if %in { loop.store %one, %w[1] : %w: }
      loop.store %r, %y[%i] : %y:"""
    text = one_loop(body, "%i = 4 to %N", "%x[%N], %y[%N], %w[%M]", kind="parallel").replace(
        "%N: index", "%N: index, %M: index"
    )
    each_tail(text, sizes=[(n, 0) for n in SIZES if n > 3])


def test_what_is_inside_anyway_is_read_without_a_mask():
    body = (
        OVER
        + """%r = loop.if %big -> f32 {
        %b = loop.load %x[%N - %i - 1] : %x:
        %c = loop.load %w[%N] : %w:
        %d = arith.addf %b, %c : f32
        loop.yield %d : f32
      } else { loop.yield %a : f32 }
      loop.store %r, %y[%i] : %y:"""
    )
    text = one_loop(body, arrays="%x[%N], %y[%N], %w[%N + 1]")
    each_tail(text)
    module = same(text, "loop-vectorize{loop=i lanes=8 tail=scalar}")
    assert "mask" not in str(module) and count(module, IfOp) == 1  # that of the scalar rest
    lower = text.replace("%w[%N + 1]", "%w[%N]").replace("%w[%N]", "%w[%N - 2]", 1)
    assert "reduce_lanes<or>" in str(scheduled(lower, "loop-vectorize{loop=i lanes=8}"))


def test_a_while_loop_runs_until_the_last_lane_stops():
    """Steps of 3n + 1 until 1: lanes take different numbers of steps."""
    body = """%p0 = loop.load %p[%i] : %p:
      %uno = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %three = arith.constant 3 : i64
      %n0 = arith.addi %p0, %uno : i64
      %c0 = arith.cmpi sgt, %n0, %uno : i64
      %last, %steps = loop.while %c0 carry %n = %n0 : i64, %k = %uno : i64 {
        %h = arith.divsi %n, %two : i64
        %r = arith.remsi %n, %two : i64
        %t = arith.muli %n, %three : i64
        %u = arith.addi %t, %uno : i64
        %even = arith.cmpi ne, %r, %uno : i64
        %m = arith.select %even, %h, %u : i64
        %k1 = arith.addi %k, %uno : i64
        %on = arith.cmpi sgt, %m, %uno : i64
        loop.yield %on, %m, %k1 : i1, i64, i64
      }
      loop.store %steps, %po[%i] : %po:
      loop.store %last, %p[%i] : %p:"""
    each_tail(one_loop(body, arrays="%p[%N], %po[%N]"))


@pytest.mark.thorough
def test_stores_in_a_while_loop_stop_with_their_lane():
    body = """%p0 = loop.load %p[%i] : %p:
      %nil = arith.constant 0 : i64
      %uno = arith.constant 1 : i64
      %c0 = arith.cmpi sgt, %p0, %nil : i64
      %last = loop.while %c0 carry %n = %p0 : i64 {
        %at = arith.index_cast %n : i64 to index
        %old = loop.load %z[%i, %at] : %z:
        %w0 = loop.load %w[%i] : %w:
        %new = arith.addf %old, %w0 : f32
        loop.store %new, %z[%i, %at] : %z:
        loop.store %new, %w[%i] : %w:
        %m = arith.subi %n, %uno : i64
        %on = arith.cmpi sgt, %m, %nil : i64
        loop.yield %on, %m : i1, i64
      }"""
    text = one_loop(body, arrays="%p[%N], %z[%N, %N + 1], %w[%N]", kind="parallel")
    each_tail(text)


def test_a_while_loop_that_lanes_share():
    body = """%a = loop.load %x[%i] : %x:
      %nil = arith.constant 0 : index
      %uno = arith.constant 1 : index
      %c0 = arith.cmpi sgt, %N, %nil : index
      %m, %s = loop.while %c0 carry %n = %N : index, %v = %a : f32 {
        %b = arith.addf %v, %a : f32
        %l = arith.subi %n, %uno : index
        %on = arith.cmpi sgt, %l, %nil : index
        loop.yield %on, %l, %b : i1, index, f32
      }
      loop.store %s, %y[%i] : %y:"""
    module = each_tail(one_loop(body))
    assert count(module, ReduceLanesOp) == 0


def test_a_while_loop_under_a_condition():
    """Without the condition it would not end."""
    body = (
        OVER
        + """loop.if %big {
        %yes = arith.constant true
        %s = loop.while %yes carry %v = %a : f32 {
          %b = arith.subf %v, %one : f32
          %on = arith.cmpf one, %w0, %zero : f32
          %on2 = arith.cmpf ogt, %b, %zero : f32
          %both = arith.andi %on, %on2 : i1
          loop.yield %both, %b : i1, f32
        }
        loop.store %s, %y[%i] : %y:
      }"""
    )
    each_tail(one_loop(body.replace("%on2", "%two").replace("%w0", "%v"), kind="seq"))


# Local buffers


def test_local_buffers_get_a_dim_of_lanes():
    body = """%t = loop.alloc PLACE : memref<3x4xf32>
      loop.for seq %j = 0 to 3 {
        %a = loop.load %x[%i, %j] : %x:
        loop.store %a, %t[%j, 2] : memref<3x4xf32>
        loop.store %one, %t[2 - %j, 0] : memref<3x4xf32>
      }
      loop.for seq %k = 0 to 3 {
        %b = loop.load %t[%k, 2] : memref<3x4xf32>
        %c = loop.load %t[0, 0] : memref<3x4xf32>
        %d = arith.subf %b, %c : f32
        loop.store %d, %y[%k, %i] : %y:
      }"""
    for place in ("register", "stack", "scratch"):
        text = one_loop(body.replace("PLACE", place), arrays="%x[%N, 3 + %N], %y[3 + %N, %N]")
        module = each_tail(text)
        assert "memref<3x4x8xf32>" in str(module) and count(module, GatherOp) == 0


def test_local_buffers_at_places_that_lanes_compute():
    body = """%t = loop.alloc stack : memref<8xf32>
      loop.for seq %j = 0 to 8 { loop.store %zero, %t[%j] : memref<8xf32> }
      %a = loop.load %x[%i] : %x:
      loop.store %a, %t[%i mod 8] : memref<8xf32>
      %big = arith.cmpf ogt, %a, %zero : f32
      loop.if %big { loop.store %one, %t[3] : memref<8xf32> }
      %p0 = loop.load %p[%i] : %p:
      %q = arith.index_cast %p0 : i64 to index
      %b = loop.load %t[%q mod 8] : memref<8xf32>
      loop.store %b, %y[%i] : %y:"""
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N], %p[%N]"))
    assert count(module, GatherOp) == 1 and count(module, ScatterOp) == 1


def test_a_local_buffer_of_a_size_from_outside():
    body = """%t = loop.alloc scratch(%N) : memref<?xf32>
      loop.for seq %j = 0 to %N { %a = loop.load %x[%j, %i] : %x:
        loop.store %a, %t[%j] : memref<?xf32> }
      loop.for seq %k = 0 to %N { %b = loop.load %t[%N - %k - 1] : memref<?xf32>
        loop.store %b, %x[%k, %i] : %x: }"""
    text = one_loop(body, arrays="%x[%N, %N]")
    each_tail(text, sizes=[(n,) for n in (0, 1, 5, 9)])
    refused(text.replace("scratch(%N)", "scratch(%i)"), "loop-vectorize{loop=i lanes=4}", "the size of t depends on it")


TILE = """%t = loop.alloc register : memref<3x10xf32>
      loop.for seq %j = 0 to 10 { BODY }
      loop.for seq %k = 0 to 10 {
        %b = loop.load %t[1, %k] : memref<3x10xf32>
        loop.store %b, %x[%i, %k] : %x:
      }"""
FILL = "%a = loop.load %x[%i, %j] : %x:\nloop.store %a, %t[1, {at}] : memref<3x10xf32>"


def test_lanes_that_are_off_stay_inside_a_register_tile():
    def tile(body: str) -> str:
        return one_loop(TILE.replace("BODY", body), arrays="%x[%N, %N + 10]")

    sizes = [(n,) for n in (0, 3)]
    for steps in ("loop-vectorize{loop=j lanes=4}", "loop-vectorize{loop=j lanes=4 tail=predicated}"):
        module = same(tile(FILL.format(at="%j")), steps, sizes)
        assert "memref<3x12xf32>" in str(module) and count(module, GatherOp, ScatterOp) == 0
    both = "loop-vectorize{loop=j lanes=4},loop-vectorize{loop=k lanes=8}"
    assert "memref<3x16xf32>" in str(same(tile(FILL.format(at="%j")), both, sizes))
    assert "memref<3x10xf32>" in str(same(tile(FILL.format(at="%j")), "loop-vectorize{loop=j lanes=2}", sizes))
    module = same(tile(FILL.format(at="9 - %j")), "loop-vectorize{loop=j lanes=4}", sizes)
    assert "memref<3x10xf32>" in str(module) and count(module, ScatterOp) == 1
    odd = "%n = arith.constant 6 : index\n%in = arith.cmpi slt, %j, %n : index\nloop.if %in {" + FILL.format(at="%j + 4") + "}"
    module = same(tile(odd).replace("%k]", "%k mod 6 + 4]"), "loop-vectorize{loop=j lanes=2}", sizes)
    assert "memref<3x10xf32>" in str(module) and count(module, ScatterOp) == 1


# Loops inside


def test_loops_inside_that_carry_values():
    body = """%a = loop.load %x[%i] : %x:
      %s, %c = loop.for seq %j = 0 to 4 carry %v = %a : f32, %k = %zero : f32 {
        %b = loop.load %x[%i] : %x:
        %d = arith.mulf %v, %b : f32
        %e = arith.addf %k, %one : f32
        loop.yield %d, %e : f32, f32
      }
      %r = loop.for reduce<max> %l = 0 to 3 init %s : f32 {
        %f = loop.load %w[%l] : %w:
        %g = arith.mulf %f, %a : f32
        loop.yield %g : f32
      }
      %t = arith.addf %r, %c : f32
      loop.store %t, %y[%i] : %y:"""
    each_tail(one_loop(body, arrays="%x[%N], %y[%N], %w[%N + 3]"))


def nested(bounds: str, kind: str = "seq", extra: str = "") -> str:
    carry = {"seq": "carry %v = %zero : f32", "reduce<add>": "init %zero : f32", "reduce<max>": "init %zero : f32"}[kind]
    combine = "%n = arith.addf %v, %m : f32" if kind == "seq" else "%n = arith.mulf %m, %m : f32"
    return one_loop(
        f"""{extra}
      %s = loop.for {kind} %j = {bounds} {carry} {{
        %a = loop.load %z[%i, %j] : %z:
        %b = loop.load %x[%j] : %x:
        %m = arith.mulf %a, %b : f32
        {combine}
        loop.store %m, %w[%i, %j] : %w:
        loop.yield %n : f32
      }}
      loop.store %s, %y[%i] : %y:""",
        arrays="%x[%N + 9], %y[%N], %z[%N, %N + 9], %w[%N, %N + 9], %p[%N + 1]",
    )


BOUNDS = [
    "0 to %i", "%i to %N", "%i + 1 to %N", "%N - %i to %N", "%i to %i + 3", "0 to min(%i, 7)", "0 to %i mod 5",
    "max(2, %i - 3) to min(%N, %i + 3)", "0 to %i step 3", "%i * 2 to %N step 2", "%i to %N step 3", "%i floordiv 2 to %i",
]  # fmt: skip


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("kind", ["seq", "reduce<add>", "reduce<max>"])
def test_loops_inside_with_bounds_of_their_own(bounds, kind):
    each_tail(nested(bounds, kind), sizes=[(n,) for n in (0, 1, 5, 8, 13)], lanes=(4,))
    if kind == "seq":
        by_step = nested(bounds, kind).replace("%i = 0 to %N", "%i = 1 to %N step 2")
        each_tail(by_step, sizes=[(n,) for n in (0, 1, 8, 13)], lanes=(4,))


@pytest.mark.thorough
def test_loops_inside_with_bounds_from_data():
    rows = """%p0 = loop.load %p[%i] : %p:
      %p1 = loop.load %p[%i + 1] : %p:
      %first = arith.index_cast %p0 : i64 to index
      %end = arith.index_cast %p1 : i64 to index"""
    for bounds in (
        "%first to %end",
        "0 to %end",
        "%first to %N",
        "%first + 1 to min(%N, %end * 2) step 2",
        "3 to min(%N, %end)",
    ):
        for kind in ("seq", "reduce<add>"):
            each_tail(nested(bounds, kind, rows), sizes=[(n,) for n in (0, 1, 5, 8, 13)], lanes=(4,))


def test_loops_inside_with_bounds_of_their_own_under_a_condition():
    body = (
        OVER
        + """loop.if %big {
        loop.for seq %j = %i to min(%N, %i + 4) {
          loop.for seq %k = %j to %N {
            %b = loop.load %z[%i, %k] : %z:
            %c = arith.addf %b, %a : f32
            loop.store %c, %z[%i, %k] : %z:
            loop.store %c, %y[%i] : %y:
          }
        }
      }"""
    )
    each_tail(one_loop(body, arrays="%x[%N], %y[%N], %z[%N, %N]"), sizes=[(n,) for n in (0, 1, 5, 9)], lanes=(4,))


# Reductions


def reduction(monoid: str, init: str, element: str = "f32", head: str = "%i = 0 to %N") -> str:
    return f"""loop.kernel @k(%x: memref<?x{element}>, %y: memref<?x{element}>, %s: {element}, %N: index)
        shapes(%x[%N], %y[%N + 2]) {{
      %init = arith.constant {init} : {element}
      %r = loop.for reduce<{monoid}> {head} init %init : {element} {{
        %a = loop.load %x[%i] : memref<?x{element}>
        %b = arith.{"addi" if element != "f32" else "addf"} %a, %a : {element}
        loop.yield %b : {element}
      }}
      loop.store %r, %y[0] : memref<?x{element}>
    }}"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "monoid,init", [("add", "0.0"), ("add", "2.5"), ("mul", "1.0"), ("max", "0.25"), ("min", "0xFF800000")]
)
def test_reductions(monoid, init):
    for head in ("%i = 0 to %N", "%i = 1 to %N step 3", "%i = 0 to min(%N, 9)", "%i = 3 to %N"):
        each_tail(reduction(monoid, init, head=head), close=True)


@pytest.mark.thorough(every=6)
@pytest.mark.parametrize("monoid,init", [("add", "3"), ("mul", "1"), ("max", "-5"), ("min", "9"), ("and", "-1"), ("or", "4")])
def test_integer_reductions_are_exact(monoid, init):
    each_tail(reduction(monoid, init, "i64"))
    each_tail(reduction(monoid, init, "i64").replace("%init :", "%s :"), sizes=[(n,) for n in (0, 3, 20)])


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("start", ["%low, %nil", "%high, %nil", "%high, %many", "%low, %many"])
@pytest.mark.parametrize("monoid", ["argmax", "argmin"])
def test_positions(monoid, start):
    low, high = ("0xFF800000", "0.5") if monoid == "argmax" else ("0x7F800000", "-0.5")
    value, position = start.split(", ")
    text = f"""loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %p: memref<?xi64>, %N: index)
        shapes(%x[%N], %y[%N + 1], %p[%N + 1]) {{
      %low = arith.constant {low} : f32
      %high = arith.constant {high} : f32
      %nil = arith.constant 0 : i64
      %many = arith.constant 7 : i64
      %v, %at = loop.for reduce<{monoid}> %i = 0 to %N init {value} : f32, {position} : i64 {{
        %a = loop.load %x[%i] : memref<?xf32>
        %k = arith.index_cast %i : index to i64
        loop.yield %a, %k : f32, i64
      }}
      loop.store %v, %y[0] : memref<?xf32>
      loop.store %at, %p[0] : memref<?xi64>
    }}"""
    each_tail(text)


def test_several_sums():
    """Forces of an n-body problem: three sums of one loop, and a condition in it."""
    text = """loop.kernel @k(%x: memref<?x?xf32>, %f: memref<?x?xf32>, %N: index, %M: index) shapes(%x[%M, %N], %f[%N, %M]) {
      %zero = arith.constant 0.0 : f32
      %soft = arith.constant 0.01 : f32
      loop.for parallel %i = 0 to %N {
        %xi = loop.load %x[0, %i] : memref<?x?xf32>
        %yi = loop.load %x[1, %i] : memref<?x?xf32>
        %zi = loop.load %x[2, %i] : memref<?x?xf32>
        %fx, %fy, %fz = loop.for reduce<add> %j = 0 to %N init %zero : f32, %zero : f32, %zero : f32 {
          %xj = loop.load %x[0, %j] : memref<?x?xf32>
          %yj = loop.load %x[1, %j] : memref<?x?xf32>
          %zj = loop.load %x[2, %j] : memref<?x?xf32>
          %dx = arith.subf %xj, %xi : f32
          %dy = arith.subf %yj, %yi : f32
          %dz = arith.subf %zj, %zi : f32
          %d1 = math.fma %dx, %dx, %soft : f32
          %d2 = math.fma %dy, %dy, %d1 : f32
          %d3 = math.fma %dz, %dz, %d2 : f32
          %r = math.sqrt %d3 : f32
          %px = arith.divf %dx, %r : f32
          %py = arith.mulf %dy, %r : f32
          %other = arith.cmpi ne, %i, %j : index
          %pz = loop.if %other -> f32 {
            %q = arith.mulf %dz, %r : f32
            loop.yield %q : f32
          } else { loop.yield %zero : f32 }
          loop.yield %px, %py, %pz : f32, f32, f32
        }
        loop.store %fx, %f[%i, 0] : memref<?x?xf32>
        loop.store %fy, %f[%i, 1] : memref<?x?xf32>
        loop.store %fz, %f[%i, 2] : memref<?x?xf32>
      }
    }"""
    sizes = [(n, 3) for n in (0, 1, 5, 8, 13)]
    module = each_tail(text, "j", close=True, sizes=sizes)
    assert count(module, ReduceLanesOp) == 3
    each_tail(text, "i", close=True, sizes=sizes)


def test_a_reduction_that_also_stores():
    text = """loop.kernel @k(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N + 1], %y[%N + 1]) {
      %init = arith.constant 1.0 : f32
      %r = loop.for reduce<add> %i = 0 to %N init %init : f32 {
        %a = loop.load %x[%i] : memref<?xf32>
        loop.store %a, %y[%i] : memref<?xf32>
        loop.yield %a : f32
      }
      loop.store %r, %y[%N] : memref<?xf32>
    }"""
    each_tail(text, close=True)
    wrong = text.replace("%a, %y[%i]", "%a, %x[%i + 1]")
    assert refused(wrong, "loop-vectorize{loop=i lanes=4}", "apart depend") is not None


# Checks


def test_of_checks_the_first_lane_that_fails_is_reported():
    body = """%p0 = loop.load %p[%i] : %p:
      %at = arith.index_cast %p0 : i64 to index
      %ok = arith.cmpi slt, %at, %N : index
      loop.check %ok, %at, 3
      %a = loop.load %x[%at] : %x:
      loop.store %a, %y[%i] : %y:"""
    text = one_loop(body, arrays="%x[%N], %y[%N], %p[%N]")
    each_tail(text)
    for tail in TAILS:
        module = scheduled(text, f"loop-vectorize{{loop=i lanes=4 tail={tail}}}")
        for places in ([1, 2, 99, 0, 50, 1], [0, 0, 0, 0, 0, 77], [0, 8, 7, 0, 0, 77]):
            bad = next(p for p in places if p >= 6)
            with pytest.raises(Exception, match=f"3 failed for {bad}"):
                Interpreter(module).launch("k", [np.ones(6, "f4"), np.ones(6, "f4"), np.array(places), 6])
