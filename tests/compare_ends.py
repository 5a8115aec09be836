"""Derivatives of order 1 and 2 at the ends of domains and where formulas change: ours, jax's and torch's.

    python tests/compare_ends.py        prints the rows of the table of docs/autodiff.md, where the three differ

Each library runs in a process of its own, in float64.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

inf = math.inf
# name: the expression of x in lamina, in jax, in torch (None: it has none), the points
TABLE: dict[str, tuple[str, str | None, str | None, list[float]]] = {
    "sqrt": ("lnp.sqrt(x)", "jnp.sqrt(x)", "torch.sqrt(x)", [0.0, inf]),
    "cbrt": ("lnp.cbrt(x)", "jnp.cbrt(x)", None, [0.0, inf, -inf]),
    "rsqrt": ("lm.lax.rsqrt(x)", "jax.lax.rsqrt(x)", "torch.rsqrt(x)", [0.0, inf]),
    "log": ("lnp.log(x)", "jnp.log(x)", "torch.log(x)", [0.0, inf]),
    "log2": ("lnp.log2(x)", "jnp.log2(x)", "torch.log2(x)", [0.0, inf]),
    "log10": ("lnp.log10(x)", "jnp.log10(x)", "torch.log10(x)", [0.0, inf]),
    "log1p": ("lnp.log1p(x)", "jnp.log1p(x)", "torch.log1p(x)", [-1.0, inf]),
    "exp": ("lnp.exp(x)", "jnp.exp(x)", "torch.exp(x)", [inf, -inf]),
    "exp2": ("lnp.exp2(x)", "jnp.exp2(x)", "torch.exp2(x)", [inf, -inf]),
    "expm1": ("lnp.expm1(x)", "jnp.expm1(x)", "torch.expm1(x)", [0.0, inf, -inf]),
    "sinh": ("lnp.sinh(x)", "jnp.sinh(x)", "torch.sinh(x)", [0.0, inf, -inf]),
    "cosh": ("lnp.cosh(x)", "jnp.cosh(x)", "torch.cosh(x)", [0.0, inf, -inf]),
    "tanh": ("lnp.tanh(x)", "jnp.tanh(x)", "torch.tanh(x)", [0.0, inf, -inf]),
    "arctan": ("lnp.arctan(x)", "jnp.arctan(x)", "torch.atan(x)", [inf, -inf]),
    "arcsin": ("lnp.arcsin(x)", "jnp.arcsin(x)", "torch.asin(x)", [0.0, 1.0, -1.0]),
    "arccos": ("lnp.arccos(x)", "jnp.arccos(x)", "torch.acos(x)", [0.0, 1.0, -1.0]),
    "arcsinh": ("lnp.arcsinh(x)", "jnp.arcsinh(x)", "torch.asinh(x)", [0.0, inf, -inf]),
    "arccosh": ("lnp.arccosh(x)", "jnp.arccosh(x)", "torch.acosh(x)", [1.0, inf]),
    "arctanh": ("lnp.arctanh(x)", "jnp.arctanh(x)", "torch.atanh(x)", [0.0, 1.0, -1.0]),
    "abs": ("lnp.abs(x)", "jnp.abs(x)", "torch.abs(x)", [0.0, inf, -inf]),
    "sign": ("lnp.sign(x)", "jnp.sign(x)", "torch.sign(x)", [0.0]),
    "sinc": ("lnp.sinc(x)", "jnp.sinc(x)", "torch.sinc(x)", [0.0, 1e-9, inf]),
    "logaddexp(x, 0)": (
        "lnp.logaddexp(x, 0.)",
        "jnp.logaddexp(x, 0.)",
        "torch.logaddexp(x, torch.zeros_like(x))",
        [0.0, inf, -inf],
    ),
    "logaddexp(x, -inf)": (
        "lnp.logaddexp(x, -inf)",
        "jnp.logaddexp(x, -jnp.inf)",
        "torch.logaddexp(x, torch.full_like(x, -torch.inf))",
        [0.0, -inf],
    ),
    "hypot(x, 0)": ("lnp.hypot(x, 0.)", "jnp.hypot(x, 0.)", "torch.hypot(x, torch.zeros_like(x))", [0.0, inf]),
    "arctan2(x, 0)": ("lnp.arctan2(x, 0.)", "jnp.arctan2(x, 0.)", "torch.atan2(x, torch.zeros_like(x))", [0.0, 1.0]),
    "x ** 2.5": ("x ** 2.5", "x ** 2.5", "x ** 2.5", [0.0, inf]),
    "x ** 0.5": ("x ** 0.5", "x ** 0.5", "x ** 0.5", [0.0, inf]),
    "x ** 1": ("x ** 1", "x ** 1", "x ** 1", [0.0]),
    "x ** 0": ("x ** 0.0", "x ** 0.0", "x ** 0.0", [0.0, inf]),
    "0 ** x": ("lnp.power(0.0, x)", "jnp.power(0.0, x)", "torch.pow(torch.zeros_like(x), x)", [0.0, 1.0, 2.0]),
    "erf": ("ls.erf(x)", "js.erf(x)", "ts.erf(x)", [0.0, inf, -inf]),
    "erfc": ("ls.erfc(x)", "js.erfc(x)", "ts.erfc(x)", [0.0, inf, -inf]),
    "erfinv": ("ls.erfinv(x)", "js.erfinv(x)", "ts.erfinv(x)", [0.0, 1.0, -1.0]),
    "ndtr": ("ls.ndtr(x)", "js.ndtr(x)", "ts.ndtr(x)", [0.0, inf, -inf]),
    "ndtri": ("ls.ndtri(x)", "js.ndtri(x)", "ts.ndtri(x)", [0.0, 0.5, 1.0]),
    "log_ndtr": ("ls.log_ndtr(x)", "js.log_ndtr(x)", "ts.log_ndtr(x)", [0.0, inf, -inf, -1.0]),
    "gammaln": ("ls.gammaln(x)", "js.gammaln(x)", "ts.gammaln(x)", [0.0, 1.0, 2.0, inf]),
    "digamma": ("ls.digamma(x)", "js.digamma(x)", "ts.digamma(x)", [0.0, 1.0, inf]),
    "gamma": ("ls.gamma(x)", "js.gamma(x)", None, [0.0, 1.0, inf]),
    "entr": ("ls.entr(x)", "js.entr(x)", "ts.entr(x)", [0.0, inf]),
    "xlogy(x, 2)": ("ls.xlogy(x, 2.)", "js.xlogy(x, 2.)", "ts.xlogy(x, torch.full_like(x, 2.))", [0.0]),
    "xlogy(x, 0)": ("ls.xlogy(x, 0.)", "js.xlogy(x, 0.)", "ts.xlogy(x, torch.zeros_like(x))", [0.0, 1.0]),
    "xlogy(0, x)": ("ls.xlogy(0., x)", "js.xlogy(0., x)", "ts.xlogy(torch.zeros_like(x), x)", [0.0, 1.0]),
    "xlog1py(x, -1)": ("ls.xlog1py(x, -1.)", "js.xlog1py(x, -1.)", "ts.xlog1py(x, torch.full_like(x, -1.))", [0.0, 1.0]),
    "xlog1py(0, x)": ("ls.xlog1py(0., x)", "js.xlog1py(0., x)", "ts.xlog1py(torch.zeros_like(x), x)", [-1.0, 1.0]),
    "rel_entr(x, 1)": ("ls.rel_entr(x, 1.)", "js.rel_entr(x, 1.)", None, [0.0, 1.0]),
    "rel_entr(0, x)": ("ls.rel_entr(0., x)", "js.rel_entr(0., x)", None, [0.0, 1.0]),
    "kl_div(x, 1)": ("ls.kl_div(x, 1.)", "js.kl_div(x, 1.)", None, [0.0, 1.0]),
    "kl_div(1, x)": ("ls.kl_div(1., x)", "js.kl_div(1., x)", None, [1.0]),
    "logit": ("ls.logit(x)", "js.logit(x)", "ts.logit(x)", [0.0, 0.5, 1.0]),
    "expit": ("ls.expit(x)", "js.expit(x)", "ts.expit(x)", [0.0, inf, -inf]),
    "log_sigmoid": ("ln.log_sigmoid(x)", "jn.log_sigmoid(x)", "F.logsigmoid(x)", [0.0, inf, -inf]),
    "softplus": ("ln.softplus(x)", "jn.softplus(x)", "F.softplus(x)", [0.0, inf, -inf]),
    "silu": ("ln.silu(x)", "jn.silu(x)", "F.silu(x)", [0.0, inf, -inf]),
    "gelu tanh": ("ln.gelu(x)", "jn.gelu(x)", "F.gelu(x, approximate='tanh')", [0.0, inf, -inf]),
    "gelu": ("ln.gelu(x, approximate=False)", "jn.gelu(x, approximate=False)", "F.gelu(x)", [0.0, inf, -inf]),
    "mish": ("ln.mish(x)", "jn.mish(x)", "F.mish(x)", [0.0, inf, -inf]),
    "relu": ("ln.relu(x)", "jn.relu(x)", "F.relu(x)", [0.0, inf, -inf]),
    "relu6": ("ln.relu6(x)", "jn.relu6(x)", "F.relu6(x)", [0.0, 6.0, inf]),
    "leaky_relu": ("ln.leaky_relu(x)", "jn.leaky_relu(x)", "F.leaky_relu(x)", [0.0, -inf]),
    "elu": ("ln.elu(x)", "jn.elu(x)", "F.elu(x)", [0.0, inf, -inf]),
    "selu": ("ln.selu(x)", "jn.selu(x)", "F.selu(x)", [0.0, -inf]),
    "celu": ("ln.celu(x)", "jn.celu(x)", "F.celu(x)", [0.0, inf, -inf]),
    "hard_sigmoid": ("ln.hard_sigmoid(x)", "jn.hard_sigmoid(x)", "F.hardsigmoid(x)", [-3.0, 3.0]),
    "hard_swish": ("ln.hard_swish(x)", "jn.hard_swish(x)", "F.hardswish(x)", [-3.0, 3.0]),
    "hard_tanh": ("ln.hard_tanh(x)", "jn.hard_tanh(x)", "F.hardtanh(x)", [-1.0, 1.0]),
    "soft_sign": ("ln.soft_sign(x)", "jn.soft_sign(x)", "F.softsign(x)", [0.0, inf, -inf]),
    "squareplus": ("ln.squareplus(x)", "jn.squareplus(x)", None, [0.0, inf, -inf]),
    "i0": ("ls.i0(x)", "js.i0(x)", "ts.i0(x)", [0.0]),
    "i0e": ("ls.i0e(x)", "js.i0e(x)", "ts.i0e(x)", [0.0, inf]),
    "i1": ("ls.i1(x)", "js.i1(x)", "ts.i1(x)", [0.0]),
    "i1e": ("ls.i1e(x)", "js.i1e(x)", "ts.i1e(x)", [0.0, inf]),
    "spence": ("ls.spence(x)", "js.spence(x)", None, [0.0, 1.0]),
    "exp1": ("ls.exp1(x)", "js.exp1(x)", None, [0.0, inf]),
    "expi": ("ls.expi(x)", "js.expi(x)", None, [0.0, -inf]),
    "maximum(x, 0)": ("lnp.maximum(x, 0.)", "jnp.maximum(x, 0.)", "torch.maximum(x, torch.zeros_like(x))", [0.0]),
    "clip(x, 0, 1)": ("lnp.clip(x, 0., 1.)", "jnp.clip(x, 0., 1.)", "torch.clamp(x, 0., 1.)", [0.0, 1.0]),
    "norm([x, 0])": (
        "lnp.linalg.norm(lnp.stack([x, 0 * x]))",
        "jnp.linalg.norm(jnp.stack([x, 0 * x]))",
        "torch.linalg.norm(torch.stack([x, 0 * x]))",
        [0.0],
    ),
    "logsumexp([x, -inf])": (
        "ls.logsumexp(lnp.stack([x, lnp.full_like(x, -inf)]))",
        "js.logsumexp(jnp.stack([x, jnp.full_like(x, -jnp.inf)]))",
        "torch.logsumexp(torch.stack([x, torch.full_like(x, -torch.inf)]), 0)",
        [0.0, -inf],
    ),
    "var([x, x])": (
        "lnp.std(lnp.stack([x, x]))",
        "jnp.std(jnp.stack([x, x]))",
        "torch.std(torch.stack([x, x]), correction=0)",
        [1.0],
    ),
}
CHILDREN = (
    """
import lamina as lm, lamina.numpy as lnp, numpy as np
ls, ln = lm.special, lm.nn
def value(f, point, order):
    for _ in range(order): f = lm.grad(f)
    return float(f(np.float64(point)))
""",
    """
import jax, jax.numpy as jnp, jax.scipy.special as js, jax.nn as jn
jax.config.update("jax_enable_x64", True)
def value(f, point, order):
    for _ in range(order): f = jax.grad(f)
    return float(f(point))
""",
    """
import torch, torch.nn.functional as F, torch.special as ts
def value(f, point, order):
    x = torch.tensor(point, dtype=torch.float64, requires_grad=True)
    y = f(x)
    for _ in range(order):
        (y,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True, materialize_grads=True)
    return float(y)
""",
)
LOOP = """
import json, math, sys
inf = math.inf
def found(text, point, order):
    try: return value(eval("lambda x: " + text, globals()), point, order)
    except Exception: return None
print(json.dumps([None if text is None else found(text, point, order) for text, point, order in json.load(sys.stdin)]))
"""


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-9 * abs(a)


def shown(x: float | None) -> str:
    return "" if x is None else f"{x + 0.0:.5g}"


def main() -> None:
    asked = [(name, p, order) for name, row in TABLE.items() for p in row[3] for order in (1, 2)]
    columns: list[list[Any]] = []
    for k, child in enumerate(CHILDREN):
        given = json.dumps([(TABLE[name][k], p, order) for name, p, order in asked])
        done = subprocess.run([sys.executable, "-c", child + LOOP], input=given, capture_output=True, text=True, check=True)
        columns.append(json.loads(done.stdout.splitlines()[-1]))
    equal = 0
    print("| function | at | order | here | jax | torch |\n|---|---|---|---|---|---|")
    for (name, point, order), ours, *others in zip(asked, *columns, strict=True):
        if all(same(ours, v) for v in others if v is not None):
            equal += 1
            continue
        print(f"| `{name}` | {point:g} | {order} | {' | '.join(map(shown, (ours, *others)))} |", flush=True)
    print(f"\n{equal} of {len(asked)} are equal", file=sys.stderr)


if __name__ == "__main__":
    main()
