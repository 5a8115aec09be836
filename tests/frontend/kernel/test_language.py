"""The language of kernels: each construct gives what Python gives, as machine code and as interpreted IR."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lamina as lm
import numpy as np
import pytest
from lamina.dialects.context import make_context
from lamina.dialects.parsing import parse_module
from lamina.errors import KernelError
from lamina.frontend.kernel.build import build_kernel

sys.path.insert(0, str(Path(__file__).parent))

from running import agree, by_interpreter, by_python, natively

TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])
FACTORS = (2.0, 3.0, 5.0)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {}


def case(*args: Any) -> Callable[[Any], Any]:
    """A kernel with the arguments of a call."""

    def add(function: Any) -> Any:
        CASES[function.__name__] = function, args
        return function

    return add


def floats(n: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n)


def integers(n: int = 9, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 10, n)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape)


def zeros_i(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int64)


@case(floats(), zeros(1))
def break_for(x: lm.f64["N"], o: lm.f64[1]):
    for i in range(len(x)):
        if x[i] > 0.5:
            break
        o[0] += x[i]


@case(floats(), zeros(1))
def continue_for(x: lm.f64["N"], o: lm.f64[1]):
    for i in range(len(x)):
        if x[i] > 0.5:
            continue
        o[0] += x[i]


@case(floats(), zeros(1))
def early_return(x: lm.f64["N"], o: lm.f64[1]):
    for i in range(len(x)):
        if x[i] > 0.5:
            o[0] = i
            return
    o[0] = -1


@case(zeros_i(1))
def while_true(o: lm.i64[1]):
    n = 27
    s = 0
    while True:
        if n == 1:
            break
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        s += 1
    o[0] = s


@case(floats(), zeros(1))
def for_else(x: lm.f64["N"], o: lm.f64[1]):
    for i in range(len(x)):
        if x[i] > 50:
            break
    else:
        o[0] = 1


@case(floats(), zeros_i(1))
def while_else(x: lm.f64["N"], o: lm.i64[1]):
    i = 0
    while i < len(x):
        if x[i] > 50:
            break
        i += 1
    else:
        o[0] = 1


@case(floats(), zeros_i(1))
def var_after_break(x: lm.f64["N"], o: lm.i64[1]):
    for i in range(len(x)):
        if x[i] > 0.5:
            break
    o[0] = i


@case(floats(), zeros_i(1))
def nested_break(x: lm.f64["N"], o: lm.i64[1]):
    c = 0
    for i in range(len(x)):
        for j in range(i):
            if x[j] > x[i]:
                break
            c += 1
    o[0] = c


@case(floats(), floats(9, 1), zeros(2))
def tuple_swap(x: lm.f64["N"], y: lm.f64["N"], o: lm.f64[2]):
    a, b = (x[0], y[0])
    for i in range(len(x)):
        a, b = (b, a + x[i])
    o[0], o[1] = (a, b)


@case(floats(), zeros(1))
def tuple_var(x: lm.f64["N"], o: lm.f64[1]):
    p = (x[0], x[1])
    o[0] = p[0] * p[1]


@case(floats(), zeros(1))
def tuple_unpack(x: lm.f64["N"], o: lm.f64[1]):
    p = (x[0], x[1])
    a, b = p
    o[0] = a - b


@case(floats(), zeros(1))
def tuple_nested(x: lm.f64["N"], o: lm.f64[1]):
    (a, b), c = ((x[0], x[1]), x[2])
    o[0] = a - b * c


@case(zeros_i(4))
def const_array(o: lm.i64[4]):
    for i in range(4):
        o[i] = TABLE[i]


@case(integers(), zeros_i(9))
def const_array_data(x: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        o[i] = TABLE[x[i] & 7]


@case(zeros(1))
def const_tuple(o: lm.f64[1]):
    o[0] = FACTORS[1] + FACTORS[-1]


@case(zeros(1))
def const_tuple_len(o: lm.f64[1]):
    s = 0.0
    for k in range(len(FACTORS)):
        s += FACTORS[k]
    o[0] = s


@case(zeros(1))
def const_tuple_iter(o: lm.f64[1]):
    s = 0.0
    for v in FACTORS:
        s += v
    o[0] = s


@case(zeros(2))
def const_2d(o: lm.f64[2]):
    for i in range(2):
        for j in range(2):
            o[i] += MATRIX[i, j]


def scaled(a, b):
    return a * 2 + b


def larger(a: float, b: float) -> float:
    if a > b:
        return a
    return b


def sum_and_difference(a, b):
    s = a + b
    d = a - b
    return (s, d)


def total(v):
    s = 0.0
    for k in range(len(v)):
        s += v[k]
    return s


def set_seven(v, k):
    v[k] = 7.0


def clamped(x, lo=0.0, hi=1.0):
    return min(max(x, lo), hi)


def first_above(x):
    for k in range(10):
        if x < k:
            return k
    return -1


@case(floats(), zeros(9))
def helper_plain(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        o[i] = scaled(x[i], 3.0)


@case(floats(), zeros(9))
def helper_if_return(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        o[i] = larger(x[i], 0.0)


@case(floats(), zeros(9))
def helper_tuple(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        s, d = sum_and_difference(x[i], 1.0)
        o[i] = s * d


@case(floats(), zeros(1))
def helper_array(x: lm.f64["N"], o: lm.f64[1]):
    o[0] = total(x)


@case(floats())
def helper_stmt(x: lm.f64["N"]):
    set_seven(x, 2)


@case(floats(), zeros(9))
def helper_default_kw(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        o[i] = clamped(x[i], hi=0.5) + clamped(x[i])


@case(floats() * 5, zeros_i(9))
def helper_loop_return(x: lm.f64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        o[i] = first_above(x[i])


@case(floats(12).reshape(3, 4), zeros(3))
def row_to_helper(x: lm.f64["M", "N"], o: lm.f64["M"]):
    for i in range(x.shape[0]):
        o[i] = total(x[i])


@case(floats(12).reshape(3, 4), zeros(3))
def slice_to_helper(x: lm.f64["M", 4], o: lm.f64["M"]):
    for i in range(x.shape[0]):
        o[i] = total(x[i, 1:])


@case(floats(12).reshape(3, 4), zeros(3))
def row_var(x: lm.f64["M", "N"], o: lm.f64["M"]):
    for i in range(x.shape[0]):
        row = x[i]
        o[i] = row[0] + row[1]


@case(floats(12).reshape(3, 4), zeros(3))
def double_subscript(x: lm.f64["M", "N"], o: lm.f64["M"]):
    for i in range(x.shape[0]):
        o[i] = x[i][1]


@case(floats(12).reshape(3, 4), zeros(4))
def col_view(x: lm.f64[3, "N"], o: lm.f64["N"]):
    for j in range(x.shape[1]):
        o[j] = total(x[:, j])


@case(floats(), zeros(9))
def step_slice(x: lm.f64[9], o: lm.f64[9]):
    v = x[::2]
    for i in range(len(v)):
        o[i] = v[i]


@case(floats(), zeros(1))
def neg_index(x: lm.f64[9], o: lm.f64[1]):
    o[0] = x[-1] + x[-2]


@case(floats(), zeros(1))
def neg_index_sym(x: lm.f64["N"], o: lm.f64[1]):
    if len(x) > 3:
        o[0] = x[-1]


@case(floats(), zeros(9))
def assign_slice(x: lm.f64["N"], o: lm.f64["N"]):
    o[:] = 3.0


@case(floats(), 3, zeros(9))
def symbolic_step(x: lm.f64["N"], s: lm.i64, o: lm.f64["N"]):
    for i in range(0, len(x), s):
        o[i] = x[i]


@case(floats(), zeros(1))
def assert_true(x: lm.f64["N"], o: lm.f64[1]):
    assert x[0] < 100, "too big"
    o[0] = 1


@case(floats(9), zeros_i(1))
def local_after_loop(x: lm.f64["N"], o: lm.i64[1]):
    for i in range(len(x)):
        t = i
    o[0] = t


@case(floats(9), zeros(1))
def cond_expr_tuple(x: lm.f64["N"], o: lm.f64[1]):
    a, b = (x[0], x[1]) if x[0] > x[1] else (x[1], x[0])
    o[0] = a - b


@case(floats(9), zeros(1))
def arr_size_ndim(x: lm.f64["N"], o: lm.f64[1]):
    o[0] = x.size + x.ndim


@case(floats(9), zeros(9))
def enumerate_loop(x: lm.f64["N"], o: lm.f64["N"]):
    for i, v in enumerate(x):
        o[i] = v * i


@case(floats(9), floats(9, 2), zeros(1))
def zip_loop(x: lm.f64["N"], y: lm.f64["N"], o: lm.f64[1]):
    s = 0.0
    for a, b in zip(x, y):  # noqa: B905
        s += a * b
    o[0] = s


@case(floats(9), zeros(1))
def iter_array(x: lm.f64["N"], o: lm.f64[1]):
    s = 0.0
    for v in x:
        s += v
    o[0] = s


@case(floats(9), zeros(9))
def prange_np_zeros(x: lm.f64["N"], o: lm.f64["N"]):
    t = np.zeros(4)
    for i in range(4):
        t[i] = x[i]
    for i in range(4):
        o[i] = t[3 - i]


@case(floats(9), zeros(9))
def np_empty_dtype(x: lm.f64["N"], o: lm.f64["N"]):
    t = np.empty((2, 2), np.float32)
    t[0, 0] = x[0]
    o[0] = t[0, 0]


@case(floats(9), zeros(9))
def np_zeros_like(x: lm.f64["N"], o: lm.f64["N"]):
    t = np.zeros_like(x)
    for i in range(len(x)):
        t[i] = x[i]
    for i in range(len(x)):
        o[i] = t[i]


@case(floats(9), zeros(9))
def reversed_range(x: lm.f64["N"], o: lm.f64["N"]):
    for i in reversed(range(len(x))):
        o[i] = x[i] + (o[i + 1] if i + 1 < len(x) else 0.0)


@case(floats(9), zeros(9))
def walrus(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        if (t := x[i]) > 0:
            o[i] = t


@case(integers(), zeros_i(9))
def match_stmt(x: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        match x[i]:
            case 1:
                o[i] = 10
            case 2 | 3:
                o[i] = 20
            case _:
                o[i] = 30


@case(integers(), zeros_i(9))
def in_tuple(x: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        o[i] = 1 if x[i] in (1, 3, 5) else 0


@case(integers(), zeros_i(9))
def int_truth(x: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        if x[i]:
            o[i] = 1


@case(integers(), zeros_i(9))
def while_int(x: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        n = abs(x[i])
        while n:
            o[i] += n & 1
            n >>= 1


@case(integers(), integers(9, 3), zeros_i(9))
def or_value(x: lm.i64["N"], y: lm.i64["N"], o: lm.i64["N"]):
    for i in range(len(x)):
        o[i] = x[i] or y[i]


@case(floats(), zeros(9))
def lambda_helper(x: lm.f64["N"], o: lm.f64["N"]):
    f = lambda t: t * t  # noqa: E731
    for i in range(len(x)):
        o[i] = f(x[i])


@case(floats(), zeros(9))
def inner_def(x: lm.f64["N"], o: lm.f64["N"]):

    def f(t):
        return t * t + 1

    for i in range(len(x)):
        o[i] = f(x[i])


@case(floats(), zeros(9))
def divmod_call(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        q, r = divmod(x[i], 0.3)
        o[i] = q + r


@case(floats(), zeros(9))
def chained_assign(x: lm.f64["N"], o: lm.f64["N"]):
    a = b = x[0]
    o[0] = a + b


@case(floats(), zeros(9))
def starred_unpack(x: lm.f64["N"], o: lm.f64["N"]):
    t = (x[0], x[1])
    o[0] = scaled(*t)


@case(integers().astype(np.int8), zeros_i(1))
def sum_i8(x: lm.i8["N"], o: lm.i64[1]):
    s = 0
    for i in range(len(x)):
        s += x[i]
    o[0] = s


@case(zeros(9))
def docstring_and_pass(o: lm.f64[9]):
    """Doc."""
    pass


@case(floats(), zeros(9))
def ann_local(x: lm.f64["N"], o: lm.f64["N"]):
    s: float = 0
    n: int = 3
    for i in range(len(x)):
        s += x[i]
    o[0] = s * n


@case(floats(), zeros(9))
def shape_unpack(x: lm.f64["N"], o: lm.f64["N"]):
    (n,) = x.shape
    for i in range(n):
        o[i] = 1


@case(floats(9), zeros(9))
def range_len_shape(x: lm.f64["N"], o: lm.f64["N"]):
    n = len(x)
    for i in range(1, n - 1):
        o[i] = (x[i - 1] + x[i] + x[i + 1]) / 3


@case(floats(9), zeros(9))
def global_tuple_unpack(x: lm.f64["N"], o: lm.f64["N"]):
    a, b, c = FACTORS
    o[0] = a * b * c


@case(floats(9), zeros(9))
def while_flag(x: lm.f64["N"], o: lm.f64["N"]):
    going = True
    i = 0
    while going:
        o[i] = x[i]
        i += 1
        going = i < len(x)


@case(floats(9), zeros(9))
def int_bool_arith(x: lm.f64["N"], o: lm.f64["N"]):
    c = 0
    for i in range(len(x)):
        c += x[i] > 0
    o[0] = c


@case(floats(9), zeros(9))
def local_list(x: lm.f64["N"], o: lm.f64["N"]):
    w = [1.0, 2.0, 1.0]
    for k in range(3):
        o[k] = w[k]


@case(floats(9), zeros(9))
def np_array_local(x: lm.f64["N"], o: lm.f64["N"]):
    w = np.array([1.0, 2.0, 1.0])
    for k in range(3):
        o[k] = w[k]


@case(floats(9), zeros(9))
def int_pow(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        o[i] = 2.0**i


@case(zeros_i(2))
def int_div_mod(o: lm.i64[2]):
    n = 17
    for k in range(2):
        o[k] = n // (k + 2) + n % (k + 2)


@case(floats(), zeros(9))
def max_many(x: lm.f64["N"], o: lm.f64["N"]):
    o[0] = max(x[0], x[1], x[2])


@case(floats(), zeros(9))
def max_of_tuple(x: lm.f64["N"], o: lm.f64["N"]):
    o[0] = max((x[0], x[1]))


@case(floats(), zeros(9))
def del_stmt(x: lm.f64["N"], o: lm.f64["N"]):
    t = x[0]
    o[0] = t
    del t


@case(floats(), zeros(9))
def augassign_slice(x: lm.f64["N"], o: lm.f64["N"]):
    for i in range(len(x)):
        o[i] -= x[i]
        o[i] /= 2


@case(floats(4).reshape(2, 2), zeros(9))
def flat_index(x: lm.f64[2, 2], o: lm.f64[9]):
    for i in range(2):
        for j in range(2):
            o[i * 2 + j] = x[i, j]


@case(floats(), zeros(9))
def fstring_assert(x: lm.f64["N"], o: lm.f64["N"]):
    assert x[0] < 100, f"x is {x[0]}"


@case(floats(), zeros(9))
def try_stmt(x: lm.f64["N"], o: lm.f64["N"]):
    k = 0
    while k < 3:
        k += 1
        if k == 2:
            continue
        o[k] = x[k]


@pytest.mark.parametrize("name", list(CASES))
def test_as_in_python(name: str) -> None:
    function, args = CASES[name]
    text = str(build_kernel(function))
    assert str(parse_module(make_context(), text)) == text
    given = list(args)
    want = by_python(function, given)
    agree(natively(function, given), want)
    agree(by_interpreter(function, given), want)


@lm.kernel
def total_of(x: lm.f64["N"]):
    s = 0.0
    for v in x:
        s += v
    return s


@lm.kernel
def ends_of(x: lm.f64["N"]):
    return x[0], x[-1]


@lm.kernel
def where_above(x: lm.f64["N"], limit: lm.f64 = 0.4):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


def test_results_and_defaults() -> None:
    x = floats()
    assert "where_above" in where_above.explain(x)
    (found,) = lm.tune(total_of, x, seconds=0.01)
    assert found.kernel == "total_of"
    for _ in range(3):
        assert total_of(x) == sum(x.tolist()) and type(total_of(x)) is np.float64
        assert ends_of(x) == (x[0], x[8])
        assert where_above(x) == np.argmax(x > 0.4)
        assert where_above(x, 5.0) == -1 and where_above(x, limit=1.0) == np.argmax(x > 1.0)
        assert where_above(limit=1.0, x=x, threads=2) == np.argmax(x > 1.0)


@lm.kernel
def positive(x: lm.f64["N"], y: lm.f64["N"]):
    for i in lm.parallel(len(x)):
        assert x[i] > 0, "not positive"
        y[i] = math.sqrt(x[i])


@lm.kernel
def known_kind(kind: int, y: lm.f64[1]):
    if kind == 1:
        y[0] = 1.0
    elif kind == 2:
        y[0] = 2.0
    else:
        raise ValueError("kind is 1 or 2")


@lm.kernel
def of_python_types(x: lm.f64["N"], a: float, n: int, is_on: bool, y: lm.f64["N"]):
    for i in range(len(x)):
        y[i] = a * x[i] + n if is_on else 0.0


def test_annotations_of_python() -> None:
    x, y = floats(), zeros(9)
    of_python_types(x, 2.5, 3, True, y)
    assert np.array_equal(y, 2.5 * x + 3)


def test_exceptions() -> None:
    y = zeros(1000)
    positive(np.ones(1000), y)
    assert (y == 1).all()
    with pytest.raises(AssertionError, match="not positive"):
        positive(np.where(np.arange(1000) == 700, -1.0, 1.0), y)
    one = zeros(1)
    known_kind(2, one)
    assert one[0] == 2
    with pytest.raises(ValueError, match="kind is 1 or 2") as caught:
        known_kind(3, one)
    assert "known_kind" in caught.value.__notes__[0]


def test_a_constant_table_is_part_of_what_identifies_a_kernel() -> None:
    """Two processes may have another table under the same name, and one cache."""
    from lamina.frontend.kernel.facts import facts_of

    global TABLE
    before, texts = TABLE, []
    try:
        for last in (6, 7):
            TABLE = np.array([3, 1, 4, 1, 5, 9, 2, last])
            texts.append(facts_of(CASES["const_array"][0]))
    finally:
        TABLE = before
    assert None not in texts and texts[0] != texts[1]


@lm.kernel
def interleaved(x: lm.f64["N"], y: lm.f64["M"], z: lm.f64["N + M"], pairs: lm.f64["2*K"]):
    for i in range(N):
        z[i] = x[i]
    for i in range(M):
        z[N + i] = y[i]
    for i in range(K):
        pairs[2 * i], pairs[2 * i + 1] = pairs[2 * i + 1], pairs[2 * i]


@lm.kernel
def through(x: lm.f64["N"], z: lm.f64["2*N"], p: lm.f64[4]):
    interleaved(x, x, z, p)


def test_sizes_that_follow_from_others() -> None:
    x, y, z, p = floats(3), floats(2), zeros(5), np.arange(6.0)
    interleaved(x, y, z, p)
    assert np.array_equal(z, [*x, *y]) and p.tolist() == [1, 0, 3, 2, 5, 4]
    with pytest.raises(ValueError, match=r"the size of dim 0 of 'z' must be N \+ M"):
        interleaved(x, y, zeros(6), p)
    with pytest.raises(ValueError, match=r"the size of dim 0 of 'pairs' must be 2\*K"):
        interleaved(x, y, z, zeros(5))
    z, p = zeros(6), np.arange(4.0)
    through(x, z, p)
    assert np.array_equal(z, [*x, *x]) and p.tolist() == [1, 0, 3, 2]


T, U = lm.dtype("T"), lm.dtype("U", lm.f32, lm.f64)


@lm.kernel
def scaled_sum(a: T, x: T["N"], out: U[1]):
    total = T(0)
    for v in x:
        total += a * v
    out[0] = float(total)


def test_kernels_of_several_element_types() -> None:
    for dtype in (np.float32, np.float64, np.int32, np.uint8):
        x, out = np.arange(5).astype(dtype), np.zeros(1, np.float32)
        scaled_sum(2, x, out)
        assert out[0] == 20
    kernel = scaled_sum.specialize(T=lm.f32, U=lm.f64)
    assert "memref<?xf32>" in kernel.as_text() and kernel is scaled_sum.specialize(U=lm.f64, T=lm.f32)
    with pytest.raises(KernelError, match="U is one of f32, f64, got i64"):
        scaled_sum(2, np.ones(3), np.zeros(1, np.int64))
    with pytest.raises(TypeError, match="no array of the call says what U is"):
        scaled_sum(2, np.ones(3), 3)


@lm.kernel
def julia(c: lm.complex128["M"], steps: lm.i64["M"], last: lm.complex64["M"]):
    for i in lm.parallel(len(c)):
        z = 0j
        for k in range(50):  # noqa: B007
            z = z * z + c[i]
            if abs(z) > 2.0:
                break
        steps[i] = k
        last[i] = z.conjugate() / (1 + c[i]) - 2j


@lm.kernel
def fourier(x: lm.complex128["N"], y: lm.complex128["N"]):
    for k in range(N):
        s = complex(0.0)
        for j in range(N):
            angle = -2 * np.pi * k * j / N
            s += x[j] * complex(np.cos(angle), np.sin(angle))
        y[k] = s
        y[k] *= 2


@lm.kernel
def parts(x: lm.complex64["N"], y: lm.complex64[2, "N"]):
    t = np.zeros_like(x)
    for i in range(len(x)):
        t[i] = -(x[i] ** 2)
        if x[i] == 1 + 1j:
            t[i] = 3
    y[0] = t
    y[1, :] = 1.5
    a, b = x[0], x[1]
    if abs(a) > abs(b):
        y[1, 0] = a
    else:
        y[1, 0] = b.real + 1j * b.imag


def test_complex_numbers() -> None:
    rng = np.random.default_rng(0)
    c = rng.normal(size=50) + 1j * rng.normal(size=50)
    steps, last = np.zeros(50, np.int64), np.zeros(50, np.complex64)
    julia(c, steps, last)
    for i, one in enumerate(c.tolist()):
        z, k = 0j, 0
        for k in range(50):  # noqa: B007
            z = z * z + one
            if abs(z) > 2.0:
                break
        assert steps[i] == k and np.allclose(last[i], np.complex64(z.conjugate() / (1 + one) - 2j))
    x = rng.normal(size=16) + 1j * rng.normal(size=16)
    y = np.zeros(32, complex)
    fourier(x[::-1], y=y[::2])  # neither is contiguous
    assert np.allclose(y[::2], 2 * np.fft.fft(x[::-1])) and not y[1::2].any()
    x, y = np.array([1 + 1j, 2 - 1j], np.complex64), np.zeros((2, 2), np.complex64)
    parts(x, y)
    assert y.tolist() == [[3, -3 + 4j], [2 - 1j, 1.5]]
    with pytest.raises(TypeError, match="argument 'x' must be an array of complex64, got complex128"):
        parts(x.astype(complex), y)
