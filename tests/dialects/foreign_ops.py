"""Upstream's ops in generic syntax, right and wrong: what their verifiers are compared with upstream's on.

`cases()` has each op of `BASE` as it is right, and with one thing changed: the type of an operand or a result, or of all that
have one type, a property, the number of operands or results.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

TYPES = (
    *("i1", "i8", "i32", "i64", "index", "f16", "bf16", "f32", "f64", "complex<f32>", "vector<4xf32>", "vector<8xf32>"),
    *("vector<4xf64>", "vector<4xi32>", "vector<4xi8>", "vector<4xi1>", "vector<8xi1>", "vector<4xindex>", "vector<2x4xf32>"),
    *("vector<4x1xf32>", "vector<1xf32>", "vector<[4]xf32>", "tensor<4xf32>", "tensor<4xi32>", "tensor<?xf32>", "tensor<4xi1>"),
    *(
        "memref<4xf32>",
        "memref<4xi32>",
        "memref<?xf32>",
        "memref<4x8xf32>",
        "memref<4x8xf32, strided<[16, 1]>>",
        "memref<64xi8>",
    ),
    *("memref<f32>", "memref<4xf32, 1>", "none", "vector<4xbf16>"),
)
"""What a type is changed to."""


@dataclass(frozen=True)
class Case:
    """An op, `{attributes}` in the text standing for what `<{...}>` holds, with the ops around it if it needs any."""

    name: str
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    properties: str = ""
    regions: str = ""
    """Regions, or successors in brackets."""
    around: str = "{}"
    """The module, `{}` standing for the function that has the op."""
    body: str = "{}"
    """The block of the function, `{}` standing for the op."""
    extra: tuple[str, ...] = ()
    """Types of further arguments of the function, `%b0`, `%b1` ..., which regions use."""
    gives: str = ""
    """The type of the function's result."""
    change: str = "as it is"

    def text(self) -> str:
        """The module."""
        named = [f"%a{k}: {type}" for k, type in enumerate(self.operands)]
        arguments = ", ".join(named + [f"%b{k}: {type}" for k, type in enumerate(self.extra)])
        values = ", ".join(f"%a{k}" for k in range(len(self.operands)))
        bound = f"%r:{len(self.results)} = " if self.results else ""
        properties = f" <{{{self.properties}}}>" if self.properties else ""
        successors = self.regions if self.regions.startswith("[") else ""
        regions = f" ({self.regions})" if self.regions and not successors else ""
        signature = f"({', '.join(self.operands)}) -> ({', '.join(self.results)})"
        op = f'{bound}"{self.name}"({values}){successors}{properties}{regions} : {signature}'
        inside = self.body.replace("{}", op) if self.body != "{}" or self.gives else f"{op}\n  return"
        result = f" -> {self.gives}" if self.gives else ""
        return self.around.replace("{}", f"func.func @test({arguments}){result} {{\n  {inside}\n}}") + "\n"


def _simple(operands: str, results: str, names: str, properties: str = "", dialect: str = "arith") -> list[Case]:
    def split(types: str) -> tuple[str, ...]:
        return tuple(re.split(r"(?<!,) +", types)) if types else ()

    return [Case(f"{dialect}.{name}", split(operands), split(results), properties) for name in names.split()]


_FLOATS = "addf subf mulf divf maximumf minimumf maxnumf minnumf remf"
_INTEGERS = (
    "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui andi ori xori shli shrsi shrui "
    "maxsi maxui minsi minui"
)
_UNARY = (
    "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 round "
    "roundeven rsqrt sin sinh sqrt tan tanh trunc"
)
_LOOP = "{\n^bb0(%i: index):\n  scf.yield\n}"
_GLOBAL = (
    '"memref.global"() <{sym_name = "g", sym_visibility = "private", type = memref<4xf32>, '
    "initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()\n{}"
)
_TRANSFER = "in_bounds = [true], permutation_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: {}>"
_CALLEE = "func.func private @callee(f32, i32) -> f32\n{}"

BASE: tuple[Case, ...] = (
    *_simple("f32 f32", "f32", _FLOATS),
    *_simple("vector<4xf32> vector<4xf32>", "vector<4xf32>", "addf maximumf"),
    *_simple("i32 i32", "i32", _INTEGERS),
    *_simple("vector<4xi32> vector<4xi32>", "vector<4xi32>", "addi shli divsi"),
    *_simple("i32 i32", "i32 i1", "addui_extended"),
    *_simple("i32 i32", "i32 i32", "mulsi_extended mului_extended"),
    *_simple("f32", "f32", "negf"),
    *_simple("i8", "i32", "extsi extui"),
    *_simple("i32", "i8", "trunci"),
    *_simple("f32", "f64", "extf"),
    *_simple("f64", "f32", "truncf"),
    *_simple("vector<4xi8>", "vector<4xi32>", "extsi"),
    *_simple("vector<4xf64>", "vector<4xf32>", "truncf"),
    *_simple("i32", "f32", "sitofp uitofp bitcast"),
    *_simple("f32", "i32", "fptosi fptoui"),
    *_simple("index", "i32", "index_cast"),
    *_simple("i1 f32 f32", "f32", "select"),
    *_simple("vector<4xi1> vector<4xf32> vector<4xf32>", "vector<4xf32>", "select"),
    *_simple("i32 i32", "i1", "cmpi", "predicate = 2 : i64"),
    *_simple("vector<4xf32> vector<4xf32>", "vector<4xi1>", "cmpf", "predicate = 4 : i64"),
    *_simple("", "f32", "constant", "value = 1.0 : f32"),
    *_simple("", "tensor<4xf32>", "constant", "value = dense<1.0> : tensor<4xf32>"),
    *_simple("f32", "f32", _UNARY, dialect="math"),
    *_simple("vector<4xf32>", "vector<4xf32>", "exp absf", dialect="math"),
    *_simple("i32", "i32", "absi ctlz cttz ctpop", dialect="math"),
    *_simple("f32 f32", "f32", "atan2 copysign powf", dialect="math"),
    *_simple("f32 i32", "f32", "fpowi", dialect="math"),
    *_simple("i32 i32", "i32", "ipowi", dialect="math"),
    *_simple("f32 f32 f32", "f32", "fma", dialect="math"),
    *_simple("f32", "vector<4xf32>", "broadcast", dialect="vector"),
    *_simple("vector<4xf32>", "vector<2x4xf32>", "broadcast", dialect="vector"),
    *_simple("vector<4xf32>", "vector<4xi32>", "bitcast", dialect="vector"),
    *_simple("index", "vector<4xi1>", "create_mask", dialect="vector"),
    *_simple("", "vector<4xindex>", "step", dialect="vector"),
    *_simple("vector<4xf32>", "f32", "extract", "static_position = array<i64: 1>", dialect="vector"),
    *_simple("vector<2x4xf32>", "vector<4xf32>", "extract", "static_position = array<i64: 1>", dialect="vector"),
    *_simple("f32 vector<4xf32>", "vector<4xf32>", "insert", "static_position = array<i64: 1>", dialect="vector"),
    *_simple("vector<4xf32> vector<4xf32> vector<4xf32>", "vector<4xf32>", "fma", dialect="vector"),
    *_simple("vector<4xf32>", "f32", "reduction", "kind = #vector.kind<add>", dialect="vector"),
    *_simple("vector<4xi32> i32", "i32", "reduction", "kind = #vector.kind<and>", dialect="vector"),
    *_simple("vector<4xf32>", "f32", "reduction", "kind = #vector.kind<maximumf>", dialect="vector"),
    *_simple("vector<4xi32>", "i32", "reduction", "kind = #vector.kind<maxsi>", dialect="vector"),
    *_simple("vector<4xf32> vector<4xf32>", "vector<4xf32>", "shuffle", "mask = array<i64: 0, 1, 6, 7>", dialect="vector"),
    *_simple("memref<4x8xf32> index index", "vector<4xf32>", "load", dialect="vector"),
    *_simple("vector<4xf32> memref<4x8xf32> index index", "", "store", dialect="vector"),
    *_simple("memref<4xf32> index vector<4xi1> vector<4xf32>", "vector<4xf32>", "maskedload", dialect="vector"),
    *_simple("memref<4xf32> index vector<4xi1> vector<4xf32>", "", "maskedstore", dialect="vector"),
    *_simple("", "memref<4xf32>", "alloc alloca", "operandSegmentSizes = array<i32: 0, 0>", dialect="memref"),
    *_simple("index", "memref<?xf32>", "alloc alloca", "operandSegmentSizes = array<i32: 1, 0>", dialect="memref"),
    *_simple("memref<4xf32>", "", "dealloc", dialect="memref"),
    *_simple("memref<4x8xf32> index index", "f32", "load", dialect="memref"),
    *_simple("f32 memref<4x8xf32> index index", "", "store", dialect="memref"),
    *_simple("memref<4x8xf32> index", "index", "dim", dialect="memref"),
    *_simple("memref<4x8xf32>", "index", "rank extract_aligned_pointer_as_index", dialect="memref"),
    *_simple("memref<4xf32> memref<4xf32>", "", "copy", dialect="memref"),
    *_simple("memref<4xf32>", "memref<?xf32>", "cast", dialect="memref"),
    *_simple("memref<4xf32>", "memref<4xf32, 1>", "memory_space_cast", dialect="memref"),
    *_simple("memref<64xi8> index", "memref<4xf32>", "view", dialect="memref"),
    *_simple("f32 memref<4xf32> index", "f32", "atomic_rmw", "kind = 0 : i64", dialect="memref"),
    Case(
        "memref.subview",
        ("memref<4x8xf32>",),
        ("memref<2x4xf32, strided<[8, 1], offset: 9>>",),
        "operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 1, 1>, static_sizes = array<i64: 2, 4>, "
        "static_strides = array<i64: 1, 1>",
    ),
    Case(
        "memref.reinterpret_cast",
        ("memref<64xf32>",),
        ("memref<4x8xf32, strided<[8, 1], offset: 0>>",),
        "operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 4, 8>, "
        "static_strides = array<i64: 8, 1>",
    ),
    Case("memref.collapse_shape", ("memref<4x8xf32>",), ("memref<32xf32>",), "reassociation = [[0 : i64, 1 : i64]]"),
    Case(
        "memref.expand_shape",
        ("memref<32xf32>",),
        ("memref<4x8xf32>",),
        "reassociation = [[0 : i64, 1 : i64]], static_output_shape = array<i64: 4, 8>",
    ),
    Case("memref.get_global", (), ("memref<4xf32>",), "name = @g", around=_GLOBAL),
    Case("func.call", ("f32", "i32"), ("f32",), "callee = @callee", around=_CALLEE),
    Case("scf.for", ("index", "index", "index"), (), "", _LOOP),
    Case("scf.for", ("index", "index", "index", "f32"), ("f32",), "", "{\n^bb0(%i: index, %c: f32):\n  scf.yield %c : f32\n}"),
    Case("scf.if", ("i1",), (), "", "{\n  scf.yield\n}, {\n}"),
    Case("scf.if", ("i1",), ("f32",), "", "{\n  scf.yield %b0 : f32\n}, {\n  scf.yield %b0 : f32\n}", extra=("f32",)),
    Case(
        "scf.while",
        ("f32",),
        ("f32",),
        "",
        "{\n^bb0(%c: f32):\n  scf.condition(%b0) %c : f32\n}, {\n^bb0(%d: f32):\n  scf.yield %d : f32\n}",
        extra=("i1",),
    ),
    Case("scf.execute_region", (), ("f32",), "", "{\n  scf.yield %b0 : f32\n}", extra=("f32",)),
    Case(
        "scf.index_switch",
        ("index",),
        ("f32",),
        "cases = array<i64: 2>",
        "{\n  scf.yield %b0 : f32\n}, {\n  scf.yield %b0 : f32\n}",
        extra=("f32",),
    ),
    Case(
        "scf.parallel",
        ("index", "index", "index"),
        (),
        "operandSegmentSizes = array<i32: 1, 1, 1, 0>",
        "{\n^bb0(%i: index):\n  scf.reduce\n}",
    ),
    Case("cf.assert", ("i1",), (), 'msg = "no"'),
    Case("cf.br", ("f32",), (), regions="[^next]", body="{}\n^next(%x: f32):\n  return"),
    Case("func.return", ("f32",), (), body="{}", gives="f32"),
    *_simple("memref<4xf32> index f32", "vector<4xf32>", "transfer_read", _TRANSFER.format("1, 1, 1, 0"), dialect="vector"),
    *_simple("vector<4xf32> memref<4xf32> index", "", "transfer_write", _TRANSFER.format("1, 1, 1, 0"), dialect="vector"),
    Case(
        "cf.cond_br",
        ("i1", "f32", "f32"),
        (),
        "operandSegmentSizes = array<i32: 1, 1, 1>",
        "[^next, ^next]",
        body="{}\n^next(%x: f32):\n  return",
    ),
)


def _replaced(types: tuple[str, ...], at: int, type: str) -> tuple[str, ...]:
    return (*types[:at], type, *types[at + 1 :])


def changed(case: Case) -> Iterator[Case]:
    """A case with one thing changed."""
    for field in ("operands", "results"):
        types: tuple[str, ...] = getattr(case, field)
        for at in range(len(types)):
            for type in TYPES:
                if type != types[at]:
                    yield replace(case, **{field: _replaced(types, at, type)}, change=f"{field} {at}: {type}")
        if types:
            yield replace(case, **{field: types[:-1]}, change=f"{field}: one less")
            yield replace(case, **{field: (*types, types[-1])}, change=f"{field}: one more")
        yield replace(case, **{field: (*types, "i32")}, change=f"{field}: one more i32")
    both = {*case.operands, *case.results}
    for old in sorted(both):
        for type in TYPES:
            new = {
                field: tuple(type if one == old else one for one in getattr(case, field)) for field in ("operands", "results")
            }
            yield replace(case, **new, change=f"{old}: {type}")
    for found in re.finditer(r"-?\d+(?= : i64|[,>\]])", case.properties):
        for number in ("-1", "0", "1", "2", "3", "4", "7", "8", "9", "100", "-9223372036854775808"):
            text = f"{case.properties[: found.start()]}{number}{case.properties[found.end() :]}"
            yield replace(case, properties=text, change=f"properties: {text}")
    for part in re.split(r", (?=[a-z]\w+ = )", case.properties) if case.properties else ():
        rest = ", ".join(p for p in re.split(r", (?=[a-z]\w+ = )", case.properties) if p != part)
        yield replace(case, properties=rest, change=f"properties: no {part}")
        name = part.partition(" = ")[0]
        for value in ("unit", "7 : i32", '"text"', "array<i64: 0>", "array<i64>", "[0 : i64]", "@other"):
            text = ", ".join(p for p in (rest, f"{name} = {value}") if p)
            yield replace(case, properties=text, change=f"properties: {name} = {value}")
    for kind in (
        "add",
        "mul",
        "minui",
        "minsi",
        "minnumf",
        "maxui",
        "maxsi",
        "maxnumf",
        "and",
        "or",
        "xor",
        "maximumf",
        "minimumf",
    ):
        if "#vector.kind" in case.properties:
            yield replace(case, properties=f"kind = #vector.kind<{kind}>", change=f"kind {kind}")


@cache
def cases() -> tuple[Case, ...]:
    """All cases, no text twice."""
    found: dict[str, Case] = {}
    for base in BASE:
        for case in (base, *changed(base)):
            found.setdefault(case.text(), case)
    return tuple(found.values())


CRASH = "upstream crashes"


def upstream(mlir_opt: str, texts: Sequence[str], *options: str) -> list[str | None]:
    """What upstream says of each text: its first error, or None; `CRASH` where it ends by a signal."""
    separator = "// -----\n"
    starts = list(accumulate((text.count("\n") + 1 for text in texts), initial=1))
    command = [mlir_opt, "--split-input-file", "-o", "/dev/null", *options]
    done = subprocess.run(command, input=separator.join(texts), capture_output=True, text=True, timeout=300)
    if done.returncode < 0:
        middle = len(texts) // 2
        return (
            upstream(mlir_opt, texts[:middle], *options) + upstream(mlir_opt, texts[middle:], *options) if middle else [CRASH]
        )
    said: list[str | None] = [None] * len(texts)
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", done.stderr, re.M):
        k = bisect_right(starts, int(line)) - 1
        said[k] = said[k] or message
    return said
