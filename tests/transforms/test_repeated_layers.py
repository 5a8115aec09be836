"""Networks whose layers take their rows of arrays: layers are one function, with the numbers of the program without it."""

from __future__ import annotations

from itertools import product
from math import prod

import lamina as lm
import lamina.numpy as lnp
import numpy as np
import pytest
from lamina import pipeline
from lamina.compat.jax.tree import flatten
from lamina.dialects.graph.builder import GraphBuilder
from lamina.dialects.graph.shape import SliceOp
from lamina.dialects.types import tensor
from lamina.train import optim
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

LAYERS, WIDTH = 12, 32
RNG = np.random.default_rng(0)
W, B = (RNG.normal(size=size).astype(np.float32) / 6 for size in ((LAYERS, WIDTH, WIDTH), (LAYERS, WIDTH)))
X, XS = (RNG.normal(size=size).astype(np.float32) for size in ((7, WIDTH), (7, LAYERS, WIDTH)))


def stacked(w, b, x):
    """Layers whose weights are rows of two arrays."""
    for i in range(LAYERS):
        h = lnp.tanh(x @ w[i] + b[i])
        x = x + lnp.sin(h) * h
    return x


def recurrent(w, b, xs):
    """Steps that read columns, which have gaps."""
    h, found = lnp.zeros((7, WIDTH), np.float32), []
    for t in range(LAYERS):
        h = lnp.tanh(xs[:, t] @ w[0] + h @ w[1] + b[0])
        found.append(h * 2 + 1)
    return lnp.stack(found)


def dropped(w, b, x):
    """A key for each layer."""
    for i, key in enumerate(lm.random.split(lm.random.key(0), LAYERS)):
        x = lnp.where(lm.random.bernoulli(key, 0.9, x.shape), lnp.tanh(x @ w[i]) + b[i], 0)
    return x


def returned(w, b, x):
    """Rows that are results, too, and an array that is changed after rows were read."""
    rows = []
    for i in range(LAYERS):
        x = lnp.tanh(x @ w[i] + b[i])
        rows.append(b[i])
    return x, rows, w.at[3].add(1.0), b * 2


def halves(w, b, x):
    """Bodies that slice what they compute."""
    for i in range(LAYERS):
        y = x @ w[i]
        x = lnp.concatenate([y[:, :16] * 2, lnp.tanh(y[:, 16:])], 1)
    return x


CASES = ((stacked, X), (recurrent, XS), (dropped, X), (returned, X), (halves, X))


def gradient(function):
    def total(*args):
        return sum(lnp.sum(leaf**2) for leaf in flatten(function(*args))[0])

    return lambda *args: lm.grad(total, (0, 1, 2))(*args)


@pytest.mark.thorough(every=8)
@pytest.mark.parametrize("derive", [lambda f: f, gradient], ids=["value", "gradient"])
@pytest.mark.parametrize(("function", "x"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_rows_of_arrays_are_arguments_of_layers(monkeypatch, function, x, derive):
    found = lm.jit(derive(function)).lower(W, B, x)
    assert found.as_text("optimized").count("graph.call") >= LAYERS - 2
    monkeypatch.setattr(pipeline, "STEPS", tuple(step for step in pipeline.STEPS if step.name != "graph-reroll"))
    wanted = lm.jit(derive(function)).lower(W, B, x)
    assert "graph.call" not in wanted.as_text("optimized")
    pairs = zip(*(flatten(one.compile()(W, B, x))[0] for one in (found, wanted)), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5 * max(1, np.abs(other).max()))


def test_a_donated_array_is_read_before_it_is_written():
    step = lm.jit(lambda w, b, x: (w * 2, stacked(w, b, x)), donate_argnums=0)
    doubled, y = step(W.copy(), B, X)
    np.testing.assert_array_equal(doubled, W * 2)
    np.testing.assert_allclose(y, lm.jit(stacked)(W, B, X), rtol=1e-5)


def test_a_slice_without_gaps_has_an_offset():
    """All slices of small arrays against the addresses of NumPy's views."""
    for shape in ((4,), (2, 3), (1, 3), (2, 1, 3), (2, 2, 2)):
        array = np.zeros(shape, np.float32)
        ranges = [[(a, b, s) for a in range(n) for b in range(a + 1, n + 1) for s in (1, 2)] for n in shape]
        for parts in product(*ranges):
            view = array[tuple(slice(*part) for part in parts)]
            block = Block(arg_types=[tensor(f32, shape)])
            start, stop, step = zip(*parts, strict=True)
            op = GraphBuilder(block).slice(block.args[0], start=start, stop=stop, step=step).owner
            assert isinstance(op, SliceOp)
            offset = (view.ctypes.data - array.ctypes.data) // 4
            assert op.offset == (offset if view.flags.c_contiguous else None), (shape, parts)
            assert prod(view.shape) > 0


@pytest.mark.parametrize("make", [optim.adam, optim.lion, lambda rate: optim.sgd(rate, momentum=0.9)])
def test_updates_of_layers_are_one_function(make):
    optimizer = make(0.01)

    def loss(params, x):
        for p in params:
            x = x + lnp.tanh(x @ p["w"] + p["b"])
        return lnp.mean(x * x)

    def step(params, state, x):
        return optimizer.step(lm.grad(loss)(params, x), state, params)

    layers = 2 * LAYERS  # of fewer the updates are copies
    params = [{"w": W[k % LAYERS], "b": B[k % LAYERS]} for k in range(layers)]
    state = optimizer.init(params)
    text = str(lm.jit(step).lower(params, state, X).as_text("optimized"))
    assert text.count("call @main_body") in (layers, 2 * layers)  # in two where averages lead to no update
    assert text.partition("@main(")[2].partition("func.func")[0].count("graph.mul") <= 3  # none is of an update
    for got, want in zip(lm.tree.leaves(lm.jit(step)(params, state, X)), lm.tree.leaves(step(params, state, X)), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)
