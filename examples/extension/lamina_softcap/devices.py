"""A device: a simulated accelerator, which keeps buffers by number, counts what is copied, and runs programs op by op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from lamina import extend
from lamina.runtime.interpreter import interpret
from xdsl.dialects.builtin import ModuleOp


class Simulated(extend.Device):
    """Buffers are numbers of arrays in a memory that nobody else reads.

    Attributes:
        counts: how many arrays were copied "in" and "out", programs were "compiled" and "launched".
    """

    def __init__(self) -> None:
        self.memory: dict[int, np.ndarray] = {}
        self.counts: Counter[str] = Counter()

    def put(self, array: np.ndarray) -> int:
        self.counts["in"] += 1
        return self._keep(array.copy())

    def get(self, buffer: int) -> np.ndarray:
        self.counts["out"] += 1
        return self.memory[buffer].copy()

    def free(self, buffer: int) -> None:
        del self.memory[buffer]

    def compile(self, module: ModuleOp, entry: str) -> Callable[[Sequence[int]], list[int]]:
        self.counts["compiled"] += 1

        def launch(buffers: Sequence[int]) -> list[int]:
            self.counts["launched"] += 1
            return [self._keep(y) for y in interpret(module, entry, [self.memory[x] for x in buffers])]

        return launch

    def _keep(self, array: np.ndarray) -> int:
        number = self.counts["kept"]
        self.counts["kept"] += 1
        self.memory[number] = array
        return number


SIMULATED = extend.register_device("simulated", Simulated())
