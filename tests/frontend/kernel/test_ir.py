"""The IR that Python source becomes: what is a reduction, an fma, a bound; names, memory spaces, types and locations of ops."""

# ruff: noqa: B007, F841  kernels are read, not run

from __future__ import annotations

import linecache
import math
import re
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.loop.loops import ForOp, IfOp, KernelOp, WhileOp, YieldOp
from lamina.dialects.loop.memory import AllocOp, LoadOp
from lamina.dialects.types import f32, f64, i1, i32, i64
from lamina.executor.kernels import find_kernel
from lamina.frontend.kernel.build import build_kernel
from lamina.runtime.module_signatures import kernel_signature_of
from xdsl.dialects.builtin import FileLineColLoc


def kernel_of(function: Any) -> KernelOp:
    return find_kernel(build_kernel(function))


def ops(function: Any, kind: Any) -> list[Any]:
    """The ops of a kernel of a class or of a name, in order."""
    return [op for op in kernel_of(function).walk() if op.name == kind or (isinstance(kind, type) and isinstance(op, kind))]


def header(loop: ForOp) -> str:
    """The line of a loop, without its body."""
    return str(loop).split("\n")[0].removesuffix(" {")


# -- the example of docs/kernels.md


def matmul(A: lm.f32["M", "K"], B: lm.f32["K", "N"], C: lm.f32["M", "N"]):
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]


MATMUL = """\
loop.kernel @matmul(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %M: index, %K: index, %N: index)
  shapes(%A[%M, %K], %B[%K, %N], %C[%M, %N]) {
  loop.for seq %i = 0 to %M {
    loop.for seq %j = 0 to %N {
      loop.for seq %k = 0 to %K {
        %0 = loop.load %C[%i, %j] : memref<?x?xf32>
        %1 = loop.load %A[%i, %k] : memref<?x?xf32>
        %2 = loop.load %B[%k, %j] : memref<?x?xf32>
        %3 = math.fma %1, %2, %0 : f32
        loop.store %3, %C[%i, %j] : memref<?x?xf32>
      }
    }
  }
}"""


def test_matmul_is_the_example_of_the_documentation() -> None:
    assert str(kernel_of(matmul)).split() == MATMUL.split()


def test_signature() -> None:
    signature = kernel_signature_of(kernel_of(matmul))
    assert str(signature) == "matmul(A: float32[M,K], B: float32[K,N], C: inout float32[M,N])"
    assert signature.symbols == ("M", "K", "N")


# -- reductions


def add(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        s += x[k]
    y[0] = s


def subtract(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        s -= x[k] * 2
    y[0] = s


def multiply(x: lm.f32["N"], y: lm.f32["N"]):
    s = lm.f64(1)
    for k in range(N):
        s *= x[k]
    y[0] = s


def extremes(x: lm.f32["N"], y: lm.f32["N"]):
    low = math.inf
    for k in range(N):
        low = min(x[k], low)
    high = -np.inf
    for k in range(N):
        high = np.maximum(high, x[k])
    y[0] = high - low


def two_sums(x: lm.f32["N"], y: lm.f32["N"]):
    s, t = 0.0, 0
    for k in range(N):
        v = x[k] * x[k]
        s += v
        t -= k
        y[k] = v
    y[0] = s * t


def sum_in_loop(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for i in range(N):
        for j in range(i):
            s += x[j]
    y[0] = s


def counted(x: lm.f32["N"], y: lm.f32["N"]):
    n = 0
    for k in range(N):
        n += int(x[k] > 0)
    y[0] = n


@pytest.mark.parametrize(
    ("function", "loops"),
    [
        (add, ["reduce<add> %k = 0 to %N init %0 : f32"]),
        (subtract, ["reduce<add> %k = 0 to %N init %0 : f32"]),
        (multiply, ["reduce<mul> %k = 0 to %N init %s : f64"]),
        (
            extremes,
            ["reduce<min> %k = 0 to %N init %0 : f32", "reduce<max> %k2 = 0 to %N init %0 : f32"],
        ),
        (two_sums, ["reduce<add> %k = 0 to %N init %0 : f32, %0 : i64"]),
        (
            sum_in_loop,
            ["seq %i = 0 to %N carry %s = %0 : f32", "reduce<add> %j = 0 to %i init %s : f32"],
        ),
        (counted, ["reduce<add> %k = 0 to %N init %0 : i64"]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_is_a_reduction(function: Any, loops: list[str]) -> None:
    found = [header(loop).partition("loop.for ")[2] for loop in ops(function, ForOp)]
    assert [re.sub(r"%\d+", "%0", one).replace("%s_1", "%s") for one in found] == loops


def read_inside(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        s += x[k]
        y[k] = s


def twice(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        s += x[k]
        s += y[k]
    y[0] = s


def under_an_if(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        if x[k] > 0:
            s += x[k]
    y[0] = s


def of_two_kinds(x: lm.f32["N"], y: lm.f32["N"]):
    s, p = 0.0, 1.0
    for k in range(N):
        s += x[k]
        p *= x[k]
    y[0] = s + p


def of_itself(x: lm.f32["N"], y: lm.f32["N"]):
    s = 1.0
    for k in range(N):
        s += s * x[k]
    y[0] = s


def spelled_out(x: lm.f32["N"], y: lm.f32["N"]):
    s = 0.0
    for k in range(N):
        s = s + x[k]
    y[0] = s


@pytest.mark.parametrize("function", [read_inside, twice, under_an_if, of_two_kinds, of_itself, spelled_out])
def test_is_carried(function: Any) -> None:
    (loop,) = ops(function, ForOp)
    assert loop.kind.data == "seq" and loop.monoid is None
    assert [a.name_hint for a in loop.body.block.args[1:]] == [r.name_hint for r in loop.results] != []


# -- fused multiply-adds


def fused(x: lm.f32["N"], y: lm.f32["N"], z: lm.f64["N"], k: lm.i64["N"]):
    for i in range(N):
        y[i] += x[i] * 2  # fma
        z[i] += 0.5 * z[i]  # fma
        z[i] += x[i] * y[i]  # the product is one of float32
        y[i] -= x[i] * x[i]
        y[i] = x[i] * x[i] + y[i]
        k[i] += k[i] * 3
        s = x[i]
        s += x[i] * x[i]  # fma
        y[i] += i * i
        y[i] += s


def test_fma_is_what_adds_a_product_of_floats_of_the_same_type() -> None:
    lines = [op.location.line.data for op in ops(fused, "math.fma")]
    first = fused.__code__.co_firstlineno
    assert [linecache.getline(__file__, line).rpartition("#")[2].strip() for line in lines] == ["fma"] * 3
    assert lines == sorted(lines) and lines[0] == first + 2


# -- loops: bounds, kinds, names


def bounds(x: lm.f32["N"], y: lm.f32["M"], n: lm.i64):
    for a in range(N):
        pass
    for b in range(2, N - 1, 3):
        pass
    for c in range(N - 1, -1, -1):
        x[c] = 0
    for d in lm.parallel(N // 2):
        pass
    for e in range(0, N, 16):
        for f in range(max(0, e - 1), min(N, e + 16, M + 1)):
            pass
        rest = min(16, N - e)
        for g in range(rest):
            pass
        for h in range(N - rest, N):
            pass
    for p, q in lm.grid(2 * M, min(N, 7)):
        pass
    for r in range(n):
        pass


def test_bounds_stay_affine() -> None:
    assert [header(loop) for loop in ops(bounds, ForOp)] == [
        "loop.for seq %a = 0 to %N",
        "loop.for seq %b = 2 to %N - 1 step 3",
        "loop.for seq %c = 0 to %N",
        "loop.for parallel %d = 0 to %N floordiv 2",
        "loop.for seq %e = 0 to %N step 16",
        "loop.for seq %f = max(0, %e - 1) to min(%N, %e + 16, %M + 1)",
        "loop.for seq %g = 0 to min(16, %N - %e)",
        "loop.for seq %h = max(%N - 16, %e) to %N",
        "loop.for seq %p = 0 to %M * 2",
        "loop.for seq %q = 0 to min(%N, 7)",
        "loop.for seq %r = 0 to %0",
    ]


def names(x_: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        for i_1 in range(2):
            x_[i] = i_1
    for i in range(N):
        t = lm.zeros(3)
        x_[i] = t[0]
    for _ in range(N):
        pass
    for t2 in range(N):
        t = lm.zeros(3)
        y[t2] = t[1]
    for ä in range(N):
        pass


def test_loops_have_names_of_their_own_that_printing_keeps() -> None:
    found = [loop.index.name_hint for loop in ops(names, ForOp)]
    assert found == ["i", "i2", "i3", "tx", "loop", "t2", "tx2", "loop2"]


# -- subscripts


def subscripts(x: lm.f32["K"], n: lm.i64["N"]):
    for i in range(N):
        k = 2 * i + 1
        x[k] = x[N - 1 - i] + x[(i + 3) // 4] + x[3 * k % 5] + x[(8 * i + N) // 4] + x[k % 2] + x[i // N]
        x[n[i]] = x[lm.i64(i)] + x[int(k)]


def test_subscripts_stay_affine() -> None:
    loads = [str(op).partition(":")[0].partition("= ")[2].strip() for op in ops(subscripts, LoadOp)]
    assert [re.sub(r"%\d+", "%n", text.removeprefix("loop.load ")) for text in loads] == [
        "%x[%N - %i - 1]",
        "%x[(%i + 3) floordiv 4]",
        "%x[((%i * 6) + 3) mod 5]",
        "%x[(%i * 2) + (%N floordiv 4)]",
        "%x[1]",
        "%x[%n]",
        "%x[%i]",
        "%x[%i * 2 + 1]",
        "%n[%i]",
    ]


# -- conditions


def one_of_two_numbers(x: lm.f32["N"]):
    for i in range(N):
        w = 2.0 if x[i] > 0 else 3
        if x[i] > 1:
            v = 0.5
        else:
            v = 0.25
        x[i] = v * w


def test_one_of_two_numbers_takes_the_type_of_what_it_meets() -> None:
    found = ops(one_of_two_numbers, "arith.select")
    assert [op.results[0].type for op in found] == [f64, f64]  # two numbers meet, as in Python
    (truncated,) = ops(one_of_two_numbers, "arith.truncf")
    assert truncated.results[0].type == f32


def guarded(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        y[i] = x[i - 1] if i > 0 else 0
        y[i] = x[i] if x[i] > 0 and i > 2 else -x[i]
        if i + 1 < N and x[i + 1] > 0:
            y[i] = 1


def test_what_reads_memory_waits_for_its_condition() -> None:
    assert len(ops(guarded, IfOp)) == 4  # both x[i - 1] and x[i + 1], the reads of x[i], and the statement
    assert len(ops(guarded, "arith.select")) == 0


def constant_condition(x: lm.f32["N"]):
    if math.pi > 3:
        x[0] = 1
    else:
        x[0] = undefined  # never read
    y = 2 if False else 3
    x[1] = y


def test_a_known_condition_leaves_one_branch() -> None:
    assert ops(constant_condition, IfOp) == []


# -- places of local arrays


def places(x: lm.f32["N"]):
    a = lm.empty((8, 16), lm.f32)
    b = lm.empty((N + 1, 4), lm.f64)
    c = lm.empty((64, 65))
    d = lm.empty(x.shape, dtype=lm.bool_)
    e = lm.empty((), lm.i32)


def test_places_of_local_arrays() -> None:
    found = [str(op).partition(" = ")[2] for op in ops(places, AllocOp)]
    assert [re.sub(r"%\d+", "%n", text) for text in found] == [
        "loop.alloc stack : memref<8x16xf32>",
        "loop.alloc scratch(%n) : memref<?x4xf64>",
        "loop.alloc scratch : memref<64x65xf32>",
        "loop.alloc scratch(%N) : memref<?xi1>",
        "loop.alloc stack : memref<i32>",
    ]


# -- types: NumPy's, of the same expression

LEAVES = {"x[0]": f32, "d[0]": f64, "m[0]": i32, "n[0]": i64, "b[0]": i1, "i": "int", "2": "int", "0.5": "float"}


def test_operands_meet_in_numpys_types(tmp_path: Any) -> None:
    """Every pair of operands under every operator: the type of the result is that of NumPy, where it has one."""
    dtypes = {"x": np.float32, "d": np.float64, "m": np.int32, "n": np.int64, "b": np.bool_}
    arrays = {name: np.ones(1, dtype) for name, dtype in dtypes.items()}
    rows = [(f"{u} {op} {v}", op) for u in LEAVES for v in LEAVES for op in ("+", "*", "/", "//", "<", "-")]
    rows += [(f"np.{f}({u}, {v})", f) for u in LEAVES for v in LEAVES for f in ("minimum", "maximum")]
    body, wanted = [], {}
    for k, (text, op) in enumerate(rows):
        try:
            result = eval(text, dict(arrays, i=3, np=np))
        except TypeError:  # NumPy does not subtract booleans
            continue
        if op in ("/", "//") and "b[0]" in text:
            continue  # int8 and float16 in NumPy
        wanted[f"r{k}"] = (text, result)
        body.append(f"        r{k} = {text}\n")
    header = ", ".join(f"{name}: lm.{a}['N']" for name, a in zip(dtypes, ("f32", "f64", "i32", "i64", "bool_"), strict=True))
    source = f"import lamina as lm\nimport numpy as np\ndef k({header}):\n    for i in range(N):\n{''.join(body)}"
    path = tmp_path / "pairs.py"
    path.write_text(source)
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    types = {r.name_hint: r.type for op in kernel_of(space["k"]).walk() for r in op.results}
    ours = {np.dtype(np.float32): f32, np.dtype(np.float64): f64, np.dtype(np.int32): i32, np.dtype(np.int64): i64}
    wrong = []
    for name, (text, result) in wanted.items():
        if name not in types:  # a number, or an index expression
            assert isinstance(result, int | float | np.integer), text
            continue
        want = ours.get(np.asarray(result).dtype, i1)
        if {"m[0]", "i"} <= set(re.findall(r"\w+\[0\]|\bi\b", text)) and want == i32:
            want = i64  # i32 with an index is i64, so that subscripts do not overflow
        if types[name] != want and text.count("b[0]") < 2:  # True + True is 2, as in Python
            wrong.append(f"{text}: {types[name]}, NumPy {want}")
    assert wrong == []


def weak(x: lm.f32["N"], y: lm.f32["N"]):
    for i in range(N):
        h = 1.0 / (i + 1)
        a = h * x[i]
        n = 0
        while n < 3:
            n += 1
        c = n * x[i]
        g = float(x[i])
        e = g * x[i]
        f = lm.f64(x[i]) * x[i]
        y[i] = a + c + e + f


def test_what_is_a_number_in_python_is_weak() -> None:
    types = {r.name_hint: r.type for op in kernel_of(weak).walk() for r in op.results}
    assert [types[name] for name in "hacef"] == [f64, f32, f32, f32, f64]


# -- locations


def located(x: lm.f32["N"], A: lm.f64["M", "N"]):
    """Each op that computes something names the expression."""
    t = lm.zeros((2, N), lm.f64)
    s = 0.0
    for i in range(N - 1, -1, -1):
        s += x[i] * x[i]
        if x[i] > 0.5:
            t[1, i] = A[0, i] + (s / (i + 1))
    n = 3
    while n < s:
        n = n + 1
    for a, b in lm.grid(A.shape):
        A[a, b] = math.exp(t[0, b]) if a > n else 0.0


def test_every_op_has_a_location() -> None:
    text = {"math.exp": "math.exp(t[0, b])", "arith.divf": "s / (i + 1)", "loop.while": "while n < s:"}
    seen = set()
    for op in kernel_of(located).walk():
        location = getattr(op, "location", None)
        assert isinstance(location, FileLineColLoc), op.name
        assert location.filename.data == __file__
        line = linecache.getline(__file__, location.line.data)
        if op.name in text:
            assert line[location.column.data - 1 :].startswith(text[op.name])
            seen.add(op.name)
    assert seen == set(text)


def test_columns_count_characters(tmp_path: Any) -> None:
    path = tmp_path / "wide.py"
    source = (
        "import lamina as lm\nif 1:\n    class K:\n"
        "      # ä comment\n      def k(x: lm.f32['N']):\n   # less indented\n"
        "        größe = 2.0; x[0] = größe * x[1]\n"
    )
    path.write_text(source, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    (product,) = ops(space["K"].k, "arith.mulf")
    place = product.location
    assert (place.line.data, place.column.data) == (7, source.split("\n")[6].index("größe * x") + 1)


def test_reading_on_trial_leaves_nothing_behind() -> None:
    kernel = kernel_of(located)
    inside = set(kernel.walk())
    for op in inside:
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            assert all(use.operation in inside for use in value.uses)


def test_nests_are_read_in_little_time() -> None:
    loops = [op for op in ops(deep, ForOp) if isinstance(op.body.block.last_op, YieldOp)]
    assert len(loops) == 5 and not ops(deep, WhileOp)


def deep(x: lm.f32["N"]):
    s, t = 0, 0.0
    for a in range(N):
        for b in range(a):
            for c in range(b):
                for d in range(c):
                    for e in range(d):
                        s = s + 1
                        t = t * x[e] + s
    x[0] = t
