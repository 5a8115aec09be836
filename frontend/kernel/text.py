"""Prints loop IR as the equivalent plain Python loops, to show the effect of a schedule on a kernel.

Vector accesses are slices, local buffers NumPy arrays, the kind of a loop a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, VectorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from ...dialects.loop.assume import AssumeOp
from ...dialects.loop.gather import GatherOp, ScatterOp
from ...dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from ...dialects.loop.memory import AllocOp, CheckOp, LoadOp, PrefetchOp, ReduceLanesOp, StoreOp
from ...dialects.loop.prints import PrintOp
from ...dialects.loop.subscripts import linear_form
from ...dialects.types import element_of, numpy_dtype, scalar_of

_INFIX = {
    "arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/", "arith.addi": "+", "arith.subi": "-",
    "arith.muli": "*", "arith.floordivsi": "//", "arith.andi": "&", "arith.ori": "|", "arith.xori": "^", "arith.shli": "<<",
    "arith.shrsi": ">>", "arith.shrui": ">>", "arith.divui": "//", "arith.remui": "%",
}  # fmt: skip
_CALL = {
    "arith.maximumf": "max", "arith.minimumf": "min", "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "max",
    "arith.minui": "min", "math.absf": "abs", "math.absi": "abs", "arith.divsi": "truncated_div",
    "arith.remsi": "truncated_rem", "arith.remf": "fmod", "math.powf": "pow",
    "vector.create_mask": "lanes_below", "vector.step": "arange",
}  # fmt: skip
_SAME = ("vector.broadcast", "arith.index_cast")
"""Casts that Python leaves implicit."""
_NEGATIVE = re.compile(r"-\d+|-\w+|\(-\w+\)")
_CMPF = ("False", "==", ">", ">=", "<", "<=", "!=", "ord", "==", ">", ">=", "<", "<=", "!=", "uno", "True")
_CMPI = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_AFFINE = {AffineBinaryOpKind.Mod: "%", AffineBinaryOpKind.FloorDiv: "//", AffineBinaryOpKind.Mul: "*"}


def kernel_as_python(kernel: KernelOp) -> str:
    """The Python text of a kernel.

    >>> from lamina.dialects.context import make_context
    >>> from lamina.dialects.parsing import parse_module
    >>> text = '''loop.kernel @twice(%x: memref<?xf32>, %N: index) shapes(%x[%N]) {
    ...   loop.for parallel %i = 0 to %N step 4 {
    ...     loop.for unroll %j = 0 to min(4, %N - %i) {
    ...       %a = loop.load %x[%i + %j] : memref<?xf32>
    ...       %b = arith.addf %a, %a : f32
    ...       loop.store %b, %x[%i + %j] : memref<?xf32>
    ...     }
    ...   }
    ... }'''
    >>> print(kernel_as_python(parse_module(make_context(), text).body.block.first_op))
    def twice(x: float32[N], N):
        for i in range(0, N, 4):  # parallel
            for j in range(0, min(4, N - i)):  # unroll
                a = x[i + j]
                x[i + j] = a + a
    """
    return _Printer().kernel(kernel)


def spell_affine(expr: AffineExpr, dims: Sequence[SSAValue]) -> str:
    """An affine expression over named values as Python."""
    return _Printer().affine(expr, dims)


def spell_bound(word: str, map: AffineMap, dims: Sequence[SSAValue]) -> str:
    """A loop bound as Python."""
    return _Printer().bound(word, map, dims)


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.text: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.depth = 1

    def kernel(self, kernel: KernelOp) -> str:
        shown: list[str] = []
        indices = kernel.index_arguments
        for argument in kernel.body.block.args:
            self.name(argument)
        for argument in kernel.body.block.args:
            if hasattr(argument.type, "get_shape"):
                sizes = ", ".join(self.affine(e, indices) for e in kernel.sizes_of(argument))
                shown.append(f"{self.text[argument]}: {numpy_dtype(element_of(argument))}[{sizes}]")
            else:
                shown.append(self.text[argument])
        self.block(kernel.body.block)
        return "\n".join([f"def {kernel.sym_name.data}({', '.join(shown)}):", *(self.lines or ["    pass"])])

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, value: SSAValue) -> str:
        """A fresh variable for a value."""
        hint = value.name_hint or "t"
        found, k = hint, 1
        while found in self.taken:
            k += 1
            found = f"{hint}{k}"
        self.taken.add(found)
        self.text[value] = found
        return found

    def block(self, block: Block) -> None:
        before = len(self.lines)
        for op in block.ops:
            self.op(op)
        if len(self.lines) == before:
            self.emit("pass")

    def nested(self, block: Block) -> None:
        self.depth += 1
        self.block(block)
        self.depth -= 1

    def op(self, op: Operation) -> None:
        if isinstance(op, ForOp):
            self.loop(op)
        elif isinstance(op, WhileOp):
            self.while_loop(op)
        elif isinstance(op, IfOp):
            self.conditional(op)
        elif isinstance(op, StoreOp):
            self.emit(f"{self.access(op)} = {self.value(op.value)}{self.masked(op.mask)}")
        elif isinstance(op, ScatterOp):
            self.emit(f"{self.lanes(op)} = {self.value(op.value)}{self.masked(op.mask)}")
        elif isinstance(op, AllocOp):
            self.alloc(op)
        elif isinstance(op, CheckOp):
            self.emit(f"check({self.value(op.condition)}, {self.value(op.value)})")
        elif isinstance(op, AssumeOp):
            self.emit(f"assume({op.kind.data}({self.value(op.buffer)}))")
        elif isinstance(op, PrintOp):
            given = ", ".join([repr(op.text.data), *map(self.value, op.values)])
            self.emit(f"print({given})")
        elif isinstance(op, PrefetchOp):
            self.emit(f"prefetch({self.value(op.buffer)}[{self.subscripts(op.map.data, op.indices)}])")
        elif not isinstance(op, YieldOp):
            self.compute(op)

    def compute(self, op: Operation) -> None:
        """An op with results: written inline when it is used once and nothing can change in between."""
        text = self.expression(op)
        if len(op.results) != 1:
            self.emit(f"{', '.join(self.name(r) for r in op.results)} = {text}")
            return
        result = op.results[0]
        if op.name in _SAME and text.isidentifier():
            self.text[result] = text
            return
        uses = list(result.uses)
        simple = not isinstance(op, LoadOp | GatherOp) and len(uses) == 1 and uses[0].operation.parent is op.parent
        if op.name == "arith.constant" or simple:
            whole = text.isalnum() or op.name == "arith.constant" or (text.startswith("(") and _closes_last(text))
            self.text[result] = text if whole else f"({text})"
        elif uses:
            self.emit(f"{self.name(result)} = {text[1:-1] if text.startswith('(') and _closes_last(text) else text}")

    def value(self, value: SSAValue) -> str:
        found = self.text.get(value) or self.name(value)
        if found.startswith("(") and found.endswith(")") and _closes_last(found):
            return found[1:-1]
        return found

    def inner(self, value: SSAValue) -> str:
        return self.text.get(value) or self.name(value)

    def expression(self, op: Operation) -> str:
        xs = [self.inner(o) for o in op.operands]
        properties: Any = op.properties
        if op.name == "arith.constant":
            return _constant(properties["value"])
        if isinstance(op, LoadOp):
            return self.access(op) + self.masked(op.mask)
        if isinstance(op, GatherOp):
            return self.lanes(op) + self.masked(op.mask)
        if isinstance(op, ReduceLanesOp):
            return f"reduce_lanes({', '.join([repr(op.monoid.data), *xs])})"
        if isinstance(op, vector.ExtractOp):
            at = [str(n) if n != DYNAMIC_INDEX else xs[1] for n in op.static_position.get_values()]
            return f"{xs[0]}[{', '.join(at)}]"
        if op.name == "arith.muli" and xs[1] == "-1":
            return f"-{xs[0]}"
        if op.name == "arith.addi" and _NEGATIVE.fullmatch(xs[1]):
            return f"{xs[0]} - {xs[1].strip('()')[1:]}"
        if op.name in _SAME:
            return xs[0]
        if op.name in _INFIX:
            return f"{xs[0]} {_INFIX[op.name]} {xs[1]}"
        if op.name == "arith.negf":
            return f"-{xs[0]}"
        if op.name == "math.fma":
            return f"{xs[0]} * {xs[1]} + {xs[2]}"
        if op.name in ("arith.cmpf", "arith.cmpi"):
            table = _CMPF if op.name == "arith.cmpf" else _CMPI
            return f"{xs[0]} {table[properties['predicate'].value.data]} {xs[1]}"
        if op.name == "arith.select":
            if isinstance(op.operands[0].type, VectorType):
                return f"where({', '.join(self.value(o) for o in op.operands)})"
            return f"{xs[1]} if {xs[0]} else {xs[2]}"
        if op.name in _CALL:
            return f"{_CALL[op.name]}({', '.join(self.value(o) for o in op.operands)})"
        element = scalar_of(op.results[0].type) if op.results else None
        if len(op.operands) == 1 and element is not None and element != scalar_of(op.operands[0].type):
            return f"{numpy_dtype(element)}({self.value(op.operands[0])})"
        return f"{op.name.rpartition('.')[2]}({', '.join(self.value(o) for o in op.operands)})"

    # -- structure

    def loop(self, op: ForOp) -> None:
        carried = op.body.block.args[1:] if op.monoid is None else ()
        names = [self.name(r) for r in op.results]
        for name, init in zip(names, op.inits, strict=True):
            self.emit(f"{name} = {self.value(init)}")
        for argument, name in zip(carried, names, strict=False):
            self.text[argument] = name
        lower = self.bound("max", op.lower.data, op.lower_operands)
        upper = self.bound("min", op.upper.data, op.upper_operands)
        step = op.step.value.data
        kind = op.kind.data
        comment = "" if kind == "seq" else f"  # {kind}" + (f"<{op.monoid.data}>" if op.monoid is not None else "")
        index = self.name(op.index)
        self.emit(f"for {index} in range({lower}, {upper}{f', {step}' if step != 1 else ''}):{comment}")
        self.depth += 1
        before = len(self.lines)
        for inner in op.body.block.ops:
            self.op(inner)
        if names and op.monoid is None:  # at once: values may be those of other variables
            self.emit(f"{', '.join(names)} = {', '.join(self.value(value) for value in op.yielded)}")
        for name, value in zip(names, op.yielded, strict=True):
            if op.monoid is None:
                break
            if op.monoid.data in ("add", "mul"):
                self.emit(f"{name} {'+' if op.monoid.data == 'add' else '*'}= {self.value(value)}")
            else:
                self.emit(f"{name} = {op.monoid.data}({name}, {self.value(value)})")
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1
        self.taken.discard(index)

    def while_loop(self, op: WhileOp) -> None:
        names = [self.name(r) for r in op.results]
        for name, init, argument in zip(names, op.inits, op.body.block.args, strict=True):
            self.emit(f"{name} = {self.value(init)}")
            self.text[argument] = name
        self.emit(f"going = {self.value(op.condition)}")
        self.emit("while going:")
        self.nested(op.body.block)
        self.depth += 1
        targets = ", ".join(["going", *names])
        self.emit(f"{targets} = {', '.join(self.value(v) for v in op.yielded)}")
        self.depth -= 1

    def conditional(self, op: IfOp) -> None:
        names = [self.name(r) for r in op.results]
        self.emit(f"if {self.value(op.condition)}:")
        for k, region in enumerate((op.then, op.otherwise)):
            if not region.blocks or (k and not names and len(list(region.block.ops)) <= 1):
                continue
            if k:
                self.emit("else:")
            self.nested(region.block)
            last = region.block.last_op
            self.depth += 1
            for name, value in zip(names, last.operands if last is not None else (), strict=False):
                self.emit(f"{name} = {self.value(value)}")
            self.depth -= 1

    # -- memory

    def alloc(self, op: AllocOp) -> None:
        given = iter(op.sizes)
        shape = [self.value(next(given)) if n == DYNAMIC_INDEX else str(n) for n in op.buffer.type.get_shape()]
        dims = f"{', '.join(shape)}{',' if len(shape) == 1 else ''}"
        dtype = numpy_dtype(op.buffer.type.element_type)
        self.emit(f"{self.name(op.buffer)} = empty(({dims}), {dtype})  # {op.space.data}")

    def access(self, op: LoadOp | StoreOp) -> str:
        parts = [self.affine(e, op.indices) for e in op.map.data.results]
        if op.lanes > 1:
            at, step = op.lane_dim(), op.lane_step()
            start = parts[at]
            parts[at] = f"{start}:{start} + {op.lanes * step}" + (f":{step}" if step != 1 else "")
        return f"{self.value(op.buffer)}[{', '.join(parts) or '()'}]"

    def lanes(self, op: GatherOp | ScatterOp) -> str:
        return f"{self.value(op.buffer)}[{', '.join(self.value(s) for s in op.subscripts)}]"

    def masked(self, mask: SSAValue | None) -> str:
        return "" if mask is None else f"  # where {self.value(mask)}"

    # -- affine

    def subscripts(self, map: AffineMap, dims: Sequence[SSAValue]) -> str:
        return ", ".join(self.affine(e, dims) for e in map.results)

    def bound(self, word: str, map: AffineMap, dims: Sequence[SSAValue]) -> str:
        parts = [self.affine(e, dims) for e in map.results]
        return parts[0] if len(parts) == 1 else f"{word}({', '.join(parts)})"

    def affine(self, expr: AffineExpr, dims: Sequence[SSAValue]) -> str:
        form = linear_form(expr, len(dims))
        if form is not None:
            terms: list[str] = []
            for c, dim in zip(form[0], dims, strict=True):
                if c:
                    one = self.inner(dim) if abs(c) == 1 else f"{abs(c)} * {self.inner(dim)}"
                    terms.append(f"{'- ' if c < 0 else '+ ' if terms else ''}{one}")
            if form[1] or not terms:
                terms.append(f"{'- ' if form[1] < 0 else '+ ' if terms else ''}{abs(form[1])}")
            return " ".join(terms).replace("- ", "-", 1) if terms[0].startswith("- ") else " ".join(terms)
        assert isinstance(expr, AffineBinaryOpExpr)
        x, y = (f"({t})" if " " in (t := self.affine(e, dims)) else t for e in (expr.lhs, expr.rhs))
        if expr.kind == AffineBinaryOpKind.CeilDiv:
            return f"-(-{x} // {y})"
        return f"{x} {_AFFINE.get(expr.kind, '+')} {y}"


def _constant(value: Any) -> str:
    if isinstance(value, DenseIntOrFPElementsAttr):
        found = list(value.get_values())
        return repr(found[0]) if len(set(found)) == 1 else f"array({found})"
    number = value.value.data
    if str(getattr(value, "type", "")) == "i1":
        return str(bool(number))
    return repr(number)


def _closes_last(text: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return k == len(text) - 1
    return False


__all__ = ["kernel_as_python", "spell_affine", "spell_bound"]
