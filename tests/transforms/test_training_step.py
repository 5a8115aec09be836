"""The digits training step is lean: no op of the derivative is left that a person would not have written."""

from __future__ import annotations

import cProfile
import itertools
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from graphs import CTX, EXPAND, OPTIMIZE, function_of, ops_in, parse, run
from lamina.passes import run_passes
from lamina.runtime.interpreter import interpret

BATCH, SIZES = 32, (64, 128, 10)


def parameters(seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(SIZES)
    return [{"w": rng.normal(size=p).astype(np.float32) / 8, "b": rng.normal(size=p[1]).astype(np.float32)} for p in pairs]


def loss(params: Any, x: Any, y: Any) -> Any:
    hidden = lm.nn.relu(x @ params[0]["w"] + params[0]["b"])
    return lm.nn.cross_entropy(hidden @ params[1]["w"] + params[1]["b"], y)


def gradients(params: Any, x: Any, y: Any) -> Any:
    return lm.value_and_grad(loss)(params, x, y)


def adam(p: Any, g: Any, m: Any, v: Any, t: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = 1e-3 * (m / (1 - 0.9**t)) / (lnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return p - step, m, v


def train(params: Any, ms: Any, vs: Any, t: Any, x: Any, y: Any) -> Any:
    value, grads = lm.value_and_grad(loss)(params, x, y)
    layers = zip(params, grads, ms, vs, strict=True)
    return value, [{k: adam(p[k], g[k], m[k], v[k], t) for k in p} for p, g, m, v in layers]


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(BATCH, SIZES[0])).astype(np.float32), rng.integers(0, 10, BATCH)


@cache
def traced(name: str) -> str:
    function = {"gradients": gradients, "train": train}[name]
    moments = () if name == "gradients" else (parameters(1), parameters(2), np.float32(3))
    return lm.jit(function).lower(parameters(0), *moments, *data()).as_text("graph")


def test_gradient_has_no_waste() -> None:
    module = run(parse(traced("gradients")), f"{EXPAND},{OPTIMIZE}")
    counts = Counter(ops_in(module))
    # two products forward, one for each weight and one for the hidden layer backward
    assert counts["dot"] == 5
    # nothing is moved, negated or computed twice
    assert not counts["transpose"] and not counts["neg"] and not counts["reshape"] and not counts["concat"]
    assert counts["exp"] == counts["log"] == 1 and counts["max"] == 1
    # both biases; and of the loss the row maximum, the row sum and the total
    assert counts["reduce"] == 5
    # two biases added; no sums of cotangents, for nothing is used twice
    assert counts["add"] == 2
    assert not {"softmax", "cross_entropy", "relu", "mean", "call", "vjp", "transposed"} & set(counts)


def test_scalars_are_scaled_by_one_constant() -> None:
    """The cotangent of the loss is 1 and the mean divides by 32: one multiplication is left of both."""
    module = run(parse(traced("gradients")), f"{EXPAND},{OPTIMIZE}")
    counts = Counter(ops_in(module))
    assert counts["mul"] == 3  # the loss, its gradient, and exp by 1 / sum
    assert counts["div"] == 1  # 1 / sum


def test_update_is_elementwise_only() -> None:
    plain = Counter(ops_in(run(parse(traced("gradients")), f"{EXPAND},{OPTIMIZE}")))
    step = Counter(ops_in(run(parse(traced("train")), f"{EXPAND},{OPTIMIZE}")))
    added = step - plain
    assert not {"dot", "reduce", "transpose", "reshape", "neg", "exp", "log"} & set(added)
    assert added["pow"] == 2  # the bias corrections, once for all four parameters
    assert added["sqrt"] == 4 and added["sub"] == 4 + 2 and added["add"] == 3 * 4


def test_every_op_has_a_place() -> None:
    module = run(parse(traced("train")), f"{EXPAND},{OPTIMIZE}")
    assert all("test.mlir" in str(op.location) for op in function_of(module, "main").body.block.ops)


def deep(layers: int) -> str:
    """A module with the gradient of a network of some layers."""
    lines = ["%h0 = graph.tanh %x : tensor<8x8xf32>"]
    for k in range(layers):
        lines += [
            f"%p{k} = graph.dot %h{k}, %w contract [1] with [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>",
            f"%b{k} = graph.broadcast %b to [1] : tensor<8xf32> -> tensor<8x8xf32>",
            f"%s{k} = graph.add %p{k}, %b{k} : tensor<8x8xf32>",
            f"%t{k} = graph.tanh %s{k} : tensor<8x8xf32>",
            f"%h{k + 1} = graph.mul %t{k}, %h{k} : tensor<8x8xf32>",
        ]
    lines += [f"%l = graph.reduce add %h{layers} over [0, 1] : tensor<8x8xf32> -> tensor<f32>", "return %l : tensor<f32>"]
    types = "tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>"
    arguments = "%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>"
    text = f"func.func private @f({arguments}) -> tensor<f32> {{\n" + "\n".join(lines) + "\n}\n"
    text += f"func.func @main({arguments}) -> ({types}) {{\n  %one = graph.const dense<1.0> : tensor<f32>\n"
    text += "  %l, %g, %h, %i = graph.vjp @f(%x, %w, %b) cotangents(%one) wrt [0, 1, 2]\n"
    text += f"    : ({types}, tensor<f32>) -> (tensor<f32>, {types})\n  return %g, %h, %i : {types}\n}}\n"
    return text


def test_passes_are_linear() -> None:
    """Twice the layers, about twice the work of every pass, counted in Python calls."""
    counts: list[dict[str, int]] = []
    for layers in (12, 24):
        module, calls = parse(deep(layers)), {}
        for name in f"{EXPAND},{OPTIMIZE}".split(","):
            profile = cProfile.Profile()
            profile.runcall(run_passes, module, CTX, name)
            calls[name] = calls.get(name, 0) + sum(row.callcount for row in profile.getstats())
        counts.append(calls)
    assert 300 < len(ops_in(module)) < 700
    grown = {name: counts[1][name] / count for name, count in counts[0].items()}
    assert max(grown.values()) < 2.6, grown


def test_same_as_numpy() -> None:
    """The gradient against one written by hand."""
    params, (x, y) = parameters(0), data()
    module = run(parse(traced("gradients")), f"{EXPAND},{OPTIMIZE}")
    w0, b0, w1, b1 = (params[k][n] for k in (0, 1) for n in ("w", "b"))
    pre = x @ w0 + b0
    hidden = np.maximum(pre, 0)
    logits = hidden @ w1 + b1
    e = np.exp(logits - logits.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    want_loss = -np.log(p[np.arange(BATCH), y]).mean()
    d = (p - np.eye(10, dtype=np.float32)[y]) / BATCH
    dh = (d @ w1.T) * (pre > 0)
    want = [want_loss, dh.sum(0), x.T @ dh, d.sum(0), hidden.T @ d]
    names = [a.name_hint or "" for a in function_of(module, "main").body.block.args]
    assert [n[-1] for n in names[:4]] == ["b", "w", "b", "w"]
    got = interpret(module, "main", [b0, w0, b1, w1, x, y])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-6)
