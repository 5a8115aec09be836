"""Libraries that the cases use, imported at their first use: no worker loads the libraries of another one."""

from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """Stands for a module and imports it when an attribute is read."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


lm, lnp = Lazy("lamina"), Lazy("lamina.numpy")
jax, jnp = Lazy("jax"), Lazy("jax.numpy")
torch = Lazy("torch")
kernels = Lazy("suite.kernels")  # our kernels, in Python
loops = Lazy("suite.loops")  # numba's
plain_loops, loop_forms = Lazy("suite.plain_loops"), Lazy("suite.loop_forms")
numba = Lazy("numba")
