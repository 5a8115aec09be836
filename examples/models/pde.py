"""Find unknown coefficients and initial states of partial differential equations from solutions: gradients through time.

    python examples/models/pde.py

The equation of heat: where a conductor conducts how well, from the temperatures that it ends with for several starts. Burgers'
equation: the state at first, from the state that it becomes. Both are explicit steps in time, as scans, and the gradients go
back through all of them.
"""

from __future__ import annotations

from typing import Any

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina import train
from lamina.train import optim

POINTS = 32
X = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
DX = 2 * np.pi / POINTS


class Heat(lm.Module):
    """`u_t = (k(x) u_x)_x` on a circle; k is positive: its logarithm between neighbouring points is learned."""

    logarithm: Any

    def __call__(self, u: Any) -> Any:
        """The temperatures [..., points] after 40 steps; `k dt / dx^2` stays below a half, where steps are stable."""
        flow = lnp.exp(self.logarithm) * 0.2

        def step(u: Any, _: Any) -> tuple[Any, None]:
            across = flow * (lnp.roll(u, -1, -1) - u)
            return u + across - lnp.roll(across, 1, -1), None

        return lm.scan(step, u, None, length=40)[0]


class Burgers(lm.Module):
    """`u_t + (u^2 / 2)_x = nu u_xx` on a circle, from the initial state, which is learned."""

    start: Any
    viscosity: Any = lm.buffer()

    def __call__(self) -> Any:
        """The state after 20 steps, upwind in the flux of Lax and Friedrichs."""
        dt = 0.025

        def step(u: Any, _: Any) -> tuple[Any, None]:
            right = lnp.roll(u, -1)
            flux = 0.25 * (u * u + right * right) - 0.5 * lnp.maximum(lnp.abs(u), lnp.abs(right)) * (right - u)
            flux = flux - self.viscosity * (right - u) / DX
            return u - dt / DX * (flux - lnp.roll(flux, 1)), None

        return lm.scan(step, self.start, None, length=20)[0]


def heat_loss(model: Heat, batch: Any, key: Any = None) -> Any:
    """Mean squared error of the last temperatures."""
    return ((model(batch["start"]) - batch["end"]) ** 2).mean()


def burgers_loss(model: Burgers, batch: Any, key: Any = None) -> Any:
    """Mean squared error of the last state."""
    return ((model() - batch) ** 2).mean()


def fitted(loss: Any, model: Any, batch: Any, steps: int, rate: float, progress: bool, **mode: Any) -> tuple[Any, np.ndarray]:
    """The model fitted to a batch, and the loss of each step."""
    optimizer = optim.adam(optim.cosine_decay(rate, steps))
    data = lm.train.dataset.from_iterable([batch])
    step = train.make_step(loss, optimizer, **mode)
    state = train.start(model, optimizer, lm.random.key(0))
    state, losses = train.fit(step, state, data, steps=steps, progress=progress)
    return state.model, losses


def heat(steps: int, progress: bool = False, **mode: Any) -> tuple[float, np.ndarray]:
    """The largest relative error of the conductivity found, and the losses."""
    true = Heat(0.5 * np.sin(X))
    start = np.stack([np.sin(X), np.cos(X), np.sin(2 * X), np.cos(3 * X)])
    batch = {"start": start, "end": np.asarray(true(start))}
    model, losses = fitted(heat_loss, Heat(np.zeros(POINTS)), batch, steps, 0.05, progress, **mode)
    return float(np.abs(np.exp(np.asarray(model.logarithm) - true.logarithm) - 1).max()), losses


def burgers(steps: int, progress: bool = False, **mode: Any) -> tuple[float, np.ndarray]:
    """The root of the mean squared error of the first state found, which is of size 1, and the losses."""
    true = Burgers(1 + 0.5 * np.sin(X), np.float64(0.1))
    model, losses = fitted(burgers_loss, true.replace(start=np.ones(POINTS)), np.asarray(true()), steps, 0.05, progress, **mode)
    return float(np.sqrt(((np.asarray(model.start) - true.start) ** 2).mean())), losses


def main() -> None:
    """Fit both for 400 steps."""
    # viscosity smooths what Burgers' equation starts with: less of it can be found again
    for name, solve, wanted in (("heat", heat, 1e-3), ("Burgers", burgers, 0.05)):
        error, losses = solve(400, progress=True)
        print(f"{name}: loss {losses[0]:.3g} -> {losses[-1]:.3g}, error of what was unknown {error:.2g}")
        if error > wanted:
            raise SystemExit(f"expected an error of {wanted}")


if __name__ == "__main__":
    main()
