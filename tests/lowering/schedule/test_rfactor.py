"""Reductions in parts: the same results, whatever the monoid, and what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import ModuleOp

CONTEXT = make_context()

COLUMNS = """
loop.kernel @k(%x: memref<24x5xT>, %m: memref<5xT>, %y: memref<5xT>) {{
  %z = arith.constant {init} : T
  loop.for parallel %j = 0 to 5 {{
    %c = loop.load %m[%j] : memref<5xT>
    %s = loop.for reduce<{monoid}> %i = 0 to 24 init %z : T {{
      %a = loop.load %x[%i, %j] : memref<24x5xT>
      %d = {sub} %a, %c : T
      loop.yield %d : T
    }}
    loop.store %s, %y[%j] : memref<5xT>
  }}
}}
"""

ARGMAX = """
loop.kernel @k(%x: memref<24x5xf32>, %m: memref<5xf32>, %y: memref<5xi64>) {
  %z = arith.constant -3.0 : f32
  %at = arith.constant 7 : i64
  loop.for parallel %j = 0 to 5 {
    %v, %s = loop.for reduce<argmax> %i = 0 to 24 init %z : f32, %at : i64 {
      %a = loop.load %x[%i, %j] : memref<24x5xf32>
      %n = arith.index_cast %i : index to i64
      loop.yield %a, %n : f32, i64
    }
    loop.store %s, %y[%j] : memref<5xi64>
  }
}
"""

STEPS = [
    "loop-rfactor{loop=i size=8}",
    "loop-rfactor{loop=i size=1}",
    "loop-rfactor{loop=i size=12 at=j}",
    "loop-rfactor{loop=i size=8 at=j},loop-vectorize{loop=j2 lanes=4},loop-vectorize{loop=j lanes=8}",
    "loop-peel{loop=i count=-4},loop-rfactor{loop=i size=5 at=j}",
]


@cache
def text_of(monoid: str) -> str:
    if monoid == "argmax":
        return ARGMAX
    init, element = ("1", "i64") if monoid in ("add", "and", "mul") else ("-0.5", "f32")
    sub = "arith.subi" if element == "i64" else "arith.subf"
    return COLUMNS.format(monoid=monoid, init=init, sub=sub).replace("T", element)


def outcome(module: ModuleOp, monoid: str, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    whole = monoid in ("add", "and", "mul")
    x, m = (rng.integers(-3, 4, shape).astype(np.int64 if whole else np.float32) for shape in ((24, 5), (5,)))
    y = np.zeros(5, np.int64 if whole or monoid == "argmax" else np.float32)
    Interpreter(module).launch("k", [x, m, y])
    return y.tobytes()


@pytest.mark.parametrize("monoid", ["add", "mul", "and", "max", "min", "argmax"])
@pytest.mark.parametrize("steps", STEPS)
def test_same_results(monoid: str, steps: str) -> None:
    before, after = (parse_module(CONTEXT, text_of(monoid)) for _ in range(2))
    for step in passes.parse_passes(steps):
        step.apply(CONTEXT, after)
        verify_module(after)
    for seed in range(5):
        assert outcome(after, monoid, seed) == outcome(before, monoid, seed)


@pytest.mark.parametrize(
    ("change", "steps", "message"),
    [
        (("", ""), "loop-rfactor{loop=i size=24}", "24 iterations of i are not several parts of 24"),
        (("", ""), "loop-rfactor{loop=i size=7}", "peel the rest first"),
        (("", ""), "loop-rfactor{loop=j size=2}", "j is parallel"),
        (("parallel %j", "seq %j"), "loop-rfactor{loop=i size=8 at=j}", "j is no parallel loop"),
        (("%y[%j]", "%m[%j]"), "loop-rfactor{loop=i size=8 at=j}", "m is read by i and written in j"),
        (("%i = 0", "%i = 8"), "loop-rfactor{loop=i size=8}", "i does not count from 0 by 1"),
        (("%d = ", "loop.store %a, %y[%j] : memref<5xf32> %d = "), "loop-rfactor{loop=i size=8}", "'loop.store' in i"),
    ],
)
def test_refused(change: tuple[str, str], steps: str, message: str) -> None:
    module = parse_module(CONTEXT, text_of("max").replace(*change) if change[0] else text_of("max"))
    before = str(module)
    with pytest.raises(ScheduleError, match=message):
        passes.parse_passes(steps)[0].apply(CONTEXT, module)
    assert str(module) == before
