"""Arrays without elements: kernels with loops that never run are compiled as they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.dialects.loop.loops import ForOp
from lamina.executor import executor
from lamina.lowering.schedule.auto import schedule_module

sys.path.insert(0, str(Path(__file__).parent))
from emitting import parse

CASES: list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...], tuple[int, ...]]] = [
    (lambda a, b: a @ b, ((0, 4, 9), (0, 9, 33)), (0, 4, 33)),
    (lambda a, b: (a @ b).sum(axis=-1), ((0, 31), (31, 49)), (0,)),
    (lambda a, b: a @ b + 1, ((20, 0), (0, 33)), (20, 33)),
    (lambda a, b: a.T @ b, ((0, 100), (0, 100)), (100, 100)),
    (lambda a: lm.nn.log_softmax(a, axis=-1), ((0, 100, 2),), (0, 100, 2)),
    (lambda a: lm.grad(lambda x: x.max(axis=0).sum())(a), ((33, 0, 100),), (33, 0, 100)),
    (lambda a: (a[..., None] * a[:, None]).sum(axis=-1), ((0, 100),), (0, 100)),
    (lambda a: a.sum(axis=0), ((0, 100),), (100,)),
    (lambda q, k: lm.nn.attention(q, k, k, causal=True), ((2, 33, 4), (2, 0, 4)), (2, 33, 4)),
    (lambda a: lnp.concatenate([a, a * 2], axis=0).T * 3, ((0, 100),), (100, 0)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_programs_on_arrays_without_elements(case: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", "0")
    function, shapes, expected = CASES[case]
    result = np.asarray(lm.jit(function)(*(np.ones(shape, np.float32) for shape in shapes)))
    assert result.shape == expected
    assert (result == (1 if case == 2 else 0)).all()


NESTS = """
program.func @main(%x: memref<40x1000xf32>) -> (%y: memref<40x1000xf32>) {
  loop.launch @two(%x, %y) : (memref<40x1000xf32>, memref<40x1000xf32>)
}
loop.kernel @two(%x: memref<40x1000xf32>, %y: memref<40x1000xf32>) {
  loop.for parallel %a = 0 to 40 {
    loop.for parallel %b = 7 to 7 {
      loop.for parallel %c = 0 to 0 {
        %0 = loop.load %x[%a, %c] : memref<40x1000xf32>
        loop.store %0, %y[%a, %b] : memref<40x1000xf32>
      }
    }
  }
  loop.for parallel %i = 0 to 40 {
    loop.for parallel %j = 0 to 1000 {
      %0 = loop.load %x[%i, %j] : memref<40x1000xf32>
      %zero = arith.constant 0.0 : f32
      %1 = loop.for reduce<add> %k = 3 to 2 init %zero : f32 {
        loop.yield %0 : f32
      }
      %2 = arith.subf %0, %1 : f32
      loop.store %2, %y[%i, %j] : memref<40x1000xf32>
    }
  }
}"""


def test_a_nest_beside_an_empty_one_is_scheduled() -> None:
    module = parse(NESTS)
    schedule_module(module, lambda kernel, taken: None)
    assert not any(isinstance(op, ForOp) and op.trip_count() == 0 for op in module.walk())
    assert any(isinstance(op, ForOp) and op.kind.data == "vector" for op in module.walk()), module
    x = np.ones((40, 1000), np.float32)
    y = executor.program(parse(NESTS)).run([x])
    assert (np.asarray(y) == 1).all()
