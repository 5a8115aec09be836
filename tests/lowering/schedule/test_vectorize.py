"""loop-vectorize: what it leaves computes the same, bit for bit unless a float reduction is reordered, or it is refused.

Kernels are interpreted before and after, on random arrays; accesses out of bounds are errors there, so masks
are tested, too.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lamina import passes
from lamina.dialects.loop.gather import GatherOp, ScatterOp
from lamina.dialects.loop.memory import StoreOp
from lamina.lowering.analysis.nests import loops

sys.path.insert(0, str(Path(__file__).parent))
from vectorizing import SQUARE, TAILS, count, each_tail, one_loop, refused, same, scheduled


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize(
    "head", ["%i = 0 to %N", "%i = 3 to %N", "%i = 1 to %N - 2", "%i = 0 to %N step 3", "%i = 2 to %N step 5"]
)
@pytest.mark.parametrize("kind", ["seq", "parallel"])
def test_bounds_of_any_size(head, kind):
    text = one_loop(SQUARE, head, kind=kind)
    module = each_tail(text, lanes=(2, 4, 16))
    assert [loop.kind.data for loop in loops(module).values()] == ["vector"]  # predicated
    module = same(text, "loop-vectorize{loop=i lanes=4}")
    assert [(name, loop.kind.data) for name, loop in loops(module).items()] == [("i", "vector"), ("i_rest", "vector")]
    module = same(text, "loop-vectorize{loop=i lanes=4 tail=scalar}")
    assert [(name, loop.kind.data) for name, loop in loops(module).items()] == [("i", "vector"), ("i_rest", kind)]


@pytest.mark.parametrize(
    "head", ["%i = 0 to min(%N, 12)", "%i = max(2, %N - 9) to %N", "%i = max(1, %N - 5) to min(%N, 20) step 2"]
)
def test_several_bounds_are_predicated(head):
    for lanes in (2, 8):
        for tail in TAILS:
            module = same(one_loop(SQUARE, head), f"loop-vectorize{{loop=i lanes={lanes} tail={tail}}}")
            assert list(loops(module)) == ["i"]
            assert "create_mask" in str(module)


def test_a_tile_runs_on_all_of_its_vectors():
    """So it can be unrolled; but only where the loop is known to run, as lanes share accesses."""
    text = """loop.kernel @k(%x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>, %N: index)
        shapes(%x[%N], %w[%N], %y[%N]) {
      loop.for seq %io = 0 to %N step 12 {
        loop.for seq %i = 0 to min(12, %N - %io) {
          %a = loop.load %x[%io + %i] : memref<?xf32>
          %b = loop.load %w[%io] : memref<?xf32>
          %c = arith.mulf %a, %b : f32
          loop.store %c, %y[%i + %io] : memref<?xf32>
        }
      }
    }"""
    assert "%i = 0 to 16 step 8" in str(each_tail(text))
    assert "%i = 0 to 12 step 4" in str(each_tail(text, lanes=(4,)))
    beyond = text.replace("%io = 0 to %N step 12", "%io = 0 to %N + 9 step 12").replace("%w[%io]", "%w[%N - 1]")
    assert "%i = 0 to min(12, %N - %io) step 8" in str(each_tail(beyond))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(
    "head", ["%i = 0 to 16", "%i = 4 to 20", "%i = 0 to 48 step 3", "%i = 5 to 5", "%i = 0 to min(16, 32)"]
)
def test_full_vectors_need_no_mask(head, tail):
    text = one_loop(SQUARE, head)
    module = same(text, f"loop-vectorize{{loop=i lanes=8 tail={tail}}}", [(48,)])
    assert list(loops(module)) == ["i"] and "mask" not in str(module)


@pytest.mark.parametrize("head", ["%i = 0 to %N * 8", "%i = 0 to min(%N * 8, 16)", "%i = %N to %N * 9 - 8"])
def test_multiples_of_the_lanes_need_no_mask(head):
    text = one_loop(SQUARE, head, "%x[%N * 9], %y[%N * 9]")
    module = same(text, "loop-vectorize{loop=i lanes=8}", [(n,) for n in (1, 2, 3)])
    assert list(loops(module)) == ["i"] and "mask" not in str(module)


@pytest.mark.parametrize("head", ["%i = 0 to 20", "%i = 0 to 5", "%i = 0 to 40 step 3", "%i = 7 to 8"])
def test_constant_bounds(head):
    each_tail(one_loop(SQUARE, head), sizes=[(40,)], lanes=(2, 8, 32))


def test_fewer_iterations_than_lanes_leave_the_loop_as_it_is_named():
    text = one_loop(SQUARE, "%i = 0 to 5")
    for tail, kind in (("masked", "vector"), ("scalar", "seq"), ("predicated", "vector")):
        module = same(text, f"loop-vectorize{{loop=i lanes=8 tail={tail}}}", [(5,)])
        assert [(name, loop.kind.data) for name, loop in loops(module).items()] == [("i", kind)]


def test_a_known_difference_of_bounds():
    text = """loop.kernel @k(%x: memref<?xf32>, %N: index) shapes(%x[%N + 20]) {
      loop.for seq %j = 0 to %N {
        loop.for seq %i = %j to %j + 20 {
          %a = loop.load %x[%i] : memref<?xf32>
          %b = arith.addf %a, %a : f32
          loop.store %b, %x[%i] : memref<?xf32>
        }
      }
    }"""
    assert "create_mask" not in str(same(text, "loop-vectorize{loop=i lanes=8}"))
    assert list(loops(same(text, "loop-vectorize{loop=i lanes=4}"))) == ["j", "i"]


def test_a_lower_bound_that_may_exceed_the_upper_one():
    text = """loop.kernel @k(%x: memref<?xf32>, %N: index, %M: index) shapes(%x[%N]) {
      loop.for seq %i = %M to %N {
        %a = loop.load %x[%i] : memref<?xf32>
        %b = arith.addf %a, %a : f32
        loop.store %b, %x[%i] : memref<?xf32>
      }
    }"""
    module = each_tail(text, sizes=[(n, m) for n in (0, 3, 9, 20) for m in (0, 2, 9, 13, 30)])
    assert "max(%M" in str(same(text, "loop-vectorize{loop=i lanes=8}", [(3, 2)]))
    assert module
    triangle = text.replace("%i = %M to %N", "%j = 0 to %N { loop.for seq %i = %j + 1 to %N").replace("\n    }", "}\n    }")
    assert "max(" not in str(same(triangle, "loop-vectorize{loop=i lanes=8}", [(20, 0)]))


# Accesses


def test_accesses_that_move_by_more_or_backwards():
    body = """%a = loop.load %x[%i * 2] : %x:
      %b = loop.load %x[%N * 2 - %i] : %x:
      %c = loop.load %z[%i, 1] : %z:
      %d = loop.load %z[2, %i] : %z:
      %e = arith.addf %a, %b : f32
      %f = arith.addf %c, %d : f32
      %g = arith.mulf %e, %f : f32
      loop.store %g, %y[%i * 3 + 1] : %y:"""
    for head in ("%i = 0 to %N", "%i = 1 to %N step 2"):
        text = one_loop(body, head, "%x[%N * 2 + 1], %y[%N * 3 + 1], %z[%N + 3, %N + 3]")
        assert count(each_tail(text), GatherOp, ScatterOp) == 0


def test_accesses_along_several_dims_and_divided_subscripts_are_gathered():
    body = """%a = loop.load %z[%i, %i] : %z:
      %b = loop.load %x[%i floordiv 3] : %x:
      %c = loop.load %x[%i mod 4] : %x:
      %d = loop.load %z[(%i + 1) ceildiv 2, 2] : %z:
      %e = arith.addf %a, %b : f32
      %f = arith.addf %c, %d : f32
      %g = arith.mulf %e, %f : f32
      loop.store %g, %w[%i, %N - %i] : %w:"""
    text = one_loop(body, "%i = 0 to %N", "%x[%N + 4], %z[%N + 3, %N + 3], %w[%N + 1, %N + 1]")
    module = each_tail(text)
    assert count(module, GatherOp) == 4 and count(module, ScatterOp) == 1


def test_subscripts_from_data():
    body = """%p0 = loop.load %p[%i] : %p:
      %at = arith.index_cast %p0 : i64 to index
      %a = loop.load %x[%at] : %x:
      %b = loop.load %z[%at, %i] : %z:
      %c = arith.addf %a, %b : f32
      loop.store %c, %y[%i] : %y:"""
    text = one_loop(body, arrays="%x[%N + 1], %z[%N + 1, %N], %p[%N], %y[%N]")
    assert count(each_tail(text), GatherOp) == 2


def test_computed_subscripts_that_are_evenly_apart_are_strides():
    body = """%k = arith.index_cast %i : index to i64
      %two = arith.constant 2 : i64
      %k1 = arith.addi %k, %s : i64
      %k2 = arith.muli %two, %k : i64
      %k3 = arith.subi %k2, %k1 : i64
      %at1 = arith.index_cast %k1 : i64 to index
      %at2 = arith.index_cast %k2 : i64 to index
      %at3 = arith.index_cast %k3 : i64 to index
      %a = loop.load %x[%at1] : %x:
      %b = loop.load %x[%at2 + 1] : %x:
      %c = loop.load %x[%at3 + %N + %i] : %x:
      %d = loop.load %x[%at2 - %i * 2] : %x:
      %e = arith.addf %a, %b : f32
      %f = arith.addf %c, %d : f32
      %g = arith.addf %e, %f : f32
      loop.store %g, %y[%i] : %y:"""
    for head in ("%i = 0 to %N", "%i = 1 to %N step 3"):
        text = one_loop(body, head, "%x[%N * 4 + 40], %y[%N]", extra=", %s: i64")
        module = each_tail(text)
        assert count(module, GatherOp, ScatterOp) == 0 and "vector<8xi64>" not in str(module)
    narrow = text.replace("i64", "i32")  # may wrap in some lanes
    assert count(each_tail(narrow), GatherOp) == 4


def test_a_scatter_to_places_from_data():
    body = """%p0 = loop.load %p[%i] : %p:
      %at = arith.index_cast %p0 : i64 to index
      %a = loop.load %x[%i] : %x:
      loop.store %a, %y[%at] : %y:"""
    for kind in ("seq", "parallel"):  # in the order of the lanes, so that no iteration needs to be asked
        text = one_loop(body, arrays="%x[%N], %y[%N + 1], %p[%N]", kind=kind)
        for lanes in (2, 8):
            module = same(text.replace("parallel", "seq"), f"loop-vectorize{{loop=i lanes={lanes}}}")
            assert count(module, ScatterOp) == 2


def test_a_histogram_is_refused():
    body = """%p0 = loop.load %p[%i] : %p:
      %at = arith.index_cast %p0 : i64 to index
      %a = loop.load %y[%at] : %y:
      %b = arith.addf %a, %one : f32
      loop.store %b, %y[%at] : %y:"""
    text = one_loop(body, arrays="%y[%N + 1], %p[%N]")
    assert refused(text, "loop-vectorize{loop=i lanes=8}", "cannot decide: a subscript of y depends on data") is None


def test_all_iterations_store_to_one_place():
    body = "%a = loop.load %x[%i] : %x:\nloop.store %a, %y[0] : %y:\nloop.store %one, %y[1] : %y:"
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N + 2]"))
    assert count(module, ScatterOp) == 1 and count(module, StoreOp) == 1


def test_values_that_do_not_change_stay_scalars():
    body = """%a = loop.load %x[%i] : %x:
      %b = loop.load %w[0] : %w:
      %c = arith.mulf %b, %s : f32
      %d = arith.mulf %a, %c : f32
      loop.store %d, %y[%i] : %y:"""
    module = each_tail(one_loop(body, arrays="%x[%N], %y[%N], %w[%N + 1]", extra=", %s: f32"))
    assert "arith.mulf %b, %s : f32" in str(module)


# Dependences


def moved(distance: int, text_order: str) -> str:
    load = "%a = loop.load %y[%i] : %y:\nloop.store %a, %z[%i] : %z:\n"
    store = f"%b = loop.load %x[%i] : %x:\nloop.store %b, %y[%i + {distance}] : %y:\n"
    return one_loop(load + store if text_order == "load first" else store + load, arrays=f"%x[%N], %y[%N + {distance}], %z[%N]")


@pytest.mark.parametrize("distance", [1, 3, 7, 8, 9])
def test_a_value_from_an_earlier_iteration(distance):
    text = moved(distance, "load first")
    for lanes in (2, 4, 8, 16):
        if lanes <= distance:
            same(text, f"loop-vectorize{{loop=i lanes={lanes}}}")
            continue
        witness = refused(text, f"loop-vectorize{{loop=i lanes={lanes}}}", f"iterations less than {lanes} apart depend")
        assert witness is not None and witness.first.writes and not witness.second.writes
        i, j = witness.at_first["i"], witness.at_second["i"]
        assert witness.element == (i + distance,) == (j,)
        assert 0 <= i < j < witness.sizes["N"] and j - i < lanes


@pytest.mark.parametrize("distance", [1, 3, 8])
def test_a_value_from_an_earlier_statement(distance):
    """The store of all lanes is done before the load of any."""
    each_tail(moved(distance, "store first"))


def test_a_value_that_a_later_iteration_overwrites():
    body = "%a = loop.load %y[%i + 1] : %y:\nloop.store %a, %y[%i] : %y:"
    each_tail(one_loop(body, arrays="%y[%N + 1]"))
    body = (
        "%b = loop.load %x[%i] : %x:\nloop.store %b, %y[%i] : %y:\n%a = loop.load %y[%i + 1] : %y:\nloop.store %a, %z[%i] : %z:"
    )
    text = one_loop(body, arrays="%x[%N], %y[%N + 1], %z[%N]")
    witness = refused(text, "loop-vectorize{loop=i lanes=4}", "iteration i=0 reads y.1. and iteration i=1 writes it")
    assert witness is not None and not witness.first.writes and witness.element == (1,)
    assert (witness.at_first, witness.at_second) == ({"i": 0}, {"i": 1})


def test_dependences_through_a_loop_inside():
    nest = """loop.kernel @k(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %N: index)
        shapes(%A[%N + 1, %N + 2], %B[%N + 1, %N + 2]) {
      loop.for seq %i = 0 to %N {
        loop.for seq %j = 0 to %N {
          FIRST
          SECOND
        }
      }
    }"""
    load = "%b = loop.load %B[%i, %j] : memref<?x?xf32>\nloop.store %b, %A[%i + 1, %j AT] : memref<?x?xf32>"
    use = "%a = loop.load %A[%i, %j + 1] : memref<?x?xf32>\nloop.store %a, %B[%i, %j] : memref<?x?xf32>"

    def nested(at: str, store_first: bool) -> str:
        store = load.replace("AT", at)
        return nest.replace("FIRST", store if store_first else use).replace("SECOND", use if store_first else store)

    sizes = [(n,) for n in (0, 1, 5, 9)]
    # iteration (i, j) stores what (i + 1, j - 1 + at) loads
    for at, store_first, legal in (("", False, False), ("", True, False), ("+ 1", False, False), ("+ 1", True, True)):
        if legal:
            same(nested(at, store_first), "loop-vectorize{loop=i lanes=4}", sizes)
        else:
            witness = refused(nested(at, store_first), "loop-vectorize{loop=i lanes=4}", "apart depend")
            assert witness is not None
            (i, j), (k, m) = ((at_["i"], at_["j"]) for at_ in (witness.at_first, witness.at_second))
            assert k - i in (1, 2, 3)
            assert (i + 1, j + (1 if at else 0)) == witness.element == (k, m + 1)
    later = nested("+ 2", False).replace("%N + 2", "%N + 3")
    same(later, "loop-vectorize{loop=i lanes=4}", sizes)


def test_a_sum_kept_in_memory():
    nest = """loop.kernel @k(%A: memref<?x?xf32>, %y: memref<?xf32>, %N: index) shapes(%A[%N, %N], %y[%N]) {
      loop.for seq %i = 0 to %N {
        loop.for seq %j = 0 to %N {
          %a = loop.load %A[%i, %j] : memref<?x?xf32>
          %s = loop.load %y[%i] : memref<?xf32>
          %t = arith.addf %s, %a : f32
          loop.store %t, %y[%i] : memref<?xf32>
        }
      }
    }"""
    sizes = [(n,) for n in (0, 1, 5, 9)]
    each_tail(nest, "i", sizes=sizes)
    witness = refused(nest, "loop-vectorize{loop=j lanes=4}", "iteration j=0 writes y.0. and iteration j=1 reads it")
    assert witness is not None and witness.at_first["i"] == witness.at_second["i"] == 0


def test_a_parallel_loop_is_believed_unless_it_is_seen_to_be_wrong():
    body = """%p0 = loop.load %p[%i] : %p:
      %at = arith.index_cast %p0 : i64 to index
      %a = loop.load %y[%at] : %y:
      %b = arith.addf %a, %one : f32
      loop.store %b, %y[%at] : %y:"""
    scheduled(one_loop(body, arrays="%y[%N + 1], %p[%N]", kind="parallel"), "loop-vectorize{loop=i lanes=8}")
    text = moved(1, "load first").replace("loop.for seq", "loop.for parallel")
    assert refused(text, "loop-vectorize{loop=i lanes=8}", "apart depend") is not None


# Refusals


def test_what_is_no_loop_to_vectorize():
    text = one_loop(SQUARE)
    refused(text, "loop-vectorize{loop=k lanes=8}", "no loop 'k'")
    refused(text, "loop-vectorize{loop=i lanes=3}", "lanes must be a power of two above 1, got 3")
    refused(text, "loop-vectorize{loop=i lanes=1}", "lanes must be a power of two above 1, got 1")
    refused(text, "loop-vectorize{loop=i lanes=4},loop-vectorize{loop=i lanes=2}", "vectorized already")
    refused(text.replace("seq", "unroll"), "loop-vectorize{loop=i lanes=4}", "this one is unroll")
    with pytest.raises(passes.UnknownPassError, match="tail"):
        passes.parse_passes("loop-vectorize{loop=i lanes=4 tail=none}")


def test_a_carried_scalar_is_refused():
    body = """%a = loop.load %x[%i] : %x:
      %b = arith.addf %acc, %a : f32
      loop.store %b, %y[%i] : %y:
      loop.yield %b : f32"""
    text = one_loop(body, "%i = 0 to %N carry %acc = %zero : f32").replace("loop.for seq", "%s = loop.for seq")
    refused(text, "loop-vectorize{loop=i lanes=8}", "carries %acc from iteration to iteration")


def test_loops_of_one_name_are_told_apart():
    text = """loop.kernel @k(%x: memref<32xf32>) {
      loop.for seq %i = 0 to 8 {
        loop.for seq %NAME = 0 to 8 {
          %a = loop.load %x[%i + %NAME] : memref<32xf32>
          loop.store %a, %x[%i + %NAME] : memref<32xf32>
        }
      }
    }"""
    refused(text.replace("NAME", "j"), "loop-vectorize{loop=i lanes=8}", "iteration i=0, j=1 .* and iteration i=1, j=0")
    refused(text.replace("NAME", "i_1"), "loop-vectorize{loop=i lanes=8}", "iteration i=0, i2=1 .* and iteration i=1, i2=0")


def test_steps_are_text():
    (step,) = passes.parse_passes("loop-vectorize{loop=i lanes=8 tail=scalar}")
    assert step.as_text() == "loop-vectorize{loop=i lanes=8 tail=scalar}"  # pyright: ignore[reportAttributeAccessIssue]
    (step,) = passes.parse_passes("loop-vectorize{loop=i lanes=8}")
    assert step.as_text() == "loop-vectorize{loop=i lanes=8}"  # pyright: ignore[reportAttributeAccessIssue]
