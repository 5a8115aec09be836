"""mctx, jraph, einops, chex: tree searches, networks on graphs, shapes as words, dataclasses of arrays."""

import chex
import einops
import jax
import jax.numpy as jnp
import jraph
import mctx
import numpy as np

rng = np.random.default_rng(0)
BATCH, ACTIONS = 2, 3
MODEL = jnp.asarray(rng.normal(size=(4 + ACTIONS, 4)).astype(np.float32))
LOGITS = jnp.asarray(rng.normal(size=(BATCH, ACTIONS)).astype(np.float32))
DENSE = jnp.asarray(rng.normal(size=(3, 4)).astype(np.float32))
NODES, EDGES = (jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in ((6, 3), (8, 2)))
CUBE = jnp.arange(24.0).reshape(2, 3, 4)


def searched(policy):
    def model(parameters, key, action, state):
        new = jnp.tanh(jnp.concatenate([state, jax.nn.one_hot(action, ACTIONS)], -1) @ MODEL)
        discount = jnp.full((BATCH,), 0.9)
        return mctx.RecurrentFnOutput(reward=new[:, 0], discount=discount, prior_logits=new[:, :ACTIONS], value=new[:, 3]), new

    def run():
        root = mctx.RootFnOutput(prior_logits=LOGITS, value=jnp.zeros(BATCH), embedding=jnp.zeros((BATCH, 4)))
        found = policy(params=None, rng_key=jax.random.PRNGKey(0), root=root, recurrent_fn=model, num_simulations=12)
        return found.action, found.action_weights, found.search_tree.node_visits, found.search_tree.children_values

    return run


def graph():
    return jraph.GraphsTuple(
        nodes=NODES, edges=EDGES, senders=jnp.array([0, 1, 2, 3, 4, 5, 0, 2]), receivers=jnp.array([1, 2, 0, 4, 5, 3, 2, 1]),
        n_node=jnp.array([3, 3]), n_edge=jnp.array([5, 3]), globals=jnp.zeros((2, 1)),
    )  # fmt: skip


def convolution():
    layer, given = jraph.GraphConvolution(lambda n: n @ DENSE, add_self_edges=False), graph()
    return layer(given).nodes, jax.grad(lambda nodes: layer(given._replace(nodes=nodes)).nodes.sum())(NODES)


def network():
    layer = jraph.GraphNetwork(
        lambda edges, senders, receivers, globals_: jnp.concatenate([edges, senders, receivers], 1) * 0.5,
        lambda nodes, sent, received, globals_: jnp.concatenate([nodes, sent], 1),
        lambda nodes, edges, globals_: nodes.sum(1, keepdims=True) + edges.sum(1, keepdims=True),
    )
    found = layer(graph())
    return found.nodes, found.edges, found.globals


def attention():
    return jraph.GAT(lambda n: n @ DENSE, lambda s, r, e: jnp.tanh(s + r).sum(-1, keepdims=True))(graph()).nodes


def interaction():
    layer = jraph.InteractionNetwork(
        lambda edges, senders, receivers: jnp.concatenate([edges, senders, receivers], 1),
        lambda nodes, received: jnp.concatenate([nodes, received], 1),
    )
    return jax.jit(layer)(graph()).nodes


def batches():
    both = jraph.batch([graph(), graph()])
    padded = jraph.pad_with_graphs(both, 20, 30, 6)
    return padded.nodes, padded.n_node, jraph.get_node_padding_mask(padded), [one.nodes for one in jraph.unbatch(both)]


def segments():
    ids = jnp.array([0, 0, 1, 1, 1, 2, 3, 3])
    names = ("sum", "mean", "max", "min", "softmax", "variance", "normalize")
    made = [getattr(jraph, f"segment_{name}")(EDGES, ids, num_segments=4) for name in names]
    return made, jraph.segment_max_or_constant(EDGES, ids, 5), jraph.partition_softmax(EDGES[:, 0], jnp.array([2, 3, 3]))


def shapes_as_words():
    return (
        einops.rearrange(CUBE, "a b c -> (a c) b"), einops.reduce(CUBE, "a b c -> b", "max"),
        einops.repeat(CUBE, "a b c -> a b c r", r=2), einops.einsum(CUBE, CUBE, "a b c, a d c -> b d"),
        jax.jit(lambda x: einops.rearrange(x, "a b (c d) -> a d c b", d=2))(CUBE), einops.pack([CUBE, CUBE], "* b c")[0],
    )  # fmt: skip


@chex.dataclass
class State:
    a: chex.Array
    b: chex.Array


def dataclasses():
    state = State(a=jnp.ones(3), b=jnp.zeros(2))
    chex.assert_shape(state.a, (3,))
    chex.assert_type(state.a, jnp.float32)
    chex.assert_tree_all_finite(state)
    chex.assert_trees_all_close(state, state)
    return jax.jit(lambda s: jax.tree.map(lambda x: x + 1, s))(state)


PROGRAMS = {
    "muzero": searched(mctx.muzero_policy),
    "muzero_jitted": searched(jax.jit(mctx.muzero_policy, static_argnames=("recurrent_fn", "num_simulations"))),
    "gumbel_muzero": searched(mctx.gumbel_muzero_policy),
    "convolution": convolution,
    "network": network,
    "attention": attention,
    "interaction": interaction,
    "batches": batches,
    "segments": segments,
    "shapes_as_words": shapes_as_words,
    "dataclasses": dataclasses,
}
