"""flax.linen: layers, norms with state, attention, recurrent cells, lifted transformations, a training state with optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax import traverse_util
from flax.core import freeze, unfreeze
from flax.training import train_state

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 8, 8, 3)).astype(np.float32)
ROWS = rng.normal(size=(5, 6)).astype(np.float32)
STEPS = rng.normal(size=(2, 7, 6)).astype(np.float32)
WORDS = rng.integers(0, 11, (2, 7))


def applied(make, *args):
    """What a module gives, its variables and the gradients of its parameters."""

    def run():
        module = make()
        variables = module.init(jax.random.PRNGKey(0), *args)
        params = variables.get("params", {})

        def loss(params):
            out = module.apply({**variables, "params": params}, *args)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(out)), out

        (_, out), slopes = jax.value_and_grad(loss, has_aux=True)(params)
        return variables, out, slopes

    return run


class Net(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(self.width, (3, 3), use_bias=False)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(3)(x.reshape(x.shape[0], -1))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _=None):
        return x + nn.Dense(x.shape[-1], kernel_init=nn.initializers.orthogonal())(nn.gelu(nn.LayerNorm()(x))), None


class Encoder(nn.Module):
    def setup(self):
        self.embed = nn.Embed(11, 6)
        self.attend = nn.MultiHeadDotProductAttention(2, qkv_features=6)
        self.out = nn.Dense(11)

    def __call__(self, words):
        x = self.embed(words)
        x = x + self.attend(x, x, mask=nn.make_causal_mask(words))
        return self.embed.attend(x), self.out(x)


class Carried(nn.Module):
    @nn.compact
    def __call__(self, xs):
        scan = nn.scan(nn.LSTMCell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1)(
            features=5
        )
        return scan(scan.initialize_carry(jax.random.PRNGKey(0), xs[:, 0].shape), xs)


def trained():
    net = Net()
    variables = net.init({"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1)}, X)

    class State(train_state.TrainState):
        batch_stats: dict

    state = State.create(
        apply_fn=net.apply, params=variables["params"], tx=optax.adam(1e-2), batch_stats=variables["batch_stats"]
    )
    labels = jnp.array([0, 1, 2, 0])

    @jax.jit
    def step(state, key):
        def loss(params):
            out, new = state.apply_fn(
                {"params": params, "batch_stats": state.batch_stats}, X, rngs={"dropout": key}, mutable=["batch_stats"]
            )
            return optax.softmax_cross_entropy_with_integer_labels(out, labels).mean(), new

        (value, new), slopes = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=slopes).replace(batch_stats=new["batch_stats"]), value

    values = []
    for k in range(5):
        state, value = step(state, jax.random.fold_in(jax.random.PRNGKey(7), k))
        values.append(value)
    return values, state.batch_stats, net.apply({"params": state.params, "batch_stats": state.batch_stats}, X, train=False)


def stacked():
    many = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
    f = many()
    variables = f.init(jax.random.PRNGKey(0), ROWS, None)
    slopes = jax.grad(lambda v: f.apply(v, ROWS, None)[0].sum())(variables)
    return variables, f.apply(variables, ROWS, None)[0], slopes


def mapped():
    each = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=0)(4)
    variables = each.init(jax.random.PRNGKey(0), STEPS)
    return variables, each.apply(variables, STEPS)


def kept():
    block = nn.remat(Block)()
    variables = block.init(jax.random.PRNGKey(0), ROWS)
    return jax.jit(jax.grad(lambda v: block.apply(v, ROWS)[0].sum()))(variables)


def decoded():
    layer = nn.SelfAttention(2, decode=True)
    variables = layer.init(jax.random.PRNGKey(0), STEPS)
    cache, outs = variables["cache"], []
    for k in range(3):
        out, new = layer.apply({"params": variables["params"], "cache": cache}, STEPS[:, k : k + 1], mutable=["cache"])
        cache = new["cache"]
        outs.append(out)
    return outs, cache


def sown():
    class Sower(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(4)(x)
            self.sow("intermediates", "hidden", x)
            return nn.Dense(2)(nn.tanh(x))

    net = Sower()
    variables = net.init(jax.random.PRNGKey(0), ROWS)
    return net.apply(variables, ROWS, mutable=["intermediates"], capture_intermediates=True)


def flat():
    params = freeze(nn.Dense(3).init(jax.random.PRNGKey(0), ROWS))
    names = traverse_util.flatten_dict(unfreeze(params), sep="/")
    return names, traverse_util.unflatten_dict(names, sep="/"), jax.tree.map(lambda x: x * 2, params)


def shaped():
    return jax.tree.map(lambda x: np.zeros(x.shape), jax.eval_shape(lambda x: Net().init(jax.random.PRNGKey(0), x, False), X))


def ran(make, **options):
    def run():
        net = nn.RNN(make(), **options)
        variables = net.init(jax.random.PRNGKey(0), STEPS)
        return net.apply(variables, STEPS), jax.grad(lambda v: jnp.sum(net.apply(v, STEPS) ** 2))(variables)

    return run


class Both(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Bidirectional(nn.RNN(nn.GRUCell(4)), nn.RNN(nn.GRUCell(4)))(x, seq_lengths=jnp.array([7, 4]))


PROGRAMS = {
    **{
        name: applied(make, X)
        for name, make in {
            "Conv": lambda: nn.Conv(5, (3, 3), strides=2, padding="VALID"),
            "Conv_circular": lambda: nn.Conv(6, (3, 3), kernel_dilation=2, padding="CIRCULAR", feature_group_count=3),
            "ConvTranspose": lambda: nn.ConvTranspose(4, (3, 3), strides=(2, 2)),
            "ConvLocal": lambda: nn.ConvLocal(2, (3, 3)),
            "GroupNorm": lambda: nn.GroupNorm(3),
            "InstanceNorm": nn.InstanceNorm,
            "DenseGeneral": lambda: nn.DenseGeneral((2, 5), axis=(1, 3)),
            "WeightNorm": lambda: nn.WeightNorm(nn.Dense(4)),
            "Sequential": lambda: nn.Sequential([nn.Dense(4), nn.PReLU(), nn.Dense(2)]),
        }.items()
    },
    "LayerNorm": applied(nn.LayerNorm, ROWS),
    "RMSNorm": applied(nn.RMSNorm, ROWS),
    "Einsum": applied(lambda: nn.Einsum((6, 3), "bi,io->bo"), ROWS),
    "Dense_half": applied(lambda: nn.Dense(3, dtype=jnp.bfloat16), ROWS),
    "Embed": applied(lambda: nn.Embed(11, 4), WORDS),
    "Encoder": applied(Encoder, WORDS),
    "MaxPool": lambda: nn.max_pool(X, (3, 3), (2, 2), "SAME"),
    "LSTM": ran(lambda: nn.LSTMCell(5)),
    "OptimizedLSTM": ran(lambda: nn.OptimizedLSTMCell(5), reverse=True, keep_order=True),
    "GRU": ran(lambda: nn.GRUCell(5)),
    "MGU": ran(lambda: nn.MGUCell(5)),
    "Bidirectional": applied(Both, STEPS),
    "scan_of_cells": applied(Carried, STEPS),
    "scan_of_layers": stacked,
    "vmap": mapped,
    "remat": kept,
    "decode": decoded,
    "sow": sown,
    "traverse": flat,
    "eval_shape": shaped,
    "TrainState": trained,
}
