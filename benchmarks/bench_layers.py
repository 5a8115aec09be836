"""Networks of 4 and of 48 equal layers, written as Python loops: what their first calls take, and how fast they run.

A first call is traced, compiled with an empty cache and run, in a process of its own, this package and jax in turns; the figure
is processor time, since the machine may be shared. Speed is that of 48 layers with layers as functions over that without.

python benchmarks/bench_layers.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

NETWORKS = """
import json, sys, time
import numpy as np

WORLD, KIND, LAYERS, TRAINED = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "step"
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


def parameters():
    one, zero = np.ones(D, np.float32), np.zeros(D, np.float32)
    if KIND == "mlp":
        return {"w": normal(D, D), "b": zero}
    norms = {"g1": one, "b1": zero, "g2": one, "b2": zero}
    return {**norms, "qkv": normal(D, 3 * D), "o": normal(D, D), "w1": normal(D, 4 * D), "w2": normal(4 * D, D)}


layer = mlp if KIND == "mlp" else block


def loss(params, x):
    for p in params:
        x = layer(p, x)
    return lnp.mean(x * x)


def step(params, x):
    value, slopes = lm.value_and_grad(loss)(params, x)
    return [{k: p[k] - 0.1 * g[k] for k in p} for p, g in zip(params, slopes)], value


function = step if TRAINED else loss
params, x = [parameters() for _ in range(LAYERS)], normal(T, D)
"""
FIRST = """
lm.jit(lambda x: x + 1)(x)  # what a process does once
start = time.process_time()
result = lm.jit(function)(params, x)
if WORLD == "jax":
    lm.block_until_ready(result)
print(json.dumps(time.process_time() - start))
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


def run(program: str, *arguments: object) -> object:
    """What a program prints, run in a process of its own with an empty cache of objects."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "LAMINA_CACHE_DIR": cache}
        command = [sys.executable, "-c", NETWORKS + program, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    table = Table(title="first calls, seconds of processor time, and speed of 48 layers")
    columns = ("network", "4 layers", "48 layers", "48 / 4", "jax 4", "jax 48", "jax 48 / 4", "flat / functions, run time")
    for column in columns:
        table.add_column(column, justify="left" if column == "network" else "right")
    for kind in ("mlp", "transformer"):
        for what in ("forward", "step"):
            cells = [("lamina", 4), ("lamina", 48), ("jax", 4), ("jax", 48)]
            samples: dict[tuple[str, int], list[float]] = {cell: [] for cell in cells}
            for _ in range(rounds):
                for world, n in cells:
                    samples[world, n].append(float(str(run(FIRST, world, kind, n, what))))
            few, many, jax_few, jax_many = (statistics.median(samples[cell]) for cell in cells)
            speed = run(SPEED, "lamina", kind, 48, what)
            assert isinstance(speed, dict)
            figures = (few, many, many / few, jax_few, jax_many, jax_many / jax_few, speed["flat"] / speed["functions"])
            table.add_row(f"{kind}, {what}", *(f"{figure:.2f}" for figure in figures))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
