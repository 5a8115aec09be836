"""LSTM, GRU and RNN, with all their attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....api.functions import scan
from ....library.nn import namespace as nn
from ....library.numpy import namespace as lnp
from ..errors import OnnxError
from ..nodes import Node, op

_DEFAULTS = {"HardSigmoid": (0.2, 0.5), "LeakyRelu": (0.01, 0.0), "Elu": (1.0, 0.0), "ThresholdedRelu": (1.0, 0.0),
             "Affine": (1.0, 0.0), "ScaledTanh": (1.0, 1.0)}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "Relu": lambda x, a, b: nn.relu(x),
    "Tanh": lambda x, a, b: lnp.tanh(x),
    "Sigmoid": lambda x, a, b: nn.sigmoid(x),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: nn.leaky_relu(x, a),
    "ThresholdedRelu": lambda x, a, b: lnp.where(x > a, x, lnp.zeros_like(x)),
    "ScaledTanh": lambda x, a, b: a * lnp.tanh(b * x),
    "HardSigmoid": lambda x, a, b: lnp.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: nn.elu(x, a),
    "Softsign": lambda x, a, b: nn.soft_sign(x),
    "Softplus": lambda x, a, b: nn.softplus(x),
}
_CANONICAL = {name.lower(): name for name in _FUNCTIONS}


class Layer:
    """The attributes of a recurrent node, and the loop over time that all three ops share."""

    def __init__(self, node: Node, default: Sequence[str], gates: int):
        self.node, self.gates = node, gates
        self.directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
            node.get("direction", "forward")
        ]
        names = node.get("activations", None) or [*default] * len(self.directions)
        names = [_CANONICAL.get(n.lower(), n) for n in names]
        alphas, betas = list(node.get("activation_alpha", [])), list(node.get("activation_beta", []))
        self.activations = []
        for name in names:
            if name not in _FUNCTIONS:
                raise OnnxError(f"activation {name!r} is none of {', '.join(_FUNCTIONS)}")
            a, b = _DEFAULTS.get(name, (0.0, 0.0))
            a = alphas.pop(0) if alphas and name in _DEFAULTS else a
            b = betas.pop(0) if betas and name in ("HardSigmoid", "Affine", "ScaledTanh") else b
            self.activations.append(lambda x, f=_FUNCTIONS[name], a=a, b=b: f(x, a, b).astype(x.dtype))
        self.per_direction = len(names) // len(self.directions)
        self.clip = node.get("clip", None)
        self.batch_first = bool(node.get("layout", 0))

    def functions(self, d: int) -> list[Callable[[Any], Any]]:
        """The activations of a direction; what they take is clipped."""
        chosen = self.activations[d * self.per_direction : (d + 1) * self.per_direction]
        if self.clip is None:
            return chosen
        return [lambda x, f=f: f(lnp.clip(x, -self.clip, self.clip)) for f in chosen]

    def run(self, x: Any, w: Any, b: Any, hidden: int, starts: Sequence[Any], lengths: Any, step: Callable[..., Any]) -> Any:
        """The states of all steps, and the last ones.

        Args:
            x: [time, batch, features] (batch first if the layout says so).
            w: [directions, gates * hidden, features].
            b: [directions, 2 * gates * hidden], or None.
            hidden: the size of the state.
            starts: states at first, each [directions, batch, hidden] or None.
            lengths: the length of each sequence, or None.
            step: `(direction, projected x, states) -> states`; the first state is the result.
        """
        x = lnp.moveaxis(x, 0, 1) if self.batch_first else lnp.asarray(x)
        time, batch = x.shape[:2]
        outs, lasts = [], []
        for d, backwards in enumerate(self.directions):
            inputs = _reversed(x, lengths) if backwards else x
            projected = lnp.matmul(inputs, w[d].T)
            if b is not None:
                projected = projected + b[d][: self.gates * hidden]
            first = tuple(self.start(s, d, batch, hidden, x.dtype) for s in starts)

            def body(states: Any, given: Any, d: int = d) -> Any:
                t, projection = given
                new = step(d, projection, states)
                out = new[0]
                if lengths is not None:
                    going = (t < lnp.asarray(lengths))[:, None]
                    new = tuple(lnp.where(going, n, s) for n, s in zip(new, states, strict=True))
                    out = lnp.where(going, out, lnp.zeros_like(out))
                return new, out

            last, ys = scan(body, first, (lnp.arange(time), projected))
            outs.append(_reversed(ys, lengths) if backwards else ys)
            lasts.append(last)
        y = lnp.stack(outs, 1)  # [time, directions, batch, hidden]
        finals = [lnp.stack([last[i] for last in lasts]) for i in range(len(starts))]
        if self.batch_first:
            return (y.transpose((2, 0, 1, 3)), *[f.transpose((1, 0, 2)) for f in finals])
        return (y, *finals)

    def start(self, state: Any, d: int, batch: Any, hidden: int, dtype: Any) -> Any:
        if state is None:
            return lnp.zeros((batch, hidden), dtype=dtype)
        return lnp.asarray(state[:, d] if self.batch_first else state[d])


def _reversed(x: Any, lengths: Any) -> Any:
    """Time reversed, of each sequence within its length."""
    if lengths is None:
        return lnp.flip(x, 0)
    steps = lnp.arange(x.shape[0])[:, None]
    ends = lnp.asarray(lengths)[None, :]
    index = lnp.where(steps < ends, ends - 1 - steps, steps)
    return lnp.asarray(x)[index, lnp.arange(x.shape[1])[None, :]]


def _recurrent_bias(b: Any, d: int, gates: int, hidden: int) -> Any:
    return 0 if b is None else b[d][gates * hidden :]


@op("RNN")
def rnn(node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None) -> Any:
    layer = Layer(node, ["Tanh"], 1)
    hidden = node.get("hidden_size", r.shape[-1])

    def step(d: int, projected: Any, states: Any) -> Any:
        (f,) = layer.functions(d)
        return (f(projected + lnp.matmul(states[0], r[d].T) + _recurrent_bias(b, d, 1, hidden)),)

    return layer.run(x, w, b, hidden, [h], lengths, step)


@op("GRU")
def gru(node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None) -> Any:
    """Gates in the order update, reset, hidden; `linear_before_reset` applies the reset gate after the product."""
    layer = Layer(node, ["Sigmoid", "Tanh"], 3)
    hidden = node.get("hidden_size", r.shape[-1])
    after = bool(node.get("linear_before_reset", 0))

    def step(d: int, projected: Any, states: Any) -> Any:
        f, g = layer.functions(d)
        (state,) = states
        bias = None if b is None else b[d][3 * hidden :]
        gates = projected[:, : 2 * hidden] + lnp.matmul(state, r[d][: 2 * hidden].T)
        gates = gates if bias is None else gates + bias[: 2 * hidden]
        z, reset = f(gates[:, :hidden]), f(gates[:, hidden:])
        if after:
            inner = lnp.matmul(state, r[d][2 * hidden :].T)
            inner = reset * (inner if bias is None else inner + bias[2 * hidden :])
        else:
            inner = lnp.matmul(reset * state, r[d][2 * hidden :].T)
            inner = inner if bias is None else inner + bias[2 * hidden :]
        new = g(projected[:, 2 * hidden :] + inner)
        return ((1 - z) * new + z * state,)

    return layer.run(x, w, b, hidden, [h], lengths, step)


@op("LSTM")
def lstm(
    node: Node, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, c: Any = None, peepholes: Any = None
) -> Any:
    """Gates in the order input, output, forget, cell."""
    layer = Layer(node, ["Sigmoid", "Tanh", "Tanh"], 4)
    hidden = node.get("hidden_size", r.shape[-1])
    coupled = bool(node.get("input_forget", 0))

    def step(d: int, projected: Any, states: Any) -> Any:
        f, g, k = layer.functions(d)
        state, cell = states
        gates = projected + lnp.matmul(state, r[d].T) + _recurrent_bias(b, d, 4, hidden)
        i, o, forget, new = (gates[:, j * hidden : (j + 1) * hidden] for j in range(4))
        p = None if peepholes is None else [peepholes[d][j * hidden : (j + 1) * hidden] for j in range(3)]
        i = f(i if p is None else i + p[0] * cell)
        forget = 1 - i if coupled else f(forget if p is None else forget + p[2] * cell)
        cell = forget * cell + i * g(new)
        o = f(o if p is None else o + p[1] * cell)
        return o * k(cell), cell

    return layer.run(x, w, b, hidden, [h, c], lengths, step)
