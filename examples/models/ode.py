"""Find the parameters of an ordinary differential equation from its solution: gradients through its solver.

    python examples/models/ode.py

Prey and predators follow the equations of Lotka and Volterra. The solver is the classical method of Runge and Kutta, as a scan;
the derivative goes back through its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina import train as training
from lamina.train import optim

TRUE = np.array([1.1, 0.4, 0.1, 0.4])
START = np.array([10.0, 5.0])
TIMES = np.linspace(0, 10, 201)


class LotkaVolterra(lm.Module):
    """`x' = a x - b x y`, `y' = c x y - d y`, whose parameters are positive: their logarithms are learned."""

    logarithms: Any

    def __call__(self, state: Any) -> Any:
        a, b, c, d = lnp.exp(self.logarithms)
        x, y = state
        return lnp.stack([a * x - b * x * y, c * x * y - d * y])


def solve(field: Callable[[Any], Any], start: Any, times: Any) -> Any:
    """The states at all times, by steps of Runge and Kutta of fourth order."""

    def step(state: Any, h: Any) -> tuple[Any, Any]:
        k1 = field(state)
        k2 = field(state + h / 2 * k1)
        k3 = field(state + h / 2 * k2)
        k4 = field(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state, state

    _, states = lm.scan(step, start, times[1:] - times[:-1])
    return lnp.concatenate([lnp.asarray(start)[None], states])


def loss(model: LotkaVolterra, batch: Any, key: Any = None) -> Any:
    """Mean squared error of the logarithms of both populations."""
    return ((lnp.log(solve(model, START, TIMES)) - lnp.log(batch)) ** 2).mean()


def train(steps: int, progress: bool = False, **mode: Any) -> tuple[np.ndarray, np.ndarray]:
    """The parameters found, and the loss of each step."""
    observed = np.asarray(solve(LotkaVolterra(np.log(TRUE)), START, TIMES))
    model = LotkaVolterra(np.log(TRUE * [0.8, 1.25, 0.8, 1.2]))
    optimizer = optim.adam(optim.cosine_decay(0.1, steps))
    data = lm.train.dataset.from_arrays(observed[None]).map(lambda x: x)
    step = training.make_step(loss, optimizer, **mode)
    state = training.start(model, optimizer, lm.random.key(0))
    state, losses = training.fit(step, state, data, steps=steps, progress=progress)
    return np.exp(np.asarray(state.model.logarithms)), losses


def main() -> None:
    """Fit for 400 steps."""
    found, losses = train(400, progress=True)
    print(f"loss {losses[0]:.3g} -> {losses[-1]:.3g}")
    print(f"parameters {found.round(5)}, true ones {TRUE}")
    if np.abs(found / TRUE - 1).max() > 1e-3:
        raise SystemExit("expected the parameters to a thousandth")


if __name__ == "__main__":
    main()
