"""What this machine can do at most, measured: multiply-adds a second on one core, and memory traffic.

The limits of a roofline (Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009). Measured
with code of our own: chains of independent `llvm.fma` in registers; `a = b + s * c` over arrays larger than the caches.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from .compile import compile_object
from .jit import load_object
from .targets.host import host

_CHAINS = 24
_ROUNDS = 200_000


@cache
def peak_flops(element: str = "float") -> float:
    """Most floating-point operations a second on one core, an fma counting two. Takes about 50 ms.

    Args:
        element: `float` or `double`, as LLVM names them.
    """
    target = host()
    lanes = target.lanes(32 if element == "float" else 64)
    chains = _CHAINS if target.vector_registers > 16 else 12
    function = _load(_fma_text(element, lanes, chains), "f", ctypes.c_int64, ctypes.c_void_p)
    out = np.zeros(64, np.float64)
    best = float("inf")
    for _ in range(12):
        start = time.perf_counter()
        function(_ROUNDS, out.ctypes.data)
        best = min(best, time.perf_counter() - start)
    return 2.0 * chains * lanes * _ROUNDS / best


def _fma_text(element: str, lanes: int, chains: int) -> str:
    ty = f"<{lanes} x {element}>"
    mangled = f"v{lanes}f{32 if element == 'float' else 64}"
    lines = [f"declare {ty} @llvm.fma.{mangled}({ty}, {ty}, {ty})", "define void @f(i64 %n, ptr %out) {", "entry:"]
    lines += [f"  %a = load {ty}, ptr %out, align 4"]
    for k in range(chains):  # different starts: equal chains would be computed once
        lines += [f"  %p{k} = getelementptr {element}, ptr %out, i64 {k}", f"  %s{k} = load {ty}, ptr %p{k}, align 4"]
    lines += ["  br label %loop", "loop:", "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]"]
    lines += [f"  %x{k} = phi {ty} [ %s{k}, %entry ], [ %y{k}, %loop ]" for k in range(chains)]
    lines += [f"  %y{k} = call {ty} @llvm.fma.{mangled}({ty} %a, {ty} %a, {ty} %x{k})" for k in range(chains)]
    lines += ["  %j = add i64 %i, 1", "  %more = icmp slt i64 %j, %n", "  br i1 %more, label %loop, label %done", "done:"]
    total = "%y0"
    for k in range(1, chains):
        lines.append(f"  %t{k} = fadd {ty} {total}, %y{k}")
        total = f"%t{k}"
    lines += [f"  store {ty} {total}, ptr %out, align 4", "  ret void", "}"]
    return "\n".join(lines)


@cache
def triad_bytes() -> float:
    """Bytes a second that one core moves in `a[i] = b[i] + s * c[i]` over 64 MiB, 12 bytes an element. Takes about 0.2 s."""
    target = host()
    lanes = target.lanes(32)
    ty = f"<{lanes} x float>"
    text = f"""
define void @f(i64 %n, ptr noalias %a, ptr noalias %b, ptr noalias %c) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %pa = getelementptr float, ptr %a, i64 %i
  %x = load {ty}, ptr %pb, align 4
  %y = load {ty}, ptr %pc, align 4
  %s = fmul {ty} %y, splat (float 3.0)
  %z = fadd {ty} %x, %s
  store {ty} %z, ptr %pa, align 4
  %j = add i64 %i, {lanes}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
    function = _load(text, "f", ctypes.c_int64, *[ctypes.c_void_p] * 3)
    n = (64 << 20) // 12 // lanes * lanes
    arrays = [np.zeros(n, np.float32) for _ in range(3)]
    best = float("inf")
    for _ in range(6):
        start = time.perf_counter()
        function(n, *(array.ctypes.data for array in arrays))
        best = min(best, time.perf_counter() - start)
    return 12.0 * n / best


def _load(text: str, name: str, *arguments: type) -> Callable[..., None]:
    return load_object(compile_object(text, host()), [name]).function(name, None, *arguments)
