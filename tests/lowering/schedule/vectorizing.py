"""Vectorizes and interprets kernels; shared by the tests of loop-vectorize."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import pytest
from lamina import passes
from lamina.dialects.context import make_context
from lamina.dialects.dominance import verify_module
from lamina.dialects.loop.loops import ForOp, KernelOp
from lamina.dialects.parsing import parse_module
from lamina.errors import ScheduleError
from lamina.lowering.analysis.dependence import Conflict
from lamina.runtime.interpreter import Interpreter
from xdsl.dialects.builtin import MemRefType, ModuleOp

CONTEXT = make_context()
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i1": np.bool_}
SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31)
TAILS = ("masked", "scalar", "predicated")


@cache
def parsed(text: str) -> ModuleOp:
    module = parse_module(CONTEXT, text, "kernel.mlir")
    verify_module(module)
    return module


def kernel_in(module: ModuleOp) -> KernelOp:
    return next(op for op in module.body.block.ops if isinstance(op, KernelOp))


def scheduled(text: str, steps: str) -> ModuleOp:
    """The module after the steps: verified, and the same when it is printed and read."""
    module = parsed(text).clone()
    for step in passes.parse_passes(steps):
        step.apply(CONTEXT, module)
    verify_module(module)
    again = parse_module(CONTEXT, str(module), "printed.mlir")
    assert str(again) == str(module)
    names = [op.index.name_hint for op in module.walk() if isinstance(op, ForOp)]
    assert None not in names and len(set(names)) == len(names)
    return module


def arguments(kernel: KernelOp, sizes: tuple[int, ...], seed: int = 0) -> list:
    """Random arrays that fit the sizes, random scalars, and the sizes; integers are small and not negative."""
    rng = np.random.default_rng(seed)
    number = dict(zip(kernel.index_arguments, sizes, strict=True))
    found: list = []
    for argument in kernel.body.block.args:
        if argument in number:
            found.append(number[argument])
            continue
        type = argument.type
        shape = ()
        if isinstance(type, MemRefType):
            shape, type = [max(0, e.eval(list(sizes), [])) for e in kernel.sizes_of(argument)], type.element_type
        dtype = DTYPES[str(type)]
        limit = max(1, *sizes) if sizes else 8
        values = (
            rng.integers(0, 2 if dtype == np.bool_ else limit, shape) if dtype().dtype.kind in "ib" else rng.normal(size=shape)
        )
        found.append(np.asarray(values).astype(dtype)[()])
    return found


def outcome(module: ModuleOp, sizes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    kernel = kernel_in(module)
    given = arguments(kernel, sizes, seed)
    Interpreter(module, limit=100_000).launch(kernel.sym_name.data, given)
    return [a for a in given if isinstance(a, np.ndarray)]


@lru_cache(maxsize=64)
def meant(text: str, sizes: tuple[int, ...]) -> list[np.ndarray]:
    return outcome(parsed(text), sizes)


def same(text: str, steps: str, sizes=None, close: bool = False) -> ModuleOp:
    """Check that the steps keep what a kernel computes at some sizes; the module after them."""
    after = scheduled(text, steps)
    for one in [(n,) for n in SIZES] if sizes is None else sizes:
        for x, y in zip(meant(text, one), outcome(after, one), strict=True):
            if close:
                np.testing.assert_allclose(y, x, rtol=1e-4, atol=1e-5, err_msg=f"{steps} at {one}")
            else:
                np.testing.assert_array_equal(y.view(f"V{y.itemsize}"), x.view(f"V{x.itemsize}"), f"{steps} at {one}")
    return after


def refused(text: str, steps: str, reason: str) -> Conflict | None:
    before = str(parsed(text))
    with pytest.raises(ScheduleError, match=reason) as info:
        scheduled(text, steps)
    assert str(parsed(text)) == before
    return info.value.witness  # pyright: ignore[reportReturnType]


def each_tail(text: str, loop: str = "i", close: bool = False, sizes=None, lanes=(2, 8)) -> ModuleOp:
    """Check each tail with some lanes, at `sizes` or where its paths differ; the module after the last."""
    module = None
    for count in lanes:
        # no iteration, too few for a vector, whole vectors, and one or all but one more
        at = (0, 1, count - 1, count, count + 1, 2 * count, 3 * count - 1)
        some = [(n,) for n in sorted(set(at))] if sizes is None else sizes
        for tail in TAILS:
            module = same(text, f"loop-vectorize{{loop={loop} lanes={count} tail={tail}}}", some, close)
    assert module is not None
    return module


def count(module: ModuleOp, *types: type) -> int:
    return sum(isinstance(op, types) for op in module.walk())


def one_loop(body: str, head: str = "%i = 0 to %N", arrays: str = "%x[%N], %y[%N]", kind: str = "seq", extra: str = "") -> str:
    """A kernel of one loop over f32 arrays; arrays named %p.. hold i64, %c.. i1."""
    given = []
    for one in arrays.split("],"):
        one = one.strip().rstrip("]") + "]"
        name, dims = one[: one.index("[")], one.count(",") + 1
        element = {"p": "i64", "c": "i1", "d": "f64"}.get(name[1], "f32")
        given.append((name, "?x" * dims + element))
    for name, type in given:
        body = body.replace(f"{name}:", f"memref<{type}>")
    parameters = ", ".join(f"{name}: memref<{type}>" for name, type in given)
    return f"""loop.kernel @k({parameters}{extra}, %N: index) shapes({arrays}) {{
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      loop.for {kind} {head} {{
        {body}
      }}
    }}"""


SQUARE = "%a = loop.load %x[%i] : %x:\n%b = arith.mulf %a, %a : f32\nloop.store %b, %y[%i] : %y:"
