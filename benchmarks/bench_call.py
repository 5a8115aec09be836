"""The cost of a call: adding two 8-element float32 arrays, against NumPy and XLA's jit (jax).

python benchmarks/bench_call.py
"""

from __future__ import annotations

import jax
import lamina as lm
import numpy as np
from measure import interleaved, show


def main() -> None:
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    ours = lm.jit(lambda x, y: x + y)
    theirs = jax.jit(lambda x, y: x + y)
    on_device = jax.device_put(x), jax.device_put(y)
    strided = np.arange(16, dtype=np.float32)[::2]
    np.testing.assert_array_equal(ours(x, y), x + y)
    np.testing.assert_array_equal(ours(strided, y), strided + y)
    medians = interleaved(
        {
            "lamina": lambda: ours(x, y),
            "lamina, strided argument": lambda: ours(strided, y),
            "numpy": lambda: np.add(x, y),
            "jax.jit, NumPy arrays": lambda: theirs(x, y).block_until_ready(),
            "jax.jit, its own arrays": lambda: theirs(*on_device).block_until_ready(),
        }
    )
    show("a call: x + y, 8 float32 (the loop around a call included)", medians)


if __name__ == "__main__":
    main()
