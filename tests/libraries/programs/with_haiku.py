"""haiku: modules of every kind as pure functions, with state, recurrent cores, attention, training."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 8, 8, 3)).astype(np.float32)
ROWS = rng.normal(size=(5, 6)).astype(np.float32)
STEPS = rng.normal(size=(7, 2, 6)).astype(np.float32)
WORDS = rng.integers(0, 11, (2, 7))


def applied(make, *args):
    """What a module gives, its parameters and their gradients."""

    def run():
        f = hk.transform_with_state(lambda *xs: make()(*xs))
        key = jax.random.PRNGKey(3)
        params, state = f.init(key, *args)

        def loss(params):
            out, new = f.apply(params, state, key, *args)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(out)), (out, new)

        (_, found), slopes = jax.value_and_grad(loss, has_aux=True)(params)
        return params, found, slopes

    return run


def unrolled(make, is_dynamic=True):
    def run():
        def net(xs):
            core = make()
            unroll = hk.dynamic_unroll if is_dynamic else hk.static_unroll
            return unroll(core, xs, core.initial_state(2))

        f = hk.without_apply_rng(hk.transform(net))
        params = f.init(jax.random.PRNGKey(1), STEPS)
        return jax.jit(f.apply)(params, STEPS), jax.grad(lambda p: f.apply(p, STEPS)[0].sum())(params)

    return run


def normed():
    def net(x, is_training):
        x = hk.Conv2D(4, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, is_training)
        return hk.Linear(3)(jax.nn.relu(x).mean((1, 2)))

    f = hk.without_apply_rng(hk.transform_with_state(net))
    params, state = f.init(jax.random.PRNGKey(0), X, True)
    out, state = jax.jit(f.apply, static_argnums=3)(params, state, X, True)
    return out, state, f.apply(params, state, X, False)


def trained():
    f = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 16, 1], activation=jnp.tanh)(x)))
    params = f.init(jax.random.PRNGKey(42), ROWS)
    target = jnp.sum(ROWS**2, 1, keepdims=True)

    @jax.jit
    def step(params):
        value, slopes = jax.value_and_grad(lambda p: jnp.mean((f.apply(p, ROWS) - target) ** 2))(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, slopes), value

    values = []
    for _ in range(10):
        params, value = step(params)
        values.append(value)
    return params, values


def attended():
    f = hk.transform(
        lambda x: hk.MultiHeadAttention(2, 4, with_bias=False, w_init=hk.initializers.VarianceScaling(2.0))(x, x, x)
    )
    params = f.init(jax.random.PRNGKey(0), STEPS)
    return f.apply(params, None, STEPS), jax.grad(lambda p: jnp.sum(f.apply(p, None, STEPS) ** 2))(params)


def lifted():
    def net(x):
        def block(x):
            return x + hk.Linear(6, w_init=hk.initializers.Orthogonal())(jnp.tanh(x))

        return hk.experimental.layer_stack(3)(block)(x)

    f = hk.without_apply_rng(hk.transform(net))
    params = f.init(jax.random.PRNGKey(0), ROWS)
    return params, f.apply(params, ROWS), jax.grad(lambda p: f.apply(p, ROWS).sum())(params)


def controlled():
    def net(x):
        layer = hk.Linear(6)
        x = hk.cond(x.sum() > 0, layer, lambda x: -layer(x), x)
        x = hk.fori_loop(0, 3, lambda _, x: layer(x), x)
        _, ys = hk.scan(lambda c, x: (c + layer(x), c), x[0], x)
        return hk.remat(layer)(ys), hk.vmap(layer, split_rng=False)(x)

    f = hk.without_apply_rng(hk.transform(net))
    params = f.init(jax.random.PRNGKey(0), ROWS)
    return f.apply(params, ROWS)


def dropped():
    f = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x) + jax.random.normal(hk.next_rng_key(), x.shape))
    return f.apply(f.init(jax.random.PRNGKey(0), ROWS), jax.random.PRNGKey(5), ROWS)


def initialized(make, shape=(6, 5)):
    def run():
        f = hk.transform(lambda: hk.get_parameter("w", shape, jnp.float32, make()))
        return f.init(jax.random.PRNGKey(9))

    return run


def looked_up():
    f = hk.without_apply_rng(hk.transform(lambda i: hk.Embed(11, 5)(i)))
    params = f.init(jax.random.PRNGKey(0), WORDS)
    return f.apply(params, WORDS), jax.grad(lambda p: f.apply(p, WORDS).sum())(params)


def summarized():
    f = hk.transform(lambda x: hk.nets.MLP([4, 2])(x))
    params = f.init(jax.random.PRNGKey(0), ROWS)
    split = hk.data_structures.partition(lambda m, n, p: n == "w", params)
    return hk.data_structures.merge(*split), hk.data_structures.tree_size(params)


def quantized():
    f = hk.transform_with_state(lambda x: hk.nets.VectorQuantizer(6, 4, 0.25)(x, True))
    params, state = f.init(jax.random.PRNGKey(0), ROWS)
    found, state = f.apply(params, state, None, ROWS)
    return {k: v for k, v in found.items() if k != "encoding_indices"}, state


def averaged():
    f = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(0.9)(x))
    _, state = f.init(None, ROWS)
    return f.apply({}, state, None, ROWS)


PROGRAMS = {
    **{
        name: applied(make, X)
        for name, make in {
            "Conv2D": lambda: hk.Conv2D(5, 3, stride=2, padding="VALID"),
            "Conv2D_groups": lambda: hk.Conv2D(6, 3, rate=2, feature_group_count=3),
            "Conv2DTranspose": lambda: hk.Conv2DTranspose(4, 3, stride=2),
            "DepthwiseConv2D": lambda: hk.DepthwiseConv2D(2, 3),
            "SeparableDepthwiseConv2D": lambda: hk.SeparableDepthwiseConv2D(1, 3),
            "MaxPool": lambda: hk.MaxPool(2, 2, "SAME"),
            "AvgPool": lambda: hk.AvgPool((3, 3, 1), (2, 2, 1), "SAME"),
            "GroupNorm": lambda: hk.GroupNorm(3),
            "InstanceNorm": lambda: hk.InstanceNorm(True, True),
            "LayerNorm": lambda: hk.LayerNorm(-1, True, True),
            "RMSNorm": lambda: hk.RMSNorm(-1),
            "Flatten": hk.Flatten,
            "Reshape": lambda: hk.Reshape((-1, 4)),
            "SpectralNorm": lambda: lambda x: hk.SpectralNorm()(hk.get_parameter("w", (4, 3), init=jnp.ones) + x[0, 0, 0]),
            "Sequential": lambda: hk.Sequential([hk.Flatten(), hk.Linear(5), jax.nn.gelu]),
        }.items()
    },
    "Conv1D": applied(lambda: hk.Conv1D(4, 3), STEPS),
    "Conv3D": applied(lambda: hk.Conv3D(2, 2), X[None]),
    "Conv1D_causal": applied(lambda: hk.Conv1D(4, 3, padding=hk.pad.causal), STEPS),
    "Bias": applied(lambda: hk.Bias(bias_dims=(-1,)), ROWS),
    "LSTM": unrolled(lambda: hk.LSTM(5)),
    "GRU": unrolled(lambda: hk.GRU(5)),
    "VanillaRNN": unrolled(lambda: hk.VanillaRNN(5), is_dynamic=False),
    "DeepRNN": unrolled(lambda: hk.DeepRNN([hk.LSTM(5), jnp.tanh, hk.GRU(4)])),
    "IdentityCore": unrolled(hk.IdentityCore),
    "BatchNorm": normed,
    "MLP": trained,
    "MultiHeadAttention": attended,
    "layer_stack": lifted,
    "control": controlled,
    "dropout": dropped,
    "Embed": looked_up,
    "data_structures": summarized,
    "VectorQuantizer": quantized,
    "ExponentialMovingAverage": averaged,
    **{
        f"init_{name}": initialized(make)
        for name, make in {
            "TruncatedNormal": hk.initializers.TruncatedNormal,
            "RandomUniform": lambda: hk.initializers.RandomUniform(-2, 3),
            "VarianceScaling": lambda: hk.initializers.VarianceScaling(1.0, "fan_avg", "uniform"),
            "Orthogonal": hk.initializers.Orthogonal,
            "Constant": lambda: hk.initializers.Constant(3),
            "Identity": hk.initializers.Identity,
        }.items()
    },
}
