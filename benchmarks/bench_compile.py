"""From nothing to the first result: importing, compiling the training step of examples/digits cold, and starting it warm.

Every figure is the median over fresh processes: cold with an empty cache, warm with the objects of an earlier process.

python benchmarks/bench_compile.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from measure import readable
from rich.console import Console
from rich.table import Table

IMPORT = "import time; t = time.perf_counter(); import lamina; print(time.perf_counter() - t)"
STEP = """
import numpy as np
import time
start = time.perf_counter()
import lamina as lm
import lamina.numpy as lnp


def loss(p, x, labels):
    hidden = lm.nn.relu(x @ p["w1"] + p["b1"])
    return lm.nn.cross_entropy(hidden @ p["w2"] + p["b2"], labels)


def step(p, m, v, t, x, labels):
    value, g = lm.value_and_grad(loss)(p, x, labels)
    t = t + 1
    m = {k: 0.9 * m[k] + 0.1 * g[k] for k in p}
    v = {k: 0.999 * v[k] + 0.001 * g[k] * g[k] for k in p}
    first, second = 1 - lnp.power(np.float32(0.9), t), 1 - lnp.power(np.float32(0.999), t)
    p = {k: p[k] - 1e-3 * (m[k] / first) / (lnp.sqrt(v[k] / second) + 1e-8) for k in p}
    return p, m, v, t, value


rng = np.random.default_rng(0)
shapes = {"w1": (64, 128), "b1": (128,), "w2": (128, 10), "b2": (10,)}
p = {k: rng.normal(size=s).astype(np.float32) * 0.1 for k, s in shapes.items()}
zeros = {k: np.zeros_like(a) for k, a in p.items()}
x, labels = rng.normal(size=(128, 64)).astype(np.float32), rng.integers(0, 10, 128)
called = time.perf_counter()
value = lm.jit(step)(p, zeros, zeros, np.float32(0), x, labels)[-1]
assert np.isfinite(value)
print(time.perf_counter() - called)
"""


def seconds(program: str, cache: str) -> float:
    """What a program prints, run in a process of its own."""
    environment = {**os.environ, "LAMINA_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    imports, cold, warm = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        seconds(STEP, cache)
    for _ in range(7):
        with tempfile.TemporaryDirectory() as cache:
            imports.append(seconds(IMPORT, cache))
            cold.append(seconds(STEP, cache))
            warm.append(seconds(STEP, cache))
    table = Table(title="the digits step: forward, backward, Adam")
    table.add_column("what")
    table.add_column("median", justify="right")
    for name, samples in (
        ("import lamina", imports),
        ("first call, cold", cold),
        ("first call in a new process, objects in the cache", warm),
    ):
        table.add_row(name, readable(statistics.median(samples)))
    Console().print(table)


if __name__ == "__main__":
    main()
