"""An elementwise chain on a million float32, one thread: one kernel without temporaries, against NumPy and XLA's jit (jax).

python benchmarks/bench_elementwise.py
"""

from __future__ import annotations

import os

# one thread for every peer, said before they are imported
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import lamina as lm
import lamina.numpy as lnp
import numpy as np
from measure import interleaved, show


def main() -> None:
    rng = np.random.default_rng(0)
    x, y, z = (rng.normal(size=1_000_000).astype(np.float32) for _ in range(3))

    def ours(x, y, z):
        return lnp.tanh(x * y + z) * lm.nn.sigmoid(x) + lnp.exp(-lnp.abs(z))

    def xla(x, y, z):
        return jnp.tanh(x * y + z) * jax.nn.sigmoid(x) + jnp.exp(-jnp.abs(z))

    def numpy(x, y, z):
        return np.tanh(x * y + z) * (1 / (1 + np.exp(-x))) + np.exp(-np.abs(z))

    compiled, jitted = lm.jit(ours), jax.jit(xla)
    device = [jax.device_put(a) for a in (x, y, z)]
    np.testing.assert_allclose(compiled(x, y, z), numpy(x, y, z), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(compiled(x, y, z), jitted(*device), rtol=2e-6, atol=2e-6)
    medians = interleaved(
        {
            "lamina": lambda: compiled(x, y, z),
            "numpy": lambda: numpy(x, y, z),
            "jax.jit": lambda: jitted(*device).block_until_ready(),
        },
        rounds=21,
        batch_seconds=0.02,
    )
    show("tanh(x*y+z)*sigmoid(x)+exp(-abs(z)), 10^6 float32, one thread", medians)


if __name__ == "__main__":
    main()
