"""The loops of derived kernels: sums that gather, what is kept and what is computed again, what goes."""

from __future__ import annotations

import pytest
from lamina.dialects.context import make_context
from lamina.dialects.loop.loops import ForOp, KernelOp, WhileOp
from lamina.dialects.loop.memory import AllocOp, LoadOp, StoreOp
from lamina.dialects.parsing import parse_module
from lamina.errors import DifferentiationError
from lamina.lowering.analysis.dependence import carried_conflict
from lamina.lowering.derivatives.adjoints import adjoint_kernel, roles_of
from lamina.lowering.derivatives.tangents import tangent_kernel

PRODUCT = """
loop.kernel @product(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %K: index, %N: index)
    shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for seq %i = 0 to %M {
    loop.for seq %j = 0 to %N {
      %z = arith.constant 0.0 : f32
      %s = loop.for reduce<add> %k = 0 to %K init %z : f32 {
        %a = loop.load %A[%i, %k] : memref<?x?xf32>
        %b = loop.load %B[%k, %j] : memref<?x?xf32>
        %p = arith.mulf %a, %b : f32
        loop.yield %p : f32
      }
      loop.store %s, %C[%i, %j] : memref<?x?xf32>
    }
  }
}
"""
RECURRENCE = """
loop.kernel @decay(%x: memref<?xf32>, %y: memref<?xf32>, %N: index) shapes(%x[%N], %y[%N]) {
  %z = arith.constant 0.0 : f32
  %r = loop.for seq %i = 0 to %N carry %s = %z : f32 {
    %a = loop.load %x[%i] : memref<?xf32>
    %q = STEP
    %t = arith.addf %q, %a : f32
    loop.store %t, %y[%i] : memref<?xf32>
    loop.yield %t : f32
  }
}
"""


def kernel_of(text: str) -> KernelOp:
    return next(op for op in parse_module(make_context(), text).walk() if isinstance(op, KernelOp))


def adjoint_of(text: str, *wrt: int) -> KernelOp:
    kernel = kernel_of(text)
    made = adjoint_kernel(kernel, "adjoint", wrt)
    made.verify()
    return made


def count(kernel: KernelOp, kind: type) -> int:
    return sum(isinstance(op, kind) for op in kernel.walk())


def test_additions_of_a_product_are_sums():
    made = adjoint_of(PRODUCT, 0, 1)
    outermost = [op for op in made.body.block.ops if isinstance(op, ForOp)]
    assert [op.index.name_hint for op in outermost] == ["k", "Bx", "i2"]  # of B, a transposed copy, of A
    assert all(carried_conflict(loop) is None for loop in outermost)
    assert [len(op.results) for op in made.walk() if isinstance(op, ForOp) and op.kind.data == "reduce"] == [1, 1]
    gradients = [a for a in made.body.block.args if (a.name_hint or "").startswith("g")]
    loaded = {op.buffer for op in made.walk() if isinstance(op, LoadOp)}
    assert not loaded & set(gradients)  # each element is written once


def test_a_linear_recurrence_keeps_nothing():
    made = adjoint_of(RECURRENCE.replace("STEP", "arith.addf %s, %s : f32"), 0)
    assert count(made, AllocOp) == 0
    assert [role.what for role in roles_of(made)] == ["cotangent", "gradient"]


def test_a_recurrence_keeps_the_value_it_carries():
    made = adjoint_of(RECURRENCE.replace("STEP", "arith.mulf %s, %s : f32"), 0)
    (tape,) = [op for op in made.walk() if isinstance(op, AllocOp)]
    stores = [op for op in made.walk() if isinstance(op, StoreOp) and op.buffer is tape.buffer]
    loads = [op for op in made.walk() if isinstance(op, LoadOp) and op.buffer is tape.buffer]
    assert len(stores) == 1 and len(loads) >= 1
    assert [op.index.name_hint for op in made.walk() if isinstance(op, ForOp)] == ["i", "i2"]


def test_elements_that_keep_their_values_are_read_again():
    text = """
    loop.kernel @squares(%y: memref<?xf32>, %N: index) shapes(%y[%N + 1]) {
      loop.for seq %i = 0 to %N {
        %a = loop.load %y[%i] : memref<?xf32>
        %b = arith.mulf %a, %a : f32
        loop.store %b, %y[%i + 1] : memref<?xf32>
      }
    }
    """
    made = adjoint_of(text, 0)
    (copy,) = [op for op in made.walk() if isinstance(op, AllocOp)]  # the array itself, which the kernel changes
    assert copy.buffer.name_hint == "yl"


def test_tangents_run_with_the_values():
    kernel = kernel_of(RECURRENCE.replace("STEP", "arith.mulf %s, %s : f32"))
    made, changing = tangent_kernel(kernel, "tangent", [0])
    made.verify()
    assert changing == [0, 1]
    assert [a.name_hint for a in made.body.block.args] == ["x", "y", "dx", "dy", "N"]
    (loop,) = [op for op in made.walk() if isinstance(op, ForOp)]
    assert len(loop.results) == 2 and count(made, WhileOp) == 0


@pytest.mark.parametrize("bound", ["%v", "%i"])
def test_tapes_need_bounds_that_are_sizes(bound: str):
    text = f"""
    loop.kernel @rows(%ends: memref<?xi64>, %x: memref<?xf32>, %y: memref<?xf32>, %N: index)
        shapes(%ends[%N], %x[%N], %y[%N]) {{
      %o = arith.constant 1.0 : f32
      %all = loop.for seq %i = 0 to %N carry %c = %o : f32 {{
        %e = loop.load %ends[%i] : memref<?xi64>
        %v = arith.index_cast %e : i64 to index
        %r = loop.for seq %j = 0 to {bound} carry %s = %c : f32 {{
          %a = loop.load %x[%j] : memref<?xf32>
          %t = arith.mulf %s, %a : f32
          loop.yield %t : f32
        }}
        loop.store %r, %y[%i] : memref<?xf32>
        loop.yield %r : f32
      }}
    }}
    """
    if bound == "%i":
        assert count(adjoint_of(text, 1), AllocOp) >= 1
        return
    with pytest.raises(DifferentiationError, match="how often it may run depends on data; bound the loop"):
        adjoint_of(text, 1)


POLYNOMIAL = """
loop.kernel @horner(%x: memref<?xf64>, %c: memref<?xf64>, %y: memref<?xf64>, %N: index, %D: index)
    shapes(%x[%N], %c[%D], %y[%N]) {
  loop.for seq %i = 0 to %N {
    %s = loop.load %c[0] : memref<?xf64>
    %r = loop.for seq %k = 1 to %D carry %t = %s : f64 {
      %a = loop.load %x[%i] : memref<?xf64>
      %p = arith.mulf %t, %a : f64
      %b = loop.load %c[%k] : memref<?xf64>
      %q = arith.addf %p, %b : f64
      loop.yield %q : f64
    }
    loop.store %r, %y[%i] : memref<?xf64>
  }
}
"""


def test_additions_that_all_iterations_share_are_partial_sums():
    made = adjoint_of(POLYNOMIAL, 0, 1)
    loops = {op.index.name_hint: op for op in made.walk() if isinstance(op, ForOp)}
    assert loops["io"].step.value.data == 8 and carried_conflict(loops["ii"]) is None
    whole = adjoint_of(POLYNOMIAL, 0)  # of the numbers x alone there is nothing to share
    assert carried_conflict(next(op for op in whole.body.block.ops if isinstance(op, ForOp))) is None
    assert "io" not in {op.index.name_hint for op in whole.walk() if isinstance(op, ForOp)}


def test_iterations_that_depend_on_each_other_otherwise_keep_their_sums():
    carried = POLYNOMIAL.replace("%x[%i]", "%y[0]")  # the value of the iteration before
    made = adjoint_of(carried, 1)
    assert "io" not in {op.index.name_hint for op in made.walk() if isinstance(op, ForOp)}
