"""Primitives that move memory: their results compute the same bits, and illegal steps are refused with a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.dominance import errors_in
from lamina.dialects.loop.loops import KernelOp
from lamina.dialects.loop.memory import AllocOp
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.lowering.analysis.nests import loops
from lamina.lowering.schedule.accumulate import Accumulate
from lamina.lowering.schedule.base import Primitive
from lamina.lowering.schedule.compute_at import ComputeAt
from lamina.lowering.schedule.fission import Fission
from lamina.lowering.schedule.hoist import Hoist
from lamina.lowering.schedule.inline import Inline
from lamina.lowering.schedule.pad import Pad
from lamina.lowering.schedule.parallelize import Parallelize
from lamina.lowering.schedule.prefetch import Prefetch
from lamina.lowering.schedule.reorder import Reorder
from lamina.lowering.schedule.set_layout import SetLayout
from lamina.lowering.schedule.split import Split
from lamina.lowering.schedule.stage import Stage
from lamina.lowering.schedule.unroll import Unroll
from lamina.lowering.schedule.vectorize import Vectorize
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import ModuleOp

CONTEXT = make_context()

TILED = """
loop.kernel @k(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %N: index, %K: index)
    shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for seq %jo = 0 to %N step 8 {
    loop.for seq %ko = 0 to %K step 4 {
      loop.for seq %io = 0 to %M step 6 {
        loop.for seq %jp = 0 to min(8, %N - %jo) step 4 {
          loop.for seq %ip = 0 to min(6, %M - %io) step 3 {
            loop.for seq %ki = 0 to min(4, %K - %ko) {
              loop.for seq %ii = 0 to min(3, %M - %io - %ip) {
                loop.for seq %jr = 0 to min(4, %N - %jo - %jp) {
                  %a = loop.load %A[%io + %ip + %ii, %ko + %ki] : memref<?x?xf32>
                  %b = loop.load %B[%ko + %ki, %jo + %jp + %jr] : memref<?x?xf32>
                  %c = loop.load %C[%io + %ip + %ii, %jo + %jp + %jr] : memref<?x?xf32>
                  %s = math.fma %a, %b, %c : f32
                  loop.store %s, %C[%io + %ip + %ii, %jo + %jp + %jr] : memref<?x?xf32>
                }
              }
            }
          }
        }
      }
    }
  }
}
"""
SIZES = [dict(M=7, N=9, K=5), dict(M=6, N=8, K=4), dict(M=1, N=1, K=1), dict(M=13, N=3, K=9), dict(M=2, N=17, K=0)]


def parsed(text: str) -> tuple[ModuleOp, KernelOp]:
    module = parse_module(CONTEXT, text, "t.mlir")
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    return module, kernel


def run(module: ModuleOp, sizes: Mapping[str, int]) -> list[np.ndarray]:
    """The arrays after a run on random ones."""
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    rng = np.random.default_rng(0)
    values = [sizes[a.name_hint or ""] for a in kernel.index_arguments]
    args: list[np.ndarray] = []
    for a in kernel.body.block.args:
        if a in kernel.index_arguments:
            args.append(np.int64(sizes[a.name_hint or ""]))
        else:
            shape = [int(e.eval(values, [])) for e in kernel.sizes_of(a)]
            args.append(rng.standard_normal(shape).astype(np.float32))
    with np.errstate(all="ignore"):
        Interpreter(module).launch("k", args)
    return args


def transformed(text: str, *steps: Primitive) -> tuple[ModuleOp, list[tuple[str, ...]]]:
    """The module after some steps, and what each returned; it verifies, and reads back."""
    module, kernel = parsed(text)
    returned = [step.run(kernel) for step in steps]
    assert not list(errors_in(module)), str(module)
    names = list(loops(kernel))
    assert all(name in names for step in returned for name in step if name in names)
    again, copy = parsed(str(module.body.block.first_op))
    assert list(loops(copy)) == names, "names of loops do not survive printing"
    assert not list(errors_in(again))
    return module, returned


def same(text: str, sizes: Sequence[Mapping[str, int]], *steps: Primitive) -> tuple[ModuleOp, list[tuple[str, ...]]]:
    """Transform, and compare the bits of all arrays at some sizes."""
    module, returned = transformed(text, *steps)
    before, _ = parsed(text)
    for one in sizes:
        for x, y in zip(run(before, one), run(module, one), strict=True):
            np.testing.assert_array_equal(x.view(np.uint8) if x.ndim else x, y.view(np.uint8) if y.ndim else y, str(one))
    return module, returned


def refused(text: str, step: Primitive, message: str) -> ScheduleError:
    """The error of a step; the kernel is as it was."""
    module, kernel = parsed(text)
    before = str(module)
    with pytest.raises(ScheduleError, match=message) as caught:
        step.run(kernel)
    assert str(module) == before, "a refused step changed the kernel"
    assert str(caught.value).startswith(step.as_text()) or f"{step.name}: no " in str(caught.value)
    return caught.value


def allocs(module: ModuleOp) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Place and shape of local buffers by name."""
    found = [op for op in module.walk() if isinstance(op, AllocOp)]
    return {op.buffer.name_hint or "": (op.space.data, tuple(max(n, -1) for n in op.buffer.type.get_shape())) for op in found}


def kernel_text(body: str, buffers: str = "x,y", sizes: str = "N", shape: str = "%N") -> str:
    """A kernel over equal buffers."""
    names = buffers.split(",")
    rank = shape.count(",") + 1
    type = f"memref<{'?x' * rank}f32>"
    args = [f"%{b}: {type}" for b in names] + [f"%{n}: index" for n in sizes.split(",")]
    shapes = ", ".join(f"%{b}[{shape}]" for b in names)
    return f"loop.kernel @k({', '.join(args)}) shapes({shapes}) {{\n{body}\n}}".replace("@T", type)


# -- accumulate


def test_accumulate_keeps_a_tile_of_the_matmul() -> None:
    module, [names] = same(TILED, SIZES, Accumulate("C", "ki"))
    assert names == ("ii_in", "jr_in", "ii_out", "jr_out")
    assert allocs(module) == {"C_tile": ("register", (3, 4))}


def test_accumulate_of_a_scalar_is_a_tile_without_dims() -> None:
    text = kernel_text(
        """  loop.for seq %i = 0 to %N {
    loop.for seq %k = 0 to %N {
      %c = loop.load %y[%i] : @T
      %a = loop.load %x[%k] : @T
      %s = arith.addf %c, %a : f32
      loop.store %s, %y[%i] : @T
    }
  }"""
    )
    module, [names] = same(text, [dict(N=0), dict(N=5)], Accumulate("y", "k"))
    assert names == () and allocs(module) == {"y_tile": ("register", ())}


def test_accumulate_counts_iterations_from_the_lower_bound_by_the_step() -> None:
    text = kernel_text(
        """  loop.for seq %b = 0 to %N step 9 {
    loop.for seq %k = 0 to %N {
      loop.for seq %i = %b + 1 to min(%N, %b + 9) step 3 {
        %c = loop.load %y[%i] : @T
        %a = loop.load %x[%k] : @T
        %s = arith.mulf %c, %a : f32
        loop.store %s, %y[%i] : @T
      }
    }
  }"""
    )
    module, [names] = same(text, [dict(N=n) for n in (0, 1, 5, 10, 20)], Accumulate("y", "k"))
    assert names == ("i_in", "i_out")
    assert allocs(module)["y_tile"] == ("register", (3,))


def test_accumulate_follows_bounds_that_depend_on_loops_of_the_tile() -> None:
    text = kernel_text(
        """  loop.for seq %k = 0 to %N {
    loop.for seq %i = 0 to 4 {
      loop.for seq %j = %i to 6 {
        %c = loop.load %y[%i, %j] : @T
        %a = loop.load %x[%k, %j] : @T
        %s = arith.subf %c, %a : f32
        loop.store %s, %y[%i, %j] : @T
      }
    }
  }""",
        shape="%N + 6,%N + 6",
    )
    module, _ = same(text, [dict(N=0), dict(N=3)], Accumulate("y", "k"))
    assert allocs(module)["y_tile"] == ("register", (4, 6))


def test_accumulate_of_what_is_only_read_stores_nothing() -> None:
    text = TILED
    module, [names] = same(text, SIZES, Accumulate("A", "jp"))
    assert names == ("ip_in", "ki_in", "ii_in")
    assert allocs(module)["A_tile"] == ("register", (2, 4, 3))


def test_accumulate_of_what_is_stored_first_loads_nothing() -> None:
    text = kernel_text(
        """  %zero = arith.constant 0.0 : f32
  loop.for seq %i = 0 to %N {
    loop.for seq %r = 0 to %N {
      BEGIN
      loop.store %zero, %y[%i] : @T
      END
      loop.for seq %k = 0 to %N {
        %c = loop.load %y[%i] : @T
        %a = loop.load %x[%k] : @T
        %s = arith.addf %c, %a : f32
        loop.store %s, %y[%i] : @T
      }
    }
  }""",
        sizes="N,K",
    )
    sizes = [dict(N=0, K=1), dict(N=5, K=0), dict(N=5, K=3)]
    plain = text.replace("BEGIN", "").replace("END", "")
    module, _ = same(plain, sizes, Accumulate("y", "r"))  # as N is not 0 in loop i
    assert "loop.load %y[" not in str(module)
    module, _ = same(plain.replace("%r = 0 to %N", "%r = 0 to %K"), sizes, Accumulate("y", "r"))
    assert "loop.load %y[" in str(module)
    conditional = text.replace("BEGIN", "%t = arith.constant false\nloop.if %t {").replace("END", "}")
    module, _ = same(conditional, sizes, Accumulate("y", "r"))
    assert "loop.load %y[" in str(module)


def test_accumulate_among_other_accesses_that_never_touch_the_tile() -> None:
    solve = kernel_text(
        """  loop.for seq %i = 0 to %N {
    loop.for seq %j = 0 to %i {
      %a = loop.load %x[%i, %j] : @T
      %b = loop.load %y[%j, 0] : @T
      %c = loop.load %y[%i, 0] : @T
      %s = math.fma %a, %b, %c : f32
      loop.store %s, %y[%i, 0] : @T
    }
  }""",
        shape="%N,%N",
    )
    same(solve, [dict(N=n) for n in (0, 1, 6)], Accumulate("y", "j"))
    error = refused(
        solve.replace("0 to %i {", "0 to %N {"), Accumulate("y", "j"), "another access touches what is kept: iteration"
    )
    assert error.witness is not None


def test_accumulate_refuses_what_moves_with_the_loop() -> None:
    refused(TILED, Accumulate("C", "ip"), r"accesses other elements in every iteration of C: \[io \+ ip \+ ii, jo")
    refused(TILED, Accumulate("C", "ko"), "loop io has no constant upper bound on its extent: split it first")
    refused(TILED, Accumulate("D", "ko"), "no buffer 'D' in kernel @k")
    refused(TILED, Accumulate("C", "kx"), "no loop 'kx'")
    refused(TILED.replace("min(3, %M - %io - %ip)", "min(3, %ki)"), Accumulate("C", "ki"), "bounds of loop ii change with ki")


def test_accumulate_refuses_a_tile_with_one_element_twice() -> None:
    text = kernel_text(
        """  loop.for seq %k = 0 to %N {
    loop.for seq %i = 0 to 4 {
      loop.for seq %j = 0 to 4 {
        %c = loop.load %y[%i + %j] : @T
        %a = loop.load %x[%k] : @T
        %s = arith.addf %c, %a : f32
        loop.store %s, %y[%i + %j] : @T
      }
    }
  }""",
        shape="%N + 7",
    )
    error = refused(
        text, Accumulate("y", "k"), "two elements of the tile are one of y: iterations i=0, j=1 and i=1, j=0 both write"
    )
    assert error.witness is not None
    same(text.replace("%i + %j", "%i * 4 + %j").replace("%N + 7", "%N + 16"), [dict(N=0), dict(N=3)], Accumulate("y", "k"))


def test_accumulate_refuses_a_loop_that_may_not_run_where_that_shows() -> None:
    outside = kernel_text(
        """  loop.for seq %k = 1 to %N {
    %c = loop.load %y[%N - 2] : @T
    %a = loop.load %x[%k] : @T
    %s = arith.addf %c, %a : f32
    loop.store %s, %y[%N - 2] : @T
  }"""
    )
    refused(outside, Accumulate("y", "k"), r"loop k may not run, and y\[N - 2\] may then be out of bounds")
    same(
        outside.replace("%k = 1", "%k = 0").replace("%N - 2", "%N - 1").replace("seq %k", "seq %n = 0 to %N {\nloop.for seq %k")
        + "}",
        [dict(N=n) for n in (0, 1, 6)],
        Accumulate("y", "k"),
    )
    race = kernel_text(
        """  loop.for parallel %p = 0 to 2 {
    loop.for seq %k = %p to 1 {
      %c = loop.load %y[0] : @T
      %a = loop.load %x[%k] : @T
      %s = arith.addf %c, %a : f32
      loop.store %s, %y[0] : @T
    }
  }""",
        shape="%N + 2",
    )
    error = refused(
        race,
        Accumulate("y", "k"),
        "when loop k does not run, it would still store: iteration p=1 writes y.0. and iteration p=0 reads",
    )
    assert error.witness is not None
    own = race.replace("%y[0]", "%y[%p]").replace("%k = %p to 1", "%k = %p to %N")
    same(own, [dict(N=0), dict(N=1), dict(N=4)], Accumulate("y", "k"))


def test_accumulate_refuses_parallel_loops_and_vectors() -> None:
    text = TILED.replace("seq %ki", "parallel %ki")
    refused(text, Accumulate("C", "ki"), "loop ki is parallel: its iterations would share the tile")
    text = kernel_text(
        """  loop.for seq %k = 0 to %N {
    %c = loop.load %y[0] : @T, vector<4xf32>
    loop.store %c, %y[0] : @T, vector<4xf32>
  }""",
        shape="%N + 4",
    )
    refused(text, Accumulate("y", "k"), "moves a vector: accumulate before you vectorize")


# -- stage

STAGE_A = Stage("A", "io", ("ip", "ki", "ii"), ("ii",))
STAGE_B = Stage("B", "ko", ("jp", "ki", "jr"), ("jr",))


def local_contents(module: ModuleOp, sizes: Mapping[str, int], name: str) -> list[np.ndarray]:
    """What every instance of a local buffer holds in the end."""
    found: list[np.ndarray] = []
    alloc = Interpreter.__init__

    def init(self: Interpreter, *args: object) -> None:
        alloc(self, *args)  # pyright: ignore[reportArgumentType]
        handler = self.handlers["loop.alloc"]

        def kept(op: AllocOp, values: dict) -> None:
            handler(op, values)
            if op.buffer.name_hint == name:
                found.append(values[op.buffer])

        self.handlers["loop.alloc"] = kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Interpreter, "__init__", init)
        run(module, sizes)
    return found


def test_stage_packs_the_panels_of_the_matmul() -> None:
    module, [a, b, _] = same(TILED, SIZES, STAGE_A, STAGE_B, Accumulate("C", "ki"))
    assert a == ("ip_a", "ki_a", "ii_a", "ii_a_z")
    assert b == ("jp_b", "ki_b", "jr_b", "jr_b_z")
    assert allocs(module) == {
        "A_packed": ("scratch", (2, 4, 3)),
        "B_packed": ("scratch", (2, 4, 4)),
        "C_tile": ("register", (3, 4)),
    }


def test_stage_fills_a_panel_where_loops_do_not_run() -> None:
    module, _ = same(TILED, SIZES[:2], STAGE_A)
    for sizes in SIZES[:4]:
        for panel in local_contents(module, sizes, "A_packed"):
            runs = ~np.isnan(panel).any(axis=2)  # a row is complete, or was not touched
            assert (np.isnan(panel).all(axis=2) == ~runs).all()
    everything = Stage("A", "io", ("ip", "ki", "ii"), ("ii", "ip", "ki"))
    module, [names] = same(TILED, SIZES, everything)
    assert names[:3] == ("ip_a", "ki_a", "ii_a") and len(names) == 3 + 1 + 2 + 3
    for sizes in SIZES[:4]:
        panels = local_contents(module, sizes, "A_packed")
        assert panels and not any(np.isnan(panel).any() for panel in panels)
    unpadded, [names] = same(TILED, SIZES, Stage("A", "io", ("ki", "ii", "ip"), space="stack"))
    assert names == ("ki_a", "ip_a", "ii_a")  # ii ends where ip says
    assert allocs(unpadded) == {"A_packed": ("stack", (4, 3, 2))}


def test_stage_keeps_places_in_the_source() -> None:
    module, _ = transformed(TILED, STAGE_A)
    place = next(op.location for op in module.walk() if "= loop.load %A[" in str(op) and not op.regions)
    for op in module.walk():
        if op.name in ("loop.load", "loop.store") and "A_packed" in str(op):
            assert op.location == place


def test_stage_before_the_first_reader() -> None:
    text = kernel_text(
        """  %one = arith.constant 1.0 : f32
  loop.for seq %i = 0 to %N {
    loop.store %one, %x[%i + %N] : @T
    loop.for seq %j = 1 to 5 step 2 {
      %a = loop.load %x[%j] : @T
      loop.store %a, %y[%i] : @T
    }
    loop.for seq %l = 0 to 3 {
      loop.store %one, %y[%l] : @T
    }
  }""",
        shape="%N + %N + 6",
    )
    refused(
        text,
        Stage("x", "i", ("j",)),
        r"loop i writes what it reads: iteration i=\d writes x.\d. and iteration .* reads it .*, with N=",
    )
    text = text.replace("%x[%i + %N]", "%x[%i + %N + 6]")
    module, _ = same(text, [dict(N=n) for n in (0, 1, 4)], Stage("x", "i", ("j",)))
    body = str(module).split("%i = 0")[1]
    assert body.index("%x[%i + %N + 6]") < body.index("%x_packed") < body.index("loop.for seq %j = 1")
    assert "%x_packed[((%j + 1) floordiv 2) + -1]" in body, body
    assert allocs(module) == {"x_packed": ("scratch", (2,))}


def test_stage_shares_one_copy_among_equal_reads() -> None:
    text = kernel_text(
        """  loop.for seq %i = 0 to %N {
    loop.for seq %j = 0 to 4 {
      %a = loop.load %x[%i + %j] : @T
      %b = loop.load %x[%j + %i] : @T
      %s = arith.addf %a, %b : f32
      loop.store %s, %y[%i] : @T
    }
  }""",
        shape="%N + 4",
    )
    module, [names] = same(text, [dict(N=0), dict(N=3)], Stage("x", "i", ("j",)))
    assert names == ("j_x",) and str(module).count("loop.load %x[") == 1
    refused(
        text.replace("%x[%j + %i]", "%x[%j + %i + 1]"),
        Stage("x", "i", ("j",)),
        r"different elements: x\[i \+ j\] .*, x\[j \+ i \+ 1\]",
    )


def test_stage_refuses_what_it_cannot_pack() -> None:
    refused(
        TILED, Stage("A", "io", ("ip", "ii")), "order must name the loops in io that move A.io . ip . ii, ko . ki.: ip, ki, ii"
    )
    refused(TILED, Stage("A", "io", ("ip", "ki", "ii"), ("jr",)), "pad must name loops of order, got jr")
    refused(
        TILED, Stage("A", "ko", ("io", "ip", "ki", "ii")), "loop io has no constant upper bound on its extent: split it first"
    )
    refused(TILED, Stage("A", "io", ("ip", "ki", "ii"), space="disk"), "space must be")
    refused(TILED, Stage("A", "io", ("ip", "ki", "iii")), "no loop 'iii' in kernel @k, did you mean ii")
    error = refused(TILED, Stage("C", "io", ("ip", "ii", "jp", "jr")), "loop io writes what it reads: iteration")
    assert error.witness is not None
    refused(
        TILED.replace(
            "%A[%io + %ip + %ii, %ko + %ki] : memref<?x?xf32>",
            "%A[%io + %ip + %ii, %ko + %ki] : memref<?x?xf32>, vector<1xf32>",
        ).replace("math.fma %a, %b, %c", "math.fma %b, %b, %c"),
        STAGE_A,
        "moves a vector: stage before you vectorize",
    )


def test_stage_refuses_to_read_what_the_loop_may_not() -> None:
    text = kernel_text(
        """  loop.for seq %i = 0 to %N {
    loop.for seq %j = 0 to 3 {
      loop.for seq %k = 3 to %N {
        %a = loop.load %x[%j] : @T
        loop.store %a, %y[%i] : @T
      }
    }
  }"""
    )
    refused(
        text, Stage("x", "i", ("j",)), r"cannot decide: an iteration of i may not read x\[j\], which may then be out of bounds"
    )
    same(text.replace("x[%N]", "x[%N + 3]"), [dict(N=n) for n in (0, 1, 3, 5)])


def test_stage_cannot_decide_what_data_says() -> None:
    text = kernel_text(
        """  loop.for seq %i = 0 to %N {
    %one = arith.constant 1.0 : f32
    %v = loop.gather %x[%lanes] : @T, vector<4xf32> at (vector<4xindex>)
    loop.scatter %v, %x[%lanes] : @T, vector<4xf32> at (vector<4xindex>)
    loop.for seq %j = 0 to 3 {
      %a = loop.load %x[%j] : @T
      loop.store %a, %y[%i] : @T
    }
  }""",
        shape="%N + 4",
    )
    text = text.replace("  loop.for seq %i", "  %lanes = vector.step : vector<4xindex>\n  loop.for seq %i", 1)
    refused(text, Stage("x", "i", ("j",)), "a read of x .* moves a vector")
    lines = [line for line in text.split("\n") if "gather" not in line]
    scatter = "\n".join(lines).replace("%one = arith.constant 1.0 : f32", "%v = arith.constant dense<1.0> : vector<4xf32>")
    refused(scatter, Stage("x", "i", ("j",)), "cannot decide: a subscript of x depends on data")


# -- prefetch


def prefetches(module: ModuleOp) -> list[str]:
    return [str(op) for op in module.walk() if op.name == "loop.prefetch"]


def test_prefetch_asks_once_a_cache_line() -> None:
    module, _ = same(TILED, SIZES, STAGE_A, STAGE_B, Prefetch("A_packed", "ki", 2), Prefetch("B_packed", "ki", 1))
    a, b = prefetches(module)
    assert "%A_packed[%ip floordiv 3, %ki + 2, 0]" in a
    assert "%B_packed[%jp floordiv 4, %ki + 1, 0]" in b
    body = str(module).split("%ki = 0")[1]
    assert body.index("prefetch") < body.index("%ii = 0")


def test_prefetch_in_a_loop_that_leaves_the_line() -> None:
    text = kernel_text(
        """  loop.for seq %i = 0 to %N step 2 {
    loop.for seq %j = 0 to %N {
      %a = loop.load %x[%i, %j] : @T
      %b = loop.load %x[%i, %j] : @T
      %c = loop.load %x[%i + 1, 0] : @T, vector<4xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %y[%i, %j] : @T
    }
  }""",
        shape="%N + 2,%N + 4",
    )
    module, [names] = same(text, [dict(N=0), dict(N=3)], Prefetch("x", "i", 3))
    assert names == ()
    one, two = prefetches(module)
    assert "%x[%i + 6, %j]" in one or "%x[%i + 6, %j]" in two
    assert "%x[%i + 7, 0]" in one or "%x[%i + 7, 0]" in two
    place = {str(op.location) for op in module.walk() if op.name in ("loop.prefetch", "loop.load")}
    assert len(place) == 3


def test_prefetch_refuses_what_it_cannot_ask_for() -> None:
    refused(TILED, Prefetch("A", "ki", 0), "distance must be at least 1, got 0")
    refused(TILED, Prefetch("B", "ii", 1), r"what is read does not change with ii: B.ko \+ ki, jo \+ jp \+ jr.")
    refused(TILED.replace("%c = loop.load %C[", "%c = loop.load %B["), Prefetch("C", "ki", 1), "nothing in loop ki reads C")


def test_prefetch_shares_the_lines_of_a_tile() -> None:
    """All of the next tile is prefetched, each line once; the kernel computes the same."""
    module, [names] = same(TILED, SIZES, Prefetch("B", "ko", 1, over="ii"))
    assert names == ()
    hints = prefetches(module)
    assert hints
    assert all("%ii" in hint for hint in hints)


def test_prefetch_over_a_loop_that_reads_no_tile() -> None:
    refused(TILED, Prefetch("B", "ko", 1, over="jo"), "loop jo is not between ko and the reads of B")
    refused(TILED, Prefetch("A", "ko", 1, over="ii"), "the iterations of ii do not read one tile of A that moves with ko")
    refused(TILED, Prefetch("B", "ko", 1, over="zz"), "no loop 'zz'")


# -- set_layout


def test_set_layout_permutes_and_pads_dims() -> None:
    steps = STAGE_A, SetLayout("A_packed", (1, 2, 0), 5)
    module, _ = same(TILED, SIZES, *steps)
    assert allocs(module) == {"A_packed": ("scratch", (4, 3, 7))}


LAYOUT = kernel_text(
    """  %lanes = vector.step : vector<4xindex>
  loop.for seq %i = 0 to %N {
    %t = loop.alloc PLACE : memref<6x8xf32>
    loop.for seq %k = 0 to 6 {
      %a = loop.load %x[%i + %k, 1] : @T, vector<8xf32>
      loop.store %a, %t[%k, 0] : memref<6x8xf32>, vector<8xf32>
      %c = loop.load %t[%k, 0] step 2 : memref<6x8xf32>, vector<4xf32>
      loop.store %c, %y[%i, %k] along 0 : @T, vector<4xf32>
    }
    %b = loop.load %t[1, %i] along 0 : memref<6x8xf32>, vector<4xf32>
    loop.prefetch %t[%i, 0] : memref<6x8xf32>
    %g = loop.gather %t[%lanes, %i] : memref<6x8xf32>, vector<4xf32> at (vector<4xindex>, index)
    %s = arith.addf %b, %g : vector<4xf32>
    loop.scatter %s, %t[%i, %lanes] : memref<6x8xf32>, vector<4xf32> at (index, vector<4xindex>)
    %r = loop.load %t[%i, 0] : memref<6x8xf32>, vector<4xf32>
    loop.store %r, %y[%i, 9] : @T, vector<4xf32>
  }""",
    shape="%N + 8,%N + 16",
).replace("PLACE", "stack")


@pytest.mark.parametrize(("order", "pad"), [((1, 0), 0), ((0, 1), 3), ((1, 0), 3)])
def test_set_layout_takes_lanes_along(order: tuple[int, ...], pad: int) -> None:
    module, _ = same(LAYOUT, [dict(N=0), dict(N=5)], SetLayout("t", order, pad))
    shape = [(6, 8)[k] for k in order]
    assert allocs(module) == {"t": ("stack", (shape[0], shape[1] + pad))}


def test_set_layout_of_a_buffer_with_sizes() -> None:
    text = LAYOUT.replace("loop.alloc stack : memref<6x8xf32>", "loop.alloc scratch(%six, %N8) : memref<?x?xf32>")
    text = text.replace("memref<6x8xf32>", "memref<?x?xf32>")
    text = text.replace("  %lanes", "  %six = arith.constant 6 : index\n  %N8 = arith.addi %N, %six : index\n  %lanes", 1)
    module, _ = same(text, [dict(N=5)], SetLayout("t", (1, 0), 3))
    assert "loop.alloc scratch(%N8, %" in str(module)


def test_set_layout_refuses_what_is_not_its_own() -> None:
    refused(TILED, SetLayout("A"), "A is an argument of the kernel: its layout is the caller's")
    refused(LAYOUT, SetLayout("t", (0, 0)), "order must be a permutation of the dims of memref<6x8xf32>")
    refused(LAYOUT, SetLayout("t", (0, 1), -1), "pad must not be negative, got -1")


# -- hoist

HOIST = kernel_text(
    """  loop.for KIND %i = LOW to min(%N, 9) step 2 {
    %t = loop.alloc scratch : memref<4xf32>
    loop.for parallel %k = 0 to 4 {
      %a = loop.load %x[%i, %k] : @T
      loop.store %a, %t[%k] : memref<4xf32>
    }
    loop.for parallel %j = 0 to 4 {
      %b = loop.load %t[-%j + 3] : memref<4xf32>
      loop.store %b, %y[%i, %j] : @T
    }
  }""",
    shape="%N,%N + 4",
)


@pytest.mark.parametrize("kind", ["seq", "parallel"])
@pytest.mark.parametrize(("low", "count"), [("0", 5), ("3", 3)])
def test_hoist_gives_each_iteration_its_part(kind: str, low: str, count: int) -> None:
    text = HOIST.replace("KIND", kind).replace("LOW", low)
    module, made = same(text, [dict(N=n) for n in (0, 1, 4, 9, 12)], Hoist("t"), Fission("i", "k"))
    assert allocs(module) == {"t": ("scratch", (count, 4))}
    assert made == [(), ("i", "i2")]


def test_hoist_out_of_several_loops() -> None:
    text = HOIST.replace("KIND", "seq").replace("LOW", "0").replace("min(%N, 9)", "%N")
    module, _ = same(text, [dict(N=n) for n in (0, 3, 7)], Split("i", 2), Hoist("t"))
    assert allocs(module) == {"t": ("scratch", (2, 4))}


def test_hoist_refuses_what_it_cannot_divide() -> None:
    text = HOIST.replace("KIND", "seq").replace("LOW", "0")
    refused(text, Hoist("x"), "x is an argument of the kernel")
    refused(text.replace("min(%N, 9)", "%N"), Hoist("t"), "loop i has no constant upper bound on its extent: split it first")
    refused(LAYOUT, Hoist("t"), "loop i has no constant upper bound on its extent")
    refused(INLINE, Hoist("t"), "t does not stand directly in a loop")
    lanes = LAYOUT.replace("0 to %N {", "0 to min(%N, 3) {")
    refused(lanes, Hoist("t"), "an access of t moves a vector: hoist before you vectorize")


# -- inline

INLINE = kernel_text(
    """  %t = loop.alloc scratch(%N, %N) : memref<?x?xf32>
  loop.for parallel %i = 0 to %N {
    %v = loop.load %x[%i, 1] : @T
    loop.for parallel %j = 1 to %N {
      %a = loop.load %x[%i, %j] : @T
      %d = arith.index_cast %j : index to i64
      %f = arith.sitofp %d : i64 to f32
      %b = math.fma %a, %v, %f : f32
      loop.store %b, %t[%i, %j] : memref<?x?xf32>
    }
  }
  loop.for parallel %k = 0 to %N {
    loop.for parallel %l = 0 to %N - 2 {
      %c = loop.load %t[%k, %l + 1] : memref<?x?xf32>
      %d2 = loop.load %t[%l, %k - %k + 2] : memref<?x?xf32>
      %s = arith.subf %c, %d2 : f32
      loop.store %s, %y[%k, %l] : @T
    }
  }""",
    shape="%N + 2,%N + 3",
)


def test_inline_recomputes_what_is_read() -> None:
    module, [names] = same(INLINE, [dict(N=n) for n in (0, 1, 2, 3, 7)], Inline("t"))
    assert names == () and not allocs(module)
    assert list(loops(module)) == ["k", "l"]
    assert "loop.load %x[%k, %l + 1]" in str(module) and "loop.load %x[%l, 2]" in str(module)


def test_inline_copies_loops_that_compute_an_element() -> None:
    text = kernel_text(
        """  %zero = arith.constant 0.0 : f32
  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for seq %i = 0 to %N {
    %r = loop.for reduce<add> %k = 0 to %i init %zero : f32 {
      %a = loop.load %x[%i, %k] : @T
      loop.yield %a : f32
    }
    loop.store %r, %t[%i] : memref<?xf32>
  }
  loop.for seq %j = 0 to %N {
    %c = loop.load %t[%j] : memref<?xf32>
    %d = loop.load %t[%N - 1 - %j] : memref<?xf32>
    %s = arith.subf %c, %d : f32
    loop.store %s, %y[%j, 0] : @T
  }""",
        shape="%N,%N",
    )
    module, [names] = same(text, [dict(N=0), dict(N=5)], Inline("t"))
    assert names == ("k2", "k3") and list(loops(module)) == ["j", "k2", "k3"]


def test_inline_where_producer_and_consumer_share_a_loop() -> None:
    text = kernel_text(
        """  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : @T
    loop.store %a, %t[%i] : memref<?xf32>
    %c = loop.load %t[%i] : memref<?xf32>
    loop.store %c, %y[%i] : @T
  }"""
    )
    same(text, [dict(N=0), dict(N=4)], Inline("t"))
    refused(text.replace("load %t[%i]", "load %t[%i - 1]"), Inline("t"), r"t\[i - 1\] .* may come from another iteration of i")


def test_inline_refuses_elements_that_are_not_computed() -> None:
    error = refused(
        INLINE.replace("%l + 1]", "%l]"),
        Inline("t"),
        r"t\[k, l\] .t.mlir:\d+. may be an element that is not computed: at k=0, l=0, N=3",
    )
    assert error.witness == dict(k=0, l=0, N=3)
    refused(INLINE.replace("%j = 1 to %N", "%j = 1 to %N step 2"), Inline("t"), "may be an element that is not computed")


def test_inline_refuses_inputs_that_change() -> None:
    text = kernel_text(
        """  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for seq %i = 0 to %N {
    %a = loop.load %x[%i] : @T
    loop.store %a, %t[%i] : memref<?xf32>
  }
  loop.for seq %j = 0 to %N {
    %c = loop.load %t[%j] : memref<?xf32>
    loop.store %c, %x[%j + 1] : @T
  }""",
        shape="%N + 1",
    )
    error = refused(
        text,
        Inline("t"),
        "what t is computed from changes before it is read: iteration j=0 writes x.1. and iteration j=1 reads it",
    )
    assert error.witness is not None
    sizes = [dict(N=0), dict(N=5)]
    same(text.replace("%x[%j + 1]", "%x[%j]"), sizes, Inline("t"))  # written when it is not needed any more
    earlier = text.replace(
        "%j = 0 to %N {", "%j = 0 to %N {\n%u = loop.load %y[%j] : memref<?xf32>\nloop.store %u, %x[%j] : memref<?xf32>"
    )
    refused(earlier, Inline("t"), "what t is computed from changes")
    write = "loop.for seq %m = 0 to 1 {\n%u = loop.load %y[%m] : memref<?xf32>\nloop.store %u, %x[%N] : memref<?xf32>\n}\n"
    between = text.replace("loop.for seq %j", write + "loop.for seq %j")
    refused(between, Inline("t"), "what t is computed from changes before it is read: iteration j=0 writes x.1.")
    same(between.replace("%x[%j + 1]", "%x[%j]"), sizes, Inline("t"))


def test_inline_refuses_what_is_no_pure_producer() -> None:
    refused(TILED, Inline("A"), "A is an argument of the kernel, not a local buffer")
    again = INLINE.replace(
        "loop.store %b, %t[%i, %j] : memref<?x?xf32>",
        "loop.store %b, %t[%i, %j] : memref<?x?xf32>\nloop.store %a, %t[%i, %j] : memref<?x?xf32>",
    )
    refused(again, Inline("t"), "t must be stored to by one op, not by 2")
    other = INLINE.replace(
        "      loop.store %b, %t", "      loop.store %b, %y[0, 0] : memref<?x?xf32>\n      loop.store %b, %t"
    )
    refused(other, Inline("t"), "what computes t does more than that: 'loop.store'")
    refused(
        INLINE.replace("store %b, %t[%i, %j]", "store %b, %t[%j, %j]"), Inline("t"), r"variables and numbers, not at \[j, j\]"
    )
    refused(
        INLINE.replace("store %b, %t[%i, %j]", "store %b, %t[%i + 1, %j]"),
        Inline("t"),
        r"distinct loop variables and numbers, not at \[i \+ 1, j\]",
    )
    alone = INLINE.replace(
        "loop.for parallel %i = 0 to %N {", "loop.for seq %p = 0 to %N {\nloop.for parallel %i = 0 to %N {"
    ).replace("  loop.for parallel %k", "}\n  loop.for parallel %k")
    refused(alone, Inline("t"), "every iteration of loop p stores the same element of t")


# -- compute_at

BLUR = kernel_text(
    """  %t = loop.alloc scratch(%M, %N) : memref<?x?xf32>
  loop.for parallel %r = 0 to %M {
    loop.for parallel %c = 0 to %N {
      %a = loop.load %x[%r, %c] : @T
      %b = loop.load %x[%r, %c + 1] : @T
      %s = arith.addf %a, %b : f32
      loop.store %s, %t[%r, %c] : memref<?x?xf32>
    }
  }
  loop.for parallel %io = 1 to %M - 1 step 4 {
    loop.for parallel %jo = 0 to %N step 3 {
      loop.for seq %i = 0 to min(4, %M - 1 - %io) {
        loop.for seq %j = 0 to min(3, %N - %jo) {
          %u = loop.load %t[%io + %i - 1, %jo + %j] : memref<?x?xf32>
          %v = loop.load %t[%io + %i, %jo + %j] : memref<?x?xf32>
          %w = loop.load %t[%io + %i + 1, %jo + %j] : memref<?x?xf32>
          %s1 = arith.addf %u, %v : f32
          %s2 = arith.addf %s1, %w : f32
          loop.store %s2, %y[%io + %i, %jo + %j] : @T
        }
      }
    }
  }""",
    sizes="M,N",
    shape="%M,%N + 1",
)
BLUR_SIZES = [dict(M=m, N=n) for m, n in ((2, 3), (3, 1), (6, 6), (7, 10), (12, 4), (4, 0))]


@pytest.mark.parametrize(("at", "shape"), [("io", (6, -1)), ("jo", (6, 3)), ("i", (3, 3)), ("j", (3, 1))])
def test_compute_at_computes_the_rows_that_are_read(at: str, shape: tuple[int, ...]) -> None:
    module, [names] = same(BLUR, BLUR_SIZES, ComputeAt("t", at))
    assert names == ("r", "c")
    assert allocs(module) == {"t": ("scratch", shape)}
    assert [name for name in loops(module.body.block.first_op) if name in ("r", "c", at)] == [at, "r", "c"]  # pyright: ignore


def test_compute_at_bounds_a_region_by_what_is_computed() -> None:
    module, _ = same(BLUR, BLUR_SIZES, ComputeAt("t", "jo"))
    text = str(module)
    assert "%r = %io - 1 to min(%M, %io + 5) {" in text and "%c = %jo to min(%N, %jo + 3) {" in text
    assert "%t[%r - %io + 1, %c - %jo]" in text and "%t[%i, %j]" in text and "%t[%i + 2, %j]" in text


def test_compute_at_leaves_the_statement_to_other_readers() -> None:
    text = (
        BLUR[: BLUR.rindex("}")]
        + """
  loop.for seq %e = 0 to %N {
    %f = loop.load %t[0, %e] : memref<?x?xf32>
    loop.store %f, %y[0, %e] : memref<?x?xf32>
  }
}"""
    )
    module, [names] = same(text, [dict(M=6, N=6)], ComputeAt("t", "i"))
    assert names == ("r2", "c2")
    assert allocs(module) == {"t": ("scratch", (-1, -1)), "t2": ("scratch", (3, 3))}


def test_compute_at_of_vectors_and_reversed_subscripts() -> None:
    text = kernel_text(
        """  %t = loop.alloc stack : memref<64xf32>
  loop.for seq %r = 0 to 64 {
    %a = loop.load %x[%r] : @T
    %b = arith.mulf %a, %a : f32
    loop.store %b, %t[%r] : memref<64xf32>
  }
  loop.for seq %i = 0 to 5 {
    loop.for seq %j = 0 to 8 step 4 {
      %u = loop.load %t[%i * 8 + %j] : memref<64xf32>, vector<4xf32>
      %v = loop.load %t[%i * 8 - %j + 8] step 2 : memref<64xf32>, vector<4xf32>
      %s = arith.subf %u, %v : vector<4xf32>
      loop.store %s, %y[%i * 8 + %j] : @T, vector<4xf32>
    }
  }""",
        shape="%N + 64",
    )
    module, _ = same(text, [dict(N=0)], ComputeAt("t", "i"))
    assert allocs(module) == {"t": ("stack", (15,))}
    module, _ = same(text, [dict(N=0)], ComputeAt("t", "j"))
    assert allocs(module) == {"t": ("stack", (64,))}  # from 8 i + j, and from 8 i - j on: no constant distance


def test_compute_at_keeps_what_iterations_hand_on() -> None:
    text = kernel_text(
        """  %zero = arith.constant 0.0 : f32
  %t = loop.alloc stack : memref<16xf32>
  loop.for seq %p = 0 to 1 {
    %sum = loop.alloc register : memref<f32>
    loop.store %zero, %sum[] : memref<f32>
    loop.for seq %r = 0 to 16 {
      %a = loop.load %x[%r] : @T
      %b = loop.load %sum[] : memref<f32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %sum[] : memref<f32>
      loop.store %c, %t[%r] : memref<16xf32>
    }
  }
  loop.for seq %i = 0 to 15 {
    %u = loop.load %t[%i + 1] : memref<16xf32>
    loop.store %u, %y[%i] : @T
  }""",
        shape="%N + 16",
    )
    module, [names] = same(text, [dict(N=0)], ComputeAt("t", "i"))
    assert names == ("p", "r") and allocs(module) == {"t": ("stack", (16,)), "sum": ("register", ())}
    own = text.replace("  loop.for seq %p = 0 to 1 {\n    %sum", "    %sum").replace(
        "    }\n  }\n  loop.for seq %i", "    }\n  loop.for seq %i"
    )
    refused(own, ComputeAt("t", "i"), "what computes t does more than that: 'loop.store'")


TIMES = kernel_text(
    """  ALLOC_OUT
  loop.for seq %n = 0 to 3 {
    ALLOC_IN
    loop.for seq %r = 0 to %N {
      %a = loop.load %x[%r + %n] : @T
      loop.store %a, %t[%r] : memref<?xf32>
    }
    loop.for seq %i = 0 to %N {
      %u = loop.load %t[%i] : memref<?xf32>
      loop.store %u, %y[%i + %n] : @T
    }
  }""",
    shape="%N + 5",
)


def test_compute_at_in_a_loop_around_both() -> None:
    alloc = "%t = loop.alloc scratch(%N) : memref<?xf32>"
    inside = TIMES.replace("ALLOC_OUT", "").replace("ALLOC_IN", alloc)
    outside = TIMES.replace("ALLOC_IN", "").replace("ALLOC_OUT", alloc)
    for text in inside, outside:
        module, _ = same(text, [dict(N=0), dict(N=4)], ComputeAt("t", "i"))
        assert allocs(module) == {"t": ("scratch", (1,))}
    error = refused(
        outside.replace("%r = 0", "%r = %n"), ComputeAt("t", "i"), r"t.i. .* may be of an earlier iteration: at n=1, i=0"
    )
    assert error.witness is not None
    refused(outside, ComputeAt("t", "n"), "t is computed in loop n already")
    refused(inside, ComputeAt("t", "n"), "t is local to an iteration of n already")


def test_compute_at_refuses_inputs_that_change() -> None:
    text = TIMES.replace("ALLOC_IN", "").replace("ALLOC_OUT", "%t = loop.alloc scratch(%N) : memref<?xf32>")
    later = text.replace("%y[%i + %n]", "%x[%i + %n + 1]")
    error = refused(
        later, ComputeAt("t", "i"), "changes before loop i reads it: iteration i=0 writes x.1. and iteration i=1 reads it"
    )
    assert error.witness is not None
    own = text.replace("%y[%i + %n]", "%x[%i + %n]")
    same(own, [dict(N=0), dict(N=4)], ComputeAt("t", "i"))
    refused(
        own.replace("for seq %i", "for parallel %i").replace("%x[%i + %n]", "%x[%i + %n + 1]"),
        ComputeAt("t", "i"),
        "changes before loop i",
    )
    # in any order: what a later iteration of a parallel loop writes
    earlier = own.replace("%x[%i + %n]", "%x[%i + %n - 1]").replace("%i = 0", "%i = 1")
    same(earlier, [dict(N=0), dict(N=4)], ComputeAt("t", "i"))
    refused(
        earlier.replace("for seq %i", "for parallel %i"),
        ComputeAt("t", "i"),
        "changes before loop i reads it: iteration i=2 writes",
    )


def test_compute_at_refuses_what_does_not_come_before() -> None:
    refused(BLUR, ComputeAt("t", "r"), "t is computed in loop r already")
    refused(BLUR, ComputeAt("x", "r"), "x is an argument of the kernel, not a local buffer")
    refused(BLUR, ComputeAt("t", "k"), "no loop 'k' in kernel @k")
    text = kernel_text(
        """  %t = loop.alloc scratch(%N) : memref<?xf32>
  loop.for seq %i = 0 to %N {
    %u = loop.load %t[%i] : memref<?xf32>
    loop.store %u, %y[%i] : @T
  }
  loop.for seq %r = 0 to %N {
    %a = loop.load %x[%r] : @T
    loop.store %a, %t[%r] : memref<?xf32>
  }"""
    )
    refused(text, ComputeAt("t", "i"), "t is read before it is computed")
    refused(text, ComputeAt("y", "r"), "nothing in loop r reads y")


def test_compute_at_of_a_store_alone_takes_its_value_along() -> None:
    text = kernel_text(
        """  %t = loop.alloc stack : memref<4xf32>
  loop.for seq %n = 0 to %N {
    %a = loop.load %x[%n] : @T
    loop.store %a, %t[2] : memref<4xf32>
    loop.for seq %i = 0 to 3 {
      %u = loop.load %t[2] : memref<4xf32>
      loop.store %u, %y[%n + %i] : @T
    }
  }""",
        shape="%N + 3",
    )
    module, [names] = same(text, [dict(N=0), dict(N=3)], ComputeAt("t", "i"))
    assert names == () and str(module).index("%i = 0") < str(module).index("%t = loop.alloc")
    refused(text.replace("load %t[2]", "load %t[3]"), ComputeAt("t", "i"), r"t.3. .* may be of an earlier iteration")


# -- together


def test_a_blocked_product_is_the_plain_one() -> None:
    text = """
loop.kernel @k(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %N: index, %K: index)
    shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for seq %i = 0 to %M {
    loop.for seq %j = 0 to %N {
      loop.for seq %k = 0 to %K {
        %a = loop.load %A[%i, %k] : memref<?x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x?xf32>
        %c = loop.load %C[%i, %j] : memref<?x?xf32>
        %s = math.fma %a, %b, %c : f32
        loop.store %s, %C[%i, %j] : memref<?x?xf32>
      }
    }
  }
}"""
    steps = (
        *(Split("j", 16), Split("k", 6), Split("i", 6), Split("ji", 8), Split("ii", 3)),
        Reorder(("jo", "ko", "io", "jio", "iio", "ki", "iii", "jii")),
        Stage("B", "ko", ("jio", "ki", "jii"), ("jii",)),
        Stage("A", "io", ("iio", "ki", "iii"), ("iii",)),
        Accumulate("C", "ki"),
        *(Pad("iii", 3), Pad("jii", 8)),
        *(Prefetch("A_packed", "ki", 4), Prefetch("B_packed", "ki", 4)),
        *(Vectorize("jii", 4), Vectorize("jii_b", 4, "predicated"), Vectorize("jii_out", 4, "predicated")),
        *(Unroll("jii"), Unroll("iii"), Parallelize("io")),
    )
    module, _ = same(text, [*SIZES, dict(M=13, N=37, K=15)], *steps)
    compute = str(module).split("for parallel %io")[1].split("%C_tile")[2]
    assert "mask" not in compute.split("iii_out")[0]
