"""Random kernels as loop IR, random schedule steps for them, and arrays to run them on.

`draw_kernel(rng)` writes a kernel whose accesses are all in bounds: subscripts are drawn first, then buffers become as large as
the greatest of them, a symbol plus a number where that is enough and else a symbol of their own. `draw_step(rng, schedule)`
draws a primitive with parameters that have a chance: its check decides.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lamina.dialects.loop.gather import GatherOp, ScatterOp
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.dialects.loop.memory import AllocOp, LoadOp, StoreOp
from lamina.frontend.kernel.schedules import Schedule, primitives
from lamina.lowering.analysis.bounds import constant_extent
from lamina.lowering.analysis.dependence import Conflict
from lamina.lowering.analysis.nests import around, kernel_of, loops, name_of, only_loop_in, statements
from lamina.lowering.analysis.regions import extent
from lamina.lowering.schedule.base import Primitive
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i1": np.bool_}
SIZES = ("N", "M")
MARGIN = 16
"""Elements around each array that nothing may write."""

Linear = dict[str, int]
"""A linear expression of sizes: coefficients by name, the constant under the empty name."""


def plus(x: Linear, y: Linear, factor: int = 1) -> Linear:
    total = dict(x)
    for name, c in y.items():
        total[name] = total.get(name, 0) + factor * c
    return {name: c for name, c in total.items() if c}


def at(x: Linear, sizes: Mapping[str, int]) -> int:
    return sum(c * (sizes[name] if name else 1) for name, c in x.items())


def never_negative(x: Linear) -> bool:
    """Whether an expression is at least 0 for all sizes, as far as signs show."""
    return all(c >= 0 for c in x.values())


def shown(x: Linear) -> str:
    parts = [("%" + name if c == 1 else f"%{name} * {c}") if name else str(c) for name, c in x.items()]
    return " + ".join(parts).replace("+ -", "- ") or "0"


@dataclass(frozen=True)
class Var:
    """A loop variable that lies between two linear expressions, both included."""

    name: str
    low: Linear
    high: Linear


@dataclass(frozen=True)
class Form:
    """A subscript: its text and the range of what it may be."""

    text: str
    low: Linear
    high: Linear
    var: str | None = None
    """The variable, where it is one plus a number."""


@dataclass
class Buffer:
    """An array: the subscripts that its dims must hold, or their sizes, if it is local."""

    name: str
    type: str
    highs: list[list[Linear]]
    sizes: list[Linear] | None = None


@dataclass(frozen=True)
class Drawn:
    """A kernel: text, what its symbols must at least be, and the arrays that hold positions, with how many there are."""

    text: str
    type: str
    needs: Mapping[str, Sequence[Linear]] = field(default_factory=dict)
    positions: Mapping[str, Linear] = field(default_factory=dict)
    is_product: bool = False
    """Whether it starts with a product of matrices, in loops i, j and k."""

    def sizes(self, rng: random.Random, given: Mapping[str, int]) -> dict[str, int]:
        """All symbols, when the free ones are given."""
        found = dict(given)
        for name, least in self.needs.items():
            found[name] = max([0, *(at(one, given) for one in least)]) + rng.choice((0, 0, 1, 3))
        return found

    def arguments(self, kernel: KernelOp, sizes: Mapping[str, int], seed: int) -> tuple[list[Any], list[np.ndarray]]:
        """What the kernel is called with, but for the sizes, and the memory that holds the arrays with their margins."""
        rng = np.random.default_rng(seed)
        values = [sizes[a.name_hint or ""] for a in kernel.index_arguments]
        found: list[Any] = []
        memory: list[np.ndarray] = []
        for argument in kernel.body.block.args:
            if argument in kernel.index_arguments:
                continue
            name, type = argument.name_hint or "", argument.type
            shape: list[int] = []
            if isinstance(type, MemRefType):
                shape, type = [e.eval(values, []) for e in kernel.sizes_of(argument)], type.element_type
            dtype = np.dtype(DTYPES[str(type)])
            count = int(np.prod(shape, dtype=np.int64))
            if name in self.positions:
                data = rng.integers(0, max(1, at(self.positions[name], sizes)), count)
            elif dtype.kind in "ib":
                data = rng.integers(-9, 10, count)
            else:
                data = rng.uniform(-1, 1, count)
            if not isinstance(argument.type, MemRefType):
                found.append(data.astype(dtype)[0])
                continue
            whole = np.full(count + 2 * MARGIN, 77, dtype)
            whole[MARGIN : MARGIN + count] = data
            memory.append(whole)
            found.append(whole[MARGIN : MARGIN + count].reshape(shape))
        return found, memory


# Kernels


@dataclass
class _Seen:
    """What a loop's body does, to tell whether it may be parallel."""

    stores: list[tuple[str, list[Form]]] = field(default_factory=list)
    loads: set[str] = field(default_factory=set)
    plain: bool = True


class _Writer:
    """Writes one kernel."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.type = rng.choices(("f32", "f64", "i64", "i32"), (6, 2, 2, 1))[0]
        self.is_float = self.type[0] == "f"
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.loop_names = iter("ijklmncdefghuvw")
        self.n_loops = 0
        self.buffers: dict[str, Buffer] = {}
        self.positions: dict[str, Linear] = {}
        self.seen: list[_Seen] = [_Seen()]
        self.usable: list[str] = []  # locals that are filled
        self.heads: dict[tuple[str, ...], tuple[str, Linear, Linear]] = {}
        self.is_product = rng.random() < 0.1
        for name in "ab":  # only read
            self.buffer(name, 2 if self.is_product else rng.choice((1, 2, 2)))
        for name in "xy":
            self.buffer(name, 2 if self.is_product else rng.choice((1, 1, 2, 2, 3)))
        self.has_scalar = rng.random() < 0.3

    def buffer(self, name: str, rank: int, type: str | None = None) -> Buffer:
        self.buffers[name] = Buffer(name, type or self.type, [[] for _ in range(rank)])
        return self.buffers[name]

    def say(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def value(self, text: str) -> str:
        """Define a value; its name."""
        self.count += 1
        name = f"%v{self.count}"
        self.say(f"{name} = {text}")
        return name

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # -- subscripts

    def form(self, vars: Sequence[Var]) -> Form:
        rng, found = self.rng, self.raw_form(vars)
        lift = {name: -c for name, c in found.low.items() if c < 0}
        if not lift and self.chance(0.35):
            lift = {"": rng.choice((1, 1, 2, 3))}
        if not lift:
            return found
        text = f"{found.text} + {shown(lift)}" if found.text != "0" else shown(lift)
        return Form(text, plus(found.low, lift), plus(found.high, lift), found.var if set(lift) == {""} else None)

    def raw_form(self, vars: Sequence[Var]) -> Form:
        rng = self.rng
        if not vars or self.chance(0.07):
            return Form("0", {}, {})
        v, w = rng.choice(vars), rng.choice(vars)
        kind = rng.choices(("var", "back", "sum", "difference", "scaled", "divided", "modulo"), (70, 8, 8, 4, 4, 3, 3))[0]
        if kind == "back":
            return Form(f"-%{v.name}", plus({}, v.high, -1), plus({}, v.low, -1))
        if kind == "sum" and v is not w:
            return Form(f"%{v.name} + %{w.name}", plus(v.low, w.low), plus(v.high, w.high))
        if kind == "difference" and v is not w:
            return Form(f"%{v.name} - %{w.name}", plus(v.low, w.high, -1), plus(v.high, w.low, -1))
        if kind == "scaled":
            return Form(f"%{v.name} * 2", plus(v.low, v.low), plus(v.high, v.high))
        if kind == "divided":
            return Form(f"%{v.name} floordiv 2", {}, v.high)
        if kind == "modulo":
            return Form(f"%{v.name} mod 3", {}, {"": 2})
        return Form(f"%{v.name}", v.low, v.high, v.name)

    def forms(self, buffer: Buffer, vars: Sequence[Var]) -> list[Form] | None:
        """Subscripts for a buffer; those of a local one must fit."""
        if buffer.sizes is None:
            found = [self.form(vars) for _ in buffer.highs]
            if len(found) > 1 and len(vars) > 1 and found[0].var and found[0].var == found[1].var:
                found[1] = self.form([v for v in vars if v.name != found[0].var])
            for form, highs in zip(found, buffer.highs, strict=True):
                highs.append(form.high)
            return found
        chosen: list[Form] = []
        for size in buffer.sizes:
            for _ in range(12):
                form = self.form(vars)
                if never_negative(plus(plus(size, form.high, -1), {"": -1})) and never_negative(form.low):
                    chosen.append(form)
                    break
            else:
                return None
        return chosen

    @staticmethod
    def subscript(forms: Sequence[Form]) -> str:
        return "[" + ", ".join(f.text for f in forms) + "]"

    def load(self, name: str, forms: Sequence[Form]) -> str:
        for seen in self.seen:
            seen.loads.add(name)
        return self.value(f"loop.load %{name}{self.subscript(forms)} : <{name}>")

    def store(self, value: str, name: str, forms: Sequence[Form]) -> None:
        for seen in self.seen:
            seen.stores.append((name, list(forms)))
        self.say(f"loop.store {value}, %{name}{self.subscript(forms)} : <{name}>")

    # -- values

    def constant(self, number: float) -> str:
        shown = f"{float(number)}" if self.is_float else f"{int(number)}"
        return self.value(f"arith.constant {shown} : {self.type}")

    def binary(self, x: str, y: str, ops: Sequence[str]) -> str:
        names = {"max": ("maximumf", "maxsi"), "min": ("minimumf", "minsi")}
        op = self.rng.choice(ops)
        name = names.get(op, (f"{op}f", f"{op}i"))[0 if self.is_float else 1]
        return self.value(f"arith.{name} {x}, {y} : {self.type}")

    def halved(self, x: str) -> str:
        """What does not grow when it is computed again and again."""
        return self.binary(x, self.constant(0.5 if self.is_float else 3), ["mul"])

    def index_value(self, vars: Sequence[Var]) -> str:
        index = f"%{self.rng.choice(vars).name}"
        if not self.is_float:
            return self.value(f"arith.index_cast {index} : index to {self.type}")
        number = self.value(f"arith.index_cast {index} : index to i64")
        return self.halved(self.value(f"arith.sitofp {number} : i64 to {self.type}"))

    def position(self, vars: Sequence[Var]) -> Form:
        """A subscript from an array of positions."""
        name = self.rng.choice(("p", "q"))
        if name not in self.buffers:
            self.buffer(name, 1, "i64")
            self.positions[name] = {self.rng.choice(SIZES): 1, "": 1}
        forms = self.forms(self.buffers[name], vars)
        assert forms is not None
        number = self.load(name, forms)
        self.count += 1
        self.say(f"%v{self.count} = arith.index_cast {number} : i64 to index")
        return Form(f"%v{self.count}", {}, plus(self.positions[name], {"": -1}))

    def leaf(self, vars: Sequence[Var], target: str | None) -> str:
        rng = self.rng
        kind = rng.choices(("read", "target", "local", "constant", "index", "gather", "scalar"), (60, 16, 25, 5, 4, 5, 5))[0]
        if kind == "target" and target is not None:
            forms = self.forms(self.buffers[target], vars)
            if forms is not None:
                return self.halved(self.load(target, forms))
        if kind == "local" and self.usable:
            name = rng.choice(self.usable)
            forms = self.forms(self.buffers[name], vars)
            if forms is not None:
                return self.load(name, forms)
        if kind == "constant":
            return self.constant(rng.choice((0.25, 1, 2, -1)))
        if kind == "index" and vars:
            return self.index_value(vars)
        if kind == "scalar" and self.has_scalar:
            return "%s"
        name = rng.choice("ab")
        buffer = self.buffers[name]
        if kind == "gather" and vars:
            position = self.position(vars)
            forms = [self.form(vars) for _ in buffer.highs]
            forms[rng.randrange(len(forms))] = position
            for form, highs in zip(forms, buffer.highs, strict=True):
                highs.append(form.high)
            return self.load(name, forms)
        forms = self.forms(buffer, vars)
        assert forms is not None
        return self.load(name, forms)

    def branch(self, vars: Sequence[Var]) -> str:
        """The result of a conditional."""
        for seen in self.seen:
            seen.plain = False
        held = self.held(vars)
        self.count += 1
        result = f"%v{self.count}"
        self.say(f"{result} = loop.if {held} -> {self.type} {{")
        for end in ("} else {", "}"):
            self.indent += 1
            self.say(f"loop.yield {self.leaf(vars, None)} : {self.type}")
            self.indent -= 1
            self.say(end)
        return result

    def repeat(self, vars: Sequence[Var]) -> str:
        """The result of a `while` that runs as often as its variable modulo 4 says."""
        for seen in self.seen:
            seen.plain = False
        zero, one, four = (self.value(f"arith.constant {n} : index") for n in (0, 1, 4))
        times = self.value(f"arith.remsi %{self.rng.choice(vars).name}, {four} : index")
        first, start = self.leaf(vars, None), self.value(f"arith.cmpi sgt, {times}, {zero} : index")
        self.count += 4
        result, left, n, x = (f"%v{self.count - k}" for k in range(4))
        self.say(f"{result}, {left} = loop.while {start} carry {x} = {first} : {self.type}, {n} = {times} : index {{")
        self.indent += 1
        value = self.binary(self.halved(x), self.leaf(vars, None), ["add", "max", "sub"])
        fewer = self.value(f"arith.subi {n}, {one} : index")
        on = self.value(f"arith.cmpi sgt, {fewer}, {zero} : index")
        self.say(f"loop.yield {on}, {value}, {fewer} : i1, {self.type}, index")
        self.indent -= 1
        self.say("}")
        return result

    def expression(self, vars: Sequence[Var], target: str | None = None) -> str:
        kind = self.rng.choices(("leaf", "branch", "repeat"), (94, 4, 2 if vars else 0))[0]
        x = (
            self.branch(vars)
            if kind == "branch" and vars
            else self.repeat(vars)
            if kind == "repeat"
            else self.leaf(vars, target)
        )
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            y = self.leaf(vars, target)
            if self.is_float and self.chance(0.2):
                x = self.value(f"math.fma {x}, {self.constant(0.5)}, {y} : {self.type}")
            elif self.chance(0.06) and self.is_float:
                x = self.value(f"math.sqrt {self.value(f'math.absf {x} : {self.type}')} : {self.type}")
            elif self.chance(0.07):
                order = f"arith.cmpf olt, {x}, {y}" if self.is_float else f"arith.cmpi slt, {x}, {y}"
                x = self.value(f"arith.select {self.value(f'{order} : {self.type}')}, {x}, {y} : {self.type}")
            else:
                x = self.binary(x, y, ["add", "sub", "max", "min", "add"])
        return x

    # -- statements

    def statement(self, vars: Sequence[Var]) -> None:
        rng = self.rng
        target = rng.choice(("x", "y", *self.usable))
        buffer = self.buffers[target]
        kind = rng.choices(("store", "update", "scatter"), (50, 45, 5))[0]
        inside = self.chance(0.08) and bool(vars)
        if inside:
            for seen in self.seen:
                seen.plain = False
            self.say(f"loop.if {self.held(vars)} {{")
            self.indent += 1
        forms = self.forms(buffer, vars)
        if forms is None:
            target = rng.choice("xy")
            buffer = self.buffers[target]
            forms = self.forms(buffer, vars)
            assert forms is not None
        if kind == "scatter" and vars and buffer.sizes is None:
            dim = rng.randrange(len(forms))
            forms[dim] = self.position(vars)
            buffer.highs[dim].append(forms[dim].high)
        if kind == "store":
            value = self.expression(vars, target if self.chance(0.35) else None)
        else:
            extra = self.expression(vars, target if self.chance(0.15) else None)
            old = self.load(target, forms)
            if self.is_float and self.chance(0.3):
                value = self.value(f"math.fma {extra}, {self.constant(0.5)}, {old} : {self.type}")
            else:
                pair = (old, extra) if self.chance(0.7) else (extra, old)
                value = self.binary(*pair, ["add", "add", "add", "max", "min", "sub"])
        self.store(value, target, forms)
        if inside:
            self.indent -= 1
            self.say("}")

    def held(self, vars: Sequence[Var]) -> str:
        """A condition."""
        if self.chance(0.5):
            name = self.rng.choice("ab")
            forms = self.forms(self.buffers[name], vars)
            assert forms is not None
            x, zero = self.load(name, forms), self.constant(0)
            order = "cmpf ogt" if self.is_float else "cmpi sgt"
            return self.value(f"arith.{order}, {x}, {zero} : {self.type}")
        limit = self.value(f"arith.constant {self.rng.randrange(1, 6)} : index")
        order = self.rng.choice(("slt", "sge", "ne"))
        return self.value(f"arith.cmpi {order}, %{self.rng.choice(vars).name}, {limit} : index")

    def bounds(self, vars: Sequence[Var]) -> tuple[str, Linear, Linear]:
        """The head of a loop after its variable, and the range of the variable."""
        rng, size = self.rng, self.rng.choice(SIZES)
        step = rng.choice((1, 1, 1, 1, 1, 2, 3))
        by = f" step {step}" if step > 1 else ""
        last = {size: 1, "": -1}
        outer = [v for v in vars if plus(v.high, {size: -1}).keys() <= {""}]
        kinds = ("plain", "number", "inner", "triangle", "least", "data")
        kind = rng.choices(kinds, (48, 20, 10, 22 if outer else 0, 4, 3 if vars else 0))[0]
        if kind == "data":
            end = self.position(vars).text
            return f"0 to min({end}, %{size}){by}", {}, last
        if kind == "number":
            low, high = rng.choice((0, 0, 0, 1)), rng.choice((1, 2, 3, 4, 5, 8, 9))
            return f"{low} to {max(low, high)}{by}", {"": low} if low else {}, plus({"": high}, {"": -1})
        if kind == "inner":
            low, less = rng.choice((0, 1, 2)), rng.choice((0, 1, 2))
            return f"{low} to %{size} - {less}{by}", {"": low} if low else {}, plus(last, {"": -less})
        if kind == "least":
            return f"0 to min(%N, %M){by}", {}, last
        if kind == "triangle":
            v = rng.choice(outer)
            offset = v.high.get("", 0) + 1  # v < size + offset
            end = {size: 1} | ({"": offset} if offset else {})
            which = rng.randrange(5)
            if which == 0:
                return f"%{v.name} to {shown(end)}{by}", v.low, plus(end, {"": -1})
            if which == 1:
                return f"0 to %{v.name} + 1{by}", {}, v.high
            if which == 2:
                return f"%{v.name} + 1 to {shown(end)}{by}", plus(v.low, {"": 1}), plus(end, {"": -1})
            if which == 3:
                return f"0 to %{v.name}{by}", {}, plus(v.high, {"": -1})
            return f"max(0, %{v.name} - 2) to min({shown(end)}, %{v.name} + 3)", {}, plus(end, {"": -1})
        return f"0 to %{size}{by}", {}, last

    def name(self) -> str:
        self.n_loops += 1
        return next(self.loop_names)

    def nest(self, vars: list[Var], depth: int) -> None:
        """A loop with what it holds."""
        rng, name = self.rng, self.name()
        place = tuple(v.name for v in vars)
        head, low, high = self.heads[place] if place in self.heads and self.chance(0.6) else self.bounds(vars)
        self.heads[place] = head, low, high
        var = Var(name, low, high)
        kind = rng.choices(("for", "reduce", "carry"), (86, 9, 5))[0]
        if kind != "for":
            self.reduction(vars, var, head, kind)
            return
        place = len(self.lines)
        self.say("")
        self.indent += 1
        self.seen.append(_Seen())
        inner = [*vars, var]
        usable = list(self.usable)
        self.body(inner, depth + 1)
        self.usable = usable
        seen = self.seen.pop()
        self.indent -= 1
        kind = "parallel" if self.may_be_parallel(seen, name) and self.chance(0.25) else "seq"
        self.lines[place] = "  " * self.indent + f"loop.for {kind} %{name} = {head} {{"
        self.say("}")

    def may_be_parallel(self, seen: _Seen, name: str) -> bool:
        """Whether a loop only stores elements of its own, which nothing in it reads."""
        arrays = [target for target, _ in seen.stores]
        own = all(any(form.var == name for form in forms) for _, forms in seen.stores)
        return own and len(set(arrays)) == len(arrays) and not seen.loads & set(arrays)

    def body(self, vars: list[Var], depth: int) -> None:
        rng = self.rng
        room = depth < 3 and self.n_loops < 6
        if room and self.chance(0.62 if depth == 1 else 0.4):
            if self.chance(0.2):
                self.statement(vars)
            self.nest(vars, depth)
            if self.chance(0.25) and self.n_loops < 6:
                self.nest(vars, depth)
            if self.chance(0.2):
                self.statement(vars)
            return
        if depth < 3 and self.n_loops < 5 and self.chance(0.12):
            self.local(vars, depth)
            return
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            self.statement(vars)

    def reduction(self, vars: Sequence[Var], var: Var, head: str, kind: str) -> None:
        """A loop with a result, and a store of that."""
        if kind == "reduce" and self.chance(0.15):
            self.extreme(vars, var, head)
            return
        init = self.constant(self.rng.choice((0, 1, 0.25)))
        self.count += 1
        result = f"%v{self.count}"
        if kind == "reduce":
            monoid = self.rng.choice(("add", "add", "add", "max", "min"))
            self.say(f"{result} = loop.for reduce<{monoid}> %{var.name} = {head} init {init} : {self.type} {{")
        else:
            self.count += 1
            carried = f"%v{self.count}"
            self.say(f"{result} = loop.for seq %{var.name} = {head} carry {carried} = {init} : {self.type} {{")
        self.indent += 1
        for seen in self.seen:
            seen.plain = False
        value = self.expression([*vars, var])
        if kind == "carry":
            value = self.binary(self.halved(carried), value, ["add", "sub", "max"])
        if self.chance(0.15):
            forms = self.forms(self.buffers["y"], [*vars, var])
            assert forms is not None
            self.store(value, "y", forms)
        self.say(f"loop.yield {value} : {self.type}")
        self.indent -= 1
        self.say("}")
        forms = self.forms(self.buffers["x"], vars)
        assert forms is not None
        if self.chance(0.5):
            result = self.binary(result, self.expression(vars), ["add", "max"])
        self.store(result, "x", forms)

    def extreme(self, vars: Sequence[Var], var: Var, head: str) -> None:
        """A loop that finds the greatest or least value and where it is, and a store of the value at that place."""
        init, nil = self.constant(0), self.value("arith.constant 0 : i64")
        self.count += 2
        result, place = f"%v{self.count}", f"%v{self.count - 1}"
        monoid = self.rng.choice(("argmax", "argmin"))
        self.say(
            f"{result}, {place} = loop.for reduce<{monoid}> %{var.name} = {head} init {init} : {self.type}, {nil} : i64 {{"
        )
        self.indent += 1
        value = self.expression([*vars, var])
        index = self.value(f"arith.index_cast %{var.name} : index to i64")
        self.say(f"loop.yield {value}, {index} : {self.type}, i64")
        self.indent -= 1
        self.say("}")
        forms = self.forms(self.buffers["x"], vars)
        assert forms is not None
        number = self.value(f"arith.sitofp {place} : i64 to {self.type}") if self.is_float else None
        self.store(result if number is None else self.binary(result, number, ["add"]), "x", forms)

    def local(self, vars: list[Var], depth: int) -> None:
        """A local buffer: all of it is written, then some of it is read."""
        rng = self.rng
        name = next(n for n in ("t", "tt", "ttt") if n not in self.buffers)
        rank = rng.choice((1, 1, 2))
        sizes: list[Linear] = []
        for _ in range(rank):
            sizes.append({rng.choice(SIZES): 1} if self.chance(0.45) else {"": rng.choice((3, 4, 6, 8))})
        buffer = self.buffer(name, rank)
        buffer.sizes = sizes
        fixed = all(set(size) == {""} for size in sizes)
        place = rng.choice(("stack", "scratch", "register")) if fixed else "scratch"
        given = ", ".join("%" + next(iter(size)) for size in sizes if set(size) != {""})
        self.say(f"%{name} = loop.alloc {place}{f'({given})' if given else ''} : <{name}>")
        inner = list(vars)
        for size in sizes:
            var = Var(self.name(), {}, plus(size, {"": -1}))
            inner.append(var)
            self.say(f"loop.for seq %{var.name} = 0 to {shown(size)} {{")
            self.indent += 1
        own = inner[len(vars) :]
        self.store(self.expression(inner), name, [Form(f"%{v.name}", v.low, v.high, v.name) for v in own])
        for _ in sizes:
            self.indent -= 1
            self.say("}")
        self.usable.append(name)
        size = rng.choice(sizes)
        less = rng.choice((0, 0, 1, 2))
        var = Var(self.name(), {}, plus(size, {"": -1 - less}))
        self.say(f"loop.for seq %{var.name} = 0 to {shown(plus(size, {'': -less}))} {{")
        self.indent += 1
        self.seen.append(_Seen())
        usable = list(self.usable)
        self.body([*vars, var], depth + 1)
        self.usable = usable
        self.seen.pop()
        self.indent -= 1
        self.say("}")

    def product(self) -> None:
        """Something like a product of matrices."""
        rng = self.rng
        vars: list[Var] = []
        for size in (*SIZES, rng.choice((*SIZES, "5", "12"))):
            last = {"": int(size) - 1} if size.isdigit() else {size: 1, "": -1}
            vars.append(Var(self.name(), {}, last))
            self.say(f"loop.for seq %{vars[-1].name} = 0 to {size if size.isdigit() else '%' + size} {{")
            self.indent += 1
        i, j, k = (Form(f"%{v.name}", v.low, v.high, v.name) for v in vars)
        found: dict[str, list[Form]] = {}
        for name, forms in (("a", [i, k]), ("b", [k, j]), ("y", [i, j])):
            found[name] = rng.sample(forms, 2)
            for form, highs in zip(found[name], self.buffers[name].highs, strict=True):
                highs.append(form.high)
        x, y, old = (self.load(name, found[name]) for name in "aby")
        if self.is_float and self.chance(0.7):
            value = self.value(f"math.fma {x}, {y}, {old} : {self.type}")
        else:
            value = self.binary(old, self.binary(x, y, ["mul", "sub"]), ["add", "add", "max"])
        self.store(value, "y", found["y"])
        for _ in vars:
            self.indent -= 1
            self.say("}")

    # -- the whole

    def drawn(self) -> Drawn:
        if self.is_product:
            self.product()
        for _ in range(self.rng.choice((0, 0, 1)) if self.is_product else self.rng.choice((1, 1, 1, 2))):
            if self.chance(0.15):
                self.local([], 0)
            else:
                self.nest([], 0)
        needs: dict[str, list[Linear]] = {}
        arguments: list[str] = []
        shapes: list[str] = []
        types: dict[str, str] = {}
        bound: set[str] = set()
        for buffer in self.buffers.values():
            sizes = buffer.sizes if buffer.sizes is not None else [self.size(highs, needs) for highs in buffer.highs]
            dims = [str(at(size, {})) if set(size) <= {""} else "?" for size in sizes]
            types[buffer.name] = f"memref<{''.join(d + 'x' for d in dims)}{buffer.type}>"
            if buffer.sizes is None:
                arguments.append(f"%{buffer.name}: {types[buffer.name]}")
                shapes.append(f"%{buffer.name}[{', '.join(map(shown, sizes))}]")
                for size in sizes:
                    bound.update(name for name in size if name)
        for name in SIZES:
            if name not in bound:
                arguments.append(f"%z{name}: memref<?x{self.type}>")
                shapes.append(f"%z{name}[%{name}]")
        if self.has_scalar:
            arguments.append(f"%s: {self.type}")
        arguments += [f"%{name}: index" for name in (*SIZES, *needs)]
        body = "\n".join(self.lines)
        for name, type in types.items():
            body = body.replace(f"<{name}>", type)
        text = f"loop.kernel @k({', '.join(arguments)})\n    shapes({', '.join(shapes)}) {{\n{body}\n}}\n"
        return Drawn(text, self.type, needs, self.positions, self.is_product)

    def size(self, highs: Sequence[Linear], needs: dict[str, list[Linear]]) -> Linear:
        """A size above all subscripts of a dim."""
        symbols = {name for high in highs for name in high if name}
        most = max([0, *(high.get("", 0) + 1 for high in highs)])
        simple = all(c == 1 for high in highs for name, c in high.items() if name) and len(symbols) <= 1
        if simple and not self.chance(0.15):
            if not symbols and self.chance(0.6):
                return {"": max(1, most)}
            return plus({next(iter(symbols), self.rng.choice(SIZES)): 1}, {"": most})
        name = f"P{len(needs)}"
        needs[name] = [plus(high, {"": 1}) for high in highs]
        return {name: 1}


def draw_kernel(rng: random.Random) -> Drawn:
    """A random kernel."""
    return _Writer(rng).drawn()


# Witnesses


_ORDERED = ("parallelize", "reorder", "tile", "vectorize", "fuse", "fission", "unroll-and-jam", "interleave")
ORDERED = tuple(f"loop-{verb}" for verb in _ORDERED)
"""Steps whose witness is a pair of iterations that run one after the other."""


def replay(conflict: Conflict, ordered: bool = True, added: Mapping[str, int] | None = None) -> None:
    """Check a witness by hand: both iterations are in the bounds of their loops, and touch its element, one of them writing.

    With `ordered` the first also runs before the second: in an earlier iteration of the outermost loop that differs, or by the
    order of the text. The first one runs in loops up to the numbers in `added`, further than in the kernel as it stands.
    """
    assert conflict.first.writes or conflict.second.writes, "both read"
    assert conflict.first.buffer is conflict.second.buffer
    for access, variables in ((conflict.first, conflict.at_first), (conflict.second, conflict.at_second)):
        values = {**conflict.sizes, **variables}

        def value(of: SSAValue, values: Mapping[str, int] = values) -> int:
            if isinstance(of.owner, arith.ConstantOp):
                return int(of.owner.value.value.data)  # pyright: ignore[reportAttributeAccessIssue]
            return values.get(of.name_hint or "", 0)  # what the witness does not name may be anything

        for loop in access.loops:
            low = max(loop.lower.data.eval([value(v) for v in loop.lower_operands], []))
            high = min(loop.upper.data.eval([value(v) for v in loop.upper_operands], []))
            if added and access is conflict.first and name_of(loop) in added:
                low, high = high, added[name_of(loop)]
            assert variables[name_of(loop)] in range(low, high, loop.step.value.data), (name_of(loop), low, high)
        op = access.op
        if isinstance(op, GatherOp | ScatterOp):
            assert conflict.element == tuple(value(v) for v in op.subscripts), "where it accesses depends on data"
            continue
        assert isinstance(op, LoadOp | StoreOp)
        element = list(op.map.data.eval([value(v) for v in op.indices], []))
        touched = [tuple(element)]
        for lane in range(1, op.lanes):
            moved = list(element)
            moved[op.lane_dim()] += lane * op.lane_step()
            touched.append(tuple(moved))
        assert conflict.element in touched, (conflict.element, touched)
    if ordered:
        both = [loop for loop in conflict.first.loops if loop in conflict.second.loops]
        apart = [loop for loop in both if conflict.at_first[name_of(loop)] != conflict.at_second[name_of(loop)]]
        if not apart:
            kernel = kernel_of(conflict.first.op)
            order = [op for op in kernel.walk() if op in (conflict.first.op, conflict.second.op)]
            assert order == [conflict.first.op, conflict.second.op]
        elif apart[0].kind.data != "parallel":
            assert conflict.at_first[name_of(apart[0])] < conflict.at_second[name_of(apart[0])]


# Steps


class _Steps:
    """Draws parameters for a kernel as it is now."""

    def __init__(self, rng: random.Random, schedule: Schedule, recent: Sequence[str]):
        self.rng, self.kernel = rng, schedule.kernel
        self.loops = loops(self.kernel)
        self.recent = [name for name in recent if name in self.loops]

    def loop(self, *kinds: str) -> str:
        rng = self.rng
        if rng.random() < 0.02:
            return "nothing"
        if self.recent and rng.random() < 0.45:
            return rng.choice(self.recent)
        wanted = [name for name, op in self.loops.items() if not kinds or op.kind.data in kinds]
        return rng.choice(wanted or list(self.loops))

    def band(self) -> list[str]:
        """Some loops of a perfect nest."""
        op = self.loops.get(self.loop())
        found: list[str] = []
        while op is not None:
            found.append(name_of(op))
            op = only_loop_in(op)
        for op in around(self.loops[found[0]])[::-1] if found else ():
            if only_loop_in(op) is not self.loops[found[0]]:
                break
            found.insert(0, name_of(op))
        return found or ["nothing"]

    def buffers(self) -> list[str]:
        kernel = self.kernel
        arguments = [a.name_hint for a in kernel.body.block.args if isinstance(a.type, MemRefType)]
        return [name for name in (*arguments, *self.locals()) if name]

    def locals(self) -> list[str]:
        return [op.buffer.name_hint for op in self.kernel.walk() if isinstance(op, AllocOp) and op.buffer.name_hint]

    def access(self, *types: type) -> tuple[str, str, list[str]] | None:
        """A buffer, a loop around an access to it, and the loops inside that move the access."""
        found = [op for op in self.kernel.walk() if isinstance(op, types) and around(op)]
        answer = None
        for _ in range(4 if found else 0):
            op: Any = self.rng.choice(found)
            outside = around(op)
            k = self.rng.randrange(len(outside))
            used = set(op.indices)
            moving = [inner for inner in outside[k + 1 :] if inner.index in used]
            answer = op.buffer.name_hint or "x", name_of(outside[k]), list(map(name_of, moving))
            fits = all(extent(inner) is not None for inner in moving)
            if fits and (LoadOp in types or outside[k].index not in used):
                break  # mostly something that may be legal
        return answer

    def some(self, names: Sequence[str], least: int = 1) -> tuple[str, ...]:
        count = self.rng.randint(min(least, len(names)), len(names))
        return tuple(self.rng.sample(list(names), count))

    def number(self) -> int:
        return self.rng.choice((1, 2, 2, 3, 4, 4, 5, 8, 8, 16, 50, 0 if self.rng.random() < 0.1 else 4))

    # -- one method a verb, if its parameters are to fit one another

    def tile(self) -> dict[str, Any]:
        chosen = self.some(self.band())
        return {"loops": chosen, "sizes": tuple(max(1, self.number()) for _ in chosen)}

    def reorder(self) -> dict[str, Any]:
        return {
            "loops": self.some(self.band(), 2),
            "reassociate": self.rng.random() < 0.3,
            "triangular": self.rng.random() < 0.5,
        }

    def skew(self) -> dict[str, Any]:
        nested = [name for name, op in self.loops.items() if around(op)]
        name = self.rng.choice(nested or [self.loop()])
        outer = [name_of(op) for op in around(self.loops[name])] or [self.loop()]
        return {"loop": name, "by": self.rng.choice(outer), "factor": self.rng.choice((1, 1, 1, 2, -1, -2, 3))}

    def shift(self) -> dict[str, Any]:
        return {"loop": self.loop(), "count": self.rng.randint(-5, 5)}

    def parallelize(self) -> dict[str, Any]:
        return {"loop": self.loop(), "schedule": self.rng.choice(("static", "dynamic"))}

    def unroll(self) -> dict[str, Any]:
        name = self.loop("seq", "parallel", "reduce")
        loop = self.loops.get(name)
        copies = 1
        for op in self.loops.values():
            if op.kind.data == "unroll":
                copies *= constant_extent(op) or 1
        most = 32 // copies
        if loop is not None and (constant_extent(loop) or 99) <= most and self.rng.random() < 0.5:
            return {"loop": name}
        return {"loop": name, "factor": self.rng.choice([n for n in (2, 3, 4, 8) if n <= most] or [2])}

    def vectorize(self) -> dict[str, Any]:
        lanes = self.rng.choice((2, 4, 4, 8, 8, 16, 3))
        name = self.loop("seq", "parallel", "reduce")
        if self.rng.random() < 0.6:  # an innermost one
            inner = [n for n, op in self.loops.items() if not any(isinstance(x, ForOp) and x is not op for x in op.walk())]
            name = self.rng.choice(inner or [name])
        ordered = name in self.loops and self.loops[name].kind.data == "reduce" and self.rng.random() < 0.5
        return {"loop": name, "lanes": lanes, "tail": self.rng.choice(("masked", "scalar", "predicated")), "ordered": ordered}

    def stage(self) -> dict[str, Any]:
        buffer, loop, moving = self.access(LoadOp) or ("a", self.loop(), [])
        order = tuple(self.rng.sample(moving, len(moving)))
        return {
            "buffer": buffer,
            "at": loop,
            "order": order,
            "pad": tuple(name for name in order if self.rng.random() < 0.4),
            "space": self.rng.choice(("scratch", "stack", "register")),
        }

    def accumulate(self) -> dict[str, Any]:
        buffer, loop, _ = self.access(StoreOp) or ("x", self.loop(), [])
        return {"buffer": buffer, "at": loop}

    def prefetch(self) -> dict[str, Any]:
        buffer, loop, _ = self.access(LoadOp) or ("a", self.loop(), [])
        return {"buffer": buffer, "at": loop, "distance": self.number()}

    def set_layout(self) -> dict[str, Any]:
        names = self.locals()
        if not names or self.rng.random() < 0.05:
            return {"buffer": "x", "order": (0,)}
        buffer = self.rng.choice(names)
        op = next(op for op in self.kernel.walk() if isinstance(op, AllocOp) and op.buffer.name_hint == buffer)
        rank = op.buffer.type.get_num_dims()
        return {"buffer": buffer, "order": tuple(self.rng.sample(range(rank), rank)), "pad": self.rng.choice((0, 1, 3))}

    def split_dim(self) -> dict[str, Any]:
        return {"buffer": self.rng.choice(self.locals() or self.buffers()), "dim": self.rng.randrange(2), "factor": 2}

    def collapse_dims(self) -> dict[str, Any]:
        return {"buffer": self.rng.choice(self.locals() or self.buffers()), "dim": self.rng.randrange(2)}

    def coalesce(self) -> dict[str, Any]:
        outer, inner = (self.band() * 2)[:2]
        return {"outer": outer, "inner": inner}

    def hoist(self) -> dict[str, Any]:
        return {"buffer": self.rng.choice(self.locals() or self.buffers())}

    def deinterleave(self) -> dict[str, Any]:
        return {"loop": self.loop("seq", "parallel", "reduce"), "ways": self.rng.choice((2, 2, 3, 4))}

    def pad(self) -> dict[str, Any]:
        found = [(n, e) for n, op in self.loops.items() if (e := constant_extent(op)) is not None and op.trip_count() is None]
        if not found or self.rng.random() < 0.1:
            return {"loop": self.loop(), "size": self.number()}
        name, most = self.rng.choice(found)
        return {"loop": name, "size": most * self.loops[name].step.value.data + self.rng.choice((0, 0, 1))}

    def peel(self) -> dict[str, Any]:
        stepping = [name for name, op in self.loops.items() if op.step.value.data > 1]
        if stepping and self.rng.random() < 0.5:
            return {"loop": self.rng.choice(stepping), "count": 0}
        return {"loop": self.loop(), "count": self.rng.choice((1, 2, -1, -2, 5))}

    def version(self) -> dict[str, Any]:
        open_ = [name for name, op in self.loops.items() if op.trip_count() is None]
        most = self.rng.choice((1, 2, 3, 8))
        return {"loop": self.rng.choice(open_ or [self.loop()]), "most": most, "exact": self.rng.random() < 0.4}

    def siblings(self) -> Iterator[tuple[str, str]]:
        """Loops of one block, each with the next."""
        by_block: dict[Any, list[str]] = {}
        for name, op in self.loops.items():
            by_block.setdefault(op.parent, []).append(name)
        for names in by_block.values():
            yield from itertools.pairwise(names)

    def fuse(self) -> dict[str, Any]:
        found = list(self.siblings())
        first, second = self.rng.choice(found) if found else (self.loop(), self.loop())
        return {"first": first, "second": second}

    def interleave(self) -> dict[str, Any]:
        halo = self.rng.choice((0, 1, 1, 2, 3))
        return {**self.fuse(), "size": max(1, 2 * halo, self.rng.choice((1, 2, 3, 4, 8))), "halo": halo}

    def fission(self) -> dict[str, Any]:
        several = [name for name, op in self.loops.items() if len(statements(op.body.block)) > 1]
        name = self.rng.choice(several) if several else self.loop()
        names: list[str] = []
        for op in statements(self.loops[name].body.block)[:-1] if name in self.loops else ():
            if isinstance(op, ForOp):
                names += [name_of(op)] * 3
            if isinstance(op, StoreOp):
                names += [op.buffer.name_hint or ""] * 3
            names += [r.name_hint for r in op.results if r.name_hint][: int(self.rng.random() < 0.2)]
        return {"loop": name, "after": self.rng.choice(names or ["x"])}

    def compute_at(self) -> dict[str, Any]:
        names = self.locals() or self.buffers()
        buffer = self.rng.choice(names)
        reads = [op for op in self.kernel.walk() if isinstance(op, LoadOp) and op.buffer.name_hint == buffer and around(op)]
        at = name_of(self.rng.choice(around(self.rng.choice(reads)))) if reads else self.loop()
        return {"buffer": buffer, "at": at}

    def inline(self) -> dict[str, Any]:
        return {"buffer": self.rng.choice(self.locals() or self.buffers())}

    def anything(self, cls: type[Primitive]) -> dict[str, Any]:
        """Parameters by their names and types, for a primitive that this file does not know."""
        found: dict[str, Any] = {}
        for one in dataclasses.fields(cls):
            type = str(one.type)
            if one.name in ("name", "kernel") or (one.default is not dataclasses.MISSING and self.rng.random() < 0.4):
                continue
            if "tuple[str" in type:
                found[one.name] = self.some(self.band())
            elif "tuple[int" in type:
                found[one.name] = tuple(self.number() for _ in range(self.rng.choice((1, 2))))
            elif "int" in type:
                found[one.name] = self.number()
            elif "bool" in type:
                found[one.name] = self.rng.random() < 0.5
            elif "str" in type:
                found[one.name] = self.rng.choice(self.buffers()) if "buffer" in one.name else self.loop()
        return found


RARE = {"prefetch": 1, "version": 1, "set_layout": 2, "peel": 3, "pad": 2, "split": 3}
OFTEN = 4


def draw_step(rng: random.Random, schedule: Schedule, recent: Sequence[str], often: Sequence[str] = ()) -> Primitive:
    """A random step; `recent` are names of loops to prefer, `often` verbs."""
    known = primitives()
    draw = _Steps(rng, schedule, recent)
    weights = {name: RARE.get(name, OFTEN) for name in known}
    if not draw.locals():
        weights.update(dict.fromkeys({"set_layout", "inline", "compute_at", "pad"} & set(known), 0.2))
    if not list(draw.siblings()):
        weights["fuse"] = weights["interleave"] = 0.2
    weights.update({verb: 5 * weights[verb] for verb in often})
    verb = rng.choices(list(weights), list(weights.values()))[0]
    given = getattr(draw, verb)() if hasattr(draw, verb) and verb != "loop" else draw.anything(known[verb])
    return known[verb](**given)


def product_steps(rng: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """The steps of a product of matrices, as far as they are legal."""
    sizes = tuple(rng.choice((2, 3, 4, 6, 8)) for _ in "ij")
    yield "tile", {"loops": ("i", "j"), "sizes": sizes}
    yield "split", {"loop": "k", "size": rng.choice((3, 4, 8))}
    inner = rng.sample(["ii", "ji"], 2)
    yield "reorder", {"loops": (*rng.sample(["io", "jo", "ko"], 3), "ki", *inner), "reassociate": rng.random() < 0.2}
    places = ["jo", "io", "ko"]
    for buffer, moving in (("a", ["ii", "ki"]), ("b", ["ki", "ji"])):
        if rng.random() < 0.8:
            padded = tuple(name for name in moving if rng.random() < 0.7)
            order = tuple(rng.sample(moving, 2))
            yield "stage", {"buffer": buffer, "at": rng.choice(places), "order": order, "pad": padded}
    yield "accumulate", {"buffer": "y", "at": rng.choice(("ki", "ko"))}
    for name, size in zip(("ii", "ji"), sizes, strict=True):
        yield "pad", {"loop": name, "size": size}
    if rng.random() < 0.5:
        yield "peel", {"loop": rng.choice(places)}
    yield "vectorize", {"loop": inner[1], "lanes": rng.choice((2, 4, 8)), "tail": rng.choice(("masked", "predicated"))}
    yield "unroll", {"loop": inner[0]}


def reassociates(schedule: Schedule, step: Primitive) -> bool:
    """Whether a step, before it is taken, may change the order of a sum."""
    if step.name in ("loop-regroup", "loop-ungroup") or getattr(step, "reassociate", False):
        return True
    if step.name not in ("loop-vectorize", "loop-unroll-and-jam", "loop-deinterleave") or getattr(step, "ordered", False):
        return False
    loop = loops(schedule.kernel).get(getattr(step, "loop", ""))
    return loop is not None and loop.kind.data == "reduce"
