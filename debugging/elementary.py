"""Elementary functions in machine code, each by itself, at points of every magnitude.

The condition of a program hides a constant that is slightly wrong: `exp(x)` may err by as many units as `x` is large, since `x`
itself is rounded. A function alone has exact arguments, and promises its error (`lowering/llvm/math`); so the functions that a
module calls are compiled as loops over points and compared with NumPy's, in higher precision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, VectorType

from ..codegen.compile import compile_object
from ..codegen.targets import Target
from ..codegen.text import Builder, Module, Ty
from ..codegen.thread_runtime import load_object
from ..dialects.functions import FUNCTIONS as ROWS
from ..dialects.graph.base import OPS
from ..dialects.types import numpy_dtype
from ..lowering.llvm.math import FUNCTIONS

ULPS = 4.0
"""The most that a function may be off, in units in the last place; one more than the largest error that any promises."""

ROUGH_ULPS = 64.0
"""The same where NumPy has no wider type and its own error counts."""

_MEANINGS: dict[str, Callable[..., Any]] = {
    **{row.op.name: OPS[name].numpy for name, row in ROWS.items()},
    "math.exp2": np.exp2,
    "math.powf": np.power,
}
_ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_MAX_LANES = 16

Function = tuple[str, np.dtype[Any]]
"""The name of an op, and the type of its elements."""


def called(module: ModuleOp) -> dict[Function, int]:
    """The functions that a module calls, each with the largest number of lanes, a power of 2."""
    found: dict[Function, int] = {}
    for op in module.walk():
        if op.name.rpartition(".")[2] in FUNCTIONS and op.name in _MEANINGS:
            type: Any = op.results[0].type
            lanes = 1
            if isinstance(type, VectorType):
                lanes, type = min(_MAX_LANES, type.get_shape()[-1]), type.element_type
                lanes = 1 << (lanes.bit_length() - 1)  # others have gaps between vectors in memory
            if (dtype := numpy_dtype(type)) in _ELEMENTS:
                key = op.name, dtype
                found[key] = max(found.get(key, 1), lanes)
    return found


def wrong_function(module: ModuleOp, target: Target) -> str | None:
    """What is wrong with the first function of a module that does not keep its promise, in words; None: all do."""
    functions = called(module)
    if not functions:
        return None
    module_text = Module(target.has_fma, target.has_avx512)
    texts = [
        _loop(module_text, f"check{k}", op.rpartition(".")[2], Ty(_ELEMENTS[dtype], lanes), _arity(op))
        for k, ((op, dtype), lanes) in enumerate(functions.items())
    ]
    text = "\n\n".join(texts) + "\n\n" + module_text.text()
    library = load_object(compile_object(text, target), [f"check{k}" for k in range(len(texts))])
    for k, ((op, dtype), lanes) in enumerate(functions.items()):
        points = _points(op, dtype)
        got = np.empty_like(points[0])
        words = [x.ctypes.data for x in (points[0], points[-1], got)]
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(library.address(f"check{k}"))
        call(*words, got.size // lanes)
        n = got.size // lanes * lanes
        if (said := _difference(op, dtype, [x[:n] for x in points], got[:n])) is not None:
            return said
    return None


def _arity(op: str) -> int:
    return 2 if op in ("math.powf", "math.atan2") else 1


def _loop(module: Module, symbol: str, name: str, ty: Ty, arity: int) -> str:
    """`void @symbol(ptr x, ptr y, ptr out, i64 vectors)`."""
    b = Builder(module)
    b.br("loop")
    b.label("loop")
    index, following, at = b.name(), b.name(), len(b.lines)
    operands = [b.load(b.gep(p, index, ty), ty, align=4) for p in ("%x", "%y")[:arity]]
    b.store(FUNCTIONS[name](b, *operands, ty), b.gep("%out", index, ty), ty, align=4)
    b.lines.insert(at, f"  {index} = phi i64 [ 0, %entry ], [ {following}, %{b.block} ]")
    b.lines.append(f"  {following} = add i64 {index}, 1")
    b.cond_br(b.icmp("ult", following, "%vectors", Ty("i64")), "loop", "done")
    b.label("done")
    b.ret()
    return f"define void @{symbol}(ptr %x, ptr %y, ptr %out, i64 %vectors) {{\nentry:\n{b.text()}\n}}"


def _points(op: str, dtype: np.dtype[Any]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    largest = float(np.log(np.finfo(dtype).max))  # the argument at which exp overflows
    parts = [rng.uniform(-span, span, 1024) for span in (1.5, 8.0, largest)]
    bits = np.dtype(f"i{dtype.itemsize}")
    info = np.iinfo(bits)
    every = rng.integers(info.min, info.max, 1024, bits).view(dtype)  # uniform over exponents
    x = np.concatenate([part.astype(dtype) for part in (*parts, every)])
    return (x,) if _arity(op) == 1 else (np.abs(x), rng.permutation(x))


@np.errstate(all="ignore")
def _difference(op: str, dtype: np.dtype[Any], points: list[np.ndarray], got: np.ndarray) -> str | None:
    wide = np.dtype(np.float64 if dtype == np.float32 else np.longdouble)
    facts = np.finfo(dtype)
    exact = np.asarray(_MEANINGS[op](*[x.astype(wide) for x in points]))
    # where results are denormal or vanish, functions may flush them; near overflow a rounding decides
    plain = np.isfinite(exact) & (np.abs(exact) >= 8 * facts.tiny) & (np.abs(exact) <= facts.max / 8)
    ulps = np.abs(got.astype(exact.dtype) - exact) / np.spacing(np.abs(exact.astype(dtype))).astype(exact.dtype)
    bound = ULPS if facts.eps > 8 * np.finfo(exact.dtype).eps else ROUGH_ULPS
    wrong = plain & ~(ulps <= bound)
    if not wrong.any():
        return None
    k = int(np.argmax(np.where(wrong, np.where(np.isnan(ulps), np.inf, ulps), 0)))
    shown = ", ".join(repr(x[k].item()) for x in points)
    return (
        f"'{op}' of {dtype} at {shown} is {got[k].item()!r}, {float(ulps[k]):.3g} units in the last place from "
        f"{float(exact[k])!r}; it promises less than {ULPS:g}"
    )
