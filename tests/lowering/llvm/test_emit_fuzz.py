"""Random loop nests, interpreted op by op and compiled: hoisting, sharing of addresses and unrolling must not show."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

sys.path.insert(0, str(Path(__file__).parent.parent))
from emitting import Compiled, parse

X, Y = (7, 11), 97


class Nest:
    """Writes a random kernel over i64: loops of all kinds, conditionals, loads from a constant and a changing buffer."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def affine(self, indices: list[str]) -> str:
        pick = self.random.choice
        if not indices or self.random.random() < 0.15:
            return str(self.random.randrange(6))
        text = f"{pick(indices)} * {self.random.choice([1, 1, 2, 3])} + {self.random.randrange(5)}"
        if self.random.random() < 0.6:
            text = f"{pick(indices)} * 2 + {text}"
        return text

    def within(self, indices: list[str], size: int) -> str:
        return f"({self.affine(indices)}) mod {size}"

    def body(self, depth: int, indices: list[str], values: list[str], pad: str) -> tuple[list[str], list[str]]:
        indices, values = list(indices), list(values)
        for _ in range(self.random.randrange(2, 6)):
            kind = self.random.choice(["op", "op", "load", "load", "store", "loop", "loop", "if", "index", "reload"])
            if kind in ("loop", "if") and depth >= 4:
                kind = "op"
            v, add = self.name(), self.lines.append
            a, b = self.random.choice(values), self.random.choice(values)
            if kind == "op":
                op = self.random.choice(["addi", "subi", "muli", "minsi", "maxsi", "xori", "divsi"])
                add(f"{pad}{v} = arith.{op} {a}, {b} : i64")
                values.append(v)
            elif kind == "index" and indices:
                add(f"{pad}{v} = arith.index_cast {self.random.choice(indices)} : index to i64")
                values.append(v)
            elif kind == "load":
                subscripts = f"{self.within(indices, X[0])}, {self.within(indices, X[1])}"
                add(f"{pad}{v} = loop.load %x[{subscripts}] : memref<7x11xi64>")
                values.append(v)
            elif kind == "reload":
                add(f"{pad}{v} = loop.load %y[{self.within(indices, Y)}] : memref<97xi64>")
                values.append(v)
            elif kind == "store":
                add(f"{pad}loop.store {a}, %y[{self.within(indices, Y)}] : memref<97xi64>")
            elif kind == "loop":
                values.append(self.loop(v, a, depth, indices, values, pad))
            elif kind == "if":
                c = self.name()
                add(f"{pad}{c} = arith.cmpi slt, {a}, {b} : i64")
                add(f"{pad}{v} = loop.if {c} -> i64 {{")
                _, inner = self.body(depth + 1, indices, values, pad + "  ")
                add(f"{pad}  loop.yield {inner[-1]} : i64\n{pad}}} else {{")
                _, inner = self.body(depth + 1, indices, values, pad + "  ")
                add(f"{pad}  loop.yield {inner[-1]} : i64\n{pad}}}")
                values.append(v)
        return indices, values

    def loop(self, v: str, init: str, depth: int, indices: list[str], values: list[str], pad: str) -> str:
        i, c = f"%i{self.count}", f"%c{self.count}"
        kind = self.random.choice(["seq", "seq", "unroll", "reduce<add>", "reduce<max>"])
        low = self.random.choice(["0", "0", "1", "-2", "%n", self.random.choice(indices) if indices else "0"])
        high = f"{self.random.randrange(4)}" if self.random.random() < 0.5 else f"{low} + {self.random.randrange(3)}"
        if self.random.random() < 0.3:
            high = f"{self.random.choice(['%n', *indices])} + {self.random.randrange(2)}"
        step = self.random.choice(["", "", " step 2"])
        carry = f"init {init} : i64" if kind.startswith("reduce") else f"carry {c} = {init} : i64"
        self.lines.append(f"{pad}{v} = loop.for {kind} {i} = {low} to {high}{step} {carry} {{")
        inner = values if kind.startswith("reduce") else [*values, c]
        _, inner = self.body(depth + 1, [*indices, i], inner, pad + "  ")
        self.lines.append(f"{pad}  loop.yield {self.random.choice(inner[-3:])} : i64\n{pad}}}")
        return v

    def text(self) -> str:
        header = "loop.kernel @k(%x: memref<7x11xi64>, %y: memref<97xi64>, %n: index) {"
        self.lines = [header, "  %one = arith.constant 3 : i64"]
        _, values = self.body(0, ["%n"], ["%one"], "  ")
        self.lines.append(f"  loop.store {values[-1]}, %y[0] : memref<97xi64>\n}}")
        return "\n".join(self.lines)


def wrap(v: int) -> int:
    return (v + 2**63) % 2**64 - 2**63


OPS = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.xori": lambda a, b: a ^ b,
    "arith.divsi": lambda a, b: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
}


class Interpreter:
    """What the ops mean, one at a time; gives up after `budget` ops."""

    def __init__(self, module: ModuleOp, x: np.ndarray, y: np.ndarray, n: int, budget: int = 60000):
        block = module.body.block.first_op.body.block
        self.values = dict(zip(block.args, (x, y, n), strict=True))
        self.budget = budget
        self.run(block)

    def at(self, op, first: int) -> tuple[int, ...]:
        dims = [self.values[v] for v in op.indices]
        return tuple(op.map.data.eval(dims, []))

    def run(self, block: Block) -> list[int]:
        values = self.values
        for op in block.ops:
            self.budget -= 1
            if self.budget < 0:
                raise TimeoutError
            if op.name in OPS:
                values[op.results[0]] = wrap(OPS[op.name](*[values[v] for v in op.operands]))
            elif op.name == "arith.constant":
                values[op.results[0]] = op.value.value.data
            elif op.name == "arith.index_cast":
                values[op.results[0]] = values[op.operands[0]]
            elif op.name == "arith.cmpi":
                values[op.results[0]] = values[op.operands[0]] < values[op.operands[1]]
            elif op.name == "loop.load":
                values[op.results[0]] = int(values[op.buffer][self.at(op, 1)])
            elif op.name == "loop.store":
                values[op.buffer][self.at(op, 2)] = values[op.value]
            elif op.name == "loop.yield":
                return [values[v] for v in op.operands]
            elif op.name == "loop.if":
                region = op.then if values[op.condition] else op.otherwise
                values[op.results[0]] = self.run(region.block)[0]
            else:
                self.loop(op)
        return []

    def loop(self, op) -> None:
        values = self.values
        low, high = [
            map.data.eval([values[v] for v in operands], [])[0]
            for map, operands in ((op.lower, op.lower_operands), (op.upper, op.upper_operands))
        ]
        carried = values[op.inits[0]]
        for i in range(low, high, op.step.value.data):
            values[op.index] = i
            if op.kind.data == "reduce":
                (v,) = self.run(op.body.block)
                carried = wrap(carried + v) if op.monoid.data == "add" else max(carried, v)
            else:
                values[op.body.block.args[1]] = carried
                (carried,) = self.run(op.body.block)
        values[op.results[0]] = carried


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("seed", range(60))
def test_compiled_nests_agree_with_their_meaning(seed):
    text = Nest(seed).text()
    module = parse(text)
    x = np.random.default_rng(seed).integers(-50, 50, X)
    kernel = None
    for n in (0, 1, 3):
        want, got = np.arange(Y), np.arange(Y)
        try:
            Interpreter(module, x, want, n)
        except TimeoutError:
            continue
        kernel = kernel or Compiled(text)
        kernel(x, got, n)
        np.testing.assert_array_equal(got, want, err_msg=text)
