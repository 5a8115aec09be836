"""Effects of programs: printing, checks and callbacks, in loops and branches, under derivatives and batches, from threads."""

from __future__ import annotations

import threading
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina.errors import CheckError, CompileError, DifferentiationError

X = np.float32([1, 2, 3])


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def told(name: str, function: Any) -> Any:
    """The function of one array, which prints what it gets."""

    def telling(x: Any) -> Any:
        lm.debug.print(name + " {}", x)
        return function(x)

    return telling


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    @lm.jit
    def f(x: Any, k: Any, flags: Any) -> Any:
        lm.debug.print("x = {x}, {:.2f} {{k}} {k:>4}", x[0] / 3, x=x, k=k)
        lm.debug.print("{0} and {0!r}", flags)
        lm.debug.print("{}", x.sum())
        lm.debug.print("{}", x.sum())  # equal effects are two
        lm.debug.print("{0[a][1]} {1}", {"a": x}, "text")  # trees, and what is no array
        lm.debug.print("no values")
        return x * k

    for _ in range(2):
        np.testing.assert_array_equal(f(X, np.int32(7), np.array([True, False])), X * 7)
        flags = np.array([True, False])
        wanted = ["x = [1. 2. 3.], 0.33 {k}    7", f"{flags} and {flags!r}", "6.0", "6.0", "2.0 text", "no values"]
        assert lines(capsys) == wanted
    lm.debug.print("x = {x}", x=X)  # outside of a trace: at once
    assert lines(capsys) == ["x = [1. 2. 3.]"]


@pytest.mark.parametrize("text", ["{} {}", "{x}", "{0} {3}", "{"])
def test_format_that_names_what_is_not_given(text: str) -> None:
    with pytest.raises(ValueError, match=r"message names|expected '}'|Single"):
        lm.jit(lambda x: lm.debug.print(text, x))(X)
    with pytest.raises(ValueError, match=r"message names|expected '}'|Single"):
        lm.check(True, text, X)


def test_effects_of_loops_and_branches_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            lm.debug.print("step {}", i)
            return lm.cond(c > 2, told("down", lambda c: c - 1), told("up", lambda c: c + 2), c)

        y = lm.fori_loop(0, 3, step, x)
        lm.debug.print("between")
        z = lm.while_loop(told("going", lambda c: c < 4), lambda c: c + 1, y)
        lm.scan(lambda c, v: (c, lm.debug.print("slice {}", v)), 0, np.arange(2))  # nothing is used of it
        lm.fori_loop(0, 0, lambda i, c: (lm.debug.print("never"), c)[1], x)
        return z

    wanted = ["step 0", "up 1.0", "step 1", "down 3.0", "step 2", "up 2.0", "between", "going 4.0", "slice 0", "slice 1"]
    assert lm.jit(f)(np.float32(1)) == 4
    assert lines(capsys) == wanted
    assert lm.jit(f).lower(np.float32(1)).as_text("graph").count("graph.print") == 7
    value, slope = lm.value_and_grad(lambda x: lm.fori_loop(0, 2, lambda i, c: (lm.debug.print("c {}", c), c * c)[1], x))(
        np.float32(3)
    )
    assert (value, slope) == (81, 108)
    assert lines(capsys) == ["c 3.0", "c 9.0"]  # what reverse mode computes again it does not print again


def test_print_under_transformations(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        lm.debug.print("x {}", x)
        return x * x

    assert lm.grad(f)(np.float32(3)) == 6
    assert lines(capsys) == ["x 3.0"]
    assert lm.jvp(f, (np.float32(3),), (np.float32(1),)) == (9, 6)
    assert lines(capsys) == ["x 3.0"]
    np.testing.assert_array_equal(lm.jit(lm.vmap(lm.grad(f)))(X), 2 * X)
    assert lines(capsys) == ["x 1.0", "x 2.0", "x 3.0"]
    lm.vmap(lambda x, y: f(x) + y, in_axes=(None, 0))(np.float32(1), X)  # the same for all: once
    assert lines(capsys) == ["x 1.0"]
    lm.vmap(lm.vmap(f))(np.float32([[1, 2], [3, 4]]))
    assert lines(capsys) == ["x 1.0", "x 2.0", "x 3.0", "x 4.0"]
    lm.grad(lambda x: lm.cond(x > 0, f, lambda x: -x, x))(np.float32(3))
    assert lines(capsys) == ["x 3.0"]


def test_effects_of_mapped_branches_and_loops_are_those_of_the_elements(capsys: pytest.CaptureFixture[str]) -> None:
    def yes(x: Any) -> Any:
        lm.debug.print("yes {}", x)
        lm.check(x > 0, "not positive: {}", x)
        return x

    def no(x: Any) -> Any:
        lm.debug.print("no {}", x)
        return -x

    mapped = lm.vmap(lambda x: lm.cond(x > 0, yes, no, x))
    np.testing.assert_array_equal(mapped(np.float32([1, -2, 3])), [1, 2, 3])
    assert sorted(lines(capsys)) == ["no -2.0", "yes 1.0", "yes 3.0"]
    switch = lm.vmap(lambda k, x: lm.switch(k, [no, yes, lambda x: (lm.debug.print("third"), x)[1]], x))
    np.testing.assert_array_equal(switch(np.array([-5, 1, 9]), X), [-1, 2, 3])
    assert sorted(lines(capsys)) == ["no 1.0", "third", "yes 2.0"]

    def body(x: Any) -> Any:
        lm.debug.print("at {}", x)
        return x * 2

    loop = lm.vmap(lambda x: lm.while_loop(lambda x: (lm.debug.print("is {}", x), x < 5)[1], body, x))
    np.testing.assert_array_equal(loop(np.float32([1, 6])), [8, 6])
    assert lines(capsys) == ["is 1.0", "is 6.0", "at 1.0", "is 2.0", "at 2.0", "is 4.0", "at 4.0", "is 8.0"]
    counted = lm.vmap(lambda n, x: lm.fori_loop(0, n, lambda i, x: body(x), x))
    np.testing.assert_array_equal(counted(np.array([0, 2]), np.float32([1, 1])), [1, 4])
    assert lines(capsys) == ["at 1.0", "at 2.0"]
    with pytest.raises(CompileError, match="each element of the batch takes its own"):
        lm.vmap(lambda x: lm.cond(x > 0, lambda x: lm.fori_loop(0, 2, lambda i, x: body(x), x), no, x))(X)


def test_checks(capsys: pytest.CaptureFixture[str]) -> None:
    @lm.jit
    def f(x: Any) -> Any:
        lm.debug.print("before")
        lm.check(x > 0, "x is {x}, {:.1f}", x[0], x=x)
        lm.debug.print("after")
        return lm.error_if(x, x > 10, "{large}") * 2

    np.testing.assert_array_equal(f(X), X * 2)
    assert lines(capsys) == ["before", "after"]
    for _ in range(2):  # and the function can be called again
        with pytest.raises(CheckError, match=r"^x is \[-1\.  2\.\], -1\.0$") as raised:
            lm.jit(f)(np.float32([-1, 2]))
        assert isinstance(raised.value, RuntimeError)
        assert lines(capsys) == ["before"]
    with pytest.raises(CheckError, match=r"^{large}$"):
        f(np.float32([1, 11, 1]))
    np.testing.assert_array_equal(f(X), X * 2)
    out = np.zeros(3, np.float32)
    assert f(X, out=out) is out
    with pytest.raises(CheckError):
        f(-X, out=out)
    with pytest.raises(TypeError, match="needs a condition of bools, got float32"):
        lm.check(X, "no")
    with pytest.raises(TypeError, match="takes arrays and numbers as values of its message, got str"):
        lm.check(True, "{}", "text")
    with pytest.raises(CheckError, match=r"^no 1$"):
        lm.check(X < 2, "no {}", 1)  # outside of a trace
    assert lm.error_if(3, np.False_, "no") == 3


def test_checks_of_loops_end_them() -> None:
    def f(n: Any, x: Any) -> Any:
        def step(c: Any) -> Any:
            i, x = c
            lm.check(i < 5, "turn {}", i)
            return i + 1, x * 2

        return lm.while_loop(lambda c: c[0] < n, step, (0, x))[1]  # without the check it would run for long

    compiled = lm.jit(f)
    assert compiled(3, np.float32(1)) == 8
    with pytest.raises(CheckError, match=r"^turn 5$"):
        compiled(1 << 60, np.float32(1))
    np.testing.assert_array_equal(lm.vmap(f, in_axes=(0, None))(np.array([1, 3]), np.float32(1)), [2, 8])
    with pytest.raises(CheckError, match=r"^turn 5$"):
        lm.vmap(f, in_axes=(0, None))(np.array([1, 9]), np.float32(1))
    with pytest.raises(CheckError, match=r"^3.0 at 1$"):
        lm.vmap(lambda x, k: (lm.check(x < 3, "{} at {}", x, k), x)[1])(np.float32([1, 3, 4]), np.arange(3))
    many = lm.jit(lm.vmap(lambda x: (lm.check(x < 3, "{}", x), x + 1)[1]))
    np.testing.assert_array_equal(many(np.zeros(1000, np.float32)), np.ones(1000))
    with pytest.raises(CheckError, match=r"^7.0$"):
        many(np.float32([*[0] * 999, 7]))


def test_callbacks() -> None:
    seen: list[Any] = []

    def host(x: Any, scale: Any = 1, name: str = "") -> Any:
        seen.append((x, scale, name))
        return {"sorted": np.sort(x), "count": np.int64(len(x))}

    declared = {"sorted": lm.ShapeDtypeStruct((3,), "float32"), "count": lm.ShapeDtypeStruct((), "int64")}

    def f(x: Any) -> Any:
        out = lm.pure_callback(host, declared, x * 2, scale=x[0], name="n")
        return out["sorted"] + out["count"]

    for call in (f, lm.jit(f), lm.jit(lm.jit(f))):
        np.testing.assert_array_equal(call(X[::-1]), [5, 7, 9])
    np.testing.assert_array_equal(seen[1][0], X[::-1] * 2)  # what a callback keeps stays as it is
    assert [entry[1:] for entry in seen] == [(3, "n")] * 3
    seen.clear()
    assert lm.jit(lambda x: (lm.pure_callback(host, declared, x), x[0])[1])(X) == 1
    assert not seen  # nothing needs it
    total = lm.jit(lambda x: lm.fori_loop(0, 3, lambda i, c: c + lm.io_callback(lambda i: np.float32(i), X[0], i), x))
    assert total(np.float32(1)) == 4
    assert lm.jit(lambda x: lm.io_callback(lambda x: seen.append(x.shape), None, x))(X) is None
    lm.jit(lambda x: lm.debug.callback(lambda x: seen.append(x), x))(np.zeros((0, 3), np.float32))
    assert seen[0] == (3,)
    assert seen[1].shape == (0, 3)
    z = np.complex64([1 + 2j, 3])
    np.testing.assert_array_equal(lm.jit(lambda z: lm.pure_callback(np.conj, z, z) * 2)(z), np.conj(z) * 2)
    half = np.float16([1, 2])
    np.testing.assert_array_equal(lm.jit(lambda x: lm.pure_callback(lambda x: x + 1, half, x))(half), half + 1)


def test_callbacks_of_one_program_with_other_functions() -> None:
    def program(k: int) -> Any:
        return lm.value_and_grad(lambda x: x * x + lm.pure_callback(lambda x: np.float32(x + k), x, lm.stop_gradient(x)))

    for k in (1, 2, 3):
        assert program(k)(np.float32(2)) == (6 + k, 4)
        assert lm.jit(program(k))(np.float32(2)) == (6 + k, 4)


def test_what_callbacks_raise_reaches_the_caller() -> None:
    class OwnError(Exception):
        pass

    def fail(x: Any) -> Any:
        raise OwnError(float(x.sum()))

    def outer(x: Any) -> Any:
        return lm.jit(lambda x: lm.pure_callback(fail, x, x))(x)  # a program that a callback of a program runs

    for host in (fail, outer):
        f = lm.jit(lambda x, host=host: lm.fori_loop(0, 2, lambda i, x: lm.pure_callback(host, X, x) + 1, x))
        for _ in range(2):
            with pytest.raises(OwnError, match=r"^6\.0$"):
                f(X)
    for returned, error, message in (
        (X[:2], ValueError, r"result 0 of callback host\(\) is declared with shape \[3\], it has \[2\]"),
        (X.astype("complex64"), TypeError, r"result 0 of callback host\(\) is declared as float32, it is complex64"),
        ((X, X), TypeError, r"callback host\(\) is declared to return \*, it returns"),
    ):

        def host(x: Any, returned: Any = returned) -> Any:
            return returned

        for call in (lm.pure_callback, lm.jit(lambda _, s, x, host=host: lm.pure_callback(host, s, x), static_argnums=0)):
            with pytest.raises(error, match=message):
                call(host, X, X)


def test_callbacks_under_transformations() -> None:
    shapes: list[Any] = []

    def host(x: Any, y: Any) -> Any:
        shapes.append((np.shape(x), np.shape(y)))
        return np.asarray(x + y, np.float32)

    def f(x: Any, method: str | None) -> Any:
        return lm.pure_callback(host, lm.ShapeDtypeStruct((), "float32"), x, np.float32(2), vmap_method=method)

    for method, wanted in (("sequential", [((), ())] * 3), ("expand_dims", [((3,), (1,))]), ("broadcast_all", [((3,), (3,))])):
        shapes.clear()
        np.testing.assert_array_equal(lm.vmap(lambda x, m=method: f(x, m))(X), X + 2)
        assert shapes == wanted
    with pytest.raises(CompileError, match=r"has no batching rule: give pure_callback\(\) a vmap_method"):
        lm.vmap(lambda x: f(x, None))(X)
    with pytest.raises(ValueError, match="vmap_method must be one of"):
        f(X, "twice")
    with pytest.raises(DifferentiationError, match="has no derivative: what the Python function does is not known"):
        lm.grad(lambda x: f(x, None))(np.float32(1))
    kept = lm.grad(lambda x: lm.fori_loop(0, 3, lambda i, c: c * x + f(lm.stop_gradient(i + 0.5), None), x))
    shapes.clear()
    assert kept(np.float32(2)) == pytest.approx(4 * 8 + 2 * 2 * 2.5 + 3.5)
    assert len(shapes) == 3  # reverse mode keeps what callbacks gave


def test_effects_and_sizes_that_only_a_call_knows(capsys: pytest.CaptureFixture[str]) -> None:
    @lm.jit(dynamic={"x": ("n", None)})
    def f(x: Any) -> Any:
        y = x * 2
        lm.debug.print("{} {}", y.sum(1), x.shape[0])
        lm.check(y < 10, "too large: {}", y[:, 0])
        return lm.pure_callback(lambda y: y[::-1], y, y) + 1

    for n in (1, 2, 5):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2) / 2
        np.testing.assert_array_equal(f(x), x[::-1] * 2 + 1)
        assert lines(capsys) == [f"{(2 * x).sum(1)} {n}"]
    with pytest.raises(CheckError, match=r"too large: \[ 0\. 20\.\]"):
        f(np.float32([[0, 0], [10, 0]]))


def test_effects_of_heavy_programs_and_of_threads() -> None:
    big = np.ones((300, 300), np.float32)
    seen: list[float] = []

    @lm.jit
    def f(x: Any, k: Any) -> Any:  # heavy enough that the GIL is released
        y = x @ x
        lm.debug.callback(lambda v, k: seen.append(float(v) + float(k)), y[0, 0], k)
        lm.check(k >= 0, "k is {}", k)
        return lnp.tanh(y @ x)

    errors: list[BaseException] = []

    def work(k: int) -> None:
        for _ in range(10):
            try:
                f(big, np.float32(k))
            except CheckError as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in (-1, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [299.0] * 10 + [301.0] * 10 + [302.0] * 10
    assert [str(error) for error in errors] == ["k is -1.0"] * 10


def test_after() -> None:
    text = lm.jit(lambda x: lm.after({"a": x + 1, "b": x * 2}, lnp.sin(x))).lower(X).as_text("program")
    host = text[text.index("program.func @main") : text.index("loop.kernel")]
    launches = [line for line in host.splitlines() if "loop.launch" in line]
    assert len(launches) == 3  # nothing is computed in one kernel with what it comes after

    def step(x: Any) -> Any:
        return lm.after(x * x, lnp.exp(x), x.sum())

    for f in (step, lm.jit(step)):
        np.testing.assert_array_equal(f(X), X * X)
        np.testing.assert_array_equal(lm.grad(lambda x, f=f: f(x).sum())(X), 2 * X)
        np.testing.assert_array_equal(lm.vmap(f)(np.stack([X, -X])), np.stack([X * X, X * X]))
        np.testing.assert_array_equal(lm.jvp(f, (X,), (X,))[1], 2 * X * X)
    np.testing.assert_array_equal(lm.vmap(lambda x, y: lm.after(x, y), in_axes=(None, 0))(np.float32(1), X), [1, 1, 1])
    order: list[int] = []

    def told(x: Any) -> Any:
        first = lm.io_callback(lambda: (order.append(1), np.float32(1))[1], X[0])
        y = lm.after(x, first)
        return lm.pure_callback(lambda y: (order.append(2), y)[1], X, y)

    np.testing.assert_array_equal(lm.jit(told)(X), X)
    assert order == [1, 2]


def test_callbacks_with_rules_for_their_derivatives(capsys: pytest.CaptureFixture[str]) -> None:
    def host(function: Any, x: Any) -> Any:
        return lm.pure_callback(lambda x: function(x).astype(np.float32), x, x)

    @lm.custom_jvp
    def sine(x: Any) -> Any:
        lm.debug.print("sine of {}", x)
        return host(np.sin, x)

    @sine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        lm.debug.print("rule of {}", x)
        return host(np.sin, x), host(np.cos, x) * t

    @lm.custom_vjp
    def cosine(x: Any) -> Any:
        return host(np.cos, x)

    cosine.defvjp(lambda x: (lm.debug.print("forward"), (cosine(x), x))[1], lambda x, ct: (-host(np.sin, x) * ct,))
    np.testing.assert_allclose(lm.jit(sine)(X), np.sin(X), rtol=1e-6)
    assert lines(capsys) == [f"sine of {X}"]
    np.testing.assert_allclose(lm.grad(lambda x: sine(x).sum())(X), np.cos(X), rtol=1e-6)
    assert lines(capsys) == [f"rule of {X}"]
    np.testing.assert_allclose(lm.jvp(sine, (X,), (X,))[1], np.cos(X) * X, rtol=1e-6)
    assert lines(capsys) == [f"rule of {X}"]
    np.testing.assert_allclose(lm.jit(lm.grad(lambda x: cosine(x).sum()))(X), -np.sin(X), rtol=1e-6)
    assert lines(capsys) == ["forward"]


def test_an_object_for_other_programs_is_refused_with_the_place() -> None:
    from lamina.dialects.context import make_context
    from lamina.dialects.parsing import parse_module
    from lamina.executor.exported_objects import export

    text = 'func.func @main(%x: tensor<4xf32>) {\n  graph.print "{0}"(%x) : (tensor<4xf32>) -> ()\n  return\n}'
    with pytest.raises(CompileError, match=r"'loop.callback' op print needs Python") as raised:
        export(parse_module(make_context(), text), None, "f", ())
    assert raised.value.op is not None


def test_validation_compares_effects() -> None:
    from lamina.debugging.validate import ValidationError, validate_each
    from lamina.dialects.context import make_context
    from lamina.dialects.parsing import parse_module
    from lamina.transforms.graph_dce import GraphDcePass

    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      graph.print "{0}"(%x) : (tensor<4xf32>) -> ()
      %y = graph.neg %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }"""

    class DropEffects:
        name = "drop-effects"

        def apply(self, ctx: Any, op: Any) -> None:
            for inner in list(op.walk()):
                if inner.name == "graph.print":
                    inner.detach()

    assert validate_each(parse_module(make_context(), text), [GraphDcePass()], make_context()).runs
    with pytest.raises(ValidationError, match="'drop-effects' changed the meaning"):
        validate_each(parse_module(make_context(), text), [DropEffects()], make_context())
