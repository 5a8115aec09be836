"""LLVM IR as text: types that are their own spelling, a module that collects definitions, a builder that appends lines.

Building text costs about a microsecond an instruction; `llvmlite.ir` costs ten and lacks half of the language.
Values are plain strings (`%v7`, `0x3FF0000000000000`, `splat (float ...)`, `@table`): an operand never carries its
type, every method takes the type last.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property

OPTIMIZED = ' "lamina-optimize" "no-builtins"'
"""The attributes of a function that LLVM's own optimizations run over. It may not replace loops by calls of libc, which no
object of ours links."""

_FLOATS = {"half": "f16", "float": "f32", "double": "f64"}
_BITS = {"half": 16, "float": 32, "double": 64, "ptr": 64} | {f"i{n}": n for n in (1, 8, 16, 32, 64, 128)}


class Ty(str):
    """A first-class type, scalar (`lanes == 1`) or vector; as a string it is its LLVM spelling.

    Types are interned: equal types are the same object.

    >>> Ty("float", 8)
    '<8 x float>'
    >>> Ty("float", 8).int, Ty("float", 8).bool, Ty("float", 8).mangled
    ('<8 x i32>', '<8 x i1>', 'v8f32')
    """

    elem: str
    lanes: int
    bits: int
    is_float: bool
    mangled: str
    _interned: dict[tuple[str, int], Ty] = {}

    def __new__(cls, elem: str, lanes: int = 1) -> Ty:
        found = cls._interned.get((elem, lanes))
        if found is None:
            found = super().__new__(cls, elem if lanes == 1 else f"<{lanes} x {elem}>")
            found.elem, found.lanes, found.bits = elem, lanes, _BITS[elem]
            found.is_float = elem in _FLOATS
            short = "p0" if elem == "ptr" else _FLOATS.get(elem, elem)
            found.mangled = short if lanes == 1 else f"v{lanes}{short}"
            cls._interned[elem, lanes] = found
        return found

    @cached_property
    def int(self) -> Ty:
        """The integer type of the same width and lanes."""
        return Ty(f"i{self.bits}", self.lanes)

    @cached_property
    def bool(self) -> Ty:
        """The type of a comparison of two such values."""
        return Ty("i1", self.lanes)

    @cached_property
    def scalar(self) -> Ty:
        """The type of one lane."""
        return Ty(self.elem)

    def with_elem(self, elem: str) -> Ty:
        """Another element type, the same lanes."""
        return Ty(elem, self.lanes)

    def with_lanes(self, lanes: int) -> Ty:
        """The same element type, other lanes."""
        return Ty(self.elem, lanes)


PTR, I1, I8, I16, I32, I64, I128 = Ty("ptr"), Ty("i1"), Ty("i8"), Ty("i16"), Ty("i32"), Ty("i64"), Ty("i128")
F32, F64 = Ty("float"), Ty("double")

_constants: dict[tuple[object, Ty], str] = {}


def const(value: float | int | bool, ty: Ty) -> str:
    """A constant operand, splat over the lanes: floats as exact bits, integers as signed decimals.

    A float constant of type `float` is rounded to nearest first.

    >>> const(1.0, Ty("float", 4)), const(0.1, Ty("float")), const(0xFFFFFFFF, Ty("i32"))
    ('splat (float 0x3FF0000000000000)', '0x3FB99999A0000000', '-1')
    """
    if value and value == value:  # neither a zero (0.0 and -0.0 compare equal) nor a NaN: safe as a key
        found = _constants.get((value, ty))
        if found is None:
            found = _constants[value, ty] = _constant_text(value, ty)
        return found
    return _constant_text(value, ty)


def _constant_text(value: float | int | bool, ty: Ty) -> str:
    if ty.is_float:
        value = float(value)
        if ty.elem == "float":
            value = _to_single(value)
        text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    elif ty.elem == "i1":
        text = "true" if value else "false"
    else:
        half = 1 << (ty.bits - 1)
        text = str((int(value) + half) % (2 * half) - half)
    return text if ty.lanes == 1 else f"splat ({ty.elem} {text})"


def _to_single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class Module:
    """The shared parts of functions: declarations, constant tables, helper functions; each is kept once.

    `has_fma` says whether the target multiplies and adds in one rounding without calling a library, `has_avx512` whether it
    has the instructions of AVX-512 for vectors of any width.
    """

    def __init__(self, has_fma: bool = True, has_avx512: bool = False):
        self.has_fma, self.has_avx512 = has_fma, has_avx512
        self.declarations: dict[str, str] = {}
        self.globals: dict[Hashable, tuple[str, str]] = {}
        self.functions: dict[str, str] = {}

    def declare(self, name: str, result: str, arguments: Iterable[str], attributes: str = "") -> str:
        """Declare external function `name` (without the `@`) and return it as an operand."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(arguments)}){attributes}"
        return f"@{name}"

    def table(self, name: str, ty: Ty, values: Iterable[float | int]) -> str:
        """A private constant array; the first definition of `name` counts."""
        if name not in self.globals:
            items = ", ".join(f"{ty} {const(v, ty)}" for v in values)
            count = items.count(",") + 1
            text = f"@{name} = private unnamed_addr constant [{count} x {ty}] [{items}], align 64"
            self.globals[name] = (f"@{name}", text)
        return self.globals[name][0]

    def helper(self, name: str, define: Callable[[Builder], str]) -> str:
        """An internal function, written by `define` on its first use.

        `define` receives a fresh builder, fills in the body, and returns the header that goes between `internal` and
        the opening brace, such as `double @name(double %x) noinline cold`.
        """
        if name not in self.functions:
            self.functions[name] = ""  # reserved, also while the body refers to itself
            inner = Builder(self)
            header = define(inner)
            self.functions[name] = f"define internal {header} {{\n{inner.text()}\n}}"
        return f"@{name}"

    def text(self, beside: str | None = None) -> str:
        """All module-level definitions, or those that the text of some functions needs, to stand beside it."""
        parts = [*(text for _, text in self.globals.values()), *self.functions.values()]
        if beside is not None:
            parts = _needed(parts, beside)
        return "\n".join([*parts, *self.declarations.values()]) + "\n"


def _needed(definitions: Sequence[str], text: str) -> list[str]:
    """The definitions that a text uses, and those that these use."""
    needed: list[str] = []
    waiting, rest = [text], list(definitions)
    while waiting:
        user = waiting.pop()
        found = [one for one in rest if re.search(re.escape(_DEFINED.findall(one)[0]) + r"\b", user)]
        rest = [one for one in rest if one not in found]
        needed += found
        waiting += found
    return needed


_DEFINED = re.compile(r"@[\w.$-]+")


class Builder:
    """Appends the instructions of one function body.

    `block` is the label of the block being filled: a phi elsewhere names it, since a math function may end the block
    it was called in and continue in a new one.
    """

    def __init__(self, module: Module | None = None, has_fma: bool = True):
        self.module = Module(has_fma) if module is None else module
        self.has_fma = self.module.has_fma
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0
        self._labels = 0

    # Raw text

    def name(self) -> str:
        """A fresh value name."""
        self._count += 1
        return f"%v{self._count}"

    def emit(self, text: str) -> str:
        """Append `%vN = text`; the name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def emit_void(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append("  " + text)

    def text(self) -> str:
        """The body so far; the entry block has no label unless `label` was called first."""
        return "\n".join(self.lines)

    # Blocks

    def fresh_label(self, hint: str = "bb") -> str:
        """A label not used before in this function; place it with `label`."""
        self._labels += 1
        return f"{hint}.{self._labels}"

    def label(self, name: str) -> None:
        """Begin block `name`."""
        self.lines.append(f"{name}:")
        self.block = name

    def br(self, target: str) -> None:
        self.lines.append(f"  br label %{target}")

    def cond_br(self, condition: str, then: str, otherwise: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{otherwise}")

    def phi(self, ty: str, *incoming: tuple[str, str]) -> str:
        """Incoming pairs are (value, label)."""
        return self.emit(f"phi {ty} " + ", ".join(f"[ {v}, %{block} ]" for v, block in incoming))

    def ret(self, value: str | None = None, ty: str = "void") -> None:
        self.lines.append("  ret void" if value is None else f"  ret {ty} {value}")

    # Constants

    def const(self, value: float | int | bool, ty: Ty) -> str:
        return const(value, ty)

    # Arithmetic

    def fadd(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"fadd {ty} {x}, {y}")

    def fsub(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"fsub {ty} {x}, {y}")

    def fmul(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"fmul {ty} {x}, {y}")

    def fdiv(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"fdiv {ty} {x}, {y}")

    def fneg(self, x: str, ty: Ty) -> str:
        return self.emit(f"fneg {ty} {x}")

    def fma(self, x: str, y: str, z: str, ty: Ty) -> str:
        """`x * y + z`: one rounding where the target has it, else two."""
        if self.has_fma:
            callee = f"llvm.fma.{ty.mangled}"
            if callee not in self.module.declarations:
                self.module.declare(callee, ty, (ty, ty, ty))
            return self.emit(f"call {ty} @{callee}({ty} {x}, {ty} {y}, {ty} {z})")
        return self.fadd(self.fmul(x, y, ty), z, ty)

    def add(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"add {ty} {x}, {y}")

    def sub(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"sub {ty} {x}, {y}")

    def mul(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"mul {ty} {x}, {y}")

    def and_(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"and {ty} {x}, {y}")

    def or_(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"or {ty} {x}, {y}")

    def xor(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"xor {ty} {x}, {y}")

    def shl(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"shl {ty} {x}, {y}")

    def lshr(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"lshr {ty} {x}, {y}")

    def ashr(self, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"ashr {ty} {x}, {y}")

    def binary(self, opcode: str, x: str, y: str, ty: Ty) -> str:
        """Any two-operand instruction by its opcode with flags, such as `sdiv` or `add nsw`."""
        return self.emit(f"{opcode} {ty} {x}, {y}")

    # Comparison and choice

    def icmp(self, predicate: str, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"icmp {predicate} {ty} {x}, {y}")

    def fcmp(self, predicate: str, x: str, y: str, ty: Ty) -> str:
        return self.emit(f"fcmp {predicate} {ty} {x}, {y}")

    def select(self, condition: str, x: str, y: str, ty: Ty) -> str:
        """`condition` has as many lanes as `ty`; for a scalar choice between vectors use `emit`."""
        return self.emit(f"select {ty.bool} {condition}, {ty} {x}, {ty} {y}")

    # Conversion

    def cast(self, opcode: str, x: str, source: Ty, target: Ty) -> str:
        """`bitcast`, `sitofp`, `fptosi`, `fpext`, `fptrunc`, `zext`, `sext`, `trunc`, ..."""
        return self.emit(f"{opcode} {source} {x} to {target}")

    def bitcast(self, x: str, source: Ty, target: Ty) -> str:
        return self.emit(f"bitcast {source} {x} to {target}")

    # Vectors

    def scale(self, x: str, n: str, ty: Ty) -> str:
        """`x * 2^n`, rounded once, for floats `n` that are integers: vectors of whole registers where `has_avx512`."""
        native = min(ty.lanes, 512 // ty.bits)
        pieces: list[str] = []
        for start in range(0, ty.lanes, native):
            of_x, of_n = (self.slice(v, start, native, ty) for v in (x, n))
            pieces.append(self._scale_register(of_x, of_n, ty.with_lanes(native)))
        return self.joined(pieces, ty.with_lanes(native))

    def _scale_register(self, x: str, n: str, ty: Ty) -> str:
        width = ty.lanes * ty.bits
        mask, rounding = Ty(f"i{max(8, ty.lanes)}"), [("i32", "4")] if width == 512 else []  # 4: as the thread rounds
        arguments = [(ty, x), (ty, n), (ty, "zeroinitializer"), (mask, "-1"), *rounding]
        name = f"llvm.x86.avx512.mask.scalef.{'ps' if ty.bits == 32 else 'pd'}.{width}"
        return self.call(self.module.declare(name, ty, [kind for kind, _ in arguments]), ty, *arguments)

    def slice(self, x: str, start: int, count: int, ty: Ty) -> str:
        """Some neighbouring lanes of a vector, as a vector."""
        if count == ty.lanes:
            return x
        lanes = ", ".join([f"i32 {start + k}" for k in range(count)])
        return self.emit(f"shufflevector {ty} {x}, {ty} poison, <{count} x i32> <{lanes}>")

    def joined(self, pieces: Sequence[str], ty: Ty) -> str:
        """The lanes of vectors of one type, of which there are a power of two, as one vector."""
        while len(pieces) > 1:
            lanes = ", ".join([f"i32 {k}" for k in range(2 * ty.lanes)])
            text = f"<{2 * ty.lanes} x i32> <{lanes}>"
            pieces = [
                self.emit(f"shufflevector {ty} {x}, {ty} {y}, {text}") for x, y in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            ty = ty.with_lanes(2 * ty.lanes)
        return pieces[0]

    def splat(self, x: str, ty: Ty) -> str:
        """Scalar value `x` in every lane of `ty`."""
        if ty.lanes == 1:
            return x
        one = self.emit(f"insertelement {ty} poison, {ty.elem} {x}, i64 0")
        return self.emit(f"shufflevector {ty} {one}, {ty} poison, <{ty.lanes} x i32> zeroinitializer")

    def extract(self, x: str, lane: int | str, ty: Ty) -> str:
        return self.emit(f"extractelement {ty} {x}, i64 {lane}")

    def insert(self, x: str, value: str, lane: int | str, ty: Ty) -> str:
        return self.emit(f"insertelement {ty} {x}, {ty.elem} {value}, i64 {lane}")

    def any(self, mask: str, ty: Ty) -> str:
        """Whether any lane of an `i1` vector is true, as a scalar `i1`."""
        if ty.lanes == 1:
            return mask
        callee = self.module.declare(f"llvm.vector.reduce.or.{ty.bool.mangled}", "i1", (ty.bool,))
        return self.emit(f"call i1 {callee}({ty.bool} {mask})")

    # Memory

    def load(self, pointer: str, ty: Ty, align: int = 0, suffix: str = "") -> str:
        return self.emit(f"load {ty}, ptr {pointer}{f', align {align}' if align else ''}{suffix}")

    def store(self, value: str, pointer: str, ty: Ty, align: int = 0, suffix: str = "") -> None:
        self.lines.append(f"  store {ty} {value}, ptr {pointer}{f', align {align}' if align else ''}{suffix}")

    def gep(self, pointer: str, index: str, elem: str, flags: str = " inbounds") -> str:
        """The address of element `index` (i64) of an array of `elem` at `pointer`."""
        return self.emit(f"getelementptr{flags} {elem}, ptr {pointer}, i64 {index}")

    # Calls

    def intrinsic(self, name: str, ty: Ty, *operands: str) -> str:
        """`llvm.<name>.<ty>` whose operands and result all have type `ty`."""
        callee = f"llvm.{name}.{ty.mangled}"
        if callee not in self.module.declarations:
            self.module.declare(callee, ty, [ty] * len(operands))
        return self.emit(f"call {ty} @{callee}({', '.join([f'{ty} {x}' for x in operands])})")

    def call(self, callee: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call `callee` (with its `@`); arguments are (type, value). A `void` result has an empty name."""
        text = f"call {result} {callee}({', '.join([f'{ty} {x}' for ty, x in arguments])})"
        if result == "void":
            self.emit_void(text)
            return ""
        return self.emit(text)
