"""`jit`: specialization, caching, conversion of arguments, nesting, closures, lowering, errors, threads."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def counted(function: Any) -> tuple[Any, list[int]]:
    """The function, and a list that grows with every trace of it."""
    traces: list[int] = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        traces.append(1)
        return function(*args, **kwargs)

    return counting, traces


def test_one_specialization_for_each_dtype_and_shape() -> None:
    function, traces = counted(lambda x, y: x + y)
    f = lm.jit(function)
    for _ in range(3):
        for dtype in (np.float32, np.int64):
            for shape in ((2,), (3, 2)):
                x = np.ones(shape, dtype)
                np.testing.assert_array_equal(f(x, x), x + x)
                assert f(x, x).dtype == dtype
    assert len(traces) == 4


def test_numbers_are_weakly_typed_and_not_specialized_on() -> None:
    function, traces = counted(lambda x, rate: x * rate)
    f = lm.jit(function)
    for rate in (0.5, 2.0, 3.0):
        y = f(X, rate)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, X * np.float32(rate))
    assert f(X, 2).dtype == np.float32 and len(traces) == 2
    assert f(X, np.float64(2)).dtype == np.float64 and len(traces) == 3
    assert f(np.int32([1]), 2.5).dtype == np.float64
    assert f(np.int32([1]), True).dtype == np.int32


def test_arguments_of_any_layout() -> None:
    f = lm.jit(lambda x: x * 2)
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    odd = np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6)
    frozen = base.copy()
    frozen.flags.writeable = False
    for x in (
        base,
        base.T,
        base[::2, ::-1],
        base[:, 1],
        odd,
        base.astype(">f4"),
        frozen,
        np.asfortranarray(base),
    ):
        np.testing.assert_array_equal(f(x), np.asarray(x) * 2)
    np.testing.assert_array_equal(f(np.float32(3)), np.float32(6))
    assert f(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_objects_with_an_array_interface() -> None:
    class Wrapped:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return X

    np.testing.assert_array_equal(lm.jit(lambda x: x + 1)(Wrapped()), X + 1)


def test_trees_keywords_and_defaults() -> None:
    def function(params: Any, x: Any, scale: Any = 2.0, *, shift: Any = 0.0) -> Any:
        return {"y": x @ params["w"] * scale + shift, "none": None}, [params["b"]]

    f = lm.jit(function)
    params = {"w": np.ones((3, 2), np.float32), "b": np.zeros(2, np.float32)}
    for _ in range(2):
        for args, kwargs in [((params, X), {}), ((params, X, 3.0), {}), ((params,), {"x": X, "shift": 1.0})]:
            got, want = f(*args, **kwargs), function(*args, **kwargs)
            np.testing.assert_allclose(got[0]["y"], want[0]["y"])
            assert got[0]["none"] is None and got[0]["y"].dtype == np.float32
            np.testing.assert_array_equal(got[1][0], params["b"])
    reordered = {"b": params["b"], "w": params["w"]}
    np.testing.assert_allclose(f(reordered, X)[0]["y"], function(params, X)[0]["y"])


def test_shapes_that_alternate_in_a_tree() -> None:
    f = lm.jit(lambda p: {"s": p["x"].sum(), "n": lnp.zeros(p["x"].shape)})
    for n in (3, 4, 3, 5, 4, 3):
        out = f({"x": np.ones(n)})
        assert out["s"] == n and out["n"].shape == (n,)
    for tree in ({"x": np.ones(2)}, {"x": np.float32([1, 2])}):
        assert f(tree)["s"].dtype == tree["x"].dtype


def test_results_of_every_form() -> None:
    assert lm.jit(lambda x: None)(X) is None
    assert lm.jit(lambda x: ())(X) == ()
    assert isinstance(lm.jit(lambda x: (x,))(X), tuple)
    same = lm.jit(lambda x: (x, x, 1.0, np.float32(2), True))(X)
    assert [a.dtype for a in same] == [np.float32, np.float32, np.float64, np.float32, np.bool_]
    assert not np.shares_memory(same[0], X) and not np.shares_memory(same[0], same[1])
    assert lm.jit(lambda: lnp.arange(3))().tolist() == [0, 1, 2]
    scalar = lm.jit(lambda x: x.sum())(X)
    assert isinstance(scalar, np.ndarray) and scalar.shape == ()


def test_static_arguments() -> None:
    def function(x: Any, n: int, mode: str = "sum") -> Any:
        return getattr(x, mode)() * n if n > 1 else x

    f = lm.jit(function, static_argnums=(1,), static_argnames="mode")
    assert f(X, 2) == 30 and f(X, 3) == 45 and f(X, 2, "max") == 10 and f(X, 2, mode="min") == 0 and f(X, n=2) == 30
    assert f(X, 1).shape == (2, 3)
    with pytest.raises(TypeError, match=r"static argument 1 must be hashable, got list"):
        f(X, [1])
    with pytest.raises(TypeError, match=r"argument mode: expected an array or a number, got str: 'max'; make it static"):
        lm.jit(function, static_argnums=1)(X, 2, "max")


def test_decorator_with_options_and_metadata() -> None:
    @lm.jit(static_argnums=1)
    def scaled(x: Any, n: int) -> Any:
        """Doc."""
        return x * n

    assert scaled.__name__ == "scaled" and scaled.__doc__ == "Doc." and scaled.__wrapped__ is not None
    assert scaled(X, 2)[1, 2] == 10
    with pytest.raises(TypeError, match="jit takes a function, got int"):
        lm.jit(3)


def test_methods() -> None:
    class Model:
        @lm.jit
        def twice(self: Any, x: Any) -> Any:
            return x * self.factor

        factor = 2

    with pytest.raises(TypeError, match="argument self: expected an array"):
        Model().twice(X)


def test_nested_functions_are_traced_once_in_a_module() -> None:
    function, traces = counted(lambda x: lnp.tanh(x) + 1)
    inner = lm.jit(function)
    outer = lm.jit(lambda x: inner(inner(x)) + inner(x[0]))
    np.testing.assert_allclose(outer(X), np.tanh(np.tanh(X) + 1) + 1 + np.tanh(X[0]) + 1, rtol=1e-6)
    assert len(traces) == 2
    text = outer.lower(X).as_text()
    assert text.count("func.func private") == 2 and text.count("func.call") == 3


def test_closures() -> None:
    small, large = np.ones(3, np.float32), np.arange(3000, dtype=np.float32)
    f = lm.jit(lambda x: (x + small, (large * x[0, 1]).sum()))
    lowered = f.lower(X)
    assert "graph.const" in lowered.as_text() and len(lowered.traced.captured) == 1
    for _ in range(2):
        a, b = f(X)
        np.testing.assert_allclose(a, X + 1)
        assert b == large.sum()
    small[:], large[:] = 100, 100
    a, b = f(X)
    np.testing.assert_allclose(a, X + 1)
    assert b == np.arange(3000, dtype=np.float32).sum(), "arrays are taken as they were when traced"


def test_constants_differ_by_every_bit() -> None:
    for constant in (np.float32([0, -0.0]), np.float32([0, 0]), np.float32([np.nan, np.inf]), np.float32([-np.inf, 1])):
        got = lm.jit(lambda x, c=constant: x * c)(np.ones(2, np.float32))
        np.testing.assert_array_equal(got, constant)
        np.testing.assert_array_equal(np.signbit(got[0:2][got == got]), np.signbit(constant[constant == constant]))


def test_closures_over_traced_values() -> None:
    def outer(x: Any, y: Any) -> Any:
        inner = lm.jit(lambda z: z * x + y.sum())
        return inner(y) + inner(2.0)

    np.testing.assert_allclose(lm.jit(outer)(X, X), (X * X + 15) + (2 * X + 15))


def test_lowering_to_every_phase() -> None:
    lowered = lm.jit(lambda x: lnp.tanh(x).sum()).lower(X)
    marks = {
        "graph": "graph.tanh", "optimized": "graph.tanh", "loop": "loop.kernel", "scheduled": "vector<",
        "program": "arena(",
        "llvmir": "define void @main", "asm": ".globl",
    }  # fmt: skip
    for phase, mark in marks.items():
        text = lowered.as_text(phase)
        assert mark in text, phase
        assert text.startswith("builtin.module") or phase in ("llvmir", "asm"), phase
    with pytest.raises(ValueError, match="no phase 'nonsense' with a text; there are: graph, optimized"):
        lowered.as_text("nonsense")


def test_compiled_is_strict() -> None:
    compiled = lm.jit(lambda p, x: p["w"] * x).lower({"w": X}, lm.TensorSpec((3,), "float32")).compile()
    v = np.ones(3, np.float32)
    np.testing.assert_allclose(compiled({"w": X}, v), X)
    np.testing.assert_allclose(compiled({"w": X[::-1]}, v), X[::-1])
    with pytest.raises(TypeError, match=r"argument 'x': expected float32\[3\], got float64\[3\]"):
        compiled({"w": X}, np.ones(3))
    with pytest.raises(ValueError, match=r"argument 'p\['w'\]': expected float32\[2,3\], got float32\[3\]"):
        compiled({"w": v}, v)
    with pytest.raises(TypeError, match=r"got list|is compiled for arguments"):
        compiled({"w": X}, [1.0, 1.0, 1.0])
    with pytest.raises(TypeError, match=r"is compiled for arguments \(dict\(\['w'\]: \*\), \*\), got"):
        compiled({"v": X}, v)
    with pytest.raises(TypeError, match="is compiled for arguments"):
        compiled({"w": X})


def test_compiling_leaves_the_lowered_program_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", "0")  # so that it is compiled, not found
    lowered = lm.jit(lambda x: x + 1).lower(X)
    graph = lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(X), X + 1)
    assert lowered.as_text() == graph


def test_wrong_arguments() -> None:
    f = lm.jit(lambda x, y: x + y)
    f(X, X)
    with pytest.raises(TypeError, match=r"argument y: expected an array or a number, got str"):
        f(X, "a")
    with pytest.raises(lm.DTypeError, match=r"argument x: dtype \w+ is not supported"):
        f(np.clongdouble([1]), X)
    with pytest.raises(TypeError, match="masked array"):
        f(np.ma.masked_array(X), X)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f(X)
    with pytest.raises(lm.ShapeError, match="could not be broadcast"):
        f(X, np.ones((4, 5), np.float32))
    assert f(X, X)[1, 2] == 10


def test_lists_of_numbers_are_refused() -> None:
    f = lm.jit(lambda p, x: x * p["rates"][1])
    with pytest.raises(TypeError, match=r"argument x is a list of numbers: pass np\.array"):
        f({"rates": (0.5, 2.0)}, [1.0, 2.0])
    with pytest.raises(TypeError, match=r"argument p\['rates'\] is a list of numbers"):
        f({"rates": [0.5, 2.0]}, X)
    np.testing.assert_allclose(f({"rates": (0.5, 2.0)}, X), X * 2)
    np.testing.assert_allclose(f({"rates": [X, 2.0]}, X), X * 2)


def test_errors_in_a_trace_leave_no_trace() -> None:
    f = lm.jit(lambda x: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(X)
    assert lm.jit(lambda x: x + 1)(X)[0, 0] == 1


def test_many_threads() -> None:
    function, traces = counted(lambda p, x: {"y": p["w"] * x, "s": x.sum()})
    f = lm.jit(function)
    barrier = threading.Barrier(8)

    def work(k: int) -> bool:
        barrier.wait()
        x = np.full(5, k, np.float32)
        return all(f({"w": x}, x)["y"][0] == k * k and f({"w": x}, x)["s"] == 5 * k for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(traces) == 1


def python_calls(function: Any) -> int:
    """How many Python functions a call enters: the machine's load does not change it."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1  # the function given itself


def test_a_flat_call_enters_no_python() -> None:
    x = np.ones(8, np.float32)
    f = lm.jit(lambda x, y: x + y)
    f(x, x)
    tree = {f"w{k}": x for k in range(12)}
    g = lm.jit(lambda p, x, y: ({k: v + x for k, v in p.items()}, y))
    g(tree, x, x)
    if type(f).__name__ != "CtypesFunction" and os.environ.get("LAMINA_ENTRY") != "ctypes":
        assert python_calls(lambda: f(x, x)) == 0
    assert python_calls(lambda: g(tree, x, x)) <= 20


FUNCTIONS = {
    "elementwise": lambda x, y: lnp.tanh(x * y) * lm.nn.sigmoid(x) + lnp.exp(-abs(y)),
    "comparison": lambda x, y: lnp.where(x > y, x, -y),
    "softmax": lambda x, y: lm.nn.softmax(x - y, 0),
    "statistics": lambda x, y: (x.mean(0), y.var(1), x.std(), y.max(1), x.argmin(1)),
    "matmul": lambda x, y: x @ y.T + (x * y).sum(1),
    "shapes": lambda x, y: (lnp.concatenate([x[::-1], y.T.reshape(x.shape)], 1)[:, 1::2], lnp.pad(x, 1), lnp.tile(y, (2, 1))),
    "integers": lambda x, y: (x.astype(int) // 3, x.astype("int32") % 5, lnp.arange(7) * 2, lnp.eye(3)),
    "einsum": lambda x, y: lnp.einsum("ij,kj->ik", x, y),
    "roundings": lambda x, y: (lnp.round(x), lnp.floor(y), lnp.trunc(x), lnp.sign(y), x**3, lnp.sqrt(abs(y))),
    "hyperbolic": lambda x, y: (lnp.sinh(x), lnp.cosh(y), lnp.arcsinh(x), lnp.logaddexp(x, y), lnp.hypot(x, y)),
}


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("shape", [(2, 3), (7, 9), (1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_code_means_the_graph(name: str, dtype: str, shape: tuple[int, int], interpret: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(shape).astype(dtype), rng.standard_normal(shape).astype(dtype)
    if name == "integers":
        x, y = x * 10, y * 10
    got, want = lm.tree.leaves(lm.jit(FUNCTIONS[name])(x, y)), interpret(lm.make_graph(FUNCTIONS[name])(x, y), x, y)
    rtol = 2e-5 if dtype == "float32" else 1e-12
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


def test_text_for_another_target():
    lowered = lm.jit(lambda x, y: x * y + 1).lower(np.zeros(1000, np.float32), np.zeros(1000, np.float32))
    assert "v0.4s" not in lowered.as_text("asm", target="x86-64-v3")
    assert 'lamina.target = "x86-64-v4{l2=3M}"' in lowered.as_text("scheduled", target="x86-64-v4{l2=3M}")
    assert ".4s" in lowered.as_text("asm", target="aarch64")
    assert lm.target("x86-64-v3").vector_bits == 256 and lm.target() == lm.target("host")
    with pytest.raises(lm.CompileError, match="unknown target 'z80'"):
        lowered.as_text("asm", target="z80")
