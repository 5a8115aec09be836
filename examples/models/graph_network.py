"""Learn the law of springs from how particles move: a graph network, by sums over edges.

    python examples/models/graph_network.py

Each edge is a spring of its own length. The network sees positions and the springs' lengths, and learns the force on each
particle as a sum of messages along its edges. The law is the same in every graph, so it holds in one that was not trained on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import lamina as lm
import lamina.numpy as lnp
import numpy as np
from lamina import train as training
from lamina.train import modules, optim


class Graph(NamedTuple):
    """Particles in the plane and the springs between them.

    Attributes:
        positions: floats[nodes, 2].
        senders, receivers: integers[edges].
        lengths: floats[edges], of the springs at rest.
    """

    positions: Any
    senders: Any
    receivers: Any
    lengths: Any


def springs(rng: np.random.Generator, nodes: int, edges: int) -> tuple[Graph, np.ndarray]:
    """A random graph, and the force on each particle by Hooke's law."""
    positions = rng.normal(size=(nodes, 2))
    senders = rng.integers(0, nodes, edges)
    receivers = (senders + rng.integers(1, nodes, edges)) % nodes
    lengths = rng.uniform(0.5, 1.5, edges)
    apart = positions[senders] - positions[receivers]
    distance = np.linalg.norm(apart, axis=1, keepdims=True)
    forces = np.zeros((nodes, 2))
    np.add.at(forces, receivers, (distance - lengths[:, None]) * apart / distance)
    f32 = [np.float32(x) for x in (positions, lengths, forces)]
    return Graph(f32[0], senders.astype(np.int32), receivers.astype(np.int32), f32[1]), f32[2]


class Interaction(lm.Module):
    """A message along each edge, from what the law may depend on; what a particle receives is summed up."""

    message: modules.MLP

    def __call__(self, graph: Graph) -> Any:
        """The forces, floats[nodes, 2]."""
        apart = graph.positions[graph.senders] - graph.positions[graph.receivers]
        distance = lnp.sqrt((apart * apart).sum(-1))
        strength = self.message(lnp.stack([distance, graph.lengths], -1))
        messages = strength * apart / distance[:, None]
        return lm.segment_sum(messages, graph.receivers, graph.positions.shape[0])


def loss(model: Interaction, batch: Any, key: Any = None) -> Any:
    """Mean squared error of the forces of all graphs."""
    graphs, forces = batch
    return ((lm.vmap(lambda graph: model(graph))(graphs) - forces) ** 2).mean()


def train(steps: int, progress: bool = False, **mode: Any) -> tuple[Interaction, np.ndarray, float]:
    """The model, the loss of each step, and its error on a larger graph as a share of the forces' mean square."""
    rng = np.random.default_rng(0)
    drawn = [springs(rng, 12, 40) for _ in range(64)]
    graphs, forces = lm.tree.map(lambda *leaves: np.stack(leaves), *drawn)
    key = lm.random.key(0)
    model = Interaction(modules.MLP((2, 32, 32, 1), lm.nn.silu, key=key))
    optimizer = optim.adam(optim.cosine_decay(1e-2, steps))
    data = lm.train.dataset.from_arrays((graphs, forces)).shuffle(key).batch(16)
    step = training.make_step(loss, optimizer, **mode)
    state, losses = training.fit(step, training.start(model, optimizer, key), data, steps=steps, progress=progress)
    graph, expected = springs(rng, 100, 600)
    error = ((np.asarray(state.model(graph)) - expected) ** 2).mean() / (expected**2).mean()
    return state.model, losses, float(error)


def main() -> None:
    """Train for 600 steps."""
    _, losses, error = train(600, progress=True)
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.2e}; error on a graph of 100 particles: {error:.2e} of the mean square")
    if error > 1e-3:
        raise SystemExit("expected an error of 0.001")


if __name__ == "__main__":
    main()
