"""Compiles elementary functions to loops over arrays, measures their errors in ulp and their speed.

python tests/lowering/llvm/mathbench.py [name ...]      the table of errors, speeds and instruction counts
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm
import mpmath
import numpy as np
from lamina.codegen.text import Builder, Module, Ty
from lamina.lowering.llvm.math import FUNCTIONS

BINARY = ("powf", "atan2")
ELEM = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


@cache
def _target_machine(features: str):
    target = llvm.Target.from_default_triple()
    cpu = llvm.get_host_cpu_name() if features == "host" else "x86-64-v3" if features == "avx2" else "generic"
    flags = llvm.get_host_cpu_features().flatten() if features == "host" else ""
    return target.create_target_machine(cpu=cpu, features=flags, opt=2, reloc="pic", codemodel="small")


def kernel_text(name: str, elem: str, lanes: int, has_fma: bool = True, has_avx512: bool = False) -> tuple[str, int]:
    """`void @k(ptr x, ptr y, ptr out, i64 vectors)`, and how many instructions the function itself took."""
    module = Module(has_fma, has_avx512)
    b, ty = Builder(module), Ty(elem, lanes)
    b.br("loop")
    b.label("loop")
    index, following = b.name(), b.name()
    at = len(b.lines)
    operands = [b.load(b.gep(p, index, ty), ty, align=8) for p in ("%x", "%y")[: 1 + (name in BINARY)]]
    before = len(b.lines)
    result = FUNCTIONS[name](b, *operands, ty)
    count = len(b.lines) - before
    b.store(result, b.gep("%out", index, ty), ty, align=8)
    b.lines.insert(at, f"  {index} = phi i64 [ 0, %entry ], [ {following}, %{b.block} ]")
    b.lines.append(f"  {following} = add i64 {index}, 1")
    more = b.icmp("ult", following, "%vectors", Ty("i64"))
    b.cond_br(more, "loop", "done")
    b.label("done")
    b.ret()
    head = "define void @k(ptr noalias %x, ptr noalias %y, ptr noalias %out, i64 %vectors) {\nentry:\n"
    return head + b.text() + "\n}\n" + module.text(), count


_lljit = None
_keep: list[object] = []


def compile_text(text: str, features: str = "host") -> ctypes._CFuncPtr:
    """Optimize lightly, compile, link; the library stays for the life of the process."""
    global _lljit
    if _lljit is None:
        _lljit = llvm.create_lljit_compiler()
    machine = _target_machine(features)
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, builder)
    library = llvm.JITLibraryBuilder().add_object_img(machine.emit_object(module)).export_symbol("k")
    tracker = library.link(_lljit, f"math{len(_keep)}")
    _keep.append(tracker)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(tracker["k"])


@cache
def compiled(
    name: str, elem: str, lanes: int, has_fma: bool = True, features: str = "host", has_avx512: bool = False
) -> Callable[..., np.ndarray]:
    """The function over arrays of any length."""
    kernel = compile_text(kernel_text(name, elem, lanes, has_fma, has_avx512)[0], features)

    def run(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        size = len(x)
        pad = -size % lanes
        x = np.ascontiguousarray(np.concatenate([x, x[:1].repeat(pad)]) if pad else x)
        y = x if y is None else np.ascontiguousarray(np.concatenate([y, y[:1].repeat(pad)]) if pad else y)
        out = np.empty_like(x)
        kernel(x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x) // lanes)
        return out[:size]

    return run


# Reference values: the exact result as an unevaluated sum of two doubles


def exact(name: str, *operands: np.ndarray, precision: int = 160) -> tuple[np.ndarray, np.ndarray]:
    """`high + low` is the value of the function at finite points where it is finite."""
    special = {
        "exp2": lambda x: mpmath.power(2, x),
        "expm1_slope": mpmath.exp,
        "gauss": lambda x: mpmath.exp(-x * x),
        "powf": mpmath.power,
        "rsqrt": lambda x: 1 / mpmath.sqrt(x),
        "sech2": lambda x: mpmath.sech(x) ** 2,
    }
    function = special.get(name) or getattr(mpmath, name)
    high, low = np.empty(len(operands[0])), np.empty(len(operands[0]))
    with mpmath.workprec(precision):
        for i, point in enumerate(zip(*(o.tolist() for o in operands), strict=True)):
            value = function(*map(mpmath.mpf, point))
            high[i] = float(value)
            low[i] = float(value - high[i]) if np.isfinite(high[i]) else 0.0
    return high, low


def ulp_errors(got: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Distance from the exact value in units of the last place of the correctly rounded one."""
    with np.errstate(all="ignore"):
        rounded = high.astype(got.dtype)
        spacing = np.spacing(np.abs(rounded)).astype(np.float64)
        difference = np.abs((got.astype(np.float64) - high) - low) / spacing
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        return np.where(np.isfinite(rounded) & np.isfinite(got), difference, np.where(same, 0.0, np.inf))


# Points


def all_magnitudes(dtype: np.dtype, count: int, seed: int = 0) -> np.ndarray:
    """Finite numbers with uniformly random bits: every binade, denormals too."""
    info = np.iinfo(f"i{dtype.itemsize}")
    values = np.random.default_rng(seed).integers(info.min, info.max, 2 * count, dtype=info.dtype).view(dtype)
    return values[np.isfinite(values)][:count]


def around(dtype: np.dtype, centres: list[float], count: int = 24) -> np.ndarray:
    """Neighbours of each centre, nearest first by ulps and then ever farther."""
    steps = np.unique(np.concatenate([np.arange(-6, 7), np.geomspace(7, 2**20, count).astype(int)]))
    centre = np.array(centres, dtype).view(f"i{dtype.itemsize}")[:, None]
    return (centre + np.concatenate([steps, -steps]).astype(centre.dtype)).ravel().view(dtype)


def table(names: list[str]) -> None:
    """Print speed, NumPy's, and the number of instructions of each function."""
    special = {"rsqrt": lambda x: 1 / np.sqrt(x), "powf": np.power, "atan": np.arctan, "atan2": np.arctan2}
    print(f"{'function':8} {'dtype':8} {'ns/elem':>8} {'numpy':>8} {'instr':>6}")
    for name in names:
        for dtype, lanes in ((np.float32, 8), (np.float64, 4)):
            rng = np.random.default_rng(0)
            x, y = rng.uniform(0.1, 10, 8192).astype(dtype), rng.uniform(-5, 5, 8192).astype(dtype)
            text, count = kernel_text(name, ELEM[x.dtype], lanes)
            out = np.empty_like(x)
            ours = _seconds(compile_text(text), x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x) // lanes)
            reference = special.get(name, getattr(np, name, None))
            theirs = _seconds(reference, *(x, y)[: 1 + (name in BINARY)]) if reference else float("nan")
            columns = f"{ours / len(x) * 1e9:8.2f} {theirs / len(x) * 1e9:8.2f} {count:6}"
            print(f"{name:8} {x.dtype.name:8} {columns}", flush=True)


def _seconds(call: Callable[..., object], *arguments: object) -> float:
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(5):
            call(*arguments)
        best = min(best, (time.perf_counter() - start) / 5)
    return best


if __name__ == "__main__":
    import sys

    table(sys.argv[1:] or list(FUNCTIONS))
