"""Transformations of arrays are a run of Python: it looks at values, raises, prints, and changes what it likes."""

from __future__ import annotations

import importlib.util
import io
import os
import pdb
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from oracles import by_jax

FILE = Path(__file__).parent / "run_programs.py"
_spec = importlib.util.spec_from_file_location("run_programs", FILE)
assert _spec is not None and _spec.loader is not None
run_programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run_programs)

BY_JAX = """
jax.config.update("jax_enable_x64", True)
exec(source.item(), names := {"__name__": "programs"})
programs = names["programs"](jax, jnp, lax.stop_gradient)
results = [leaf for name in chosen.tolist() for leaf in jax.tree.leaves(programs[name]())]
"""


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
def test_programs_against_jax(share: float) -> None:
    rng = np.random.default_rng(int(os.environ.get("LAMINA_TEST_SEED", "0")))
    programs = run_programs.programs(lm, lnp, lambda x: x)
    assert len(programs) >= 40
    names = rng.permutation([*programs])[: round(share * len(programs))].tolist()
    theirs = iter(by_jax(BY_JAX, {"source": np.array(FILE.read_text()), "chosen": np.array(names)}))
    for name in names:
        for k, leaf in enumerate(lm.tree.leaves(programs[name]())):
            want, got = next(theirs), np.asarray(leaf)
            assert got.shape == want.shape, (name, k)
            rtol = 1e-3 if got.dtype == np.float16 else 1e-6 if got.dtype == np.float32 else 1e-11
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, err_msg=f"{name}, result {k}")
    assert next(theirs, None) is None


X = np.array([1.0, 2.0])


def test_side_effects_happen_once_a_call_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def f(x: Any) -> Any:
        seen.append(f"enter {float(x.sum())}")
        print("x is", x, f"{x[0]:.1f}")
        seen.append("leave")
        return (x * x).sum()

    transformed = [
        lm.grad(f), lm.value_and_grad(f), lm.jacfwd(f), lm.jacrev(f), lambda x: lm.jvp(f, (x,), (x,)), lambda x: lm.vjp(f, x),
        lambda x: lm.vjp(f, x)[1](1.0), lambda x: lm.linearize(f, x), lm.hessian(f), lambda x: lm.record(f, x, grad=True),
    ]  # fmt: skip
    for call in transformed:
        for x in (X, X + 1):
            seen.clear()
            call(x)
            assert seen == [f"enter {x.sum()}", "leave"]
            assert capsys.readouterr().out == f"x is {x} {x[0]:.1f}\n"


def test_exceptions_pass_through_and_leave_nothing_behind() -> None:
    class StopHereError(Exception):
        pass

    def f(x: Any, limit: float) -> Any:
        y = x
        for step in range(10):
            y = y * 2
            if y.sum() > limit:
                raise StopHereError(step, float(y.sum()))
        return y.sum()

    for transformed in (lm.grad(f), lm.jacfwd(f), lambda x, n: lm.vjp(lambda x: f(x, n), x), lambda x, n: lm.record(f, x, n)):
        with pytest.raises(StopHereError) as caught:
            transformed(X, 20.0)
        assert caught.value.args == (2, 24.0)
    assert lm.grad(f)(X, 1e9).tolist() == [1024, 1024]

    def caught_inside(x: Any) -> Any:
        try:
            return f(x, 20.0)
        except StopHereError as error:
            return (x * error.args[0]).sum()

    assert lm.grad(caught_inside)(X).tolist() == [2, 2]
    # an error of ours names the line, and the trace that it leaves is not used again
    with pytest.raises(lm.ShapeError, match=r"test_define_by_run\.py:\d+:\d+: .*could not be broadcast"):
        lm.grad(lambda x: (x + np.ones(3)).sum())(X)
    assert lnp.add(X, X).tolist() == [2, 4]


def test_a_debugger_sees_values() -> None:
    out = io.StringIO()
    debugger = pdb.Pdb(
        stdin=io.StringIO("p x\np float(y)\np (x * 2).tolist()\ncontinue\n"), stdout=out, nosigint=True, readrc=False
    )
    debugger.use_rawinput = False

    def f(x: Any) -> Any:
        y = (x * x).sum()
        debugger.set_trace()
        return y

    assert lm.grad(f)(X).tolist() == [2, 4]
    assert "5.0" in out.getvalue() and "[2.0, 4.0]" in out.getvalue()


def test_arrays_changed_during_and_after_the_run() -> None:
    w = np.array([3.0, 4.0])

    def f(x: Any) -> Any:
        first = (x * w).sum()
        w[:] = 10.0  # a use before keeps what it has seen
        return first + (x * w * x).sum()

    np.testing.assert_array_equal(lm.grad(f)(X), np.array([3.0, 4.0]) + 20 * X)
    x, w = X.copy(), np.array([3.0, 4.0])
    value, pull = lm.vjp(lambda x: (x * x * w).sum(), x)
    x[:], w[:] = 100.0, 100.0
    assert float(value) == 19 and pull(1.0)[0].tolist() == [6, 16]
    x, w = X.copy(), np.array([3.0, 4.0])
    _, push = lm.linearize(lambda x: x * x * w, x)
    x[:], w[:] = 100.0, 100.0
    assert push(np.ones(2)).tolist() == [6, 16]
    x, w = X.copy(), np.array([3.0, 4.0])
    run = lm.record(lambda x: (x * x * w).sum(), x)
    x[:], w[:] = 100.0, 100.0
    assert run.backward()[0].tolist() == [6, 16] and run.jit()(X) == 19
    with pytest.raises(lm.TracingError, match=r"cannot be changed in place: use x = x\.at\[index\]\.set"):
        lm.grad(lambda x: x.__setitem__(0, 1.0))(X)


def test_values_that_escape_say_so() -> None:
    kept: list[Any] = []
    lm.grad(lambda x: (kept.append(x * 2), x.sum())[1])(X)
    for use in (lambda y: y + 1, float, lambda y: lm.grad(lambda x: (x * y).sum())(X)):
        with pytest.raises(lm.TracingError, match=r"escaped from the function it was traced in|whose trace has ended"):
            use(kept[0])
