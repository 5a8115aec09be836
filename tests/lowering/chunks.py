"""The parallel regions of scheduled programs and how many chunks each has: shared by the tests of the grain.

`python tests/lowering/chunks.py [target]` prints the table of `PROGRAMS`: for each kernel its regions, as chunks (operations).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import lamina as lm
import lamina.numpy as lnp
from lamina import nn, pipeline
from lamina.codegen import targets
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.lowering.analysis.parallel import run_cost
from lamina.lowering.analysis.placement import region_of
from lamina.lowering.target import set_target
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block


@dataclass(frozen=True)
class Shared:
    """A parallel region: its chunks, infinite where it is not known how many, the operations of all, its entries."""

    chunks: float
    work: float
    times: int


def shared(module: ModuleOp) -> list[Shared]:
    """The regions of all kernels of a scheduled module."""
    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
    return [region for kernel in kernels for region in _in_block(kernel.body.block, 1)]


def _in_block(block: Block, times: int) -> Iterator[Shared]:
    for op in block.ops:
        if isinstance(op, ForOp) and op.threads is not None:
            count = region_of(op).chunks
            yield Shared(math.inf if count is None else count, (op.trip_count() or 1) * run_cost(op.body.block), times)
            continue
        trips = (op.trip_count() or 1) if isinstance(op, ForOp) else 1
        for region in op.regions:
            for inner in region.blocks:
                yield from _in_block(inner, times * trips)


def scheduled(function: Callable[..., Any], specs: tuple[lm.TensorSpec, ...], target: str) -> ModuleOp:
    """What the default schedule makes of a program for a target."""
    module = lm.jit(function).lower(*specs).module.clone()
    set_target(module, targets.get(target))
    pipeline.run_to(module, "scheduled")
    return module


def chunks(name: str, target: str) -> list[Shared]:
    """The regions of a program of the table."""
    function, *specs = PROGRAMS[name]
    return shared(scheduled(function, tuple(specs), target))


def spec(*shape: int, dtype: str = "float32") -> lm.TensorSpec:
    return lm.TensorSpec(shape, dtype)


def product(m: int, k: int, n: int, dtype: str = "float32") -> tuple[Any, ...]:
    return lambda a, b: a @ b, spec(m, k, dtype=dtype), spec(k, n, dtype=dtype)


def batched(count: int, n: int) -> tuple[Any, ...]:
    return lambda a, b: a @ b, spec(count, n, n), spec(count, n, n)


def conv(n: int, c: int, size: int, filters: int, window: int, stride: int = 1, groups: int = 1) -> tuple[Any, ...]:
    images, w = spec(n, c, size, size), spec(filters, c // groups, window, window)
    return lambda x, w: nn.conv2d(x, w, stride, "SAME", groups=groups), images, w


def attention(batch: int, heads: int, n: int, dim: int) -> tuple[Any, ...]:
    return lambda q, k, v: nn.attention(q, k, v), *[spec(batch, heads, n, dim)] * 3


def normalized(x: Any) -> Any:
    return (x - lnp.mean(x, -1, keepdims=True)) / lnp.sqrt(lnp.var(x, -1, keepdims=True) + 1e-5)


PROGRAMS: dict[str, tuple[Any, ...]] = {
    **{f"matmul {n}": product(n, n, n) for n in (64, 128, 255, 256, 257, 509, 511, 512, 513, 768, 1000, 1024, 1536, 2048)},
    **{f"matmul {m}x1024x4096": product(m, 1024, 4096) for m in (2, 16, 32, 64, 100, 128, 250)},
    **{f"matmul 4096x1024x{n}": product(4096, 1024, n) for n in (16, 32, 64, 128)},
    "matmul 1024x64x1024": product(1024, 64, 1024),
    "matmul 128x4096x128": product(128, 4096, 128),
    "matmul 512x4096x512": product(512, 4096, 512),
    "matmul 512 f64": product(512, 512, 512, "float64"),
    "matmul 1024 f64": product(1024, 1024, 1024, "float64"),
    "matmul a.T": (lambda a, b: a.T @ b, spec(1024, 1024), spec(1024, 1024)),
    "matmul b.T": (lambda a, b: a @ b.T, spec(1024, 1024), spec(1024, 1024)),
    "linear gelu": (lambda x, w, b: nn.gelu(x @ w + b), spec(512, 768), spec(768, 3072), spec(3072)),
    **{f"batched {c}x{n}": batched(c, n) for c, n in ((2, 256), (3, 512), (12, 128), (64, 64))},
    "matvec 4096": (lambda a, x: a @ x, spec(4096, 4096), spec(4096)),
    "vecmat 4096": (lambda a, x: x @ a, spec(4096, 4096), spec(4096)),
    **{f"conv 3x3 of {n}": conv(n, 64, 56, 64, 3) for n in (1, 2, 8)},
    "conv 3x3 256": conv(1, 256, 14, 256, 3),
    "conv 3x3 512": conv(1, 512, 7, 512, 3),
    "conv 3x3 stride 2": conv(1, 128, 28, 128, 3, 2),
    "conv 1x1": conv(1, 64, 56, 256, 1),
    "conv 7x7": conv(1, 3, 224, 64, 7, 2),
    "conv 7x7 of 2": conv(2, 3, 224, 64, 7, 2),
    "depthwise": conv(1, 128, 56, 128, 3, 1, 128),
    "depthwise of 2": conv(2, 32, 112, 32, 3, 1, 32),
    "max pool": (lambda x: nn.max_pool2d(x, 3, 2, "SAME"), spec(1, 64, 112, 112)),
    "softmax": (lambda x: nn.softmax(x), spec(1024, 1024)),
    "softmax of one row": (lambda x: nn.softmax(x), spec(1, 1_000_000)),
    "softmax of a middle dim": (lambda x: nn.softmax(x, axis=1), spec(8, 512, 512)),
    "layer norm": (normalized, spec(512, 768)),
    "layer norm of 8 rows": (normalized, spec(8, 100_000)),
    **{f"sum {n}": (lambda x: lnp.sum(x), spec(n)) for n in (10_000, 1_000_000, 10_000_000)},
    "sum of rows": (lambda x: lnp.sum(x, axis=1), spec(4096, 4096)),
    "sum of 20 rows": (lambda x: lnp.sum(x, axis=1), spec(20, 1_000_000)),
    "sum of columns": (lambda x: lnp.sum(x, axis=0), spec(4096, 4096)),
    "sum of 64 columns": (lambda x: lnp.sum(x, axis=0), spec(100_000, 64)),
    "attention 12x128": attention(1, 12, 128, 64),
    "attention 12x512": attention(1, 12, 512, 64),
    "attention 8x1024": attention(1, 8, 1024, 64),
    "attention 2x12x197": attention(2, 12, 197, 64),
    **{f"exp {n}": (lambda x: lnp.exp(x), spec(n)) for n in (1000, 65_536, 65_537, 1_000_000, 999_983, 10_000_000)},
    "add": (lambda x, y: x + y, spec(8192, 8192), spec(8192, 8192)),
    "add a row": (lambda x, b: x + b, spec(4, 1_000_000), spec(1_000_000)),
    "tanh of 9 rows": (lambda x, b: lnp.tanh(x + b), spec(9, 100_000), spec(100_000)),
    "transpose": (lambda x: x.T, spec(4096, 4096)),
    "transpose a tall one": (lambda x: x.T, spec(100_000, 64)),
    "transpose a wide one": (lambda x: x.T, spec(64, 100_000)),
    "features first": (lambda x: lnp.transpose(x, (0, 3, 1, 2)), spec(8, 56, 56, 64)),
    "gather": (lambda t, i: t[i], spec(50_000, 64), spec(10_000, dtype="int64")),
    "segment sum": (lambda x, i: lnp.segment_sum(x, i, 1000), spec(100_000, 64), spec(100_000, dtype="int64")),
    "cumsum": (lambda x: lnp.cumsum(x, 1), spec(512, 4096)),
}
"""Programs by name: the function and what it is called with."""


if __name__ == "__main__":
    for name in PROGRAMS:
        found = chunks(name, *sys.argv[1:2] or ["host"])
        print(
            f"{name:28}", "  ".join(f"{r.chunks}{f' x {r.times}' if r.times > 1 else ''} ({r.work:.1e})" for r in found) or "-"
        )
