"""Recurrent layers of `lamina.nn`: torch's, with its order of gates. The loop over time runs in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api.errors import ShapeError
from ...api.functions import scan
from ..numpy.contract import matmul
from ..numpy.create import asarray
from ..numpy.join import split
from ..numpy.ufuncs import tanh
from .namespace import sigmoid


def _projected(what: str, gates: int, x: Any, h: Any, w_ih: Any, w_hh: Any, b: Any) -> Any:
    """The contribution of the inputs of all steps to the gates."""
    features, hidden = x.shape[-1], h.shape[-1]
    wanted = {"w_ih": (gates * hidden, features), "w_hh": (gates * hidden, hidden)}
    for name, w in (("w_ih", w_ih), ("w_hh", w_hh)):
        if tuple(w.shape) != wanted[name]:
            raise ShapeError(f"{what} needs {name} of {list(wanted[name])}, got {list(w.shape)}")
    if x.ndim < 2 or x.shape[1:-1] != h.shape[:-1]:
        raise ShapeError(f"{what} needs x[time, ..., features] and h[..., hidden], got {list(x.shape)} and {list(h.shape)}")
    y = matmul(x, w_ih.T)
    return y if b is None else y + b


def _plus(x: Any, b: Any) -> Any:
    return x if b is None else x + b


def rnn(
    x: Any,
    h: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
    *,
    activation: Callable[[Any], Any] = tanh,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`h = activation(x[t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh)` for each step t.

    Args:
        x: floats[time, ..., features].
        h: floats[..., hidden], the state at first.
        w_ih: floats[hidden, features].
        w_hh: floats[hidden, hidden].
        b_ih, b_hh: floats[hidden], or None.
        activation: an elementwise function.
        reverse: go from the last step to the first.

    Returns:
        (the states after each step, [time, ..., hidden]; the last one).

    Raises:
        ShapeError: shapes do not fit.
    """

    x, h, w_ih, w_hh = map(asarray, (x, h, w_ih, w_hh))

    def step(h: Any, given: Any) -> tuple[Any, Any]:
        h = activation(given + _plus(matmul(h, w_hh.T), b_hh))
        return h, h

    last, states = scan(step, h, _projected("rnn", 1, x, h, w_ih, w_hh, b_ih), reverse=reverse)
    return states, last


def lstm(
    x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, *, reverse: bool = False
) -> tuple[Any, tuple[Any, Any]]:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), with gates in the order input, forget, cell, output.

    Args:
        x: floats[time, ..., features].
        h, c: floats[..., hidden], state and cell at first.
        w_ih: floats[4 * hidden, features].
        w_hh: floats[4 * hidden, hidden].
        b_ih, b_hh: floats[4 * hidden], or None.
        reverse: go from the last step to the first.

    Returns:
        (the states after each step, [time, ..., hidden]; the last state and cell).

    Raises:
        ShapeError: shapes do not fit.

    >>> import numpy as np, lamina as lm
    >>> zeros = np.zeros((2, 3), np.float32)
    >>> ys, (h, c) = lm.nn.lstm(np.ones((5, 2, 4), np.float32), zeros, zeros, np.ones((12, 4)), np.ones((12, 3)))
    >>> ys.shape, h.shape
    ((5, 2, 3), (2, 3))
    """

    x, h, c, w_ih, w_hh = map(asarray, (x, h, c, w_ih, w_hh))

    def step(state: Any, given: Any) -> tuple[Any, Any]:
        h, c = state
        gates = given + _plus(matmul(h, w_hh.T), b_hh)
        i, f, g, o = split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return (h, c), h

    last, states = scan(step, (h, c), _projected("lstm", 4, x, h, w_ih, w_hh, b_ih), reverse=reverse)
    return states, last


def gru(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, *, reverse: bool = False) -> tuple[Any, Any]:
    """Gated recurrent unit (Cho et al., 2014), with gates in the order reset, update, new; the arguments are those of `lstm`.

    Weights and biases have `3 * hidden` rows. The reset gate multiplies `h @ w_hh.T + b_hh`, as in torch and cuDNN.
    """

    x, h, w_ih, w_hh = map(asarray, (x, h, w_ih, w_hh))

    def step(h: Any, given: Any) -> tuple[Any, Any]:
        r_x, z_x, n_x = split(given, 3, -1)
        r_h, z_h, n_h = split(_plus(matmul(h, w_hh.T), b_hh), 3, -1)
        z = sigmoid(z_x + z_h)
        n = tanh(n_x + sigmoid(r_x + r_h) * n_h)
        h = n + z * (h - n)
        return h, h

    last, states = scan(step, h, _projected("gru", 3, x, h, w_ih, w_hh, b_ih), reverse=reverse)
    return states, last
