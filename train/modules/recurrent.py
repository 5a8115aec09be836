"""Recurrent layers with torch's names: `LSTM` and `GRU`, of several layers and both directions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...api.errors import ShapeError
from ...library.nn import namespace as nn
from ...library.numpy import namespace as lnp
from ...library.random import namespace as random
from .initializers import torch_uniform
from .module import Module, static

__all__ = ["GRU", "LSTM"]


class RecurrentCell(Module):
    """The parameters of one layer in one direction.

    Attributes:
        weight_ih: floats[gates * hidden_size, input_size].
        weight_hh: floats[gates * hidden_size, hidden_size].
        bias_ih, bias_hh: floats[gates * hidden_size], or None.
    """

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(self, gates: int, input_size: int, hidden_size: int, bias: bool, *, key: Any, dtype: Any) -> None:
        fill = torch_uniform(hidden_size)
        keys = random.split(key, 4)
        rows = gates * hidden_size
        self.weight_ih = fill(keys[0], (rows, input_size), dtype)
        self.weight_hh = fill(keys[1], (rows, hidden_size), dtype)
        self.bias_ih, self.bias_hh = (fill(keys[k], (rows,), dtype) if bias else None for k in (2, 3))


class _Recurrent(Module):
    """The base of `LSTM` and `GRU`.

    Attributes:
        layers: one `RecurrentCell` a layer.
        reverse_layers: those of the other direction, or none.
    """

    layers: tuple[RecurrentCell, ...]
    reverse_layers: tuple[RecurrentCell, ...]
    hidden_size: int = static()

    gates = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        bidirectional: bool = False,
        *,
        key: Any,
        dtype: Any = np.float32,
    ) -> None:
        if num_layers < 1:
            raise ValueError(f"{type(self).__name__} needs at least one layer, got num_layers={num_layers}")
        directions = 2 if bidirectional else 1
        keys = random.split(key, num_layers * directions)
        inputs = [input_size] + [directions * hidden_size] * (num_layers - 1)
        cells = [
            tuple(
                RecurrentCell(self.gates, size, hidden_size, bias, key=keys[k * directions + way], dtype=dtype)
                for k, size in enumerate(inputs)
            )
            for way in range(directions)
        ]
        self.layers = cells[0]
        self.reverse_layers = cells[1] if bidirectional else ()
        self.hidden_size = hidden_size

    def state_name(self, name: str) -> str:
        """torch writes the layer and the direction behind the name."""
        found = re.fullmatch(r"(reverse_)?layers\.(\d+)\.(\w+)", name)
        return name if found is None else f"{found[3]}_l{found[2]}" + ("_reverse" if found[1] else "")

    def _start(self, x: Any) -> Any:
        """A state of zeros, [layers * directions, ..., hidden_size]."""
        if lnp.ndim(x) < 2:
            raise ShapeError(f"{type(self).__name__} takes [time, ..., features], got {list(lnp.shape(x))}")
        count = len(self.layers) + len(self.reverse_layers)
        return lnp.zeros((count, *lnp.shape(x)[1:-1], self.hidden_size), self.layers[0].weight_hh.dtype)

    def _run(self, step: Any, x: Any, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """All layers: `step(cell, x, states, reverse)` is one, which returns its states at all times and its last ones."""
        last = []
        for k in range(len(self.layers)):
            ways = [self.layers[k]] + ([self.reverse_layers[k]] if self.reverse_layers else [])
            found = []
            for way, cell in enumerate(ways):
                y, after = step(cell, x, tuple(state[len(last)] for state in states), bool(way))
                found.append(y)
                last.append(after)
            x = found[0] if len(found) == 1 else lnp.concatenate(found, -1)
        return x, tuple(lnp.stack(parts) for parts in zip(*last, strict=True))


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); gates stand in the order input, forget, cell, output.

    Args:
        input_size, hidden_size: features of argument and state.
        num_layers: how many layers, each of which reads the states of the one before.
        bias: whether there are biases.
        bidirectional: whether each layer runs in both directions; its states then stand side by side.
        key, dtype: as of `Linear`.

    >>> import lamina as lm, numpy as np
    >>> y, (h, c) = lm.train.modules.LSTM(4, 3, key=lm.random.key(0))(np.ones((5, 2, 4), np.float32))
    >>> y.shape, h.shape, c.shape
    ((5, 2, 3), (1, 2, 3), (1, 2, 3))
    """

    gates = 4

    def __call__(self, x: Any, state: tuple[Any, Any] | None = None) -> tuple[Any, tuple[Any, Any]]:
        """States of the last layer at all times, and the last states of all layers.

        Args:
            x: floats[time, ..., input_size].
            state: (h, c), each floats[layers * directions, ..., hidden_size]; zeros by default.

        Returns:
            (floats[time, ..., directions * hidden_size], (h, c)).
        """

        def step(cell: RecurrentCell, x: Any, states: tuple[Any, ...], reverse: bool) -> tuple[Any, Any]:
            h, c = states
            return nn.lstm(x, h, c, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, reverse=reverse)

        y, (h, c) = self._run(step, x, (self._start(x),) * 2 if state is None else state)
        return y, (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al., 2014); gates stand in the order reset, update, new. Its parameters are those of
    `LSTM`."""

    gates = 3

    def __call__(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """States of the last layer at all times, and the last states of all layers.

        Args:
            x: floats[time, ..., input_size].
            state: floats[layers * directions, ..., hidden_size]; zeros by default.

        Returns:
            (floats[time, ..., directions * hidden_size], floats[layers * directions, ..., hidden_size]).
        """

        def step(cell: RecurrentCell, x: Any, states: tuple[Any, ...], reverse: bool) -> tuple[Any, tuple[Any]]:
            y, last = nn.gru(x, states[0], cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh, reverse=reverse)
            return y, (last,)

        y, (h,) = self._run(step, x, (self._start(x) if state is None else state,))
        return y, h
