"""Call overhead of `lm.compile`: arrays of 8 float32, against `lm.jit`, torch.compile and jax.jit, without and with guards.

python benchmarks/bench_guards.py [--rounds 31] [--without-torch]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import lamina as lm
import numpy as np
from measure import interleaved
from rich.console import Console
from rich.table import Table


class Settings:
    rate, shift, power, mode, limit = 2, 1, 3, "plain", None


SETTINGS = Settings()
SETTINGS.rate, SETTINGS.shift, SETTINGS.power, SETTINGS.mode, SETTINGS.limit = 2, 1, 3, "plain", None
FIRST, SECOND, THIRD, FLAG, NAME = 1, 2, 3, True, "a"


def none(x: Any) -> Any:
    return x * 2 + 1


def ten(x: Any) -> Any:
    if SETTINGS.mode == "plain" and SETTINGS.limit is None and FLAG and NAME == "a":
        x = x * SETTINGS.rate + SETTINGS.shift
    return x * (FIRST + SECOND + THIRD) + SETTINGS.power


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--without-torch", action="store_true", help="whose first call takes long")
    given = parser.parse_args()
    x = np.linspace(0.5, 2, 8, dtype=np.float32)
    table = Table(title="a call with 8 float32, in us: lm.jit, lm.compile, torch.compile, jax.jit")
    for name in ("function", "jit", "compile", "compile - jit", "torch", "jax", "NumPy"):
        table.add_column(name, justify="left" if name == "function" else "right")
    for text, function in (("no guards", none), ("ten globals, attributes", ten)):
        calls: dict[str, Callable[[], Any]] = {}
        for name, make in (("lm.jit", lm.jit), ("lm.compile", lm.compile)):
            made = make(function)
            calls[name] = lambda made=made: made(x)
        put, traced = jax.device_put(x), jax.jit(function)
        calls["jax.jit"] = lambda traced=traced, put=put: traced(put)
        calls["NumPy"] = lambda function=function: function(x)
        if not given.without_torch:
            import torch

            torch.set_num_threads(1)
            tensor, dynamo = torch.from_numpy(x), torch.compile(function)
            calls["torch.compile"] = lambda dynamo=dynamo, tensor=tensor: dynamo(tensor)
        for call in calls.values():
            np.testing.assert_allclose(np.asarray(call()), function(x), rtol=1e-6)
        least = interleaved(calls, given.rounds, of=min)
        shown = {name: f"{seconds * 1e6:.2f}" for name, seconds in least.items()}
        over = least["lm.compile"] - least["lm.jit"]
        table.add_row(
            text, shown["lm.jit"], shown["lm.compile"], f"{over * 1e6:.2f}", shown.get("torch.compile", "-"), shown["jax.jit"],
            shown["NumPy"],
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
