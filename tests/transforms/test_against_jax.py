"""Gradients at smooth points and at kinks against jax, in a child process; skipped where jax is not installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from graphs import BY_NAME, EXPAND, OPTIMIZE, Case, derivatives, run
from lamina.runtime.interpreter import interpret

if find_spec("jax") is None:
    pytest.skip("jax is not installed (extra lamina[oracles])", allow_module_level=True)

# our op: the same in jax, as an expression of its arguments
SMOOTH = {
    "softmax_1": "jax.nn.softmax(x, axis=1)",
    "log_softmax_1": "jax.nn.log_softmax(x, axis=1)",
    "logsumexp_2": "jax.nn.logsumexp(x, axis=(0, 2))",
    "var": "jnp.var(x, axis=(0, 2), ddof=1)",
    "gelu": "jax.nn.gelu(x, approximate=False)",
    "gelu_tanh": "jax.nn.gelu(x, approximate=True)",
    "sigmoid": "jax.nn.sigmoid(x)",
    "sigmoid_slope": "jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)",
    "sech2": "1 - jnp.tanh(x) ** 2",
    "gauss": "jnp.exp(-x * x)",
    "expm1_slope": "jnp.exp(x)",
    "erf": "jax.scipy.special.erf(x)",
    "erfc": "jax.scipy.special.erfc(x)",
    "pow": "x ** y",
    "rem": "jnp.fmod(x, y)",
    "reduce_mul_2": "jnp.prod(x, axis=(0, 2))",
    "dot_batch": "jnp.einsum('bij,bjk->bik', x, y)",
    "dot_two_contracted": "jnp.einsum('iab,bka->ik', x, y)",
    "pad_negative_interior": "jax.lax.pad(x, y, ((-2, 1, 1), (1, -3, 2)))",
}
POINTS = [0.0, -0.0, 1.0, -1.0, 2.0]
KINKS = {
    "abs": ("jnp.abs(x)", [1.0, -1.0, 2.0, -3.0, 0.5]),  # at 0 jax takes 1, we 0
    "relu": ("jax.nn.relu(x)", POINTS),
    "sqrt": ("jnp.sqrt(x)", [0.0, 1.0, 4.0, 9.0, 0.25]),
    "max": ("jnp.maximum(x, jnp.array([0.0, 0.0, 1.0, 2.0, -1.0]))", POINTS),
    "reduce_max": ("jnp.max(x)", [1.0, 3.0, 3.0, 0.0, 3.0]),
    "reduce_mul": ("jnp.prod(x)", [1.0, 0.0, 3.0, 2.0, 1.0]),
    "reduce_mul_zeros": ("jnp.prod(x)", [1.0, 0.0, 3.0, 0.0, 1.0]),
}

SCRIPT = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
def gradient(expression, args):
    f = lambda *a: jnp.sum(jnp.sin(1.0 + eval(expression, {"jax": jax, "jnp": jnp, **dict(zip("xy", a))})))
    return [np.asarray(g).tolist() for g in jax.grad(f, argnums=tuple(range(len(args))))(*map(jnp.asarray, args))]
print(json.dumps([gradient(e, [np.array(a) for a in args]) for e, args in json.load(sys.stdin)]))
"""


def summed(case: Case) -> Case:
    """sum(sin(1 + f(x))): cotangents that differ from element to element."""

    def build(b, *args):
        y = case.build(b, *args)
        z = b.sin(b.add(b.full_like(y, 1.0), y))
        return b.reduce(z, kind="add", dims=tuple(range(len(z.type.get_shape()))))

    return Case(case.name, case.shapes, build, case.domain, case.fixed)


def at_kinks() -> dict[str, Case]:
    return {
        **{name: Case(name, ((5,),), lambda b, x, name=name: getattr(b, name)(x)) for name in ("abs", "relu", "sqrt")},
        "max": Case("max", ((5,),), lambda b, x: b.max(x, b.const(np.array([0.0, 0.0, 1.0, 2.0, -1.0])))),
        "reduce_max": Case("reduce_max", ((5,),), lambda b, x: b.reduce(x, kind="max", dims=(0,))),
        "reduce_mul": Case("reduce_mul", ((5,),), lambda b, x: b.reduce(x, kind="mul", dims=(0,))),
        "reduce_mul_zeros": Case("reduce_mul_zeros", ((5,),), lambda b, x: b.reduce(x, kind="mul", dims=(0,))),
    }


@pytest.mark.thorough
def test_gradients() -> None:
    jobs = [(case, BY_NAME[case].arguments(), expression) for case, expression in SMOOTH.items()]
    cases = [summed(BY_NAME[name]) for name in SMOOTH]
    for name, case in at_kinks().items():
        expression, point = KINKS[name]
        jobs.append((name, [np.array(point)], expression))
        cases.append(summed(case))
    request = json.dumps([[expression, [a.tolist() for a in args]] for _, args, expression in jobs])
    child = subprocess.run([sys.executable, "-c", SCRIPT], input=request, capture_output=True, text=True, timeout=200)
    assert child.returncode == 0, child.stderr[-2000:]
    for (name, args, _), case, want in zip(jobs, cases, json.loads(child.stdout), strict=True):
        for passes in (EXPAND, f"{EXPAND},{OPTIMIZE}"):
            got = interpret(run(derivatives(case), passes), "vjp", [*args, np.array(1.0)])
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, np.array(w), rtol=1e-9, atol=1e-12, err_msg=name)
