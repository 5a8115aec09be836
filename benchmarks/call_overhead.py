"""What a call costs: adding two 8-element float32 arrays, against NumPy and, where installed, jax.jit.

The functions take turns, batch by batch, so that a busy machine slows all of them; each gets the median of its batches.

    python benchmarks/call_overhead.py [--batches 41] [--check]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
from lamina.codegen.executable import load_executable, object_for
from lamina.runtime.callable import Compiled
from lamina.runtime.signature import Param, Signature

ADD = """
define void @f(ptr noalias %x, ptr noalias %y, ptr noalias %z, ptr noalias %arena) {
  %a = load <8 x float>, ptr %x, align 4
  %b = load <8 x float>, ptr %y, align 4
  %c = fadd <8 x float> %a, %b
  store <8 x float> %c, ptr %z, align 4
  ret void
}
"""


def lamina_add() -> Any:
    """The compiled function, from LLVM IR text."""
    x, y, z = (Param(name, "float32", (8,)) for name in "xyz")
    signature = Signature("add", (x, y), (z,))
    return Compiled(load_executable(signature, object_for(signature, ADD)))


def jax_add() -> Callable[..., Any] | None:
    """jax.jit's, or None without jax."""
    try:
        import jax
    except ImportError:
        return None
    return jax.jit(lambda x, y: x + y)


def measure(functions: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]], batches: int) -> dict[str, float]:
    """Median seconds a call for each function."""
    timers, numbers = {}, {}
    for name, (function, args) in functions.items():
        timers[name] = timeit.Timer("f(x, y)", globals={"f": function, "x": args[0], "y": args[1]})
        timers[name].timeit(100)
        numbers[name] = max(10, int(0.004 / (timers[name].timeit(1000) / 1000)))
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(batches):
        for name, timer in timers.items():
            samples[name].append(timer.timeit(numbers[name]) / numbers[name])
    return {name: statistics.median(values) for name, values in samples.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=41)
    parser.add_argument("--check", action="store_true", help="fail above 0.5 us, or above 1/8 of jax.jit")
    options = parser.parse_args()
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    add = lamina_add()
    np.testing.assert_array_equal(add(x, y), x + y)
    functions: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "lamina": (add, (x, y)),
        "lamina, copied argument": (add, (np.arange(16, dtype=np.float32)[::2], y)),
        "numpy.add": (np.add, (x, y)),
        "numpy x + y": (lambda x, y: x + y, (x, y)),
    }
    jitted = jax_add()
    if jitted is not None:
        import jax

        functions["jax.jit"] = (jitted, (x, y))
        functions["jax.jit, device arrays"] = (jitted, (jax.device_put(x), jax.device_put(y)))
    times = measure(functions, options.batches)
    for name, seconds in times.items():
        print(f"{name:26}{seconds * 1e9:10.0f} ns{seconds / times['lamina']:8.1f}x")
    good = times["lamina"] <= 0.5e-6 and times["lamina"] <= times.get("jax.jit, device arrays", 1.0) / 8
    return 1 if options.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
