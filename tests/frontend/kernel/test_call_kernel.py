"""`lm.call_kernel`: hand-written kernels in traced functions and outside of them."""

from __future__ import annotations

import re
import threading
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina import pipeline
from lamina.debugging.validate import validate_each
from lamina.dialects.context import make_context
from lamina.dialects.graph.kernel import KernelCallOp
from lamina.dialects.loop.loops import KernelOp
from lamina.dialects.loop.memory import LaunchOp
from lamina.dialects.parsing import parse_module
from lamina.errors import CompileError, DTypeError, KernelError, ShapeError, TracingError
from lamina.runtime.interpreter import interpret

lnp = lm.numpy
Spec = lm.TensorSpec


@lm.kernel
def running(x: lm.f32["N"], y: lm.f32["N"]):
    total = lm.f32(0)
    for i in range(x.shape[0]):
        total += x[i]
        y[i] = total


@lm.kernel
def saxpy(a: lm.f32, x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


@lm.kernel
def extremes(x: lm.f32["M", "N"], least: lm.f32["M"], most: lm.f32["M"]):
    for i in lm.parallel(x.shape[0]):
        low, high = x[i, 0], x[i, 0]
        for j in range(1, x.shape[1]):
            low = min(low, x[i, j])
            high = max(high, x[i, j])
        least[i] = low
        most[i] = high


@lm.kernel
def between(x: lm.f64["N + 1"], y: lm.f64["N"]):
    for i in range(y.shape[0]):
        y[i] = x[i + 1] - x[i]


@lm.kernel
def histogram(index: lm.i64["N"], counts: lm.i32["B"]):
    for i in range(index.shape[0]):
        counts[index[i]] += 1


@lm.kernel
def scalars(flag: lm.bool_, n: lm.i32, m: lm.i64, a: lm.f32, b: lm.f64, y: lm.f64["N"]):
    for i in range(y.shape[0]):
        if flag:
            y[i] = n * 1.0 + m * 10.0
        else:
            y[i] = a * 100.0 + b


@lm.kernel
def matmul(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i, j in lm.grid(C.shape):
        for k in range(A.shape[1]):
            C[i, j] += A[i, k] * B[k, j]


def ramp(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(int(np.prod(shape))).reshape(shape) * 7 % 11 - 3).astype(dtype)


def check(function: Any, *args: Any, rtol: float = 1e-6) -> list[np.ndarray]:
    """The results of a jitted function, which are those that its module has in the interpreter at every phase, and those of
    the function without jit; the text of the module is read back.
    """
    jitted = lm.jit(function)
    out, plain, lowered = jitted(*args), function(*args), jitted.lower(*args)
    leaves = [np.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]
    for want, got in zip(plain if isinstance(plain, tuple) else (plain,), leaves, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, strict=True)
    module, ctx = parse_module(make_context(), lowered.as_text()), make_context()
    assert str(module) == str(lowered.module)
    validate_each(module, [step.make() for step in pipeline.steps_to(module, "program")], ctx)
    inputs = [np.asarray(x, aval.dtype) for x, aval in zip(args, lowered.in_avals, strict=True)]
    inputs += lowered.traced.captured
    module = lowered.module
    for phase in pipeline.PHASES[:5]:
        pipeline.run_to(module, phase)
        for want, got in zip(interpret(module, "main", inputs), leaves, strict=True):
            np.testing.assert_allclose(got, want, rtol=rtol, strict=True)
    return leaves


def ops(lowered: Any, kind: type, phase: str = "graph") -> list[Any]:
    module = lowered.module
    pipeline.run_to(module, phase) if phase != "graph" else None
    return [op for op in module.walk() if isinstance(op, kind)]


# --------------------------------------------------------------------------------------------------------------------
# In programs


def test_between_fused_neighbours():
    def f(x, y):
        z = lm.call_kernel(running, lnp.exp(x) + y, out=Spec(x.shape))
        return lnp.tanh(z) * y + 1

    x, y = ramp(9) / 10, ramp(9)
    (got,) = check(f, x, y)
    np.testing.assert_allclose(got, np.tanh(np.cumsum(np.exp(x) + y)) * y + 1, rtol=1e-5)
    launches = [op.kernel.string_value() for op in ops(lm.jit(f).lower(x, y), LaunchOp, "program")]
    assert launches == ["exp_add", "running", "tanh_mul_add"]


def test_values_used_before_and_after():
    def f(x):
        e = x * 2
        y = lm.call_kernel(saxpy, 0.5, e, out=e)  # contents that others need, too
        return y + e, e, y

    x = ramp(5)
    got = check(f, x)
    np.testing.assert_array_equal(got[2], 3 * x)


def test_several_kernels_each_once():
    def f(x, y):
        a = lm.call_kernel(running, x, out=Spec(4))
        b = lm.call_kernel(running, y, out=Spec((6,)))  # another size
        c = lm.call_kernel(saxpy, 2, x, out=a)
        low, high = lm.call_kernel(extremes, b.reshape(2, 3), out=[Spec(2), Spec(2)])
        return c, low + high

    x, y = ramp(4), ramp(6)
    c, sums = check(f, x, y)
    np.testing.assert_array_equal(c, np.cumsum(x) + 2 * x)
    rows = np.cumsum(y).reshape(2, 3)
    np.testing.assert_array_equal(sums, rows.min(1) + rows.max(1))
    lowered = lm.jit(f).lower(x, y)
    assert [op.sym_name.data for op in ops(lowered, KernelOp)] == ["running", "saxpy", "extremes"]
    assert [op.sym_name.data for op in ops(lowered, KernelOp, "program") if op.is_scheduled] == [
        "running",
        "saxpy",
        "extremes",
    ]


def test_changes_in_a_row_are_made_in_place():
    def f(x):
        y = x * x
        for a in (1.0, 2.0, 3.0):
            y = lm.call_kernel(saxpy, a, x, out=y)
        return y

    x = ramp(33)
    (got,) = check(f, x)
    np.testing.assert_array_equal(got, x * x + 6 * x)
    assert "memref.copy" not in lm.jit(f).lower(x).as_text("program")


def test_arguments_and_results_are_no_memory_of_the_caller():
    x, y = ramp(5), ramp(5)
    f = lm.jit(lambda x, y: lm.call_kernel(saxpy, 1, x, out=y))
    before = y.copy()
    got = f(x, y)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(got, x + y)
    assert not np.shares_memory(got, y)
    same = lm.jit(lambda y: (lm.call_kernel(saxpy, 1, y, out=y), y))(y)
    np.testing.assert_array_equal(same[0], 2 * y)
    np.testing.assert_array_equal(same[1], y)


def test_contents_from_constants_reshapes_and_captured_arrays():
    large = np.arange(4000, dtype=np.float32)

    def f(x):
        a = lm.call_kernel(saxpy, 1, x, out=np.float32([1, 2, 3, 4]))
        b = lm.call_kernel(saxpy, 2, x, out=(x.reshape(2, 2) + 1).reshape(4))
        c = lm.call_kernel(saxpy, 3, x, out=lnp.zeros(4, np.float32))
        d = lm.call_kernel(saxpy, 1, large, out=large)
        return a, b, c, d[:3]

    x = ramp(4)
    got = check(f, x)
    for result, want in zip(got, (x + np.arange(1, 5), 3 * x + 1, 3 * x, [0, 2, 4]), strict=True):
        np.testing.assert_array_equal(result, want)
    np.testing.assert_array_equal(large, np.arange(4000))


def test_unused_results():
    def f(x):
        low, _ = lm.call_kernel(extremes, x, out=[Spec(2), Spec(2)])
        lm.call_kernel(running, x[0], out=Spec(3))
        return low

    (low,) = check(f, ramp(2, 3))
    np.testing.assert_array_equal(low, ramp(2, 3).min(1))
    assert len(ops(lm.jit(f).lower(ramp(2, 3)), KernelCallOp, "optimized")) == 1


def test_equal_calls_are_one():
    def f(x):
        return lm.call_kernel(running, x, out=Spec(3)) * lm.call_kernel(running, x, out=Spec(3))

    check(f, ramp(3))
    assert len(ops(lm.jit(f).lower(ramp(3)), LaunchOp, "program")) == 2


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_sizes(n: int):
    x = ramp(n + 1, dtype=np.float64)
    (got,) = check(lambda x: lm.call_kernel(between, x * 2, out=Spec(n, np.float64)), x)
    np.testing.assert_array_equal(got, 2 * np.diff(x))


def test_one_jitted_function_at_several_shapes():
    f = lm.jit(lambda x: lm.call_kernel(running, x, out=Spec(x.shape)))
    for n in (3, 8, 3, 1000):
        np.testing.assert_array_equal(f(ramp(n)), np.cumsum(ramp(n)))


def test_numbers():
    def f(flag, n, a):
        one = lm.call_kernel(scalars, flag, n, 3, a, 0.5, out=Spec(2, np.float64))
        two = lm.call_kernel(scalars, True, np.int32(-2), np.int64(4), np.float32(1), np.float64(2), out=Spec(1, np.float64))
        return one, two

    for flag in (True, False):
        one, two = check(f, flag, 2, 1.5)  # what jit gets as Python numbers takes the type of the parameter
        np.testing.assert_array_equal(one, [32, 32] if flag else [150.5, 150.5])
        np.testing.assert_array_equal(two, [38])

    def computed(x):
        return lm.call_kernel(saxpy, x.sum(), x, out=x)

    (got,) = check(computed, ramp(3))
    np.testing.assert_array_equal(got, ramp(3) * (1 + ramp(3).sum()))


def test_indices_in_data():
    index = np.array([0, 2, 2, 1, 2])
    (counts,) = check(lambda i: lm.call_kernel(histogram, i % 3, out=lnp.zeros(3, np.int32)), index)
    np.testing.assert_array_equal(counts, [1, 1, 3])


def test_strides_are_those_of_contiguous_arrays():
    @lm.kernel
    def diagonal(x: lm.f32["N", "N"].strided("ld", 1), y: lm.f32["N"]):
        for i in range(y.shape[0]):
            y[i] = x[i, i]

    @lm.kernel
    def packed(x: lm.f32["N", 4].strided(8, 1), y: lm.f32["N"]):
        for i in range(y.shape[0]):
            y[i] = x[i, 3]

    for n in (0, 1, 5):
        (got,) = check(lambda x, n=n: lm.call_kernel(diagonal, x.T, out=Spec(n)), ramp(n, n))
        np.testing.assert_array_equal(got, ramp(n, n).diagonal())
    check(lambda x: lm.call_kernel(packed, x, out=Spec(1)), ramp(1, 4))  # nobody steps there
    with pytest.raises(ShapeError, match=r"argument 'x' has dim 0 in steps of 8 elements, got float32\[2,4\] with steps of 4"):
        lm.jit(lambda x: lm.call_kernel(packed, x, out=Spec(2)))(ramp(2, 4))


def test_in_functions_called_differentiated_and_mapped():
    @lm.jit
    def inner(x):
        return lm.call_kernel(running, x, out=Spec(x.shape))

    def f(x, w):
        return inner(x) * w + inner(x * w)

    x, w = ramp(4), ramp(4) + 1
    check(f, x, w)
    assert len(ops(lm.jit(f).lower(x, w), KernelOp)) == 1
    # a factor that is constant for the derivative
    np.testing.assert_array_equal(lm.grad(lambda w: (inner(x) * w).sum())(w), np.cumsum(x))
    np.testing.assert_array_equal(lm.grad(lambda w: (inner(lm.stop_gradient(w)) * w).sum())(w), np.cumsum(w))
    # the same for all elements of a batch
    got = lm.vmap(lambda w: inner(x) + w)(np.stack([w, 2 * w]))
    np.testing.assert_array_equal(got, np.cumsum(x) + np.stack([w, 2 * w]))


# --------------------------------------------------------------------------------------------------------------------
# Kernels as they are


def scheduled_product() -> Any:
    @lm.kernel
    def product(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
        for i, j in lm.grid(C.shape):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]

    s = product.schedule()
    jo, j = s.split("j", 32)
    ko, k = s.split("k", 64)
    io, i = s.split("i", 4)
    s.reorder((jo, ko, io, k, i, j))
    s.stage("B", at=ko, order=(k, j), pad=(j,))
    s.vectorize(j, 8, tail="predicated")
    s.parallelize(io)
    return product


@pytest.mark.thorough
def test_scheduled_with_threads_and_scratch_memory():
    product = scheduled_product()

    def f(a, b):
        c = lm.call_kernel(product, a, b, out=lnp.zeros((a.shape[0], b.shape[1]), np.float32))
        return lnp.maximum(c, 0)

    a, b = ramp(13, 7), ramp(7, 21)
    (got,) = check(f, a, b, rtol=1e-5)
    np.testing.assert_allclose(got, np.maximum(a @ b, 0), rtol=1e-5)
    assert "loop.for parallel %io = 0 to %M step 4" in lm.jit(f).lower(a, b).as_text("program")
    a, b = ramp(300, 200), ramp(200, 333)
    np.testing.assert_allclose(lm.jit(f)(a, b), np.maximum(a @ b, 0), rtol=1e-4)


def test_threads_and_memory_from_the_heap_and_the_arena():
    @lm.kernel
    def reversed_rows(x: lm.f32["M", "N"], y: lm.f32["M", "N"]):
        table = lm.empty((20000,), lm.f32)  # too large for the stack: in the arena of the program
        for j in range(20000):
            table[j] = 1.0
        for i in lm.parallel(x.shape[0]):
            row = lm.empty((x.shape[1],), lm.f32)  # of unknown size: from the heap, one for each thread
            for j in range(x.shape[1]):
                row[j] = x[i, j] * table[j]
            for j in range(x.shape[1]):
                y[i, j] = row[x.shape[1] - 1 - j]

    def f(x):
        return lm.call_kernel(reversed_rows, x + 1, out=Spec(x.shape)) - 1

    for shape in ((2, 3), (400, 500)):
        x = ramp(*shape)
        np.testing.assert_array_equal(lm.jit(f)(x), x[:, ::-1])
    text = lm.jit(f).lower(ramp(2, 3)).as_text("program")
    assert re.search(r" scratch \d+ ", text)
    x = ramp(300, 100)
    compiled, results = lm.jit(f), []
    threads = [threading.Thread(target=lambda: results.append(compiled(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for got in results:
        np.testing.assert_array_equal(got, x[:, ::-1])


def test_memory_that_cannot_be_had_does_not_go_unnoticed():
    @lm.kernel
    def greedy(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            row = lm.empty((x.shape[0],), lm.f32)
            row[0] = x[i]
            y[i] = row[0]

    text = lm.jit(lambda x: lm.call_kernel(greedy, x, out=Spec(3))).lower(ramp(3)).as_text("llvmir")
    host = text[text.index("@main(") :].partition("\n}")[0]
    assert "llvm.trap" not in host and "ptr %status" in host  # tests/runtime/test_no_memory.py runs one


def test_the_schedule_at_the_time_of_the_trace():
    @lm.kernel
    def double(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = 2 * x[i]

    def f(x):
        y = lm.call_kernel(double, x, out=Spec(x.shape))
        double.schedule().vectorize("i", 4)
        z = lm.call_kernel(double, x, out=Spec(x.shape))
        double.reset()
        return y + z

    module = lm.jit(f).lower(ramp(9)).module
    kernels = [op for op in module.body.block.ops if isinstance(op, KernelOp)]
    assert [op.sym_name.data for op in kernels] == ["double", "double_1"]
    assert "vector<4xf32>" in str(kernels[1]) and "vector<4xf32>" not in str(kernels[0])
    np.testing.assert_array_equal(lm.jit(f)(ramp(9)), 4 * ramp(9))


def test_names_of_kernels_are_free_to_choose():
    @lm.kernel
    def main(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = x[i] + 1

    @lm.kernel
    def exp(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] = x[i] + 2

    @lm.kernel
    def free(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            row = lm.empty((x.shape[0],), lm.f32)
            row[i] = x[i]
            y[i] = row[i]

    def f(x):
        y = lnp.exp(lm.call_kernel(exp, lm.call_kernel(main, x, out=Spec(x.shape)), out=Spec(x.shape)))
        return lm.call_kernel(free, y, out=Spec(x.shape))

    (got,) = check(f, ramp(3))
    np.testing.assert_allclose(got, np.exp(ramp(3) + 3), rtol=1e-6)


def test_names_of_functions_that_compiled_code_calls():
    def memcpy(x: lm.f32["N"], y: lm.f32["N"]):
        for i in range(x.shape[0]):
            y[i] += x[i]

    kernel = lm.kernel(memcpy)
    x = ramp(1000)
    # the result is copied with LLVM's memcpy before
    np.testing.assert_array_equal(lm.jit(lambda x: lm.call_kernel(kernel, x, out=x))(x), 2 * x)
    np.testing.assert_array_equal(lm.call_kernel(kernel, x, out=x), 2 * x)
    text = str(kernel.module)
    with pytest.raises(CompileError, match="@memcpy has the name of a function that compiled code calls: rename it"):
        pipeline.compile_to(parse_module(make_context(), text), "llvmir")


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int):
    def f(x, y):
        rng = np.random.default_rng(seed)
        values = [x, y]

        def pick() -> Any:
            return values[rng.integers(len(values))]

        for _ in range(rng.integers(3, 12)):
            choice = rng.integers(6)
            if choice == 0:
                values.append(pick() + pick())
            elif choice == 1:
                values.append(lnp.maximum(pick(), 0.25) * 0.5)
            elif choice == 2:
                values.append(lm.call_kernel(running, pick(), out=Spec(6)) / 8)
            elif choice == 3:
                values.append(lm.call_kernel(saxpy, float(rng.integers(-2, 3)), pick(), out=pick()))
            elif choice == 4:
                low, high = lm.call_kernel(extremes, pick().reshape(3, 2), out=[Spec(3), Spec(3)])
                values.append(lnp.concatenate([low, high] if rng.integers(2) else [high, high]))
            else:
                values.append(pick().reshape(2, 3).T.reshape(6))
        return tuple(values[k] for k in rng.integers(len(values), size=3))

    check(f, ramp(6), ramp(6)[::-1].copy(), rtol=1e-4)


# --------------------------------------------------------------------------------------------------------------------
# Without a trace


def test_eager():
    x, y = ramp(6), ramp(6)
    np.testing.assert_array_equal(lm.call_kernel(running, x, out=Spec(6)), np.cumsum(x))
    got = lm.call_kernel(saxpy, 2, x[::2], out=y[:3])  # whatever lies in memory
    np.testing.assert_array_equal(got, 2 * x[::2] + y[:3])
    np.testing.assert_array_equal(y, ramp(6))
    low, high = lm.call_kernel(extremes, x.reshape(2, 3).T, out=(Spec(3), Spec(3)))
    np.testing.assert_array_equal(low, x.reshape(2, 3).T.min(1))
    np.testing.assert_array_equal(high, x.reshape(2, 3).T.max(1))
    swapped = x.astype(x.dtype.newbyteorder())
    np.testing.assert_array_equal(lm.call_kernel(running, swapped, out=[Spec(6)]), np.cumsum(x))
    np.testing.assert_array_equal(lm.jit(lambda: lm.call_kernel(running, swapped, out=[Spec(6)]))(), np.cumsum(x))


def test_eager_kernels_may_check_bounds():
    @lm.kernel(check_bounds=True)
    def pick(index: lm.i64["N"], x: lm.f32["M"], y: lm.f32["N"]):
        for i in range(index.shape[0]):
            y[i] = x[index[i]]

    x = ramp(4)
    np.testing.assert_array_equal(lm.call_kernel(pick, np.array([3, 0]), x, out=Spec(2)), x[[3, 0]])
    with pytest.raises(IndexError, match="index 4 of dim 0 of x"):
        lm.call_kernel(pick, np.array([3, 4]), x, out=Spec(2))
    with pytest.raises(KernelError, match=r"checks bounds \(check_bounds=True\) or raises exceptions: a traced function"):
        lm.jit(lambda i: lm.call_kernel(pick, i, x, out=Spec(2)))(np.array([3, 0]))


# --------------------------------------------------------------------------------------------------------------------
# Errors: the same with and without a trace


def both(message: str, kind: type[Exception], *args: Any, kernel: Any = saxpy, **kwargs: Any) -> None:
    with pytest.raises(kind, match=message):
        lm.call_kernel(kernel, *args, **kwargs)
    traced = [k for k, x in enumerate(args) if isinstance(x, np.ndarray)]

    def f(*given: Any) -> Any:
        now = list(args)
        for k, x in zip(traced, given, strict=True):
            now[k] = x
        return lm.call_kernel(kernel, *now, **kwargs)

    with pytest.raises(kind, match=message):
        lm.jit(f)(*(args[k] for k in traced))


X, Y = ramp(3), ramp(4)


def test_sizes_that_disagree():
    message = (
        r"kernel 'saxpy' size 'N' is 3 by dim 0 of argument 'x' \(float32\[N\], got float32\[3\]\) and 4 by dim 0 of .* 'y'"
    )
    both(message, ShapeError, 1.0, X, out=Y)
    both(r"argument 'x' must be float32\[N\], got float32\[3,1\]; reshape it", ShapeError, 1.0, X[:, None], out=X)
    both(
        r"argument 'x' must be float64\[N \+ 1\], got float64\[0\] with N = -1",
        ShapeError,
        np.zeros(0),
        out=Spec(0, "f8"),
        kernel=between,
    )
    both(r"size 'N' is 3 by .* and 4 by dim 0 of argument 'y'", ShapeError, X, out=Spec(4), kernel=running)
    both(r"argument 'a' must be a number, got float32\[3\]", ShapeError, X, X, out=X)
    fixed = r"argument 'y' must be float32\[4\], got float32\[3\]; pass an array of that size"

    @lm.kernel
    def four(y: lm.f32[4]):
        for i in range(4):
            y[i] = 1.0

    both(fixed, ShapeError, out=Spec(3), kernel=four)


def test_element_types():
    both(
        r"argument 'x' must be of float32, got float64\[3\]; convert it with .astype\('float32'\)",
        DTypeError,
        1,
        X.astype("f8"),
        out=X,
    )
    both(r"argument 'y' must be of float32, got int32\[3\]", DTypeError, 1, X, out=Spec(3, "i4"))
    with pytest.raises(DTypeError, match="argument 'x' must be of float32, got complex64"):
        lm.call_kernel(saxpy, 1, X.astype("c8"), out=X)
    y = Spec(1, "f8")
    both(r"argument 'n' must be an integer, got float", TypeError, True, 1.5, 1, 1, 1, out=y, kernel=scalars)
    both(r"argument 'n' must fit int32, got 4294967296", ValueError, True, 1 << 32, 1, 1, 1, out=y, kernel=scalars)
    both(r"argument 'flag' must be a bool, got int", TypeError, 1, 1, 1, 1, 1, out=y, kernel=scalars)
    both(r"argument 'a' must be a number, got str", TypeError, "1", X, out=X)
    with pytest.raises(DTypeError, match=r"argument 'a' must be of float32, got float64\[\]"):
        lm.jit(lambda a: lm.call_kernel(saxpy, a, X, out=X))(np.float64(1))
    with pytest.raises(DTypeError, match=r"argument 'n' must be of int32, got float64\[\]"):
        lm.jit(lambda n: lm.call_kernel(scalars, True, n, 1, 1, 1, out=y))(1.5)


def test_arguments():
    both(r"call_kernel\(saxpy\) takes \*args for a: float32, x: float32\[N\]; got 1 values", TypeError, 1.0, out=X)
    both(
        r"call_kernel\(extremes\) takes out= for least: float32\[M\], most: float32\[M\]; got 1",
        TypeError,
        X,
        out=X,
        kernel=extremes,
    )
    both(r"argument 'x' must be an array, float32\[N\], got list", TypeError, 1.0, [1.0, 2.0], out=X)
    both(r"argument 'x' must be an array, float32\[N\], got TensorSpec", TypeError, 1.0, Spec(3), out=X)
    both(r"argument 'y' must be an array or a lamina.TensorSpec, float32\[N\], got float", TypeError, 1.0, X, out=1.0)
    both(r"argument 'y' must be an array or a lamina.TensorSpec, float32\[N\], got NoneType", TypeError, 1.0, X, out=None)
    both(r"takes a kernel made by @lm.kernel, got function", TypeError, X, out=X, kernel=ramp)
    with pytest.raises(TypeError, match="out"):
        lm.call_kernel(running, X)  # pyright: ignore[reportCallIssue]


def test_contents_that_are_read_must_be_given():
    message = (
        r"kernel 'saxpy' reads 'y' and needs its initial contents: give an array instead of TensorSpec\(\(3,\), 'float32'\)"
    )
    both(message, KernelError, 1.0, X, out=Spec(3))

    @lm.kernel
    def nothing(x: lm.f32["N"]):
        for i in range(x.shape[0]):
            y = x[i]  # noqa: F841

    both("kernel 'nothing' writes no array", KernelError, X, out=[], kernel=nothing)


def test_errors_are_at_the_line():
    def f(x):
        return lm.call_kernel(saxpy, 1, x, out=Y)

    with pytest.raises(ShapeError) as caught:
        lm.jit(f)(X)
    assert "test_call_kernel.py" in str(caught.value) and "return lm.call_kernel(saxpy, 1, x, out=Y)" in str(caught.value)


def test_kernels_called_on_traced_arrays():
    message = r"kernel 'running' changes arrays in place.*call it with lamina.call_kernel\(running, ..., out=...\)"
    with pytest.raises(TracingError, match=message):
        lm.jit(lambda x: running(x, x))(X)
    with pytest.raises(TracingError, match=message):
        lm.jit(lambda x: running(x=X, y=x))(X)
    kept = []
    lm.jit(lambda x: kept.append(x) or x)(X)
    with pytest.raises(TracingError, match="has escaped"):
        lm.call_kernel(running, kept[0], out=Spec(3))
    with pytest.raises(TracingError, match="has escaped"):
        lm.jit(lambda x: lm.call_kernel(running, kept[0], out=Spec(3)))(Y)
