"""The costs of instructions: chains of them in registers, one for the latency, many side by side for the throughput."""

from __future__ import annotations

import ctypes
import time

import numpy as np

from ..compile import compile_object
from ..targets.base import Target
from ..thread_runtime import load_object

_STARTS = 64
"""Numbers that chains start with; each starts elsewhere, since equal chains would be computed once."""

_BODIES = {
    "fma": "call {ty} @llvm.fma.{mangled}({ty} %a, {ty} %a, {ty} %x{k})",
    "mul": "fmul {ty} %a, %x{k}",
    "div": "fdiv {ty} %a, %x{k}",
    "sqrt": "call {ty} @llvm.sqrt.{mangled}({ty} %p{k})",
}
"""From an instruction to LLVM IR of one link: `%x<k>` is the current value of the chain, `%a` a constant."""
_BEFORE = {"sqrt": "%p{k} = fadd {ty} %x{k}, %a"}  # roots of roots would come to 1, where some dividers stop early


def chains_text(op: str, element: str, lanes: int, chains: int) -> str:
    """LLVM IR of `@f(i64 n, ptr numbers)`: `n` times one link of each of some chains of an op."""
    ty = f"<{lanes} x {element}>"
    names = {"ty": ty, "mangled": f"v{lanes}f{32 if element == 'float' else 64}"}
    lines = [f"declare {ty} @llvm.{name}.{names['mangled']}({', '.join([ty] * n)})" for name, n in (("fma", 3), ("sqrt", 1))]
    lines += ["define void @f(i64 %n, ptr %out) {", "entry:", f"  %a = load {ty}, ptr %out, align 4"]
    for k in range(chains):
        lines += [f"  %o{k} = getelementptr {element}, ptr %out, i64 {k}", f"  %s{k} = load {ty}, ptr %o{k}, align 4"]
    lines += ["  br label %loop", "loop:", "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]"]
    lines += [f"  %x{k} = phi {ty} [ %s{k}, %entry ], [ %y{k}, %loop ]" for k in range(chains)]
    for k in range(chains):
        if op in _BEFORE:
            lines.append("  " + _BEFORE[op].format(k=k, **names))
        lines.append(f"  %y{k} = " + _BODIES[op].format(k=k, **names))
    lines += ["  %j = add i64 %i, 1", "  %more = icmp slt i64 %j, %n", "  br i1 %more, label %loop, label %done", "done:"]
    total = "%y0"
    for k in range(1, chains):
        lines.append(f"  %t{k} = fadd {ty} {total}, %y{k}")
        total = f"%t{k}"
    return "\n".join([*lines, f"  store {ty} {total}, ptr %out, align 4", "  ret void", "}"])


class ChainProbe:
    """Chains of an instruction on whole vectors of a target.

    Args:
        op: `fma`, `mul`, `div` or `sqrt`.
        element: `float` or `double`.
        target: whose vectors and instructions.
        chains: how many side by side; 1 measures the latency.
        rounds: links of a chain in one run, so many that the call is nothing beside them.
    """

    def __init__(self, op: str, element: str, target: Target, chains: int, rounds: int = 40_000):
        lanes = target.lanes(32 if element == "float" else 64)
        obj = compile_object(chains_text(op, element, lanes, chains), target)
        self._function = load_object(obj, ["f"]).function("f", None, ctypes.c_int64, ctypes.c_void_p)
        self._rounds, self.links = rounds, chains * rounds
        # no power of two, so that no divider has an easy time; about 1, so that multiplications stay in range
        self._numbers = (1 + np.arange(2 * _STARTS) * 1e-6 + 1e-7).astype(np.float32 if element == "float" else np.float64)

    def __call__(self) -> float:
        """Seconds a link takes, all chains counted; measured now, once."""
        out = self._numbers.copy()
        start = time.perf_counter()
        self._function(self._rounds, out.ctypes.data)
        return (time.perf_counter() - start) / self.links


def throughput_chains(target: Target) -> int:
    """How many chains hide the latency of an instruction and leave registers for shared operands."""
    return min(24, target.vector_registers - 4)
