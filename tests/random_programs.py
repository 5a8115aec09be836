"""Random programs over `lamina.numpy`: 5 to 40 ops of all types, sizes known or dynamic, against the interpreter.

Where all sizes are known there are branches and loops among the ops, with others inside of them.

python tests/random_programs.py [COUNT [SEED]]     seeds from SEED on, 0 by default; forever without a count
"""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
from lamina.dialects.sizes.polynomial import expected_size
from lamina.dialects.types import element_of, numpy_dtype
from lamina.errors import SizeError
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

sys.path.insert(0, str(Path(__file__).parent))
from random_ops import COMMON, DTYPES, OPS, control

MOST = 1 << 14
"""Elements of a value at most, by expected sizes."""
SIZES = ((1, 1), (2, 5), (3, 3), (8, 7), (17, 4))
EXACT = frozenset(
    f"graph.{name}"
    for name in (
        *("neg", "abs", "sign", "max", "min", "select", "convert", "real", "imag", "complex"),
        *("reshape", "transpose", "broadcast", "slice", "concat", "pad", "reverse", "gather", "sort", "const", "iota"),
    )
)
"""Ops that round nothing, whatever their types are."""


def elements(x: Any) -> int:
    total = 1
    for n in x.shape:
        total *= n if isinstance(n, int) else expected_size(n) // 8
    return total


class Drawn:
    """The program of a seed: its arguments, and the function, which draws the same ops whenever it is traced."""

    def __init__(self, seed: int):
        self.seed = seed
        rng = random.Random(seed)
        self.is_dynamic = is_dynamic = seed % 2 == 0
        dims = ["n", "m"] if is_dynamic else [5, 3]
        self.shapes = [
            tuple([rng.choice([*dims, dims[0], 3, 4]) for _ in range(rng.choice([0, 1, 2, 2, 2, 3]))])
            for _ in range(rng.randint(2, 4))
        ]
        self.dtypes = [rng.choice((*COMMON, *DTYPES)) for _ in self.shapes]
        self.length = rng.randint(5, 40)
        known = {"n": lm.dim("n", min=1), "m": lm.dim("m", min=1)}
        specs = [tuple([known.get(size) for size in shape]) for shape in self.shapes]  # pyright: ignore[reportArgumentType, reportCallIssue]
        self.dynamic = {f"args[{k}]": spec for k, spec in enumerate(specs) if any(spec)}

    def __call__(self, *args: Any) -> Any:
        rng = random.Random(self.seed + 1)
        values = [*args]
        for _ in range(self.length):
            try:
                if self.is_dynamic or rng.random() < 0.8:
                    made = rng.choice(OPS)(rng, values)
                else:
                    made = control(rng, values, [*args])
            except (LookupError, SizeError):  # nothing fits, or it asks which of two open sizes is larger
                continue
            if elements(made) <= MOST:
                values.append(made)
        unused = values[len(args) :]
        return tuple(unused[-5:]) or tuple(values[:1])

    def arrays(self, n: int, m: int) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        made: list[np.ndarray] = []
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            sizes = [{"n": n, "m": m}.get(size, size) for size in shape]  # pyright: ignore
            if dtype.kind == "c":
                made.append((rng.normal(size=sizes) + 1j * rng.normal(size=sizes)).astype(dtype))
            elif dtype.kind in "fV":
                made.append(rng.normal(size=sizes).astype(dtype))
            else:
                made.append(rng.integers(0, 2 if dtype.kind == "b" else 9, sizes).astype(dtype))
        return made


def exact_results(module: ModuleOp) -> list[bool]:
    """Which results of @main follow from its arguments without rounding: by ops on integers, and ops that move and choose."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}

    def rounds(op: Any) -> bool:
        if hasattr(op, "callees"):
            return any(rounds(inner) for name in op.callees for inner in functions[name.string_value()].body.block.ops)
        values = [*op.operands, *op.results]
        is_whole = all(numpy_dtype(element_of(v)).kind in "biu" for v in values)
        return not (is_whole or op.name in EXACT or isinstance(op, ReturnOp))

    rounded: set[SSAValue] = set()
    for op in functions["main"].body.block.ops:
        if isinstance(op, ReturnOp):
            return [value not in rounded for value in op.operands]
        if rounds(op) or not rounded.isdisjoint(op.operands):
            rounded |= {*op.results}
    raise AssertionError("a function ends with a return")


def tolerance(dtype: np.dtype[Any]) -> float:
    """Up to 40 ops on floats of which the interpreter adds sums in another order: what is wrong is off by far more."""
    return 2e-3 if dtype.itemsize > 2 else 2e-2 if dtype == np.float16 else 0.2


def compare(x: np.ndarray, y: np.ndarray, is_exact: bool, where: str) -> None:
    assert x.shape == y.shape and x.dtype == y.dtype, where
    if is_exact:
        np.testing.assert_array_equal(x, y, where)
    elif x.dtype.kind in "fcV":
        off = tolerance(x.dtype)
        wide = complex if x.dtype.kind == "c" else float
        np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=off, atol=max(2e-3, off / 4), err_msg=where)
    else:
        # it follows from floats that are rounded otherwise: a sum in another order
        assert (np.asarray(x != y).mean() if x.size else 0.0) <= 0.05, where


def check(seed: int) -> None:
    """Raise AssertionError if the program of a seed computes something else than its graph means."""
    drawn = Drawn(seed)
    compiled = lm.jit(drawn, dynamic=drawn.dynamic)
    sizes = SIZES if drawn.dynamic else SIZES[:1]
    module = compiled.lower(*drawn.arrays(2, 2)).module
    exact = exact_results(module)
    for n, m in sizes:
        args = drawn.arrays(n, m)
        results = zip(compiled(*args), interpret(module, "main", args), exact, strict=True)
        for k, (x, y, is_exact) in enumerate(results):
            compare(x, y, is_exact, f"seed {seed}, n = {n}, m = {m}, result {k}\n{module}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else None
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for seed in itertools.count(first) if count is None else range(first, first + count):
        try:
            check(seed)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    print(f"{count} programs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
