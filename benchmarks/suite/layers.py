"""First calls of networks written as Python loops over layers, by the number of layers.

A first call is traced, compiled with an empty cache and run, in a process of its own, this package and jax in turns; a later
call is taken off. The figure is processor time, since the machine may be shared. The layers of `unequal` all
differ, so that nothing repeats. Speed is that of the most layers with layers as functions, over that without.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from typing import Any

from rich.console import Console
from rich.table import Table

from .peers import PEERS

KINDS, WHATS, COUNTS = ("mlp", "transformer", "unequal"), ("forward", "step", "adam"), (4, 12, 48, 96)

NETWORKS = """
import json, sys, time
import numpy as np

WORLD, KIND, LAYERS, WHAT = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if WORLD == "jax":
    import jax as lm
    import jax.numpy as lnp
else:
    import lamina as lm
    import lamina.numpy as lnp

rng = np.random.default_rng(0)
D, T, H = 128, 64, 4


def normal(*shape):
    return (rng.normal(size=shape) / 16).astype(np.float32)


def normalized(x, g, b):
    m = lnp.mean(x, -1, keepdims=True)
    v = lnp.mean((x - m) ** 2, -1, keepdims=True)
    return (x - m) / lnp.sqrt(v + 1e-5) * g + b


def mlp(p, x):
    return lnp.tanh(x @ p["w"] + p["b"])


def block(p, x):
    q, k, v = (z.reshape(T, H, D // H).transpose(1, 0, 2) for z in lnp.split(normalized(x, p["g1"], p["b1"]) @ p["qkv"], 3, -1))
    a = lm.nn.softmax(q @ k.transpose(0, 2, 1) / 4.0, -1) @ v
    x = x + a.transpose(1, 0, 2).reshape(T, D) @ p["o"]
    return x + lm.nn.gelu(normalized(x, p["g2"], p["b2"]) @ p["w1"]) @ p["w2"]


def parameters(k):
    one, zero = np.ones(D, np.float32), np.zeros(D, np.float32)
    if KIND == "unequal":
        return {"w1": normal(D, 40 + 8 * k), "w2": normal(40 + 8 * k, D)}
    if KIND == "mlp":
        return {"w": normal(D, D), "b": zero}
    norms = {"g1": one, "b1": zero, "g2": one, "b2": zero}
    return {**norms, "qkv": normal(D, 3 * D), "o": normal(D, D), "w1": normal(D, 4 * D), "w2": normal(4 * D, D)}


def unequal(p, x):
    return x + lnp.tanh(x @ p["w1"]) @ p["w2"]


layer = {"mlp": mlp, "transformer": block, "unequal": unequal}[KIND]


def loss(params, x):
    for p in params:
        x = layer(p, x)
    return lnp.mean(x * x)


def step(params, x):
    value, slopes = lm.value_and_grad(loss)(params, x)
    return [{k: p[k] - 0.1 * g[k] for k in p} for p, g in zip(params, slopes)], value


def map2(f, one, other):
    return [{k: f(a[k], b[k]) for k in a} for a, b in zip(one, other)]


def adam(state, x):  # map after map, as optimizers of trees are written
    params, m, v = state
    value, slopes = lm.value_and_grad(loss)(params, x)
    m = map2(lambda m, g: 0.9 * m + 0.1 * g, m, slopes)
    v = map2(lambda v, g: 0.999 * v + 0.001 * g * g, v, slopes)
    moves = map2(lambda m, v: m / (lnp.sqrt(v) + 1e-8), m, v)
    return (map2(lambda p, u: p - 0.001 * u, params, moves), m, v), value


function = {"forward": loss, "step": step, "adam": adam}[WHAT]
params, x = [parameters(k) for k in range(LAYERS)], normal(T, D)
if WHAT == "adam":
    params = params, map2(lambda p, _: 0 * p, params, params), map2(lambda p, _: 0 * p, params, params)
"""
FIRST = """
lm.jit(lambda x: x + 1)(x)  # what a process does once
compiled = lm.jit(function)
times = []
for _ in range(4):
    start = time.process_time()
    result = compiled(params, x)
    if WORLD == "jax":
        lm.block_until_ready(result)
    times.append(time.process_time() - start)
print(json.dumps(times[0] - sorted(times[1:])[1]))
"""
SPEED = """
import lamina.pipeline as pipeline

steps, times = pipeline.STEPS, {"functions": [], "flat": []}
made = {}
for name in times:
    pipeline.STEPS = steps if name == "functions" else tuple(s for s in steps if s.name != "graph-reroll")
    made[name] = lm.jit(lambda params, x, name=name: function(params, x))
    made[name](params, x)
for _ in range(15):
    for name, f in made.items():
        start = time.perf_counter()
        f(params, x)
        times[name].append(time.perf_counter() - start)
print(json.dumps({name: min(values) for name, values in times.items()}))
"""


def show(console: Console, rounds: int, counts: Sequence[int] = COUNTS, kinds: Sequence[str] = KINDS) -> None:
    """Measure first calls and print a table."""
    worlds = ["lamina", *(["jax"] if PEERS["jax.jit"].version() is not None else [])]
    table = Table(title="first calls less a later one, seconds of processor time by the number of layers")
    cells = list(product(worlds, counts))
    names = [f"{world} {n}" for world, n in cells]
    ratios = [f"{world}: {n} / {counts[0]}" for world, n in cells if n != counts[0]]
    for column in ("network", *names, *ratios, f"flat / functions, run time of {counts[-1]}"):
        table.add_column(column, justify="left" if column == "network" else "right")
    for kind, what in product(kinds, WHATS):
        samples: dict[tuple[str, int], list[float]] = {cell: [] for cell in cells}
        for _ in range(rounds):
            for world, n in cells:
                samples[world, n].append(run(FIRST, world, kind, n, what))
        middle = {cell: statistics.median(seconds) for cell, seconds in samples.items()}
        speed = run(SPEED, "lamina", kind, counts[-1], what)
        figures = [*middle.values(), *(middle[w, n] / middle[w, counts[0]] for w, n in cells if n != counts[0])]
        table.add_row(f"{kind}, {what}", *(f"{figure:.2f}" for figure in (*figures, speed["flat"] / speed["functions"])))
    console.print(table)


def run(program: str, *arguments: object) -> Any:
    """What a program prints, run in a process of its own with an empty cache of objects."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "LAMINA_CACHE_DIR": cache}
        command = [sys.executable, "-c", NETWORKS + program, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
